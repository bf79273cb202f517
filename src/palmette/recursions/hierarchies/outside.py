"""Top-down passes for any model, over ``log_psi(data, P, L, R)``.

    μ(X) = 1,    μ(C) = Σ_{P ⊋ C} μ(P) ψ(C, P∖C) Z(C) Z(P∖C) / Z(P)

Gathered, not scattered: one cluster C walks its supersets, so that clusters of one size need nothing of each other,
threads share no accumulator, and the sum has one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import kernel, reduction, specialise_inline
from palmette.clusters import lowest_leaf
from palmette.numeric import add_shares, exponential
from palmette.recursions.subsets import TILE, ZERO, next_subset, walking
from palmette.recursions.tiles import tile_for

__all__ = [
    "add_weighted",
    "divergence_clusters",
    "entropy_clusters",
    "gather_clusters",
    "mean_all_inline",
    "pair_sums",
    "value_clusters",
]

log_psi: Any = None  # the model's, put in by `walking`, as is the walk
walk: Any = None
new_tile: Any = None
other_log_psi: Any = None
value: Any = None


def _gather_tile(context, first, table, begin, end, tile, state):
    data, Z, log_weight, C = context
    for j in range(begin, end):
        R = first | table[j]
        P = C | R
        tile[j] = log_psi(data, P, C, R) + ((Z[C] + Z[R]) + log_weight[P])
    if begin > 0:
        tile[0] = -np.inf
    return state + add_shares(tile, end)


def _gather_clusters(data, Z, log_weight, masks, out):
    table = np.empty(TILE, np.uint64)
    tile = new_tile()
    full = np.uint64(out.size - 1)
    for i in range(masks.size):
        C = np.uint64(masks[i])
        out[C] = 0.0
        if Z[C] > -np.inf:
            out[C] = walk((data, Z, log_weight, C), ZERO, full ^ C, 1, 0, table, tile, 0.0)


def gather_clusters(log_psi: Any) -> Any:
    """The kernel (data, Z, log_weight, masks, out), for the listed C, of

    out[C] = Σ_R exp(log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R)),   R disjoint from C.

    With log_weight(P) = log μ(P) − Z(P) that is μ(C).
    """
    return walking(_gather_clusters, _gather_tile, log_psi=log_psi, new_tile=tile_for(log_psi))


@reduction
def add_weighted(log_p, gap, count):
    """Σ p · gap; where p is 0 the gap may be infinite."""
    total = 0.0
    for j in range(count):
        p = exponential(log_p[j])
        total += p * gap[j] if p > 0.0 else 0.0
    return total


def _over_splits(context, masks, out):
    # out[i]: what a walk over the splits of the i-th listed cluster comes to.
    table = np.empty(TILE, np.uint64)
    tile = new_tile()
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        out[i] = walk((context, P), lowest, P ^ lowest, 0, 1, table, tile, 0.0)


def _entropy_tile(context, first, table, begin, end, log_p, state):
    (data, Z), P = context
    for j in range(end):
        L = first | table[j]
        R = P ^ L
        log_p[j] = log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P])
    return state - add_weighted(log_p, log_p, end)


def entropy_clusters(log_psi: Any) -> Any:
    """The kernel ((data, Z), masks, out): out[i] = −Σ p log p over the splits of the i-th listed cluster.

    p = ψ(L, R) Z(L) Z(R) / Z(P).
    """
    return walking(_over_splits, _entropy_tile, log_psi=log_psi, new_tile=tile_for(log_psi))


def _divergence_tile(context, first, table, begin, end, log_p, state):
    (data, Z, other_data, other_Z), P = context
    gap = np.empty(TILE)
    for j in range(end):
        L = first | table[j]
        R = P ^ L
        log_p[j] = log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P])
        y = other_log_psi(other_data, P, L, R) + (other_Z[L] + other_Z[R])
        gap[j] = log_p[j] - (y - other_Z[P]) if y > -np.inf and other_Z[P] > -np.inf else np.inf
    return state + add_weighted(log_p, gap, end)


def divergence_clusters(log_psi: Any, other_log_psi: Any) -> Any:
    """The kernel ((data, Z, other_data, other_Z), masks, out): out[i] = Σ p (log p − log q), +inf where q = 0 < p."""
    functions = {"log_psi": log_psi, "other_log_psi": other_log_psi, "new_tile": tile_for(log_psi)}
    return walking(_over_splits, _divergence_tile, **functions)


def _value_tile(context, first, table, begin, end, log_p, state):
    (data, Z, value_data), P = context
    values = np.empty(TILE)
    for j in range(end):
        L = first | table[j]
        R = P ^ L
        log_p[j] = log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P])
        values[j] = value(value_data, P, L, R)
    return state + add_weighted(log_p, values, end)


def value_clusters(log_psi: Any, value: Any) -> Any:
    """The kernel ((data, Z, value_data), masks, out): out[i] = Σ p v(L, R), splits of the i-th listed cluster."""
    return walking(_over_splits, _value_tile, log_psi=log_psi, value=value, new_tile=tile_for(log_psi))


def _mean_all(data, value_data, n, Z, mu):
    # From the root down: the parents of a cluster have larger masks.
    full = (1 << n) - 1
    for mask in range(full):
        mu[mask] = 0.0
    mu[full] = 1.0
    total = 0.0
    for mask in range(full, 2, -1):
        P = np.uint64(mask)
        lowest = lowest_leaf(P)
        others = P ^ lowest
        sub = ZERO
        while mu[mask] > 0.0 and sub != others:  # a leaf has no others
            L = lowest | sub
            R = P ^ L
            share = exponential(log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P]))
            if share > 0.0:
                share *= mu[mask]
                mu[L] += share
                mu[R] += share
                total += share * value(value_data, P, L, R)
            sub = next_subset(sub, others)
    return total


def mean_all_inline(log_psi: Any, value: Any) -> Any:
    """A part of kernels, (data, value_data, n, Z, μ): E[Σ v(L, R)] over the splits of hierarchies, if there is one."""
    return specialise_inline(_mean_all, log_psi=log_psi, value=value)


@kernel
def pair_sums(values, first, last, out):
    """out[i, j] = Σ values[C] over the clusters first ≤ C < last that hold both i and j, i ≤ j."""
    n = out.shape[0]
    members = np.empty(n, np.int64)
    for C in range(first, last):
        if values[C] != 0.0:
            size = 0
            for i in range(n):
                if (C >> i) & 1:
                    members[size] = i
                    size += 1
            for x in range(size):
                for y in range(x, size):
                    out[members[x], members[y]] += values[C]
