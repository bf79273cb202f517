"""Where things stand in a picture of a hierarchy: the root on the left, one row per leaf."""

from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.drawing.text import LONGEST, shown_name
from palmette.links import Links

__all__ = [
    "Outline",
    "drawn_rows",
    "middle_places",
    "places_across",
    "places_down",
    "row_name",
]


class Outline(NamedTuple):
    """A rooted tree as far as a picture shows it; `Hierarchy` says what each of the arrays is."""

    labels: tuple[str, ...]
    links: Links
    heights: Floats
    leaf_order: Ints
    intervals: Ints
    cut_order: Ints


def drawn_rows(outline: Outline, max_rows: int) -> list[int]:
    """The nodes that get a row each: the leaves, or the clusters left below the highest merges."""
    counts = np.diff(outline.links.child_offsets).tolist()
    parents = outline.links.parents.tolist()
    opened = {-1}
    n_rows = 1
    for node in outline.cut_order.tolist():
        if parents[node] in opened and n_rows + counts[node] - 1 <= max_rows:
            opened.add(node)
            n_rows += counts[node] - 1
        elif n_rows >= max_rows:
            break
    rows = [node for node, parent in enumerate(parents) if parent in opened and node not in opened]
    return sorted(rows, key=outline.intervals[:, 0].__getitem__)


def places_across(heights: Floats, left: float, right: float) -> list[float]:
    """The horizontal place of every node: the highest at `left`, the lowest at `right`.

    >>> places_across(np.array([0.0, 0.0, 0.0, 1.0, 2.0]), 0, 10)
    [10.0, 10.0, 10.0, 5.0, 0.0]
    """
    span = float(heights.max() - heights.min()) or 1.0
    place: list[float] = (right - (heights - heights.min()) / span * (right - left)).tolist()
    return place


def places_down(parents: Ints, rows: list[int], top: float, step: float) -> dict[int, float]:
    """The vertical place of every drawn node: rows in turn, an inner node midway between its outermost children.

    >>> places_down(np.array([3, 3, 4, 4, -1]), [0, 1, 2], 0, 2)
    {0: 1.0, 1: 3.0, 2: 5.0, 3: 2.0, 4: 3.5}
    """
    given = np.full(len(parents), np.nan)
    given[rows] = top + step * (np.arange(len(rows)) + 0.5)
    return {node: y for node, y in enumerate(middle_places(parents, given).tolist()) if y == y}


def middle_places(parents: Ints, given: Floats) -> Floats:
    """(n_nodes,): the place that a node is given or, if that is NaN, the middle between its outermost children.

    A node that has neither has NaN.

    >>> middle_places(np.array([3, 3, 4, 4, -1]), np.array([0.0, 1.0, 2.0, np.nan, np.nan]))
    array([0.  , 1.  , 2.  , 0.5 , 1.25])
    """
    first = np.where(np.isnan(given), np.inf, given).tolist()
    last = np.where(np.isnan(given), -np.inf, given).tolist()
    for node, parent in enumerate(parents[:-1].tolist()):
        here = (first[node] + last[node]) / 2
        if here < first[parent]:
            first[parent] = here
        if here > last[parent]:
            last[parent] = here
    return np.array([(one + other) / 2 for one, other in zip(first, last, strict=True)])


def row_name(outline: Outline, node: int, longest: int = LONGEST) -> str:
    """What a row is called: the label of a leaf, or the first label of a cluster and how many more there are."""
    start, stop = outline.intervals[node].tolist()
    short = shown_name(outline.labels[outline.leaf_order[start]], longest)
    return short if node < len(outline.labels) else f"{short} and {stop - start - 1} more"
