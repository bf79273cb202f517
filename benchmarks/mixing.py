"""How well chains mix: palmette's moves against plain Metropolis, in equal time, from equal starts.

    python benchmarks/mixing.py                        # simulated points and iris, about fifteen minutes
    python benchmarks/mixing.py --data FOLDER          # and every table (.csv, .csv.gz) in a folder of one's own
    python benchmarks/mixing.py --seconds 4 --until 0  # quickly: so long for a chain, and no time to agreement
    python benchmarks/mixing.py --perplexity 10        # sharper posteriors
    python benchmarks/mixing.py --tune                 # other shares of patches and numbers of stops, instead
    python benchmarks/mixing.py --write docs/sampling.md   # also put the tables into the page

Metropolis is what phylogenetics does: exchanges of neighbours and random regrafts (`_metropolis.py`). Both samplers run
four chains on one core in turns of a tenth of a second, and write a state down after equal times. Chain i of both
begins at the same hierarchy: the starts are those that `sample_hierarchies` would choose, cooled down from random
hierarchies and far apart. The first quarter of a chain is not used. The time of the starts counts for neither.

β is such that 12 leaves taken at random have a perplexity of 100, so the posterior is neither uniform nor frozen.

Then `search.posterior` is asked, for two minutes, and for two more if R̂ of its chains is not below 1.05 by then. It
takes chains of several rungs where single ones are slow or frozen, and then its own rate stands for palmette, all of
its time included: greedy, starts, single chains that came to nothing, refining, the search for temperatures, verdicts.

What counts are clusters of probability 0.05 to 0.95 in what `search.posterior` says if its chains agree, else in single
chains if these do, else in the mean of both samplers, and then no ratio is told. Effective samples of their indicators
are over all chains, per second of processor time. A cluster that no chain of a sampler both enters and leaves counts
for as many samples as there are chains, at most. PASS means that the worst cluster has five times as many effective
samples as with Metropolis. What palmette reports are smoothed probabilities, beside it: as many effective samples as
make p (1 − p) / n the variance of their mean, the time of smoothing every second state included.

Last, the time until R̂ is below 1.05 for log φ and for every cluster of 0.02 to 0.98, as `sample_hierarchies` says
itself, starts included: with single chains, and where these need more than two minutes with 16 rungs. PASS means:
within two minutes. Beside it the effective samples of the worst cluster of all that, again per second of processor
time.

A table has the names of its rows in the first column, a class in the second, then numbers; gaps count as 0. With fewer
rows than leaves are asked for, all are taken; with fewer than 50 it is passed over. Their similarity is Pearson's
correlation, that of simulated points a Gaussian kernel.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import _tables
import numpy as np
from _measuring import verdict
from _metropolis import empty_proposal, walk
from sklearn.datasets import load_iris

import palmette as pal
from palmette.regrafts.compiled import CompiledRegrafts
from palmette.sampling.chains import Chains
from palmette.sampling.diagnostics import effective_size, rank_effective_size, rank_r_hat, split_r_hat
from palmette.sampling.hierarchies.chain import HierarchyChains
from palmette.sampling.hierarchies.moves import HierarchyMoves, HierarchyState
from palmette.sampling.hierarchies.patches import N_STOPS
from palmette.sampling.hierarchies.tilings import smooth
from palmette.threads import default_threads

N_CHAINS = 4
SIZES = (100, 200)
FEWEST = 50  # leaves of a table
SAMPLE = 12  # leaves whose perplexity is set
OPEN = 0.05  # clusters nearer to 0 or 1 are not looked at
TURN = 0.1  # seconds
BURNT = 0.25  # share of each chain that is not used
RATIO, AGREED, IN_TIME = 5.0, 1.05, 120.0
N_RUNGS = 16
SMOOTHED = 2  # one of so many states
PAGE = Path(__file__).parent.parent / "docs" / "sampling.md"

# Samplers: both have states of the same kind, and write them down in the same way.


class Palmette:
    """Patches and regrafts, as `sample_hierarchies` mixes them."""

    name = "palmette"

    def __init__(self, moves: HierarchyMoves, starts: list[HierarchyState], n_moves: int, seed: int) -> None:
        self.moves, self.n_moves = moves, n_moves
        self.states = [copy_of(moves, start, seed + i) for i, start in enumerate(starts)]

    def step(self, chain: int) -> float:
        return self.moves.run(self.states[chain], self.n_moves)[0]


class Metropolis(Palmette):
    """Exchanges and random regrafts."""

    name = "Metropolis"

    def __init__(self, moves: HierarchyMoves, starts: list[HierarchyState], n_moves: int, seed: int) -> None:
        super().__init__(moves, starts, n_moves, seed)
        self.data = CompiledRegrafts(moves.model).data
        self.room = [empty_proposal(state.tree, seed + i) for i, state in enumerate(self.states)]

    def step(self, chain: int) -> float:
        state = self.states[chain]
        walk(self.data, state.tree, self.room[chain], self.n_moves)
        return self.moves.restate(state)[0]  # what rounding has piled up goes


def copy_of(moves: HierarchyMoves, state: HierarchyState, seed: int) -> HierarchyState:
    out = np.empty(len(state.tree.size), dtype=np.int32)
    moves.restate(state)
    moves.record(state, out)
    return moves.start(pal.Hierarchy.from_parents(out.tolist(), moves.model.labels), seed, 0)


def far_apart(moves: HierarchyMoves, seed: int) -> list[HierarchyState]:
    """Where chains begin: where those of `sample_hierarchies` would."""
    chains = Chains(HierarchyChains(moves.model, [], seed), N_CHAINS)
    chains.begin(1)
    return chains.states


class Records(NamedTuple):
    """What some chains wrote down: of their clusters, and log φ."""

    parents: np.ndarray  # (chains, draws, 2n − 1)
    keys: np.ndarray  # (chains, draws, n − 2): a number for each cluster but the root and single leaves
    log_potentials: np.ndarray  # (chains, draws)
    seconds: float  # of all chains together
    moves: int


def compared(samplers: list[Palmette], seconds: float) -> list[Records]:
    """Run samplers in turns, so long for each chain, and see what they write down."""
    rows: list[list[list[np.ndarray]]] = [[[] for _ in range(N_CHAINS)] for _ in samplers]
    values: list[list[list[float]]] = [[[] for _ in range(N_CHAINS)] for _ in samplers]
    spent = np.zeros((len(samplers), N_CHAINS))
    while (spent < seconds).any():
        for i, sampler in enumerate(samplers):
            for chain in np.flatnonzero(spent[i] < seconds).tolist():
                begin = time.process_time()
                while (took := time.process_time() - begin) < TURN:
                    values[i][chain].append(sampler.step(chain))
                    rows[i][chain].append(np.empty(2 * sampler.moves.model.n_leaves - 1, dtype=np.int32))
                    sampler.moves.record(sampler.states[chain], rows[i][chain][-1])
                spent[i, chain] += took
    found = []
    for i, sampler in enumerate(samplers):
        draws = min(map(len, values[i]))
        used = slice(int(BURNT * draws), draws)
        parents = np.stack([np.stack(chain[used]) for chain in rows[i]])
        numbers = np.array([chain[used] for chain in values[i]])
        share = numbers.size / sum(map(len, values[i]))  # chains have equal times, and not quite equal numbers
        n_moves = sampler.n_moves * numbers.size
        found.append(Records(parents, cluster_keys(parents), numbers, float(spent[i].sum()) * share, n_moves))
    return found


def leaf_keys(n: int) -> np.ndarray:
    return np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)


def cluster_keys(parents: np.ndarray) -> np.ndarray:
    """Sums of random 64-bit numbers of the leaves, for every cluster but the root and single leaves."""
    m = parents.shape[-1]
    n, flat = (m + 1) // 2, parents.reshape(-1, m)
    keys = np.zeros(flat.shape, dtype=np.uint64)
    keys[:, :n] = leaf_keys(n)
    draws = np.arange(len(flat))
    for v in range(m - 1):  # children come first
        keys[draws, flat[:, v]] += keys[:, v]
    return keys[:, n:-1].reshape(*parents.shape[:-1], n - 2)


def open_clusters(*samplers: Records) -> np.ndarray:
    """Rising numbers of the clusters that are neither rare nor certain, in the mean of some samplers."""
    keys = np.concatenate([records.keys.reshape(-1) for records in samplers])
    weights = [np.full(records.keys.size, 1.0 / records.log_potentials.size) for records in samplers]
    found, which = np.unique(keys, return_inverse=True)
    shares = np.bincount(which, np.concatenate(weights)) / len(samplers)
    return found[(shares > OPEN) & (shares < 1.0 - OPEN)]


def keys_of(clusters: list[frozenset[str]], labels: tuple[str, ...]) -> np.ndarray:
    """The rising numbers of some clusters."""
    numbers = dict(zip(labels, leaf_keys(len(labels)), strict=True))
    sums = [np.array([numbers[leaf] for leaf in cluster], dtype=np.uint64).sum() for cluster in clusters]
    return np.unique(np.array(sums, dtype=np.uint64))


def leaf_sets(records: Records, clusters: np.ndarray) -> np.ndarray:
    """(clusters, words): their leaves as bits; none for a cluster that these chains have never had."""
    n = (records.parents.shape[-1] + 1) // 2
    keys, rows = records.keys.reshape(-1, n - 2), records.parents.reshape(-1, 2 * n - 1)
    known, at = np.unique(keys, return_index=True)
    words = np.zeros((len(clusters), (n + 63) // 64), dtype=np.uint64)
    for i, place in enumerate(np.searchsorted(known, clusters).tolist()):
        if place < len(known) and known[place] == clusters[i]:
            row, node = rows[at[place] // (n - 2)], n + at[place] % (n - 2)
            for leaf in range(n):
                v = leaf
                while v < node:
                    v = row[v]
                if v == node:
                    words[i, leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
    return words


def smoothed_rates(model: Any, records: Records, clusters: np.ndarray) -> np.ndarray:
    """Effective samples of the smoothed probability of each cluster, per second: p (1 − p) over its variance."""
    rows, words = records.parents[:, ::SMOOTHED], leaf_sets(records, clusters)
    smooth(model, rows[:, :2], words, np.array([0, 2]), 1)  # compiles
    begin = time.process_time()
    values = smooth(model, np.ascontiguousarray(rows), words, np.arange(rows.shape[1] + 1), 1)
    seconds = records.seconds + time.process_time() - begin
    p, spread = values.mean(axis=(0, 1)), values.var(axis=(0, 1))
    variance = spread / np.asarray(effective_size(values))
    events = occurrences(records, clusters)
    sizes = np.where(variance > 0.0, p * (1.0 - p) / np.where(variance > 0.0, variance, 1.0), N_CHAINS)
    frozen = (events == events[:, :1]).all(axis=(0, 1))
    return np.where(frozen, np.minimum(sizes, N_CHAINS), sizes) / seconds


class Figures(NamedTuple):
    """Per second of processor time, but R̂."""

    moves: float
    worst: float
    median: float
    log_potential: float
    r_hat: float
    n_frozen: int
    """Clusters that no chain both entered and left."""


def occurrences(records: Records, clusters: np.ndarray) -> np.ndarray:
    """(chains, draws, clusters): which states have which."""
    chains, draws, _ = records.keys.shape
    column = np.minimum(np.searchsorted(clusters, records.keys), len(clusters) - 1)
    column = np.where(clusters[column] == records.keys, column, len(clusters))
    events = np.zeros((chains, draws, len(clusters) + 1), dtype=bool)
    np.put_along_axis(events, column, True, axis=2)
    return events[:, :, :-1]


def figures(records: Records, clusters: np.ndarray) -> Figures:
    chains, events = len(records.keys), occurrences(records, clusters)
    sizes, r_hat = np.asarray(effective_size(events)), np.asarray(split_r_hat(events))
    frozen = (events == events[:, :1]).all(axis=(0, 1))
    sizes[frozen] = np.minimum(sizes[frozen], chains)
    own = float(rank_effective_size(records.log_potentials))
    largest = max(float(r_hat.max()), float(rank_r_hat(records.log_potentials)))
    rates = [x / records.seconds for x in (records.moves, sizes.min(), np.median(sizes), own)]
    return Figures(*map(float, rates), largest, int(frozen.sum()))


# Problems.


class Problem(NamedTuple):
    name: str
    model: Any

    @property
    def title(self) -> str:
        return f"{self.name}, n = {self.model.n_leaves}, {type(self.model).__name__}, β = {self.model.beta:.3g}"

    @property
    def cells(self) -> list[str]:
        names = {"SumOfSquares": "sums of squares", "Dasgupta": "Dasgupta"}
        data = re.sub(r"_\d+x\d+$", "", self.name).replace("_", " ")
        return [data, str(self.model.n_leaves), names[type(self.model).__name__]]


def simulated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Eight groups of points of unit spread in four columns, their centres in two larger ones."""
    apart = np.repeat(rng.normal(size=(2, 4)) * 4.0, 4, axis=0) + rng.normal(size=(8, 4)) * 2.0
    return apart[np.arange(n) % 8] + rng.normal(size=(n, 4))


