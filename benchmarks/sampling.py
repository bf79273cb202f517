"""Sampled posteriors against exact ones: are the errors that they state honest?

    python benchmarks/sampling.py [--sets 12] [--runs 100] [--only partitions annealing] [--write]
    python benchmarks/sampling.py --smoothed 12        # what smoothing gains over shares of draws, instead
    python benchmarks/sampling.py --planted 40         # whether one of two answers is ever missed in silence, instead

Prints, for ten to eighteen leaves, the spread of (estimate − exact) / error over the probabilities of all clusters, and
the largest gap where the verdict is "converged"; the same of partitions of ten to twelve leaves; then how often log Z
by annealing lies within two of its errors. Chains have three thousand sweeps at most, and stop as they usually do. PASS
means: a spread of 0.7 to 1.3 over all data sets of a kind, no gap above 0.02, 90 of 100, and a mean of Z within three
errors of the exact one.

What smoothing gains is the mean squared error of shares of draws over that of smoothed probabilities, over all clusters
that are judged: against the exact ones for 14 to 16 leaves, and against the mean over so many seeds for 100.

Two answers are planted in a grid of four by four leaves, as much alike in a row as in a column. PASS means that, for
every seed, rows and columns are as probable, or chains are said to disagree.
"""

from __future__ import annotations

import argparse
import math
import time
from pathlib import Path
from typing import Any

import _tables
import numpy as np
from _measuring import verdict

import palmette as pal

PERPLEXITIES = (10.0, 100.0, 1e4, 1e5)
SIZES = (10, 12, 14, 16, 18)
SMALLEST = 0.005  # clusters that are rarer are not compared
SWEEPS = 3000
PARTS = ("hierarchies", "partitions", "annealing")
PAGE = Path(__file__).parent.parent / "docs" / "sampling.md"


class Gaps(pal.models.SplitModel):
    """A person's own score: parts whose means are near are split reluctantly, the more so the larger they are."""

    n_features = 2

    @staticmethod
    def features(theta: Any, n: int, size: int, sums: Any, pairs: Any, out: Any) -> None:
        out[0] = sums[0] / size
        out[1] = math.log(size)

    @staticmethod
    def score(theta: Any, parent: Any, left: Any, right: Any) -> float:
        return theta[0] * parent[1] * min(abs(left[0] - right[0]), 3.0)


