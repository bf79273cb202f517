"""A model that can only be asked for log ψ, on the full trellis: all hierarchies, a block of clusters at a time.

Every pass goes over the clusters by size, and over the splits of each from the cluster itself: also the outside pass,
which sends probabilities down, so that all passes want the same lists.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from palmette._immutable import read_only
from palmette.array_types import Floats, Masks
from palmette.clusters import lowest_first
from palmette.defaults import DEFAULTS
from palmette.models.split_model import HierarchyModel, MaskList, SplitModel
from palmette.models.uniform import Uniform
from palmette.passes.hierarchies.all_hierarchies import AllHierarchyPasses
from palmette.passes.hierarchies.blocks import BLOCK, SplitBlock, SplitBlocks
from palmette.passes.hierarchies.draws import draw_masks
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.protocol import Outside
from palmette.recursions.hierarchies import listed as kernels
from palmette.trellis.counting import double_factorial, from_remainders, moduli_for

__all__ = ["ListedHierarchyPasses"]


class ListedHierarchyPasses(AllHierarchyPasses):
    """All hierarchies that meet the conditions, for a model that is no more than its `log_potentials`.

    The table of all splits, 4·3^n bytes, is kept as far as `DEFAULTS.function_bytes` reach; what is not in it is asked
    for anew in each pass.
    """

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP; what is kept of log ψ comes on top of it, if there is room."""
        return 41 * (1 << self.n) + 24 * max(BLOCK, 1 << self.n >> 1)

    @cached_property
    def _blocks(self) -> SplitBlocks:
        room = min(DEFAULTS.function_bytes, self.clusters.resources.room_beside(self.memory_needed))
        return SplitBlocks(self.model.log_potentials, self.clusters, room)

    def _upward(self, title: str) -> Iterator[SplitBlock]:
        # Every cluster that may occur, the smallest first.
        some = lambda masks: self.allowed[masks] != 0 if self.allowed.size else slice(None)  # noqa: E731
        return self._blocks.walk(title, range(2, self.n + 1), some)

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
        for block in self._blocks.downward("cluster probabilities", mu):
            kernels.send_down(*block, Z, mu, mu)
            entropy += _entropy(block, Z, mu)
        return Outside(read_only(np.minimum(mu, 1.0, out=mu)), entropy)  # rounding may leave a sum a little above 1

    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""
        self._require_tables(4)
        weight, nu = mu * self.sizes, np.zeros(1 << self.n)
        for block in self._blocks.downward("sizes of parents", weight):
            kernels.send_down(*block, Z, weight, nu)
        return nu

    def splits(self, cluster: int, V: Floats) -> tuple[Masks, Masks, Floats]:
        """L, R and log ψ(L, R) + V(L) + V(R) of all splits of a cluster, by increasing L, which has its lowest leaf."""
        if int(cluster).bit_count() < 2:
            return np.empty(0, np.uint32), np.empty(0, np.uint32), np.empty(0)
        block = next(self._blocks.over(np.array([cluster], np.uint32)))
        left, right = (part[0].astype(np.uint32) for part in block.parts())
        return left, right, block.log_psi[0] + (V[left] + V[right])

    def log_psi_of(self, left: MaskList, right: MaskList) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        one, two = np.asarray(left, dtype=np.int64), np.asarray(right, dtype=np.int64)
        return self.model.log_potentials(*lowest_first(one, two))

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
        return sum(_entropy(block, Z, mu) for block in self._blocks.downward("taking an expectation", mu))

    def expected(self, Z: Floats, mu: Floats, values: HierarchyModel) -> float:
        """E[Σ v(L, R)] over the splits of hierarchies, v being log ψ of another model, where p > 0."""
        found = self._blocks.probable(Z, mu)
        return sum(float(splits.p @ values.log_potentials(splits.left, splits.right)) for splits in found)

    def parted(self, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
        """Numbers whose sum over the clusters that hold both i and j is E[v(L, R)] at the split that parts them."""
        # By the table of all splits: models that say what pairs are expected to be are compiled.
        tabled = FullHierarchyPasses(self.model, self._conditions, self.clusters.resources)
        return tabled.parted(Z, mu, values)


def _entropy(block: SplitBlock, Z: Floats, mu: Floats) -> float:
    found = np.empty(len(block.parents))
    kernels.entropies(*block, Z, found)
    return float(mu[block.parents] @ found)
