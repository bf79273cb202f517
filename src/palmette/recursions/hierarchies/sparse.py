"""Passes over listed splits, in log space and linear time.

    Z(P) = Σ ψ(L, R) Z(L) Z(R)        μ(L), μ(R) += μ(P) · ψ(L, R) Z(L) Z(R) / Z(P)

Clusters are numbered by rising size, leaves first, the root last. The splits of cluster p are offsets[p] ≤ s <
offsets[p + 1], into the clusters left[s] and right[s]; log_psi[s] = log ψ. Tables hold logarithms.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import kernel
from palmette.clusters import member_list
from palmette.numeric import exponential, unit_draw

__all__ = ["add_pairs", "add_separated", "draw", "inside", "maximum", "outside", "shares"]


@kernel
def inside(n, offsets, left, right, log_psi, Z):
    """Z[p] = log Σ exp(log_psi[s] + Z[left] + Z[right]) over the splits of p; 0 for the n leaves."""
    for p in range(offsets.size - 1):
        if p < n:
            Z[p] = 0.0
            continue
        top = -np.inf
        for s in range(offsets[p], offsets[p + 1]):
            top = max(top, log_psi[s] + (Z[left[s]] + Z[right[s]]))
        Z[p] = top
        if top > -np.inf:
            total = 0.0
            for s in range(offsets[p], offsets[p + 1]):
                total += exponential(log_psi[s] + (Z[left[s]] + Z[right[s]]) - top)
            Z[p] = top + math.log(total)


@kernel
def maximum(n, offsets, left, right, log_psi, M):
    """M[p] = max log_psi[s] + M[left] + M[right] over the splits of p; 0 for the n leaves."""
    for p in range(offsets.size - 1):
        if p < n:
            M[p] = 0.0
            continue
        top = -np.inf
        for s in range(offsets[p], offsets[p + 1]):
            top = max(top, log_psi[s] + (M[left[s]] + M[right[s]]))
        M[p] = top


@kernel
def shares(n, offsets, left, right, log_psi, Z, share):
    """share[s]: the probability of split s given its parent, in [0, 1]; 0 where that is impossible.

    Normalised once more, so that rounding in Z does not add up on the way down.
    """
    share[:] = 0.0
    for p in range(n, offsets.size - 1):
        if Z[p] == -np.inf:
            continue
        total = 0.0
        for s in range(offsets[p], offsets[p + 1]):
            share[s] = exponential(log_psi[s] + ((Z[left[s]] + Z[right[s]]) - Z[p]))
            total += share[s]
        for s in range(offsets[p], offsets[p + 1]):
            share[s] /= total


@kernel
def outside(n, offsets, left, right, share, mu):
    """mu[p]: the probability that cluster p occurs, in [0, 1], given `shares`."""
    mu[:] = 0.0
    mu[mu.size - 1] = 1.0
    for k in range(mu.size - n):
        p = mu.size - 1 - k
        mu[p] = min(mu[p], 1.0)
        for s in range(offsets[p], offsets[p + 1]):
            mu[left[s]] += mu[p] * share[s]
            mu[right[s]] += mu[p] * share[s]
    for p in range(n):
        mu[p] = 1.0 if mu.size > n else mu[p]


@kernel
def draw(n, offsets, left, right, log_psi, Z, seed, out, log_potential, first, last):
    """Draws first ≤ d < last: out[d] = its n − 1 splits, increasing, and log_potential[d].

    At cluster p draw d uses a number that depends on (seed, d, p) only: a draw is the same whatever else is drawn.
    """
    stack = np.empty(n + 1, np.int64)
    for d in range(first, last):
        depth, found, total = 1, 0, 0.0
        stack[0] = Z.size - 1
        while depth > 0:
            depth -= 1
            p = stack[depth]
            if p < n:
                continue
            u = unit_draw(seed, d, p)
            chosen = -1  # the last possible one, if rounding leaves the sum a little below u
            for s in range(offsets[p], offsets[p + 1]):
                share = exponential(log_psi[s] + ((Z[left[s]] + Z[right[s]]) - Z[p]))
                if share > 0.0:
                    chosen = s
                    u -= share
                    if u < 0.0:
                        break
            out[d, found] = chosen
            total += log_psi[chosen]
            found += 1
            stack[depth] = left[chosen]
            stack[depth + 1] = right[chosen]
            depth += 2
        out[d] = np.sort(out[d])
        log_potential[d] = total


@kernel
def add_separated(n, words, left, right, values, out):
    """out[i, j] += values[s] for every split s and every i on its left and j on its right."""
    one, two = np.empty(n, np.int64), np.empty(n, np.int64)
    for s in range(values.size):
        if values[s] > 0.0:
            m, k = member_list(words[left[s]], one), member_list(words[right[s]], two)
            for x in range(m):
                for y in range(k):
                    out[one[x], two[y]] += values[s]


@kernel
def add_pairs(n, words, values, out):
    """out[i, j] += values[c] for every cluster c and every pair i ≤ j of its leaves."""
    members = np.empty(n, np.int64)
    for c in range(values.size):
        if values[c] != 0.0:
            m = member_list(words[c], members)
            for x in range(m):
                for y in range(x, m):
                    out[members[x], members[y]] += values[c]
