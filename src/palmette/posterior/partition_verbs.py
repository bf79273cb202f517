"""Answers about partitions that follow from how probable clusters, and pairs of clusters, are."""

from __future__ import annotations

from abc import abstractmethod
from functools import partial

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.clusters import Cluster, cluster_leaves
from palmette.defaults import DEFAULTS
from palmette.models.cluster_model import PartitionModel
from palmette.models.correlation_clusters import CorrelationClusters
from palmette.partition import Partition
from palmette.passes.partitions.protocol import Choices, PartitionPasses
from palmette.posterior.cache import cached
from palmette.posterior.consensus import check_threshold
from palmette.posterior.distribution import Distribution
from palmette.posterior.partition_draws import PartitionDraws
from palmette.posterior.tables import ClusterRow, JoinRow, SplitRow, Table, likeliest, member_table, split_table

__all__ = ["PartitionVerbs"]


class PartitionVerbs(Distribution[Partition]):
    """The verbs of a distribution over partitions that knows P(C), P(A and B) and the number of clusters."""

    clusterings = "partitions"
    _thing = "partition"

    @property
    @abstractmethod
    def passes(self) -> PartitionPasses:
        """Which clusters there are, by their numbers."""

    @property
    @abstractmethod
    def _outside(self) -> Floats:
        """The probability of each cluster, by its number in the passes."""

    @property
    @abstractmethod
    def _n_clusters_probabilities(self) -> Floats:
        """(n + 1,): the probability of every number of clusters."""

    @abstractmethod
    def _split_shares(self, leaves: frozenset[int]) -> Choices:
        """The pairs of clusters that these leaves can be split into, and the probability that both occur."""

    @abstractmethod
    def _map_of(self, model: PartitionModel) -> Partition:
        """The MAP of another model, on the same trellis and under the same conditions."""

    # Partitions.

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> PartitionDraws:
        """`size` independent exact draws. `rng` is a seed or a generator; the same seed gives the same draws."""
        return PartitionDraws(*self._sampled(size, rng), self.labels)

    def consensus(self, threshold: float = DEFAULTS.consensus) -> Partition:
        """The partition with the largest Σ (P(i ~ j) − threshold) over the pairs that it puts together.

        At one half it has the smallest expected number of pairs that it treats differently from a draw (Binder's
        loss). It is a MAP, under the same conditions and on the same trellis: that of correlation clustering with the
        affinities P(i ~ j) − threshold.
        """
        check_threshold(threshold)
        return self._map_of(CorrelationClusters(self.coclustering() - threshold, labels=self.labels))

    # Clusters.

    def cluster_probability(self, cluster: Cluster) -> float:
        """The probability that `cluster` (leaf indices, or labels) is a cluster of the partition."""
        found = self.passes.find(cluster_leaves(cluster, self.labels))
        return float(self._outside[found]) if found >= 0 else 0.0

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[ClusterRow]:
        """The clusters that occur with at least this probability; likeliest first."""
        clusters = np.flatnonzero((self._outside >= min_probability) & (self.passes.sizes > 0))
        sizes = self.passes.sizes[clusters]
        return member_table(
            lambda i: self.passes.members(int(clusters[i])), sizes, self._outside[clusters], self.labels
        )

    def cluster_probability_array(self) -> Floats:
        """(2^n,): the probability of every cluster, by bit mask (bit i set: leaf i belongs); a read-only view."""
        self._require_full("cluster_probability_array", "cluster_probabilities")
        return self._outside

    def together_probability(self, group: Cluster) -> float:
        """The probability that all leaves of `group` are in one cluster."""
        return self.passes.together(self._together, cluster_leaves(group, self.labels))

    def together_probability_array(self) -> Floats:
        """(2^n,): the probability that a group is together, for every group by bit mask; a read-only view."""
        self._require_full("together_probability_array", "together_probability")
        return self._together

    def coclustering(self) -> Floats:
        """(n, n): the probability that i and j are in one cluster; 1 on the diagonal."""
        return self.passes.coclustering(self._together)

    def split_probabilities(self, cluster: Cluster, most: int | None = None) -> Table[SplitRow]:
        """The ways to split `cluster` in two, each with the probability that both parts are clusters.

        Likeliest first; `most` of them, or all.
        """
        self._require_possible()
        left, right, probabilities = self._split_shares(cluster_leaves(cluster, self.labels))
        possible = probabilities > 0.0
        left, right, probabilities = left[possible], right[possible], probabilities[possible]
        kept = likeliest(probabilities, most)

        def part(i: int, side: int) -> tuple[int, ...]:  # the lowest leaf is on the left
            return sorted(self.passes.members(int(half[kept[i]])) for half in (left, right))[side]

        return split_table(partial(part, side=0), partial(part, side=1), probabilities[kept], self.labels)

    def join_probabilities(self, cluster: Cluster) -> Table[JoinRow]:
        """What `cluster` can be joined with, each with the probability that the two together are one cluster."""
        leaves = cluster_leaves(cluster, self.labels)
        joined = (self.passes.shared(leaves) == len(leaves)) & (self.passes.sizes > len(leaves))
        found = np.flatnonzero(joined & (self._outside > 0.0))

        def others(i: int) -> list[int]:
            return [leaf for leaf in self.passes.members(int(found[i])) if leaf not in leaves]

        sizes = self.passes.sizes[found].astype(np.int64) - len(leaves)
        return member_table(others, sizes, self._outside[found], self.labels, JoinRow)

    def n_clusters_probabilities(self) -> Floats:
        """(n + 1,): the probability that the partition has k clusters, for k = 0 … n; a read-only view."""
        self._require_possible()
        return self._n_clusters_probabilities

    @cached
    def _together(self) -> Floats:
        return read_only(self.passes.together_table(self._outside))

    def _require_full(self, verb: str, instead: str) -> None:
        if self.passes.trellis is not None:
            raise TypeError(f"{verb} is by bit mask, for the full trellis; on a PartitionTrellis ask {instead}")
