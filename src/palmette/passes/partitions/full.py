"""The full trellis of partitions: all 2^n clusters of n leaves, and the passes over the sets left to partition.

A partition is a path: from the set of all leaves take away the cluster that holds the highest leaf, from what is left
again, until nothing is left. A *state* is what is left, as a bit mask; a *choice* is a cluster and the next state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Masks
from palmette.partition import Partition
from palmette.passes.partitions.draws import draw_memberships
from palmette.passes.partitions.segments import SegmentPasses
from palmette.recursions.partitions import full as flat
from palmette.threads import Workers
from palmette.trellis.counting import bell_number, exact_count

__all__ = ["Choices", "FullPartitionPasses"]

Counts = npt.NDArray[np.uint64]
Choices = tuple[npt.NDArray[np.integer], npt.NDArray[np.integer], Floats]


class FullPartitionPasses(SegmentPasses):
    """All partitions of a model's leaves that meet the conditions; tables are of logarithms, by mask."""

    end = 0  # the state in which nothing is left

    @property
    def start(self) -> int:
        """The state in which everything is left."""
        return (1 << self.n) - 1

    def inside(self) -> Floats:
        """(2^n,): log Z of every set; −inf where it has no partition."""
        Z = _nothing_left(1 << self.n)
        self.sum_first(Z, Z)
        self.n_unsafe = 0
        with self.workers("summing partitions", 0.5 * 3.0**self.n) as workers:
            first = self.n_first
            while first < len(Z):  # sets with the same highest leaf need only sets with a lower one
                self.sum_range(workers, Z[:first], Z[: 2 * first], first)
                first *= 2
        return Z

    def maximum(self) -> Floats:
        """(2^(n−1),): log M of every set without the last leaf: all that can be left."""
        M = _nothing_left(1 << (self.n - 1))
        self.max_first(M, M)
        with self.workers("finding the best partition", 0.5 * 3.0 ** (self.n - 1)) as workers:
            first = self.n_first
            while first < len(M):
                self.max_range(workers, M[:first], M[: 2 * first], first)
                first *= 2
        return M

    def sum_layer(self, workers: Workers, n_clusters: int, before: Floats, out: Floats) -> None:
        """out[S] = log Z_j(S), the sum over partitions into j = n_clusters clusters, from Z_{j−1} in `before`.

        For all sets that `out` has room for; `before` need not hold those with the last leaf, which are never left.
        """
        out[0] = -np.inf
        self.sum_first(before, out)
        if len(out) > self.n_first:
            self.sum_range(workers, before, out, self.n_first, least_size=n_clusters)

    def log_partitions_by_number(self) -> Floats:
        """(n + 1,): log Z_k of all leaves for every number k of clusters."""
        self.require(self.memory_needed + (24 << self.n))
        out = np.full(self.n + 1, -np.inf)
        here = _nothing_left(1 << (self.n - 1))
        with self.workers("numbers of clusters", self.n * 0.5 * 3.0 ** (self.n - 1)) as workers:
            for k in range(1, self.n + 1):
                out[k] = self.sum_of_all(here)
                before, here = here, np.empty_like(here)
                self.sum_layer(workers, k, before, here)
        return out

    def sum_of_all(self, rest: Floats) -> float:
        """log Σ ψ(C) rest(X ∖ C) over the clusters that can be taken first."""
        values = FullPartitionPasses.choices(self, (1 << self.n) - 1, rest)[2]
        top = float(values.max())
        return top + math.log(np.exp(values - top).sum()) if top > -np.inf else top

    def log_partition(self, Z: Floats) -> float:
        """log Z of all leaves, given `inside`."""
        return float(Z[-1])

    def cluster_probabilities(self, Z: Floats) -> Floats:
        """(2^n,): ψ(C) Z(X ∖ C) / Z(X), the probability that each cluster occurs."""
        self.require(self.memory_needed + (8 << self.n))
        return self._probabilities(Z, float(Z[-1]))

    def _probabilities(self, rest: Floats, log_partition: float) -> Floats:
        out = self.log_psi + rest[::-1]  # X ∖ C is the mirror image of C
        out -= log_partition
        np.exp(out, out=out)
        return np.minimum(out, 1.0, out=out)

    def leaf_sums(self, values: Floats) -> Floats:
        """(n,): Σ values[C] over the clusters that hold each leaf."""
        return np.array([values.reshape(-1, 2, 1 << leaf)[:, 1].sum() for leaf in range(self.n)])

    def cluster_sums(self, values: Floats) -> Floats:
        """(2^n,): Σ values[i] over the leaves of each cluster."""
        out = np.zeros(1)
        for value in values:
            out = np.concatenate([out, out + value])
        return out

    def log_joint(self, clusters: list[int], Z: Floats) -> float:
        """log Σ over the partitions that have these disjoint clusters among theirs."""
        return float(self.log_psi[clusters].sum() + Z[self.start ^ sum(clusters)])

    def choices(self, state: int, V: Floats) -> Choices:
        """The clusters that can be taken first, by increasing mask, what each leaves, and log ψ + V of that."""
        clusters = np.empty(1 << (int(state).bit_count() - 1), dtype=np.uint32)
        values = np.empty(len(clusters))
        flat.choice_values(self.log_psi, V, np.uint64(state), clusters, values)
        return clusters, np.uint32(state) ^ clusters, values

    def best_path(self, M: Floats) -> list[int] | None:
        """The clusters of the best partition, given `maximum`, or None; ties go to the lowest cluster each time."""
        clusters = []
        state = self.start
        while state != self.end:
            taken, left, values = self.choices(state, M)
            best = int(np.argmax(values))
            if values[best] == -np.inf:
                return None
            clusters.append(int(taken[best]))
            state = int(left[best])
        return clusters

    def partition_of(self, clusters: list[int]) -> Partition:
        """The partition of these clusters."""
        return Partition.from_clusters(map(self.members, clusters), self.model.labels)

    def splits(self, leaves: Iterable[int]) -> Choices:
        """The pairs of clusters that these leaves can be split into, and the sum of their log ψ."""
        return FullPartitionPasses.choices(self, self.find(leaves), self.log_psi)  # the empty set is no cluster: −inf

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[npt.NDArray[np.uint8], Floats]:
        """(size, n) memberships of exact draws, numbered by first appearance; (size,) log potentials."""
        return draw_memberships(self, Z, size, seed)

    def totals(self, Z: Floats, sets: Masks, taken: int) -> Floats:
        """log Z of these sets, left after `taken` clusters."""
        return Z[sets]

    def rest(self, Z: Floats, taken: int) -> Floats:
        """The table of log Z of what is left when one more cluster is taken after `taken`."""
        return Z

    def count(self) -> int:
        """The number of partitions of non-zero potential, exactly."""
        most = bell_number(self.n)
        return exact_count(self._count_modulo, most) if self.model.may_forbid or self.conditions else most

    def _count_modulo(self, modulus: int) -> int:
        counts = np.zeros(1 << self.n, dtype=np.uint64)
        counts[0] = 1
        with self.workers("counting partitions", 3.0 ** (self.n - 1)) as workers:
            for leaf in range(self.n - 1):
                self.count_sets(workers, counts, modulus, np.arange(1 << leaf, 2 << leaf, dtype=np.uint32), counts)
            self.count_sets(workers, counts, modulus, np.array([len(counts) - 1], np.uint32), counts)
        return int(counts[-1])

    def count_sets(self, workers: Workers, rest: Counts, modulus: int, masks: Masks, out: Counts) -> None:
        """out[S] = Σ rest[S ∖ C] over the possible clusters C, modulo `modulus` (0: 2^64), for the listed sets."""
        work = np.exp2(self.sizes[masks], dtype=np.float64)
        fixed = (self.log_psi, rest, np.uint64(modulus))
        workers.run(lambda i, j: flat.count_sets(*fixed, masks[i:j], out), work)


def _nothing_left(length: int) -> Floats:
    # The empty set has one partition, without clusters; of the others nothing is known yet.
    V = np.full(length, -np.inf)
    V[0] = 0.0
    return V
