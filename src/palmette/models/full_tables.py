"""A model of hierarchies on all clusters of a few leaves: tables from which log ψ of any split is read, and the reader.

Each kind of model has tables of its own, see `HierarchyModel.tabulate_splits`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from palmette._immutable import read_only
from palmette._jit import inline
from palmette.array_types import Floats, Ints
from palmette.clusters import cluster_sizes, left_parts, lowest_leaf, size_of
from palmette.models.base import FeatureModel
from palmette.models.c_functions import SplitTable, block_scores_of, subset_scores_of
from palmette.models.features import tabulate_features
from palmette.threads import Workers

__all__ = [
    "Potentials",
    "Separable",
    "feature_table",
    "listed_potentials",
    "listed_splits",
    "load_mask",
    "separable_potentials",
]

_ONE = np.uint64(1)
_NO_TABLE = np.zeros((1, 1))


class Separable(NamedTuple):
    """log ψ = a[P] + b[|P|]·(u[L] + u[R])."""

    a: Floats
    u: Floats
    b: Floats


class Potentials:
    """log ψ(L, R) = score(θ, P, L, R) of what load(table, mask, stride) finds of each, both parts of C functions."""

    def __init__(
        self, score: Any, load: Any, theta: Floats, table: Floats = _NO_TABLE, separable: Separable | None = None
    ) -> None:
        self.score, self.load = score, load
        #: What kernels take.
        self.data = SplitTable(subset_scores_of(score, load), read_only(np.array(theta)), table)
        #: The tables of a separable model.
        self.separable = separable

    @property
    def block(self) -> int:
        """The address of `score_block`, which large passes need besides."""
        return block_scores_of(self.score, self.load)


@inline
def load_mask(table, mask, stride):
    """A cluster itself, for scores that need no more."""
    return mask


@inline
def _load_separable(table, mask, stride):
    return table[mask], table[stride + np.int64(mask)], size_of(mask)


@inline
def _separable_score(theta, parent, left, right):
    return parent[0] + theta[parent[2]] * (left[1] + right[1])


@inline
def _listed_score(theta, P, L, R):
    # θ: where those of each P begin, then all log ψ, those of a P by increasing L. L is the part with the lowest leaf;
    # its rank is its bits at the places of P, packed.
    lowest = lowest_leaf(P)
    inner = L if L & lowest else R
    rank = np.uint64(0)
    bit = _ONE
    others = P ^ lowest
    while others:
        leaf = lowest_leaf(others)
        if inner & leaf:
            rank |= bit
        bit <<= _ONE
        others ^= leaf
    return theta[np.uint64(theta[P]) + rank]


def separable_potentials(table: Floats, b: Floats) -> Potentials:
    """log ψ = a[P] + b[|P|]·(u[L] + u[R]) from a and u by mask, the rows of a table, and b by size."""
    return Potentials(_separable_score, _load_separable, b, table, Separable(table[0], table[1], b))


def listed_splits(starts: Ints, values: Floats) -> Potentials:
    """log ψ by cluster, where it begins at starts[P] in `values`, and there by increasing L."""
    return Potentials(_listed_score, load_mask, np.concatenate([starts + float(len(starts)), values]))


def listed_potentials(n: int, log_potentials: Callable[[Ints, Ints], Floats]) -> Potentials:
    """log ψ of every split of n leaves, by asking for those of one cluster at a time: by left and by right parts."""
    lengths = 2 ** np.maximum(cluster_sizes(n).astype(np.int64) - 1, 0) - 1
    starts = np.cumsum(lengths) - lengths
    values = np.empty(int(lengths.sum()))
    for mask in np.flatnonzero(lengths).tolist():
        left = left_parts(mask)
        values[starts[mask] : starts[mask] + lengths[mask]] = log_potentials(left, mask ^ left)
    return listed_splits(starts, values)


def feature_table(model: FeatureModel, workers: Workers, n_rows: int) -> Floats:
    """(n_rows, 2^n): the first features of every cluster; 0 for the empty set."""
    table = np.empty((n_rows, 1 << model.n_leaves))
    table[:, 0] = 0.0
    tabulate_features(model, workers, table)
    return table
