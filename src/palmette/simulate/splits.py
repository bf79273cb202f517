"""Data that belong to the splits of a random hierarchy: points by their contrasts, graphs, counts, similarities.

Each is drawn from the law that the model of the same name integrates over, so that its posteriors are calibrated: of
the clusters with probability p, a share p is there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.checks import check_integer, check_number, check_positive
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels
from palmette.models.priors import Prior, check_prior

__all__ = ["SplitDraw", "contrasts", "move_apart", "normal_pairs", "poisson_pairs", "random_graph", "random_hierarchy"]

Rng = np.random.Generator


@dataclass(frozen=True, eq=False)
class SplitDraw:
    """A hierarchy, and data that were drawn given it."""

    hierarchy: Hierarchy
    x: Floats
    """(n, d) points, or (n, n) values of pairs with a zero diagonal."""


def random_hierarchy(
    n: int, prior: Prior = "uniform", *, rng: Any = None, labels: Iterable[str] | None = None
) -> Hierarchy:
    """A hierarchy over n leaves, from a prior on shapes; see `models.with_prior`.

    >>> random_hierarchy(5, "yule", rng=1)
    Hierarchy.from_newick('(0,(((1,4),3),2));')
    """
    names, law = check_labels(labels, check_integer("n", n, 1)), check_prior(prior)
    generator = np.random.default_rng(rng)
    clusters, waiting = [], [generator.permutation(n)]
    while waiting:
        cluster = waiting.pop()
        if (m := len(cluster)) > 1:
            clusters.append(cluster.tolist())
            size = 1 + generator.choice(m - 1, p=law.size_probabilities(m))
            order = generator.permutation(cluster)
            waiting += [order[:size], order[size:]]
    return Hierarchy.from_clusters(clusters, names)


def contrasts(
    n: int,
    n_columns: int = 1,
    a: float = 0.5,
    b: float = 1.0,
    *,
    prior: Prior = "uniform",
    rng: Any = None,
    labels: Iterable[str] | None = None,
) -> SplitDraw:
    """Points of mean 0 whose contrasts are normal in each of `n_columns`, with variances from InverseGamma(a, b).

    >>> draw = contrasts(4, 2, rng=1)
    >>> draw.x.shape, bool(np.abs(draw.x.mean(axis=0)).max() < 1e-12)
    ((4, 2), True)
    """
    a, b, d = check_positive("a", a), check_positive("b", b), check_integer("n_columns", n_columns, 1)

    def add(x: Floats, left: list[int], right: list[int], rng: Rng) -> None:
        move_apart(x, left, right, np.sqrt(b / rng.standard_gamma(a)) * rng.standard_normal(d))

    return _draw(n, d, add, prior, rng, labels)


def move_apart(x: Floats, left: list[int] | Ints, right: list[int] | Ints, contrast: Floats) -> None:
    """Gives a split its contrast, √(|L||R| / |P|) · (mean of L − mean of R); the mean of P stays where it is."""
    one, two = len(left), len(right)
    gap = contrast * np.sqrt((one + two) / (one * two))
    x[left] += gap * two / (one + two)
    x[right] -= gap * one / (one + two)


def random_graph(
    n: int,
    a: float = 1.0,
    b: float = 1.0,
    *,
    prior: Prior = "uniform",
    rng: Any = None,
    labels: Iterable[str] | None = None,
) -> SplitDraw:
    """A graph in which each split has a probability of edges across it, from Beta(a, b).

    >>> random_graph(3, rng=2).x
    array([[0., 1., 1.],
           [1., 0., 1.],
           [1., 1., 0.]])
    """
    a, b = check_positive("a", a), check_positive("b", b)
    return _draw_pairs(n, lambda size, rng: 1.0 * (rng.random(size) < rng.beta(a, b)), prior, rng, labels)


def poisson_pairs(
    n: int,
    shape: float = 1.0,
    rate: float = 1.0,
    *,
    prior: Prior = "uniform",
    rng: Any = None,
    labels: Iterable[str] | None = None,
) -> SplitDraw:
    """Counts of pairs: each split has a Poisson rate, from Gamma(shape, rate).

    >>> poisson_pairs(3, rate=0.2, rng=2).x
    array([[0., 4., 2.],
           [4., 0., 3.],
           [2., 3., 0.]])
    """
    k, r = check_positive("shape", shape), check_positive("rate", rate)
    return _draw_pairs(n, lambda size, rng: 1.0 * rng.poisson(rng.standard_gamma(k) / r, size), prior, rng, labels)


def normal_pairs(
    n: int,
    mean: float = 0.0,
    pseudo_count: float = 1.0,
    shape: float = 1.0,
    rate: float = 1.0,
    *,
    prior: Prior = "uniform",
    rng: Any = None,
    labels: Iterable[str] | None = None,
) -> SplitDraw:
    """Similarities of pairs: each split has a mean and a variance, from a normal-gamma law as in `models.NormalPairs`.

    >>> normal_pairs(3, rng=2).x.round(2)
    array([[ 0.  ,  0.39,  0.6 ],
           [ 0.39,  0.  , -1.22],
           [ 0.6 , -1.22,  0.  ]])
    """
    mean, weight = check_number("mean", mean), check_positive("pseudo_count", pseudo_count)
    k, r = check_positive("shape", shape), check_positive("rate", rate)

    def values(size: tuple[int, int], rng: Rng) -> npt.NDArray[np.floating[Any]]:
        spread = np.sqrt(r / rng.standard_gamma(k))
        return rng.normal(rng.normal(mean, spread / np.sqrt(weight)), spread, size)

    return _draw_pairs(n, values, prior, rng, labels)


def _draw(
    n: int,
    n_columns: int | None,
    add: Callable[[Floats, list[int], list[int], Rng], None],
    prior: Prior,
    rng: Any,
    labels: Iterable[str] | None,
) -> SplitDraw:
    generator = np.random.default_rng(rng)
    hierarchy = random_hierarchy(n, prior, rng=generator, labels=labels)
    x = np.zeros((n, n if n_columns is None else n_columns))
    for left, right in hierarchy.splits():
        add(x, sorted(left), sorted(right), generator)
    return SplitDraw(hierarchy, read_only(x))


def _draw_pairs(
    n: int,
    values: Callable[[tuple[int, int], Rng], npt.NDArray[np.floating[Any]]],
    prior: Prior,
    rng: Any,
    labels: Iterable[str] | None,
) -> SplitDraw:
    def add(x: Floats, left: list[int], right: list[int], rng: Rng) -> None:
        drawn = values((len(left), len(right)), rng)
        x[np.ix_(left, right)], x[np.ix_(right, left)] = drawn, drawn.T

    return _draw(n, None, add, prior, rng, labels)
