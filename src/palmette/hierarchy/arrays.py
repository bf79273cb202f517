"""What can be read off a hierarchy's arrays, each in one pass over the nodes and without recursion.

Nodes 0 … n−1 are the leaves; inner nodes follow, children before parents, the root last. Therefore
a walk over increasing numbers goes bottom-up, a walk over decreasing numbers goes top-down, and the
lowest common ancestor of some nodes is the largest number among the ancestors that separate them.
"""

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from palmette.array_types import Floats, Ints
from palmette.links import Links, order_children


def smallest_below(parents: Ints, leaf_keys: Ints) -> Ints:
    """The minimum of `leaf_keys` over the leaves below each node.

    >>> smallest_below(np.array([3, 4, 3, 4, -1]), np.array([7, 5, 6]))
    array([7, 5, 6, 6, 5])
    """
    smallest = leaf_keys.tolist() + [len(parents) + int(leaf_keys.max())] * (len(parents) - len(leaf_keys))
    for node, parent in enumerate(parents[:-1].tolist()):
        if smallest[node] < smallest[parent]:
            smallest[parent] = smallest[node]
    return np.array(smallest, dtype=np.int64)


def subtree_sizes(parents: Ints, n: int) -> Ints:
    """The number of leaves below each node.

    >>> subtree_sizes(np.array([3, 3, 4, 4, -1]), 3)
    array([1, 1, 1, 2, 3])
    """
    sizes = [1] * n + [0] * (len(parents) - n)
    for node, parent in enumerate(parents[:-1].tolist()):
        sizes[parent] += sizes[node]
    return np.array(sizes, dtype=np.int64)


def leaf_intervals(links: Links, sizes: Ints, n: int) -> tuple[Ints, Ints]:
    """Leaf order and intervals: the leaves below node v are `order[intervals[v, 0]:intervals[v, 1]]`.

    >>> links = order_children(np.array([3, 4, 3, 4, -1]), np.arange(5))
    >>> leaf_intervals(links, np.array([1, 1, 1, 2, 3]), 3)[0]
    array([1, 0, 2])
    """
    offsets, nodes, size = links.child_offsets.tolist(), links.child_nodes.tolist(), sizes.tolist()
    starts = [0] * len(size)
    for node in range(len(size) - 1, n - 1, -1):
        start = starts[node]
        for child in nodes[offsets[node] : offsets[node + 1]]:
            starts[child] = start
            start += size[child]
    first = np.array(starts, dtype=np.int64)
    return np.argsort(first[:n]), np.column_stack((first, first + sizes))


def topological_heights(parents: Ints) -> Floats:
    """height(leaf) = 0, height(inner node) = 1 + the largest height among its children.

    >>> topological_heights(np.array([3, 3, 4, 4, -1]))
    array([0., 0., 0., 1., 2.])
    """
    heights = [0] * len(parents)
    for node, parent in enumerate(parents[:-1].tolist()):
        if heights[node] >= heights[parent]:
            heights[parent] = heights[node] + 1
    return np.array(heights, dtype=np.float64)


def depths(parents: Ints, steps: Floats) -> Floats:
    """depth(root) = 0, depth(v) = depth(parent of v) + steps[v].

    >>> depths(np.array([3, 3, 4, 4, -1]), np.ones(5))
    array([2., 2., 1., 1., 0.])
    """
    above, each = parents.tolist(), steps.tolist()
    found = [0.0] * len(above)
    for node in range(len(above) - 2, -1, -1):
        found[node] = found[above[node]] + each[node]
    return np.array(found)


def heights_from_lengths(parents: Ints, lengths: Floats, n: int) -> Floats:
    """height(v) = (largest distance from the root to a leaf) − (distance from the root to v).

    A missing length (NaN) counts as 0; the root's own length is not part of any distance.

    >>> heights_from_lengths(np.array([2, 2, -1]), np.array([3.0, 1.0, np.nan]), 2)
    array([0., 2., 3.])
    """
    distances = depths(parents, np.nan_to_num(lengths, nan=0.0))
    return np.asarray(distances[:n].max() - distances)


def monotone_heights(parents: Ints, heights: Floats, n: int) -> Floats:
    """The running maximum of the inner nodes' heights up the tree, shape (n_nodes − n,).

    The smallest heights that are nowhere below those given and where no parent is below its child.

    >>> monotone_heights(np.array([3, 3, 4, 4, -1]), np.array([0.0, 0, 0, 5, 2]), 3)
    array([5., 5.])
    """
    raised = heights.tolist()
    above = parents.tolist()
    for node in range(n, len(above) - 1):
        if raised[node] > raised[above[node]]:
            raised[above[node]] = raised[node]
    return np.array(raised[n:], dtype=np.float64)


