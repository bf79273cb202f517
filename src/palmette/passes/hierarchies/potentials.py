"""A model on the full trellis: the tables from which log ψ of any split is read, and the compiled reader."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, is_ours, specialise
from palmette.array_types import Floats
from palmette.clusters import cluster_members, cluster_sizes, lowest_leaf, size_of
from palmette.labels import describe_cluster
from palmette.models.features import feature_log_psi, size_features, subset_features
from palmette.models.split_function import SplitFunction
from palmette.models.split_model import HierarchyModel, SeparableModel, SplitModel
from palmette.recursions.hierarchies.inside import listed_log_psi
from palmette.threads import Workers

__all__ = ["Potentials", "Separable", "potential_bytes", "separable_potentials", "tabulate_potentials"]


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
def _tabled_log_psi(data, P, L, R):
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


def potential_bytes(model: HierarchyModel) -> int:
    """What `tabulate_potentials` will keep."""
    n = model.n_leaves
    if isinstance(model, SeparableModel):
        return 16 * (1 << n)
    if isinstance(model, SplitModel):
        return 8 * model.n_features * (1 << n)
    return int(4 * 3**n) + 8 * (1 << n)


def tabulate_potentials(model: HierarchyModel, workers: Workers) -> Potentials:
    """Fill the tables that `model` needs for all 2^n clusters."""
    if isinstance(model, SeparableModel):
        a, u = _fill(model, workers, n_rows=2)
        b = np.ascontiguousarray(size_features(model)[:, 2])  # b depends on the size only
        return separable_potentials(a, u, b)
    if isinstance(model, SplitModel):
        potentials = Potentials(feature_log_psi(model), (model.theta, _fill(model, workers, model.n_features)))
        if not is_ours(model.score):
            _check_symmetric(model, potentials)
        return potentials
    if isinstance(model, SplitFunction):
        return Potentials(_tabled_log_psi, _split_table(model))
    raise TypeError(f"expected a model of hierarchies, such as palmette.models.Dasgupta, not {model!r}")


def _check_symmetric(model: SplitModel, potentials: Potentials) -> None:
    # The passes hand the two parts of a split to the score in either order.
    n = model.n_leaves
    rng = np.random.default_rng(0)
    parent, choice = rng.integers(1, 1 << n, (2, 64), dtype=np.uint64)
    left = parent & choice
    proper = (left != 0) & (left != parent)
    parent, left = parent[proper], left[proper]
    one, two = np.empty(len(left)), np.empty(len(left))
    evaluate = specialise(listed_log_psi, log_psi=potentials.log_psi)
    evaluate(potentials.data, parent, left, parent ^ left, one)
    evaluate(potentials.data, parent, parent ^ left, left, two)
    bad = np.flatnonzero(~np.isclose(one, two, rtol=1e-9, atol=1e-9, equal_nan=True))
    if len(bad):
        i = bad[0]
        sides = " and ".join(describe_cluster(cluster_members(int(m[i])), model.labels) for m in (left, parent ^ left))
        raise ValueError(
            f"{type(model).__name__}.score is not symmetric: the split into {sides} has log potential {one[i]:g} "
            f"one way round and {two[i]:g} the other; a split is an unordered pair"
        )


def _fill(model: SplitModel, workers: Workers, n_rows: int) -> Floats:
    low = min(_BLOCK, model.n_leaves)
    table = np.empty((n_rows, 1 << model.n_leaves))
    table[:, 0] = 0.0
    tabulate = subset_features(model)
    fixed = (model.theta, model.additive, model.pairwise, model.n_features, low)
    work = np.full(1 << (model.n_leaves - low), 20.0 * 2**low)
    workers.run(lambda first, last: tabulate(*fixed, first, last, table[:, first << low : last << low]), work)
    return table


def _split_table(model: SplitFunction) -> tuple[npt.NDArray[np.int64], Floats]:
    n = model.n_leaves
    sizes = cluster_sizes(n).astype(np.int64)
    lengths = np.where(sizes >= 1, 2 ** np.maximum(sizes - 1, 0) - 1, 0)
    starts = np.concatenate([[0], np.cumsum(lengths)])[:-1].astype(np.int64)
    values = np.empty(int(lengths.sum()))
    for mask in range(1, 1 << n):
        if lengths[mask]:
            left = _lefts(mask)
            values[starts[mask] : starts[mask] + lengths[mask]] = model.log_potentials(left, mask ^ left)
    return starts, values


def _lefts(mask: int) -> npt.NDArray[np.int64]:
    # All L ∋ lowest leaf of mask, L ≠ mask, in increasing order.
    lefts = np.array([mask & -mask], dtype=np.int64)
    others = mask & (mask - 1)
    while others:
        leaf = others & -others
        lefts = np.concatenate([lefts, lefts | leaf])
        others ^= leaf
    return lefts[:-1]
