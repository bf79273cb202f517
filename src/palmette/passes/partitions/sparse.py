"""A model on a partition trellis of chosen clusters: the same passes as on the full one, over the listed choices."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.labels import align_labels
from palmette.links import offsets_of
from palmette.models.cluster_model import PartitionModel
from palmette.partition import Partition
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.protocol import Choices, PartitionPasses
from palmette.passes.resources import Resources
from palmette.recursions.partitions import sparse as kernels
from palmette.recursions.partitions.draws import renumber
from palmette.trellis.partitions.paths import Paths, count_paths, layered, longest_paths
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["SparsePartitionPasses"]


class SparsePartitionPasses(PartitionPasses):
    """All partitions into chosen clusters that meet the conditions; clusters and states go by their numbers.

    Leaves are numbered as in the model, whose labels may come in another order than the trellis's.
    """

    trellis: PartitionTrellis
    start = 0

    def __init__(
        self,
        model: PartitionModel,
        trellis: PartitionTrellis,
        conditions: PartitionConditions | None = None,
        resources: Resources | None = None,
    ) -> None:
        self.model = model
        self.n = model.n_leaves
        self.trellis = trellis
        self._conditions = PartitionConditions(model.labels) if conditions is None else conditions
        self._resources = Resources() if resources is None else resources
        self._to_trellis = align_labels(trellis.labels, model.labels)
        self._to_model = np.argsort(self._to_trellis)
        self.n_clusters = self._conditions.n_clusters
        if self.n_clusters is not None:
            self._require(4 * (self.n_clusters + 1) * trellis.n_remainders)  # for finding the layers
        self._require(self.memory_needed)

    def _require(self, n_bytes: int) -> None:
        t = self.trellis
        what = f"the partition trellis of {t.n_clusters:,} clusters and {t.n_remainders:,} remainders"
        self._resources.require(what + self._conditions.phrase(), n_bytes, "Raise max_memory or take fewer clusters")

    @cached_property
    def _paths(self) -> Paths:
        every = self.trellis.paths
        return every if self.n_clusters is None else layered(*every, self.n_clusters)

    @property
    def end(self) -> int:
        """The state in which nothing is left."""
        return len(self._paths.offsets) - 2

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        layers = 0 if self._paths is self.trellis.paths else sum(array.nbytes for array in self._paths)
        return 16 * (self.end + 1) + 8 * self.trellis.n_clusters + layers

    @property
    def sizes(self) -> Ints:
        """(m,): the number of leaves of each cluster."""
        return self.trellis.sizes

    @cached_property
    def log_psi(self) -> Floats:
        """(m,): log ψ of every cluster; −inf where the conditions forbid it."""
        out = self.model.cluster_log_potentials(self.trellis)
        if not self._conditions.restricts_clusters:
            return out
        return np.where(self._conditions.allowed(self.sizes, self.shared), out, -np.inf)

    def shared(self, leaves: Iterable[int]) -> Ints:
        """(m,): how many of these leaves each cluster holds."""
        return self.trellis.shared(self._to_trellis[sorted(leaves)].tolist())

    def members(self, cluster: int) -> tuple[int, ...]:
        """The leaves of a cluster."""
        return tuple(sorted(self._to_model[list(self.trellis.members(cluster))].tolist()))

    def find(self, leaves: Iterable[int]) -> int:
        """The number of the cluster of these leaves, −1 if it is not one of the chosen ones."""
        return self.trellis.find(self._to_trellis[sorted(leaves)].tolist())

    def inside(self) -> Floats:
        """(n_states,): log Z of what is left; −inf where it has no partition."""
        Z = np.empty(self.end + 1)
        kernels.inside(*self._paths, self.log_psi, Z)
        return read_only(Z)

    def maximum(self) -> Floats:
        """(n_states,): log M of what is left."""
        M = np.empty(self.end + 1)
        kernels.maximum(*self._paths, self.log_psi, M)
        return read_only(M)

    def log_partition(self, Z: Floats) -> float:
        """log Z of all leaves, given `inside`."""
        return float(Z[0])

    def log_partitions_by_number(self) -> Floats:
        """(n + 1,): log Z of all leaves for every number of clusters."""
        length = np.empty(self.end + 1, dtype=np.int64)
        longest_paths(self._paths.offsets, self._paths.choice_next, length)
        rows = offsets_of(length + 1)
        what = f"sums by number of clusters over {len(length):,} remainders × up to {length[0]:,} clusters"
        self._resources.require(what, 8 * int(rows[-1]), "Raise max_memory or give a smaller trellis")
        table = np.empty(rows[-1])
        kernels.inside_by_number(*self._paths, self.log_psi, rows, table)
        out = np.full(self.n + 1, -np.inf)
        out[: rows[1]] = table[: rows[1]]
        return out

    def outside(self, Z: Floats) -> Floats:
        """(m,): the probability that each cluster occurs."""
        reach, mu = np.empty(self.end + 1), np.empty(len(self.sizes))
        kernels.outside(*self._paths, self.log_psi, Z, reach, mu)
        return read_only(mu)

    def together_table(self, mu: Floats) -> Floats:
        """(m,): μ itself."""
        return mu

    def together(self, table: Floats, leaves: frozenset[int]) -> float:
        """The probability that all of these leaves are in one cluster."""
        if len(leaves) < 2:
            return 1.0
        return min(1.0, float(table[self.shared(leaves) == len(leaves)].sum()))

    def coclustering(self, table: Floats) -> Floats:
        """(n, n): the probability that i and j are in one cluster; 1 on the diagonal."""
        what = f"the matrix of all pairs of {self.n:,} leaves"
        instead = "Ask together_probability([i, j]) for the pairs that matter"
        self._resources.require(what, 8 * self.n**2, instead)
        out = np.zeros((self.n, self.n))
        kernels.add_pairs(self.trellis.cluster_bounds, self.trellis.cluster_members, table, out)
        out = out[np.ix_(self._to_trellis, self._to_trellis)]
        np.fill_diagonal(out, 1.0)
        return np.minimum(out, 1.0, out=out)

    def leaf_sums(self, values: Floats) -> Floats:
        """(n,): Σ values[C] over the clusters that hold each leaf."""
        out = np.zeros(self.n)
        np.add.at(out, self.trellis.cluster_members, self._over_positions(values))
        return out[self._to_trellis]

    def _over_positions(self, values: Floats) -> Floats:
        # For each place in the list of members, Σ values[C] over the clusters whose bounds enclose it.
        change = np.zeros(len(self.trellis.cluster_members) + 1)
        starts, stops = self.trellis.cluster_bounds.T
        np.add.at(change, starts, values)
        np.subtract.at(change, stops, values)
        return np.cumsum(change)[:-1]

    def cluster_sums(self, values: Floats) -> Floats:
        """(m,): Σ values[i] over the leaves of each cluster."""
        sums = np.concatenate(([0.0], np.cumsum(values[self._to_model][self.trellis.cluster_members])))
        starts, stops = self.trellis.cluster_bounds.T
        return np.asarray(sums[stops] - sums[starts])

    def log_joint(self, clusters: list[int], Z: Floats) -> float:
        """log Σ over the partitions that have these disjoint clusters among theirs."""
        groups = [frozenset(self.members(cluster)) for cluster in clusters]
        allowed = self._conditions.and_also(require=groups).allowed(self.sizes, self.shared)
        given = np.empty(self.end + 1)
        kernels.inside(*self._paths, np.where(allowed, self.log_psi, -np.inf), given)
        return self.log_partition(given)

    def best_path(self, M: Floats) -> list[int] | None:
        """The clusters of the best partition, given `maximum`, or None; ties go to the first choice in every state."""
        if M[0] == -np.inf:
            return None
        # By a kernel: 100,000 clusters of one hierarchy take 0.03 s, one by one 0.9 s, the rest of a MAP 0.4 s.
        path = np.empty(self.n, dtype=np.int64)
        length = kernels.best_path(*self._paths, self.log_psi, M, path)
        return [int(cluster) for cluster in path[:length]]

    def partition_of(self, clusters: list[int]) -> Partition:
        """The partition of these clusters."""
        return self.trellis.partition_of(clusters).aligned_to(self.model.labels)

    def splits(self, leaves: Iterable[int]) -> Choices:
        """The pairs of clusters that these leaves can be split into, and the sum of their log ψ."""
        whole = frozenset(leaves)
        inside = np.flatnonzero((self.shared(whole) == self.sizes) & (self.shared([max(whole)]) == 1))
        left = [int(cluster) for cluster in inside if self.sizes[cluster] < len(whole)]
        right = [self.find(whole - set(self.members(cluster))) for cluster in left]
        both = [(one, other) for one, other in zip(left, right, strict=True) if other >= 0]
        one, other = np.array(both, dtype=np.int64).reshape(-1, 2).T
        return one, other, self.log_psi[one] + self.log_psi[other]

    def choices(self, state: int, V: Floats) -> Choices:
        """The clusters that can be taken first, what each leaves, and log ψ + V of that."""
        here = slice(self._paths.offsets[state], self._paths.offsets[state + 1])
        clusters, left = self._paths.choice_cluster[here], self._paths.choice_next[here]
        return clusters, left, self.log_psi[clusters] + V[left]

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[npt.NDArray[np.int32], Floats]:
        """(size, n) memberships of exact draws, numbered by first appearance; (size,) log potentials."""
        memberships = np.zeros((size, self.n), dtype=np.int32)
        log_potentials = np.zeros(size)
        fixed = (*self._paths, self.log_psi, Z, np.uint64(seed), self.trellis.cluster_bounds)
        outputs = (self.trellis.cluster_members, memberships, log_potentials)
        with self._resources.workers(f"drawing partitions, n = {self.n}", float(size)) as workers:
            workers.run(lambda i, j: kernels.draw(*fixed, *outputs, i, j), np.full(size, 40.0 * self.n))
        memberships = np.ascontiguousarray(memberships[:, self._to_trellis])
        renumber(memberships)
        return memberships, log_potentials

    def count(self) -> int:
        """The number of partitions of non-zero potential, exactly."""
        return count_paths(*self._paths, self.log_psi > -np.inf)
