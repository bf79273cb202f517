"""What a table of points is told of its groups: by the default of `palmette partitions`, and by what was before.

    python experiments/support/partitions.py [--sets 30] [--seed 5000]          # two minutes

Three clear groups of four rows (their centres are at least 6 σ apart in two columns, and as clear in each column of
more), the same at 6 σ however many columns there are, groups of three rows within two groups, noise, and rows of data
with known classes, all standardised. Told are the mean probability that two rows of one group are together, and that
two of different ones are; how often the groups are the most probable partition; and how often some cluster of two rows
or more that is no group has more than 0.8. Noise has one group: all of its rows.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

import palmette as pal

SURE = 0.8
DATA = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer}


class Table(NamedTuple):
    """Rows, the group of each, and groups of groups."""

    x: Any
    group: Any
    larger: Any = None


Make = Callable[[np.random.Generator], Table]


def groups(columns: int, gap: float) -> Make:
    """Three groups of four rows, σ = 1, whose centres are at least so far apart."""

    def make(rng: np.random.Generator) -> Table:
        while True:
            centres = rng.normal(size=(3, columns))
            apart = np.linalg.norm(centres[[0, 0, 1]] - centres[[1, 2, 2]], axis=1)
            if apart.max() < 3 * apart.min():
                break
        group = np.repeat(np.arange(3), 4)
        return Table(gap / apart.min() * centres[group] + rng.normal(size=(12, columns)), group)

    return make


def nested(columns: int) -> Make:
    """Four groups of three rows, two and two of them 6 σ apart in a random direction, and the pairs of groups 25 σ."""

    def make(rng: np.random.Generator) -> Table:
        ways = rng.normal(size=(3, columns))
        one, far, two = ways / np.linalg.norm(ways, axis=1, keepdims=True)
        centres = np.array([0.0 * one, 6 * one, 25 * far, 25 * far + 6 * two])
        group = np.repeat(np.arange(4), 3)
        return Table(centres[group] + rng.normal(size=(12, columns)), group, group // 2)

    return make


def noise(columns: int) -> Make:
    """Twelve rows of one normal law."""
    return lambda rng: Table(rng.normal(size=(12, columns)), np.zeros(12, dtype=int))


def drawn(name: str) -> Make:
    """Some rows of known classes, 12 to 20 of them."""
    x, classes = DATA[name](return_X_y=True)

    def make(rng: np.random.Generator) -> Table:
        rows = rng.choice(len(x), rng.integers(12, 21), replace=False)
        return Table(x[rows], classes[rows])

    return make


TABLES: dict[str, Make] = {
    **{f"three clear groups, {d} columns": groups(d, 6.0 * (d / 2) ** 0.5) for d in (2, 7, 20)},
    **{f"three groups at 6 σ, {d} columns": groups(d, 6.0) for d in (7, 20)},
    **{f"groups within groups, {d} columns": nested(d) for d in (2, 7)},
    **{f"noise, {d} column{'s' if d > 1 else ''}": noise(d) for d in (1, 2, 3, 5, 10, 20, 40)},
    **{name: drawn(name) for name in DATA},
}


def correlation(x: Any) -> Any:
    """What the default was: similarities minus their mean, at β = 1."""
    return pal.PartitionPosterior(pal.models.CorrelationClusters(pal.similarity.centred(pal.similarity.of_points(x))))


def fixed(x: Any) -> Any:
    """What --model dirichlet-process was."""
    likelihood = pal.likelihoods.NormalGamma(pseudo_count=0.1, rate=0.25)
    return pal.PartitionPosterior(pal.models.DirichletProcess(x, 1.0, likelihood))


def by_evidence(x: Any) -> Any:
    """What the default is."""
    model = pal.models.DirichletProcess(x, 1.0, pal.likelihoods.NormalGamma.expecting(0.25))
    return pal.evidence.partition_posterior(model)


METHODS = {"correlation, β = 1": correlation, "α = 1, within 0.25": fixed, "by evidence": by_evidence}


class Figures(NamedTuple):
    """What one posterior says of one table."""

    same: float  # mean probability that two rows of one group are together
    other: float  # the same of two rows of different groups
    found: bool  # whether the most probable partition is that into the groups
    wrong: bool  # whether some cluster that is no group is all but sure


def judged(post: Any, table: Table) -> Figures:
    """A posterior beside the truth."""
    n = len(table.group)
    pairs = np.triu_indices(n, 1)
    together, alike = post.coclustering()[pairs], (table.group[:, None] == table.group)[pairs]
    kinds = [table.group, *([] if table.larger is None else [table.larger])]
    true = {frozenset(np.flatnonzero(kind == k).tolist()) for kind in kinds for k in np.unique(kind)}
    sure = [frozenset(map(int, row.members)) for row in post.cluster_probabilities(SURE) if 1 < row.size < n]
    found = post.map() == pal.Partition(table.group, labels=post.labels)
    return Figures(
        float(together[alike].mean()) if alike.any() else np.nan,
        float(together[~alike].mean()) if not alike.all() else np.nan,
        found,
        any(cluster not in true for cluster in sure),
    )


def rows(sets: int, seed: int) -> Iterator[list[str]]:
    """One row of the Markdown table for each kind of table."""
    for number, (name, make) in enumerate(TABLES.items()):
        told: dict[str, list[Figures]] = {method: [] for method in METHODS}
        for i in range(sets):
            table = make(np.random.default_rng([seed, number, i]))
            x = pal.similarity.standardised(table.x)
            x = x[:, (x != x[:1]).any(axis=0)]
            for method, infer in METHODS.items():
                told[method].append(judged(infer(x), table))
        yield [name, *(cell(found) for found in told.values())]


def cell(found: list[Figures]) -> str:
    """Means over tables, in the order that the head of the table has."""
    same, other, right, wrong = np.array(found, dtype=float).T
    apart = "–" if np.isnan(other).all() else f"{np.nanmean(other):.2f}"
    return f"{np.nanmean(same):.2f} / {apart}, {right.mean():.2f}, {wrong.mean():.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=30)
    parser.add_argument("--seed", type=int, default=5000)
    options = parser.parse_args()
    print("| same / other, found, wrong |", " | ".join(METHODS), "|")
    print("|---|" + "---|" * len(METHODS))
    for row in rows(options.sets, options.seed):
        print("|", " | ".join(row), "|", flush=True)


if __name__ == "__main__":
    main()
