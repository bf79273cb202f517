"""Many partitions of the same leaves, as one array of memberships."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.clusters import Cluster
from palmette.labels import leaf_index, leaf_numbers
from palmette.partition import Partition
from palmette.posterior.tables import ClusterRow, Table, member_table

__all__ = ["PartitionDraws"]


class PartitionDraws(Sequence[Partition]):
    """Draws from a posterior: a sequence of partitions, each made when asked for, and shares for probabilities.

    `memberships` is (size, n): the cluster of every leaf, numbered by first appearance in each draw.
    `log_probs` is (size,): the exact log-probability of each draw.
    """

    def __init__(self, memberships: npt.NDArray[np.integer], log_probs: Floats, labels: tuple[str, ...]) -> None:
        self.memberships = read_only(memberships)
        self.log_probs = read_only(log_probs)
        self.labels = labels

    @classmethod
    def from_partitions(cls, partitions: Iterable[Partition]) -> PartitionDraws:
        """Partitions from elsewhere, such as a Markov chain, all on the same labels; their `log_probs` are NaN.

        >>> draws = PartitionDraws.from_partitions([Partition([0, 0, 1]), Partition([0, 1, 1])])
        >>> draws.together_probability([0, 1])
        0.5
        """
        given = list(partitions)
        if not given:
            raise ValueError("no partition was given; give at least one")
        labels = given[0].labels
        memberships = np.stack([partition.aligned_to(labels).membership for partition in given])
        return cls(memberships, np.full(len(given), np.nan), labels)

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    @property
    def n_clusters(self) -> npt.NDArray[np.int64]:
        """(size,): the number of clusters of every draw."""
        return np.asarray(self.memberships.max(axis=1, initial=0), dtype=np.int64) + 1

    def __len__(self) -> int:
        return len(self.memberships)

    @overload
    def __getitem__(self, index: int) -> Partition: ...
    @overload
    def __getitem__(self, index: slice) -> PartitionDraws: ...
    def __getitem__(self, index: int | slice) -> Partition | PartitionDraws:
        if isinstance(index, slice):
            return PartitionDraws(self.memberships[index], self.log_probs[index], self.labels)
        return Partition(self.memberships[range(len(self))[index]].astype(np.int64), self.labels)

    def counts(self) -> list[tuple[Partition, int]]:
        """The different partitions among the draws, the most frequent first (among equals the more probable)."""
        rows, where, counts = np.unique(self.memberships, axis=0, return_index=True, return_counts=True)
        order = np.lexsort((-self.log_probs[where], -counts))
        return [(Partition(rows[i].astype(np.int64), self.labels), int(counts[i])) for i in order]

    def cluster_probability(self, cluster: Cluster) -> float:
        """The share of the draws in which `cluster` (leaf indices or labels) is a cluster."""
        inside, outside = self._inside_and_outside(cluster)
        own = self.memberships[:, inside[:1]]
        alone = (self.memberships[:, outside] != own).all(axis=1)
        return float((alone & (self.memberships[:, inside] == own).all(axis=1)).mean())

    def together_probability(self, group: Cluster) -> float:
        """The share of the draws in which all of `group` are in one cluster."""
        inside, _ = self._inside_and_outside(group)
        return float((self.memberships[:, inside] == self.memberships[:, inside[:1]]).all(axis=1).mean())

    def cluster_probabilities(self, min_probability: float = 0.01) -> Table[ClusterRow]:
        """The clusters in at least this share of the draws, most frequent first."""
        self._require_some()
        counts: dict[bytes, int] = {}
        for number in range(int(self.memberships.max(initial=0)) + 1):
            flags = np.packbits(self.memberships == number, axis=1)
            rows, times = np.unique(flags[flags.any(axis=1)], axis=0, return_counts=True)
            for row, time in zip(rows, times.tolist(), strict=True):
                counts[row.tobytes()] = counts.get(row.tobytes(), 0) + time
        frequent = {row: count / len(self) for row, count in counts.items() if count >= min_probability * len(self)}
        members = [np.flatnonzero(np.unpackbits(np.frombuffer(row, np.uint8))).tolist() for row in frequent]
        sizes = np.array([len(leaves) for leaves in members])
        return member_table(members.__getitem__, sizes, np.array(list(frequent.values())), self.labels)

    def coclustering(self) -> Floats:
        """(n, n): the share of the draws in which i and j are in one cluster."""
        self._require_some()
        out = np.empty((self.n_leaves, self.n_leaves))
        for leaf in range(self.n_leaves):
            out[leaf] = (self.memberships == self.memberships[:, [leaf]]).mean(axis=0)
        return out

    def map(self) -> Partition:
        """The most probable partition among the draws."""
        self._require_some()
        if np.isnan(self.log_probs).all():
            raise ValueError(
                "these partitions come from elsewhere, and their probabilities are not known; ask counts()"
            )
        return self[int(np.argmax(self.log_probs))]

    def _inside_and_outside(self, cluster: Cluster) -> tuple[list[int], list[int]]:
        leaves = leaf_numbers(cluster, leaf_index(self.labels))
        if not leaves:
            raise ValueError("the cluster is empty; a cluster holds at least one leaf")
        self._require_some()
        return sorted(leaves), sorted(set(range(self.n_leaves)) - leaves)

    def _require_some(self) -> None:
        if len(self) == 0:
            raise ValueError("there are no draws; sample at least one")

    def __repr__(self) -> str:
        return f"PartitionDraws({len(self)} partitions of {self.n_leaves} leaves)"
