"""Sums that would underflow, in logarithms: log F(P) = log Σ exp(log G(L) + log G(R)) over what matters of it.

A split counts if it is above the largest one so far less (52 + |P|) log 2. There are fewer than 2^(|P|−1) others, so
that all of them together are less than 2^-53 of the sum: they cannot change its last bit. They cost an addition and a
comparison, an octet at a time, and whole walks are passed over where a bound of both segments is too low.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel
from palmette.clusters import lowest_leaf, size_of
from palmette.numeric import accumulate, largest
from palmette.octets import above, add, load, pick, repeat, store, subtract
from palmette.recursions.hierarchies.separable.segments import (
    LEAST_LOG_SUM,
    SEGMENT,
    SEGMENT_LEAVES,
    masks_of,
    middle_range,
)
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["seek_level"]

_LOG_2 = math.log(2)
_ONE, _EIGHT, _SEGMENT = np.uint64(1), np.uint64(8), np.uint64(SEGMENT)
_P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.uint64(i) for i in range(1, 8))


@inline
def _take(tile, begin, count, references, totals, P, cut):
    # The sum of P with `count` more terms, if one of them matters.
    terms = tile[begin : begin + count]
    top = largest(terms, count)
    if top > references[P] - cut:
        references[P], totals[P] = accumulate(terms, count, top, references[P], totals[P])


@inline
def _seek0(A, B, references, totals, cut, bound, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if bound > references[o] - cut:
            s = ZERO
            while True:
                x = A[s * _EIGHT] + B[(h ^ s) * _EIGHT]
                if x > references[o] - cut:
                    if x > references[o]:
                        totals[o] = totals[o] * math.exp(references[o] - x) + 1.0
                        references[o] = x
                    else:
                        totals[o] += math.exp(x - references[o])
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek1(A, B, references, totals, cut, bound, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if bound > min(references[o + _P1], min(references[o + _P2], references[o + _P4])) - cut:
            least = subtract(pick(load(references, o), "11224411"), repeat(cut))
            s = ZERO
            while True:
                a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
                x = add(pick(a, "01020401"), pick(b, "10204010"))
                if above(x, least):
                    store(x, tile, 0)
                    _take(tile, 0, 2, references, totals, o + _P1, cut)
                    _take(tile, 2, 2, references, totals, o + _P2, cut)
                    _take(tile, 4, 2, references, totals, o + _P4, cut)
                    least = subtract(pick(load(references, o), "11224411"), repeat(cut))
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek2(A, B, references, totals, cut, bound, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if bound > min(references[o + _P3], min(references[o + _P5], references[o + _P6])) - cut:
            least = subtract(pick(load(references, o), "33335555"), repeat(cut))
            last = subtract(pick(load(references, o), "66666666"), repeat(cut))
            s = ZERO
            while True:
                a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
                x = add(pick(a, "03120514"), pick(b, "30215041"))
                y = add(pick(a, "06240624"), pick(b, "60426042"))
                if above(x, least) or above(y, last):
                    store(x, tile, 0)
                    store(y, tile, 8)
                    _take(tile, 0, 4, references, totals, o + _P3, cut)
                    _take(tile, 4, 4, references, totals, o + _P5, cut)
                    _take(tile, 8, 4, references, totals, o + _P6, cut)
                    least = subtract(pick(load(references, o), "33335555"), repeat(cut))
                    last = subtract(pick(load(references, o), "66666666"), repeat(cut))
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek3(A, B, references, totals, cut, bound, within, size, tile):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT + _P7
        if bound > references[o] - cut:
            least = repeat(references[o] - cut)
            s = ZERO
            while True:
                x = add(load(A, s * _EIGHT), pick(load(B, (h ^ s) * _EIGHT), "76543210"))
                if above(x, least):
                    store(x, tile, 0)
                    _take(tile, 0, 8, references, totals, o, cut)
                    least = repeat(references[o] - cut)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _seek(logs, maxima, T, rest, within, references, totals, cut, tile):
    lowest = lowest_leaf(T)
    others = T ^ lowest
    s = ZERO
    while True:
        A = lowest | s
        B = T ^ A
        bound = -np.inf
        for j in range(max(0, rest - SEGMENT_LEAVES), min(rest, SEGMENT_LEAVES) + 1):
            bound = max(bound, maxima[A, j] + maxima[B, rest - j])
        X, Y = logs[A * _SEGMENT : (A + _ONE) * _SEGMENT], logs[B * _SEGMENT : (B + _ONE) * _SEGMENT]
        _seek0(X, Y, references, totals, cut, bound, within, rest)
        _seek1(X, Y, references, totals, cut, bound, within, rest - 1, tile)
        _seek2(X, Y, references, totals, cut, bound, within, rest - 2, tile)
        _seek3(X, Y, references, totals, cut, bound, within, rest - 3, tile)
        if s == others:
            break
        s = next_subset(s, others)


@kernel
def seek_level(logs, maxima, slope, a, allowed, k, tops, left, first, last, within, splits, Z):
    """Z of the P of k leaves and a top among tops[first:last] that `sum_level` has left, starting from its splits."""
    references, totals, tile = np.empty(SEGMENT), np.empty(SEGMENT), np.empty(16)
    for t in range(first, last):
        if left[t] == 0:
            continue
        T = np.uint64(tops[t])
        rest = k - size_of(T)
        masks = masks_of(within, rest)
        largest_of_all = 0.0
        for i in range(masks.size):
            m = masks[i]
            P = T * _SEGMENT + m
            references[m], totals[m] = np.inf, 0.0  # nothing is above infinity: not asked for
            if allowed.size == 0 or allowed[P] != 0:
                L = np.uint64(splits[P])
                x = logs[L] + logs[P ^ L]
                if left[t] == masks.size or not x - slope * k >= LEAST_LOG_SUM:
                    references[m] = x
                    largest_of_all = max(largest_of_all, abs(x)) if x > -np.inf else largest_of_all
        # Numbers may be so large that they do not feel the rest; but the largest must count.
        cut = (52 + k) * _LOG_2 + 1e-15 * largest_of_all
        _seek(logs, maxima, T, rest, within, references, totals, cut, tile)
        for i in range(masks.size):
            m = masks[i]
            if references[m] < np.inf:
                Z[T * _SEGMENT + m] = references[m] + math.log(totals[m]) + a[T * _SEGMENT + m]
            elif references[m] != references[m]:
                Z[T * _SEGMENT + m] = np.nan
