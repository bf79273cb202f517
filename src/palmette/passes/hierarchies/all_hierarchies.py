"""All hierarchies over a model's leaves, of which a cluster is named by its mask: what hangs on no table of log ψ."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Words
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.passes.all_clusters import AllClusters
from palmette.passes.hierarchies.blocks import SplitBlocks
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.protocol import HierarchyPasses, SplitShares
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.resources import Resources
from palmette.recursions.hierarchies import outside
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["AllHierarchyPasses"]


class AllHierarchyPasses(HierarchyPasses):
    """All hierarchies that meet the conditions. The kinds of it differ in how they have log ψ."""

    trellis = None

    def __init__(
        self,
        model: HierarchyModel,
        conditions: HierarchyConditions | None = None,
        resources: Resources | None = None,
    ) -> None:
        self.model = model
        self.n = model.n_leaves
        beyond = "a SparseTrellis of chosen clusters takes any number of leaves"
        self.clusters = AllClusters(self.n, beyond, resources)
        self.clusters.require_bytes(self.memory_needed)
        self._conditions = HierarchyConditions(model.labels) if conditions is None else conditions

    @property
    @abstractmethod
    def _blocks(self) -> SplitBlocks:
        """log ψ of all splits, a block of clusters at a time."""

    @abstractmethod
    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""

    @abstractmethod
    def parted(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """Numbers whose sum over the clusters that hold both i and j is E[v(L, R)] at the split that parts them."""

    @property
    def sizes(self) -> npt.NDArray[np.uint8]:
        """The number of leaves of each cluster."""
        return self.clusters.sizes

    @property
    def root(self) -> int:
        """The cluster of all leaves."""
        return (1 << self.n) - 1

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

    def split_log_shares(self, parent: Words, left: Words, right: Words, Z: Floats) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent."""
        P, L, R = (words[:, 0].astype(np.int64) for words in (parent, left, right))
        values = self.log_psi_of(L, R) + Z[L] + Z[R]
        with np.errstate(invalid="ignore"):
            return np.where(Z[P] > -np.inf, values - Z[P], -np.inf)

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        if other.trellis is not None:
            return self._divergence_within(other, other.trellis)
        total = 0.0
        for splits in self._blocks.probable(Z, mu):
            log_q = other.split_log_shares(*(side[:, None].astype(np.uint64) for side in splits[:3]))
            total += float(splits.p @ (splits.log_share - log_q))
        return total

    def _divergence_within(self, other: SplitShares, trellis: SparseTrellis) -> float:
        # Finite only if all that can occur here is in the other's trellis; then it can be asked there.
        here = SparseHierarchyPasses(self.model, trellis, self._conditions, self.clusters.resources)
        if here.count() != self.count():
            return np.inf
        Z = here.inside()
        return here.divergence(Z, here.outside(Z).mu, other)

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
        out = self.pair_sums(self.parted(Z, mu, values))
        np.fill_diagonal(out, 0.0)
        return out
