"""Upper bounds for Ginkgo jets: the largest log potential of a shower over some of the particles.

A law of masses² is bounded *by size*, as in `palmette.models.bounds`: t of any s leaves of C is at least least[s], each
factor of log ψ is largest at some t_P, and the best hierarchy is then a recursion over sizes.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, maker
from palmette.models.bounds import least_sums, turn_into_shares
from palmette.models.shower_laws import ROOT

__all__ = ["literal_bound", "ordered_bound", "symmetric_bound"]

_INF = math.inf
_SLACK = 2e-14  # of E²: how far two ways to compute E² − |p|² differ
_MARGIN = 1e-12  # of the bound, and for each leaf: what rounding can do to logarithms

_ORDERED, _SYMMETRIC, _LITERAL = range(3)  # what density a split has


@inline
def _peak(rate, t, low, high):
    # The largest log(rate / T) − rate t / T for low ≤ T ≤ high: it rises up to T = rate·t and falls after it.
    T = min(max(rate * t, low), high)
    return math.log(rate / T) - rate * t / T if T > 0.0 else _INF


@inline
def _ordered_limit(theta, root, a, b, least, most, low, high):
    """log ψ ≤ 2K − log 4π + max over t_P of [log(λ/t_P) − λ hi/t_P] + (0, or −1 − log lo), hi and lo at their least.

    All clusters but leaves have t ≥ t_cut. log(λ/s) − λ lo/s is at most −1 − log lo, whatever s is; a leaf's factor
    is a probability, and both leaves of a pair have that of t_P.
    """
    own = ROOT if root else 0
    rate, t_cut = theta[own], theta[4]
    if high < t_cut:
        return -_INF
    low = max(low, t_cut)
    if a == 1:
        return theta[own + 3] + 2.0 * math.log(-math.expm1(-theta[own + 1] / low))
    one, two = max(least[a], t_cut), max(least[b], t_cut)
    if b == 1:
        return theta[own + 3] + _peak(rate, one, low, high)
    return theta[own + 3] + _peak(rate, max(one, two), low, high) - 1.0 - math.log(min(one, two))


@inline
def _drawn_first(rate, t_cut, s, least, most, low, high):
    lightest = max(least[s], t_cut)
    if s > 1:
        return _peak(rate, lightest, low, high)
    light = math.log(-math.expm1(-rate * t_cut / low))
    return light if most <= t_cut else max(light, _peak(rate, lightest, low, high))


@inline
def _drawn_second(rate, t_cut, s, least, most):
    density = -1.0 - math.log(max(least[s], t_cut))
    if s > 1:
        return density
    light = math.log(-math.expm1(-rate))
    return light if most <= t_cut else max(light, density)


@inline
def _symmetric_limit(theta, root, a, b, least, most, low, high):
    """log ψ ≤ 2K − log 4π + the larger of both orders, each factor at its largest; a mean is at most the larger one.

    The child drawn first has T = t_P > t_cut, the other one any T. All clusters but leaves have t > t_cut. A leaf of
    t ≤ t_cut has 1 − e^{−λ min(T, t_cut)/T}, at most 1 − e^{−λ}, and 1 − e^{−λ t_cut/t_P} if it is drawn first.
    """
    rate, t_cut = theta[root], theta[4]
    if high <= t_cut:
        return -_INF
    low = max(low, t_cut)
    one = _drawn_first(rate, t_cut, a, least, most, low, high) + _drawn_second(rate, t_cut, b, least, most)
    two = _drawn_first(rate, t_cut, b, least, most, low, high) + _drawn_second(rate, t_cut, a, least, most)
    return theta[2 + root] + math.log(2.0) + max(one, two)


@inline
def _literal_limit(theta, root, a, b, least, most, low, high):
    """log ψ ≤ 2 (K + log λ − log T) − λ (t_L + t_R)/T at the least masses² of the parts, T = t_P at its best."""
    children = least[a] + least[b]
    rate = theta[root]
    T = min(max(0.5 * rate * children, low), high)
    return theta[2 + root] - 2.0 * math.log(T) - rate * children / T if T > 0.0 else _INF


@inline
def _limit(density, theta, root, a, b, least, most, low, high):
    if density == _ORDERED:
        return _ordered_limit(theta, root, a, b, least, most, low, high)
    if density == _SYMMETRIC:
        return _symmetric_limit(theta, root, a, b, least, most, low, high)
    return _literal_limit(theta, root, a, b, least, most, low, high)


@maker
def _mass_bound(density, theta, n, members, additive):
    """U(C) = max over a + b = |C| of limit(C; a, b) + V(a) + V(b), V(m) the same for any m of the leaves, V(1) = 0.

    t_S = Σ m_i² + Σ_{i<j ∈ S} 2 p_i·p_j is a pair sum, so `least_sums` bounds the mass² of any s leaves of C from
    below, and `_limit` bounds log ψ given the sizes, the least masses² of these sizes, and low ≤ t_P ≤ high.
    """
    k = members.size
    own = np.empty(k)
    pairs = np.empty((k, k))
    energy = 0.0
    for x in range(k):
        p = additive[members[x]]
        energy += p[0]
        for y in range(k):
            q = additive[members[y]]
            pairs[x, y] = 2.0 * (p[0] * q[0] - p[1] * q[1] - p[2] * q[2] - p[3] * q[3])
        own[x] = 0.5 * pairs[x, x]
    turn_into_shares(pairs, own)
    least = least_sums(pairs, np.empty(k))
    slack = _SLACK * energy * energy
    most = max(own.max(), 0.0) + slack
    high = max(least[k] + slack, 0.0)
    for s in range(1, k + 1):
        least[s] = max(least[s] - slack, 0.0)
    value = np.zeros(k + 1)
    for m in range(2, k + 1):
        value[m] = -_INF
        root = 1 if m == n else 0
        for b in range(1, m // 2 + 1):
            top = high if m == k else _INF
            split = _limit(density, theta, root, m - b, b, least, most, least[m], top)
            total = split + value[m - b] + value[b]
            if total > value[m]:
                value[m] = total
    return value[k] + _MARGIN * (k + abs(value[k])) if abs(value[k]) < _INF else value[k]


@maker
def ordered_bound(theta, n, members, additive, pairwise):
    """`_mass_bound` for the density of Ginkgo's own order."""
    return _mass_bound(_ORDERED, theta, n, members, additive)


@maker
def symmetric_bound(theta, n, members, additive, pairwise):
    """`_mass_bound` for the mean over both orders."""
    return _mass_bound(_SYMMETRIC, theta, n, members, additive)


@maker
def literal_bound(theta, n, members, additive, pairwise):
    """`_mass_bound` for the density as it is printed."""
    return _mass_bound(_LITERAL, theta, n, members, additive)