def read(path: Path) -> np.ndarray:
    """The numbers of a table, gaps as 0."""
    with np.errstate(invalid="ignore"):
        cells = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=float, comments=None)
    return np.nan_to_num(cells[:, 2:])


def warmed(base: Any, part: Any, perplexity: float) -> Any:
    """The model at the β at which a part of it has this perplexity."""
    return base.with_beta(pal.temperature.at_perplexity(part, perplexity, progress=False).beta)


def models(name: str, x: np.ndarray, kind: str, perplexity: float, rng: np.random.Generator) -> Iterator[Problem]:
    some = rng.choice(len(x), size=SAMPLE, replace=False)
    w = pal.similarity.of_points(x, kind)
    yield Problem(name, warmed(pal.models.SumOfSquares(x), pal.models.SumOfSquares(x[some]), perplexity))
    yield Problem(name, warmed(pal.models.Dasgupta(w), pal.models.Dasgupta(w[np.ix_(some, some)]), perplexity))


def problems(folder: Path | None, perplexity: float, seed: int) -> Iterator[Problem]:
    for n in SIZES:
        rng = np.random.default_rng([seed, n])
        yield from models("simulated", simulated(n, rng), "rbf", perplexity, rng)
    rng = np.random.default_rng([seed, min(SIZES)])
    flowers = load_iris().data
    yield from models("iris", flowers[rng.permutation(len(flowers))[: min(SIZES)]], "rbf", perplexity, rng)
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]) if folder else []:
        x = read(path)
        for n in sorted({min(n, len(x)) for n in SIZES} if len(x) >= FEWEST else set()):
            rng = np.random.default_rng([seed, n])
            rows = rng.choice(len(x), size=n, replace=False)
            yield from models(path.name.split(".")[0], x[rows], "correlation", perplexity, rng)


