"""The passes over the full trellis for separable models, size by size: `recursions.hierarchies.separable`."""

from __future__ import annotations

from functools import partial

import numpy as np

from palmette.array_types import Floats, Masks
from palmette.passes.hierarchies.descent import Descent, SeparableOutside
from palmette.passes.hierarchies.levels import SPLIT_TIME, Levels
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies.separable import combine, segments
from palmette.recursions.hierarchies.separable.seek import seek_level
from palmette.recursions.hierarchies.separable.segments import SEGMENT, SEGMENT_LEAVES, WITHIN
from palmette.threads import Workers

__all__ = ["SEGMENT_LEAVES", "SeparablePasses"]


class SeparablePasses:
    """Inside, maximum and outside for log ψ = a(P) + b(|P|)·(u(L) + u(R)), more than nine leaves."""

    def __init__(self, tables: SplitTables) -> None:
        self._solve = tables.solve
        self._levels = Levels(tables)
        self._n = tables.clusters.n

    def inside(self) -> Floats:
        """log Z of every cluster."""
        return self.sums()[0]

    def sums(self) -> tuple[Floats, int]:
        """log Z of every cluster, and how many of the sums were left to logarithms."""
        Z = self._first_segment(0)
        logs, powers = np.empty(1 << self._n), np.empty(1 << self._n)
        splits = np.zeros(1 << self._n, np.uint32)
        n_sought = 0
        with self._levels.clusters.workers("summing hierarchies", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                slope = self._levels.tabulate(workers, Z, k, segments.LIFT, logs, powers)
                n_sought += self._sum(workers, k, logs, powers, slope, splits, Z)
        return Z, n_sought

    def _sum(
        self, workers: Workers, k: int, logs: Floats, powers: Floats, slope: float, splits: Masks, Z: Floats
    ) -> int:
        tops, work = self._levels.tops(k)
        left = np.zeros(len(tops), np.int64)
        add = combine.sum_level
        fixed = (slope, self._levels.a, self._levels.allowed, k, tops, left)
        workers.run(lambda i, j: add(logs, powers, *fixed, i, j, WITHIN, splits, Z), work)
        if left.any():
            maxima = self._levels.maxima(workers, logs)
            workers.run(lambda i, j: seek_level(logs, maxima, *fixed, i, j, WITHIN, splits, Z), work * (left > 0))
        return int(left.sum())

    def maximum(self) -> Floats:
        """log M of every cluster."""
        M = self._first_segment(1)
        logs = np.empty(1 << self._n)
        kernel = combine.max_level
        with self._levels.clusters.workers("finding the best hierarchy", self._total_work()) as workers:
            for k in range(2, self._n + 1):
                self._levels.tabulate_logs(workers, M, k, logs)
                tops, work = self._levels.tops(k)
                level = partial(kernel, logs, self._levels.a, self._levels.allowed, k, tops)
                workers.run(lambda i, j, level=level: level(i, j, WITHIN, M), work)  # type: ignore[misc]
        return M

    def outside(self, Z: Floats, parents: bool = False, least: float = 0.0) -> SeparableOutside:
        """μ and the entropy, and ν if `parents`; clusters of a probability of at most `least` count as impossible."""
        return Descent(self._levels, Z, parents, least).run()

    def _first_segment(self, which: int) -> Floats:
        # The clusters of the nine lowest leaves have an empty top; the general kernel does those 512.
        V = np.full(1 << self._n, -np.inf)
        V[:SEGMENT] = self._solve(SEGMENT_LEAVES)[which]
        V[1 << np.arange(self._n)] = 0.0
        return V

    def _total_work(self) -> float:
        return SPLIT_TIME * 0.5 * 3.0**self._n + 2.0 * self._n * 2.0**self._n
