"""Columns of zeros and ones of unknown frequency."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.likelihoods.base import Likelihood, Parameter, check_parameter, per_column, refuse_entries, rising_tables

__all__ = ["BetaBernoulli"]


@inline
def _log_marginal(theta, size, sums):
    # Column j: where its tables of log Γ(a + k)/Γ(a), the same for b and for a + b, begin.
    total = 0.0
    for j in range(sums.size // 2):
        zeros, ones = sums[2 * j], sums[2 * j + 1]
        total += theta[int(theta[3 * j] + ones)] + theta[int(theta[3 * j + 1] + zeros)]
        total -= theta[int(theta[3 * j + 2] + ones + zeros)]
    return total


@dataclass(frozen=True)
class BetaBernoulli(Likelihood):
    """x | p ~ Bernoulli(p), p ~ Beta(a, b), each column on its own: m(x) = B(a + ones, b + zeros) / B(a, b).

    `a` and `b` are single numbers, or sequences of one per column. Entries are 0 or 1; missing ones (NaN) are not
    counted.

    >>> import palmette as pal
    >>> round(pal.likelihoods.BetaBernoulli().log_marginal_likelihood([[1, 0], [1, 1]]), 6)  # log 1/3 + log 1/6
    -2.890372
    """

    a: Parameter = 1.0
    b: Parameter = 1.0

    log_marginal = staticmethod(_log_marginal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "a", check_parameter(self.a, "a"))
        object.__setattr__(self, "b", check_parameter(self.b, "b"))

    def statistics(self, points: Floats) -> tuple[Floats, Floats]:
        """(theta, additive) with, for each column, the numbers of zeros and of ones."""
        n, d = points.shape
        complaint = (
            "BetaBernoulli takes 0, 1, and NaN where an entry is missing "
            "(DirichletCategorical takes more than two categories)"
        )
        refuse_entries(points, ~(np.isin(points, (0.0, 1.0)) | np.isnan(points)), complaint)
        a, b = per_column(self.a, "a", d), per_column(self.b, "b", d)
        starts, tables = rising_tables(np.column_stack([a, b, a + b]), n)
        additive = np.stack([points == 0.0, points == 1.0], axis=2).astype(np.float64)
        return np.concatenate([(3.0 * d + starts).reshape(-1), tables]), additive.reshape(n, -1)
