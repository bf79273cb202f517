"""The splits of a cluster, in tiles: the walk that every general kernel shares.

The splits {L, R} of P are the subsets L ∋ lowest leaf of P, L ≠ P, in increasing order of L. Subsets of the eight
lowest further leaves are tabulated once for P, so the walk is two nested loops: `high` over the subsets of the
other leaves, and a tile ``lowest | high | table[j]`` without a serial chain, which the processor can overlap.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline
from palmette.clusters import lowest_leaf

__all__ = ["TILE", "ZERO", "next_subset", "tabulate_subsets"]

_TILE_BITS = 8
TILE = 1 << _TILE_BITS
ZERO = np.uint64(0)


@inline
def tabulate_subsets(leaves, table):
    """Fill `table` with the subsets of the (at most eight) lowest `leaves`; return their number and the others."""
    table[0] = ZERO
    count = 1
    while leaves != ZERO and count < TILE:
        leaf = lowest_leaf(leaves)
        for j in range(count):
            table[count + j] = table[j] | leaf
        count *= 2
        leaves ^= leaf
    return count, leaves


@inline
def next_subset(subset, leaves):
    """The subset of `leaves` that follows `subset` in increasing order (after the last: the empty one)."""
    return (subset - leaves) & leaves