# What is measured.


class Asked(NamedTuple):
    """What a sampled posterior came to."""

    seconds: float  # of the processor over the number of threads
    n_rungs: int
    r_hat: float
    clusters: np.ndarray  # those that are open, as numbers
    worst: float  # effective samples per second of one processor
    median: float

    @property
    def agrees(self) -> bool:
        return self.r_hat < AGREED

    def __str__(self) -> str:
        rungs = f", {self.n_rungs} rungs" if self.n_rungs > 1 else ""
        return f"{self.worst:.3g}{rungs}" if self.agrees else f"R̂ {self.r_hat:.2f}{rungs}"


def measure(problem: Problem, seconds: float, seed: int) -> list[str]:
    """Both samplers on one problem, as a row of the table."""
    model = problem.model
    moves = HierarchyMoves(model)
    starts = far_apart(moves, seed)
    ours = Palmette(moves, starts, model.n_leaves, seed)
    theirs = Metropolis(moves, starts, model.n_leaves, seed)
    theirs.n_moves = equal_times(ours, theirs)
    records = compared([ours, theirs], seconds)
    single, asked = figures(records[0], open_clusters(records[0])), posterior_of(model, seed)
    clusters = asked.clusters
    if not asked.agrees:
        clusters = open_clusters(*(records[:1] if single.r_hat < AGREED else records))
    found = [figures(record, clusters) for record in records]
    rates = smoothed_rates(model, records[0], clusters)
    print(f"\n{problem.title}: {len(clusters)} clusters of probability {OPEN} to {1 - OPEN}\n")
    header = ["", "moves/s", "worst cluster", "median cluster", "log φ", "largest R̂", "clusters never left"]
    rows = [cells(s.name, f) for s, f in zip((ours, theirs), found, strict=True)]
    rows.insert(1, ["smoothed", "", f"{rates.min():.3g}", f"{np.median(rates):.3g}", "", "", ""])
    figure = [f"{asked.worst:.3g}", f"{asked.median:.3g}", "", f"{asked.r_hat:.3f}", ""]
    rows.append([f"search.posterior, {asked.n_rungs} rungs, {asked.seconds:.0f} s", "", *figure])
    print("\n".join(_tables.lines_of(header, rows)))
    best, ratios = (asked if asked.n_rungs > 1 else found[0]), ["", ""]
    if best.r_hat < AGREED:
        ratio, middle = best.worst / found[1].worst, best.median / found[1].median
        ratios = [f"{ratio:.3g}", f"{middle:.3g}"]
        verdict(ratio >= RATIO, f"{problem.title}: {ratio:.1f} times the effective samples of the worst cluster")
    else:
        verdict(False, f"{problem.title}: no chains agree, R̂ {best.r_hat:.3g}")
    ends = [f"{found[0].worst:.3g}", f"{rates.min():.3g}", str(asked), f"{found[1].worst:.3g}", *ratios]
    return [*problem.cells, *ends, f"{found[0].r_hat:.2f}", f"{found[1].r_hat:.2f}"]


