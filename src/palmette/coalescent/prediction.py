"""Distributions of single entries that were not seen: normal ones, or probabilities of states."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.numeric import LOG_2_PI

__all__ = ["Prediction"]


@dataclass(frozen=True, eq=False)
class Prediction:
    """One distribution for each missing entry, in the order of rows, then columns.

    ``entries`` (k, 2): row and column of each. Real-valued data: ``mean`` and ``variance`` (k,); where nothing is known
    (a column without entries, a flat root) the variance is inf, and the mean 0. Sites: ``probabilities`` (k, states),
    by code, 0 beyond the states of a site.
    """

    entries: Ints
    mean: Any = None
    variance: Any = None
    probabilities: Any = None

    @classmethod
    def mixed(cls, weights: Floats, parts: Sequence[Prediction]) -> Prediction:
        """Σ_s weight_s · part_s; normal distributions become the one with the mixture's mean and variance."""
        entries = parts[0].entries
        if parts[0].probabilities is not None:
            return cls(entries, probabilities=np.tensordot(weights, [part.probabilities for part in parts], axes=1))
        means, variances = (np.array([getattr(part, name) for part in parts]) for name in ("mean", "variance"))
        mean = weights @ means
        return cls(entries, mean, weights @ (variances + (means - mean) ** 2))

    def log_density(self, values: Floats) -> Floats:
        """log p(entry = its value), (k,); 0 where the value is NaN, or the entry has no distribution."""
        told = ~np.isnan(values)
        if self.probabilities is None:
            gap = np.where(told, values, self.mean) - self.mean
            return np.where(told & (self.variance < np.inf), _log_normal(gap, self.variance), 0.0)
        chosen = self.probabilities[np.arange(len(values)), np.where(told, values, 0).astype(np.int64)]
        with np.errstate(divide="ignore"):
            return np.where(told, np.log(chosen), 0.0)

    def guess(self) -> tuple[Floats, Floats]:
        """(k,) each: the mean and the standard deviation, or the likeliest state and the probability of another one."""
        if self.probabilities is None:
            return self.mean, np.sqrt(self.variance)
        return self.probabilities.argmax(axis=1), 1 - self.probabilities.max(axis=1)


def _log_normal(gap: Floats, variance: Floats) -> Floats:
    # log N(gap; 0, variance); a variance of 0 is a point.
    safe = np.where((variance > 0.0) & (variance < np.inf), variance, 1.0)
    value = -0.5 * (LOG_2_PI + np.log(safe) + gap**2 / safe)
    return np.where(variance > 0.0, value, np.where(gap == 0.0, np.inf, -np.inf))
