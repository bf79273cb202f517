"""Exact draws of partitions, cluster by cluster.

Every draw that has the set S left takes its next cluster with a number that depends on (seed, draw, S) only, so draws
that have the same set left are served by one walk, and nobody can tell how they were grouped.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import kernel
from palmette.numeric import exponential, unit_draw
from palmette.recursions.partitions.full import highest_leaf
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["draw_clusters", "renumber"]


@kernel
def draw_clusters(
    log_psi, rest, totals, seed, sets, starts, draws, number, chosen, memberships, log_potential, first, last
):
    """For groups first ≤ g < last: draws[starts[g]:starts[g+1]] have sets[g] left; each takes its next cluster.

    chosen[i] = C with probability exp(log ψ(C) + rest(S ∖ C) − totals[g]); in `memberships` its leaves get `number`.
    """
    for g in range(first, last):
        S = np.uint64(sets[g])
        begin, end = starts[g], starts[g + 1]
        numbers = np.empty(end - begin)
        for i in range(begin, end):
            numbers[i - begin] = unit_draw(seed, draws[i], S)
        order = np.argsort(numbers)
        highest = highest_leaf(S)
        others = S ^ highest
        served = 0
        cumulative = 0.0
        last_possible = S
        sub = ZERO
        while served < order.size:
            C = highest | sub
            p = exponential(log_psi[C] + (rest[S ^ C] - totals[g]))
            if p > 0.0:
                cumulative += p
                last_possible = C
                while served < order.size and numbers[order[served]] < cumulative:
                    chosen[begin + order[served]] = C
                    served += 1
            if sub == others:
                break
            sub = next_subset(sub, others)
        # Rounding may leave the sum a little below 1, and the largest numbers unserved.
        for i in range(served, order.size):
            chosen[begin + order[i]] = last_possible
        for i in range(begin, end):
            log_potential[draws[i]] += log_psi[chosen[i]]
            for leaf in range(memberships.shape[1]):
                if (np.uint64(chosen[i]) >> np.uint64(leaf)) & np.uint64(1):
                    memberships[draws[i], leaf] = number


@kernel
def renumber(memberships):
    """Number the clusters of every row by first appearance, in place."""
    n = memberships.shape[1]
    new = np.empty(n, np.int64)
    for row in range(memberships.shape[0]):
        new[:] = -1
        count = 0
        for leaf in range(n):
            old = memberships[row, leaf]
            if new[old] < 0:
                new[old] = count
                count += 1
            memberships[row, leaf] = new[old]
