"""A model of partitions on all 2^n clusters of n leaves: passes over the sets left to partition.

A partition is a path: from the set of all leaves take away the cluster that holds the highest leaf, from what is left
again, until nothing is left. A *state* is what is left, as a bit mask; a *choice* is a cluster and the next state.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks, Words
from palmette.clusters import cluster_members, mask_of_leaves
from palmette.labels import align_labels
from palmette.models.cluster_model import PartitionModel
from palmette.partition import Partition
from palmette.passes.all_clusters import AllClusters
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.draws import draw_memberships
from palmette.passes.partitions.protocol import Choices, PartitionPasses
from palmette.passes.partitions.segments import SegmentPasses, nothing_left
from palmette.passes.resources import Resources
from palmette.recursions.partitions import full as kernels
from palmette.threads import Workers
from palmette.trellis.counting import bell_number, exact_count

__all__ = ["FullPartitionPasses"]


class FullPartitionPasses(PartitionPasses):
    """All partitions of a model's leaves that meet the conditions. A cluster is named by its mask."""

    trellis = None
    n_clusters: int | None = None
    end = 0  # the state in which nothing is left

    def __init__(
        self,
        model: PartitionModel,
        conditions: PartitionConditions | None = None,
        resources: Resources | None = None,
    ) -> None:
        self.model = model
        self.n = model.n_leaves
        beyond = "a PartitionTrellis of chosen clusters takes any number of leaves"
        self.clusters = AllClusters(self.n, beyond, resources)
        self.clusters.require_bytes(self.memory_needed)
        self._conditions = PartitionConditions(model.labels) if conditions is None else conditions

    @property
    def sizes(self) -> npt.NDArray[np.uint8]:
        """The number of leaves of each cluster."""
        return self.clusters.sizes

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return 37 << self.n

    @property
    def start(self) -> int:
        """The state in which everything is left."""
        return (1 << self.n) - 1

    @cached_property
    def log_psi(self) -> Floats:
        """(2^n,): log ψ of every cluster; −inf for the empty set and where the conditions forbid it."""
        table = np.empty(1 << self.n)
        with self.clusters.workers("tabulating clusters", 20.0 * 2**self.n) as workers:
            self.model.tabulate_clusters(workers, table)
        table[0] = -np.inf
        if self._conditions.restricts_clusters:
            table[~self._conditions.allowed(self.sizes, self.shared)] = -np.inf
        return table

    @cached_property
    def segments(self) -> SegmentPasses:
        """Sums and maxima over ranges of sets."""
        return SegmentPasses(self.clusters, self.log_psi, [self.find(block) for block in self._conditions.blocks])

    def members(self, cluster: int) -> tuple[int, ...]:
        """The leaves of a cluster."""
        return cluster_members(int(cluster))

    def find(self, leaves: Iterable[int]) -> int:
        """The cluster of these leaves."""
        return mask_of_leaves(leaves)

    def shared(self, leaves: Iterable[int]) -> npt.NDArray[np.uint8]:
        """(2^n,): how many of these leaves each cluster holds."""
        return self.clusters.shared(leaves)

    def inside(self) -> Floats:
        """(2^n,): log Z of every set; −inf where it has no partition."""
        return read_only(self.segments.sums()[0])

    def maximum(self) -> Floats:
        """(2^(n−1),): log M of every set without the last leaf: all that can be left."""
        M = nothing_left(1 << (self.n - 1))
        self.segments.max_first(M, M)
        with self.clusters.workers("finding the best partition", 0.5 * 3.0 ** (self.n - 1)) as workers:
            first = self.segments.n_first
            while first < len(M):
                self.segments.max_range(workers, M[:first], M[: 2 * first], first)
                first *= 2
        return read_only(M)

    def sum_layer(self, workers: Workers, n_clusters: int, before: Floats, out: Floats) -> None:
        """out[S] = log Z_j(S), the sum over partitions into j = n_clusters clusters, from Z_{j−1} in `before`.

        For all sets that `out` has room for; `before` need not hold those with the last leaf, which are never left.
        """
        out[0] = -np.inf
        self.segments.sum_first(before, out)
        if len(out) > self.segments.n_first:
            self.segments.sum_range(workers, before, out, self.segments.n_first, least_size=n_clusters)

    def log_partitions_by_number(self) -> Floats:
        """(n + 1,): log Z_k of all leaves for every number k of clusters."""
        self.clusters.require_bytes(self.memory_needed + (24 << self.n))
        out = np.full(self.n + 1, -np.inf)
        here = nothing_left(1 << (self.n - 1))
        with self.clusters.workers("numbers of clusters", self.n * 0.5 * 3.0 ** (self.n - 1)) as workers:
            for k in range(1, self.n + 1):
                out[k] = self.sum_of_all(here)
                before, here = here, np.empty_like(here)
                self.sum_layer(workers, k, before, here)
        return out

    def sum_of_all(self, rest: Floats) -> float:
        """log Σ ψ(C) rest(X ∖ C) over the clusters that can be taken first."""
        values = self._choices_of((1 << self.n) - 1, rest)[2]
        top = float(values.max())
        return top + math.log(np.exp(values - top).sum()) if top > -np.inf else top

    def log_partition(self, Z: Floats) -> float:
        """log Z of all leaves, given `inside`."""
        return float(Z[-1])

    def outside(self, Z: Floats) -> Floats:
        """(2^n,): ψ(C) Z(X ∖ C) / Z(X), the probability that each cluster occurs."""
        self.clusters.require_bytes(self.memory_needed + (8 << self.n))
        return self._probabilities(Z, float(Z[-1]))

    def _probabilities(self, rest: Floats, log_partition: float) -> Floats:
        out = self.log_psi + rest[::-1]  # X ∖ C is the mirror image of C
        out -= log_partition
        np.exp(out, out=out)
        return read_only(np.minimum(out, 1.0, out=out))

    def together_table(self, mu: Floats) -> Floats:
        """(2^n,): Σ μ(C) over C ⊇ G, the probability that G is together, for every group G; n additions each."""
        out = mu.copy()
        for leaf in range(self.n):
            pairs = out.reshape(-1, 2, 1 << leaf)
            pairs[:, 0] += pairs[:, 1]
        out[0] = out[1 << np.arange(self.n)] = 1.0  # nobody is apart in a group of none or one
        return np.minimum(out, 1.0, out=out)

    def together(self, table: Floats, leaves: frozenset[int]) -> float:
        """The probability that all of these leaves are in one cluster, given `together_table`."""
        return float(table[self.find(leaves)])

    def coclustering(self, table: Floats) -> Floats:
        """(n, n): the probability that i and j are in one cluster, given `together_table`; 1 on the diagonal."""
        bits = 1 << np.arange(self.n)
        return np.asarray(table[bits[:, None] | bits])

    def leaf_sums(self, values: Floats) -> Floats:
        """(n,): Σ values[C] over the clusters that hold each leaf."""
        return np.array([values.reshape(-1, 2, 1 << leaf)[:, 1].sum() for leaf in range(self.n)])

    def cluster_sums(self, values: Floats) -> Floats:
        """(2^n,): Σ values[i] over the leaves of each cluster."""
        out = np.zeros(1)
        for value in values:
            out = np.concatenate([out, out + value])
        return out

    def log_psi_elsewhere(self, wanted: npt.NDArray[np.bool_], other: PartitionPasses) -> Floats:
        """log ψ that `other` gives to the wanted clusters, by label; −inf where it does not have them."""
        if not isinstance(other, FullPartitionPasses):
            return super().log_psi_elsewhere(wanted, other)
        masks = np.flatnonzero(wanted)  # a fast path only: both go by masks, so all are looked up at once
        theirs = np.zeros_like(masks)
        for leaf, place in enumerate(align_labels(other.model.labels, self.model.labels)):
            theirs |= ((masks >> leaf) & 1) << place
        out = np.full(len(wanted), -np.inf)
        out[masks] = other.log_psi[theirs]
        return out

    def log_joint(self, clusters: list[int], Z: Floats) -> float:
        """log Σ over the partitions that have these disjoint clusters among theirs."""
        return float(self.log_psi[clusters].sum() + Z[self.start ^ sum(clusters)])

    def choices(self, state: int, V: Floats) -> Choices:
        """The clusters that can be taken first, by increasing mask, what each leaves, and log ψ + V of that."""
        return self._choices_of(state, V)

    def _choices_of(self, state: int, V: Floats) -> Choices:
        # From a set, whatever a state is.
        clusters = np.empty(1 << (int(state).bit_count() - 1), dtype=np.uint32)
        values = np.empty(len(clusters))
        kernels.choice_values(self.log_psi, V, np.uint64(state), clusters, values)
        return clusters, np.uint32(state) ^ clusters, values

    def partition_of(self, clusters: list[int]) -> Partition:
        """The partition of these clusters."""
        return Partition.from_clusters(map(self.members, clusters), self.model.labels)

    def splits(self, leaves: Iterable[int]) -> Choices:
        """The pairs of clusters that these leaves can be split into, and the sum of their log ψ."""
        return self._choices_of(self.find(leaves), self.log_psi)  # the empty set is no cluster: −inf

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[npt.NDArray[np.uint8], Floats]:
        """(size, n) memberships of exact draws, numbered by first appearance; (size,) log potentials."""
        return draw_memberships(self.clusters, self.log_psi, lambda sets, k: Z[sets], lambda k: Z, size, seed)

    def count(self) -> int:
        """The number of partitions of non-zero potential, exactly."""
        most = bell_number(self.n)
        restricted = self.model.may_forbid or self._conditions.restricts_clusters
        return exact_count(self._count_modulo, most) if restricted else most

    def _count_modulo(self, modulus: int) -> int:
        counts = np.zeros(1 << self.n, dtype=np.uint64)
        counts[0] = 1
        with self.clusters.workers("counting partitions", 3.0 ** (self.n - 1)) as workers:
            for leaf in range(self.n - 1):
                self.count_sets(workers, counts, modulus, np.arange(1 << leaf, 2 << leaf, dtype=np.uint32), counts)
            self.count_sets(workers, counts, modulus, np.array([len(counts) - 1], np.uint32), counts)
        return int(counts[-1])

    def count_sets(self, workers: Workers, rest: Words, modulus: int, masks: Masks, out: Words) -> None:
        """out[S] = Σ rest[S ∖ C] over the possible clusters C, modulo `modulus` (0: 2^64), for the listed sets."""
        work = np.exp2(self.sizes[masks], dtype=np.float64)
        fixed = (self.log_psi, rest, np.uint64(modulus))
        workers.run(lambda i, j: kernels.count_sets(*fixed, masks[i:j], out), work)
