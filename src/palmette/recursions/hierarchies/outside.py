"""Top-down passes for any model, over a `SplitTable`.

    μ(X) = 1,    μ(C) = Σ_{P ⊋ C} μ(P) ψ(C, P∖C) Z(C) Z(P∖C) / Z(P)

Gathered, not scattered: one cluster C walks its supersets, so that clusters of one size need nothing of each other,
threads share no accumulator, and the sum has one order.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel, maker, reduction
from palmette.clusters import lowest_leaf
from palmette.models.c_functions import PART, TILE, score_subsets
from palmette.numeric import add_shares, exponential
from palmette.recursions.hierarchies.tiles import score_tile
from palmette.recursions.subsets import ZERO, next_subset, tabulate_subsets, tiles_of

__all__ = [
    "divergence_clusters",
    "entropy_clusters",
    "gather_clusters",
    "gather_values",
    "mean_of",
    "pair_sums",
    "value_clusters",
]


@reduction
def _add_weighted(log_p, gap, first, count):
    """Σ p · gap; where p is 0 the gap may be infinite."""
    total = 0.0
    for j in range(first, count):
        p = exponential(log_p[j])
        total += p * gap[j] if p > 0.0 else 0.0
    return total


# Over all that a cluster can be joined with.


@inline
def _weigh_supersets(data, Z, log_weight, C, high, others, count, tile):
    # tile[j] = log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R), R = high | others[j].
    score_subsets(data, C, PART, high, others, count, tile)
    for j in range(count):
        R = high | others[j]
        tile[j] += (Z[C] + Z[R]) + log_weight[C | R]
    if high == ZERO:
        tile[0] = -np.inf  # R = ∅ is no split


@kernel
def gather_clusters(data, Z, log_weight, masks, out):
    """For the listed C: out[C] = Σ_R exp(log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R)), R disjoint from C.

    With log_weight(P) = log μ(P) − Z(P) that is μ(C).
    """
    others, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    full = np.uint64(out.size - 1)
    for i in range(masks.size):
        C = np.uint64(masks[i])
        out[C] = 0.0
        if Z[C] > -np.inf:
            count, rest = tabulate_subsets(full ^ C, others)
            high = ZERO
            for _ in range(tiles_of(rest)):
                _weigh_supersets(data, Z, log_weight, C, high, others, count, tile)
                out[C] += add_shares(tile, count)
                high = next_subset(high, rest)


@kernel
def gather_values(data, values, Z, log_weight, masks, out):
    """For the listed C: F(C) = E[v at the split that C is a part of; C occurs], v being log ψ of another table.

    out[C] = Σ_R v(C, R) exp(log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R)), R disjoint from C.
    """
    others, tile, value = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(TILE)
    full = np.uint64(out.size - 1)
    for i in range(masks.size):
        C = np.uint64(masks[i])
        out[C] = 0.0
        count, rest = tabulate_subsets(full ^ C, others)
        high = ZERO
        for _ in range(tiles_of(rest)):
            _weigh_supersets(data, Z, log_weight, C, high, others, count, tile)
            score_subsets(values, C, PART, high, others, count, value)
            out[C] += _add_weighted(tile, value, 1 if high == ZERO else 0, count)
            high = next_subset(high, rest)


# Over the splits of a cluster.


@inline
def _log_shares(data, Z, P, first, others, count, log_p):
    # log of ψ(L, R) Z(L) Z(R) / Z(P), L = first | others[j].
    score_tile(data, P, first, others, count, log_p)
    for j in range(count):
        L = first | others[j]
        log_p[j] += (Z[L] + Z[P ^ L]) - Z[P]


@kernel
def entropy_clusters(data, Z, masks, out):
    """out[i] = −Σ p log p over the splits of the i-th listed cluster, p = ψ(L, R) Z(L) Z(R) / Z(P)."""
    others, log_p = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        count, rest = tabulate_subsets(P ^ lowest, others)
        high, total = ZERO, 0.0
        for _ in range(tiles_of(rest)):
            m = count - 1 if high == rest else count
            _log_shares(data, Z, P, lowest | high, others, m, log_p)
            total -= _add_weighted(log_p, log_p, 0, m)
            high = next_subset(high, rest)
        out[i] = total


@kernel
def divergence_clusters(data, Z, other, other_Z, masks, out):
    """out[i] = Σ p (log p − log q) over the splits of the i-th listed cluster, +inf where q = 0 < p."""
    others, log_p, gap = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        count, rest = tabulate_subsets(P ^ lowest, others)
        high, total = ZERO, 0.0
        for _ in range(tiles_of(rest)):
            first = lowest | high
            m = count - 1 if high == rest else count
            _log_shares(data, Z, P, first, others, m, log_p)
            score_tile(other, P, first, others, m, gap)
            for j in range(m):
                L = first | others[j]
                y = gap[j] + (other_Z[L] + other_Z[P ^ L])
                gap[j] = log_p[j] - (y - other_Z[P]) if y > -np.inf and other_Z[P] > -np.inf else np.inf
            total += _add_weighted(log_p, gap, 0, m)
            high = next_subset(high, rest)
        out[i] = total


@kernel
def value_clusters(data, Z, values, masks, out):
    """out[i] = Σ p v(L, R) over the splits of the i-th listed cluster, v being log ψ of another table."""
    others, log_p, value = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        count, rest = tabulate_subsets(P ^ lowest, others)
        high, total = ZERO, 0.0
        for _ in range(tiles_of(rest)):
            first = lowest | high
            m = count - 1 if high == rest else count
            _log_shares(data, Z, P, first, others, m, log_p)
            score_tile(values, P, first, others, m, value)
            total += _add_weighted(log_p, value, 0, m)
            high = next_subset(high, rest)
        out[i] = total


@maker
def mean_of(data, values, n, Z, mu):
    """E[Σ v(L, R)] over the splits of hierarchies of n leaves, if there is one; fills μ on the way."""
    # From the root down: the parents of a cluster have larger masks.
    others, log_p, value = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(TILE)
    full = (1 << n) - 1
    for mask in range(full):
        mu[mask] = 0.0
    mu[full] = 1.0
    total = 0.0
    for mask in range(full, 2, -1):
        P = np.uint64(mask)
        lowest = lowest_leaf(P)
        if mu[mask] == 0.0 or lowest == P:
            continue
        count, rest = tabulate_subsets(P ^ lowest, others)
        high = ZERO
        for _ in range(tiles_of(rest)):
            first = lowest | high
            m = count - 1 if high == rest else count
            _log_shares(data, Z, P, first, others, m, log_p)
            score_tile(values, P, first, others, m, value)
            for j in range(m):
                share = exponential(log_p[j]) * mu[mask]
                if share > 0.0:
                    L = first | others[j]
                    mu[L] += share
                    mu[P ^ L] += share
                    total += share * value[j]
            high = next_subset(high, rest)
    return total


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
