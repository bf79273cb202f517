"""Links, families and parents from the ways in which trees arrive: merges, parents, nested tuples, clusters, splits."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from palmette.array_types import Ints
from palmette.hierarchy.arrays import smallest_below
from palmette.labels import describe_cluster, read_clusters
from palmette.links import Links, order_children


def links_from_merges(merges: Ints) -> Links:
    """Row i of `merges` holds the two children of node n + i; every node but the last is a child once.

    >>> links_from_merges(np.array([[0, 1], [3, 2]])).parents
    array([ 3,  3,  4,  4, -1])
    """
    if merges.size == 0:
        merges = merges.reshape(0, 2)
    if merges.ndim != 2 or merges.shape[1] != 2:
        raise ValueError(f"children must have shape (n - 1, 2), one row per merge, not {merges.shape}")
    n = len(merges) + 1
    made = np.arange(n, 2 * n - 1)
    early = ((merges < 0) | (merges >= made[:, None])).any(axis=1)
    if early.any():
        row = int(np.argmax(early))
        raise ValueError(
            f"row {row} of children is {merges[row].tolist()}, but it makes node {made[row]} "
            f"and may only join nodes 0 to {made[row] - 1}"
        )
    flat = merges.ravel()
    uses = np.bincount(flat, minlength=2 * n - 2)
    if (uses > 1).any():
        node = int(np.argmax(uses > 1))
        rows = np.flatnonzero((merges == node).any(axis=1)).tolist()
        raise ValueError(f"node {node} is merged {uses[node]} times (rows {rows[:6]}); merge each node once")
    parents = np.full(2 * n - 1, -1, dtype=np.int64)
    parents[flat] = np.repeat(made, 2)
    offsets = np.concatenate((np.zeros(n, dtype=np.int64), np.arange(0, 2 * n - 1, 2)))
    return Links(parents, offsets, flat)


def links_from_parents(parents: Ints) -> tuple[Links, Ints]:
    """Links, and `order`: node v of the links is node `order[v]` of the array given.

    A numbering that has children before parents is kept; otherwise the inner nodes are renumbered.

    >>> links, order = links_from_parents(np.array([4, 4, 3, -1, 3]))
    >>> links.parents, order
    (array([ 3,  3,  4,  4, -1]), array([0, 1, 2, 4, 3]))
    """
    n = leaf_count(parents)
    below_root = np.flatnonzero(parents >= 0)
    order = np.arange(len(parents))
    if (parents[below_root] <= below_root).any():
        order = _children_first(parents, n)
        parents = np.append(np.argsort(order)[parents[order[:-1]]], -1)
    return order_children(parents, smallest_below(parents, np.arange(n))), order


def leaf_count(parents: Ints) -> int:
    """The number of leaves, once the array is known to be a forest's with leaves first and one root.

    >>> leaf_count(np.array([3, 3, 4, 4, -1]))
    3
    """
    if parents.ndim != 1 or len(parents) == 0:
        raise ValueError(f"parents must be a flat array with at least one node, not of shape {parents.shape}")
    last = len(parents) - 1
    outside = np.flatnonzero((parents < -1) | (parents > last))
    if len(outside):
        node = int(outside[0])
        raise ValueError(f"the parent of node {node} is {parents[node]}; give a node 0 to {last}, or -1 (root)")
    roots = np.flatnonzero(parents == -1).tolist()
    if len(roots) != 1:
        raise ValueError(f"{len(roots)} nodes have parent -1 {roots[:6]}; exactly one, the root, must have it")
    counts = np.bincount(parents[parents >= 0], minlength=len(parents))
    n = int((counts == 0).sum())
    if counts[:n].any():
        late = n + int(np.argmax(counts[n:] == 0))
        raise ValueError(f"node {late} has no children but comes late; number the {n} leaves 0 to {n - 1}")
    if (counts[n:] == 1).any():
        node = n + int(np.argmax(counts[n:] == 1))
        raise ValueError(f"node {node} has one child; leave it out: an inner node has at least two children")
    return n


def _children_first(parents: Ints, n: int) -> Ints:
    above = parents.tolist()
    waiting = np.bincount(parents[parents >= 0], minlength=len(parents)).tolist()
    order = list(range(n))
    for node in order:  # grows while it is walked
        parent = above[node]
        if parent >= 0:
            waiting[parent] -= 1
            if waiting[parent] == 0:
                order.append(parent)
    if len(order) < len(above):
        stuck = min(set(range(len(above))).difference(order))
        raise ValueError(f"node {stuck} is its own ancestor; parents must lead to the root, not in a circle")
    return np.array(order, dtype=np.int64)


def families_from_nested(nested: Any) -> tuple[list[list[int]], list[Any]]:
    """The families of nested tuples, and the leaves in reading order, by which the families number them.

    >>> families_from_nested((("a", "b"), "c"))
    ([[0, 1], [-1, 2]], ['a', 'b', 'c'])
    """
    families: list[list[int]] = []
    leaves: list[Any] = []
    open_nodes: list[tuple[Any, list[int]]] = [(iter((nested,)), [])]
    while True:
        items, family = open_nodes[-1]
        for item in items:
            if isinstance(item, tuple | list):
                open_nodes.append((iter(item), []))
                break
            family.append(len(leaves))
            leaves.append(item)
        else:
            open_nodes.pop()
            if not open_nodes:
                return families, leaves
            if len(family) < 2:
                raise ValueError(
                    f"a tuple with {len(family)} entries was found after {len(leaves)} leaves; "
                    "every tuple is an inner node and must have at least two"
                )
            open_nodes[-1][1].append(~len(families))
            families.append(family)


def parents_from_clusters(clusters: Iterable[frozenset[int]], labels: tuple[str, ...]) -> Ints:
    """Parents of the smallest hierarchy that has all `clusters`; singletons and the root may be left out.

    Time is the total size of the clusters: they are laid down from the largest to the smallest, and each
    must fall inside one cluster that is already there.

    >>> parents_from_clusters([frozenset({0, 1})], ("a", "b", "c", "d"))
    array([ 4,  4,  5,  5,  5, -1])
    """
    n = len(labels)
    inner = {cluster for cluster in clusters if len(cluster) > 1} | ({frozenset(range(n))} if n > 1 else set())
    rising = sorted(inner, key=lambda cluster: (len(cluster), min(cluster)))
    parents = np.full(n + len(rising), -1, dtype=np.int64)
    for node in range(len(parents) - 1, n - 1, -1):
        members = np.fromiter(rising[node - n], dtype=np.int64)
        homes = np.unique(parents[members])
        if len(homes) > 1:
            one, other = (describe_cluster(rising[at - n], labels) for at in (node, homes[0]))
            raise ValueError(
                f"clusters {one} and {other} cross; in a hierarchy any two clusters are nested or disjoint"
            )
        parents[node] = homes[0]
        parents[members] = node
    return parents


def parents_from_splits(
    splits: Iterable[tuple[Iterable[int | str], Iterable[int | str]]], labels: Iterable[str] | None
) -> tuple[Ints, tuple[str, ...]]:
    """Parents of the binary hierarchy with exactly these splits, and the labels of its leaves.

    >>> parents_from_splits([({0, 1}, {2}), ({0}, {1})], None)[0]
    array([ 3,  3,  4,  4, -1])
    """
    pairs = [tuple(split) for split in splits]
    for number, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(f"split {number} has {len(pair)} sides; a split is a pair of clusters")
    sides, names = read_clusters([side for pair in pairs for side in pair], labels)
    joined: set[frozenset[int]] = set()
    for left, right in zip(sides[::2], sides[1::2], strict=True):
        if left & right:
            raise ValueError(
                f"the sides of a split must not overlap, but {describe_cluster(left & right, names)} "
                f"is on both sides of split {len(joined)}"
            )
        if left | right in joined:
            raise ValueError(f"cluster {describe_cluster(left | right, names)} is split twice; give one split each")
        joined.add(left | right)
    for cluster in [*sides, frozenset(range(len(names)))]:
        if len(cluster) > 1 and cluster not in joined:
            raise ValueError(f"no split is given for cluster {describe_cluster(cluster, names)}; give one each")
    return parents_from_clusters([*sides, *joined], names), names
