"""Sums of products, or maxima of sums, over the splits of all clusters of one size: one octet of splits at a time."""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel
from palmette.clusters import lowest_leaf, size_of
from palmette.numeric import logarithm
from palmette.octets import add, lane, larger, load, multiply_add, pick, repeat
from palmette.recursions.hierarchies.separable.segments import (
    LEAST_LOG_SUM,
    LIFT,
    SEGMENT,
    good_split,
    masks_of,
    middle_range,
)
from palmette.recursions.semirings import MAXIMUM, SUM, nothing, plus, times
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["max_level", "sum_level"]

_ONE, _EIGHT, _SEGMENT = np.uint64(1), np.uint64(8), np.uint64(SEGMENT)
_P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.uint64(i) for i in range(1, 8))


@inline
def _join(sums, x, y, z):
    # x ⊗ y ⊕ z of octets.
    return multiply_add(x, y, z) if sums else larger(z, add(x, y))


@inline
def _combine0(sums, A, B, F, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        f = nothing(sums)
        s = ZERO
        while True:
            f = plus(sums, f, times(sums, A[s * _EIGHT], B[(h ^ s) * _EIGHT]))
            if s == h:
                break
            s = next_subset(s, h)
        F[h * _EIGHT] = plus(sums, F[h * _EIGHT], f)


@inline
def _combine1(sums, A, B, F, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        f = repeat(nothing(sums))
        s = ZERO
        while True:
            a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
            f = _join(sums, pick(a, "010204--"), pick(b, "102040--"), f)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT
        F[o + _P1] = plus(sums, F[o + _P1], plus(sums, lane(f, 0), lane(f, 1)))
        F[o + _P2] = plus(sums, F[o + _P2], plus(sums, lane(f, 2), lane(f, 3)))
        F[o + _P4] = plus(sums, F[o + _P4], plus(sums, lane(f, 4), lane(f, 5)))


@inline
def _combine2(sums, A, B, F, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        f = g = repeat(nothing(sums))
        s = ZERO
        while True:
            a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
            f = _join(sums, pick(a, "03120514"), pick(b, "30215041"), f)
            g = _join(sums, pick(a, "0624----"), pick(b, "6042----"), g)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT
        F[o + _P3] = plus(
            sums, F[o + _P3], plus(sums, plus(sums, lane(f, 0), lane(f, 1)), plus(sums, lane(f, 2), lane(f, 3)))
        )
        F[o + _P5] = plus(
            sums, F[o + _P5], plus(sums, plus(sums, lane(f, 4), lane(f, 5)), plus(sums, lane(f, 6), lane(f, 7)))
        )
        F[o + _P6] = plus(
            sums, F[o + _P6], plus(sums, plus(sums, lane(g, 0), lane(g, 1)), plus(sums, lane(g, 2), lane(g, 3)))
        )


@inline
def _combine3(sums, A, B, F, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        f = repeat(nothing(sums))
        s = ZERO
        while True:
            f = _join(sums, load(A, s * _EIGHT), pick(load(B, (h ^ s) * _EIGHT), "76543210"), f)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT + _P7
        low = plus(sums, plus(sums, lane(f, 0), lane(f, 1)), plus(sums, lane(f, 2), lane(f, 3)))
        high = plus(sums, plus(sums, lane(f, 4), lane(f, 5)), plus(sums, lane(f, 6), lane(f, 7)))
        F[o] = plus(sums, F[o], plus(sums, low, high))


@inline
def _combine(sums, table, T, rest, within, F):
    # F[m] ⊕= ⊕ table[L] ⊗ table[R] over the splits of the P of top T with `rest` leaves m within the segment.
    lowest = lowest_leaf(T)
    others = T ^ lowest
    s = ZERO
    while True:
        A = lowest | s
        B = T ^ A
        X, Y = table[A * _SEGMENT : (A + _ONE) * _SEGMENT], table[B * _SEGMENT : (B + _ONE) * _SEGMENT]
        _combine0(sums, X, Y, F, within, rest)
        _combine1(sums, X, Y, F, within, rest - 1)
        _combine2(sums, X, Y, F, within, rest - 2)
        _combine3(sums, X, Y, F, within, rest - 3)
        if s == others:
            break
        s = next_subset(s, others)


@kernel
def sum_level(logs, powers, slope, a, allowed, k, tops, left, first, last, within, splits, Z):
    """Z of the P of k leaves with a top among tops[first:last], none of them empty.

    left[t] becomes the number of clusters of one top whose sum might underflow; Z of these is left to `seek_level`, and
    of all of the top's if they are more than half. splits[P] becomes one part of a split that is among the best; for
    smaller clusters it is there, or 0.
    """
    F = np.empty(SEGMENT)
    for t in range(first, last):
        T = np.uint64(tops[t])
        rest = k - size_of(T)
        masks = masks_of(within, rest)
        left[t] = 0
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            Z[P] = -np.inf
            if allowed.size == 0 or allowed[P] != 0:
                L = good_split(logs, splits, P)
                splits[P] = L
                Z[P] = logs[L] + logs[P ^ L]
                if not Z[P] - slope * k >= LEAST_LOG_SUM:
                    left[t] += 1
        if 2 * left[t] > masks.size:
            left[t] = masks.size
            continue
        for i in range(SEGMENT):
            F[i] = 0.0
        _combine(SUM, powers, T, rest, within, F)
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            if Z[P] - slope * k >= LEAST_LOG_SUM:
                Z[P] = logarithm(F[masks[i]]) + (a[P] + (slope * k - 2 * LIFT))


@kernel
def max_level(logs, a, allowed, k, tops, first, last, within, M):
    """M of all P of k leaves, as `sum_level`."""
    F = np.empty(SEGMENT)
    for t in range(first, last):
        T = np.uint64(tops[t])
        rest = k - size_of(T)
        masks = masks_of(within, rest)
        for i in range(SEGMENT):
            F[i] = -np.inf
        _combine(MAXIMUM, logs, T, rest, within, F)
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            M[P] = F[masks[i]] + a[P] if allowed.size == 0 or allowed[P] != 0 else -np.inf