def posterior_of(model: Any, seed: int) -> Asked:
    """What whoever asks `search.posterior` gets in two minutes, or in four if chains do not agree after two."""
    begin = time.process_time()
    post = pal.search.posterior(model, seconds=IN_TIME, rng=seed, progress=False)
    if post.verdict.r_hat >= AGREED:
        post = post.resume(seconds=IN_TIME)
    return asked_of(post, time.process_time() - begin, default_threads())


def asked_of(post: Any, used: float, threads: int) -> Asked:
    rows = [row for row in post.cluster_diagnostics() if OPEN < row.probability < 1.0 - OPEN]
    rates = np.array([row.effective_size for row in rows] or [np.inf]) / used
    clusters = keys_of([frozenset(row.members) for row in rows], post.labels)
    return Asked(
        used / threads, post.n_rungs, post.verdict.r_hat, clusters, float(rates.min()), float(np.median(rates))
    )


def cells(name: str, found: Figures) -> list[str]:
    rates = [f"{x:.3g}" for x in (found.worst, found.median, found.log_potential)]
    return [name, f"{found.moves:,.0f}", *rates, f"{found.r_hat:.3f}", str(found.n_frozen)]


def equal_times(ours: Palmette, theirs: Palmette) -> int:
    """How many of their moves take as long as a step of ours."""
    took = []
    for sampler, steps in ((ours, 40), (theirs, 400)):
        sampler.step(0)
        begin = time.process_time()
        for _ in range(steps):
            sampler.step(0)
        took.append((time.process_time() - begin) / steps)
    return max(1, round(theirs.n_moves * took[0] / took[1]))


