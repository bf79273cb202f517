"""Exact draws of splits: a template over ``log_psi(data, P, L, R)``.

Every draw that stands at cluster P chooses its split with a number that depends on (seed, draw, P) only, so draws
that meet at P are served by one walk over its splits, and nobody can tell how they were grouped.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.clusters import lowest_leaf
from palmette.numeric import exponential, unit_draw
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["draw_splits"]

log_psi: Any = None  # the model's, put in by `specialise`


def draw_splits(data, Z, seed, clusters, starts, draws, left, log_potential, first, last):
    """For groups first ≤ g < last: draws[starts[g]:starts[g+1]] stand at clusters[g]; give each its left part.

    left[i] is drawn with probability ψ(L, R) Z(L) Z(R) / Z(P); log_potential[i] = log ψ of that split.
    """
    for g in range(first, last):
        P = np.uint64(clusters[g])
        begin, end = starts[g], starts[g + 1]
        numbers = np.empty(end - begin)
        for i in range(begin, end):
            numbers[i - begin] = unit_draw(seed, draws[i], P)
        order = np.argsort(numbers)
        lowest = lowest_leaf(P)
        others = P ^ lowest
        served = 0
        cumulative = 0.0
        last_possible = lowest
        sub = ZERO
        while sub != others and served < order.size:
            L = lowest | sub
            R = P ^ L
            x = log_psi(data, P, L, R)
            p = exponential(x + ((Z[L] + Z[R]) - Z[P]))
            if p > 0.0:
                cumulative += p
                last_possible = L
                while served < order.size and numbers[order[served]] < cumulative:
                    left[begin + order[served]] = L
                    log_potential[begin + order[served]] = x
                    served += 1
            sub = next_subset(sub, others)
        # Rounding may leave the sum a little below 1, and the largest numbers unserved.
        x = log_psi(data, P, last_possible, P ^ last_possible)
        for i in range(served, order.size):
            left[begin + order[i]] = last_possible
            log_potential[begin + order[i]] = x
