"""The passes over the full trellis for any model, in log space: `recursions.hierarchies.inside` and `outside`."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from palmette.array_types import Floats, Masks
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies import inside, outside
from palmette.threads import Workers
from palmette.trellis.counting import n_splits

__all__ = ["GeneralPasses"]


class GeneralPasses:
    """Inside, maximum and outside for any log ψ, level by level."""

    def __init__(self, tables: SplitTables) -> None:
        self._tables = tables
        self._clusters = tables.clusters
        self._n = tables.clusters.n

    def inside(self) -> Floats:
        """log Z of every cluster."""
        return self._bottom_up("summing hierarchies", inside.sum_blocks)

    def maximum(self) -> Floats:
        """log M of every cluster."""
        return self._bottom_up("finding the best hierarchy", inside.max_blocks)

    def _bottom_up(self, title: str, by_blocks: Any) -> Floats:
        # Blocks of the four clusters that differ in leaves 0 and 1, by the size of what they share.
        n = self._n
        table = np.full(1 << n, -np.inf)
        table[1 << np.arange(n)] = 0.0
        if n > 1:
            table[3] = self._tables.solve(2)[0][3]  # one split: sums and maxima of it are the same
        kernel = partial(by_blocks, self._tables.potentials.block)
        blocks = np.argsort(self._clusters.sizes[:: 1 << 2], kind="stable").astype(np.uint32)
        first = 1
        with self._clusters.workers(title, n_splits(n)) as workers:
            for k in range(1, n - 1):
                last = first + math.comb(n - 2, k)
                self._tables.run(workers, kernel, blocks[first:last], 4.5 * 2.0**k, table)
                first = last
        return table

    def outside(self, Z: Floats) -> Floats:
        """μ: the probability that each cluster occurs."""
        mu = np.zeros(1 << self._n)
        mu[-1] = 1.0
        log_weight = np.full(1 << self._n, -np.inf)
        log_weight[-1] = -Z[-1]
        with self._clusters.workers("cluster probabilities", 2.0 * n_splits(self._n)) as workers:
            for k in range(self._n - 1, 0, -1):
                masks = self._clusters.of_size(k)
                self._gather(workers, Z, log_weight, masks, mu)
                with np.errstate(divide="ignore", invalid="ignore"):
                    log_weight[masks] = np.where(mu[masks] > 0.0, np.log(mu[masks]) - Z[masks], -np.inf)
        mu[0] = 0.0
        return np.minimum(mu, 1.0, out=mu)  # rounding may leave a sum a few units in the last place above 1

    def parent_sizes(self, Z: Floats, mu: Floats) -> Floats:
        """ν(C) = Σ_P |P| · P(C occurs, with parent P): the expected size of the parent of C, counted as 0 without C."""
        with np.errstate(divide="ignore", invalid="ignore"):
            log_weight = np.where(mu > 0.0, np.log(mu * self._clusters.sizes) - Z, -np.inf)
        nu = np.zeros(1 << self._n)
        masks = np.arange(1, (1 << self._n) - 1, dtype=np.uint32)
        with self._clusters.workers("sizes of parents", 2.0 * n_splits(self._n)) as workers:
            self._gather(workers, Z, log_weight, masks, nu)
        return nu

    def _gather(self, workers: Workers, Z: Floats, log_weight: Floats, masks: Masks, out: Floats) -> None:
        data = self._tables.data
        work = 2.0 ** (self._n - self._clusters.sizes[masks].astype(np.float64))
        workers.run(lambda a, b: outside.gather_clusters(data, Z, log_weight, masks[a:b], out), work)

    def expectation(self, kernel: Any, context: tuple[Any, ...], mu: Floats, least: float = 0.0) -> float:
        """Σ μ(P)·f(P) over the P of two leaves or more with μ(P) > least, where kernel(*context, masks, out) is f."""
        sizes = self._clusters.sizes
        masks = np.flatnonzero((mu > least) & (sizes >= 2)).astype(np.uint32)
        values = np.zeros(len(masks))
        work = 3.0 * 2.0 ** (sizes[masks].astype(np.float64) - 1)
        with self._clusters.workers("taking an expectation", float(work.sum())) as workers:
            workers.run(lambda a, b: kernel(*context, masks[a:b], values[a:b]), work)
        return float(np.sum(mu[masks] * values))

    def count_modulo(self, modulus: int) -> int:
        """The number of hierarchies of non-zero potential modulo this (0: 2^64)."""
        kernel = inside.count_clusters
        counts = np.zeros(1 << self._n, dtype=np.uint64)
        counts[1 << np.arange(self._n)] = 1
        with self._clusters.workers("counting hierarchies", 3.0 * n_splits(self._n)) as workers:
            for k in range(2, self._n + 1):
                work = 3.0 * 2.0 ** (k - 1)
                self._tables.run(workers, kernel, self._clusters.of_size(k), work, np.uint64(modulus), counts)
        return int(counts[-1])
