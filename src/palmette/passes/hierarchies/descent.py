"""The outside pass of a separable model: probabilities come down from one size to the next, and the entropy with them.

With p(C | P) = G(C) G(R) / F(P) the entropy is Σ μ(P) log F(P) − Σ P(C occurs, its parent is P) log G(C), which is at
hand. Where β is large that is a difference of large numbers; but then few clusters matter, and a walk is quick.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.passes.hierarchies.levels import SPLIT_TIME, Levels
from palmette.recursions.hierarchies.separable import gather
from palmette.recursions.hierarchies.separable.seek_parents import seek_parents
from palmette.recursions.hierarchies.separable.segments import SEGMENT_LEAVES, WITHIN
from palmette.threads import Workers

__all__ = ["Descent", "SeparableOutside"]

_DIGITS = 1e-9  # an entropy that may be further off than this is left to a walk


class SeparableOutside(NamedTuple):
    """What one outside pass of a separable model comes to."""

    mu: Floats
    """μ(C): the probability that each cluster occurs."""
    nu: Floats
    """ν(C) = Σ_P |P| · P(C occurs, with parent P); empty if it was not asked for."""
    entropy: float | None
    """That of the posterior; None where it is a difference of numbers so large that no nine digits of it are left."""


class Descent:
    """One pass from the root down, given log Z of all clusters; those of μ ≤ `least` count as impossible."""

    def __init__(self, levels: Levels, Z: Floats, parents: bool, least: float) -> None:
        self._levels, self._Z, self._least = levels, Z, least
        n_clusters, n_segments = len(Z), len(levels.top_sizes)
        self._mu, self._outer, self._log_outer = (np.zeros(n_clusters) for _ in range(3))
        self._logs, self._powers, self._sums = (np.zeros(n_clusters) for _ in range(3))
        self._gains = np.empty(0)  # there is room if any parent is weighed in logarithms
        self._nu = np.zeros(n_clusters if parents else 0)
        self._alive, self._log_alive = np.zeros(n_segments, np.uint8), np.zeros(n_segments)
        self._surprise = np.zeros((n_segments, 2))
        self._tops = np.arange(n_segments, dtype=np.uint32)
        # Each size k has about the same share of the 3^n pairs of a cluster and one disjoint from it.
        below = np.exp2(levels.n - SEGMENT_LEAVES - levels.top_sizes, dtype=np.float64)
        self._work = SPLIT_TIME / levels.n * 3.0**SEGMENT_LEAVES * below
        self._mu[-1] = 1.0

    def run(self) -> SeparableOutside:
        """All sizes, the largest first."""
        n = self._levels.n
        total = SPLIT_TIME * 3.0**n + 4.0 * n * 2.0**n
        with self._levels.clusters.workers("cluster probabilities", total) as workers:
            for k in range(n, 1, -1):
                self._level(workers, k)
        return SeparableOutside(np.minimum(self._mu, 1.0, out=self._mu), self._nu, self._entropy())

    def _level(self, workers: Workers, k: int) -> None:
        # What parents of k leaves send down.
        levels, logs, powers, sums = self._levels, self._logs, self._powers, self._sums
        slope = levels.tabulate(workers, self._Z, k, gather.OUTER_LIFT, logs, powers)
        given = (self._Z, levels.a, slope, self._mu, self._least, k)
        weights = (self._outer, self._alive, self._log_outer, self._log_alive, self._surprise)
        levels.by_segments(workers, lambda i, j: gather.weigh(*given, i, j, WITHIN, *weights))
        linear = (self._outer, self._alive, powers, k, self._tops)
        workers.run(lambda i, j: gather.gather_level(*linear, i, j, WITHIN, sums), self._work)
        gains = self._seek_parents(workers, k) if self._log_alive.max() > -np.inf else np.empty(0)
        sent = (levels.clusters.sizes, powers, sums, gains, logs, slope, k)
        levels.by_segments(workers, lambda i, j: gather.collect(*sent, i, j, self._mu, self._nu, self._surprise))

    def _seek_parents(self, workers: Workers, k: int) -> Floats:
        if not len(self._gains):
            self._gains = np.empty(len(self._mu))
        tallest = self._levels.maxima(workers, self._logs).max(axis=1)
        fixed = (self._log_outer, self._log_alive, self._logs, tallest, k, self._tops)
        workers.run(lambda i, j: seek_parents(*fixed, i, j, WITHIN, self._gains), self._work)
        return self._gains

    def _entropy(self) -> float | None:
        entropy, magnitude = self._surprise.sum(axis=0).tolist()
        # Exponents are right to a unit in the last place of the largest log potentials, and so are probabilities.
        largest = max(abs(self._Z[-1]), abs(self._levels.a[-1]))
        rounding = np.finfo(float).eps * (1.0 + largest) * magnitude
        return float(entropy) if rounding < _DIGITS * max(1.0, entropy) else None
