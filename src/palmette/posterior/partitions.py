"""The posterior over partitions: a model times a trellis, and the questions it answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.clusters import Cluster
from palmette.models.base import require_model
from palmette.models.cluster_model import PartitionModel
from palmette.partition import Partition
from palmette.passes.partitions import PartitionConditions, PartitionPasses, partition_passes
from palmette.passes.partitions.protocol import Choices, Normalised
from palmette.passes.resources import Resources
from palmette.posterior.base import Posterior
from palmette.posterior.best_partitions import BestPartitions
from palmette.posterior.cache import cached
from palmette.posterior.partition_verbs import PartitionVerbs
from palmette.trellis import PartitionTrellis

__all__ = ["PartitionPosterior"]


class PartitionPosterior(
    Posterior[Partition, PartitionModel, PartitionTrellis, PartitionConditions, PartitionPasses], PartitionVerbs
):
    """p(π) = Π ψ(C) / Z over the partitions π of the model's leaves, C its clusters, exactly.

    Without a `trellis`: over all partitions, with tables over all 2^n clusters. With a `PartitionTrellis`: over the
    partitions into its clusters, of any number of leaves. Tables are computed when first needed and kept; `clear`
    frees them, pickling drops them. `max_memory` is in bytes (default: three quarters of the machine's), `threads`
    None means all processors, `progress` None means a bar on stderr if that is a terminal.

    >>> import numpy as np, palmette as pal
    >>> w = np.array([[0, 2, -1], [2, 0, -1], [-1, -1, 0.0]])
    >>> post = pal.PartitionPosterior(pal.models.CorrelationClusters(w, labels=["a", "b", "c"]))
    >>> post.map()
    Partition([0, 0, 1], labels=('a', 'b', 'c'))
    >>> round(post.together_probability(["a", "b"]), 4)
    0.8286
    """

    def __init__(
        self,
        model: PartitionModel,
        *,
        trellis: PartitionTrellis | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        require_model(model, "partitions", "a model, such as palmette.models.CorrelationClusters(affinity)")
        if trellis is not None and not isinstance(trellis, PartitionTrellis):
            raise TypeError(f"trellis must be a PartitionTrellis or None, not {trellis!r}")
        resources = Resources(max_memory, threads, progress)
        super().__init__(model, trellis, PartitionConditions(model.labels), resources)

    def _make_passes(self) -> PartitionPasses:
        return partition_passes(self._model, self._trellis, self._conditions, self._resources)

    # One number each.

    @cached
    def log_partition(self) -> float:
        """log Z = log Σ_π Π ψ(C); −inf if every partition is impossible."""
        return self.passes.log_partition(self._inside)

    # Partitions.

    def map(self) -> Partition:
        """The most probable partition; ties go the same way every time."""
        return self._best

    # One given partition.

    def log_potential(self, partition: Partition, /) -> float:
        """Σ log ψ over the clusters of a partition; −inf if it breaks a condition or is not in the trellis."""
        aligned = partition.aligned_to(self.labels)
        if not self._conditions.admit(aligned.clusters()):
            return -np.inf
        if self._trellis is not None and not self._trellis.holds(partition):
            return -np.inf
        return self._model.log_potential(partition)

    # Other posteriors.

    def kl(self, other: PartitionPosterior) -> float:
        """KL(self ‖ other) = Σ_π p(π) log(p(π)/q(π)), in nats; +inf if `other` forbids what occurs here.

        What is rarer than any float64 does not occur.
        """
        if not isinstance(other, PartitionPosterior):
            raise TypeError(f"expected another PartitionPosterior, not {other!r}")
        self._require_possible()
        other._require_possible()
        there = Normalised(other.passes, other._inside)
        return max(0.0, self.passes.divergence(self._inside, self._outside, there))

    def condition(
        self,
        require: Iterable[Cluster] = (),
        forbid: Iterable[Cluster] = (),
        together: Iterable[Cluster] = (),
        apart: Iterable[Cluster] = (),
        n_clusters: int | None = None,
    ) -> PartitionPosterior:
        """The posterior given what is known; conditions add up.

        Every cluster in `require` occurs, none in `forbid` does. The leaves of each group in `together` share a
        cluster (must-link), no two leaves of a group in `apart` do (cannot-link). There are `n_clusters` clusters.
        log P(conditions) = conditioned.log_partition − self.log_partition, also where the probability underflows.
        """
        conditions = self._conditions.and_also(require, forbid, together, apart, n_clusters)
        return self._with(self._model, self._trellis, conditions)

    # Tables, computed once.

    @cached
    def _outside(self) -> Floats:
        return self.passes.outside(self._possible)

    @cached
    def _n_clusters_probabilities(self) -> Floats:
        return read_only(np.minimum(np.exp(self.passes.log_partitions_by_number() - self.log_partition), 1.0))

    @cached
    def _best(self) -> Partition:
        clusters = self.passes.best_path(self._maximum)  # without Z, which takes three times as long
        if clusters is None:
            raise self._impossible()
        return self._make(clusters)

    # What the common verbs need.

    def _map_of(self, model: PartitionModel) -> Partition:
        return self._with(model, self._trellis, self._conditions).map()

    def _split_shares(self, leaves: frozenset[int]) -> Choices:
        left, right, log_psi = self.passes.splits(leaves)
        probabilities = np.zeros(len(left))
        if (log_psi > -np.inf).any():
            best = int(np.argmax(log_psi))
            joint = self.passes.log_joint([int(left[best]), int(right[best])], self._possible)
            log_probs = joint - self.log_partition + (log_psi - log_psi[best])
            probabilities = np.exp(np.minimum(log_probs, 0.0))
        return left, right, probabilities

    def _ranked(self, limit: int) -> Iterator[tuple[float, list[int]]]:
        return iter(BestPartitions(self.passes, self._maximum, limit))

    def _make(self, clusters: list[int]) -> Partition:
        return self.passes.partition_of(clusters)
