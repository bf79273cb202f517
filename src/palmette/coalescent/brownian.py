"""Brownian motion: dy = Λ^(1/2) dB along every branch, so that states s apart differ by N(0, s Λ).

On complete data, in coordinates where Λ is the identity, a lineage is a Gaussian N(y; ŷ, v I) times a constant:

    log Z(s) = −(D/2) log(2π(v_l + v_r + s)) − |ŷ_l − ŷ_r|² / 2(v_l + v_r + s)
    v = A B/(A + B),  ŷ = (B ŷ_l + A ŷ_r)/(A + B),  A = v_l + l_l,  B = v_r + l_r
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import inline, reduction
from palmette.array_types import Floats
from palmette.checks import check_non_negative, check_points
from palmette.coalescent.brownian_entries import draw_numbers, predict_numbers
from palmette.coalescent.brownian_missing import ByColumn, Coupled
from palmette.coalescent.durations import stream_key
from palmette.coalescent.inverse_gaussian import draw_truncated, log_truncated_integral
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.motion import check_positive_definite, square_root, whitened
from palmette.coalescent.priors import Prior
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.walks import walk_numbers
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.numeric import LOG_2_PI

__all__ = ["Brownian", "Gaussian"]

_LARGEST = 1e140  # of a whitened entry: sums of squares stay finite


@dataclass(frozen=True, eq=False)
class Gaussian:
    """y ~ N(mean, variance · Λ): the state of the last lineage at the last event.

    `mean` is one number or one per column; `variance` ≥ 0 is in units of Λ, that is, a time.
    """

    mean: Any = 0.0
    variance: float = 1.0

    def __post_init__(self) -> None:
        mean = np.array(self.mean, dtype=np.float64)
        if mean.ndim > 1 or not np.isfinite(mean).all():
            raise ValueError(f"the mean of the root is {self.mean!r}; give one finite number, or one per column")
        object.__setattr__(self, "mean", read_only(mean))
        object.__setattr__(self, "variance", check_non_negative("the variance of the root", self.variance))


class Brownian(Process):
    """x_i = y_i(0), dy = Λ^(1/2) dB along the branches: real-valued data, NaN where an entry is missing.

    `rate` is Λ: one number, a vector (D,) of variances per unit of time, or a positive definite (D, D) matrix. `root`
    is "flat" (an improper uniform law: only differences between rows count, and the log likelihood is that of n − 1
    contrasts) or a `Gaussian`. `leaf_variance` adds N(0, leaf_variance · Λ) to every row, which keeps the density
    finite where rows are identical: without it, their best duration is 0 and the density there infinite.

    Time is in units in which two lineages meet at rate 1, so Λ sets the scale of the data: the sample covariance is an
    unbiased guess.

    Complete data cost O(D) per event whatever Λ is, missing entries O(D) if Λ is diagonal and O(D³) if it is not.

    >>> import palmette.coalescent as coalescent
    >>> from palmette.hierarchy import Hierarchy
    >>> pair = Hierarchy.from_merges([[0, 1]], heights=[0.5])
    >>> round(coalescent.log_likelihood([[0.0], [1.0]], pair, Brownian()), 6)  # log N(1; 0, 0.5 + 0.5)
    -1.418939
    """

    predict_entries, draw_entries, walk = predict_numbers, draw_numbers, walk_numbers

    def __init__(
        self,
        rate: npt.ArrayLike = 1.0,
        root: Gaussian | Literal["flat"] = "flat",
        leaf_variance: float = DEFAULTS.leaf_variance,
    ) -> None:
        self.rate = _check_rate(rate)
        if not (isinstance(root, Gaussian) or root == "flat"):
            raise TypeError(f'root is {root!r}; give "flat" or a Gaussian(mean, variance)')
        self.root = root
        self.leaf_variance = check_non_negative("leaf_variance", leaf_variance)

    def __repr__(self) -> str:
        return f"Brownian(rate={self.rate.tolist()}, root={self.root!r}, leaf_variance={self.leaf_variance:g})"

    def prepare(self, x: npt.ArrayLike) -> Prepared:
        """The rows of x, (n, D) with NaN where missing, as messages."""
        points = check_points(x, "x", missing=True, columns=True)
        rate, mean = self.on_columns(points.shape[1])
        is_missing = bool(np.isnan(points).any())
        scale = square_root(np.diag(rate) if is_missing and rate.ndim == 2 else rate)
        white, centre = whitened(points, scale), whitened(mean[None], scale)[0]
        _check_size(white)
        log_constant = self._log_scale(points, scale)
        if is_missing and rate.ndim == 2:
            theta = self._theta(centre, (rate / np.outer(scale, scale)).reshape(-1))
            return Coupled.messages(white, theta, self.leaf_variance, log_constant)
        if is_missing:
            return ByColumn.messages(white, self._theta(centre), self.leaf_variance, log_constant)
        leaves = np.column_stack([np.full(len(white), self.leaf_variance), white])
        return Prepared(Brownian, self._theta(centre), leaves, 2, log_constant)

    def on_columns(self, n_columns: int) -> tuple[Floats, Floats]:
        """Λ, (D,) or (D, D), and the mean of the root, (D,), for this number of columns."""
        if self.rate.ndim and len(self.rate) != n_columns:
            raise ValueError(f"rate has shape {self.rate.shape} but x has {n_columns} columns; give one entry for each")
        mean = self.root.mean if isinstance(self.root, Gaussian) else np.zeros(n_columns)
        if mean.ndim and len(mean) != n_columns:
            raise ValueError(f"the root has a mean of {len(mean)} entries but x has {n_columns} columns")
        rate = self.rate if self.rate.ndim == 2 else np.broadcast_to(self.rate, n_columns)
        if rate.ndim == 2 and not (rate - np.diag(np.diag(rate))).any():
            rate = np.diag(rate)
        return rate, np.broadcast_to(mean, n_columns)

    def _theta(self, mean: Floats, more: Floats | tuple[()] = ()) -> Floats:
        return np.concatenate([[len(mean), isinstance(self.root, Gaussian), self.root_variance], mean, more])

    @property
    def root_variance(self) -> float:
        """The variance of the root in units of Λ; 0 for a flat one, which has none."""
        return self.root.variance if isinstance(self.root, Gaussian) else 0.0

    def with_rate(self, rate: npt.ArrayLike) -> Brownian:
        """The same process with another Λ."""
        return Brownian(rate, self.root, self.leaf_variance)

    def with_density(self, x: npt.ArrayLike) -> Brownian:
        """The same process with a Gaussian root of the variance of the data, unless it has one with a variance."""
        if self.root_variance > 0.0:
            return self
        self.prepare(x)  # complains about x, if there is reason to
        points = check_points(x, "x", missing=True)
        counts = (~np.isnan(points)).sum(axis=0)
        centre = np.nansum(points / np.maximum(counts, 1), axis=0)
        mean = self.root.mean if isinstance(self.root, Gaussian) else centre
        return Brownian(self.rate, Gaussian(mean, _variance(points - centre, self.rate)), self.leaf_variance)

    def first_guess(self, points: Floats, scale: str | None, leaf_ages: npt.ArrayLike | None) -> Brownian:
        """The same process with the trace of Λ from the data, unless `scale` is None."""
        from palmette.coalescent.estimate_brownian import by_moments

        if scale == "em" and np.ptp(check_leaf_ages(leaf_ages, len(points))) > 0:
            raise ValueError('scale="em" takes leaves of one age only; with others use "moments" or None')
        return self if scale is None else by_moments(points, self, leaf_ages)

    def refitted(self, points: Floats, hierarchy: Hierarchy, prior: Prior | None, scale: str | None) -> Brownian:
        """The shape of Λ from the contrasts of a history, and with `scale` "em" a step towards its trace."""
        from palmette.coalescent.estimate_brownian import estimate_scale, estimate_shape

        found = estimate_shape(points, hierarchy, self, prior) if self.rate.ndim else self
        return estimate_scale(points, hierarchy, found) if scale == "em" else found

    def _log_scale(self, points: Floats, scale: Floats) -> float:
        # What whitening takes from the log density: each column has one factor less than entries if the root is flat.
        factors = np.maximum((~np.isnan(points)).sum(axis=0) - (self.root == "flat"), 0)
        return -float(factors @ np.log(np.diag(scale) if scale.ndim == 2 else scale))

    @staticmethod
    def meet(theta, left, right, out):
        """|ŷ_l − ŷ_r|² and v_l + v_r."""
        out[0] = _squared_distance(left, right)
        out[1] = left[0] + right[0]
        return theta[0]

    @staticmethod
    def log_z(theta, meeting, s):
        """log N(ŷ_l − ŷ_r; 0, (v_l + v_r + s) I)."""
        return _log_normal(theta[0], meeting[0], meeting[1] + s)

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):
        """The product of the two Gaussians."""
        a, b = left[0] + l_left, right[0] + l_right
        share = b / (a + b) if a + b > 0.0 else 0.5
        out[0] = a * share
        for d in range(1, out.size):
            out[d] = share * left[d] + (1.0 - share) * right[d]

    @staticmethod
    def log_root(theta, message):
        """log N(ŷ; μ, (v + variance) I) for a Gaussian root, 0 for a flat one."""
        if theta[1] == 0.0:
            return 0.0
        distance = 0.0
        for d in range(1, message.size):
            distance += (message[d] - theta[2 + d]) ** 2
        return _log_normal(theta[0], distance, message[0] + theta[2])

    @staticmethod
    def root_message(theta: Floats) -> Floats | None:
        """(variance, μ) of a Gaussian root."""
        return theta[2:] if theta[1] else None

    @staticmethod
    def best_length(theta, meeting, s0, rate):
        """The root of c S² + D S − E = 0, S = v_l + v_r + s, in the form that does not cancel; at least s0."""
        best = 2.0 * meeting[0] / (theta[0] + math.sqrt(theta[0] * theta[0] + 4.0 * rate * meeting[0]))
        return max(best - meeting[1], s0)

    @staticmethod
    def log_integral(theta, meeting, s0, rate):
        """A generalised inverse Gaussian integral, cut off below."""
        return log_truncated_integral(theta[0], meeting[0], rate, meeting[1] + s0)

    @staticmethod
    def propose_length(theta, meeting, s0, rate, seed, item, step):
        """An exact draw."""
        lowest = meeting[1] + s0
        delta = draw_truncated(theta[0], meeting[0], rate, lowest, stream_key(seed, item, step))
        log_total = log_truncated_integral(theta[0], meeting[0], rate, lowest)
        if not log_total < np.inf:
            return s0, np.inf
        log_z = _log_normal(theta[0], meeting[0], lowest + 2.0 * delta)
        return s0 + 2.0 * delta, log_z - rate * delta - log_total

    @staticmethod
    def log_survival(theta, meeting, s0, rate, delta):
        """What is left of the integral beyond δ."""
        lowest = meeting[1] + s0
        log_total = log_truncated_integral(theta[0], meeting[0], rate, lowest)
        if not log_total < np.inf:
            return 0.0 if delta <= 0.0 else -np.inf
        beyond = log_truncated_integral(theta[0], meeting[0], rate, lowest + 2.0 * delta)
        return min(beyond - rate * delta - log_total, 0.0)


@inline
def _log_normal(dimension, square, variance):
    # log N(gap; 0, variance I) of a gap of this squared length; a variance of 0 is a point.
    if not variance > 0.0:
        return np.inf if square == 0.0 else -np.inf
    return -0.5 * (dimension * (LOG_2_PI + math.log(variance)) + square / variance)


@reduction
def _squared_distance(left, right):
    total = 0.0
    for d in range(1, left.size):
        total += (left[d] - right[d]) ** 2
    return total


def _variance(centred: Floats, rate: Floats) -> float:
    # The mean square per entry in units of Λ; by its diagonal where entries are missing.
    is_missing = np.isnan(centred)
    white = whitened(centred, square_root(np.diag(rate) if is_missing.any() and rate.ndim == 2 else rate))
    told = (~is_missing).sum(axis=0) > 1  # by a column
    if not told.any():
        return 1.0
    variance = float(np.mean(np.nanmean(white[:, told] ** 2, axis=0)))
    return variance if variance > 0.0 else 1.0


def _check_size(white: Floats) -> None:
    too_large = np.argwhere(np.abs(white) > _LARGEST)
    if len(too_large):
        i, d = too_large[0]
        raise ValueError(
            f"x at row {i}, column {d} is more than {_LARGEST:g} times as large as the rate allows for: "
            "squared distances overflow; rescale x, or give a larger rate"
        )


def _check_rate(value: Any) -> Floats:
    try:
        rate = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"rate must be a number, a vector or a matrix, not {value!r}") from None
    if rate.ndim > 2 or rate.size == 0 or (rate.ndim == 2 and rate.shape[0] != rate.shape[1]):
        raise ValueError(f"rate has shape {rate.shape}; give one number, one per column, or a (D, D) matrix")
    if not np.isfinite(rate).all():
        raise ValueError("rate holds NaN or infinite values")
    if rate.ndim == 2:
        return read_only(check_positive_definite(rate, "rate"))
    if not (rate > 0).all():
        raise ValueError(f"rate is {rate.tolist()}; variances per unit of time must be positive")
    return read_only(rate)
