"""Many partitions of the same leaves, as one array of memberships."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.array_types import Floats
from palmette.clusters import Cluster, cluster_leaves
from palmette.defaults import DEFAULTS
from palmette.partition import Partition
from palmette.posterior.draws import DrawSequence
from palmette.posterior.tables import ClusterRow, Table, member_table

__all__ = ["Memberships", "PartitionDraws", "is_cluster", "is_together"]

Memberships = npt.NDArray[np.integer[Any]]  # (rows, n): the cluster of every leaf, numbered by first appearance
Flags = npt.NDArray[np.bool_]


@kernel
def _is_cluster(rows: Memberships, inside: Flags, first: int, out: Flags) -> None:
    for t in range(rows.shape[0]):
        own, same = rows[t, first], True
        for i in range(rows.shape[1]):
            if (rows[t, i] == own) != inside[i]:
                same = False
                break
        out[t] = same


def is_cluster(rows: Memberships, leaves: frozenset[int]) -> Flags:
    """(rows,): whether these leaves are a cluster."""
    inside, out = np.zeros(rows.shape[1], dtype=bool), np.empty(len(rows), dtype=bool)
    inside[list(leaves)] = True
    _is_cluster(rows, inside, min(leaves), out)
    return out


def is_together(rows: Memberships, leaves: frozenset[int]) -> Flags:
    """(rows,): whether these leaves are in one cluster."""
    first, out = min(leaves), np.ones(len(rows), dtype=bool)
    for leaf in leaves:
        out &= rows[:, leaf] == rows[:, first]
    return out


class PartitionDraws(DrawSequence[Partition]):
    """Draws from a posterior: a sequence of partitions, each made when asked for, and shares for probabilities.

    `memberships` is (size, n): the cluster of every leaf, numbered by first appearance in each draw.
    `log_probs` is (size,): the exact log-probability of each draw.
    """

    _things = "partitions"

    @property
    def memberships(self) -> Memberships:
        """(size, n): the cluster of every leaf."""
        return self._rows

    def _make(self, row: npt.NDArray[np.integer[Any]]) -> Partition:
        return Partition(row.astype(np.int64), self.labels)

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
    def n_clusters(self) -> npt.NDArray[np.int64]:
        """(size,): the number of clusters of every draw."""
        return np.asarray(self.memberships.max(axis=1, initial=0), dtype=np.int64) + 1

    def cluster_probability(self, cluster: Cluster) -> float:
        """The share of the draws in which `cluster` (leaf indices or labels) is a cluster."""
        return float(is_cluster(self.memberships, self._leaves(cluster)).mean())

    def together_probability(self, group: Cluster) -> float:
        """The share of the draws in which all of `group` are in one cluster."""
        return float(is_together(self.memberships, self._leaves(group)).mean())

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[ClusterRow]:
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

    def _leaves(self, cluster: Cluster) -> frozenset[int]:
        leaves = cluster_leaves(cluster, self.labels)
        self._require_some()
        return leaves

    def __repr__(self) -> str:
        return f"PartitionDraws({len(self)} partitions of {self.n_leaves} leaves)"
