"""Passes over the sets that are left to partition, in log space. With Z(∅) = 1,

    Z(S) = Σ ψ(C) Z(S ∖ C)      over the clusters C ⊆ S that hold the highest leaf of S,

and M(S) the same with the largest instead of the sum. The highest leaf of S is in exactly one cluster of any partition
of S, so each partition is counted once; any other rule for the leaf would do.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, kernel
from palmette.numeric import accumulate, largest
from palmette.recursions.subsets import TILE, ZERO, next_subset, walking

__all__ = ["choice_values", "count_sets", "highest_leaf", "max_sets", "sum_sets"]

_U1, _U2, _U4, _U8 = (np.uint64(i) for i in (1, 2, 4, 8))

walk: Any = None  # put in by `walking`


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
def _fill(context, first, table, end, tile):
    # log ψ(C) + V(S ∖ C) for the clusters C = first ∪ table[j].
    log_psi, V, S = context
    for j in range(end):
        C = first | table[j]
        tile[j] = log_psi[C] + V[S ^ C]


def _add_tile(context, first, table, begin, end, tile, state):
    _fill(context, first, table, end, tile)
    return accumulate(tile, end, largest(tile, end), state[0], state[1])


def _sum_sets(log_psi, V, masks, out):
    subsets, values = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        S = np.uint64(masks[i])
        highest = highest_leaf(S)
        reference, total = walk((log_psi, V, S), highest, S ^ highest, 0, 0, subsets, values, (-np.inf, 0.0))
        out[S] = reference + np.log(total) if total > 0.0 else reference


def _best_tile(context, first, table, begin, end, tile, state):
    _fill(context, first, table, end, tile)
    return max(state, largest(tile, end))


def _max_sets(log_psi, V, masks, out):
    subsets, values = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        S = np.uint64(masks[i])
        highest = highest_leaf(S)
        out[S] = walk((log_psi, V, S), highest, S ^ highest, 0, 0, subsets, values, -np.inf)


# (log_psi, V, masks, out): out[S] = log Σ exp(log_psi[C] + V[S ∖ C]), or the maximum, for the listed sets; V may be
# `out` if the masks increase.
sum_sets = walking(_sum_sets, _add_tile)
max_sets = walking(_max_sets, _best_tile)


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
