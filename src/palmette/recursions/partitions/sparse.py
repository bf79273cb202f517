"""Sums, maxima, probabilities and draws over the paths of a partition trellis, in log space and linear time.

    Z(s) = Σ ψ(C) Z(s∖C)        M(s) = max ψ(C) M(s∖C)        nothing remains: 1

State s offers the choices offsets[s] ≤ i < offsets[s + 1]: take cluster[i], go on at following[i] > s. State 0 is the
start, the last one the end. Tables hold logarithms, −inf where nothing is possible.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import kernel
from palmette.numeric import exponential, unit_draw

__all__ = [
    "add_pairs",
    "best_path",
    "draw",
    "inside",
    "inside_by_number",
    "maximum",
    "outside",
]


_LOWEST = -1.7e308  # a finite number to subtract where nothing is possible: −inf − (−inf) would be NaN


@kernel
def inside(offsets, cluster, following, log_psi, Z):
    """Z[s] = log Σ exp(log_psi[c] + Z[next]) over the choices of s; 0 at the end."""
    end = offsets.size - 2
    Z[end] = 0.0
    for k in range(end):
        s = end - 1 - k
        top = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            top = max(top, log_psi[cluster[i]] + Z[following[i]])
        Z[s] = top
        if top > -np.inf:
            total = 0.0
            for i in range(offsets[s], offsets[s + 1]):
                total += exponential(log_psi[cluster[i]] + Z[following[i]] - top)
            Z[s] = top + math.log(total)


@kernel
def maximum(offsets, cluster, following, log_psi, M):
    """M[s] = max (log_psi[c] + M[next]) over the choices of s; 0 at the end."""
    end = offsets.size - 2
    M[end] = 0.0
    for k in range(end):
        s = end - 1 - k
        top = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            top = max(top, log_psi[cluster[i]] + M[following[i]])
        M[s] = top


@kernel
def best_path(offsets, cluster, following, log_psi, M, path):
    """How many clusters the best path takes; path[:this] holds them in order. The first of equal choices wins.

    M[0] must not be −inf; a path has at most as many clusters as there are leaves.
    """
    s, taken = 0, 0
    while s < offsets.size - 2:
        best, top = offsets[s], -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            x = log_psi[cluster[i]] + M[following[i]]
            if x > top:
                best, top = i, x
        path[taken] = cluster[best]
        taken += 1
        s = following[best]
    return taken


@kernel
def outside(offsets, cluster, following, log_psi, Z, reach, mu):
    """reach[s], mu[c]: the probabilities that a path comes by state s, and that it takes cluster c. All in [0, 1].

    What is offered at a state is normalised once more, so that rounding in Z does not add up along a path.
    """
    reach[:] = 0.0
    mu[:] = 0.0
    if Z[0] == -np.inf:
        return
    reach[0] = 1.0
    for s in range(offsets.size - 2):
        if reach[s] == 0.0 or Z[s] == -np.inf:
            continue
        total = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            total += exponential(log_psi[cluster[i]] + Z[following[i]] - Z[s])
        share = min(reach[s], 1.0) / total
        for i in range(offsets[s], offsets[s + 1]):
            p = share * exponential(log_psi[cluster[i]] + Z[following[i]] - Z[s])
            reach[following[i]] += p
            mu[cluster[i]] += p
    for s in range(reach.size):
        reach[s] = min(reach[s], 1.0)
    for c in range(mu.size):
        mu[c] = min(mu[c], 1.0)


@kernel
def draw(offsets, cluster, following, log_psi, Z, seed, bounds, members, membership, log_potential, first, last):
    """Draws first ≤ d < last: membership[d, leaf] = the place in the path of its cluster, and log_potential[d].

    The leaves of cluster c are members[bounds[c, 0] : bounds[c, 1]]. At state s draw d uses a number that depends on
    (seed, d, s) only, so a draw is the same whatever else is drawn. Z[0] must not be −inf.
    """
    for d in range(first, last):
        s, taken, total = 0, 0, 0.0
        while s < offsets.size - 2:
            u = unit_draw(seed, d, s)
            chosen = -1  # the last possible choice, if rounding leaves the sum a little below u
            for i in range(offsets[s], offsets[s + 1]):
                p = exponential(log_psi[cluster[i]] + Z[following[i]] - Z[s])
                if p > 0.0:
                    chosen = i
                    u -= p
                    if u < 0.0:
                        break
            c = cluster[chosen]
            for x in range(bounds[c, 0], bounds[c, 1]):
                membership[d, members[x]] = taken
            total += log_psi[c]
            taken += 1
            s = following[chosen]
        log_potential[d] = total


@kernel
def inside_by_number(offsets, cluster, following, log_psi, rows, table):
    """table[rows[s] + k] = log Z of the paths from s that take exactly k clusters, 0 ≤ k < rows[s + 1] − rows[s]."""
    end = offsets.size - 2
    table[rows[end]] = 0.0
    top = np.empty(rows[1] - rows[0] + 1)
    for j in range(end):
        s = end - 1 - j
        size = rows[s + 1] - rows[s]
        sums = table[rows[s] : rows[s + 1]]
        sums[:] = 0.0
        top[:size] = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            x, onward = log_psi[cluster[i]], table[rows[following[i]] : rows[following[i] + 1]]
            for k in range(onward.size):
                top[k + 1] = max(top[k + 1], x + onward[k])
        for i in range(offsets[s], offsets[s + 1]):
            x, onward = log_psi[cluster[i]], table[rows[following[i]] : rows[following[i] + 1]]
            for k in range(onward.size):
                sums[k + 1] += exponential(x + onward[k] - max(top[k + 1], _LOWEST))
        for k in range(size):
            sums[k] = top[k] + math.log(sums[k]) if top[k] > -np.inf else -np.inf


@kernel
def add_pairs(bounds, members, values, out):
    """out[i, j] += values[c] for all pairs of leaves of each cluster c: members[bounds[c, 0] : bounds[c, 1]]."""
    for c in range(values.size):
        if values[c] != 0.0:
            for x in range(bounds[c, 0], bounds[c, 1]):
                for y in range(bounds[c, 0], bounds[c, 1]):
                    out[members[x], members[y]] += values[c]
