"""The subsets of some leaves, in tiles: the walk of the general kernels that add up or compare numbers.

The splits {L, R} of P are the subsets L ∋ lowest leaf of P, L ≠ P, in increasing order of L; the clusters that can be
taken from a set, and what can join a cluster, are subsets too. Those of the eight lowest leaves are tabulated once, so
the walk is two nested loops: `high` over the subsets of the other leaves, and a tile ``base | high | table[j]`` without
a serial chain, which the processor can overlap.

Others go from one subset to the next by `next_subset`, since a tile would gain them nothing or cost more: draws stop
where all are served; the trace of a best hierarchy is n − 1 walks; counts are integers, and ask for log ψ only where
there is something to count; lists, and log ψ that comes as one, go by the number of the subset; what is sent down to
the parts is scattered. The fast paths walk tops and middles of segments in its place.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from palmette._jit import inline, specialise, specialise_inline
from palmette.clusters import lowest_leaf, size_of

__all__ = ["TILE", "ZERO", "next_subset", "tabulate_subsets", "tiles_of", "walking"]

_TILE_BITS = 8
TILE = 1 << _TILE_BITS
ZERO = np.uint64(0)


visit: Any = None  # put in by `walking`


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


def _walk(context, base, leaves, skip_first, skip_last, table, tile, state):
    count, others = tabulate_subsets(leaves, table)
    high = ZERO
    while True:
        begin = skip_first if high == ZERO else 0
        end = count - skip_last if high == others else count
        state = visit(context, base | high, table, begin, end, tile, state)
        if high == others:
            return state
        high = next_subset(high, others)


def walking(template: Callable[..., Any], visit: Callable[..., Any], **functions: Any) -> Any:
    """The kernel that `template` becomes when it calls ``walk`` for walks that hand their tiles to `visit`.

    ``walk(context, base, leaves, skip_first, skip_last, table, tile, state)`` goes over base ∪ S for all subsets S of
    the leaves, but the first (∅) or the last (all) if these are 1 and not 0. ``visit(context, first, table, begin, end,
    tile, state)`` sees those that are ``first | table[j]`` for begin ≤ j < end, may use the tile (`TILE` numbers), and
    returns the new state, which is what the walk comes to in the end. `functions` are put into both.
    """
    compiled = specialise_inline(visit, **functions)
    return specialise(template, walk=specialise_inline(_walk, visit=compiled), **functions)
