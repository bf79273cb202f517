"""Posteriors over partitions, weighted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.clusters import Cluster
from palmette.models.cluster_model import PartitionModel
from palmette.partition import Partition
from palmette.passes.partitions.protocol import Choices, PartitionPasses
from palmette.posterior.cache import cached
from palmette.posterior.mixture import Mixture
from palmette.posterior.partition_verbs import PartitionVerbs
from palmette.posterior.partitions import PartitionPosterior
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["PartitionMixture"]


class PartitionMixture(Mixture[Partition, PartitionPosterior, PartitionTrellis], PartitionVerbs):
    """p(π) = Σ w_k p_k(π), posteriors over the same partitions with weights w_k ∝ exp(log_weights[k]).

    It answers as `PartitionPosterior` does, exactly where an answer is linear in the posterior; see `HierarchyMixture`.
    """

    _part = PartitionPosterior

    @property
    def passes(self) -> PartitionPasses:
        """Those of the heaviest part: which clusters there are is the same for all."""
        return self._frame.passes

    def condition(
        self,
        require: Iterable[Cluster] = (),
        forbid: Iterable[Cluster] = (),
        together: Iterable[Cluster] = (),
        apart: Iterable[Cluster] = (),
        n_clusters: int | None = None,
    ) -> PartitionMixture:
        """The same given what is known, as `PartitionPosterior.condition` has it: parts that expected it gain."""
        one, two, three, four = (list(groups) for groups in (require, forbid, together, apart))
        return self._given([part.condition(one, two, three, four, n_clusters) for part in self.parts])

    @cached
    def _outside(self) -> Floats:
        return read_only(np.minimum(self._mean(lambda part: part._outside), 1.0))

    @cached
    def _n_clusters_probabilities(self) -> Floats:
        return read_only(np.minimum(self._mean(lambda part: part.n_clusters_probabilities()), 1.0))

    def _split_shares(self, leaves: frozenset[int]) -> Choices:
        left, right, _ = self._frame._split_shares(leaves)
        return left, right, np.minimum(self._mean(lambda part: part._split_shares(leaves)[2]), 1.0)

    def _map_of(self, model: PartitionModel) -> Partition:
        return self._frame._map_of(model)

    def _log_probs(self, found: list[Partition]) -> Floats:
        return self._row_log_probs(np.array([partition.aligned_to(self.labels).membership for partition in found]))

    def _row_log_probs(self, rows: npt.NDArray[Any]) -> Floats:
        # All clusters of all rows, one after the other.
        size, n = rows.shape
        if size == 0:
            return np.empty((len(self.parts), 0))
        keys = (np.arange(size)[:, None] * n + rows).reshape(-1)
        order = np.argsort(keys, kind="stable")
        first = np.flatnonzero(np.diff(keys[order], prepend=-1))
        offsets, members = np.append(first, size * n), order % n
        begins = np.searchsorted(first, np.arange(size) * n)
        sums = [np.add.reduceat(part.model.log_potentials(offsets, members), begins) for part in self.parts]
        return np.minimum(np.array(sums) - self._log_partitions[:, None], 0.0)
