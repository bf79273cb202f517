"""A model that can only be asked for log ψ, on the full trellis: all hierarchies, a block of clusters at a time.

Every pass goes over the clusters by size, and over the splits of each from the cluster itself: also the outside pass,
which sends probabilities down, so that all passes want the same lists.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks
from palmette.clusters import lowest_first
from palmette.defaults import DEFAULTS
from palmette.models.split_model import HierarchyModel
from palmette.models.uniform import Uniform
from palmette.passes.hierarchies.blocks import BLOCK, SplitBlock, SplitBlocks
from palmette.passes.hierarchies.draws import draw_masks
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.protocol import HierarchyPasses, Outside, SplitShares
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies import listed as kernels
from palmette.trellis.counting import double_factorial, from_remainders, moduli_for, n_splits

__all__ = ["ListedHierarchyPasses"]


class ListedHierarchyPasses(FullHierarchyPasses):
    """All hierarchies that meet the conditions, for a model that is no more than its `log_potentials`.

    The table of all splits, 4·3^n bytes, is kept as far as `DEFAULTS.function_bytes` reach; what is not in it is asked
    for anew in each pass.
    """

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP; what is kept of log ψ comes on top of it, if there is room."""
        return 41 * (1 << self.n) + 24 * max(BLOCK, 1 << self.n >> 1)

    @cached_property
    def tables(self) -> SplitTables:
        """The table of all splits, which only a divergence from other models needs."""
        self.clusters.require_bytes(super().memory_needed)
        return super().tables

    @cached_property
    def _blocks(self) -> SplitBlocks:
        room = min(DEFAULTS.function_bytes, self.clusters.resources.room_beside(self.memory_needed))
        return SplitBlocks(self.model, self.clusters, room)

    def _over(self, title: str, sizes: range, wanted: Callable[[Masks], Any]) -> Iterator[SplitBlock]:
        # In one thread: others would wait for the model, which is asked in Python.
        bar = self.clusters.progress(title, float(n_splits(self.n)))
        try:
            for k in sizes:
                masks = self.clusters.of_size(k)
                for block in self._blocks.over(masks[wanted(masks)]):
                    yield block
                    bar.advance(block.log_psi.size)
        finally:
            bar.close()

    def _upward(self, title: str) -> Iterator[SplitBlock]:
        # Every cluster that may occur, the smallest first.
        some = lambda masks: self.allowed[masks] != 0 if self.allowed.size else slice(None)  # noqa: E731
        return self._over(title, range(2, self.n + 1), some)

    def _downward(self, title: str, weight: Floats) -> Iterator[SplitBlock]:
        # Every cluster of positive weight, the largest first; weights of clusters to come may change on the way.
        return self._over(title, range(self.n, 1, -1), lambda masks: weight[masks] > 0.0)

    def _leaves(self) -> Floats:
        table = np.full(1 << self.n, -np.inf)
        table[1 << np.arange(self.n)] = 0.0
        return table

    def inside(self) -> Floats:
        """log Z of every cluster; −inf where no hierarchy is possible."""
        Z = self._leaves()
        for block in self._upward("summing hierarchies"):
            kernels.inside(*block, Z)
        return read_only(Z)

    def maximum(self) -> Floats:
        """log M of every cluster: the largest log potential of a hierarchy over it."""
        M = self._leaves()
        for block in self._upward("finding the best hierarchy"):
            kernels.maximum(*block, M)
        return read_only(M)

    def outside(self, Z: Floats) -> Outside:
        """μ, the probability that each cluster occurs, and the entropy, which would ask the model once more."""
        self._require_tables(2)
        mu = np.zeros(1 << self.n)
        mu[-1] = 1.0
        entropy = 0.0
        for block in self._downward("cluster probabilities", mu):
            kernels.send_down(*block, Z, mu, mu)
            entropy += _entropy(block, Z, mu)
        return Outside(read_only(np.minimum(mu, 1.0, out=mu)), entropy)  # rounding may leave a sum a little above 1

    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""
        self._require_tables(4)
        weight, nu = mu * self.sizes, np.zeros(1 << self.n)
        for block in self._downward("sizes of parents", weight):
            kernels.send_down(*block, Z, weight, nu)
        return nu

    def splits(self, cluster: int, V: Floats) -> tuple[Masks, Masks, Floats]:
        """L, R and log ψ(L, R) + V(L) + V(R) of all splits of a cluster, by increasing L, which has its lowest leaf."""
        if int(cluster).bit_count() < 2:
            return np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)
        block = next(self._blocks.over(np.array([cluster], np.uint32)))
        left, right = (part[0].astype(np.uint32) for part in block.parts())
        return left, right, block.log_psi[0] + (V[left] + V[right])

    def log_psi_of(self, left: list[int], right: list[int]) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        return self.model.log_potentials(*lowest_first(np.array(left, dtype=np.int64), np.array(right, dtype=np.int64)))

    def with_sums(self, u: Floats) -> FullHierarchyPasses:
        """The same clusters with log ψ(L, R) = u(L) + u(R)."""
        # Of a model whose tables are of that kind: this one's are no measure of the memory for them.
        same = Uniform(self.n, labels=self.model.labels)
        return FullHierarchyPasses(same, self._conditions, self.clusters.resources).with_sums(u)

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Masks, Floats]:
        """(size, n − 1) clusters of two leaves or more of exact draws, increasing; (size,) log potentials."""
        return draw_masks(self._blocks, Z, size, seed)

    def count(self) -> int:
        """The number of hierarchies of non-zero potential, exactly."""
        moduli = moduli_for(double_factorial(2 * self.n - 3))
        self._require_tables(len(moduli))
        counts = np.zeros((len(moduli), 1 << self.n), dtype=np.uint64)
        counts[:, 1 << np.arange(self.n)] = 1
        for block in self._upward("counting hierarchies"):
            kernels.count(*block, np.array(moduli, dtype=np.uint64), counts)
        return from_remainders(moduli, counts[:, -1].tolist())

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p over hierarchies: that of the splits, each weighted by how probable its parent is."""
        return sum(_entropy(block, Z, mu) for block in self._downward("taking an expectation", mu))

    def entropy_alone(self, Z: Floats) -> float:
        """The entropy for one who does not want μ, which comes with it."""
        return HierarchyPasses.entropy_alone(self, Z)

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""
        total = 0.0
        for block in self._downward("taking an expectation", mu):
            left, right = block.parts()
            parent = np.broadcast_to(block.parents.astype(np.int64)[:, None], left.shape)
            p = mu[parent] * np.exp(block.log_psi + (Z[left] + Z[right] - Z[parent]))
            some = p > 0.0
            total += float(p[some] @ values.log_potentials(left[some].astype(np.int64), right[some].astype(np.int64)))
        return total

    def divergence(self, Z: Floats, mu: Floats, other: SplitShares, other_Z: Floats) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        if isinstance(other, SparseHierarchyPasses):
            return self._divergence_within(other, other_Z)
        total = 0.0
        for block in self._downward("taking an expectation", mu):
            left, right = block.parts()
            parent = np.broadcast_to(block.parents.astype(np.int64)[:, None], left.shape)
            log_p = (block.log_psi + (Z[left] + Z[right] - Z[parent])).ravel()
            some = np.flatnonzero(np.exp(log_p) > 0.0)
            P, L, R = (side.ravel()[some, None].astype(np.uint64) for side in (parent, left, right))
            log_q = other.split_log_shares(P, L, R, other_Z)
            total += float((mu[parent.ravel()[some]] * np.exp(log_p[some])) @ (log_p[some] - log_q))
        return total


def _entropy(block: SplitBlock, Z: Floats, mu: Floats) -> float:
    found = np.empty(len(block.parents))
    kernels.entropies(*block, Z, found)
    return float(mu[block.parents] @ found)