def agreement(problem: Problem, seconds: float, threads: int) -> list[str]:
    """How long `sample_hierarchies` takes until its chains agree, as a row of the table."""
    said: list[str] = []
    for n_rungs in (1, N_RUNGS):
        found = until_agreed(problem.model, n_rungs, seconds, threads)
        said.append(f"{found.seconds:.0f} s" if found.agrees else f"R̂ {found.r_hat:.2f} after {found.seconds:.0f} s")
        if found.agrees:
            break
    how = "single chains" if len(said) == 1 else f"{N_RUNGS} rungs"
    words = f"{problem.title}: {', '.join(said)}, {how}, {found.worst:.3g} of the worst cluster a second"
    verdict(found.agrees and found.seconds <= IN_TIME, words)
    return [
        *problem.cells,
        *said,
        *[""] * (2 - len(said)),
        f"{found.worst:.3g}" if len(said) == 2 and found.agrees else "",
    ]


def until_agreed(model: Any, n_rungs: int, seconds: float, threads: int) -> Asked:
    """Seconds and R̂ when it is small enough, or when there is no more time; looked at ever more seldom.

    Seconds are those of the processor over the number of threads, so that whoever else uses the machine does not count.
    """
    begin = time.process_time()
    settings = {"n_rungs": n_rungs, "threads": threads, "progress": False, "precision": 1e-9}
    post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=50, **settings)
    while post.verdict.r_hat >= AGREED and (took := (time.process_time() - begin) / threads) < seconds:
        post = post.resume(seconds=min(seconds - took, 0.3 * took), precision=1e-9)
    return asked_of(post, time.process_time() - begin, threads)


