"""Passes for log ψ(L, R) = a(P) + b(|P|)·(u(L) + u(R)), several times faster than the general ones.

With G(S) = exp(b u(S) + log Z(S) − α|S|), tabulated for the b of one size |P|, the sum over the splits of P is

    Z(P) = exp(a(P) + α|P|) · F(P),      F(P) = Σ G(L) G(R),

one multiply-add per split (the reference α|S| is linear in the size, so it cancels). For the maximum the table holds
b u(S) + log M(S) and a split costs one addition and one comparison: the same walk read in another semiring.

The walk. A mask is (top, middle, low): the three lowest leaves, then `middle` leaves, then the rest. For one pair of
disjoint tops {A, B} everything needed lies in two short segments of the table, which stay in the first-level cache
while all their middle parts are combined; the eight low parts are unrolled, 1 + 6 + 12 + 8 products for the low parts
of 0, 1, 2 and 3 leaves. They are separate walks, because one pass serves one size |P| only.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, kernel, specialise, specialise_inline
from palmette.clusters import lowest_leaf, size_of
from palmette.numeric import exponential, logarithm
from palmette.recursions.semirings import Semiring
from palmette.recursions.subsets import ZERO, next_subset

__all__ = [
    "LOW",
    "SMALLEST_SUM",
    "collect",
    "combine_level",
    "finish_sums",
    "gather_level",
    "largest_slope",
    "tabulate",
]

# Each product that underflows loses less than 2^-1022; 2^30 of them are nothing beside a sum this large.
SMALLEST_SUM = 1e-280

add: Any = None  # a semiring's, put in by `specialise`
multiply: Any = None
zero: Any = None
combine0: Any = None  # the four walks below, for one semiring
combine1: Any = None
combine2: Any = None
combine3: Any = None

LOW = 3  # leaves whose subsets are unrolled
_U1, _U2, _U3, _U4, _U5, _U6, _U7, _U8 = (np.uint64(i) for i in range(1, 9))


def _combine0(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        f0 = F[o]
        s = ZERO
        while True:
            f0 = add(f0, multiply(A[s * _U8], B[(h ^ s) * _U8]))
            if s == h:
                break
            s = next_subset(s, h)
        F[o] = f0


def _combine1(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        f1, f2, f4 = F[o + _U1], F[o + _U2], F[o + _U4]
        e1 = e2 = e4 = zero()
        s = ZERO
        while True:
            a = s * _U8
            b = (h ^ s) * _U8
            a0, b0 = A[a], B[b]
            f1 = add(f1, multiply(a0, B[b + _U1]))
            f2 = add(f2, multiply(a0, B[b + _U2]))
            f4 = add(f4, multiply(a0, B[b + _U4]))
            e1 = add(e1, multiply(A[a + _U1], b0))
            e2 = add(e2, multiply(A[a + _U2], b0))
            e4 = add(e4, multiply(A[a + _U4], b0))
            if s == h:
                break
            s = next_subset(s, h)
        F[o + _U1], F[o + _U2], F[o + _U4] = add(f1, e1), add(f2, e2), add(f4, e4)


def _combine2(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        f3, f5, f6 = F[o + _U3], F[o + _U5], F[o + _U6]
        e3 = e5 = e6 = zero()
        s = ZERO
        while True:
            a = s * _U8
            b = (h ^ s) * _U8
            a0, a1, a2, a4 = A[a], A[a + _U1], A[a + _U2], A[a + _U4]
            b0, b1, b2, b4 = B[b], B[b + _U1], B[b + _U2], B[b + _U4]
            f3 = add(f3, multiply(a0, B[b + _U3]))
            f5 = add(f5, multiply(a0, B[b + _U5]))
            f6 = add(f6, multiply(a0, B[b + _U6]))
            e3 = add(e3, multiply(A[a + _U3], b0))
            e5 = add(e5, multiply(A[a + _U5], b0))
            e6 = add(e6, multiply(A[a + _U6], b0))
            f3 = add(f3, multiply(a1, b2))
            f5 = add(f5, multiply(a1, b4))
            f6 = add(f6, multiply(a2, b4))
            e3 = add(e3, multiply(a2, b1))
            e5 = add(e5, multiply(a4, b1))
            e6 = add(e6, multiply(a4, b2))
            if s == h:
                break
            s = next_subset(s, h)
        F[o + _U3], F[o + _U5], F[o + _U6] = add(f3, e3), add(f5, e5), add(f6, e6)


def _combine3(A, B, F, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        f7 = F[o + _U7]
        e7 = zero()
        s = ZERO
        while True:
            a = s * _U8
            b = (h ^ s) * _U8
            x = add(multiply(A[a], B[b + _U7]), multiply(A[a + _U1], B[b + _U6]))
            y = add(multiply(A[a + _U4], B[b + _U3]), multiply(A[a + _U5], B[b + _U2]))
            x = add(add(x, multiply(A[a + _U2], B[b + _U5])), multiply(A[a + _U3], B[b + _U4]))
            y = add(add(y, multiply(A[a + _U6], B[b + _U1])), multiply(A[a + _U7], B[b]))
            f7 = add(f7, x)
            e7 = add(e7, y)
            if s == h:
                break
            s = next_subset(s, h)
        F[o + _U7] = add(f7, e7)


def _combine_level(table, out, k, middle, tops, first, last, middles, offsets):
    segment = np.uint64(8 << middle)
    for t in range(first, last):
        T = np.uint64(tops[t])
        rest = k - size_of(T)  # leaves of P among the middle and the low ones
        F = out[T * segment : (T + _U1) * segment]
        lowest = lowest_leaf(T)
        others = T ^ lowest
        s = ZERO
        while True:
            A = lowest | s
            B = T ^ A
            X = table[A * segment : (A + _U1) * segment]
            Y = table[B * segment : (B + _U1) * segment]
            if 0 <= rest <= middle:
                combine0(X, Y, F, middles[offsets[rest] : offsets[rest + 1]])
            if 1 <= rest <= middle + 1:
                combine1(X, Y, F, middles[offsets[rest - 1] : offsets[rest]])
            if 2 <= rest <= middle + 2:
                combine2(X, Y, F, middles[offsets[rest - 2] : offsets[rest - 1]])
            if 3 <= rest <= middle + 3:
                combine3(X, Y, F, middles[offsets[rest - 3] : offsets[rest - 2]])
            if s == others:
                break
            s = next_subset(s, others)


def combine_level(semiring: Semiring) -> Any:
    """The kernel (table, out, k, middle, tops, first, last, middles, offsets): out[P] ⊕= ⊕ table[L] ⊗ table[R].

    For all P of k leaves whose top, which must not be empty, is among tops[first:last]. `middles` are the masks of the
    middle leaves sorted by size, `offsets` where each size begins. table[∅] must be zero.
    """
    parts = {
        f"combine{i}": specialise_inline(walk, add=semiring.add, multiply=semiring.multiply, zero=semiring.zero)
        for i, walk in enumerate((_combine0, _combine1, _combine2, _combine3))
    }
    return specialise(_combine_level, **parts)


@inline
def _gather0(W, G, S, middles):
    for i in range(middles.size):
        h = middles[i]
        o0 = W[h * _U8]
        s = ZERO
        while True:
            S[s * _U8] += o0 * G[(h ^ s) * _U8]
            if s == h:
                break
            s = next_subset(s, h)


@inline
def _gather1(W, G, S, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        o1, o2, o4 = W[o + _U1], W[o + _U2], W[o + _U4]
        s = ZERO
        while True:
            c = s * _U8
            r = (h ^ s) * _U8
            g0 = G[r]
            S[c] += (o1 * G[r + _U1] + o2 * G[r + _U2]) + o4 * G[r + _U4]
            S[c + _U1] += o1 * g0
            S[c + _U2] += o2 * g0
            S[c + _U4] += o4 * g0
            if s == h:
                break
            s = next_subset(s, h)


@inline
def _gather2(W, G, S, middles):
    for i in range(middles.size):
        h = middles[i]
        o = h * _U8
        o3, o5, o6 = W[o + _U3], W[o + _U5], W[o + _U6]
        s = ZERO
        while True:
            c = s * _U8
            r = (h ^ s) * _U8
            g0, g1, g2, g4 = G[r], G[r + _U1], G[r + _U2], G[r + _U4]
            S[c] += (o3 * G[r + _U3] + o5 * G[r + _U5]) + o6 * G[r + _U6]
            S[c + _U1] += o3 * g2 + o5 * g4
            S[c + _U2] += o3 * g1 + o6 * g4
            S[c + _U4] += o5 * g1 + o6 * g2
            S[c + _U3] += o3 * g0
            S[c + _U5] += o5 * g0
            S[c + _U6] += o6 * g0
            if s == h:
                break
            s = next_subset(s, h)


@inline
def _gather3(W, G, S, middles):
    for i in range(middles.size):
        h = middles[i]
        o7 = W[h * _U8 + _U7]
        s = ZERO
        while True:
            c = s * _U8
            r = (h ^ s) * _U8
            for j in range(8):
                S[c + np.uint64(j)] += o7 * G[r + np.uint64(7 - j)]
            if s == h:
                break
            s = next_subset(s, h)


@kernel
def gather_level(outer, table, out, k, middle, tops, first, last, middles, offsets):
    """out[C] += Σ_R outer[C ∪ R] · table[R] over the sets R that are disjoint from C and have |C ∪ R| = k.

    For all C whose top is among tops[first:last]; `middles` and `offsets` as in `combine_level`.
    """
    segment = np.uint64(8 << middle)
    full = np.uint64(out.size // (8 << middle) - 1)
    for t in range(first, last):
        C = np.uint64(tops[t])
        S = out[C * segment : (C + _U1) * segment]
        others = full ^ C
        R = ZERO
        while True:
            T = C | R
            rest = k - size_of(T)
            if 0 <= rest <= middle + 3:
                W = outer[T * segment : (T + _U1) * segment]
                G = table[R * segment : (R + _U1) * segment]
                if rest <= middle:
                    _gather0(W, G, S, middles[offsets[rest] : offsets[rest + 1]])
                if 1 <= rest <= middle + 1:
                    _gather1(W, G, S, middles[offsets[rest - 1] : offsets[rest]])
                if 2 <= rest <= middle + 2:
                    _gather2(W, G, S, middles[offsets[rest - 2] : offsets[rest - 1]])
                if rest >= 3:
                    _gather3(W, G, S, middles[offsets[rest - 3] : offsets[rest - 2]])
            if others == R:
                break
            R = next_subset(R, others)


# The next three loop from 0 over slices: an index that might be negative would keep LLVM from vectorising.


@kernel
def largest_slope(sizes, u, V, b, k, first, last):
    """max (b u(S) + V(S)) / |S| over the clusters first ≤ S < last of fewer than k leaves: the α for which G ≤ 1."""
    sizes, u, V = sizes[first:last], u[first:last], V[first:last]
    one = two = -np.inf  # two running maxima, since each waits for the one before it; slices are even
    for i in range(0, sizes.size, 2):
        x = (b * u[i] + V[i]) / sizes[i] if 0 < sizes[i] < k else -np.inf
        y = (b * u[i + 1] + V[i + 1]) / sizes[i + 1] if sizes[i + 1] < k else -np.inf
        one = x if x > one else one
        two = y if y > two else two
    return max(one, two)


@kernel
def tabulate(sizes, u, V, b, slope, k, linear, first, last, table):
    """table[S] = b u(S) + V(S) − slope·|S|, or its exponential if `linear`, for |S| < k; else −inf, or 0."""
    sizes, u, V, table = sizes[first:last], u[first:last], V[first:last], table[first:last]
    if linear:
        for i in range(sizes.size):
            x = exponential(b * u[i] + V[i] - slope * sizes[i])
            table[i] = x if 0 < sizes[i] < k else 0.0
    else:
        for i in range(sizes.size):
            table[i] = b * u[i] + V[i] if 0 < sizes[i] < k else -np.inf


@kernel
def collect(table, sums, k, mu, nu, first, last):
    """μ[C] += table[C]·sums[C] and ν[C] += k times that, for first ≤ C < last; clears the sums."""
    table, sums, mu, nu = table[first:last], sums[first:last], mu[first:last], nu[first:last]
    for i in range(sums.size):
        gain = table[i] * sums[i]
        mu[i] += gain
        nu[i] += k * gain
        sums[i] = 0.0


@kernel
def finish_sums(a, shift, allowed, masks, Z):
    """Put Z[P] = log F(P) + a(P) + shift in the place of F(P), for the listed clusters.

    Where F(P) is too small to be trusted Z[P] becomes NaN; returns how often.
    """
    n_unsafe = 0
    for P in masks:
        F = Z[P]
        if allowed.size > 0 and allowed[P] == 0:
            Z[P] = -np.inf
        elif F >= SMALLEST_SUM:
            Z[P] = logarithm(F) + a[P] + shift
        else:
            Z[P] = np.nan
            n_unsafe += 1
    return n_unsafe
