"""Sums and maxima over many sets at once, in segments of a table; see `recursions.partitions.full` for what they are.

With G(C) = exp(log ψ(C) − α|C|) and Y(S) = exp(log Z(S) − α|S|), in linear space,

    Y(S) = Σ G(C) Y(S ∖ C),

one multiply-add per term (the reference α|S| is linear in the size, so it cancels). For the maximum the tables are
log ψ and log M themselves, and a term costs one addition and one comparison: the same walk in another semiring.

The walk. A mask is (top, middle, low): the three lowest leaves, then `middle` leaves, then the rest. For one pair of
disjoint tops A and B everything needed lies in two short segments, which stay in the first-level cache while all their
middle parts are combined; the eight low parts are unrolled, 27 products. A top that is not empty holds the highest
leaf, so the sets of one top need only those of smaller tops.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel
from palmette.numeric import exponential, logarithm
from palmette.recursions.partitions.full import highest_leaf
from palmette.recursions.semirings import MAXIMUM, SUM, nothing, plus, times
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["SMALLEST_SUM", "finish_segments", "largest_slope", "max_segments", "sum_segments", "tabulate"]

# Each product that underflows loses less than 2^-1022; 2^30 of them are nothing beside a sum this large.
SMALLEST_SUM = 1e-280

_U1, _U2, _U3, _U4, _U5, _U6, _U7, _U8 = (np.uint64(i) for i in range(1, 9))


@inline
def _join(sums, total, x, y):
    return plus(sums, total, times(sums, x, y))


@inline
def _combine(sums, A, B, F, n_middles):
    for i in range(n_middles):
        h = np.uint64(i)
        o = h * _U8
        f0, f1, f2, f3 = F[o], F[o + _U1], F[o + _U2], F[o + _U3]
        f4, f5, f6, f7 = F[o + _U4], F[o + _U5], F[o + _U6], F[o + _U7]
        s = ZERO
        while True:
            a = s * _U8
            b = (h ^ s) * _U8
            a0, a1, a2, a3 = A[a], A[a + _U1], A[a + _U2], A[a + _U3]
            a4, a5, a6, a7 = A[a + _U4], A[a + _U5], A[a + _U6], A[a + _U7]
            b0, b1, b2, b3 = B[b], B[b + _U1], B[b + _U2], B[b + _U3]
            b4, b5, b6, b7 = B[b + _U4], B[b + _U5], B[b + _U6], B[b + _U7]
            # Sums of four and eight products are added to the running ones in one step, since each waits for the last.
            x3 = _join(sums, times(sums, a1, b2), a2, b1)
            x5 = _join(sums, times(sums, a1, b4), a4, b1)
            x6 = _join(sums, times(sums, a2, b4), a4, b2)
            x7 = _join(sums, _join(sums, _join(sums, times(sums, a0, b7), a1, b6), a2, b5), a3, b4)
            y7 = _join(sums, _join(sums, _join(sums, times(sums, a4, b3), a5, b2), a6, b1), a7, b0)
            x3 = _join(sums, _join(sums, x3, a0, b3), a3, b0)
            x5 = _join(sums, _join(sums, x5, a0, b5), a5, b0)
            x6 = _join(sums, _join(sums, x6, a0, b6), a6, b0)
            f0 = _join(sums, f0, a0, b0)
            f1 = _join(sums, _join(sums, f1, a0, b1), a1, b0)
            f2 = _join(sums, _join(sums, f2, a0, b2), a2, b0)
            f4 = _join(sums, _join(sums, f4, a0, b4), a4, b0)
            f3 = plus(sums, f3, x3)
            f5 = plus(sums, f5, x5)
            f6 = plus(sums, f6, x6)
            f7 = plus(sums, f7, plus(sums, x7, y7))
            if s == h:
                break
            s = next_subset(s, h)
        F[o], F[o + _U1], F[o + _U2], F[o + _U3] = f0, f1, f2, f3
        F[o + _U4], F[o + _U5], F[o + _U6], F[o + _U7] = f4, f5, f6, f7


@inline
def _combine_segments(sums, clusters, rest, out, middle, first, last):
    segment = np.uint64(8 << middle)
    for T in range(np.uint64(first), np.uint64(last)):
        F = out[T * segment : (T + _U1) * segment]
        for i in range(F.size):
            F[i] = nothing(sums)
        highest = highest_leaf(T)
        others = T ^ highest
        s = ZERO
        while True:
            A = highest | s
            B = T ^ A
            taken, left = clusters[A * segment : (A + _U1) * segment], rest[B * segment : (B + _U1) * segment]
            _combine(sums, taken, left, F, 1 << middle)
            if s == others:
                break
            s = next_subset(s, others)


@kernel
def sum_segments(clusters, rest, out, middle, first, last):
    """out[S] = Σ clusters[C] · rest[S ∖ C] for all sets S with a top first ≤ T < last, of which none is empty."""
    _combine_segments(SUM, clusters, rest, out, middle, first, last)


@kernel
def max_segments(clusters, rest, out, middle, first, last):
    """out[S] = max clusters[C] + rest[S ∖ C] for the same sets."""
    _combine_segments(MAXIMUM, clusters, rest, out, middle, first, last)


# The next three loop from 0 over slices: an index that might be negative would keep LLVM from vectorising.


@kernel
def largest_slope(sizes, values, first, last):
    """max values(S) / |S| over the sets first ≤ S < last: the α for which no exponential in `tabulate` exceeds 1."""
    sizes, values = sizes[first:last], values[first:last]
    best = -np.inf
    for i in range(sizes.size):
        x = values[i] / sizes[i] if sizes[i] > 0 else -np.inf
        best = x if x > best else best
    return best


@kernel
def tabulate(sizes, values, slope, first, last, table):
    """table[S] = exp(values[S] − slope·|S|) for first ≤ S < last."""
    sizes, values, table = sizes[first:last], values[first:last], table[first:last]
    for i in range(sizes.size):
        table[i] = exponential(values[i] - slope * sizes[i])


@kernel
def finish_segments(sizes, slope, first, last, Z):
    """Put log F + slope·|S| in the place of F for first ≤ S < last; NaN where F is too small to be trusted.

    Returns how often that was.
    """
    sizes, Z = sizes[first:last], Z[first:last]
    n_unsafe = 0
    for i in range(Z.size):
        if Z[i] >= SMALLEST_SUM:
            Z[i] = logarithm(Z[i]) + slope * sizes[i]
        else:
            Z[i] = np.nan
            n_unsafe += 1
    return n_unsafe