def check_metropolis() -> None:
    """Metropolis against the exact posterior of seven leaves: a peer that is wrong is not worth comparing with."""
    x = simulated(7, np.random.default_rng(0)) / 4.0
    for model in (pal.models.SumOfSquares(x), pal.models.Dasgupta(pal.similarity.of_points(x))):
        moves, exact = HierarchyMoves(model), pal.HierarchyPosterior(model, progress=False)
        sampler = Metropolis(moves, far_apart(moves, 0), 20, 0)
        out, counts = np.empty(13, dtype=np.int32), np.zeros(128)
        for _ in range(20_000):
            for chain in range(N_CHAINS):
                sampler.step(chain)
                moves.record(sampler.states[chain], out)
                masks = [1 << i for i in range(7)] + [0] * 6
                for v in range(12):
                    masks[out[v]] |= masks[v]
                counts[masks[7:-1]] += 1
        rows = exact.cluster_probabilities(0.001)
        names = {sum(1 << model.labels.index(label) for label in row.members): row.probability for row in rows}
        gap = max(abs(counts[mask] / (20_000 * N_CHAINS) - p) for mask, p in names.items() if 1 < mask.bit_count() < 7)
        words = f"Metropolis, 7 leaves, {type(model).__name__}: largest error of a probability {gap:.4f}"
        verdict(gap < 0.01, words)


def tune(problem: Problem, seconds: float, seed: int) -> None:
    """Other shares of patches, and other numbers of stops."""
    model = problem.model
    starts = far_apart(HierarchyMoves(model), seed)
    rules = [(patches, N_STOPS) for patches in (0.0, 0.04, 0.1, 0.25, 0.5)]
    rules += [(patches, k) for k in (6, 10) for patches in (0.1, 0.25)]
    made = [HierarchyMoves(model, patches=patches, n_stops=k) for patches, k in rules]
    samplers = [Palmette(moves, starts, model.n_leaves, seed) for moves in made]
    for sampler in samplers:
        sampler.step(0)
    records = compared(samplers, seconds)
    clusters = open_clusters(*records)
    print(f"\n{problem.title}: {len(clusters)} clusters of probability {OPEN} to {1 - OPEN}\n")
    header = ["patches, stops", "moves/s", "worst cluster", "median cluster", "log φ", "largest R̂", "never left"]
    rows = [cells(f"{p:g}, {k}", figures(record, clusters)) for (p, k), record in zip(rules, records, strict=True)]
    print("\n".join(_tables.lines_of(header, rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of tables")
    parser.add_argument("--only", nargs="+", default=[""], help="problems whose title has one of these in it")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each chain; 0 to compare nothing")
    parser.add_argument("--until", type=float, default=IN_TIME, help="seconds that chains have to agree")
    parser.add_argument("--threads", type=int, default=2, help="of sample_hierarchies")
    parser.add_argument("--perplexity", type=float, default=100.0, help=f"of {SAMPLE} leaves")
    parser.add_argument("--tune", action="store_true")
    _tables.add_option(parser, PAGE)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every = problems(options.data, options.perplexity, options.seed)
    chosen = [problem for problem in every if any(part in problem.title for part in options.only)]
    if options.tune:
        for problem in chosen:
            tune(problem, options.seconds, options.seed)
        return
    if options.seconds > 0:
        check_metropolis()
        rows = [measure(problem, options.seconds, options.seed) for problem in chosen]
        ours = ["single chains", "smoothed", "`search.posterior`"]
        header = ["data", "leaves", "model", *ours, "Metropolis", "worst", "median", "R̂", "Metropolis's"]
        lines = _tables.lines_of(header, rows)
        print("\n" + "\n".join(lines) + "\n")
        _tables.write(options.write, "mixing", lines)
    if options.until > 0:
        rows = [agreement(problem, options.until, options.threads) for problem in chosen]
        lines = _tables.lines_of(
            ["data", "leaves", "model", "single chains", f"{N_RUNGS} rungs", "worst cluster"], rows
        )
        print("\n" + "\n".join(lines))
        _tables.write(options.write, "agreement", lines)


if __name__ == "__main__":
    main()