def cluster_bits(parents: Ints, leaves: Iterable[int]) -> list[int]:
    """Bit `leaves[i]` of `bits[v]` is set when leaf i lies below node v.

    >>> cluster_bits(np.array([3, 3, 4, 4, -1]), range(3))
    [1, 2, 4, 3, 7]
    """
    bits = [1 << leaf for leaf in leaves]
    bits += [0] * (len(parents) - len(bits))
    for node, parent in enumerate(parents[:-1].tolist()):
        bits[parent] |= bits[node]
    return bits


def ancestor_gaps(links: Links, intervals: Ints, n: int) -> Ints:
    """`gaps[p]` is the lowest common ancestor of the leaves at places p and p + 1 of the leaf order.

    The ancestor of the leaves at places p < q is then max(gaps[p:q]).
    """
    first_children = links.child_offsets[n:-1]
    later = np.delete(links.child_nodes, first_children)
    gaps = np.empty(n - 1, dtype=np.int64)
    gaps[intervals[later, 0] - 1] = links.parents[later]
    return gaps


def range_maxima(gaps: Ints) -> list[Ints]:
    """Row k holds max(gaps[p:p + 2^k]) for every p: any range is the larger of two entries.

    >>> [row.tolist() for row in range_maxima(np.array([3, 1, 2]))]
    [[3, 1, 2], [3, 2]]
    """
    rows = [gaps]
    while 2 ** len(rows) <= len(gaps):
        half = 2 ** (len(rows) - 1)
        rows.append(np.maximum(rows[-1][:-half], rows[-1][half:]))
    return rows


def ancestors_between(rows: list[Ints], low: Ints, high: Ints) -> Ints:
    """max(gaps[low:high]) for arrays `low` < `high`, one table lookup each."""
    levels = np.frexp((high - low).astype(np.float64))[1] - 1
    found = np.empty(low.shape, dtype=np.int64)
    for level in np.unique(levels).tolist():
        at = levels == level
        found[at] = np.maximum(rows[level][low[at]], rows[level][high[at] - 2**level])
    return found


def pairwise(values: NDArray[Any], order: Ints, gaps: Ints) -> NDArray[Any]:
    """The n×n matrix values[lca(i, j)]; the diagonal holds the leaves' own values."""
    n = len(order)
    matrix = np.empty((n, n), dtype=values.dtype)
    matrix[np.arange(n), np.arange(n)] = values[:n]
    for place in range(n - 1):
        row = values[np.maximum.accumulate(gaps[place:])]
        matrix[order[place], order[place + 1 :]] = row
        matrix[order[place + 1 :], order[place]] = row
    return matrix


def canonical_form(parents: Ints, ranks: Ints) -> tuple[Ints, Ints]:
    """Two arrays that are equal for two hierarchies exactly when their ranked leaves form the same clusters.

    Children are sorted by the smallest rank below them. The leaf order under that sorting, with the
    sorted intervals of the inner nodes, says which clusters there are and nothing else.
    """
    n = len(ranks)
    links = order_children(parents, smallest_below(parents, ranks))
    order, intervals = leaf_intervals(links, subtree_sizes(parents, n), n)
    spans = np.sort(intervals[n:, 0] * (n + 1) + intervals[n:, 1])
    return ranks[order], spans


def restrict(parents: Ints, kept: list[int], lengths: Floats | None) -> tuple[Ints, Ints, Floats | None]:
    """The nodes that stay when only the leaves `kept` do, their parents among themselves, and their branches' lengths.

    >>> restrict(np.array([3, 3, 4, 4, -1]), [0, 2], np.array([1.0, 1, 3, 2, np.nan]))
    (array([0, 2, 4]), array([ 2,  2, -1]), array([ 3.,  3., nan]))
    """
    above = parents.tolist()
    parts = [0] * len(above)  # how many children have a kept leaf below them
    for leaf in kept:
        parts[leaf] = 2
    for node, parent in enumerate(above[:-1]):
        parts[parent] += parts[node] > 0
    stays = np.array(parts) > 1
    nearest = np.append(np.where(stays, np.arange(len(above)), -1), -1)  # the last entry is what parent −1 points at
    total = np.full(len(above), np.nan) if lengths is None else lengths.copy()
    for node in range(len(above) - 2, -1, -1):
        if not stays[above[node]]:
            total[node] = joined_length(total[node], total[above[node]])
        if not stays[node]:
            nearest[node] = nearest[above[node]]
    nodes = np.flatnonzero(stays)
    numbers = np.append(np.cumsum(stays) - 1, -1)
    total[nodes[-1]] = np.nan
    return nodes, numbers[nearest[parents[nodes]]], None if lengths is None else total[nodes]


def joined_length(lower: float, upper: float) -> float:
    """The length of two branches that become one; a missing one (NaN) counts as 0 beside one that is not."""
    return upper if np.isnan(lower) else lower if np.isnan(upper) else lower + upper
