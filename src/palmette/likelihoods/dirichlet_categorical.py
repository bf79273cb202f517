"""Columns of categories of unknown frequencies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import as_integers, check_distribution
from palmette.likelihoods.base import Likelihood, Parameter, check_parameter, per_column, refuse_entries, rising_tables

__all__ = ["DirichletCategorical"]


@inline
def _log_marginal(theta, size, sums):
    # theta[0] columns; for each, how many categories occur in it and where its table of log Γ(A + k)/Γ(A) begins, A the
    # sum of its α; then for each category of each column where its table of log Γ(α + k)/Γ(α) begins. The counts of the
    # categories of all columns follow each other in `sums`.
    total = 0.0
    d = int(theta[0])
    c = 0
    for j in range(d):
        count = 0.0
        for _ in range(int(theta[2 * j + 1])):
            total += theta[int(theta[2 * d + 1 + c] + sums[c])]
            count += sums[c]
            c += 1
        total -= theta[int(theta[2 * j + 2] + count)]
    return total


@dataclass(frozen=True)
class DirichletCategorical(Likelihood):
    """x | p ~ Categorical(p), p ~ Dirichlet(α_1, …, α_K) over K categories, each column on its own.

        m(x) = Γ(A) / Γ(A + n) · Π_k Γ(α_k + n_k) / Γ(α_k),   A = Σ_k α_k

    where n_k entries are of category k. Entries are codes 0, …, K − 1; missing ones (NaN) are not counted.

    Without a `base` all α_k are `concentration`, one number or one per column. K = `n_categories` is an integer, or one
    per column; if it is None, it is 1 + the largest code in the column of the data at hand. Name it where data to come
    may hold other categories.

    `base` is a list of probability vectors q, one per column, which may differ in length: α_k = concentration · q_k, so
    `concentration` is how many rows the prior counts for, and to share a rare category says more than to share a common
    one. ``palmette.coalescent.IndependentSites().given(x).equilibrium`` are the frequencies of x. A category with q = 0
    must not occur.

    >>> import palmette as pal
    >>> round(pal.likelihoods.DirichletCategorical().log_marginal_likelihood([[0], [2], [2]]), 6)  # log 1/30
    -3.401197
    >>> own = pal.likelihoods.DirichletCategorical(2.0, base=[[0.5, 0.25, 0.25]])
    >>> round(own.log_marginal_likelihood([[0], [2], [2]]), 6)  # log 1/32
    -3.465736
    """

    concentration: Parameter = 1.0
    n_categories: int | Sequence[int] | npt.NDArray[np.integer] | None = None
    base: Sequence[Sequence[float] | Floats] | None = None

    log_marginal = staticmethod(_log_marginal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "concentration", check_parameter(self.concentration, "concentration"))
        if self.n_categories is not None:
            object.__setattr__(self, "n_categories", _check_n_categories(self.n_categories))
        if self.base is not None:
            if self.n_categories is not None:
                raise ValueError("base and n_categories are both given; the vectors of base say how many there are")
            laws = [check_distribution(q, f"base of column {j}") for j, q in enumerate(self.base)]
            object.__setattr__(self, "base", tuple(tuple(q.tolist()) for q in laws))

    def statistics(self, points: Floats) -> tuple[Floats, Floats]:
        """(theta, additive) with, for each column, how often each category that occurs does."""
        n, d = points.shape
        is_code = (points >= 0.0) & (points == np.floor(points))
        complaint = "DirichletCategorical takes codes 0, 1, 2, … of categories, and NaN where an entry is missing"
        refuse_entries(points, ~(is_code | np.isnan(points)), complaint)
        found = [np.unique(column[~np.isnan(column)]) for column in points.T]
        totals, alphas = self._with_base(points, found) if self.base is not None else self._symmetric(points, found)
        starts, tables = rising_tables(np.concatenate([totals, alphas]), n)
        first = 1.0 + 2 * d + len(alphas) + starts
        columns = np.column_stack([[len(codes) for codes in found], first[:d]])
        indicators = [column[:, None] == codes for column, codes in zip(points.T, found, strict=True)]
        theta = np.concatenate([[d], columns.reshape(-1), first[d:], tables])
        return theta, np.hstack(indicators).astype(np.float64)

    def _symmetric(self, points: Floats, found: list[Floats]) -> tuple[Floats, Floats]:
        # (d,): A of each column; and α of each category that occurs, column by column.
        concentration = per_column(self.concentration, "concentration", points.shape[1])
        alphas = np.repeat(concentration, [len(codes) for codes in found])
        return self._categories(points) * concentration, alphas

    def _with_base(self, points: Floats, found: list[Floats]) -> tuple[Floats, Floats]:
        # The same of α = concentration · q.
        base: Any = self.base
        if len(base) != points.shape[1]:
            raise ValueError(
                f"base has {len(base)} vectors but points has {points.shape[1]} columns; give one for each"
            )
        concentration = per_column(self.concentration, "concentration", points.shape[1])
        alphas = []
        for j, (q, codes) in enumerate(zip(base, found, strict=True)):
            law = np.asarray(q)
            for code in codes:
                if code >= len(law) or not law[int(code)] > 0.0:
                    why = f"has {len(law)} categories" if code >= len(law) else "gives it probability 0"
                    row = int(np.flatnonzero(points[:, j] == code)[0])
                    raise ValueError(f"points holds category {code:g} at row {row}, column {j}, but base {why} there")
            alphas.append(concentration[j] * law[codes.astype(np.int64)])
        return concentration, np.concatenate(alphas)

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
