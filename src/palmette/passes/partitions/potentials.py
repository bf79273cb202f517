"""A model of partitions on all clusters of a few leaves: the table of log ψ, and what conditions leave of it."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np

from palmette.array_types import Floats
from palmette.clusters import cluster_members
from palmette.models.cluster_model import PartitionModel
from palmette.passes.all_clusters import AllClusters
from palmette.passes.partitions.conditions import PartitionConditions

__all__ = ["ClusterPotentials"]


class ClusterPotentials(AllClusters):
    """log ψ of all 2^n clusters of a model's leaves, by mask. A cluster is named by its mask."""

    beyond = "a PartitionTrellis of chosen clusters takes any number of leaves"

    def __init__(
        self,
        model: PartitionModel,
        conditions: PartitionConditions,
        *,
        log_psi: Floats | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(model.n_leaves, max_memory, threads, progress)
        self.model = model
        self.conditions = conditions
        self.require(self.memory_needed)
        self._log_psi = log_psi

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return 37 << self.n

    @cached_property
    def log_psi(self) -> Floats:
        """(2^n,): log ψ of every cluster; −inf for the empty set and where the conditions forbid it."""
        if self._log_psi is not None:
            return self._log_psi
        table = np.empty(1 << self.n)
        with self.workers("tabulating clusters", 20.0 * 2**self.n) as workers:
            self.model.tabulate_clusters(workers, table)
        table[0] = -np.inf
        if self.conditions:
            table[~self.conditions.allowed(self.sizes, self.shared)] = -np.inf
        return table

    def members(self, cluster: int) -> tuple[int, ...]:
        """The leaves of a cluster."""
        return cluster_members(int(cluster))

    def find(self, leaves: Iterable[int]) -> int:
        """The cluster of these leaves."""
        return sum(1 << leaf for leaf in leaves)
