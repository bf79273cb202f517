"""The laws of a Ginkgo shower as compiled functions: features of a cluster of particles, and log ψ of a split.

`Ginkgo` says what they are, and gives each its parameters θ.
"""

from __future__ import annotations

import math

from palmette._jit import inline
from palmette.numeric import exponential, logarithm

__all__ = [
    "TOP",
    "density_features",
    "density_score",
    "literal_features",
    "literal_score",
    "log_norm",
    "ordered_features",
    "ordered_score",
    "symmetric_features",
    "symmetric_score",
]

_INF = math.inf
_TINY = 1e-60  # the square of the smallest parameter that is accepted
TOP = 0.999  # the simulator draws children below this share of what their parent leaves them
_AT_REST = 1e-18  # children at rest in their parent's frame: the density of momenta has an infinite, thin peak there
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
def ordered_features(theta, n, size, sums, pairs, out):
    """√t (0 for a leaf), and log and rate over t of its splits; −inf below the cut-off."""
    t = _mass_squared(sums)
    out[0] = math.sqrt(t) if size > 1 else 0.0
    out[1], out[2] = -_INF, 0.0
    if size > 1 and t >= theta[4]:
        out[1] = theta[5] - math.log(t)
        out[2] = theta[0] / t


@inline
def ordered_score(theta, parent, left, right):
    """log ψ of the likelihood "ordered"."""
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
def symmetric_features(theta, n, size, sums, pairs, out):
    """√t, t, the rate of its split, and what all its splits share; −inf at or below the cut-off."""
    t = _mass_squared(sums)
    root = 1 if size == n else 0
    out[0], out[1], out[2] = math.sqrt(t), t, theta[root]
    out[3] = theta[2 + root] if t > theta[4] else -_INF


@inline
def _weight(T, t, rate, t_cut):
    # A child's law without e^K and without the exponential of its density.
    return rate / T if t > t_cut else _below(rate * min(T, t_cut) / T)


@inline
def _exponent(T, t, rate, t_cut):
    return -rate * t / T if t > t_cut else 0.0


@inline
def symmetric_score(theta, parent, left, right):
    """log ψ of the likelihood "symmetric"."""
    T, l, r = parent[1], left[1], right[1]  # noqa: E741
    if parent[3] == -_INF or max(l, r) >= TOP * T or left[0] + right[0] > _TOUCH * parent[0]:
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
def density_features(theta, n, size, sums, pairs, out):
    """Those of "symmetric", but that a leaf has −inf if it is above the cut-off."""
    symmetric_features(theta, n, size, sums, pairs, out)
    if size == 1:
        out[3] = theta[2 + (1 if n == 1 else 0)] if out[1] <= theta[4] else -_INF


@inline
def _drawn(T, first, rest, second, rate):
    # The exponent and the weight of drawing this child first, without what both orders share.
    if first >= TOP * T or second >= TOP * rest:
        return -_INF, 0.0
    return -rate * (first / T + second / rest), 1.0 / rest


@inline
def density_score(theta, parent, left, right):
    """log ψ of the likelihood "density"."""
    P, L, R = parent[0], left[0], right[0]
    if min(parent[3], left[3], right[3]) == -_INF or L + R > _TOUCH * P:
        return -_INF
    T, l, r = parent[1], left[1], right[1]  # noqa: E741
    a, weight_a = _drawn(T, l, (P - L) * (P - L), r, parent[2])
    b, weight_b = _drawn(T, r, (P - R) * (P - R), l, parent[2])
    if a < b:
        a, b, weight_a, weight_b = b, a, weight_b, weight_a
    if a == -_INF:
        return -_INF
    both, gap = L + R, L - R
    phase_space = max((P - both) * (P + both) * ((P - gap) * (P + gap)), _AT_REST * T * T)
    return parent[3] + a + logarithm(weight_a + weight_b * exponential(b - a)) - 0.5 * logarithm(phase_space)


@inline
def literal_features(theta, n, size, sums, pairs, out):
    """t, and what its splits share; −inf for massless ones."""
    t = _mass_squared(sums)
    out[0] = t
    out[1], out[2] = -_INF, 0.0
    if t > 0.0:
        out[1] = theta[1] - 2.0 * math.log(t)
        out[2] = theta[0] / t


@inline
def literal_score(theta, parent, left, right):
    """log ψ of the likelihood "literal"."""
    return parent[1] - parent[2] * (left[0] + right[0])


def log_norm(rate: float) -> float:
    """K: what truncation adds to the log density."""
    return -math.log(-math.expm1(-rate))
