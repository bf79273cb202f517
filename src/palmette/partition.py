"""`Partition`: a flat clustering of labelled leaves, one integer for each; immutable."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from palmette._immutable import Labelled, read_only
from palmette.array_types import Ints
from palmette.checks import as_integers
from palmette.drawing.cards import card, html_table, named
from palmette.labels import align_labels, check_labels, describe_cluster, read_clusters

__all__ = ["Partition"]

_SHOWN = 20  # leaves printed by repr, and clusters in a notebook


class Partition(Labelled):
    """A flat clustering of labelled leaves: leaves i and j share a cluster ⇔ membership[i] == membership[j].

    Any integers will do as membership; they are renumbered by first appearance, so that two ways of
    writing one partition become the same array. Negative numbers have no special meaning.

    Two partitions are equal when they group the same labels in the same way, whatever the order of the
    leaves. A partition never changes: its arrays are closed for writing.

    >>> p = Partition([7, 7, 3], labels=["a", "b", "c"])
    >>> p.membership
    array([0, 0, 1])
    >>> p == Partition([0, 1, 1], labels=["c", "a", "b"])
    True
    """

    membership: Ints
    """The number of each leaf's cluster, shape (n,)."""

    def __init__(self, membership: ArrayLike, labels: Iterable[str] | None = None) -> None:
        given = as_integers(membership, "membership")
        if given.ndim != 1 or len(given) == 0:
            raise ValueError(f"membership must be a flat array with one integer per leaf, not of shape {given.shape}")
        names = check_labels(labels, len(given))
        self.__dict__.update(membership=read_only(_by_first_appearance(given)), labels=names)

    @classmethod
    def from_clusters(
        cls, clusters: Iterable[Iterable[int | str]], labels: Iterable[str] | None = None, *, n: int | None = None
    ) -> "Partition":
        """The partition with these clusters; every leaf is in exactly one of them.

        Integers are leaf numbers, strings are labels. Without `labels` and `n`, the leaves are those that
        occur; names that occur are then sorted.

        >>> Partition.from_clusters([{"b"}, {"a", "c"}])
        Partition([0, 1, 0], labels=('a', 'b', 'c'))
        """
        found, names = read_clusters(clusters, labels, n)
        membership = np.full(len(names), -1, dtype=np.int64)
        for number, cluster in enumerate(found):
            members = np.fromiter(cluster, dtype=np.int64)
            taken = members[membership[members] >= 0]
            if len(taken):
                raise ValueError(
                    f"leaf {names[taken[0]]!r} is in clusters {membership[taken[0]]} and {number}; "
                    "the clusters of a partition do not overlap"
                )
            membership[members] = number
        if (membership < 0).any():
            missing = describe_cluster(np.flatnonzero(membership < 0).tolist(), names)
            raise ValueError(f"no cluster holds {missing}; every leaf must be in one cluster")
        return cls(membership, names)

    @cached_property
    def n_clusters(self) -> int:
        """The number of clusters."""
        return int(self.membership.max()) + 1

    @cached_property
    def sizes(self) -> Ints:
        """The number of leaves in each cluster, shape (n_clusters,)."""
        return read_only(np.bincount(self.membership).astype(np.int64))

    def clusters(self) -> list[frozenset[int]]:
        """Every cluster as a set of leaf numbers, in order of membership.

        >>> [sorted(cluster) for cluster in Partition([0, 1, 0]).clusters()]
        [[0, 2], [1]]
        """
        by_cluster = np.argsort(self.membership, kind="stable")
        parts = np.split(by_cluster, np.cumsum(self.sizes)[:-1])
        return [frozenset(part.tolist()) for part in parts]

    def clusters_by_size(self) -> list[frozenset[int]]:
        """Every cluster as a set of leaf numbers, large ones first, and of equal ones that with the smallest leaf.

        >>> [sorted(cluster) for cluster in Partition([0, 1, 1, 2]).clusters_by_size()]
        [[1, 2], [0], [3]]
        """
        return sorted(self.clusters(), key=lambda cluster: (-len(cluster), min(cluster)))

    @property
    def leaf_order(self) -> Ints:
        """The leaves cluster by cluster, large ones first, as a drawing shows them, shape (n,).

        >>> Partition([0, 1, 1, 2]).leaf_order
        array([1, 2, 0, 3])
        """
        return np.array([leaf for cluster in self.clusters_by_size() for leaf in sorted(cluster)], dtype=np.int64)

    def named_clusters(self) -> list[tuple[str, ...]]:
        """Every cluster as the labels of its leaves, in order of membership.

        >>> Partition([0, 1, 0], labels=["a", "b", "c"]).named_clusters()
        [('a', 'c'), ('b',)]
        """
        return [tuple(self.labels[leaf] for leaf in sorted(cluster)) for cluster in self.clusters()]

    def aligned_to(self, labels: Iterable[str]) -> "Partition":
        """The same partition with its leaves renumbered: leaf i is called `labels[i]`.

        >>> Partition([0, 0, 1], labels=["a", "b", "c"]).aligned_to(["c", "b", "a"]).membership
        array([0, 1, 1])
        """
        order = align_labels(self.labels, labels)
        return Partition(self.membership[order], [self.labels[leaf] for leaf in order])

    def _canonical_form(self, leaves: Ints) -> tuple[Ints, ...]:
        return (_by_first_appearance(self.membership[leaves]),)

    def __reduce__(self) -> tuple[Any, ...]:
        return Partition, (self.membership, self.labels)

    def in_card(self) -> str:
        """A table of the clusters, large ones first, for what a notebook shows."""
        clusters = self.clusters_by_size()
        rows = [[str(len(c)), named([self.labels[leaf] for leaf in sorted(c)])] for c in clusters[:_SHOWN]]
        more = len(clusters) - _SHOWN
        return html_table(["size", "members"], rows, f"… and {more:,} more" if more > 0 else "")

    def _repr_html_(self) -> str:
        return card(f"{self.n_leaves:,} leaves in {self.n_clusters:,} clusters", (), self)

    def __repr__(self) -> str:
        if self.n_leaves > _SHOWN:
            return f"Partition(<{self.n_leaves} leaves in {self.n_clusters} clusters>)"
        named = "" if self.labels == check_labels(None, self.n_leaves) else f", labels={self.labels!r}"
        return f"Partition({self.membership.tolist()}{named})"


def _by_first_appearance(membership: Ints) -> Ints:
    _, first, inverse = np.unique(membership, return_index=True, return_inverse=True)
    return np.argsort(np.argsort(first))[inverse.reshape(-1)]
