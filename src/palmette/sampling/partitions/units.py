"""Units: nodes of a fixed hierarchy, of which a move over partitions takes a few, chosen by chance alone.

With E the least number for which 2^E ≥ n, and "any" meaning each alike,

    scale e    0 with probability `leaf_share`, else any of 1, …, E − 1
    window w   E with probability ½, else any of e + 1, …, E
    draws      any of 1, …, `most`

The window is the largest node with at most 2^w leaves (w = E: all of them) around a leaf that is drawn at random. This
leaf and more of the window, until there are so many draws, each stand for a unit: the largest node above the leaf with
at most 2^e leaves. Units of one scale are equal or disjoint; one that was drawn before is passed over.

Nothing of this looks at a partition, which is what a move of exact conditionals needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import called
from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.models.base import FeatureModel
from palmette.models.evaluate import node_sums
from palmette.sampling.chance import chance

__all__ = ["Units", "choose_units", "units_of"]

_LEAF_SHARE = 0.75
_MOST_UNITS = 3


class Units(NamedTuple):
    """The m nodes of a hierarchy over n leaves, and what a model sums over the leaves of each."""

    at: Ints  # (E + 1, n): the largest node above a leaf with at most 2^e leaves
    order: Ints  # (n,)
    first: Ints  # (m,): the leaves of node v are order[first[v] : last[v]]
    last: Ints
    sums: Floats  # (m, d)
    pairs: Floats  # (m, p)
    leaf_share: float
    most: int


def units_of(
    model: FeatureModel, hierarchy: Hierarchy, *, leaf_share: float = _LEAF_SHARE, most: int = _MOST_UNITS
) -> Units:
    """The nodes of a hierarchy over the leaves of a model, in its order, and the rule by which some are chosen."""
    first, last = (np.array(ends, dtype=np.int64) for ends in hierarchy.intervals.T)
    order = np.array(hierarchy.leaf_order, dtype=np.int64)
    at = _scales(hierarchy.parents, last - first, hierarchy.n_leaves)
    return Units(at, order, first, last, *node_sums(model, hierarchy), float(leaf_share), int(most))


def _scales(parents: Ints, sizes: Ints, n: int) -> Ints:
    # From one scale to the next, every unit grows as far as it may; the root is a stop for all.
    above = np.where(parents < 0, np.arange(len(parents)), parents)
    unit = np.arange(n)
    rows = [unit]
    for e in range(1, (n - 1).bit_length() + 1):
        while True:
            grown = np.where(sizes[above[unit]] <= 1 << e, above[unit], unit)
            if (grown == unit).all():
                break
            unit = grown
        rows.append(unit)
    return np.array(rows, dtype=np.int64)


@called
def choose_units(units, stream, chosen):
    """The number of units that the rule gives; they are the first entries of `chosen`."""
    top, n = units.at.shape[0] - 1, units.at.shape[1]
    e, w = 0, top
    if chance(stream) >= units.leaf_share and top > 1:
        e = 1 + int(chance(stream) * (top - 1))
    if chance(stream) < 0.5 and top > 0:
        w = e + 1 + int(chance(stream) * (top - e))
    draws = 1 + int(chance(stream) * units.most)
    leaf = int(chance(stream) * n)
    window = units.at[w, leaf]
    begin, width = units.first[window], units.last[window] - units.first[window]
    count = 0
    for _ in range(draws):
        chosen[count] = units.at[e, leaf]
        is_new = True
        for i in range(count):
            is_new = is_new and chosen[i] != chosen[count]
        count += is_new
        leaf = units.order[begin + int(chance(stream) * width)]
    return count
