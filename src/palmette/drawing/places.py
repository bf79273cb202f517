"""Where things stand in a picture of a hierarchy: the root on the left, one row per leaf; and text that XML takes."""

import re
from html import escape

import numpy as np

from palmette.hierarchy import Hierarchy

LONGEST = 32  # characters of a label that are shown; hovering shows all
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def drawn_rows(hierarchy: Hierarchy, max_rows: int) -> list[int]:
    """The nodes that get a row each: the leaves, or the clusters left below the highest merges.

    >>> drawn_rows(Hierarchy.from_newick("((a,b),c);"), 2)
    [3, 2]
    """
    counts = np.diff(hierarchy.child_offsets).tolist()
    parents = hierarchy.parents.tolist()
    opened = {-1}
    n_rows = 1
    for node in hierarchy._rising[::-1].tolist():
        if parents[node] in opened and n_rows + counts[node] - 1 <= max_rows:
            opened.add(node)
            n_rows += counts[node] - 1
        elif n_rows >= max_rows:
            break
    rows = [node for node, parent in enumerate(parents) if parent in opened and node not in opened]
    return sorted(rows, key=hierarchy.intervals[:, 0].__getitem__)


def places_across(hierarchy: Hierarchy, left: float, right: float) -> list[float]:
    """The horizontal place of every node: the highest at `left`, the lowest at `right`.

    >>> places_across(Hierarchy.from_newick("((a,b),c);"), 0, 10)
    [10.0, 10.0, 10.0, 5.0, 0.0]
    """
    heights = hierarchy.heights
    span = float(heights.max() - heights.min()) or 1.0
    place: list[float] = (right - (heights - heights.min()) / span * (right - left)).tolist()
    return place


def places_down(hierarchy: Hierarchy, rows: list[int], top: float, step: float) -> dict[int, float]:
    """The vertical place of every drawn node: rows in turn, an inner node midway between its children.

    >>> places_down(Hierarchy.from_newick("((a,b),c);"), [0, 1, 2], 0, 2)
    {0: 1.0, 1: 3.0, 2: 5.0, 3: 2.0, 4: 3.5}
    """
    y = {node: top + step * (number + 0.5) for number, node in enumerate(rows)}
    for node in range(hierarchy.n_leaves, hierarchy.n_nodes):
        if node not in y and (children := hierarchy.children_of(node))[0] in y:
            y[node] = (y[children[0]] + y[children[-1]]) / 2
    return y


def shown_name(label: str, longest: int = LONGEST) -> str:
    """A label on one line, cut after `longest` characters.

    >>> shown_name("a label that goes on", 10)
    'a label t…'
    """
    line = " ".join(label.split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


def row_name(hierarchy: Hierarchy, node: int, longest: int = LONGEST) -> str:
    """What a row is called: the label of a leaf, or the first label of a cluster and how many more there are."""
    start = int(hierarchy.intervals[node, 0])
    short = shown_name(hierarchy.labels[hierarchy.leaf_order[start]], longest)
    return short if node < hierarchy.n_leaves else f"{short} and {hierarchy.sizes[node] - 1} more"


def xml_text(text: str) -> str:
    """Text that any XML reader takes: escaped, and without the characters that XML forbids.

    >>> xml_text("a < b")
    'a &lt; b'
    """
    return escape(_NOT_XML.sub("\ufffd", text))
