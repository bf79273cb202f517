"""Where a hierarchy is drawn: one row for each leaf, the root on one side, branches between."""

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import leaves_list, linkage, optimal_leaf_ordering
from scipy.spatial.distance import squareform

from palmette.array_types import Floats, Ints
from palmette.drawing.places import middle_places
from palmette.hierarchy import Hierarchy

__all__ = [
    "brackets",
    "common_order",
    "curves",
    "has_heights",
    "mean_rows",
    "middle_rows",
    "relative_heights",
    "rows_of",
    "sorted_by",
]

_MOST_TO_ORDER = 400  # leaves up to which the order of an average linkage is optimised
_CURVE = np.linspace(0.0, 1.0, 13)


def has_heights(hierarchy: Hierarchy) -> bool:
    """Whether the hierarchy was given heights or branch lengths, so that its heights say more than its shape.

    >>> has_heights(Hierarchy.from_newick("(a:1,b:1);")), has_heights(Hierarchy.from_newick("(a,b);"))
    (True, False)
    """
    lengths = hierarchy.branch_lengths
    return lengths is not None and not bool(np.isnan(lengths[:-1]).all())


def relative_heights(hierarchy: Hierarchy) -> Floats:
    """(n_nodes,): log |C| / log n, so 0 at a leaf and 1 at the root; equal clusters of different hierarchies agree.

    >>> relative_heights(Hierarchy.from_nested((((0, 1), 2), 3))).round(2).tolist()
    [0.0, 0.0, 0.0, 0.0, 0.5, 0.79, 1.0]
    """
    return np.asarray(np.log(hierarchy.sizes) / np.log(max(2, hierarchy.n_leaves)))


def rows_of(order: Ints) -> Floats:
    """(n,): the row of each leaf when they are listed in this order.

    >>> rows_of(np.array([2, 0, 1])).tolist()
    [1.0, 2.0, 0.0]
    """
    return np.argsort(order).astype(np.float64)


def middle_rows(hierarchy: Hierarchy, rows: Floats) -> Floats:
    """(n_nodes,): the row of each leaf, and of a cluster the middle between its outermost children."""
    return middle_places(hierarchy.parents, np.append(rows, np.full(hierarchy.n_nodes - len(rows), np.nan)))


def mean_rows(hierarchy: Hierarchy, rows: Floats) -> Floats:
    """(n_nodes,): the mean row of the leaves of each cluster, which depends on nothing else of the hierarchy.

    >>> mean_rows(Hierarchy.from_nested(((0, 1), 2)), np.arange(3.0)).tolist()
    [0.0, 1.0, 2.0, 0.5, 1.0]
    """
    totals = np.concatenate([rows, np.zeros(hierarchy.n_nodes - len(rows))])
    for node, parent in enumerate(hierarchy.parents[:-1].tolist()):
        totals[parent] += totals[node]
    return np.asarray(totals / hierarchy.sizes)


def brackets(hierarchy: Hierarchy, across: Floats, rows: Floats) -> Floats:
    """(n_nodes − 1, 3, 2): from every node but the root straight to the place of its parent, then along to its row."""
    parents = hierarchy.parents[:-1]
    corner = np.column_stack([across[parents], rows[:-1]])
    ends = [np.column_stack([at, row]) for at, row in ((across[:-1], rows[:-1]), (across[parents], rows[parents]))]
    return np.stack([ends[0], corner, ends[1]], axis=1)


def curves(hierarchy: Hierarchy, across: Floats, rows: Floats) -> Floats:
    """(n_nodes − 1, 13, 2): a curve from every node but the root to its parent that leaves and arrives level."""
    parents = hierarchy.parents[:-1]
    ease = _CURVE**2 * (3.0 - 2.0 * _CURVE)
    x = across[:-1, None] + (across[parents] - across[:-1])[:, None] * _CURVE
    y = rows[:-1, None] + (rows[parents] - rows[:-1])[:, None] * ease
    return np.stack([x, y], axis=2)


def sorted_by(hierarchy: Hierarchy, rank: Floats) -> Ints:
    """(n,): an order of the leaves in which no branch of the hierarchy crosses, as near to `rank` as turning allows.

    >>> sorted_by(Hierarchy.from_nested(((0, 1), 2)), np.array([2.0, 1.0, 0.0])).tolist()
    [2, 1, 0]
    """
    means = mean_rows(hierarchy, rank)
    order: list[int] = []
    stack = [hierarchy.n_nodes - 1]
    while stack:
        node = stack.pop()
        children = hierarchy.children_of(node)
        if not children:
            order.append(node)
        stack += sorted(children, key=lambda child: -means[child])
    return np.array(order, dtype=np.int64)


def common_order(hierarchy: Hierarchy, distances: npt.ArrayLike) -> Ints:
    """(n,): an order of the leaves without crossings in `hierarchy`; leaves at small distances are neighbours."""
    apart = np.array(distances, dtype=np.float64)
    n = len(apart)
    if n < 3 or n > _MOST_TO_ORDER:
        return np.array(hierarchy.leaf_order)
    np.fill_diagonal(apart, 0.0)
    pairs = squareform((apart + apart.T) / 2, checks=False)
    merges: Any = linkage(pairs, "average")
    order = leaves_list(optimal_leaf_ordering(merges, pairs)).astype(np.int64)
    if order[0] > order[-1]:  # of the two directions the one that keeps to the given order
        order = order[::-1]
    return sorted_by(hierarchy, rows_of(order))
