"""Who is merged next: every slot knows its best partner, so that a step of an agglomeration looks at n slots, not at n²
pairs. `greedy` and `bayesian` keep clusters in this way.

A cluster lives in the slot of its lowest leaf, so merging i < j leaves slot i; `slots` are those in use, increasing.
A pair i < s is worth scores[i, s] − (weights[i] + weights[s]), or −inf if that is its score; weights change with their
clusters, and scores do not. partner[i] is the best slot after i, of equal ones the first, and value[i] what the pair is
worth.
"""

from __future__ import annotations

import math

from palmette._jit import inline, kernel

__all__ = ["best_pair", "find_partner", "update_partners"]

_INF = math.inf


@inline
def _worth(score, one, two):
    return score - (one + two) if score > -_INF else -_INF


@kernel
def find_partner(i, slots, scores, weights, partner, value):
    """The best slot after i, the first one if all are −inf."""
    partner[i] = -1
    for s in slots:
        if s > i:
            worth = _worth(scores[i, s], weights[i], weights[s])
            if partner[i] < 0 or worth > value[i]:
                partner[i] = s
                value[i] = worth


@kernel
def update_partners(i, j, slots, row, scores, weights, partner, value):
    """Slot i has a new cluster, and slot j none any more; row[s] is scores[s, i], of which a column is slow to read."""
    for s in slots:
        if s == i or partner[s] == i or partner[s] == j:
            find_partner(s, slots, scores, weights, partner, value)
        elif s < i:
            worth = _worth(row[s], weights[s], weights[i])
            if worth > value[s] or (worth == value[s] and i < partner[s]):
                partner[s] = i
                value[s] = worth


@kernel
def best_pair(slots, partner, value):
    """The slots of the pair that is worth most; of equal ones the first."""
    i = slots[0]
    for s in slots[:-1]:  # the last one has no partner
        if value[s] > value[i]:
            i = s
    return i, partner[i]
