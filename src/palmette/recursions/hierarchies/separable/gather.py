"""The outside pass over all clusters of one size: out(C) = Σ_R W(C ∪ R) · G(R), with |C ∪ R| = k.

W(P) = μ(P) / F(P) makes G(C) · out(C) the probability that C occurs with a parent of k leaves. Gathered, not scattered:
see `recursions.hierarchies.outside`.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel
from palmette.clusters import size_of
from palmette.octets import load, multiply_add, pick, repeat, store
from palmette.recursions.hierarchies.separable.segments import SEGMENT, SEGMENT_LEAVES, masks_of, middle_range
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["OUTER_LIFT", "collect", "gather_level", "weigh"]

# With λ = OUTER_LIFT products of W e^(−2λ) and G e^λ stay below e^645. A factor that underflows is that of a share of P
# below e^(−708 − λ + 645), or of a μ(P) below e^(−708 + 2λ): less than 1e-110 is lost.
OUTER_LIFT = 200.0
LEAST_LOG_SENT = -645.0

_ONE, _EIGHT, _SEGMENT = np.uint64(1), np.uint64(8), np.uint64(SEGMENT)
_P1, _P2, _P3, _P4, _P5, _P6, _P7 = (np.uint64(i) for i in range(1, 8))


@inline
def _gather0(W, G, S, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        w = W[h * _EIGHT]
        if w != 0.0:
            s = ZERO
            while True:
                S[s * _EIGHT] += w * G[(h ^ s) * _EIGHT]
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _gather1(W, G, S, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if W[o + _P1] != 0.0 or W[o + _P2] != 0.0 or W[o + _P4] != 0.0:
            w1, w2, w4 = repeat(W[o + _P1]), repeat(W[o + _P2]), repeat(W[o + _P4])
            s = ZERO
            while True:
                c = s * _EIGHT
                g = load(G, (h ^ s) * _EIGHT)
                x = multiply_add(pick(g, "10------"), w1, load(S, c))
                x = multiply_add(pick(g, "2-0-----"), w2, x)
                store(multiply_add(pick(g, "4---0---"), w4, x), S, c)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _gather2(W, G, S, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        o = h * _EIGHT
        if W[o + _P3] != 0.0 or W[o + _P5] != 0.0 or W[o + _P6] != 0.0:
            w3, w5, w6 = repeat(W[o + _P3]), repeat(W[o + _P5]), repeat(W[o + _P6])
            s = ZERO
            while True:
                c = s * _EIGHT
                g = load(G, (h ^ s) * _EIGHT)
                x = multiply_add(pick(g, "3210----"), w3, load(S, c))
                x = multiply_add(pick(g, "54--10--"), w5, x)
                store(multiply_add(pick(g, "6-4-2-0-"), w6, x), S, c)
                if s == h:
                    break
                s = next_subset(s, h)


@inline
def _gather3(W, G, S, within, size):
    first, last = middle_range(within, size)
    for i in range(first, last):
        h = within.middles[i]
        if W[h * _EIGHT + _P7] != 0.0:
            w7 = repeat(W[h * _EIGHT + _P7])
            s = ZERO
            while True:
                c = s * _EIGHT
                store(multiply_add(pick(load(G, (h ^ s) * _EIGHT), "76543210"), w7, load(S, c)), S, c)
                if s == h:
                    break
                s = next_subset(s, h)


@kernel
def gather_level(outer, alive, table, k, tops, first, last, within, out):
    """out[C] = Σ_R outer[C ∪ R] · table[R] over the sets R that are disjoint from C and have |C ∪ R| = k.

    For all C whose top is among tops[first:last]; alive[T] is 0 if outer is, for the P of k leaves and top T.
    """
    full = np.uint64(out.size // SEGMENT - 1)
    for t in range(first, last):
        C = np.uint64(tops[t])
        S = out[C * _SEGMENT : (C + _ONE) * _SEGMENT]
        for i in range(SEGMENT):
            S[i] = 0.0
        others = full ^ C
        R = ZERO
        while True:
            T = C | R
            if alive[T]:
                rest = k - size_of(T)
                W, G = outer[T * _SEGMENT : (T + _ONE) * _SEGMENT], table[R * _SEGMENT : (R + _ONE) * _SEGMENT]
                _gather0(W, G, S, within, rest)
                _gather1(W, G, S, within, rest - 1)
                _gather2(W, G, S, within, rest - 2)
                _gather3(W, G, S, within, rest - 3)
            if others == R:
                break
            R = next_subset(R, others)


@kernel
def weigh(Z, a, slope, mu, least, k, first, last, within, outer, alive, log_outer, log_alive, surprise):
    """W(P) for the P of k leaves and a top first ≤ T < last, and what is alive of it, for the two passes over parents.

    It is outer[P] = e^(−2λ) μ/F for `gather_level`, or log_outer[P] = log(μ/F) + α|P| for `seek_parents` where F is
    too small; where μ(P) ≤ least it is nothing. surprise[T] += Σ μ(P) log F(P), and in its second column the sum of
    their magnitudes.
    """
    for t in range(first, last):
        T = np.uint64(t)
        rest = k - size_of(T)
        alive[T], log_alive[T] = 0, -np.inf
        if not 0 <= rest <= SEGMENT_LEAVES:
            continue
        masks = masks_of(within, rest)
        for i in range(masks.size):
            P = T * _SEGMENT + masks[i]
            outer[P], log_outer[P] = 0.0, -np.inf
            if mu[P] > least:
                log_sum = Z[P] - a[P] - slope * k
                surprise[T, 0] += mu[P] * log_sum
                surprise[T, 1] += abs(mu[P] * log_sum)
                if log_sum > LEAST_LOG_SENT:
                    outer[P] = mu[P] * math.exp(-log_sum - 2 * OUTER_LIFT)
                    alive[T] = 1
                else:
                    log_outer[P] = math.log(mu[P]) - (Z[P] - a[P])
                    log_alive[T] = max(log_alive[T], log_outer[P])


@kernel
def collect(sizes, powers, sums, gains, logs, slope, weight, first, last, mu, nu, surprise):
    """μ[C] += x and ν[C] += weight·x with x = powers[C]·sums[C] + gains[C], for the segments first ≤ s < last.

    ν and the gains may be empty. surprise[s] −= Σ x log G(C), as in `weigh`.
    """
    for s in range(first, last):
        for C in range(max(1, s * SEGMENT), (s + 1) * SEGMENT):
            x = powers[C] * sums[C]
            if gains.size > 0:
                x += gains[C]
            if x > 0.0:
                mu[C] += x
                if nu.size > 0:
                    nu[C] += weight * x
                term = x * (logs[C] - slope * sizes[C])
                surprise[s, 0] -= term
                surprise[s, 1] += abs(term)
