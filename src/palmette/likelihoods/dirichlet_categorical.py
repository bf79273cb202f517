"""Columns of categories of unknown frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import as_integers
from palmette.likelihoods.base import Likelihood, Parameter, check_parameter, per_column, refuse_entries, rising_tables

__all__ = ["DirichletCategorical"]


@inline
def _log_marginal(theta, size, sums):
    # theta[0] columns; column j: how many categories occur in it, and where its tables of log Γ(α + k)/Γ(α) and the
    # same for Kα begin. The counts of the categories of all columns follow each other in `sums`.
    total = 0.0
    c = 0
    for j in range(int(theta[0])):
        at = theta[3 * j + 2]
        count = 0.0
        for _ in range(int(theta[3 * j + 1])):
            total += theta[int(at + sums[c])]
            count += sums[c]
            c += 1
        total -= theta[int(theta[3 * j + 3] + count)]
    return total


@dataclass(frozen=True)
class DirichletCategorical(Likelihood):
    """x | p ~ Categorical(p), p ~ Dirichlet(α, …, α) over K categories, each column on its own.

        m(x) = Γ(Kα) / Γ(Kα + n) · Π_k Γ(α + n_k) / Γ(α)

    where n_k entries are of category k. α = `concentration` is one number, or one per column. Entries are codes
    0, …, K − 1; missing ones (NaN) are not counted. K = `n_categories` is an integer, or one per column; if it is None,
    it is 1 + the largest code in the column of the data at hand. Name it where data to come may hold other categories.

    >>> import palmette as pal
    >>> round(pal.likelihoods.DirichletCategorical().log_marginal_likelihood([[0], [2], [2]]), 6)  # log 1/30
    -3.401197
    """

    concentration: Parameter = 1.0
    n_categories: int | Sequence[int] | npt.NDArray[np.integer] | None = None

    log_marginal = staticmethod(_log_marginal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "concentration", check_parameter(self.concentration, "concentration"))
        if self.n_categories is not None:
            object.__setattr__(self, "n_categories", _check_n_categories(self.n_categories))

    def statistics(self, points: Floats) -> tuple[Floats, Floats]:
        """(theta, additive) with, for each column, how often each category that occurs does."""
        n, d = points.shape
        is_code = (points >= 0.0) & (points == np.floor(points))
        complaint = "DirichletCategorical takes codes 0, 1, 2, … of categories, and NaN where an entry is missing"
        refuse_entries(points, ~(is_code | np.isnan(points)), complaint)
        concentration = per_column(self.concentration, "concentration", d)
        starts, tables = rising_tables(np.column_stack([concentration, self._categories(points) * concentration]), n)
        indicators = [column[:, None] == np.unique(column[~np.isnan(column)]) for column in points.T]
        columns = np.column_stack([[block.shape[1] for block in indicators], 1.0 + 3.0 * d + starts])
        return np.concatenate([[d], columns.reshape(-1), tables]), np.hstack(indicators).astype(np.float64)

    def _categories(self, points: Floats) -> Floats:
        # (d,): K for each column.
        largest = np.nan_to_num(points).max(axis=0)
        if self.n_categories is None:
            return np.asarray(largest + 1.0)
        allowed = per_column(self.n_categories, "n_categories", points.shape[1])
        if (largest >= allowed).any():
            j = int(np.argmax(largest >= allowed))
            raise ValueError(
                f"points holds category {largest[j]:g} at row {np.nanargmax(points[:, j])}, column {j}, "
                f"but n_categories is {allowed[j]:g} there: codes run from 0 to {allowed[j] - 1:g}"
            )
        return allowed


def _check_n_categories(value: int | Sequence[int] | npt.NDArray[np.integer]) -> int | tuple[int, ...]:
    array = as_integers(value, "n_categories")
    if array.ndim > 1:
        raise ValueError(f"n_categories has shape {array.shape}; give one integer, or one per column")
    if (array < 1).any():
        raise ValueError(f"n_categories is {array.min()}; a column has at least one category")
    return tuple(array.tolist()) if array.ndim else int(array)
