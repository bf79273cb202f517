"""The subsets of some leaves, in tiles: the walk of the general kernels that add up or compare numbers.

The splits {L, R} of P are the subsets L ∋ lowest leaf of P, L ≠ P, in increasing order of L; the clusters that can be
taken from a set, and what can join a cluster, are subsets too. Those of the lowest leaves are tabulated once, so
the walk is two nested loops: `high` over the subsets of the other leaves, and a tile ``base | high | table[j]`` without
a serial chain, which the processor can overlap.

Lists, and log ψ that comes as one, go from one subset to the next by `next_subset`. The fast paths walk tops and
middles of segments in its place.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline
from palmette.clusters import lowest_leaf, size_of

__all__ = ["ZERO", "next_subset", "tabulate_subsets", "tiles_of"]

ZERO = np.uint64(0)


@inline
def tabulate_subsets(leaves, table):
    """Fill `table` with the subsets of the lowest `leaves`, as many as have room; their number, and the others."""
    table[0] = ZERO
    count = 1
    while leaves != ZERO and count < table.size:
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


@inline
def tiles_of(leaves):
    """How many tiles a walk has if `tabulate_subsets` left these leaves over: one for each of their subsets."""
    return 1 << size_of(leaves)
