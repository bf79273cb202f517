"""A model on the full trellis: all hierarchies, by one serial call, by general or by separable passes."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks
from palmette.models.full_tables import Potentials, separable_potentials
from palmette.models.split_model import HierarchyModel, MaskList, SplitModel
from palmette.passes.all_clusters import SERIAL
from palmette.passes.hierarchies.all_hierarchies import AllHierarchyPasses
from palmette.passes.hierarchies.blocks import SplitBlocks
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.draws import draw_masks
from palmette.passes.hierarchies.general import GeneralPasses
from palmette.passes.hierarchies.parting import parted
from palmette.passes.hierarchies.protocol import Normalised, Outside, SplitShares
from palmette.passes.hierarchies.separable import SEGMENT_LEAVES, SeparablePasses
from palmette.passes.hierarchies.tables import SplitTables, tabulate_potentials
from palmette.passes.resources import Resources
from palmette.recursions.hierarchies import inside, outside
from palmette.trellis.counting import double_factorial, exact_count

__all__ = ["FullHierarchyPasses"]

# All 2^n clusters rarer than this together hold less than 1e-15 nats of entropy.
_NEGLIGIBLE = 1e-25


class FullHierarchyPasses(AllHierarchyPasses):
    """All hierarchies that meet the conditions, for a model that is tabulated and compiled."""

    def __init__(
        self,
        model: HierarchyModel,
        conditions: HierarchyConditions | None = None,
        resources: Resources | None = None,
        *,
        potentials: Potentials | None = None,
    ) -> None:
        super().__init__(model, conditions, resources)
        self._potentials = potentials

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return self.model.split_table_bytes + 45 * (1 << self.n)

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
        return self.n <= max(SERIAL, SEGMENT_LEAVES) or self.tables.potentials.separable is None

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
        inside.split_terms(self.tables.data, V, np.uint64(cluster), left, values)
        return left, np.uint32(cluster) ^ left, values

    @property
    def _blocks(self) -> SplitBlocks:
        self._require_tables(6)
        return SplitBlocks(self.tables.log_psi_of, self.clusters, room=0)

    def log_psi_of(self, left: MaskList, right: MaskList) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        return self.tables.log_psi_of(left, right)

    def with_sums(self, u: Floats) -> FullHierarchyPasses:
        """The same clusters with log ψ(L, R) = u(L) + u(R)."""
        potentials = separable_potentials(np.array([np.zeros_like(u), u]), np.ones(self.n + 1))
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
        return self._general.expectation(outside.entropy_clusters, (self.tables.data, Z), mu, _NEGLIGIBLE)

    def entropy_alone(self, Z: Floats) -> float:
        """The entropy for one who does not want μ: what is too rare to matter is passed over."""
        if self._is_general:
            return super().entropy_alone(Z)
        self._require_tables(4)
        found = self._separable.outside(Z, least=_NEGLIGIBLE)
        return self.entropy(Z, found.mu) if found.entropy is None else found.entropy

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        if not isinstance(other, Normalised) or not isinstance(other.passes, FullHierarchyPasses):
            return super().divergence(Z, mu, other)
        self._require_tables(6)  # a fast path only: both are tabulated, so one kernel reads both
        theirs = other.passes.tables
        context = (self.tables.data, Z, theirs.data, other.Z)
        return self._general.expectation(outside.divergence_clusters, context, mu)

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""
        self.clusters.require_bytes(self.memory_needed + values.split_table_bytes)
        given = tabulate_potentials(values, self.clusters)
        return self._general.expectation(outside.value_clusters, (self.tables.data, Z, given.data), mu)

    def parted(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """Numbers whose sum over the clusters that hold both i and j is E[v(L, R)] at the split that parts them."""
        self.clusters.require_bytes(self.memory_needed + values.split_table_bytes + 8 * 6 * (1 << self.n))
        return parted(self.tables, Z, mu, values)
