"""Sums of products, or maxima of sums, over the splits of all clusters of one size: one octet of splits at a time."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, specialise, specialise_inline
from palmette.clusters import lowest_leaf, size_of
from palmette.numeric import logarithm
from palmette.octets import add, lane, larger, load, multiply_add, pick, repeat
from palmette.recursions.hierarchies.separable.segments import (
    LEAST_LOG_SUM,
    LIFT,
    SEGMENT,
    good_split,
    masks_of,
    middles_of,
)
from palmette.recursions.semirings import MAXIMUM, SUM, Semiring
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["max_level", "sum_level"]

# A semiring, put in by `specialise`: ⊕ and ⊗ of numbers, what there is before the first ⊕, and x ⊗ y ⊕ z of octets.
plus: Any = None
times: Any = None
nothing: Any = None
join: Any = None
combine0: Any = None  # the four walks below, for one semiring
combine1: Any = None
combine2: Any = None
combine3: Any = None
combine: Any = None

_ONE, _EIGHT, _SEGMENT = np.uint64(1), np.uint64(8), np.uint64(SEGMENT)
_P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.uint64(i) for i in range(1, 8))


@inline
def _join_sums(x, y, z):
    return multiply_add(x, y, z)


@inline
def _join_maxima(x, y, z):
    return larger(z, add(x, y))


def _combine0(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        f = nothing()
        s = ZERO
        while True:
            f = plus(f, times(A[s * _EIGHT], B[(h ^ s) * _EIGHT]))
            if s == h:
                break
            s = next_subset(s, h)
        F[h * _EIGHT] = plus(F[h * _EIGHT], f)


def _combine1(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        f = repeat(nothing())
        s = ZERO
        while True:
            a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
            f = join(pick(a, "010204--"), pick(b, "102040--"), f)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT
        F[o + _P1] = plus(F[o + _P1], plus(lane(f, 0), lane(f, 1)))
        F[o + _P2] = plus(F[o + _P2], plus(lane(f, 2), lane(f, 3)))
        F[o + _P4] = plus(F[o + _P4], plus(lane(f, 4), lane(f, 5)))


def _combine2(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        f = g = repeat(nothing())
        s = ZERO
        while True:
            a, b = load(A, s * _EIGHT), load(B, (h ^ s) * _EIGHT)
            f = join(pick(a, "03120514"), pick(b, "30215041"), f)
            g = join(pick(a, "0624----"), pick(b, "6042----"), g)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT
        F[o + _P3] = plus(F[o + _P3], plus(plus(lane(f, 0), lane(f, 1)), plus(lane(f, 2), lane(f, 3))))
        F[o + _P5] = plus(F[o + _P5], plus(plus(lane(f, 4), lane(f, 5)), plus(lane(f, 6), lane(f, 7))))
        F[o + _P6] = plus(F[o + _P6], plus(plus(lane(g, 0), lane(g, 1)), plus(lane(g, 2), lane(g, 3))))


def _combine3(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        f = repeat(nothing())
        s = ZERO
        while True:
            f = join(load(A, s * _EIGHT), pick(load(B, (h ^ s) * _EIGHT), "76543210"), f)
            if s == h:
                break
            s = next_subset(s, h)
        o = h * _EIGHT + _P7
        low = plus(plus(lane(f, 0), lane(f, 1)), plus(lane(f, 2), lane(f, 3)))
        high = plus(plus(lane(f, 4), lane(f, 5)), plus(lane(f, 6), lane(f, 7)))
        F[o] = plus(F[o], plus(low, high))


def _combine(table, T, rest, within, F):
    # F[m] ⊕= ⊕ table[L] ⊗ table[R] over the splits of the P of top T with `rest` leaves m within the segment.
    lowest = lowest_leaf(T)
    others = T ^ lowest
    s = ZERO
    while True:
        A = lowest | s
        B = T ^ A
        X, Y = table[A * _SEGMENT : (A + _ONE) * _SEGMENT], table[B * _SEGMENT : (B + _ONE) * _SEGMENT]
        combine0(X, Y, F, middles_of(within, rest))
        combine1(X, Y, F, middles_of(within, rest - 1))
        combine2(X, Y, F, middles_of(within, rest - 2))
        combine3(X, Y, F, middles_of(within, rest - 3))
        if s == others:
            break
        s = next_subset(s, others)


def _combining(semiring: Semiring, join: Any) -> Any:
    given = {"plus": semiring.add, "times": semiring.multiply, "nothing": semiring.zero, "join": join}
    walks = (_combine0, _combine1, _combine2, _combine3)
    names = {f"combine{i}": specialise_inline(walk, **given) for i, walk in enumerate(walks)}
    return specialise_inline(_combine, **names)


def _sum_level(logs, powers, slope, a, allowed, k, tops, left, first, last, within, splits, Z):
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
        combine(powers, T, rest, within, F)
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            if Z[P] - slope * k >= LEAST_LOG_SUM:
                Z[P] = logarithm(F[masks[i]]) + (a[P] + (slope * k - 2 * LIFT))


def sum_level() -> Any:
    """The kernel (logs, powers, slope, a, allowed, k, tops, left, first, last, within, splits, Z).

    Z of the P of k leaves with a top among tops[first:last], none of them empty. left[t] becomes the number of clusters
    of one top whose sum might underflow; Z of these is left to `seek_level`, and of all of the top's if they are more
    than half. splits[P] becomes one part of a split that is among the best; for smaller clusters it is there, or 0.
    """
    return specialise(_sum_level, combine=_combining(SUM, _join_sums))


def _max_level(logs, a, allowed, k, tops, first, last, within, M):
    F = np.empty(SEGMENT)
    for t in range(first, last):
        T = np.uint64(tops[t])
        rest = k - size_of(T)
        masks = masks_of(within, rest)
        for i in range(SEGMENT):
            F[i] = -np.inf
        combine(logs, T, rest, within, F)
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            M[P] = F[masks[i]] + a[P] if allowed.size == 0 or allowed[P] != 0 else -np.inf


def max_level() -> Any:
    """The kernel (logs, a, allowed, k, tops, first, last, within, M): M of all P of k leaves, as `sum_level`."""
    return specialise(_max_level, combine=_combining(MAXIMUM, _join_maxima))
