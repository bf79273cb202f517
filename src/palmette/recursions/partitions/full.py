"""Passes over the sets that are left to partition, in log space. With Z(∅) = 1,

    Z(S) = Σ ψ(C) Z(S ∖ C)      over the clusters C ⊆ S that hold the highest leaf of S,

and M(S) the same with the largest instead of the sum. The highest leaf of S is in exactly one cluster of any partition
of S, so each partition is counted once; any other rule for the leaf would do.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel
from palmette.models.c_functions import TILE
from palmette.numeric import accumulate, largest
from palmette.recursions.subsets import ZERO, next_subset, tabulate_subsets

__all__ = ["choice_values", "count_sets", "highest_leaf", "max_sets", "sum_sets"]

_U1, _U2, _U4, _U8 = (np.uint64(i) for i in (1, 2, 4, 8))


@inline
def highest_leaf(mask):
    """The mask that holds only the highest leaf of `mask`, which is unsigned and not empty."""
    below = mask | (mask >> _U1)
    below |= below >> _U2
    below |= below >> _U4
    below |= below >> _U8
    below |= below >> np.uint64(16)
    below |= below >> np.uint64(32)
    return below ^ (below >> _U1)


@inline
def _fill(log_psi, V, S, first, table, count, tile):
    # log ψ(C) + V(S ∖ C) for the clusters C = first ∪ table[j].
    for j in range(count):
        C = first | table[j]
        tile[j] = log_psi[C] + V[S ^ C]


@kernel
def sum_sets(log_psi, V, masks, out):
    """out[S] = log Σ exp(log_psi[C] + V[S ∖ C]) for the listed sets; V may be `out` if the masks increase."""
    table, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        S = np.uint64(masks[i])
        highest = highest_leaf(S)
        count, others = tabulate_subsets(S ^ highest, table)
        reference, total = -np.inf, 0.0
        high = ZERO
        while True:
            _fill(log_psi, V, S, highest | high, table, count, tile)
            reference, total = accumulate(tile, count, largest(tile, count), reference, total)
            if high == others:
                break
            high = next_subset(high, others)
        out[S] = reference + np.log(total) if total > 0.0 else reference


@kernel
def max_sets(log_psi, V, masks, out):
    """out[S] = max (log_psi[C] + V[S ∖ C]), for sets as above."""
    table, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        S = np.uint64(masks[i])
        highest = highest_leaf(S)
        count, others = tabulate_subsets(S ^ highest, table)
        best = -np.inf
        high = ZERO
        while True:
            _fill(log_psi, V, S, highest | high, table, count, tile)
            best = max(best, largest(tile, count))
            if high == others:
                break
            high = next_subset(high, others)
        out[S] = best


@kernel
def count_sets(log_psi, V, modulus, masks, out):
    """out[S] = Σ V[S ∖ C] over the possible clusters C, modulo `modulus` (0: modulo 2^64), in unsigned integers."""
    for i in range(masks.size):
        S = np.uint64(masks[i])
        highest = highest_leaf(S)
        others = S ^ highest
        total = ZERO
        sub = ZERO
        while True:
            if log_psi[highest | sub] > -np.inf:
                total += V[others ^ sub]
                if modulus > ZERO and total >= modulus:
                    total -= modulus
            if sub == others:
                break
            sub = next_subset(sub, others)
        out[S] = total


@kernel
def choice_values(log_psi, V, S, clusters, values):
    """All clusters C that may be taken from S first, by increasing mask, and log_psi[C] + V[S ∖ C]."""
    highest = highest_leaf(S)
    others = S ^ highest
    sub = ZERO
    for i in range(clusters.size):
        C = highest | sub
        clusters[i] = C
        values[i] = log_psi[C] + V[S ^ C]
        sub = next_subset(sub, others)
