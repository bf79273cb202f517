"""Exact draws of splits, over a `SplitTable`.

Every draw that stands at cluster P chooses its split with a number that depends on (seed, draw, P) only, so draws
that meet at P are served by one walk over its splits, and nobody can tell how they were grouped.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import kernel
from palmette.clusters import lowest_leaf
from palmette.models.c_functions import TILE
from palmette.numeric import exponential, unit_draw
from palmette.recursions.hierarchies.tiles import score_tile
from palmette.recursions.subsets import ZERO, next_subset, tabulate_subsets

__all__ = ["choose_numbers", "draw_splits"]


@kernel
def draw_splits(data, Z, clusters, starts, numbers, left, log_potential, first, last):
    """For groups first ≤ g < last: draws starts[g] … starts[g+1] − 1 stand at clusters[g]; give each its left part.

    `numbers` are what they chose uniformly, increasing in each group.

    left[i] is drawn with probability ψ(L, R) Z(L) Z(R) / Z(P); log_potential[i] = log ψ of that split.
    """
    others, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    for g in range(first, last):
        P = np.uint64(clusters[g])
        served, end = starts[g], starts[g + 1]
        lowest = lowest_leaf(P)
        cumulative = 0.0
        last_possible, its_potential = lowest, -np.inf
        count, rest = tabulate_subsets(P ^ lowest, others)
        high = ZERO
        while served < end:
            base = lowest | high
            m = count - 1 if high == rest else count
            score_tile(data, P, base, others, m, tile)
            for j in range(m):
                L = base | others[j]
                p = exponential(tile[j] + ((Z[L] + Z[P ^ L]) - Z[P]))
                if p > 0.0:
                    cumulative += p
                    last_possible, its_potential = L, tile[j]
                    while served < end and numbers[served] < cumulative:
                        left[served] = L
                        log_potential[served] = tile[j]
                        served += 1
            if high == rest:
                break
            high = next_subset(high, rest)
        # Rounding may leave the sum a little below 1, and the largest numbers unserved.
        for i in range(served, end):
            left[i] = last_possible
            log_potential[i] = its_potential


@kernel
def choose_numbers(seed, clusters, draws, out):
    """out[i]: a number uniform in [0, 1) that depends on the seed, the cluster and the draw only."""
    for i in range(out.size):
        out[i] = unit_draw(seed, draws[i], clusters[i])
