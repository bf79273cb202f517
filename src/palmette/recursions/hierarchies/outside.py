"""Top-down passes for any model. Templates over ``log_psi(data, P, L, R)``.

    μ(X) = 1,    μ(C) = Σ_{P ⊋ C} μ(P) ψ(C, P∖C) Z(C) Z(P∖C) / Z(P)

Gathered, not scattered: one cluster C walks its supersets, so that clusters of one size need nothing of each other,
threads share no accumulator, and the sum has one order.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import kernel, reduction
from palmette.clusters import lowest_leaf
from palmette.numeric import add_exponentials, exponential
from palmette.recursions.subsets import TILE, ZERO, next_subset, tabulate_subsets

__all__ = ["divergence_clusters", "entropy_clusters", "gather_clusters", "pair_sums"]

log_psi: Any = None  # the model's, put in by `specialise`
other_log_psi: Any = None


def gather_clusters(data, Z, log_weight, masks, out):
    """out[C] = Σ_R exp(log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R)) for the listed C; R is disjoint from C.

    With log_weight(P) = log μ(P) − Z(P) that is μ(C).
    """
    table = np.empty(TILE, np.uint64)
    tile = np.empty(TILE)
    full = np.uint64(out.size - 1)
    for i in range(masks.size):
        C = np.uint64(masks[i])
        out[C] = 0.0
        if Z[C] == -np.inf:
            continue
        count, others = tabulate_subsets(full ^ C, table)
        high = ZERO
        total = 0.0
        while True:
            first = 1 if high == ZERO else 0  # R = ∅ is no split
            for j in range(first, count):
                R = high | table[j]
                P = C | R
                tile[j - first] = log_psi(data, P, C, R) + ((Z[C] + Z[R]) + log_weight[P])
            total += add_exponentials(tile, count - first, 0.0)
            if high == others:
                break
            high = next_subset(high, others)
        out[C] = total


@reduction
def _add_weighted(log_p, gap, count):
    # Σ p · gap; where p is 0 the gap may be infinite.
    total = 0.0
    for j in range(count):
        p = exponential(log_p[j])
        total += p * gap[j] if p > 0.0 else 0.0
    return total


def entropy_clusters(data, Z, masks, out):
    """out[i] = −Σ p log p over the splits of the i-th listed cluster, p = ψ(L, R) Z(L) Z(R) / Z(P)."""
    table = np.empty(TILE, np.uint64)
    log_p = np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        count, others = tabulate_subsets(P ^ lowest, table)
        high = ZERO
        total = 0.0
        while True:
            size = count - 1 if high == others else count
            for j in range(size):
                L = lowest | high | table[j]
                R = P ^ L
                log_p[j] = log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P])
            total -= _add_weighted(log_p, log_p, size)
            if high == others:
                break
            high = next_subset(high, others)
        out[i] = total


def divergence_clusters(data, Z, other_data, other_Z, masks, out):
    """out[i] = Σ p (log p − log q) over the splits of the i-th listed cluster; +inf where q = 0 < p."""
    table = np.empty(TILE, np.uint64)
    log_p, gap = np.empty(TILE), np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        count, others = tabulate_subsets(P ^ lowest, table)
        high = ZERO
        total = 0.0
        while True:
            size = count - 1 if high == others else count
            for j in range(size):
                L = lowest | high | table[j]
                R = P ^ L
                log_p[j] = log_psi(data, P, L, R) + ((Z[L] + Z[R]) - Z[P])
                y = other_log_psi(other_data, P, L, R) + (other_Z[L] + other_Z[R])
                gap[j] = log_p[j] - (y - other_Z[P]) if y > -np.inf and other_Z[P] > -np.inf else np.inf
            total += _add_weighted(log_p, gap, size)
            if high == others:
                break
            high = next_subset(high, others)
        out[i] = total


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
