"""Upper bounds of what a cluster can still bring: the largest log potential of a hierarchy over it.

M(C) is the largest log potential of a hierarchy over the leaves of C; M of a leaf is 0. A bound is a compiled function
``bound(theta, n, members, additive, pairwise)`` that returns some U(C) ≥ M(C), `members` being the leaves of C, three
or more. It reads the model's own arrays and no table, so it can be asked about any cluster of any number of leaves. It
is raised by a little more than rounding can take away, so that U(C) ≥ M(C) holds for the numbers as they are computed.

Dasgupta's costs are bounded triple by triple. The others are bounded *by size*: what a cluster of s leaves costs is at
least c(s), whichever leaves of C these are, and the cheapest hierarchy is then a recursion over sizes. Those of Ginkgo
are in `palmette.models.mass_bounds`.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, maker

__all__ = [
    "correlation_bound",
    "dasgupta_bound",
    "least_sums",
    "sum_of_squares_bound",
    "turn_into_shares",
    "unbounded",
    "uniform_bound",
]

_INF = math.inf
_SLACK = 1e-13  # of the sum of all magnitudes: sums over 63 leaves, row by row, are right to 63·3 roundings


@inline
def unbounded(theta, n, members, additive, pairwise):
    """U = +∞: nothing is known."""
    return _INF


@inline
def uniform_bound(theta, n, members, additive, pairwise):
    """U = 0: every hierarchy has log potential 0."""
    return 0.0


@inline
def dasgupta_bound(theta, n, members, additive, pairwise):
    """U(C) = −β · [2 w(C) + Σ_{i<j<k ∈ C} (w_ij + w_ik + w_jk − max of the three)], for weights of any sign.

    A pair i, j that parts in P pays |P| w_ij = 2 w_ij + Σ over the other k ∈ P of w_ij. Of the pairs of a triple, the
    two that part where the triple does have the third leaf in their P; the one that stays together has not. So the cost
    is 2 w(C) + Σ over triples of (sum of the three − the one that stays together), which is at most their maximum.
    """
    w = pairwise[0]
    cost = 0.0
    magnitude = 0.0
    for x in range(members.size):
        i = members[x]
        row = 0.0
        for y in range(x):
            j = members[y]
            w_ij = w[i, j]
            triples = 2.0 * w_ij
            for z in range(y):
                w_ik, w_jk = w[i, members[z]], w[j, members[z]]
                high, low = max(w_ij, w_ik), min(w_ij, w_ik)
                triples += low + min(high, w_jk)
            row += triples
            magnitude += abs(w_ij)
        cost += row
    return theta[0] * (_SLACK * members.size * magnitude - cost)


@inline
def _sort(values):
    for x in range(values.size):
        value = values[x]
        y = x
        while y > 0 and values[y - 1] > value:
            values[y] = values[y - 1]
            y -= 1
        values[y] = value


@inline
def _add_smallest(values, count):
    # Sorts them.
    _sort(values)
    total = 0.0
    for x in range(count):
        total += values[x]
    return total


@inline
def turn_into_shares(pairs, own):
    """shares[i, s − 1] = own_i + ½ (the s − 1 smallest pairs[i, j], j ≠ i) for s = 1 … k, in place of `pairs`.

    Q(S) = Σ own_i + Σ_{i<j} pairs[i, j] over S is a sum over its leaves i of own_i + ½ Σ_j pairs[i, j], and each term
    is at least the share of i for s = |S|.
    """
    for i in range(own.size):
        pairs[i, i] = -_INF
        _sort(pairs[i])
        total = own[i]
        pairs[i, 0] = total
        for s in range(1, own.size):
            total += 0.5 * pairs[i, s]
            pairs[i, s] = total


@maker
def least_sums(shares, row):
    """least[s] ≤ Q(S) for every S of s leaves: the sum of the s smallest shares. least[k] is Q(C) itself."""
    k = shares.shape[0]
    least = np.empty(k + 1)
    for s in range(1, k + 1):
        for i in range(k):
            row[i] = shares[i, s - 1]
        least[s] = _add_smallest(row, s)
    return least


@maker
def _cheapest_sizes(shares, is_mean, floor):
    """A lower bound of Σ κ(S) over the clusters S ≠ C of a hierarchy over C; κ(S) = Q(S), or Q(S) / |S| if `is_mean`.

    h(s), made of least[s], is at most κ(S) for every S of s leaves, and κ of a leaf is 0. By induction over m, any
    hierarchy over m of the leaves costs at least V(m) = min over a + b = m of h(a) + h(b) + V(a) + V(b). For C itself
    the two parts are disjoint, so each leaf counts once, with its own share, for a part of a leaves or one of b: the
    cheapest way to choose b of them replaces h(a) + h(b). `floor` is another lower bound of κ(L) + κ(R).
    """
    k = shares.shape[0]
    row = np.empty(k)
    cost = least_sums(shares, row)
    value = np.zeros(k)
    for m in range(2, k):
        cost[m] *= 1.0 / m if is_mean else 1.0
        value[m] = _INF
        for b in range(1, m // 2 + 1):
            value[m] = min(value[m], cost[m - b] + value[m - b] + cost[b] + value[b])
    best = _INF
    for b in range(1, k // 2 + 1):
        a = k - b
        to_a, to_b = (1.0 / a, 1.0 / b) if is_mean else (1.0, 1.0)
        total = 0.0
        for i in range(k):
            in_a = shares[i, a - 1] * to_a
            total += in_a
            row[i] = shares[i, b - 1] * to_b - in_a
        parts = max(total + _add_smallest(row, b), floor)
        best = min(best, parts + value[a] + value[b])
    return best


@maker
def sum_of_squares_bound(theta, n, members, additive, pairwise):
    """U(C) = −β · V, V ≤ Σ SSE(S) over the clusters S ≠ C of any hierarchy over C.

    SSE(S) = Σ_{i<j ∈ S} ‖x_i − x_j‖² / |S| is a pair sum over |S|, so each leaf of S brings at least half of its
    |S| − 1 shortest squared distances within C, over |S|. The recursion over sizes is that of `_cheapest_sizes`.
    """
    k = members.size
    squared = np.empty((k, k))
    total = 0.0
    for x in range(k):
        for y in range(k):
            squared[x, y] = pairwise[0, members[x], members[y]]
            total += squared[x, y]
    turn_into_shares(squared, np.zeros(k))
    cost = _cheapest_sizes(squared, True, 0.0)
    return theta[0] * (_SLACK * (cost + total) - cost)


@maker
def _least_uncut(repulsion):
    """Σ over triples of min over their pairs of |w⁻| / (number of triples with that pair): what any split leaves uncut.

    Two leaves of every triple stay on one side, so Σ y ≤ (uncut repulsion) whenever each pair's y add up to at most
    its |w⁻|. Only triples of three repulsive pairs count.
    """
    k = repulsion.shape[0]
    often = np.zeros((k, k))
    for i in range(k):
        for j in range(i):
            if repulsion[i, j] > 0.0:
                for h in range(k):
                    if repulsion[i, h] > 0.0 and repulsion[j, h] > 0.0:
                        often[i, j] += 1.0
    total = 0.0
    for i in range(k):
        for j in range(i):
            if often[i, j] > 0.0:
                y = repulsion[i, j] / often[i, j]
                for h in range(j):
                    if repulsion[i, h] > 0.0 and repulsion[j, h] > 0.0:
                        total += min(y, repulsion[i, h] / often[i, h], repulsion[j, h] / often[j, h])
    return total


@maker
def correlation_bound(theta, n, members, additive, pairwise):
    """U(C) = −β · [w⁺(C) + V], V ≤ Σ |w⁻|(S) over the clusters S ≠ C of any hierarchy over C.

    Every attraction is cut once. The repulsion |w⁻|(S) that is left in S is a pair sum: the recursion over sizes is
    that of `_cheapest_sizes`, and what the first split must leave is bounded once more by triples, in `_least_uncut`.
    """
    k = members.size
    repulsion = np.zeros((k, k))
    attraction = 0.0
    total = 0.0
    for x in range(k):
        for y in range(k):
            if x != y:
                w = pairwise[0, members[x], members[y]]
                repulsion[x, y] = max(-w, 0.0)
                attraction += 0.5 * max(w, 0.0)
                total += repulsion[x, y]
    if total == 0.0:
        return -theta[0] * attraction * (1.0 - _SLACK)
    floor = _least_uncut(repulsion)
    turn_into_shares(repulsion, np.zeros(k))
    cost = attraction + _cheapest_sizes(repulsion, False, floor)
    return theta[0] * (_SLACK * (cost + total) - cost)
