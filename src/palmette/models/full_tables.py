"""A model of hierarchies on all clusters of a few leaves: tables from which log ψ of any split is read, and the reader.

Each kind of model has tables of its own, see `HierarchyModel.tabulate_splits`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.clusters import cluster_sizes, left_parts, lowest_leaf, size_of
from palmette.models.features import feature_log_psi, size_features, subset_features
from palmette.threads import Workers

if TYPE_CHECKING:
    from palmette.models.split_model import HierarchyModel, SplitModel

__all__ = [
    "Potentials",
    "Separable",
    "feature_potentials",
    "listed_potentials",
    "separable_feature_potentials",
    "separable_potentials",
]


_BLOCK = 10  # clusters are tabulated in blocks of 2^10
_ONE = np.uint64(1)


class Separable(NamedTuple):
    """log ψ = a[P] + b[|P|]·(u[L] + u[R])."""

    a: Floats
    u: Floats
    b: Floats


class Potentials(NamedTuple):
    """`log_psi(data, P, L, R)` is compiled; `data` is a tuple of arrays."""

    log_psi: Any
    data: Any


@inline
def _separable_log_psi(data, P, L, R):
    return data[0][P] + data[2][size_of(P)] * (data[1][L] + data[1][R])


@inline
def _listed_log_psi(data, P, L, R):
    # The splits of P are stored by increasing L ∋ lowest leaf: the rank of L is its bits at the places of P, packed.
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
    return Potentials(_separable_log_psi, Separable(a, u, b))


def separable_feature_potentials(model: SplitModel, workers: Workers) -> Potentials:
    """The tables of a separable model, whose first three features are a, u and b; b depends on the size only."""
    a, u = _features(model, workers, n_rows=2)
    return separable_potentials(a, u, np.ascontiguousarray(size_features(model)[:, 2]))


def feature_potentials(model: SplitModel, workers: Workers) -> Potentials:
    """The features of every cluster, from which the score of a split is computed each time."""
    return Potentials(feature_log_psi(model), (model.theta, _features(model, workers, model.n_features)))


def listed_potentials(model: HierarchyModel) -> Potentials:
    """log ψ of every split, by asking the model for those of one cluster at a time."""
    n = model.n_leaves
    sizes = cluster_sizes(n).astype(np.int64)
    lengths = np.where(sizes >= 1, 2 ** np.maximum(sizes - 1, 0) - 1, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    values = np.empty(int(lengths.sum()))
    for mask in range(1, 1 << n):
        if lengths[mask]:
            left = left_parts(mask)
            values[starts[mask] : starts[mask] + lengths[mask]] = model.log_potentials(left, mask ^ left)
    return Potentials(_listed_log_psi, (starts, values))


def _features(model: SplitModel, workers: Workers, n_rows: int) -> Floats:
    low = min(_BLOCK, model.n_leaves)
    table = np.empty((n_rows, 1 << model.n_leaves))
    table[:, 0] = 0.0
    tabulate = subset_features(model)
    fixed = (model.theta, model.additive, model.pairwise, model.n_features, low)
    work = np.full(1 << (model.n_leaves - low), 20.0 * 2**low)
    workers.run(lambda first, last: tabulate(*fixed, first, last, table[:, first << low : last << low]), work)
    return table
