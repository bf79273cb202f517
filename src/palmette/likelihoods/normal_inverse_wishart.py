"""Normal rows of unknown mean and covariance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from palmette._jit import inline, maker
from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.likelihoods.base import Likelihood, Parameter, check_parameter, check_single, per_column
from palmette.likelihoods.normal_gamma import centre, check_spread, log_half_rising

__all__ = ["NormalInverseWishart"]


@inline
def _log_determinant(sums, size, factor, gap):
    # log det(1 + S) for the scatter matrix S, by Cholesky; `gap` is divided by the factor on the way.
    # What is added to 1 on the diagonal is kept apart from it, so that small S keeps its digits.
    r = gap.size
    total = 0.0
    at = r
    for i in range(r):
        mean = sums[i] / size
        for j in range(i + 1):
            value = sums[at] - mean * sums[j]
            at += 1
            for k in range(j):
                value -= factor[i, k] * factor[j, k]
            if j < i:
                factor[i, j] = value / factor[j, j]
            else:
                value = max(value, 0.0)
                factor[i, i] = math.sqrt(1.0 + value)
                total += math.log1p(value)
        for k in range(i):
            gap[i] -= factor[i, k] * gap[k]
        gap[i] /= factor[i, i]
    return total


@maker
def _log_marginal(theta, size, sums):
    # theta: the number of coordinates, pseudo-count, degrees of freedom, squared distance of the prior mean from the
    # span of the data, its coordinates; then a table by size. det(B + w g gᵀ) = det(B) (1 + w gᵀ B⁻¹ g).
    r = int(theta[0])
    weight = theta[1] * size / (theta[1] + size)
    factor = np.empty((r, r))
    gap = np.empty(r)
    for i in range(r):
        gap[i] = sums[i] / size - theta[4 + i]
    within = _log_determinant(sums, size, factor, gap)
    squared = theta[3]
    for i in range(r):
        squared += gap[i] * gap[i]
    return theta[4 + r + size] - 0.5 * (theta[2] + size) * (within + math.log1p(weight * squared))


@dataclass(frozen=True)
class NormalInverseWishart(Likelihood):
    """x | μ, Σ ~ N(μ, Σ), μ | Σ ~ N(mean, Σ / pseudo_count), Σ ~ InverseWishart(degrees_of_freedom, scale).

    With k = pseudo_count + n, f = degrees_of_freedom and the scatter matrix S of n rows of d columns about their mean,

        m(x) = π^(−nd/2) · (pseudo_count / k)^(d/2) · Γ_d((f + n)/2) / Γ_d(f/2) · |scale|^(f/2) / |scale_n|^((f + n)/2),
        scale_n = scale + S + pseudo_count · n (x̄ − mean)(x̄ − mean)ᵀ / k.

    Columns may be correlated within a cluster, and there may be more columns than rows. Rows must be complete; where
    entries are missing, use `NormalGamma`. `mean` is one number, or one per column. `degrees_of_freedom` exceeds d − 1;
    unless given, it is d + 2. `scale` is a positive definite (d, d) matrix, or a number that stands for so many times
    the identity; unless given, it is the identity. Covariances are scale / (degrees_of_freedom − d − 1) on average.

    >>> import palmette as pal
    >>> round(pal.likelihoods.NormalInverseWishart().log_marginal_likelihood([[0.0, 1.0], [1.0, 3.0]]), 6)
    -7.98082
    """

    mean: Parameter = 0.0
    pseudo_count: float = 1.0
    degrees_of_freedom: float | None = None
    scale: Any = None

    log_marginal = staticmethod(_log_marginal)

    def __post_init__(self) -> None:
        object.__setattr__(self, "mean", check_parameter(self.mean, "mean", positive=False))
        object.__setattr__(self, "pseudo_count", check_single(self.pseudo_count, "pseudo_count"))
        for name, check in {"degrees_of_freedom": check_single, "scale": _check_scale}.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(getattr(self, name), name))

    def statistics(self, points: Floats) -> tuple[Floats, Floats]:
        """(theta, additive) with the sums, and the sums of products, of the coordinates of the rows in their span."""
        n, d = points.shape
        _check_complete(points)
        freedom = self._degrees_of_freedom(d)
        factor = self._scale_factor(d)
        centred, centres = centre(points)
        rows = solve_triangular(factor, centred.T, lower=True).T
        gap = solve_triangular(factor, per_column(self.mean, "mean", d) - centres, lower=True)
        check_spread(rows * math.sqrt(max(0.5 * (freedom - d + 1), 1.0)), "scale")
        axes = _span(rows)
        coordinates, mean = rows @ axes, gap @ axes
        beyond = float(np.square(gap - axes @ mean).sum())
        one, two = np.tril_indices(axes.shape[1])
        additive = np.hstack([coordinates, coordinates[:, one] * coordinates[:, two]])
        table = self._constants(n, d, freedom, 2.0 * float(np.log(np.diag(factor)).sum()))
        return np.concatenate([[axes.shape[1], self.pseudo_count, freedom, beyond], mean, table]), additive

    def _constants(self, n: int, d: int, freedom: float, log_determinant: float) -> Floats:
        # (n + 1,): what of log m depends on the number of rows only.
        counts = np.arange(n + 1.0)
        gammas = log_half_rising(0.5 * (freedom - np.arange(d)), n).sum(axis=0)
        volume = 0.5 * counts * (d * math.log(math.pi) + log_determinant)
        return np.asarray(gammas - 0.5 * d * np.log1p(counts / self.pseudo_count) - volume)

    def _degrees_of_freedom(self, d: int) -> float:
        if self.degrees_of_freedom is None:
            return d + 2.0
        if not (given := self.degrees_of_freedom) > d - 1:
            raise ValueError(f"degrees_of_freedom is {given:g}; for {d} columns it must be above {d - 1}")
        return given

    def _scale_factor(self, d: int) -> Floats:
        # The lower Cholesky factor of the (d, d) scale matrix.
        scale = np.asarray(1.0 if self.scale is None else self.scale)
        if scale.ndim == 0:
            return np.asarray(np.sqrt(scale) * np.eye(d))
        if len(scale) != d:
            raise ValueError(f"scale has shape {scale.shape} but points has {d} columns; expected ({d}, {d})")
        return np.asarray(np.linalg.cholesky(scale))


def _span(rows: Floats) -> Floats:
    # (d, r): an orthonormal basis of the span of the rows, r ≤ min(n, d); what rounding adds to it is left out.
    _, lengths, axes = np.linalg.svd(rows, full_matrices=False)
    smallest = np.finfo(np.float64).eps * max(rows.shape) * lengths[0]
    return np.asarray(axes[lengths > smallest].T)


def _check_complete(points: Floats) -> None:
    bad = np.argwhere(np.isnan(points))
    if len(bad):
        i, j = bad[0]
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ValueError(
            f"points holds NaN at row {i}, column {j}{more}; NormalInverseWishart needs complete rows: "
            f"fill or drop what is missing, or use NormalGamma, which leaves it out"
        )


def _check_scale(value: Any, name: str) -> float | tuple[tuple[float, ...], ...]:
    if np.ndim(value) == 0:
        return check_single(value, name)
    shape = np.shape(value)
    if len(shape) != 2 or shape[0] != shape[1]:
        raise ValueError(f"scale has shape {shape}; expected one number, or a square matrix")
    matrix = check_points(value, name)
    check_parameter(np.diag(matrix), "the diagonal of scale")
    if not np.allclose(matrix, matrix.T, rtol=0.0, atol=1e-9 * np.abs(matrix).max()):
        raise ValueError("scale is not symmetric; symmetrise it first, e.g. (scale + scale.T) / 2")
    matrix = (matrix + matrix.T) / 2
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        lowest = np.linalg.eigvalsh(matrix)[0]
        raise ValueError(f"scale is not positive definite: its smallest eigenvalue is {lowest:.3g}") from None
    return tuple(map(tuple, matrix.tolist()))
