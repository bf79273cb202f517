"""Ginkgo jets: how probable is it that a shower made this cluster of particles by that split?

A cluster has the mass² t = E² − |p|² of its summed four-momentum. A shower splits a parent of mass² t_P in
two, draws the masses² of the children from exponential laws truncated below that of the parent, and stops
where t ≤ t_cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.models.particles import check_particles, check_positive, check_totals
from palmette.models.split_model import SplitModel
from palmette.numeric import exponential, logarithm

__all__ = ["Ginkgo"]

Floats = npt.NDArray[np.float64]

_INF = math.inf
_TINY = 1e-60  # the square of the smallest parameter that is accepted
_LOG_4PI = math.log(4 * math.pi)
_TOP = 0.999  # the simulator draws children below this share of what their parent leaves them
_TOUCH = 1 + 1e-9  # √t_L + √t_R = √t_P for parallel particles: rounding must not forbid that they merge


@inline
def _below(x):
    # 1 − e^{−x}; expm1 only where it is needed, for it costs several times as much.
    return 1.0 - exponential(-x) if x > 0.01 else -math.expm1(-x)


@inline
def _mass_squared(p):
    # Rounding leaves ±1e-16 E² for massless particles; below zero it means 0.
    momentum = math.sqrt(p[1] * p[1] + p[2] * p[2] + p[3] * p[3])
    t = (p[0] - momentum) * (p[0] + momentum)
    return t if t > _TINY else 0.0


@inline
def _ordered_features(theta, n, size, sums, pairs, out):
    t = _mass_squared(sums)
    out[0] = math.sqrt(t) if size > 1 else 0.0
    out[1], out[2] = -_INF, 0.0
    if size > 1 and t >= theta[4]:
        out[1] = theta[5] - math.log(t)
        out[2] = theta[0] / t


@inline
def _ordered_score(theta, parent, left, right):
    high = max(left[0], right[0])
    low = min(left[0], right[0])
    gap = parent[0] - high
    rest = gap * gap
    if low > 0.0:
        if rest == 0.0:
            return -_INF
        return (parent[1] - parent[2] * (high * high)) - (logarithm(rest) + theta[0] * (low * low) / rest)
    below = logarithm(_below(theta[1] / rest))
    if high > 0.0:
        return (parent[1] - parent[2] * (high * high)) + (below - theta[2])
    return theta[3] + 2.0 * below if parent[1] > -_INF else -_INF


@inline
def _symmetric_features(theta, n, size, sums, pairs, out):
    t = _mass_squared(sums)
    root = 1 if size == n else 0
    out[0] = math.sqrt(t)
    out[1] = t
    out[2] = theta[root]
    out[3] = theta[2 + root] if t > theta[4] else -_INF


@inline
def _weight(T, t, rate, t_cut):
    # A child's law without e^K and without the exponential of its density.
    return rate / T if t > t_cut else _below(rate * min(T, t_cut) / T)


@inline
def _exponent(T, t, rate, t_cut):
    return -rate * t / T if t > t_cut else 0.0


@inline
def _symmetric_score(theta, parent, left, right):
    T, l, r = parent[1], left[1], right[1]  # noqa: E741
    if parent[3] == -_INF or max(l, r) >= _TOP * T or left[0] + right[0] > _TOUCH * parent[0]:
        return -_INF
    rate, t_cut = parent[2], theta[4]
    rest_l = (parent[0] - left[0]) * (parent[0] - left[0])
    rest_r = (parent[0] - right[0]) * (parent[0] - right[0])
    a = _exponent(T, l, rate, t_cut) + _exponent(rest_l, r, rate, t_cut)
    b = _exponent(T, r, rate, t_cut) + _exponent(rest_r, l, rate, t_cut)
    weight_a = _weight(T, l, rate, t_cut) * _weight(rest_l, r, rate, t_cut)
    weight_b = _weight(T, r, rate, t_cut) * _weight(rest_r, l, rate, t_cut)
    if a < b:
        a, b, weight_a, weight_b = b, a, weight_b, weight_a
    return parent[3] + a + logarithm(weight_a + weight_b * exponential(b - a))


@inline
def _literal_features(theta, n, size, sums, pairs, out):
    t = _mass_squared(sums)
    out[0] = t
    out[1], out[2] = -_INF, 0.0
    if t > 0.0:
        out[1] = theta[1] - 2.0 * math.log(t)
        out[2] = theta[0] / t


@inline
def _literal_score(theta, parent, left, right):
    return parent[1] - parent[2] * (left[0] + right[0])


def _log_norm(rate: float) -> float:
    return -math.log(-math.expm1(-rate))  # K: what truncation adds to the log density


class Ginkgo(SplitModel):
    """log ψ(L, R) = g(t_P, hi) + g(s, lo) − log 4π: a shower's law for the masses² of two children.

    With hi ≥ lo the masses² of the children (0 for a single leaf), s = (√t_P − √hi)², K = −log(1 − e^{−λ})::

        g(T, t) = K + log(λ/T) − λ t/T   for t > 0         g(T, 0) = K + log(1 − e^{−λ t_cut/T})

    and −inf if t_P < t_cut, or if s = 0 < lo. That is `likelihood` "ordered". Two others can be asked for:

    "symmetric"
        the mean over both orders of drawing the children, with true masses everywhere. A child with t ≤ t_cut
        is a leaf of the shower, λ·min(T, t_cut) takes the place of λ t_cut, and K = −log(1 − e^{−0.999 λ}).
        −inf if t_P ≤ t_cut, if a child has t ≥ 0.999 t_P, or if √t_L + √t_R > √t_P. The root splits with
        `root_rate`.
    "literal"
        Σ over both children of K + log λ − log t_P − λ t/t_P, with true masses; −inf if t_P = 0. It has no
        cut-off: `t_cut` may be left out, and does not enter.

    `momenta` is (n, 4): E, px, py, pz of each particle. `rate` is λ; `t_cut` is in units of E². A particle
    with E² < |p|² counts as massless, with a warning if that is more than rounding.

    >>> import palmette as pal
    >>> pal.models.Ginkgo([[5, 3, 0, 0], [5, -3, 0, 0]], rate=1.5, t_cut=16.0)
    Ginkgo(n_leaves=2, likelihood='ordered', rate=1.5, t_cut=16.0)
    """

    likelihood: ClassVar[str]
    _one_rate: ClassVar[bool] = True

    def __new__(cls, *args: Any, likelihood: str = "ordered", **kwargs: Any) -> Ginkgo:
        """An instance of the private class that holds the compiled functions of this likelihood."""
        return super().__new__(_variant(likelihood) if cls is Ginkgo else cls)

    def __init__(
        self,
        momenta: npt.ArrayLike,
        rate: float,
        t_cut: float | None = None,
        *,
        root_rate: float | None = None,
        likelihood: str = "ordered",
        labels: Sequence[str] | None = None,
    ) -> None:
        self.rate = check_positive("rate", rate)
        self.root_rate = self.rate if root_rate is None else check_positive("root_rate", root_rate)
        self.t_cut = None if t_cut is None else check_positive("t_cut", t_cut)
        if self._one_rate and self.root_rate != self.rate:
            raise ValueError(
                f"root_rate is {self.root_rate:g}, but {self.likelihood!r} has one rate for all splits, "
                f"{self.rate:g}; leave root_rate out, or use likelihood='symmetric'"
            )
        particles = check_particles(momenta)
        check_totals(particles, np.array([0, len(particles)]))
        super().__init__(len(particles), theta=self._parameters(), additive=particles, labels=labels)

    @property
    def momenta(self) -> Floats:
        """(n, 4): E, px, py, pz of each particle."""
        return self.additive

    def __repr__(self) -> str:
        rates = f"rate={self.rate}" + ("" if self._one_rate else f", root_rate={self.root_rate}")
        return f"Ginkgo(n_leaves={self.n_leaves}, likelihood={self.likelihood!r}, {rates}, t_cut={self.t_cut})"

    def _parameters(self) -> list[float]:
        raise TypeError("a Ginkgo is made by Ginkgo(momenta, rate, t_cut, likelihood=…)")

    def _cut(self) -> float:
        if self.t_cut is None:
            raise ValueError(f"the likelihood {self.likelihood!r} needs t_cut, the mass² at which showers stop")
        return self.t_cut


class _Ordered(Ginkgo):
    likelihood = "ordered"
    n_features = 3
    features = staticmethod(_ordered_features)
    score = staticmethod(_ordered_score)

    def _parameters(self) -> list[float]:
        rate, t_cut, log_rate = self.rate, self._cut(), math.log(self.rate)
        leaves = 2 * _log_norm(rate) - _LOG_4PI
        return [rate, rate * t_cut, log_rate, leaves, t_cut, leaves + 2 * log_rate]


class _Symmetric(Ginkgo):
    likelihood = "symmetric"
    _one_rate = False
    n_features = 4
    features = staticmethod(_symmetric_features)
    score = staticmethod(_symmetric_score)

    def _parameters(self) -> list[float]:
        rates = [self.rate, self.root_rate]
        return [*rates, *(2 * _log_norm(_TOP * rate) - _LOG_4PI - math.log(2) for rate in rates), self._cut()]


class _Literal(Ginkgo):
    likelihood = "literal"
    n_features = 3
    features = staticmethod(_literal_features)
    score = staticmethod(_literal_score)

    def _parameters(self) -> list[float]:
        return [self.rate, 2 * (_log_norm(self.rate) + math.log(self.rate))]


def _variant(likelihood: str) -> type[Ginkgo]:
    variants = {variant.likelihood: variant for variant in (_Ordered, _Symmetric, _Literal)}
    if not isinstance(likelihood, str) or likelihood not in variants:
        raise ValueError(f"likelihood is {likelihood!r}; choose one of {', '.join(map(repr, variants))}")
    return variants[likelihood]
