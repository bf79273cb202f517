"""The clusters of a segment by size, and the tables of one size |P|."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel, maker
from palmette.array_types import Ints, Words
from palmette.clusters import cluster_sizes, lowest_leaf
from palmette.numeric import exponential
from palmette.recursions.segments import LOW, MIDDLE, SEGMENT, SEGMENT_LEAVES

__all__ = [
    "LEAST_LOG_SUM",
    "LIFT",
    "SEGMENT",
    "SEGMENT_LEAVES",
    "WITHIN",
    "Within",
    "good_split",
    "masks_of",
    "middle_range",
    "segment_maxima",
    "tabulate_logs",
    "tabulate_powers",
]

# Every G is at most e^LIFT, so that sums of products stay below 2^29 e^(2 LIFT), which is finite. Where a factor or a
# product underflows, less than 2^-1022 e^LIFT = e^-408 is lost; 2^29 times that is nothing beside a sum of e^-350.
LIFT = 300.0
LEAST_LOG_SUM = -350.0 - 2 * LIFT


class Within(NamedTuple):
    """The masks within a segment by size, and those of its middle leaves; where each size from −LOW on begins."""

    masks: Words
    mask_begins: Ints
    middles: Words
    middle_begins: Ints
    sizes: npt.NDArray[np.uint8]


def _by_size(n: int) -> tuple[Words, Ints]:
    sizes = cluster_sizes(n)
    order = np.argsort(sizes, kind="stable")
    return order.astype(np.uint64), np.searchsorted(sizes[order], np.arange(-LOW, n + LOW + 2)).astype(np.int64)


WITHIN = Within(*_by_size(SEGMENT_LEAVES), *_by_size(MIDDLE), cluster_sizes(SEGMENT_LEAVES))


@maker
def masks_of(within, size):
    """The masks within a segment of `size` leaves, a number from 0 to that of its leaves."""
    return within.masks[within.mask_begins[size + LOW] : within.mask_begins[size + LOW + 1]]


@inline
def middle_range(within, size):
    """Where in within.middles the sets of `size` leaves are; nowhere if there cannot be so many, by at most LOW."""
    return within.middle_begins[size + LOW], within.middle_begins[size + LOW + 1]


@inline
def good_split(logs, splits, P):
    """A part L of P whose split {L, P ∖ L} is among the best, at no cost; one that is NaN if there is any like that.

    A single leaf and the others, or a good split of P without one of its two lowest leaves, to which it comes back.
    """
    best, found = -np.inf, lowest_leaf(P)
    rest = P
    while rest:
        leaf = lowest_leaf(rest)
        x = logs[P ^ leaf] + logs[leaf]
        if x != x:
            return leaf
        if x > best:
            best, found = x, leaf
        rest ^= leaf
    one = lowest_leaf(P)
    for leaf in (one, lowest_leaf(P ^ one)):
        A = np.uint64(splits[P ^ leaf])
        B = P ^ leaf ^ A
        if A:
            x, y = logs[A | leaf] + logs[B], logs[A] + logs[B | leaf]
            if x > best:
                best, found = x, A | leaf
            if y > best:
                best, found = y, A
    return found


# The next two loop from 0 over slices: an index that might be negative would keep LLVM from vectorising.


@kernel
def tabulate_logs(sizes, u, V, b, k, first, last, logs):
    """logs[S] = b u(S) + V(S) where 0 < |S| < k, else −inf; returns the largest of logs[S] / |S|, an α with G ≤ 1."""
    sizes, u, V, logs = sizes[first:last], u[first:last], V[first:last], logs[first:last]
    for i in range(sizes.size):
        logs[i] = b * u[i] + V[i] if 0 < sizes[i] < k else -np.inf
    one = two = -np.inf  # two running maxima, since each waits for the one before it; slices are even
    for i in range(0, sizes.size, 2):
        x = logs[i] / sizes[i] if sizes[i] > 0 else -np.inf
        y = logs[i + 1] / sizes[i + 1]
        one = x if x > one else one
        two = y if y > two else two
    return max(one, two)


@kernel
def tabulate_powers(sizes, logs, slope, lift, first, last, powers):
    """powers[S] = e^lift G(S) = exp(logs[S] − slope·|S| + lift)."""
    sizes, logs, powers = sizes[first:last], logs[first:last], powers[first:last]
    for i in range(sizes.size):
        powers[i] = exponential(logs[i] - (slope * sizes[i] - lift))


@kernel
def segment_maxima(logs, within, first, last, maxima):
    """maxima[s, j] = the largest of the logs in segment s whose clusters have j leaves within it."""
    for s in range(first, last):
        for j in range(maxima.shape[1]):
            maxima[s, j] = -np.inf
        for i in range(SEGMENT):
            x = logs[s * SEGMENT + i]
            j = within.sizes[i]
            maxima[s, j] = x if x > maxima[s, j] else maxima[s, j]
