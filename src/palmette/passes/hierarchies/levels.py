"""The clusters of one size after the other, for separable models: the tables that their kernels read, in segments."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from palmette.array_types import Floats, Masks
from palmette.clusters import cluster_sizes
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies.separable import segments
from palmette.recursions.hierarchies.separable.segments import SEGMENT, SEGMENT_LEAVES, WITHIN
from palmette.threads import Workers

__all__ = ["SPLIT_TIME", "Levels"]

SPLIT_TIME = 0.3  # nanoseconds, for sharing out the work


class Levels:
    """log ψ = a(P) + b(|P|)·(u(L) + u(R)) on all clusters of more than nine leaves."""

    def __init__(self, tables: SplitTables) -> None:
        self.clusters, self.allowed = tables.clusters, tables.allowed
        self.n = tables.clusters.n
        self.a, self._u, self._b = tables.separable
        self.top_sizes = cluster_sizes(self.n - SEGMENT_LEAVES).astype(np.int64)

    def tabulate(self, workers: Workers, V: Floats, k: int, lift: float, logs: Floats, powers: Floats) -> float:
        """Fill the tables for parents of k leaves; returns the slope α that the powers refer to."""
        slope = self.tabulate_logs(workers, V, k, logs)
        fixed = (self.clusters.sizes, logs, slope, lift)
        self.by_segments(workers, lambda i, j: segments.tabulate_powers(*fixed, i * SEGMENT, j * SEGMENT, powers))
        return slope

    def tabulate_logs(self, workers: Workers, V: Floats, k: int, logs: Floats) -> float:
        """Fill the table of logarithms alone."""
        fixed = (self.clusters.sizes, self._u, V, self._b[k], k)
        slopes = self.by_segments(workers, lambda i, j: segments.tabulate_logs(*fixed, i * SEGMENT, j * SEGMENT, logs))
        return float(max(slopes))

    def maxima(self, workers: Workers, logs: Floats) -> Floats:
        """(segments, 10): the largest of the logs of each segment, by the number of leaves within it."""
        maxima = np.empty((len(self.top_sizes), SEGMENT_LEAVES + 1))
        self.by_segments(workers, lambda i, j: segments.segment_maxima(logs, WITHIN, i, j, maxima))
        return maxima

    def by_segments(self, workers: Workers, call: Callable[[int, int], Any]) -> list[Any]:
        """call(first, last) on slices of the segments, for what takes a nanosecond or so for each cluster."""
        return workers.run(call, np.full(len(self.top_sizes), 1.0 * SEGMENT))

    def tops(self, k: int) -> tuple[Masks, Floats]:
        """The tops of clusters with k leaves, but the empty one, and the work that those of each take."""
        # Half of 2^t splits for t leaves in the top, times 2^r for each choice of the other r.
        rest = [k - t for t in range(self.n - SEGMENT_LEAVES + 1)]
        splits = np.array([0.5 * 2.0**k * math.comb(SEGMENT_LEAVES, r) if r >= 0 else 0.0 for r in rest])
        work = SPLIT_TIME * splits[self.top_sizes]
        tops = np.flatnonzero((self.top_sizes > 0) & (work > 0))
        return tops.astype(np.uint32), work[tops]
