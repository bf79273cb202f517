"""A model on the full trellis: all hierarchies, by one serial call, by general or by separable passes."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks, Words
from palmette.models.full_tables import Potentials, separable_potentials
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.passes.all_clusters import SERIAL, AllClusters
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.draws import draw_masks
from palmette.passes.hierarchies.general import GeneralPasses
from palmette.passes.hierarchies.parting import parted
from palmette.passes.hierarchies.protocol import HierarchyPasses, Outside, SplitShares
from palmette.passes.hierarchies.separable import SEGMENT_LEAVES, SeparablePasses
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.hierarchies.tables import SplitTables, tabulate_potentials
from palmette.passes.resources import Resources
from palmette.recursions.hierarchies import inside, outside
from palmette.trellis.counting import double_factorial, exact_count

__all__ = ["FullHierarchyPasses"]

# All 2^n clusters rarer than this together hold less than 1e-15 nats of entropy.
_NEGLIGIBLE = 1e-25


class FullHierarchyPasses(HierarchyPasses):
    """All hierarchies over a model's leaves that meet the conditions. A cluster is named by its mask."""

    trellis = None

    def __init__(
        self,
        model: HierarchyModel,
        conditions: HierarchyConditions | None = None,
        resources: Resources | None = None,
        *,
        potentials: Potentials | None = None,
    ) -> None:
        self.model = model
        self.n = model.n_leaves
        beyond = "a SparseTrellis of chosen clusters takes any number of leaves"
        self.clusters = AllClusters(self.n, beyond, resources)
        self.clusters.require_bytes(self.memory_needed)
        self._conditions = HierarchyConditions(model.labels) if conditions is None else conditions
        self._potentials = potentials

    @property
    def sizes(self) -> npt.NDArray[np.uint8]:
        """The number of leaves of each cluster."""
        return self.clusters.sizes

    @property
    def root(self) -> int:
        """The cluster of all leaves."""
        return (1 << self.n) - 1

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return self.model.split_table_bytes + 45 * (1 << self.n)

    def _require_tables(self, number: int) -> None:
        # So many tables of numbers more.
        self.clusters.require_bytes(self.memory_needed + 8 * number * (1 << self.n))

    def number(self, mask: int) -> int:
        """The name of the cluster with this bit mask: the mask."""
        return mask

    def mask_of(self, cluster: int) -> int:
        """The bit mask of a cluster: its name."""
        return cluster

    @cached_property
    def allowed(self) -> npt.NDArray[np.uint8]:
        """Flags of the clusters that the conditions leave possible; empty without conditions."""
        if not self._conditions:
            return np.empty(0, np.uint8)
        return self._conditions.allowed(self.sizes, self.clusters.shared).astype(np.uint8)

    @cached_property
    def tables(self) -> SplitTables:
        """The model, tabulated."""
        return SplitTables(
            self.clusters, self._potentials or tabulate_potentials(self.model, self.clusters), self.allowed
        )

    @cached_property
    def _both(self) -> tuple[Floats, Floats]:
        return self.tables.solve(self.n)

    @cached_property
    def _general(self) -> GeneralPasses:
        return GeneralPasses(self.tables)

    @cached_property
    def _separable(self) -> SeparablePasses:
        return SeparablePasses(self.tables)

    @cached_property
    def _is_general(self) -> bool:
        return self.n <= max(SERIAL, SEGMENT_LEAVES) or not self.tables.potentials.is_separable

    @property
    def _passes(self) -> GeneralPasses | SeparablePasses:
        return self._general if self._is_general else self._separable

    def inside(self) -> Floats:
        """log Z of every cluster; −inf where no hierarchy is possible."""
        return read_only(self._both[0] if self.n <= SERIAL else self._passes.inside())

    def maximum(self) -> Floats:
        """log M of every cluster: the largest log potential of a hierarchy over it."""
        return read_only(self._both[1] if self.n <= SERIAL else self._passes.maximum())

    def outside(self, Z: Floats) -> Outside:
        """μ, the probability that each cluster occurs; with the entropy for a separable model, where digits suffice."""
        self._require_tables(4)
        if self._is_general:
            return Outside(read_only(self._general.outside(Z)))
        found = self._separable.outside(Z)
        return Outside(read_only(found.mu), found.entropy)

    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""
        self._require_tables(5)
        return self._general.parent_sizes(Z, mu) if self._is_general else self._separable.outside(Z, parents=True).nu

    def splits(self, cluster: int, V: Floats) -> tuple[Masks, Masks, Floats]:
        """L, R and log ψ(L, R) + V(L) + V(R) of all splits of a cluster, by increasing L, which has its lowest leaf."""
        left = np.empty(2 ** (int(cluster).bit_count() - 1) - 1, dtype=np.uint32)
        values = np.empty(len(left))
        self._split_terms(self.tables.data, V, np.uint64(cluster), left, values)
        return left, np.uint32(cluster) ^ left, values

    @cached_property
    def _split_terms(self) -> Any:
        return self.tables.specialised(inside.split_terms)

    def log_psi_of(self, left: list[int], right: list[int]) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        one, two = np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64)
        out = np.empty(len(one))
        self.tables.specialised(inside.log_psi_of_splits)(self.tables.data, one | two, one, two, out)
        return out

    def split_log_shares(self, parent: Words, left: Words, right: Words, Z: Floats) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent."""
        P, L, R = (words[:, 0].astype(np.int64) for words in (parent, left, right))
        values = self.log_psi_of(L.tolist(), R.tolist()) + Z[L] + Z[R]
        with np.errstate(invalid="ignore"):
            return np.where(Z[P] > -np.inf, values - Z[P], -np.inf)

    def with_sums(self, u: Floats) -> FullHierarchyPasses:
        """The same clusters with log ψ(L, R) = u(L) + u(R)."""
        tables = np.zeros_like(u), u.copy(), np.ones(self.n + 1)  # of the types that models have, for the same kernels
        potentials = separable_potentials(*tables)
        return FullHierarchyPasses(self.model, self._conditions, self.clusters.resources, potentials=potentials)

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Masks, Floats]:
        """(size, n − 1) clusters of two leaves or more of exact draws, increasing; (size,) log potentials."""
        return draw_masks(self.tables, Z, size, seed)

    def count(self) -> int:
        """The number of hierarchies of non-zero potential, exactly."""
        most = double_factorial(2 * self.n - 3)
        if not self.model.may_forbid and not self._conditions:
            return most
        return exact_count(self._general.count_modulo, most)

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p over hierarchies: that of the splits, each weighted by how probable its parent is."""
        self._require_tables(6)
        kernel = outside.entropy_clusters(self.tables.log_psi)
        return self._general.expectation(kernel, (self.tables.data, Z), mu, _NEGLIGIBLE)

    def entropy_alone(self, Z: Floats) -> float:
        """The entropy for one who does not want μ: what is too rare to matter is passed over."""
        if self._is_general:
            return super().entropy_alone(Z)
        self._require_tables(4)
        found = self._separable.outside(Z, least=_NEGLIGIBLE)
        return self.entropy(Z, found.mu) if found.entropy is None else found.entropy

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares, other_Z: Floats) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        if isinstance(other, SparseHierarchyPasses):
            return self._divergence_within(other, other_Z)
        if not isinstance(other, FullHierarchyPasses):
            raise TypeError(f"no divergence from {other!r} is known on the full trellis; take a SparseTrellis")
        self._require_tables(6)
        theirs = other.tables
        kernel = outside.divergence_clusters(self.tables.log_psi, theirs.log_psi)
        return self._general.expectation(kernel, (self.tables.data, Z, theirs.data, other_Z), mu)

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""
        self.clusters.require_bytes(self.memory_needed + values.split_table_bytes)
        given = tabulate_potentials(values, self.clusters)
        kernel = outside.value_clusters(self.tables.log_psi, given.log_psi)
        return self._general.expectation(kernel, (self.tables.data, Z, given.data), mu)

    def _divergence_within(self, other: SparseHierarchyPasses, other_Z: Floats) -> float:
        # Finite only if all that can occur here is in the other's trellis; then it can be asked there.
        here = SparseHierarchyPasses(self.model, other.trellis, self._conditions, self.clusters.resources)
        if here.count() != self.count():
            return np.inf
        Z = here.inside()
        return here.divergence(Z, here.outside(Z).mu, other, other_Z)

    def pair_sums(self, values: Floats) -> Floats:
        """(n, n): Σ values[C] over the clusters that hold both i and j; on the diagonal, that hold i."""
        edges = np.linspace(0, 1 << self.n, min(64, 1 << self.n) + 1).astype(np.int64)  # whatever the threads
        parts = np.zeros((len(edges) - 1, self.n, self.n))

        def add(first: int, last: int) -> None:
            for i in range(first, last):
                outside.pair_sums(values, edges[i], edges[i + 1], parts[i])

        total = 64.0 * (1 << self.n)
        with self.clusters.workers("adding up pairs", total) as workers:
            workers.run(add, np.full(len(parts), total / len(parts)))
        upper: Floats = parts.sum(axis=0)
        return upper + np.triu(upper, 1).T

    def expected_lca_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        # |lca| telescopes: Σ over clusters C ∋ i, j of |C| where C occurs, minus |parent of C| where it does.
        out = self.pair_sums(self.sizes * mu - self.parent_sizes(Z, mu))
        np.fill_diagonal(out, 1.0)
        return out

    def expected_at_parting(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """(n, n): E[v(L, R)] at the split with i on one side and j on the other, 0 on the diagonal."""
        self.clusters.require_bytes(self.memory_needed + values.split_table_bytes + 8 * 6 * (1 << self.n))
        out = self.pair_sums(parted(self.tables, Z, mu, values))
        np.fill_diagonal(out, 0.0)
        return out
