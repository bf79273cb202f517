"""The passes over the full trellis for separable models: one size of P after the other, see `recursions.separable`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from palmette.array_types import Floats, Masks
from palmette.clusters import cluster_sizes
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies import inside as general
from palmette.recursions.hierarchies import separable as kernels
from palmette.recursions.semirings import MAXIMUM, SUM, Semiring
from palmette.threads import Workers

__all__ = ["SEGMENT_LEAVES", "SeparablePasses"]


_MIDDLE = 6  # with the three low leaves: segments of 512 clusters, 4 KB
SEGMENT_LEAVES = kernels.LOW + _MIDDLE
_SEGMENT = 1 << SEGMENT_LEAVES


class SeparablePasses:
    """Inside, maximum and outside for log ψ = a(P) + b(|P|)·(u(L) + u(R)), more than nine leaves."""

    def __init__(self, tables: SplitTables) -> None:
        self._tables = tables
        self._clusters = tables.clusters
        self._n = tables.clusters.n
        self._a, self._u, self._b = tables.data
        middles = np.arange(1 << _MIDDLE, dtype=np.uint64)
        sizes = cluster_sizes(_MIDDLE)
        self._middles = middles[np.argsort(sizes, kind="stable")]
        self._offsets = np.searchsorted(np.sort(sizes), np.arange(_MIDDLE + 2)).astype(np.int64)
        self._top_sizes = cluster_sizes(self._n - SEGMENT_LEAVES).astype(np.int64)
        self._slopes = np.zeros(self._n + 1)
        #: Clusters whose sum left the safe range in the last inside pass and went to the general kernel.
        self.n_unsafe = 0

    @property
    def is_safe(self) -> bool:
        """Whether every sum of the last inside pass stayed in the range of float64."""
        return self.n_unsafe == 0

    def inside(self) -> Floats:
        """log Z of every cluster."""
        Z = self._first_segment(0)
        table = np.empty(1 << self._n)
        self.n_unsafe = 0
        with self._clusters.workers("summing hierarchies", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                self._slopes[k] = self._largest_slope(workers, Z, k)
                self._tabulate(workers, Z, k, True, table)
                masks = self._clusters_beyond_first_segment(k)
                Z[masks] = 0.0
                self._combine(workers, SUM, table, k, Z)
                self._finish_sums(workers, k, masks, Z)
        return Z

    def maximum(self) -> Floats:
        """log M of every cluster."""
        M = self._first_segment(1)
        table = np.empty(1 << self._n)
        with self._clusters.workers("finding the best hierarchy", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                self._tabulate(workers, M, k, False, table)
                masks = self._clusters_beyond_first_segment(k)
                self._combine(workers, MAXIMUM, table, k, M)
                M[masks] += self._a[masks]
                if len(self._tables.allowed):
                    M[masks[self._tables.allowed[masks] == 0]] = -np.inf
        return M

    def outside(self, Z: Floats) -> tuple[Floats, Floats]:
        """μ(C), and ν(C) = Σ_P |P| · P(C occurs, with parent P); after an inside pass that was safe."""
        mu, nu, outer, sums, table = (np.zeros(1 << self._n) for _ in range(5))
        mu[-1] = 1.0
        with self._clusters.workers("cluster probabilities", self._n * 3.0**self._n) as workers:
            for k in range(self._n, 1, -1):
                masks = self._clusters.of_size(k)
                masks = masks[mu[masks] > 0.0]
                outer[masks] = mu[masks] * np.exp(-self._log_sums(Z, masks, k))
                self._tabulate(workers, Z, k, True, table)
                self._gather(workers, k, outer, table, sums)
                self._over_clusters(workers, partial(kernels.collect, table, sums, k, mu, nu))
        mu[0] = nu[0] = 0.0
        return np.minimum(mu, 1.0, out=mu), nu

    def _first_segment(self, which: int) -> Floats:
        # The clusters of the nine lowest leaves have an empty top; the general kernel does those 512.
        V = np.full(1 << self._n, -np.inf)
        V[:_SEGMENT] = self._tables.solve(SEGMENT_LEAVES)[which]
        V[1 << np.arange(self._n)] = 0.0
        return V

    def _clusters_beyond_first_segment(self, k: int) -> Masks:
        masks: Masks = self._clusters.of_size(k)
        return masks[np.searchsorted(masks, _SEGMENT) :]

    def _log_sums(self, Z: Floats, masks: Masks, k: int) -> Floats:
        return Z[masks] - self._a[masks] - self._slopes[k] * k  # type: ignore[no-any-return]

    def _largest_slope(self, workers: Workers, V: Floats, k: int) -> float:
        fixed = (self._clusters.sizes, self._u, V, self._b[k], k)
        return float(max(self._over_clusters(workers, lambda i, j: kernels.largest_slope(*fixed, i, j))))

    def _tabulate(self, workers: Workers, V: Floats, k: int, linear: bool, table: Floats) -> None:
        fixed = (self._clusters.sizes, self._u, V, self._b[k], self._slopes[k] if linear else 0.0, k, linear)
        self._over_clusters(workers, lambda i, j: kernels.tabulate(*fixed, i, j, table))

    def _over_clusters(self, workers: Workers, call: Callable[[int, int], Any]) -> list[Any]:
        count = 1 << (self._n - SEGMENT_LEAVES)
        work = np.full(count, 2.0 * _SEGMENT)
        return workers.run(lambda first, last: call(first * _SEGMENT, last * _SEGMENT), work)

    def _combine(self, workers: Workers, semiring: Semiring, table: Floats, k: int, out: Floats) -> None:
        combine = kernels.combine_level(semiring)
        work = self._work_by_top_size(k)[self._top_sizes]
        tops = np.flatnonzero((self._top_sizes > 0) & (work > 0))
        fixed = (table, out, k, _MIDDLE, tops.astype(np.uint32))
        workers.run(lambda i, j: combine(*fixed, i, j, self._middles, self._offsets), work[tops])

    def _gather(self, workers: Workers, k: int, outer: Floats, table: Floats, out: Floats) -> None:
        tops = np.arange(len(self._top_sizes), dtype=np.uint32)
        fixed = (outer, table, out, k, _MIDDLE, tops)
        # Each size k has about the same share of the 3^n pairs of a cluster and one disjoint from it.
        work = 3.0**SEGMENT_LEAVES * np.exp2(self._n - SEGMENT_LEAVES - self._top_sizes, dtype=np.float64)
        workers.run(lambda i, j: kernels.gather_level(*fixed, i, j, self._middles, self._offsets), work)

    def _work_by_top_size(self, k: int) -> Floats:
        # Splits of clusters with k leaves, t of them in the top: half of 2^t, times 2^r for each choice of the other r.
        rest = [k - t for t in range(self._n - SEGMENT_LEAVES + 1)]
        return np.array([0.5 * 2.0**k * math.comb(SEGMENT_LEAVES, r) if r >= 0 else 0.0 for r in rest])

    def _total_work(self) -> float:
        return 0.5 * 3.0**self._n + 4.0 * self._n * 2.0**self._n

    def _finish_sums(self, workers: Workers, k: int, masks: Masks, Z: Floats) -> None:
        tables = self._tables

        def finish(first: int, last: int) -> int:
            return int(kernels.finish_sums(self._a, self._slopes[k] * k, tables.allowed, masks[first:last], Z))

        if sum(workers.run(finish, np.full(len(masks), 10.0))):
            unsafe = masks[np.isnan(Z[masks])]
            kernel = general.inside_clusters(tables.log_psi)
            tables.run(workers, kernel, unsafe, 4.0 * 2.0**k, Z)
            self.n_unsafe += len(unsafe)
        small = self._clusters.of_size(k)
        small = small[: np.searchsorted(small, _SEGMENT)]
        small = small[Z[small] > -np.inf]
        self.n_unsafe += int((self._log_sums(Z, small, k) < math.log(kernels.SMALLEST_SUM)).sum())
