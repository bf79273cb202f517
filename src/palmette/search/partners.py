"""Who is merged next: every slot knows its best partner, so that a step of an agglomeration looks at n slots, not at n²
pairs. `greedy` and `bayesian` keep clusters in this way.

A cluster lives in the slot of its lowest leaf, so merging i < j leaves slot i; `slots` are those in use, increasing.
partner[i] is the best slot after i, of equal ones the first, and value[i] what the pair is worth.
"""

from __future__ import annotations

from typing import Any

from palmette._jit import kernel, specialise

__all__ = ["best_pair", "partners_by"]

value_of: Any = None  # put in by `specialise`
new_value_of: Any = None
find_partner: Any = None


def partners_by(value_of: Any, new_value_of: Any = None) -> tuple[Any, Any]:
    """Kernels for pairs that are worth ``value_of(data, i, j)``, i < j; −inf where they must not be merged.

    They are find(i, slots, data, partner, value), and update(i, j, slots, data, partner, value) after j went into i.
    Where j is the slot of the last merge, ``new_value_of(data, i, j)`` may be a faster way to the same number.
    """
    find = specialise(_find_partner, value_of=value_of)
    return find, specialise(_update, new_value_of=new_value_of or value_of, find_partner=find)


def _find_partner(i, slots, data, partner, value):
    # The best slot after i, the first one if all are −inf.
    partner[i] = -1
    for s in slots:
        if s > i:
            worth = value_of(data, i, s)
            if partner[i] < 0 or worth > value[i]:
                partner[i] = s
                value[i] = worth


def _update(i, j, slots, data, partner, value):
    # Slot i has a new cluster, slot j has none any more.
    for s in slots:
        if s == i or partner[s] == i or partner[s] == j:
            find_partner(s, slots, data, partner, value)
        elif s < i:
            worth = new_value_of(data, s, i)
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
