"""Normal columns of unknown mean and precision."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.likelihoods.base import (
    Likelihood,
    Parameter,
    check_parameter,
    check_single,
    log_rising,
    per_column,
    refuse_entries,
)

__all__ = ["NormalGamma", "centre", "check_spread", "log_half_rising"]

_PARAMETERS = ("mean", "pseudo_count", "shape", "rate")
_LARGEST = 1e100
_LOST = 1e-9  # what rounding may do to a sum of squares, relative to the prior's own
_ROWS = 25  # of more rows the log marginal likelihood grows with their number, and its error may do the same
_PSEUDO_COUNTS = (1e-3, 1e2)  # of clusters 30 times as far apart as they are wide, and of clusters that are all alike
_ELSEWHERE = 4.0  # some of the rows have another mean, and lie up to twice as far from it


@inline
def _log_marginal(theta, size, sums):
    # Column j: where its table begins, shape, pseudo-count and mean; then the tables. In units of √(2 rate).
    total = 0.0
    for j in range(sums.size // 3):
        count = sums[3 * j]
        if count > 0.0:
            at, shape, weight = theta[4 * j], theta[4 * j + 1], theta[4 * j + 2]
            mean = sums[3 * j + 1] / count
            gap = mean - theta[4 * j + 3]
            within = max(sums[3 * j + 2] - mean * sums[3 * j + 1], 0.0)
            between = count * weight / (count + weight) * gap * gap
            total += theta[int(at + count)] - (shape + 0.5 * count) * math.log1p(within + between)
    return total


@dataclass(frozen=True)
class NormalGamma(Likelihood):
    """x | μ, λ ~ N(μ, 1/λ), μ | λ ~ N(mean, 1/(pseudo_count · λ)), λ ~ Gamma(shape, rate), each column on its own.

    With k = pseudo_count + n, a = shape + n/2 and b = rate + ½ Σ(x − x̄)² + pseudo_count · n (x̄ − mean)² / 2k,

        m(x) = (2π)^(−n/2) · (pseudo_count / k)^½ · rate^shape / b^a · Γ(a) / Γ(shape).

    Each parameter is one number, or a sequence of one per column. Missing entries (NaN) are not counted: n is the
    number of entries that are there. `rate / shape` is about the variance expected within a cluster, so set it
    from what you know of the data; pseudo_count below 1 lets the clusters lie further apart than their width.

    >>> import palmette as pal
    >>> round(pal.likelihoods.NormalGamma().log_marginal_likelihood([[0.0], [1.0]]), 6)
    -2.962547
    """

    mean: Parameter = 0.0
    pseudo_count: Parameter = 1.0
    shape: Parameter = 1.0
    rate: Parameter = 1.0

    log_marginal = staticmethod(_log_marginal)

    def __post_init__(self) -> None:
        for name in _PARAMETERS:
            object.__setattr__(self, name, check_parameter(getattr(self, name), name, positive=name != "mean"))

    @classmethod
    def expecting(
        cls, within: float, *, variance: Parameter = 1.0, mean: Parameter = 0.0, shape: Parameter = 1.0
    ) -> Self:
        """Columns of which the share `within` of a variance is expected within clusters, the rest between their means.

        rate / shape = within · variance, and pseudo_count = within / (1 − within). `variance` and `mean` are those of
        all rows; unless given, columns are taken to be standardised.

        >>> import palmette as pal
        >>> pal.likelihoods.NormalGamma.expecting(0.2)
        NormalGamma(mean=0.0, pseudo_count=0.25, shape=1.0, rate=0.2)
        """
        if not 0.0 < within < 1.0:
            raise ValueError(f"within is {within}; it is a share of the variance, between 0 and 1")
        rate = np.asarray(shape, dtype=np.float64) * within * np.asarray(variance, dtype=np.float64)
        return cls(mean, within / (1.0 - within), shape, _as_given(rate))

    @property
    def free_parameters(self) -> dict[str, float]:
        """`pseudo_count`, if all columns share it: the variance within clusters over that between their means."""
        return {"pseudo_count": self.pseudo_count} if isinstance(self.pseudo_count, float) else {}

    def parameter_ranges(self, points: Floats) -> Mapping[str, tuple[float, float]]:
        """From 1/1000, or as far down as sums of squares keep their digits, to 100."""
        if not self.free_parameters:
            return {}
        n, d = points.shape
        low, high = _PSEUDO_COUNTS
        shape, rate = (per_column(getattr(self, name), name, d) for name in ("shape", "rate"))
        unit = np.sqrt(self._total(rate) / np.maximum(shape, 1.0))
        widest = np.nan_to_num(np.abs(centre(points)[0] / unit)).max(axis=0)
        lost = min(_ELSEWHERE * float(_excess(widest, n).max()), 1.0)
        low = max(low, lost / (1.0 - lost)) if lost < 1.0 else high
        return {"pseudo_count": (low, high)} if low < high else {}

    def with_parameters(self, *, pseudo_count: float | None = None) -> Self:  # type: ignore[override]
        """Another `pseudo_count`, and the `rate` that goes with it.

        What is expected of all rows together, within clusters and between their means, stays as it is:
        rate / shape · (1 + 1 / pseudo_count). Only how it is shared out differs.

        >>> NormalGamma(pseudo_count=0.25, rate=0.2).with_parameters(pseudo_count=1.0)
        NormalGamma(mean=0.0, pseudo_count=1.0, shape=1.0, rate=0.5)
        """
        if pseudo_count is None:
            return self
        if not self.free_parameters:
            raise TypeError("pseudo_count differs from column to column, and no single number can take its place")
        rate = self._total(np.asarray(self.rate)) / (1.0 + 1.0 / check_single(pseudo_count, "pseudo_count"))
        return replace(self, pseudo_count=pseudo_count, rate=_as_given(rate))

    def _total(self, rate: Floats) -> Floats:
        # What the rate would be if all that is expected of the rows were within clusters.
        return rate * (1.0 + 1.0 / np.asarray(self.pseudo_count))

    def statistics(self, points: Floats) -> tuple[Floats, Floats]:
        """(theta, additive) with, for each column, the count, the sum and the sum of squares of what is there."""
        n, d = points.shape
        mean, weight, shape, rate = (per_column(getattr(self, name), name, d) for name in _PARAMETERS)
        centred, centres = centre(points)
        check_spread(centred * np.sqrt(np.maximum(shape, 1.0) / rate), "rate")
        unit = np.sqrt(2.0 * rate)
        present = ~np.isnan(points)
        scaled = np.where(present, centred / unit, 0.0)
        distinct, which = np.unique(np.column_stack([weight, shape, rate]), axis=0, return_inverse=True)
        starts = 4.0 * d + which.reshape(-1) * (n + 1.0)
        columns = np.column_stack([starts, shape, weight, (mean - centres) / unit])
        additive = np.stack([present, scaled, scaled * scaled], axis=2)
        return np.concatenate([columns.reshape(-1), _constants(distinct, n).reshape(-1)]), additive.reshape(n, -1)


def _as_given(values: Floats) -> Parameter:
    # One number, or one per column, as parameters are kept.
    return tuple(values.tolist()) if values.ndim else float(values)


def _constants(parameters: Floats, n: int) -> Floats:
    # (u, n + 1): what of log m depends on the count k of entries only.
    weight, shape, rate = parameters.T[:, :, None]
    counts = np.arange(n + 1.0)
    gammas = log_half_rising(shape[:, 0], n)
    return np.asarray(gammas - 0.5 * np.log1p(counts / weight) - 0.5 * counts * np.log(2.0 * np.pi * rate))


def log_half_rising(start: npt.ArrayLike, n: int) -> Floats:
    """(u, n + 1): log Γ(a + k/2) − log Γ(a) for each a of `start` and k = 0, …, n.

    >>> log_half_rising([1.0], 4).round(6)
    array([[ 0.      , -0.120782,  0.      ,  0.284683,  0.693147]])
    """
    a = np.asarray(start, dtype=np.float64)
    out = np.empty((len(a), n + 1))
    out[:, ::2] = log_rising(a, n // 2)
    out[:, 1::2] = (_half_step(a)[:, None] + log_rising(a + 0.5, n // 2))[:, : (n + 1) // 2]
    return out


def _half_step(a: Floats) -> Floats:
    # log Γ(a + ½) − log Γ(a); by its asymptotic series where the difference would lose digits.
    inverse = 1.0 / np.maximum(a, 50.0)
    square = inverse * inverse
    series = 0.5 * np.log(a) - inverse * (1 / 8 - square * (1 / 192 - square * (1 / 640 - square * 17 / 14336)))
    return np.where(a < 50.0, gammaln(a + 0.5) - gammaln(a), series)


def centre(points: Floats) -> tuple[Floats, Floats]:
    """The points minus the mean of what is there in each column, and these means (0 where nothing is)."""
    refuse_entries(points, np.abs(points) > _LARGEST, f"entries beyond {_LARGEST:g} overflow")
    counts = np.maximum((~np.isnan(points)).sum(axis=0), 1)
    centres = np.nansum(points / counts, axis=0)
    return points - centres, centres


def check_spread(widths: Floats, name: str) -> None:
    """Refuse columns so wide, in widths of the prior, that Σx² − (Σx)²/n would have lost its digits."""
    widest = np.nan_to_num(np.abs(widths)).max(axis=0)
    excess = _excess(widest, len(widths))
    if np.any(excess > 1.0):
        j = int(np.argmax(excess > 1.0))
        raise ValueError(
            f"column {j} of points reaches {widest[j]:.3g} widths of the prior from its mean, so that sums of squares "
            f"would lose their digits; divide it by a constant, or multiply {name} by {1.1 * excess[j]:.2g} or more"
        )


def _excess(widest: Floats, n: int) -> Floats:
    # How much more than is allowed a sum of n squares may have lost, if rows reach so many widths of the prior.
    with np.errstate(over="ignore"):
        return np.asarray(np.finfo(np.float64).eps / _LOST * min(n, _ROWS) * np.square(widest))