def points(n: int, seed: int) -> Any:
    """Groups on even seeds, one cloud on odd ones."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(3, 2)) * (4.0 if seed % 2 == 0 else 0.0)
    return centres[rng.integers(3, size=n)] + rng.normal(size=(n, 2))


def problems(sets: int) -> Any:
    """(kind, model): every data set at every perplexity, and models that have none."""
    for seed in range(sets):
        n = SIZES[seed % len(SIZES)]
        x = points(n, seed)
        for perplexity in PERPLEXITIES:
            for base in (pal.models.SumOfSquares(x), pal.models.Dasgupta(pal.similarity.of_points(x))):
                model = pal.temperature.at_perplexity(base, perplexity, progress=False)
                yield f"{type(base).__name__}, perplexity {perplexity:g}", model
        few = x[:14]
        yield "a score of one's own", Gaps(len(few), theta=[1.0], additive=few[:, :1])
        yield "Contrasts", pal.models.Contrasts(few)
        near = pal.similarity.of_points(few)
        links = np.triu(np.random.default_rng(seed).random(near.shape) < near, 1)
        yield "HierarchicalRandomGraph", pal.models.HierarchicalRandomGraph((links | links.T).astype(float))
    jets = pal.simulate.ginkgo(sets, min_leaves=9, max_leaves=13, rng=1)
    for jet in jets:
        yield "Ginkgo", pal.models.Ginkgo(jet.momenta, rate=jets.rate, t_cut=jets.t_cut)


def flat_problems(sets: int) -> Any:
    """(kind, model) of partitions: mixtures, and pairs at every perplexity."""
    for seed in range(sets):
        x = points(10 + seed % 3, seed)
        yield "mixture", pal.models.DirichletProcess(x, 1.0, pal.likelihoods.NormalGamma(pseudo_count=0.2))
        signed = pal.similarity.of_points(x) - 0.4
        for perplexity in PERPLEXITIES:
            base = pal.models.CorrelationClusters(signed)
            model = pal.temperature.at_perplexity(base, perplexity, progress=False)
            yield f"correlation clustering, perplexity {perplexity:g}", model


def scores(post: Any, exact: Any) -> tuple[Any, float]:
    """(estimate − exact) / error of all clusters that are not too rare, and the largest gap."""
    rows = [(row, exact.cluster_probability(row.members)) for row in exact.cluster_probabilities(SMALLEST)]
    found = [(post.cluster_probability(row.members), p) for row, p in rows]
    open_ = [(one, p) for one, p in found if p < 1.0 - SMALLEST]
    gaps = [abs(float(one) - p) for one, p in found]
    return np.array([(float(one) - p) / one.standard_error for one, p in open_]), max(gaps, default=0.0)


def honest_errors(named: Any, sample: Any, exact: Any) -> list[list[str]]:
    """The figures of each kind of problems, as rows of the table."""
    found: dict[str, list[Any]] = {}
    begin = time.perf_counter()
    for kind, model in named:
        post = sample(model, seconds=None, sweeps=SWEEPS, progress=False)
        z, gap = scores(post, exact(model, progress=False))
        found.setdefault(kind, []).append((z, gap, post.verdict.converged))
    cells = []
    for kind, rows in found.items():
        z = np.concatenate([row[0] for row in rows])
        largest = max((gap for _, gap, converged in rows if converged), default=0.0)
        count = sum(converged for *_, converged in rows)
        spread = float(np.sqrt((z**2).mean())) if len(z) else 1.0
        said = f"{kind}: {len(rows)} sets, {count} converged, {len(z)} clusters, z {spread:.2f}, largest {largest:.4f}"
        verdict(0.7 <= spread <= 1.3 and largest <= 0.02, said)
        cells.append([kind, str(len(rows)), str(count), str(len(z)), f"{spread:.2f}", f"{largest:.4f}"])
    print(f"{time.perf_counter() - begin:.0f} s")
    return cells


def honest_log_z(runs: int) -> None:
    for kind in (pal.models.SumOfSquares(points(16, 0)), pal.models.Dasgupta(pal.similarity.of_points(points(16, 1)))):
        model = pal.temperature.at_perplexity(kind, 1000.0, progress=False)
        exact = pal.HierarchyPosterior(model, progress=False).log_partition
        found = [
            pal.sampling.anneal_hierarchies(model, steps=1500, rng=k, progress=False).log_partition for k in range(runs)
        ]
        z = np.array([(one.value - exact) / one.standard_error for one in found])
        ratio = np.exp([one.value - exact for one in found])
        error = ratio.std(ddof=1) / math.sqrt(runs)
        within = int((np.abs(z) <= 2.0).sum())
        said = f"log Z of 16 leaves, {type(model).__name__}: {within} of {runs} within two errors"
        said += f" (some {found[0].standard_error:.2f}); mean of Z {ratio.mean():.3f} ± {error:.3f} of the exact one"
        verdict(within >= 0.9 * runs and abs(ratio.mean() - 1.0) <= 3.0 * error, said)


def both(post: Any) -> dict[tuple[str, ...], tuple[float, float, float]]:
    """Of every cluster that is judged: the share of draws, the smoothed probability, and the error of that."""
    shares = post.cluster_frequencies().mean(axis=0).tolist()
    rows = zip(post.cluster_diagnostics(), shares, strict=True)
    return {row.members: (share, row.probability, row.standard_error) for row, share in rows}


def smoothing(seeds: int) -> None:
    for n, groups in ((14, True), (15, False), (16, True), (100, True), (100, False)):
        x = points(n, 2 * n + (not groups))
        for make in (pal.models.SumOfSquares, lambda some: pal.models.Dasgupta(pal.similarity.of_points(some))):
            few = pal.temperature.at_perplexity(make(x if n < 20 else x[:12]), 1000.0, progress=False)
            model = make(x).with_beta(few.beta)
            options = {"seconds": None, "sweeps": 400, "precision": 1e-9, "progress": False}
            found = [both(pal.sampling.sample_hierarchies(model, rng=seed, **options)) for seed in range(seeds)]
            clusters = [members for members in found[0] if all(members in one for one in found)]
            values = np.array([[one[members] for members in clusters] for one in found])  # (seeds, clusters, 3)
            if n > 20:
                truth, of = values[:, :, :2].mean(axis=0), seeds / (seeds - 1)
            else:
                exact = pal.HierarchyPosterior(model, progress=False)
                truth, of = np.array([[exact.cluster_probability(members)] * 2 for members in clusters]), 1.0
            errors = of * ((values[:, :, :2] - truth) ** 2).mean(axis=0)
            z = math.sqrt(of * (((values[:, :, 1] - truth[:, 1]) / values[:, :, 2]) ** 2).mean())
            gain, middle = errors[:, 0].sum() / errors[:, 1].sum(), float(np.median(errors[:, 0] / errors[:, 1]))
            shape = "groups" if groups else "one cloud"
            print(
                f"{n} leaves, {shape}, {type(model).__name__}: {len(clusters)} clusters, {gain:.1f} times "
                f"(the middle one {middle:.1f}), z {z:.2f}",
                flush=True,
            )


def planted(seeds: int) -> None:
    row, column = np.divmod(np.arange(16), 4)
    alike = 1.0 * (row[:, None] == row) + 1.0 * (column[:, None] == column)
    off = alike * (1.0 - np.eye(16))
    hierarchies = [(pal.sampling.sample_hierarchies, pal.models.Dasgupta(off, beta=beta)) for beta in (0.3, 0.5, 1, 5)]
    partitions = [
        (pal.sampling.sample_partitions, pal.models.CorrelationClusters(alike - 0.5, beta=beta))
        for beta in (2.5, 3, 8, 30)
    ]
    for sample, model in hierarchies + partitions:
        silent = 0
        for seed in range(seeds):
            post = sample(model, seconds=None, sweeps=400, precision=0.01, rng=seed, progress=False)
            one, other = (float(post.cluster_probability(part)) for part in (range(4), range(0, 16, 4)))
            silent += post.verdict.agree and abs(one - other) > 0.1
        said = f"{model!r}, β = {model.beta:g}: one of two answers missed in silence by {silent} of {seeds} seeds"
        verdict(silent == 0, said)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=12, help="data sets of each kind")
    parser.add_argument("--runs", type=int, default=100, help="of annealing")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="some of the three")
    parser.add_argument("--smoothed", type=int, metavar="SEEDS", help="show what smoothing gains, instead")
    parser.add_argument("--planted", type=int, metavar="SEEDS", help="two answers, instead")
    _tables.add_option(parser, PAGE)
    options = parser.parse_args()
    if options.planted:
        planted(options.planted)
        return
    if options.smoothed:
        smoothing(options.smoothed)
        return
    header = ["", "data sets", "converged", "clusters", "z", "largest error"]
    if "hierarchies" in options.only:
        rows = honest_errors(problems(options.sets), pal.sampling.sample_hierarchies, pal.HierarchyPosterior)
        _tables.write(options.write, "honest errors", _tables.lines_of(header, rows))
    if "partitions" in options.only:
        rows = honest_errors(flat_problems(options.sets), pal.sampling.sample_partitions, pal.PartitionPosterior)
        _tables.write(options.write, "honest errors of partitions", _tables.lines_of(header, rows))
    if "annealing" in options.only:
        honest_log_z(options.runs)


if __name__ == "__main__":
    main()
