"""A model of hierarchies on all clusters of a few leaves: tables from which log ψ of any split is read, and the reader.

Each kind of model has tables of its own, see `HierarchyModel.tabulate_splits`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from palmette._jit import inline
from palmette.array_types import Floats, Ints
from palmette.clusters import cluster_sizes, left_parts, lowest_leaf, size_of
from palmette.models.base import FeatureModel
from palmette.models.features import subset_features, tabulate
from palmette.threads import Workers

__all__ = ["Potentials", "Separable", "feature_table", "listed_log_psi", "listed_potentials", "separable_potentials"]

_ONE = np.uint64(1)


class Separable(NamedTuple):
    """log ψ = a[P] + b[|P|]·(u[L] + u[R])."""

    a: Floats
    u: Floats
    b: Floats


class Potentials(NamedTuple):
    """`log_psi(data, P, L, R)` is compiled; `data` is a tuple of arrays, a `Separable` one if `is_separable`."""

    log_psi: Any
    data: Any
    is_separable: bool = False


@inline
def _separable_log_psi(data, P, L, R):
    return data[0][P] + data[2][size_of(P)] * (data[1][L] + data[1][R])


@inline
def listed_log_psi(data, P, L, R):
    """log ψ of a split from (starts, values): those of the splits of P begin at starts[P], by increasing L."""
    # L is the part with the lowest leaf. Its rank is its bits at the places of P, packed.
    starts, values = data
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
    return values[starts[P] + rank]


def separable_potentials(a: Floats, u: Floats, b: Floats) -> Potentials:
    """log ψ = a[P] + b[|P|]·(u[L] + u[R]) from its tables, by mask (a, u) and by size (b)."""
    return Potentials(_separable_log_psi, Separable(a, u, b), is_separable=True)


def listed_potentials(n: int, log_potentials: Callable[[Ints, Ints], Floats]) -> Potentials:
    """log ψ of every split of n leaves, by asking for those of one cluster at a time: by left and by right parts."""
    lengths = 2 ** np.maximum(cluster_sizes(n).astype(np.int64) - 1, 0) - 1
    starts = np.cumsum(lengths) - lengths
    values = np.empty(int(lengths.sum()))
    for mask in np.flatnonzero(lengths).tolist():
        left = left_parts(mask)
        values[starts[mask] : starts[mask] + lengths[mask]] = log_potentials(left, mask ^ left)
    return Potentials(listed_log_psi, (starts, values))


def feature_table(model: FeatureModel, workers: Workers, n_rows: int) -> Floats:
    """(n_rows, 2^n): the first features of every cluster; 0 for the empty set."""
    table = np.empty((n_rows, 1 << model.n_leaves))
    table[:, 0] = 0.0
    tabulate(model, subset_features(model), workers, table)
    return table
