"""Support where the model is wrong: what is promised of clusters, and what is kept.

    python experiments/support/misspecified.py [--sets 60] [--leaves 8]

Tables with a known truth are made in five ways: from the law of `Contrasts` itself, as a mixture of three Gaussians,
from the law with columns that hang together, and without any structure, from Gaussians and from Student's t with two
degrees of freedom. Clusters that a method gives more than one half are counted, with what it promises of them and how
many of them are true. Of three Gaussians the groups are true; what is made of whole groups is neither true nor false.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import linkage

import palmette as pal

RESAMPLES = 200
COLUMNS = 6
Leaves = frozenset[int]


class Table:
    """Points, and which of their clusters are true; those that are neither are left out."""

    def __init__(self, x: Any, true: Iterable[Leaves] = (), neither: Iterable[Leaves] = ()) -> None:
        self.x, self.true, self.neither = x, set(true), set(neither)


def of_the_law(n: int, rng: np.random.Generator) -> Table:
    draw = pal.simulate.contrasts(n, COLUMNS, a=0.5, b=0.2, rng=rng)
    return Table(draw.x, draw.hierarchy.clusters())


def gaussian_mixture(n: int, rng: np.random.Generator) -> Table:
    group = np.sort(np.resize(np.arange(3), n))
    x = 2.0 * rng.normal(size=(3, COLUMNS))[group] + 0.7 * rng.normal(size=(n, COLUMNS))
    groups = [frozenset(np.flatnonzero(group == k).tolist()) for k in range(3)]
    unions = [one | two for one in groups for two in groups if one != two]
    return Table(x, groups, unions)


def correlated_columns(n: int, rng: np.random.Generator) -> Table:
    """Two columns that follow the law, seen in six, with some noise."""
    draw = pal.simulate.contrasts(n, 2, a=0.5, b=0.2, rng=rng)
    seen = draw.x @ rng.normal(size=(2, COLUMNS))
    return Table(seen + 0.05 * seen.std() * rng.normal(size=seen.shape), draw.hierarchy.clusters())


def gaussian_noise(n: int, rng: np.random.Generator) -> Table:
    return Table(rng.normal(size=(n, COLUMNS)))


def student_noise(n: int, rng: np.random.Generator) -> Table:
    return Table(rng.standard_t(2, size=(n, COLUMNS)))


def supports(post: Any) -> dict[Leaves, float]:
    return {frozenset(map(int, row.members)): row.probability for row in post.cluster_probabilities(0.5)}


def averaged(x: Any, **options: Any) -> dict[Leaves, float]:
    return supports(pal.evidence.average(partial(pal.models.Contrasts, x, **options)))


def maximised(x: Any) -> dict[Leaves, float]:
    return supports(pal.HierarchyPosterior(pal.evidence.maximise(partial(pal.models.Contrasts, x)).model))


def at_perplexity(x: Any) -> dict[Leaves, float]:
    return supports(pal.HierarchyPosterior(pal.temperature.at_perplexity(pal.models.SumOfSquares(x), 100)))


def bootstrap(x: Any) -> dict[Leaves, float]:
    """How often Ward's linkage of columns that are drawn anew has each cluster."""
    rng, n, counts = np.random.default_rng(0), len(x), dict[Leaves, int]()
    for _ in range(RESAMPLES):
        tree = pal.Hierarchy.from_linkage(linkage(x[:, rng.integers(x.shape[1], size=x.shape[1])], "ward"))
        for cluster in tree.clusters():
            if 1 < len(cluster) < n:
                counts[cluster] = counts.get(cluster, 0) + 1
    return {cluster: count / RESAMPLES for cluster, count in counts.items() if count > RESAMPLES / 2}


TABLES: dict[str, Callable[[int, np.random.Generator], Table]] = {
    "the law itself": of_the_law,
    "three Gaussians": gaussian_mixture,
    "correlated columns": correlated_columns,
    "Gaussian noise": gaussian_noise,
    "t noise": student_noise,
}
METHODS: dict[str, Callable[[Any], dict[Leaves, float]]] = {
    "Contrasts, averaged": averaged,
    "Contrasts, maximised": maximised,
    "averaged, effective dimension": partial(averaged, dimension="effective"),
    "sums of squares, perplexity 100": at_perplexity,
    "bootstrap of Ward's linkage": bootstrap,
}


def judged(tables: list[Table], method: Callable[[Any], dict[Leaves, float]]) -> str:
    """How many clusters per table are above one half, what is promised of them, and how many of them are true."""
    promised, kept = [], []
    for table in tables:
        for cluster, support in method(table.x).items():
            if cluster not in table.neither:
                promised.append(support)
                kept.append(cluster in table.true)
    if not promised:
        return "none"
    return f"{len(promised) / len(tables):.2f}: {np.mean(promised):.2f} / {np.mean(kept):.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=60, help="tables of each kind")
    parser.add_argument("--leaves", type=int, default=8)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print("| | " + " | ".join(METHODS) + " |")
    print("|---" * (len(METHODS) + 1) + "|")
    for name, make in TABLES.items():
        rng = np.random.default_rng(0)
        tables = [make(options.leaves, rng) for _ in range(options.sets)]
        print(f"| {name} | " + " | ".join(judged(tables, method) for method in METHODS.values()) + " |", flush=True)


if __name__ == "__main__":
    main()
