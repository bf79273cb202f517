"""Support for the clusters of one data set, four ways: exact, sampled, on a sparse trellis, and by bootstrap.

    python experiments/support/run.py --data expression.csv.gz [--samples 18] [--sets 3] [--seconds 60]
    python experiments/support/run.py --data expression.csv.gz --samples 100         # too many for an exact answer

Of a table of samples (first column: name, second: class, then one column per gene; empty cells are missing) some are
drawn at random. For two models at three perplexities the exact probability of every cluster is set beside what
`search.posterior` says beyond its limit, sampled and sparse, and beside how often average linkage of resampled columns
has it. Without --data, points in groups are made up.

Of more samples than can be summed over, the sampled answer is set beside that of another seed, and beside the sparse
one and the bootstrap; β is such that twelve of the samples have the perplexity.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import time
from pathlib import Path
from typing import Any

import numpy as np

import palmette as pal

PERPLEXITIES = (10.0, 100.0, 1e4)
RESAMPLES = 200
EXACT = 20  # samples that are summed over
FEW = 12  # samples whose perplexity is set, of more than that
HEADER = (
    "set",
    "model",
    "perplexity",
    "sampled",
    "verdict",
    "sparse",
    "bootstrap",
    "wrong: sampled",
    "sparse",
    "seconds",
)
LARGE_HEADER = ("set", "samples", "model", "perplexity", "verdict", "R̂", "another seed", "sparse", "bootstrap")


def cells_of(path: Path) -> tuple[list[str], Any]:
    """The names of the samples and the (samples, genes) numbers of a table, NaN where one is missing."""
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    rows = list(csv.reader(text.splitlines()))[1:]
    values = [[float(cell) if cell else np.nan for cell in row[2:]] for row in rows]
    return [row[0] for row in rows], np.array(values)


def read(path: Path) -> Any:
    """(samples, genes): the numbers of a table, missing ones replaced by the mean of their column."""
    return pal.similarity.completed(cells_of(path)[1], "mean")


def made_up(n: int, rng: np.random.Generator) -> Any:
    """Points in four groups."""
    centres = rng.normal(size=(4, 6)) * 1.5
    return centres[rng.integers(4, size=n)] + rng.normal(size=(n, 6))


def models(x: Any) -> dict[str, Any]:
    """Costs of the correlations between samples, and of distances between them."""
    scaled = (x - x.mean(axis=0)) / np.where(x.std(axis=0) > 0, x.std(axis=0), 1.0)
    alike = np.corrcoef(scaled)
    np.fill_diagonal(alike, 0.0)
    return {
        "Dasgupta": pal.models.Dasgupta((alike + 1.0) / 2.0 * (1.0 - np.eye(len(x)))),
        "sums of squares": pal.models.SumOfSquares(scaled / np.sqrt(scaled.shape[1])),
    }


def bootstrap(x: Any, rng: np.random.Generator) -> Any:
    """How often average linkage of resampled columns has each cluster."""
    found = []
    for _ in range(RESAMPLES):
        columns = rng.integers(x.shape[1], size=x.shape[1])
        found.append(pal.similarity.linkages(pal.similarity.likeness(x[:, columns]))[0])
    return pal.posterior.from_trees(found)


def compare(exact: Any, other: Any) -> tuple[float, int]:
    """The largest gap between probabilities of a cluster, and how many of 0.95 or more have less than one half."""
    rows = [(row.members, row.probability) for row in exact.cluster_probabilities(0.01)]
    gaps = [abs(float(other.cluster_probability(members)) - p) for members, p in rows]
    sure = [row.members for row in other.cluster_probabilities(0.95)]
    return max(gaps, default=0.0), sum(exact.cluster_probability(members) < 0.5 for members in sure)


def said_by(sampled: Any) -> str:
    """The first words of the verdict."""
    return str(sampled.verdict).partition(";")[0].partition(",")[0].partition(":")[0]


def set_beside(sampled: Any, other: Any) -> str:
    """The largest gap of a probability, and how many of the clusters of 0.95 or more in `other` have less than 0.5."""
    gaps = [
        abs(float(other.cluster_probability(row.members)) - row.probability)
        for row in sampled.cluster_probabilities(0.05)
    ]
    sure = [row.members for row in other.cluster_probabilities(0.95)]
    wrong = sum(float(sampled.cluster_probability(members)) < 0.5 for members in sure)
    return f"{max(gaps, default=0.0):.3f}, {wrong} of {len(sure)}"


def without_exact(number: int, x: Any, perplexities: list[float], seconds: float, rng: np.random.Generator) -> None:
    """A row for each model and perplexity."""
    resampled, few = bootstrap(x, rng), rng.permutation(len(x))[:FEW]
    for (name, base), part in zip(models(x).items(), models(x[few]).values(), strict=True):
        for perplexity in perplexities:
            model = base.with_beta(pal.temperature.at_perplexity(part, perplexity).beta)
            sampled, again = (pal.search.posterior(model, seconds=seconds, rng=seed) for seed in (0, 1))
            sparse = pal.search.posterior(model, beyond="sparse")
            sides = [set_beside(sampled, other) for other in (again, sparse, resampled)]
            cells = (number, len(x), name, f"{perplexity:g}", said_by(sampled), f"{sampled.verdict.r_hat:.2f}", *sides)
            print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--samples", type=int, default=18)
    parser.add_argument("--sets", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--perplexities", type=float, nargs="+", help="instead of 10, 100 and 10⁴")
    options = parser.parse_args()
    is_exact = options.samples <= EXACT
    header = HEADER if is_exact else LARGE_HEADER
    print(f"| {' | '.join(header)} |\n|{'---|' * len(header)}")
    for number in range(options.sets):
        rng = np.random.default_rng(number)
        table = made_up(options.samples, rng) if options.data is None else read(options.data)
        x = table[rng.permutation(len(table))[: options.samples]]
        if not is_exact:
            without_exact(number, x, options.perplexities or list(PERPLEXITIES[1:]), options.seconds, rng)
            continue
        resampled = bootstrap(x, rng)
        for name, base in models(x).items():
            for perplexity in options.perplexities or PERPLEXITIES:
                model = pal.temperature.at_perplexity(base, perplexity)
                exact = pal.HierarchyPosterior(model)
                begin = time.perf_counter()
                sampled = pal.search.posterior(model, exact_leaves=0, seconds=options.seconds)
                taken = time.perf_counter() - begin
                sparse = pal.search.posterior(model, exact_leaves=0, beyond="sparse")
                (one, wrong), (two, sparsely), (three, _) = (compare(exact, p) for p in (sampled, sparse, resampled))
                cells = (
                    number,
                    name,
                    f"{perplexity:g}",
                    f"{one:.4f}",
                    said_by(sampled),
                    f"{two:.4f}",
                    f"{three:.3f}",
                    wrong,
                    sparsely,
                )
                print(f"| {' | '.join(map(str, cells))} | {taken:.0f} |", flush=True)


if __name__ == "__main__":
    main()
