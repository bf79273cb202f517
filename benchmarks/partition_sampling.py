"""Markov chains over partitions: sweeps per second, and what moving several units at once is worth.

    python benchmarks/partition_sampling.py                 # about seven minutes
    python benchmarks/partition_sampling.py --seconds 60    # so long for each chain
    python benchmarks/partition_sampling.py --write         # and puts the table into docs/performance.md

Mixtures of normals under a Dirichlet process; the units are nodes of Ward's linkage. A sweep redraws as many units as
there are points. "Leaves" is the same code when its only unit is a single leaf, which is the usual Gibbs sampler. All
chains begin at one partition, which a long run from a single cluster ended in. Effective samples of the number of
clusters, and of the log potential, are per second of one core. "Ascent" is how long a chain that begins with everything
in one cluster needs to come within three standard deviations of the mean log potential, on average. PASS means five
sweeps a second or more. Last, `sample_partitions` as anybody would call it, on two threads: sweeps per second over all
chains, with their starts and verdicts; there a sweep is a fixed number of moves, whether or not a unit can be redrawn.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import _tables
import numpy as np
from scipy.cluster.hierarchy import linkage

import palmette as pal
from palmette.sampling import sample_partitions
from palmette.sampling.chance import new_stream
from palmette.sampling.diagnostics import effective_size
from palmette.sampling.partitions.moves import advance
from palmette.sampling.partitions.state import N_CLUSTERS, REDRAWN, groups_of, membership, model_data, totals
from palmette.sampling.partitions.units import units_of
from palmette.sampling.partitions.weights import empty_redraw

N = 2000
RULES = {"units": {}, "leaves": {"leaf_share": 1.0, "most": 1}}
MOVES = 200  # between two records
FIRST = 200_000  # moves before anything is measured
LONGEST = 20.0  # seconds that an ascent may take
HEADER = ["2,000 points", "clusters", "sweeps/s", "effective n_clusters/s", "effective log potentials/s", "ascent [s]"]


class Problem(NamedTuple):
    name: str
    likelihood: pal.likelihoods.Likelihood
    n_centres: int
    n_columns: int
    distance: float


PROBLEMS = [
    Problem("normal-gamma, 2 columns", pal.likelihoods.NormalGamma(pseudo_count=0.1), 20, 2, 10.0),
    Problem("normal-gamma, 4 columns", pal.likelihoods.NormalGamma(pseudo_count=0.1), 15, 4, 3.0),
    Problem("normal-inverse-Wishart, 5 columns", pal.likelihoods.NormalInverseWishart(pseudo_count=0.1), 15, 5, 3.0),
]


class Chain:
    """One chain of one model on one core; seconds are those of its own process."""

    def __init__(
        self, model: pal.models.ClusterModel, hierarchy: pal.Hierarchy, rule: dict, start: np.ndarray, seed: int
    ):
        self.units = units_of(model, hierarchy, **rule)
        self.groups, self.work = groups_of(model, pal.Partition(start)), empty_redraw(model, self.units)
        self.stream, self.data = new_stream(seed, 0), model_data(model)

    def advance(self, n_moves: int) -> Chain:
        advance(self.data, self.groups, self.units, self.work, self.stream, 1.0, np.inf, n_moves)
        return self

    def membership(self) -> np.ndarray:
        out = np.empty(len(self.units.order), dtype=np.int32)
        membership(self.groups, out)
        return out

    def records(self, seconds: float) -> tuple[np.ndarray, float, float]:
        """(m, 2) numbers of clusters and log potentials; the seconds that it took, and the sweeps in them."""
        redrawn, found, begin = self.groups.counts[REDRAWN], [], time.process_time()
        while (took := time.process_time() - begin) < seconds:
            self.advance(MOVES)
            found.append((self.groups.counts[N_CLUSTERS], totals(self.groups)[0]))
        return np.array(found, dtype=float), took, (self.groups.counts[REDRAWN] - redrawn) / len(self.units.order)

    def ascent(self, level: float) -> float:
        begin = time.process_time()
        while totals(self.groups)[0] < level and time.process_time() - begin < LONGEST:
            self.advance(MOVES)
        return time.process_time() - begin


def points_of(problem: Problem, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    centres = problem.distance * rng.normal(size=(problem.n_centres, problem.n_columns))
    return centres[rng.integers(problem.n_centres, size=N)] + rng.normal(size=(N, problem.n_columns))


def measure(problem: Problem, n_chains: int, seconds: float, seed: int) -> list[dict]:
    x = points_of(problem, seed)
    model = pal.models.DirichletProcess(x, 1.0, problem.likelihood)
    hierarchy = pal.Hierarchy.from_linkage(linkage(x, "ward"))
    together = np.zeros(N, dtype=np.int64)
    start = Chain(model, hierarchy, RULES["units"], together, seed).advance(FIRST).membership()
    return [
        {"name": f"{problem.name}: {name}", **compare(model, hierarchy, rule, start, n_chains, seconds)}
        for name, rule in RULES.items()
    ]


def compare(
    model: pal.models.ClusterModel,
    hierarchy: pal.Hierarchy,
    rule: dict,
    start: np.ndarray,
    n_chains: int,
    seconds: float,
) -> dict:
    chains = [Chain(model, hierarchy, rule, start, seed).advance(FIRST // 10) for seed in range(n_chains)]
    records, took, sweeps = zip(*(chain.records(seconds) for chain in chains), strict=True)
    shortest = min(map(len, records))
    found = np.array([record[:shortest] for record in records])  # (chains, draws, 2)
    level = found[..., 1].mean() - 3.0 * found[..., 1].std()
    together = np.zeros_like(start)
    ascents = [Chain(model, hierarchy, rule, together, n_chains + seed).ascent(level) for seed in range(n_chains)]
    return {
        "clusters": found[..., 0].mean(),
        "sweeps": sum(sweeps) / sum(took),
        "effective": [effective_size(found[..., i]) / sum(took) for i in range(2)],
        "ascent": np.mean(ascents),
        "is_done": max(ascents) < LONGEST,
    }


def tell_whole_run(problem: Problem, n_chains: int, seconds: float, seed: int) -> None:
    model = pal.models.DirichletProcess(points_of(problem, seed), 1.0, problem.likelihood)
    how = {"n_chains": n_chains, "precision": 1e-9, "rng": seed, "threads": 2, "progress": False}
    begin = time.monotonic()
    post = sample_partitions(model, seconds=seconds, **how)
    rate = n_chains * post.n_kept * post.sweeps_per_draw / (time.monotonic() - begin)
    print(f"{problem.name}: {rate:.1f} sweeps per second over {n_chains} chains on two threads; {post.verdict}")


def cells(row: dict) -> list[str]:
    ascent = f"{'' if row['is_done'] else '> '}{row['ascent']:.2f}"
    return [
        row["name"],
        f"{row['clusters']:.1f}",
        f"{row['sweeps']:.0f}",
        *(f"{e:.1f}" for e in row["effective"]),
        ascent,
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--chains", type=int, default=4)
    parser.add_argument("--seconds", type=float, default=15.0, help="for each chain")
    parser.add_argument("--seed", type=int, default=0)
    _tables.add_option(parser)
    arguments = parser.parse_args()
    rows = [
        row for problem in PROBLEMS for row in measure(problem, arguments.chains, arguments.seconds, arguments.seed)
    ]
    lines = _tables.lines_of(HEADER, map(cells, rows))
    print("\n".join(lines) + "\n")
    _tables.write(arguments.write, "partition_sampling", lines)
    for row in rows:
        verdict = "PASS" if row["sweeps"] >= 5 else "FAIL"
        print(f"{verdict} {row['name']}: {row['sweeps']:.1f} sweeps per second of one core")
    for problem in PROBLEMS:
        tell_whole_run(problem, arguments.chains, arguments.seconds, arguments.seed)


if __name__ == "__main__":
    main()
