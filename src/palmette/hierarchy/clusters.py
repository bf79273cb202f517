"""A hierarchy is a family of clusters that do not cross; here such a family becomes a tree."""

from collections.abc import Iterable

import numpy as np

from palmette.array_types import Ints
from palmette.labels import describe_cluster, read_clusters

Cluster = frozenset[int]
Labels = tuple[str, ...]
Members = Iterable[int | str]


def parents_from_clusters(clusters: Iterable[Cluster], labels: Labels) -> Ints:
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


def parents_from_splits(splits: Iterable[tuple[Members, Members]], labels: Iterable[str] | None) -> tuple[Ints, Labels]:
    """Parents of the binary hierarchy with exactly these splits, and the labels of its leaves.

    >>> parents_from_splits([({0, 1}, {2}), ({0}, {1})], None)[0]
    array([ 3,  3,  4,  4, -1])
    """
    pairs = [tuple(split) for split in splits]
    for number, pair in enumerate(pairs):
        if len(pair) != 2:
            raise ValueError(f"split {number} has {len(pair)} sides; a split is a pair of clusters")
    sides, names = read_clusters([side for pair in pairs for side in pair], labels)
    joined: set[Cluster] = set()
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
