"""What chains of partitions say: the verbs of a posterior, every number with its error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.checks import check_integer
from palmette.clusters import Cluster, cluster_leaves
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card
from palmette.models.cluster_model import ClusterModel
from palmette.partition import Partition
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.posterior.cache import cached
from palmette.posterior.consensus import check_threshold
from palmette.posterior.estimate import Estimate
from palmette.posterior.partition_draws import Memberships, PartitionDraws, is_cluster, is_together
from palmette.posterior.partitions import PartitionPosterior
from palmette.posterior.tables import Table
from palmette.sampling.estimates import ClusterDiagnosticsRow, Estimates, SampledClusterRow
from palmette.sampling.partitions.clusters import (
    JudgedClusters,
    SeenClusters,
    find_clusters,
    judge_clusters,
)
from palmette.sampling.partitions.pairs import coclustering, gains
from palmette.sampling.run import Run
from palmette.sampling.sampled import Sampled
from palmette.sampling.verdict import LEAST_SHARE
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["SampledPartitions"]

_SAME = 1e-9  # log potentials nearer than this, relatively, are one number: a chain adds up its sums in many orders


class SampledPartitions(Sampled[ClusterModel, Partition, PartitionTrellis]):
    """The posterior over all partitions of a model's leaves, estimated from chains; made by `sample_partitions`.

    It answers as `PartitionPosterior` does, with an `Estimate` for a number, `Estimates` for an array, or a table with
    a column of errors. Of each chain the first quarter is left out. Look at `verdict` first: errors are to be believed
    if the chains have converged, and not otherwise.

    Judged are log φ, the number of clusters, how many pairs a draw treats otherwise than the best one does, every
    cluster in a hundredth of the draws or more, and 500 pairs of leaves, or all if there are fewer.
    """

    clusterings = "partitions"
    _exact = PartitionPosterior
    conditions: PartitionConditions

    def __init__(self, run: Run[Any], model: ClusterModel) -> None:
        super().__init__(run, model, PartitionConditions(model.labels))
        if model.n_leaves < 2**15:
            self._rows = self._rows.astype(np.int16)

    # How far to trust it.

    def cluster_diagnostics(self) -> Table[ClusterDiagnosticsRow]:
        """The clusters that are judged, of probability 0.02 to 0.98; those that chains disagree on most first."""
        judged, order = self._judged, self._judged.worst_first()
        shares = judged.events.mean(axis=(0, 1))

        def row(i: int) -> ClusterDiagnosticsRow:
            number = int(order[i])
            members = tuple(self.labels[leaf] for leaf in sorted(judged.clusters[number]))
            share, (_, r_hat, size, error) = float(shares[number]), (float(column[number]) for column in judged.figures)
            return ClusterDiagnosticsRow(members, len(members), share, error, r_hat, size)

        return Table(ClusterDiagnosticsRow, row, len(order))

    def cluster_frequencies(self) -> Floats:
        """(chains, k): in which share of its draws each chain has the clusters of `cluster_diagnostics`."""
        return np.asarray(self.cluster_indicators().mean(axis=1))

    def cluster_indicators(self) -> npt.NDArray[np.bool_]:
        """(chains, draws, k): which draws have the clusters of `cluster_diagnostics`."""
        return self._judged.events[:, :, self._judged.worst_first()]

    # Partitions.

    @cached
    def draws(self) -> PartitionDraws:
        """All draws that are used, chain after chain; their probabilities are not known, only `log_potentials` are."""
        return PartitionDraws(self._flat, np.full(len(self._flat), np.nan), self.labels)

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> PartitionDraws:
        """`size` of the draws, taken at random with replacement: not independent if the chains are not."""
        chosen = np.random.default_rng(rng).integers(len(self._flat), size=check_integer("size", size, 0))
        return PartitionDraws(self._flat[chosen], np.full(size, np.nan), self.labels)

    def map(self) -> Partition:
        """The most probable partition that was found: the best draw, cooled down further; there may be a better one."""
        return self._found[0]

    def best(self, k: int) -> list[tuple[Partition, float]]:
        """The k most probable ones that were found, with their log potentials, best first; fewer if there are fewer.

        That is `map` and then the best draws.
        """
        check_integer("k", k, 1)
        values = self.log_potentials.reshape(-1)
        found = {self._found[0].membership.astype(self._flat.dtype).tobytes(): self._found}
        for i in np.argsort(-values, kind="stable"):
            if len(found) == k:
                break
            name = self._flat[i].tobytes()
            if name not in found:
                found[name] = self._drawn(int(i)), float(values[i])
        return list(found.values())

    def consensus(self, threshold: float = DEFAULTS.consensus) -> Partition:
        """Of all draws, that with the largest Σ (P(i ~ j) − threshold) over the pairs that it puts together.

        At one half it has the smallest expected number of pairs that it treats differently from a draw (Binder's
        loss) among the partitions that were drawn; one that was never drawn may have a smaller one.
        """
        check_threshold(threshold)
        return self._drawn(int(np.argmax(gains(self._flat, self._coclustering.values - threshold))))

    # One given partition.

    def log_potential(self, partition: Partition, /) -> float:
        """Σ log ψ over the clusters of a partition."""
        return self.model.log_potential(partition)

    def credible_level(self, partition: Partition, /) -> Estimate:
        """The probability of all strictly more probable partitions."""
        own = self.log_potential(partition)
        return self._share_of((self.log_potentials > own + _SAME * max(1.0, abs(own))).reshape(-1))

    # Clusters.

    def cluster_probability(self, cluster: Cluster) -> Estimate:
        """The probability that `cluster` (leaf indices, or labels) is a cluster of the partition."""
        return self._probability(cluster_leaves(cluster, self.labels))

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[SampledClusterRow]:
        """The clusters in at least this share of the draws; likeliest first."""
        known = min_probability == LEAST_SHARE
        seen = self._seen_clusters if known else find_clusters(self._flat, self.n_chains, min_probability)
        members = [seen.members(i, self._flat) for i in range(len(seen.keys))]
        order = np.lexsort(([len(leaves) for leaves in members], -seen.counts.sum(axis=0)))

        def row(i: int) -> SampledClusterRow:
            leaves = members[order[i]]
            estimate = self._probability(frozenset(leaves))
            named = tuple(self.labels[leaf] for leaf in leaves)
            return SampledClusterRow(named, len(named), estimate.value, estimate.standard_error)

        return Table(SampledClusterRow, row, len(members))

    def together_probability(self, group: Cluster) -> Estimate:
        """The probability that all leaves of `group` are in one cluster."""
        leaves = cluster_leaves(group, self.labels)
        return self._share_of(is_together(self._flat, leaves)) if len(leaves) > 1 else Estimate(1.0, "exact")

    def coclustering(self) -> Estimates:
        """(n, n): the probability that i and j are in one cluster; 1 on the diagonal; read-only."""
        return self._coclustering

    def n_clusters_probabilities(self) -> Estimates:
        """(n + 1,): the probability that the partition has k clusters, for k = 0 … n."""
        numbers = self._n_clusters
        seen, unseen = np.unique(numbers), self._share_of(np.zeros(numbers.size, dtype=bool)).standard_error
        values, errors = np.zeros(self.n_leaves + 1), np.full(self.n_leaves + 1, unseen)
        errors[0] = 0.0
        for k in seen.tolist():
            estimate = self._share_of((numbers == k).reshape(-1))
            values[k], errors[k] = estimate.value, estimate.standard_error
        return Estimates(values, errors)

    # Trellises.

    def share_in(self, trellis: PartitionTrellis) -> Estimate:
        """The probability that a partition is made of clusters of `trellis`: what a posterior on it covers."""
        _, first, which = np.unique(self._flat, axis=0, return_index=True, return_inverse=True)
        known = np.array([(trellis.find_clusters(self._drawn(int(i))) >= 0).all() for i in first], dtype=bool)
        return self._share_inside(known[which.reshape(-1)])

    # What the draws say.

    @property
    def _flat(self) -> Memberships:
        return self._rows.reshape(-1, self.n_leaves)

    @property
    def _n_clusters(self) -> Ints:
        return np.asarray(self._rows.max(axis=2), dtype=np.int64) + 1

    @cached
    def _seen_clusters(self) -> SeenClusters:
        return find_clusters(self._flat, self.n_chains, LEAST_SHARE)

    @cached
    def _judged(self) -> JudgedClusters:
        return judge_clusters(self._seen_clusters, self._rows, self.log_potentials, self.labels)

    @cached
    def _found(self) -> tuple[Partition, float]:
        return self._cooled_further(self._drawn(int(np.argmax(self.log_potentials))))

    @cached
    def _coclustering(self) -> Estimates:
        return coclustering(self._rows, self.verdict.effective_size)

    def _probability(self, leaves: frozenset[int]) -> Estimate:
        events = is_cluster(self._flat, leaves)
        if leaves in self._judged.errors:
            return Estimate(float(events.mean()), "estimate", self._judged.errors[leaves])
        return self._share_of(events)

    def __repr__(self) -> str:
        return f"SampledPartitions({self.model!r}: {self._judgement()})"

    def _repr_html_(self) -> str:
        return card("SampledPartitions", self._facts(), self._found[0] if self._known("_found") else None)
