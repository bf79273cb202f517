"""The full trellis of partitions into a given number of clusters.

    Z_0(∅) = 1,   Z_j(S) = Σ ψ(C) Z_{j−1}(S ∖ C)      over the clusters C ⊆ S that hold the highest leaf of S,

one pass for each number j of clusters. A *state* is what is left and how many clusters are still to come: j 2^n + S.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks
from palmette.models.cluster_model import PartitionModel
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.draws import draw_memberships
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.partitions.protocol import Choices
from palmette.passes.resources import Resources
from palmette.trellis.counting import exact_count, stirling_numbers

__all__ = ["CountedPartitionPasses"]


class CountedPartitionPasses(FullPartitionPasses):
    """All partitions into k clusters; tables are (k, 2^(n−1)): row j for j clusters, of sets without the last leaf."""

    def __init__(
        self, model: PartitionModel, conditions: PartitionConditions, resources: Resources | None = None
    ) -> None:
        assert conditions.n_clusters is not None
        self.k = self.n_clusters = conditions.n_clusters
        super().__init__(model, conditions, resources)

    @property
    def start(self) -> int:
        """The state in which everything is left, and k clusters are to come."""
        return (self.k << self.n) + (1 << self.n) - 1

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return (37 << self.n) + (8 * self.k << self.n)

    def inside(self) -> Floats:
        """(k, 2^(n−1)): log Z_j of every set without the last leaf."""
        Z = self._no_cluster()
        title = f"summing partitions into {self.k} clusters"
        with self.clusters.workers(title, self.k * 0.5 * 3.0 ** (self.n - 1)) as workers:
            for j in range(1, self.k):
                self.sum_layer(workers, j, Z[j - 1], Z[j])
        return read_only(Z)

    def maximum(self) -> Floats:
        """(k, 2^(n−1)): log M_j of every set without the last leaf."""
        M = self._no_cluster()
        with self.clusters.workers("finding the best partition", self.k * 0.5 * 3.0 ** (self.n - 1)) as workers:
            for j in range(1, self.k):
                self.segments.max_first(M[j - 1], M[j])
                if M.shape[1] > self.segments.n_first:
                    self.segments.max_range(workers, M[j - 1], M[j], self.segments.n_first)
        return read_only(M)

    def _no_cluster(self) -> Floats:
        V = np.full((self.k, 1 << (self.n - 1)), -np.inf)
        V[0, 0] = 0.0
        return V

    def log_partition(self, Z: Floats) -> float:
        """log Z_k of all leaves, given `inside`."""
        return self.sum_of_all(Z[-1])

    def log_partitions_by_number(self) -> Floats:
        """(n + 1,): log Z of all leaves for every number of clusters: −inf but for k."""
        out = np.full(self.n + 1, -np.inf)
        out[self.k] = self.log_partition(self.inside())
        return out

    def outside(self, Z: Floats) -> Floats:
        """(2^n,): ψ(C) Z_{k−1}(X ∖ C) / Z_k(X), the probability that each cluster occurs."""
        self.clusters.require_bytes(self.memory_needed + (40 << self.n))
        return self._probabilities(self._complete(Z, 1), self.log_partition(Z))

    def _complete(self, Z: Floats, taken: int) -> Floats:
        # log Z_{k−taken} of all 2^n sets, also those with the last leaf.
        out = np.full(1 << self.n, -np.inf)
        if taken == self.k:
            out[0] = 0.0
        elif taken < self.k:
            with self.clusters.workers("cluster probabilities", 0.5 * 3.0**self.n) as workers:
                self.sum_layer(workers, self.k - taken, Z[self.k - taken - 1], out)
        return out

    def log_joint(self, clusters: list[int], Z: Floats) -> float:
        """log Σ over the partitions that have these disjoint clusters among theirs."""
        rest = self._complete(Z, len(clusters))[((1 << self.n) - 1) ^ sum(clusters)]
        return float(self.log_psi[clusters].sum() + rest)

    def choices(self, state: int, V: Floats) -> Choices:
        """The clusters that can be taken first, by increasing mask, what each leaves, and log ψ + V of that."""
        to_come = state >> self.n
        clusters, left, values = self._choices_of(state & ((1 << self.n) - 1), V[to_come - 1])
        return clusters, left.astype(np.int64) + ((to_come - 1) << self.n), values

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[npt.NDArray[np.uint8], Floats]:
        """(size, n) memberships of exact draws, numbered by first appearance; (size,) log potentials."""

        def totals(sets: Masks, taken: int) -> Floats:
            return Z[self.k - taken][sets] if taken else np.full(len(sets), self.log_partition(Z))

        return draw_memberships(
            self.clusters, self.log_psi, totals, lambda taken: np.asarray(Z[self.k - taken - 1]), size, seed
        )

    def count(self) -> int:
        """The number of partitions of non-zero potential, exactly."""
        most = stirling_numbers(self.n)[self.k]
        restricted = self.model.may_forbid or self._conditions.restricts_clusters
        return exact_count(self._count_modulo, most) if restricted else most

    def _count_modulo(self, modulus: int) -> int:
        here = np.zeros(1 << self.n, dtype=np.uint64)
        here[0] = 1
        remainders = np.arange(1, 1 << (self.n - 1), dtype=np.uint32)
        with self.clusters.workers("counting partitions", self.k * 3.0 ** (self.n - 1)) as workers:
            for j in range(1, self.k + 1):
                before, here = here, np.zeros_like(here)
                masks = remainders if j < self.k else np.array([len(here) - 1], np.uint32)
                self.count_sets(workers, before, modulus, masks, here)
        return int(here[-1])
