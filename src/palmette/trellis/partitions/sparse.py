"""The partition trellis of chosen clusters: sparse, or of one hierarchy."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import numpy as np

from palmette._immutable import Immutable, read_only
from palmette.array_types import Indices, Ints
from palmette.errors import TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.labels import align_labels, leaf_index, leaf_numbers, read_clusters
from palmette.links import offsets_of, ragged
from palmette.partition import Partition
from palmette.trellis.partitions.families import (
    Keys,
    as_bounds,
    cluster_keys,
    collect,
    find_clusters,
    is_closed,
    leaf_order,
    list_members,
)
from palmette.trellis.partitions.paths import Paths, count_paths
from palmette.trellis.partitions.remainders import interval_paths, remainder_paths

__all__ = ["PartitionTrellis"]


_MOST_REMAINDERS = 1_000_000
_MOST_LISTED = 10**8  # leaves in lists of clusters
_MOST_MEMBERS = 5 * 10**8  # leaves that the clusters of one hierarchy are listed with: 2 GB
_AT_A_TIME = 10**6  # leaves in the clusters that a model is asked about in one call


class PartitionTrellis(Immutable):
    """Chosen clusters, and every partition that can be made of them.

    A partition is a path: of what remains, take away the cluster that holds the first leaf, until nothing remains.
    The states are the remainders that can come up, the first one all leaves, the last one none; sums over partitions
    cost one step for each choice of a cluster at a state. What counts is not the number of leaves but the number of
    remainders: for the clusters of one hierarchy n + 1, whatever n.

    Make one with `from_clusters`, `from_hierarchy`, `from_hierarchies` or `from_partitions`, and hand it to
    `PartitionPosterior` as ``trellis=``. Nothing is added to what is given: a family in which some leaf has no cluster
    has no partition.

    >>> t = PartitionTrellis.from_clusters([{"a", "b"}, {"c"}, {"a"}, {"b", "c"}, {"b"}])
    >>> t
    PartitionTrellis(<3 leaves, 5 clusters, 4 remainders>)
    >>> t.count  # ab|c, a|bc, a|b|c
    3
    """

    labels: tuple[str, ...]
    """The names of the leaves."""
    leaf_order: Ints
    """The order of the leaves that says which one is the first of a remainder, shape (n,)."""
    cluster_bounds: Ints
    """The leaves of cluster i are `cluster_members[start:stop]` with `start, stop = cluster_bounds[i]`."""
    cluster_members: Indices
    """Leaf numbers; those of one cluster lie side by side."""
    paths: Paths
    """`offsets`, `choice_cluster` and `choice_next` in one tuple, as kernels take them."""
    hierarchy: Hierarchy | None
    """The hierarchy whose nodes are the clusters, if the trellis was made from one."""

    def __init__(self) -> None:
        raise TypeError(
            "a PartitionTrellis is made by PartitionTrellis.from_clusters, from_hierarchy or another from_…"
        )

    @classmethod
    def _make(
        cls,
        labels: tuple[str, ...],
        order: Ints,
        bounds: Ints,
        members: Indices,
        paths: Paths,
        hierarchy: Hierarchy | None = None,
    ) -> PartitionTrellis:
        self = object.__new__(cls)
        for array in (order, bounds, members, *paths):
            array.flags.writeable = False
        family = {"leaf_order": order, "cluster_bounds": bounds, "cluster_members": members}
        self.__dict__.update(family, labels=labels, paths=paths, hierarchy=hierarchy)
        return self

    @classmethod
    def from_clusters(
        cls,
        clusters: Iterable[Iterable[int | str]],
        labels: Iterable[str] | None = None,
        *,
        n: int | None = None,
        max_remainders: int = _MOST_REMAINDERS,
    ) -> PartitionTrellis:
        """The partitions all of whose clusters are among these; cluster i is the i-th different one.

        Integers are leaf numbers, strings are labels. Without `labels` and `n`, the leaves are those that
        occur; names that occur are then sorted. `TrellisTooLarge` if there are more than `max_remainders`
        remainders.

        >>> PartitionTrellis.from_clusters([{0, 1}, {1, 2}, {0, 2}]).count
        0
        """
        found, names = read_clusters(clusters, labels, n)
        distinct = list(dict.fromkeys(found))
        sizes = np.fromiter(map(len, distinct), np.int64, len(distinct))
        members = np.fromiter(itertools.chain.from_iterable(map(sorted, distinct)), np.int32, int(sizes.sum()))
        return cls._of_family(names, as_bounds(sizes), members, max_remainders)

    @classmethod
    def _of_family(
        cls, labels: tuple[str, ...], bounds: Ints, members: Indices, max_remainders: int
    ) -> PartitionTrellis:
        limit = _check_limit(max_remainders)
        order = leaf_order(bounds, members, len(labels))
        return cls._make(labels, order, bounds, members, remainder_paths(bounds, members, order, limit))

    @classmethod
    def from_hierarchy(cls, hierarchy: Hierarchy) -> PartitionTrellis:
        """The partitions whose clusters are nodes of a hierarchy, leaves and root included; cluster i is node i.

        There are n + 1 remainders, so this is for any number of leaves.

        >>> PartitionTrellis.from_hierarchy(Hierarchy.from_newick("((a,b),(c,d));")).count
        5
        """
        _check_kind(hierarchy, Hierarchy, "from_hierarchy takes a Hierarchy")
        order, intervals = hierarchy.leaf_order.copy(), hierarchy.intervals.copy()
        paths = interval_paths(intervals, hierarchy.n_leaves)
        return cls._make(hierarchy.labels, order, intervals, order.astype(np.int32), paths, hierarchy)

    @classmethod
    def from_hierarchies(
        cls, hierarchies: Iterable[Hierarchy], *, max_remainders: int = _MOST_REMAINDERS
    ) -> PartitionTrellis:
        """The partitions whose clusters are nodes of any of these hierarchies on the same labels.

        >>> cherries = [Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("(a,(b,c));")]
        >>> PartitionTrellis.from_hierarchies(cherries).count  # abc, ab|c, a|bc, a|b|c
        4
        """
        given = list(hierarchies)
        for hierarchy in given:
            _check_kind(hierarchy, Hierarchy, "from_hierarchies takes a list of Hierarchy")
        if not given:
            raise ValueError("no hierarchy was given; give at least one")
        labels = given[0].labels
        aligned = [h if h.labels == labels else h.aligned_to(labels) for h in dict.fromkeys(given)]
        if len(aligned) == 1:
            return cls.from_hierarchy(aligned[0])
        bounds, members = collect(map(_nodes_listed, aligned))
        finest = max(aligned, key=lambda h: h.n_nodes)
        if finest.n_nodes == len(bounds):
            return cls.from_hierarchy(finest)
        return cls._of_family(labels, bounds, members, max_remainders)

    @classmethod
    def from_partitions(
        cls, partitions: Iterable[Partition], *, max_remainders: int = _MOST_REMAINDERS
    ) -> PartitionTrellis:
        """The partitions whose clusters all occur in some of these, on the same labels: draws, and their mixtures.

        >>> PartitionTrellis.from_partitions([Partition([0, 0, 1, 1]), Partition([0, 1, 2, 3])]).count
        4
        """
        rest = iter(partitions)
        first = next(rest, None)
        if first is None:
            raise ValueError("no partition was given; give at least one")
        _check_kind(first, Partition, "from_partitions takes Partition objects")
        bounds, members = collect(_partitions_listed(itertools.chain([first], rest), first.labels))
        return cls._of_family(first.labels, bounds, members, max_remainders)

    @property
    def offsets(self) -> Ints:
        """State s offers the choices offsets[s] ≤ i < offsets[s + 1]; shape (n_remainders + 1,)."""
        return self.paths.offsets

    @property
    def choice_cluster(self) -> Ints:
        """The cluster that each choice takes away, shape (n_choices,)."""
        return self.paths.choice_cluster

    @property
    def choice_next(self) -> Ints:
        """The state that each choice leads to, larger than the one it is offered at; shape (n_choices,)."""
        return self.paths.choice_next

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """The number of different clusters."""
        return len(self.cluster_bounds)

    @property
    def n_remainders(self) -> int:
        """The number of states, the first (all leaves) and the last (none) included."""
        return len(self.offsets) - 1

    @property
    def n_choices(self) -> int:
        """The number of choices at all states together: what a pass costs."""
        return len(self.choice_cluster)

    @cached_property
    def count(self) -> int:
        """The exact number of partitions."""
        return count_paths(*self.paths, np.ones(self.n_clusters, dtype=np.bool_))

    @cached_property
    def sizes(self) -> Ints:
        """The number of leaves in each cluster, shape (n_clusters,)."""
        return read_only(self.cluster_bounds[:, 1] - self.cluster_bounds[:, 0])

    def members(self, i: int) -> tuple[int, ...]:
        """The leaves of cluster i, increasing.

        >>> PartitionTrellis.from_clusters([{2, 0}, {1}]).members(0)
        (0, 2)
        """
        number = operator.index(i)
        if not 0 <= number < self.n_clusters:
            raise IndexError(f"cluster {number} does not exist; the clusters are 0 to {self.n_clusters - 1}")
        start, stop = self.cluster_bounds[number]
        return tuple(np.sort(self.cluster_members[start:stop]).tolist())

    def clusters(self) -> list[frozenset[int]]:
        """Every cluster as a set of leaf numbers."""
        total = int(self.sizes.sum())
        if total > _MOST_LISTED:
            raise ValueError(
                f"all {self.n_clusters:,} clusters together hold {total:,} leaves, too many to list; "
                f"ask for members(i) of those you need"
            )
        members = self.cluster_members.tolist()
        return [frozenset(members[start:stop]) for start, stop in self.cluster_bounds.tolist()]

    def find(self, leaves: Iterable[int | str]) -> int:
        """The number of the cluster of these leaves, −1 if it is not one of the chosen ones.

        >>> PartitionTrellis.from_clusters([{0, 1}, {2}]).find([2])
        1
        """
        cluster = sorted(leaf_numbers(leaves, self._index))
        return int(self._find(np.array([len(cluster)]), np.array(cluster, dtype=np.int64))[0]) if cluster else -1

    def find_clusters(self, partition: Partition) -> Ints:
        """The number of each cluster of a partition on the same labels, −1 where it is not one of the chosen ones."""
        membership = _membership(partition, self.labels)
        return self._find(partition.sizes, np.argsort(membership, kind="stable"))

    def holds(self, partition: Partition) -> bool:
        """Whether all clusters of a partition on the same labels are among the chosen ones."""
        return bool((self.find_clusters(partition) >= 0).all())

    def partition_of(self, clusters: Sequence[int] | Ints) -> Partition:
        """The partition that consists of the clusters of these numbers.

        >>> PartitionTrellis.from_clusters([{0, 1}, {2}]).partition_of([0, 1])
        Partition([0, 0, 1])
        """
        numbers = np.asarray(clusters, dtype=np.int64)
        sizes = self.sizes[numbers]
        leaves = self.cluster_members[ragged(self.cluster_bounds[numbers, 0], sizes)]
        if not np.array_equal(np.sort(leaves), np.arange(self.n_leaves)):
            raise ValueError("these clusters are no partition; every leaf must be in exactly one of them")
        membership = np.empty(self.n_leaves, dtype=np.int64)
        membership[leaves] = np.repeat(np.arange(len(numbers)), sizes)
        return Partition(membership, self.labels)

    def shared(self, leaves: Iterable[int | str]) -> Ints:
        """How many of these leaves each cluster holds, shape (n_clusters,).

        >>> PartitionTrellis.from_clusters([{0, 1}, {2}, {1, 2}]).shared([1, 2])
        array([1, 1, 2])
        """
        given = np.zeros(self.n_leaves, dtype=np.int64)
        given[list(leaf_numbers(leaves, self._index))] = 1
        sums = np.concatenate(([0], np.cumsum(given[self.cluster_members])))
        return np.asarray(sums[self.cluster_bounds[:, 1]] - sums[self.cluster_bounds[:, 0]])

    @cached_property
    def is_closed(self) -> bool:
        """Whether y∖x is a chosen cluster for all chosen x ⊂ y; then so is every remainder, if all leaves together are.

        >>> PartitionTrellis.from_clusters([{0}, {1}, {0, 1}]).is_closed
        True
        """
        if self.hierarchy is not None:
            return self.n_leaves <= 2  # an inner node without one of its grandchildren crosses a child
        lowest = self.cluster_members[self.cluster_bounds[:, 0]]
        grouped = np.argsort(lowest, kind="stable")
        groups = np.searchsorted(lowest[grouped], np.arange(self.n_leaves + 1))
        stamp = np.full(self.n_leaves, -1)
        return bool(is_closed(self.cluster_bounds, self.cluster_members, groups, grouped, *self._keys[1:], stamp))

    def listings(self) -> Iterator[tuple[slice, Ints, Indices]]:
        """All clusters, many at a time: their numbers, and the offsets and members as a model takes them.

        >>> [(offsets, members) for _, offsets, members in PartitionTrellis.from_clusters([{2, 0}, {1}]).listings()]
        [(array([0, 2, 3]), array([0, 2, 1], dtype=int32))]
        """
        ends = np.cumsum(self.sizes)
        inner = np.searchsorted(ends, np.arange(_AT_A_TIME, ends[-1:].sum(), _AT_A_TIME))
        for first, last in itertools.pairwise(np.unique([0, *inner, self.n_clusters]).tolist()):
            sizes = self.sizes[first:last]
            members = self.cluster_members[ragged(self.cluster_bounds[first:last, 0], sizes)]
            yield slice(first, last), offsets_of(sizes), members

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.leaf_order, self.cluster_bounds, self.cluster_members, self.paths, self.hierarchy)
        return PartitionTrellis._make, (self.labels, *arrays)

    def __repr__(self) -> str:
        return (
            f"PartitionTrellis(<{self.n_leaves:,} leaves, {self.n_clusters:,} clusters, "
            f"{self.n_remainders:,} remainders>)"
        )

    @cached_property
    def _index(self) -> dict[str, int]:
        return leaf_index(self.labels)

    @cached_property
    def _keys(self) -> Keys:
        return cluster_keys(self.cluster_bounds, self.cluster_members, self.n_leaves)

    def _find(self, sizes: Ints, leaves: Ints) -> Ints:
        return find_clusters(self._keys, self.cluster_bounds, self.cluster_members, sizes, leaves)


def _membership(partition: Partition, labels: tuple[str, ...]) -> Ints:
    # By leaf of these labels; clusters keep their numbers, which aligned_to would change.
    _check_kind(partition, Partition, "expected a Partition")
    same = partition.labels == labels
    return partition.membership if same else partition.membership[align_labels(partition.labels, labels)]


def _partitions_listed(partitions: Iterable[Partition], labels: tuple[str, ...]) -> Iterator[tuple[Ints, Indices]]:
    for partition in partitions:
        membership = _membership(partition, labels)
        yield np.bincount(membership), np.argsort(membership, kind="stable").astype(np.int32)


def _nodes_listed(hierarchy: Hierarchy) -> tuple[Ints, Indices]:
    sizes = hierarchy.sizes
    if sizes.sum() > _MOST_MEMBERS:
        raise TrellisTooLarge(
            f"the clusters of a hierarchy of {hierarchy.n_leaves:,} leaves together hold {sizes.sum():,} leaves, too "
            f"many to combine them with others; one hierarchy alone (from_hierarchy) may have any number of leaves"
        )
    members = np.empty(sizes.sum(), dtype=np.int32)
    list_members(hierarchy.parents, np.cumsum(sizes) - sizes, members, hierarchy.n_leaves)
    return sizes, members


def _check_kind(value: object, kind: type, wanted: str) -> None:
    if not isinstance(value, kind):
        raise TypeError(f"{wanted}, not a {type(value).__name__}")


def _check_limit(max_remainders: float) -> int:
    if isinstance(max_remainders, bool) or not isinstance(max_remainders, int | float | np.number):
        raise TypeError(f"max_remainders must be a number, not a {type(max_remainders).__name__}")
    if not max_remainders >= 2:
        raise ValueError(f"max_remainders is {max_remainders}; there are at least two remainders, all leaves and none")
    return int(min(max_remainders, 2**31 - 1))
