"""The full trellis: all 2^n clusters of n leaves and all their splits, with the passes over them."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from palmette._jit import specialise
from palmette.array_types import Floats, Masks, Words
from palmette.models.split_model import HierarchyModel
from palmette.passes.all_clusters import SERIAL, AllClusters
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.draws import draw_masks
from palmette.passes.hierarchies.potentials import (
    Potentials,
    Separable,
    separable_potentials,
    tabulate_potentials,
)
from palmette.passes.hierarchies.separable import SEGMENT_LEAVES, SeparablePasses
from palmette.recursions.hierarchies import inside, outside
from palmette.threads import Workers
from palmette.trellis.counting import count_hierarchies, n_splits

__all__ = ["FullHierarchyPasses"]


# All 2^n clusters rarer than this together hold less than 1e-15 nats of entropy.
_NEGLIGIBLE = 1e-25


class FullHierarchyPasses(AllClusters):
    """All hierarchies over a model's leaves that meet the conditions; passes return tables of logarithms by mask.

    A cluster is named by its mask.
    """

    def __init__(
        self,
        model: HierarchyModel,
        conditions: HierarchyConditions | None = None,
        *,
        potentials: Potentials | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        super().__init__(model.n_leaves, max_memory, threads, progress)
        self.model = model
        self.require(self.memory_needed)
        self.conditions = conditions
        self.allowed = np.empty(0, np.uint8)
        if conditions:
            self.allowed = conditions.allowed(self.sizes, self.shared).astype(np.uint8)
        self._potentials = potentials

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP."""
        return self.model.split_table_bytes + 37 * (1 << self.n)

    def specialised(self, template: Any, **functions: Any) -> Any:
        """`template` compiled for this model's log ψ."""
        return specialise(template, log_psi=self.potentials.log_psi, **functions)

    @property
    def data(self) -> Any:
        """What the compiled log ψ reads."""
        return self.potentials.data

    @cached_property
    def potentials(self) -> Potentials:
        """The model, tabulated."""
        if self._potentials is not None:
            return self._potentials
        with self.workers("tabulating clusters", 20.0 * 2**self.n) as workers:
            return tabulate_potentials(self.model, workers)

    def with_sums(self, u: Floats) -> FullHierarchyPasses:
        """The same clusters with log ψ(L, R) = u(L) + u(R)."""
        potentials = separable_potentials(np.zeros_like(u), u, np.ones(self.n + 1))
        return FullHierarchyPasses(self.model, self.conditions, potentials=potentials, **self.options)

    @property
    def root(self) -> int:
        """The cluster of all leaves."""
        return (1 << self.n) - 1

    def number(self, mask: int) -> int:
        """The name of the cluster with this bit mask: the mask."""
        return mask

    def mask_of(self, cluster: int) -> int:
        """The bit mask of a cluster: its name."""
        return cluster

    @cached_property
    def _separable(self) -> SeparablePasses | None:
        data = self.data
        return SeparablePasses(self, data) if isinstance(data, Separable) and self.n > SEGMENT_LEAVES else None

    def inside(self) -> Floats:
        """log Z of every cluster; −inf where no hierarchy is possible."""
        if self.n <= SERIAL:
            return self._both[0]
        if self._separable is not None:
            return self._separable.inside()
        return self._by_blocks("summing hierarchies", inside.inside_blocks, which=0)

    def maximum(self) -> Floats:
        """log M of every cluster: the largest log potential of a hierarchy over it."""
        if self.n <= SERIAL:
            return self._both[1]
        if self._separable is not None:
            return self._separable.maximum()
        return self._by_blocks("finding the best hierarchy", inside.max_blocks, which=1)

    def _by_blocks(self, title: str, template: Any, which: int) -> Floats:
        # Blocks of the four clusters that differ in leaves 0 and 1, by the size of what they share.
        table = np.full(1 << self.n, -np.inf)
        table[1 << np.arange(self.n)] = 0.0
        table[:4] = self.solve(min(self.n, 2))[which]
        kernel = self.specialised(template)
        block_sizes = self.sizes[:: 1 << 2]
        with self.workers(title, n_splits(self.n)) as workers:
            for k in range(1, self.n - 1):
                blocks = np.flatnonzero(block_sizes == k).astype(np.uint32)
                self.over(workers, kernel, blocks, 4.5 * 2.0**k, table)
        return table

    def over(self, workers: Workers, kernel: Any, masks: Masks, work: float, *tables: Any) -> None:
        """kernel(data, allowed, masks, *tables) on slices of the masks, each of which costs `work`."""

        def call(first: int, last: int) -> None:
            kernel(self.data, self.allowed, masks[first:last], *tables)

        workers.run(call, np.full(len(masks), work))

    def outside(self, Z: Floats) -> Floats:
        """μ: the probability that each cluster occurs."""
        self.require(self.memory_needed + 40 * (1 << self.n))
        if self.n > SERIAL and self._separable is not None and self._separable.is_safe:
            return self._separable.outside(Z)[0]
        mu = np.zeros(1 << self.n)
        mu[-1] = 1.0
        log_weight = np.full(1 << self.n, -np.inf)
        log_weight[-1] = -Z[-1]
        with self.workers("cluster probabilities", 2.0 * n_splits(self.n)) as workers:
            for k in range(self.n - 1, 0, -1):
                masks = self.clusters_of_size(k)
                self._gather(workers, Z, log_weight, masks, mu)
                with np.errstate(divide="ignore", invalid="ignore"):
                    log_weight[masks] = np.where(mu[masks] > 0.0, np.log(mu[masks]) - Z[masks], -np.inf)
        return _as_probabilities(mu)

    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""
        self.require(self.memory_needed + 56 * (1 << self.n))
        if self.n > SERIAL and self._separable is not None and self._separable.is_safe:
            return self._separable.outside(Z)[1]
        with np.errstate(divide="ignore", invalid="ignore"):
            log_weight = np.where(mu > 0.0, np.log(mu * self.sizes) - Z, -np.inf)
        nu = np.zeros(1 << self.n)
        masks = np.arange(1, (1 << self.n) - 1, dtype=np.uint32)
        with self.workers("sizes of parents", 2.0 * n_splits(self.n)) as workers:
            self._gather(workers, Z, log_weight, masks, nu)
        return nu

    def _gather(self, workers: Workers, Z: Floats, log_weight: Floats, masks: Masks, out: Floats) -> None:
        kernel = self.specialised(outside.gather_clusters)
        work = 2.0 ** (self.n - self.sizes[masks].astype(np.float64))
        workers.run(lambda a, b: kernel(self.data, Z, log_weight, masks[a:b], out), work)

    def expectation(self, kernel: Any, arguments: tuple[Any, ...], mu: Floats, least: float = 0.0) -> float:
        """Σ μ(P)·f(P) over the P of two leaves or more with μ(P) > least, where kernel(*arguments, masks, out) is f."""
        self.require(self.memory_needed + 48 * (1 << self.n))
        masks = np.flatnonzero((mu > least) & (self.sizes >= 2)).astype(np.uint32)
        values = np.zeros(len(masks))
        work = 3.0 * 2.0 ** (self.sizes[masks].astype(np.float64) - 1)
        with self.workers("taking an expectation", float(work.sum())) as workers:
            workers.run(lambda a, b: kernel(*arguments, masks[a:b], values[a:b]), work)
        return float(np.sum(mu[masks] * values))

    def pair_sums(self, values: Floats) -> Floats:
        """(n, n): Σ values[C] over the clusters that hold both i and j; the diagonal is not filled."""
        edges = np.linspace(0, 1 << self.n, min(64, 1 << self.n) + 1).astype(np.int64)  # whatever the threads
        parts = np.zeros((len(edges) - 1, self.n, self.n))

        def add(first: int, last: int) -> None:
            for i in range(first, last):
                outside.pair_sums(values, edges[i], edges[i + 1], parts[i])

        with self.workers("adding up pairs", 64.0 * (1 << self.n)) as workers:
            workers.run(add, np.full(len(parts), (64.0 * (1 << self.n)) / len(parts)))
        upper: Floats = parts.sum(axis=0)
        return upper + upper.T

    def splits(self, mask: int, V: Floats) -> tuple[Masks, Masks, Floats]:
        """L, R and log ψ(L, R) + V(L) + V(R) of all splits of a cluster, by increasing L, which has its lowest leaf."""
        size = int(mask).bit_count()
        left = np.empty(2 ** (size - 1) - 1, dtype=np.uint32)
        values = np.empty(len(left))
        self.specialised(inside.split_values)(self.data, V, np.uint64(mask), left, values)
        return left, np.uint32(mask) ^ left, values

    def log_psi_of(self, left: list[int], right: list[int]) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        one, two = np.array(left, dtype=np.uint64), np.array(right, dtype=np.uint64)
        out = np.empty(len(one))
        self.specialised(inside.listed_log_psi)(self.data, one | two, one, two, out)
        return out

    def count(self) -> int:
        """The number of hierarchies of non-zero potential, exactly."""
        return count_hierarchies(self)

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p over hierarchies: that of the splits, each weighted by how probable its parent is."""
        kernel = self.specialised(outside.entropy_clusters)
        return self.expectation(kernel, (self.data, Z), mu, _NEGLIGIBLE)

    def divergence(self, Z: Floats, mu: Floats, other: FullHierarchyPasses, other_Z: Floats) -> float:
        """Σ p log(p/q) over hierarchies; +inf where q = 0 < p."""
        kernel = self.specialised(outside.divergence_clusters, other_log_psi=other.potentials.log_psi)
        return self.expectation(kernel, (self.data, Z, other.data, other_Z), mu)

    def split_log_shares(self, parent: Words, left: Words, right: Words, Z: Floats) -> Floats:
        """log of the probability of each split, given as bit sets, given its parent."""
        P, L, R = (words[:, 0].astype(np.int64) for words in (parent, left, right))
        values = self.log_psi_of(L.tolist(), R.tolist()) + Z[L] + Z[R]
        with np.errstate(invalid="ignore"):
            return np.where(Z[P] > -np.inf, values - Z[P], -np.inf)

    def expected_lca_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        # |lca| telescopes: Σ over clusters C ∋ i, j of |C| where C occurs, minus |parent of C| where it does.
        out = self.pair_sums(self.sizes * mu - self.parent_sizes(Z, mu))
        np.fill_diagonal(out, 1.0)
        return out

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Masks, Floats]:
        """(size, n − 1) clusters of two leaves or more of exact draws, increasing; (size,) log potentials."""
        return draw_masks(self, Z, size, seed)

    @cached_property
    def _both(self) -> tuple[Floats, Floats]:
        return self.solve(self.n)

    def solve(self, n: int) -> tuple[Floats, Floats]:
        """log Z and log M of all clusters of the n lowest leaves, in one compiled call."""
        Z, M = np.empty(1 << n), np.empty(1 << n)
        self.specialised(inside.solve_all)(self.data, self.allowed, n, Z, M)
        return Z, M


def _as_probabilities(mu: Floats) -> Floats:
    # Rounding may leave a sum a few units in the last place above 1.
    mu[0] = 0.0
    return np.minimum(mu, 1.0, out=mu)
