"""The passes over the full trellis for separable models: one size of P after the other, see `recursions.separable`."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Floats, Masks
from palmette.clusters import cluster_sizes
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies.separable import combine, gather, seek, segments
from palmette.recursions.hierarchies.separable.seek_parents import seek_parents
from palmette.recursions.hierarchies.separable.segments import SEGMENT, SEGMENT_LEAVES, WITHIN
from palmette.threads import Workers

__all__ = ["SEGMENT_LEAVES", "SeparableOutside", "SeparablePasses"]

_SPLIT = 0.3  # nanoseconds that a split takes, for sharing out the work
_DIGITS = 1e-9  # an entropy that may be further off than this is left to a walk


class SeparableOutside(NamedTuple):
    """What one outside pass of a separable model comes to."""

    mu: Floats
    """μ(C): the probability that each cluster occurs."""
    nu: Floats
    """ν(C) = Σ_P |P| · P(C occurs, with parent P); empty if it was not asked for."""
    entropy: float | None
    """That of the posterior; None where it is a difference of numbers so large that no nine digits of it are left."""


class SeparablePasses:
    """Inside, maximum and outside for log ψ = a(P) + b(|P|)·(u(L) + u(R)), more than nine leaves."""

    def __init__(self, tables: SplitTables) -> None:
        self._allowed = tables.allowed
        self._solve = tables.solve
        self._clusters = tables.clusters
        self._n = tables.clusters.n
        self._a, self._u, self._b = tables.data
        self._top_sizes = cluster_sizes(self._n - SEGMENT_LEAVES).astype(np.int64)
        #: How many clusters' sums were left to logarithms in the last inside pass.
        self.n_sought = 0

    def inside(self) -> Floats:
        """log Z of every cluster."""
        Z = self._first_segment(0)
        logs, powers = np.empty(1 << self._n), np.empty(1 << self._n)
        splits = np.zeros(1 << self._n, np.uint32)
        self.n_sought = 0
        with self._clusters.workers("summing hierarchies", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                slope = self._tabulate(workers, Z, k, logs, powers, segments.LIFT)
                self._sum(workers, k, logs, powers, slope, splits, Z)
        return Z

    def _sum(
        self, workers: Workers, k: int, logs: Floats, powers: Floats, slope: float, splits: Masks, Z: Floats
    ) -> None:
        tops, work = self._tops(k)
        left = np.zeros(len(tops), np.int64)
        add = combine.sum_level()
        fixed = (slope, self._a, self._allowed, k, tops, left)
        workers.run(lambda i, j: add(logs, powers, *fixed, i, j, WITHIN, splits, Z), work)
        if left.any():
            self.n_sought += int(left.sum())
            maxima = self._maxima(workers, logs)
            seeking = work * (left > 0)
            workers.run(lambda i, j: seek.seek_level(logs, maxima, *fixed, i, j, WITHIN, splits, Z), seeking)

    def maximum(self) -> Floats:
        """log M of every cluster."""
        M = self._first_segment(1)
        logs = np.empty(1 << self._n)
        kernel = combine.max_level()
        with self._clusters.workers("finding the best hierarchy", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                self._tabulate_logs(workers, M, k, logs)
                tops, work = self._tops(k)
                level = partial(kernel, logs, self._a, self._allowed, k, tops)
                workers.run(lambda i, j, level=level: level(i, j, WITHIN, M), work)  # type: ignore[misc]
        return M

    def outside(self, Z: Floats, parents: bool = False, least: float = 0.0) -> SeparableOutside:
        """μ and the entropy, and ν if `parents`; clusters of a probability of at most `least` count as impossible.

        With p(C | P) = G(C) G(R) / F(P) the entropy is Σ μ(P) log F(P) − Σ P(C occurs, its parent P) log G(C), which is
        at hand. Where β is large that is a difference of large numbers; but then few clusters matter: a walk is quick.
        """
        n_clusters, n_segments = 1 << self._n, len(self._top_sizes)
        mu, outer, log_outer, sums, logs, powers = (np.zeros(n_clusters) for _ in range(6))
        nu, gains = np.zeros(n_clusters if parents else 0), np.empty(0)
        alive, log_alive = np.zeros(n_segments, np.uint8), np.zeros(n_segments)
        surprise = np.zeros((n_segments, 2))
        tops = np.arange(n_segments, dtype=np.uint32)
        # Each size k has about the same share of the 3^n pairs of a cluster and one disjoint from it.
        work = 3.0**SEGMENT_LEAVES * np.exp2(self._n - SEGMENT_LEAVES - self._top_sizes, dtype=np.float64)
        work *= _SPLIT / self._n
        mu[-1] = 1.0

        def descend(workers: Workers, k: int) -> None:
            nonlocal gains
            slope = self._tabulate(workers, Z, k, logs, powers, gather.LIFT)
            weights = (outer, alive, log_outer, log_alive, surprise)
            self._by_segments(
                workers, lambda i, j: gather.weigh(Z, self._a, slope, mu, least, k, i, j, WITHIN, *weights)
            )
            workers.run(lambda i, j: gather.gather_level(outer, alive, powers, k, tops, i, j, WITHIN, sums), work)
            if log_alive.max() > -np.inf:
                gains = gains if len(gains) else np.empty(n_clusters)
                tallest = self._maxima(workers, logs).max(axis=1)
                fixed = (log_outer, log_alive, logs, tallest, k, tops)
                workers.run(lambda i, j: seek_parents(*fixed, i, j, WITHIN, gains), work)
            else:
                gains = gains[:0]
            sent = (self._clusters.sizes, powers, sums, gains, logs, slope, k)
            self._by_segments(workers, lambda i, j: gather.collect(*sent, i, j, mu, nu, surprise))

        with self._clusters.workers(
            "cluster probabilities", _SPLIT * 3.0**self._n + 4.0 * self._n * 2.0**self._n
        ) as workers:
            for k in range(self._n, 1, -1):
                descend(workers, k)
        entropy, magnitude = surprise.sum(axis=0).tolist()
        # Exponents are right to a unit in the last place of the largest log potentials, and so are probabilities.
        rounding = np.finfo(float).eps * (1.0 + max(abs(Z[-1]), abs(self._a[-1]))) * magnitude
        close = rounding < _DIGITS * max(1.0, entropy)
        return SeparableOutside(np.minimum(mu, 1.0, out=mu), nu, entropy if close else None)

    def _first_segment(self, which: int) -> Floats:
        # The clusters of the nine lowest leaves have an empty top; the general kernel does those 512.
        V = np.full(1 << self._n, -np.inf)
        V[:SEGMENT] = self._solve(SEGMENT_LEAVES)[which]
        V[1 << np.arange(self._n)] = 0.0
        return V

    def _tabulate(self, workers: Workers, V: Floats, k: int, logs: Floats, powers: Floats, lift: float) -> float:
        # The tables of one size k; returns the slope α that they refer to.
        slope = self._tabulate_logs(workers, V, k, logs)
        fixed = (self._clusters.sizes, logs, slope, lift)
        self._by_segments(workers, lambda i, j: segments.tabulate_powers(*fixed, i * SEGMENT, j * SEGMENT, powers))
        return slope

    def _tabulate_logs(self, workers: Workers, V: Floats, k: int, logs: Floats) -> float:
        fixed = (self._clusters.sizes, self._u, V, self._b[k], k)
        slopes = self._by_segments(workers, lambda i, j: segments.tabulate_logs(*fixed, i * SEGMENT, j * SEGMENT, logs))
        return float(max(slopes))

    def _maxima(self, workers: Workers, logs: Floats) -> Floats:
        maxima = np.empty((len(self._top_sizes), SEGMENT_LEAVES + 1))
        self._by_segments(workers, lambda i, j: segments.segment_maxima(logs, WITHIN, i, j, maxima))
        return maxima

    def _by_segments(self, workers: Workers, call: Callable[[int, int], Any]) -> list[Any]:
        return workers.run(call, np.full(len(self._top_sizes), 1.0 * SEGMENT))

    def _tops(self, k: int) -> tuple[Masks, Floats]:
        # The tops of clusters with k leaves, but the empty one, and the work that those of each take.
        work = self._work_by_top_size(k)[self._top_sizes]
        tops = np.flatnonzero((self._top_sizes > 0) & (work > 0))
        return tops.astype(np.uint32), work[tops]

    def _work_by_top_size(self, k: int) -> Floats:
        # Splits of clusters with k leaves, t of them in the top: half of 2^t, times 2^r for each choice of the other r.
        rest = [k - t for t in range(self._n - SEGMENT_LEAVES + 1)]
        splits = [0.5 * 2.0**k * math.comb(SEGMENT_LEAVES, r) if r >= 0 else 0.0 for r in rest]
        return _SPLIT * np.array(splits)

    def _total_work(self) -> float:
        return _SPLIT * 0.5 * 3.0**self._n + 2.0 * self._n * 2.0**self._n
