"""Dendrogram purity: how pure the clusters are in which leaves of one class meet.

Of one class, take the leaves in leaf order. Any two of them meet in a cluster in which two neighbours among them meet,
so that a class of m leaves has at most m − 1 meeting points. All classes together have fewer than n, and everything
about them is read off by sorting: O(n log n), however many classes there are.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.checks import check_choice
from palmette.evaluate._inputs import Annotation, Classes, read_classes, require_pairs
from palmette.hierarchy import Hierarchy

__all__ = ["dendrogram_purity"]


def dendrogram_purity(
    hierarchy: Hierarchy,
    classes: Classes,
    weighting: Literal["leaf", "pair"] = "leaf",
    *,
    labels: Iterable[str] | None = None,
) -> float:
    """The mean, over two leaves i ≠ j of one class, of the share of that class among the leaves below lca(i, j).

    `classes` has a string or an integer for each leaf i of the hierarchy, or for the leaf called `labels[i]`. The
    result lies in (0, 1], and is 1 if and only if every class is a cluster. Hierarchies need not be binary.

    - `weighting="leaf"` draws i uniformly and then j among the others of its class (Heller & Ghahramani 2005);
    - `weighting="pair"` draws the pair uniformly, as many later papers do: a class of m leaves counts m(m − 1)/2 times,
      so that large classes decide. The two agree if all classes are equally large.

    A leaf with None, NaN or "" has no class and is left out altogether, as if it were cut off the hierarchy: it is
    neither drawn nor counted below an ancestor. A leaf that is alone in its class is counted but cannot be drawn.

    >>> h = Hierarchy.from_newick("(((a,b),c),(d,(e,f)));")
    >>> round(dendrogram_purity(h, ["x", "x", "y", "y", "y", "y"]), 4)  # (2 · 1 + 4 · (3 · 4/6 + 3 · 1)/6) / 6
    0.8889
    >>> dendrogram_purity(h, ["x", "x", "y", "y", "y", None], weighting="pair")  # (1 + 3/5 + 3/5 + 1) / 4
    0.8
    """
    check_choice("weighting", weighting, ("leaf", "pair"))
    annotation = read_classes(hierarchy, classes, labels)
    require_pairs(annotation)
    totals, sizes = _class_totals(hierarchy, annotation), annotation.sizes
    drawn = sizes >= 2
    n_pairs = sizes * (sizes - 1) / 2
    if weighting == "pair":
        purity = totals.sum() / n_pairs.sum()
    else:
        purity = (sizes[drawn] * (totals[drawn] / n_pairs[drawn])).sum() / sizes[drawn].sum()
    return min(float(purity), 1.0)


def _sort(hierarchy: Hierarchy, annotation: Annotation) -> tuple[Ints, Ints]:
    # Of the m leaves that have a class, by class and then by place in the leaf order, (m,): class · n + place; and
    # (m + 1,): entry x is the lca of the leaves x − 1 and x of these, n_nodes if their classes differ.
    n, order = hierarchy.n_leaves, hierarchy.leaf_order
    numbers = annotation.numbers[order]
    by_class = np.argsort(numbers, kind="stable")[np.count_nonzero(numbers < 0) :]
    same = np.flatnonzero(np.diff(numbers[by_class]) == 0)
    meeting = np.full(len(by_class) + 1, hierarchy.n_nodes)
    meeting[same + 1] = hierarchy.lca(order[by_class[same]], order[by_class[same + 1]])
    return numbers[by_class] * n + by_class, meeting


def _class_totals(hierarchy: Hierarchy, annotation: Annotation) -> Floats:
    # (k,): the sum over all pairs of a class of the share of the class below their lowest common ancestor.
    n, n_nodes = hierarchy.n_leaves, hierarchy.n_nodes
    keys, meeting = _sort(hierarchy, annotation)
    at = np.flatnonzero(meeting < n_nodes)
    points = np.unique(keys[at] // n * n_nodes + meeting[at])  # class · n_nodes + node
    number, node = np.divmod(points, n_nodes)
    first, last = np.searchsorted(keys, (number * n)[:, None] + hierarchy.intervals[node]).T
    count = last - first
    n_pairs = count * (count - 1) // 2
    # What was counted in the next meeting point above is taken off there: the lower of those on either side.
    above = np.minimum(meeting[first], meeting[last])
    inside = above < n_nodes
    parent = np.searchsorted(points, number[inside] * n_nodes + above[inside])
    np.subtract.at(n_pairs, parent, n_pairs[inside].copy())
    before = np.concatenate(([0], np.cumsum(annotation.numbers[hierarchy.leaf_order] >= 0)))
    shares = count / np.diff(before[hierarchy.intervals[node]], axis=1)[:, 0]  # of the leaves with a class below
    totals: Floats = np.bincount(number, weights=n_pairs * shares, minlength=len(annotation.sizes)).astype(np.float64)
    return totals
