"""How far two hierarchies are apart: the clusters that they share, and those that only one of them has.

In the leaf order of one hierarchy its clusters are intervals. A cluster of another hierarchy is shared if its leaves
take up an interval of places there, and one that belongs to a cluster (Day 1985). That is one walk over either
hierarchy, and nothing in it is left to chance.
"""

from __future__ import annotations

from typing import Literal, overload

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.evaluate._inputs import require_hierarchy
from palmette.hierarchy import Hierarchy
from palmette.labels import align_labels

__all__ = ["robinson_foulds", "shared_clusters"]


@overload
def robinson_foulds(one: Hierarchy, other: Hierarchy, normalized: Literal[False] = False) -> int: ...
@overload
def robinson_foulds(one: Hierarchy, other: Hierarchy, normalized: Literal[True]) -> float: ...
@overload
def robinson_foulds(one: Hierarchy, other: Hierarchy, normalized: bool) -> int | float: ...
def robinson_foulds(one: Hierarchy, other: Hierarchy, normalized: bool = False) -> int | float:
    """|A ∖ B| + |B ∖ A|, where A and B are the clusters of two hierarchies, without single leaves and the root.

    Leaves are matched by label, and hierarchies need not be binary. `normalized` divides by |A| + |B|, the largest
    value there can be: 0 for equal hierarchies, 1 for hierarchies that share nothing, 0 if there is nothing to share.

    This is the rooted distance. Heights play no part. O(n) time: to compare one hierarchy with many, call it once for
    each.

    >>> one = Hierarchy.from_newick("((a,b),((c,d),e));")
    >>> other = Hierarchy.from_newick("((e,d),(c,(a,b)));")
    >>> robinson_foulds(one, other), round(robinson_foulds(one, other, normalized=True), 3)
    (4, 0.667)
    """
    n_shared = int(_is_shared(one, other).sum())
    total = _n_inner(one) + _n_inner(other)
    distance = total - 2 * n_shared
    return distance if not normalized else distance / max(total, 1)


def shared_clusters(one: Hierarchy, other: Hierarchy) -> list[frozenset[str]]:
    """The clusters that are in both hierarchies, as sets of labels, without single leaves and the root.

    They come in the order of the nodes of `one`, so that a cluster follows those inside it.

    >>> one = Hierarchy.from_newick("((a,b),((c,d),e));")
    >>> [sorted(cluster) for cluster in shared_clusters(one, Hierarchy.from_newick("((e,d,c),a,b);"))]
    [['c', 'd', 'e']]
    """
    nodes = np.flatnonzero(_is_shared(other, one))
    names = [one.labels[leaf] for leaf in one.leaf_order.tolist()]
    return [frozenset(names[start:stop]) for start, stop in one.intervals[nodes].tolist()]


def _n_inner(hierarchy: Hierarchy) -> int:
    return max(hierarchy.n_nodes - hierarchy.n_leaves - 1, 0)


def _is_shared(one: Hierarchy, other: Hierarchy) -> npt.NDArray[np.bool_]:
    # (n_nodes,): of the nodes of `other`, whether their cluster is in `one` and is neither a leaf nor the root.
    places = require_hierarchy(one).intervals[: one.n_leaves, 0]
    if one.labels != require_hierarchy(other).labels:
        places = places[align_labels(one.labels, other.labels)]
    shared = np.zeros(other.n_nodes, dtype=np.bool_)
    _mark_shared(one.parents, one.intervals, other.parents, np.ascontiguousarray(places), shared)
    return shared


@kernel
def _mark_shared(parents, intervals, other_parents, places, shared):
    n, root = places.size, parents.size - 1
    # Of the nodes whose intervals begin at one place at most one is a last child, and of those that end at one place
    # at most one is not: so a place and this distinction name a node.
    stop_from = np.full(n, -1)
    start_to = np.full(n + 1, -1)
    for v in range(n, root):
        start, stop = intervals[v, 0], intervals[v, 1]
        if stop == intervals[parents[v], 1]:
            stop_from[start] = stop
        else:
            start_to[stop] = start
    other_root = other_parents.size - 1
    low, high = np.full(other_root + 1, n), np.full(other_root + 1, -1)
    size = np.zeros(other_root + 1, np.int64)
    for v in range(n):
        low[v] = high[v] = places[v]
        size[v] = 1
    for v in range(other_root):
        parent = other_parents[v]
        low[parent] = min(low[parent], low[v])
        high[parent] = max(high[parent], high[v])
        size[parent] += size[v]
    for v in range(n, other_root):
        start, stop = low[v], high[v] + 1
        shared[v] = stop - start == size[v] and (stop_from[start] == stop or start_to[stop] == start)
