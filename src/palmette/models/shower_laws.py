"""The laws of a Ginkgo shower as compiled functions: features of a cluster of particles, and log ψ of a split.

`Ginkgo` says what they are, and gives each its parameters θ. "symmetric" and "density" call no library and want one
number of a child, so that a loop over many splits of one parent can be made of vectors.
"""

from __future__ import annotations

import math

from palmette._jit import inline
from palmette.numeric import exponential, logarithm, one_minus_exponential

__all__ = [
    "ROOT",
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
ROOT = 6  # where θ of the root's splits begins, for "ordered"
TOP = 0.999  # the simulator draws children below this share of what their parent leaves them
_TOP_MASS = math.sqrt(TOP)
_AT_REST = 1e-18  # children at rest in their parent's frame: the density of momenta has an infinite, thin peak there
_TOUCH = 1 + 1e-9  # √t_L + √t_R = √t_P for parallel particles: rounding must not forbid that they merge
_NEVER = -1.0  # no √t_L + √t_R is that small


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
    """√t (0 for a leaf); of its splits: log, −inf below the cut-off, rate over t, and where their θ begins."""
    t = _mass_squared(sums)
    own = ROOT if size == n else 0
    out[0] = math.sqrt(t) if size > 1 else 0.0
    out[1], out[2], out[3] = -_INF, 0.0, own
    if size > 1 and t >= theta[4]:
        out[1] = theta[own + 5] - math.log(t)
        out[2] = theta[own] / t


@inline
def ordered_score(theta, parent, left, right):
    """log ψ of the likelihood "ordered"."""
    own = int(parent[3])
    high = max(left[0], right[0])
    low = min(left[0], right[0])
    gap = parent[0] - high
    rest = gap * gap
    if low > 0.0:
        if rest == 0.0:
            return -_INF
        return (parent[1] - parent[2] * (high * high)) - (logarithm(rest) + theta[own] * (low * low) / rest)
    below = logarithm(_below(theta[own + 1] / rest))
    if high > 0.0:
        return (parent[1] - parent[2] * (high * high)) + (below - theta[own + 2])
    return theta[own + 3] + 2.0 * below if parent[1] > -_INF else -_INF


@inline
def symmetric_features(theta, n, size, sums, pairs, out):
    """√t, negative at or below the cut-off; of its splits: the largest √t_L + √t_R, what all share, λ/t, light, λ."""
    t = _mass_squared(sums)
    root = 1 if size == n else 0
    is_heavy = t > theta[4]
    mass = math.sqrt(t)
    out[0] = mass if is_heavy else -mass
    out[1] = _TOUCH * mass if is_heavy else _NEVER
    out[2] = theta[2 + root]
    out[3] = theta[root] / t if is_heavy else 0.0
    out[4] = one_minus_exponential(theta[4] * out[3])
    out[5] = theta[root]


@inline
def _both_orders(a, weight_a, b, weight_b):
    # (x, w) with w e^x = weight_a e^a + weight_b e^b
    high, low = max(a, b), min(a, b)
    of_high = weight_a if a >= b else weight_b
    of_low = weight_b if a >= b else weight_a
    return high, of_high + of_low * exponential(low - high)


@inline
def symmetric_score(theta, parent, left, right):
    """log ψ of the likelihood "symmetric"."""
    P, L, R = parent[0], abs(left[0]), abs(right[0])
    if parent[1] < L + R or max(L, R) >= _TOP_MASS * P:
        return -_INF
    over_t, light, rate, t_cut = parent[3], parent[4], parent[5], theta[4]
    left_is_heavy, right_is_heavy = left[0] > 0.0, right[0] > 0.0
    rest_l, rest_r = (P - L) * (P - L), (P - R) * (P - R)
    over_both = rate / (rest_l * rest_r)  # one division for both orders; no rest is below 1e-7 t_P
    over_l, over_r = over_both * rest_r, over_both * rest_l
    l = L * L if left_is_heavy else 0.0  # noqa: E741
    r = R * R if right_is_heavy else 0.0
    # The left child is drawn first, or the right one: exponents, and factors without e^K.
    a = -(over_t * l + over_l * r)
    b = -(over_t * r + over_r * l)
    second_r = over_l if right_is_heavy else one_minus_exponential(min(rate, t_cut * over_l))
    second_l = over_r if left_is_heavy else one_minus_exponential(min(rate, t_cut * over_r))
    weight_a = (over_t if left_is_heavy else light) * second_r
    weight_b = (over_t if right_is_heavy else light) * second_l
    exponent, weight = _both_orders(a, weight_a, b, weight_b)
    return parent[2] + exponent + logarithm(weight)


@inline
def density_features(theta, n, size, sums, pairs, out):
    """√t, ∞ for what cannot be a child; of its splits: the largest √t_L + √t_R, what all share, λ/t, λ."""
    t = _mass_squared(sums)
    root = 1 if size == n else 0
    is_heavy = t > theta[4]
    mass = math.sqrt(t)
    out[0] = mass if is_heavy == (size > 1) else _INF
    out[1] = _TOUCH * mass if is_heavy else _NEVER
    out[2] = theta[2 + root]
    out[3] = theta[root] / t if is_heavy else 0.0
    out[4] = theta[root]


@inline
def density_score(theta, parent, left, right):
    """log ψ of the likelihood "density"."""
    P, high, low = parent[0], max(left[0], right[0]), min(left[0], right[0])
    both, gap, top = high + low, high - low, _TOP_MASS * P
    # If the heavier child cannot be drawn first, the other one cannot either.
    if both > parent[1] or high >= top or low + _TOP_MASS * high >= top:
        return -_INF
    phase_space = max((P - both) * (P + both) * ((P - gap) * (P + gap)), _AT_REST * ((P * P) * (P * P)))
    rest_h, rest_l = (P - high) * (P - high), (P - low) * (P - low)
    # One division for all: 1/rest_h = rest_l · over_rests, and 1/phase_space = rest_h · rest_l · over_all.
    over_all = 1.0 / (rest_h * rest_l * phase_space)
    over_rests = phase_space * over_all
    over_t, scale = parent[3], parent[4] * over_rests
    a = -(over_t * (high * high) + scale * (rest_l * (low * low)))
    b = -(over_t * (low * low) + scale * (rest_h * (high * high)))
    b = b if high + _TOP_MASS * low < top else -_INF
    exponent, weight = _both_orders(a, rest_l, b, rest_h)
    return parent[2] + exponent + 0.5 * logarithm((weight * weight) * (over_rests * over_all))


@inline
def literal_features(theta, n, size, sums, pairs, out):
    """t, and what its splits share; −inf for massless ones."""
    t = _mass_squared(sums)
    root = 1 if size == n else 0
    out[0] = t
    out[1], out[2] = -_INF, 0.0
    if t > 0.0:
        out[1] = theta[2 + root] - 2.0 * math.log(t)
        out[2] = theta[root] / t


@inline
def literal_score(theta, parent, left, right):
    """log ψ of the likelihood "literal"."""
    return parent[1] - parent[2] * (left[0] + right[0])


def log_norm(rate: float) -> float:
    """K: what truncation adds to the log density."""
    return -math.log(-math.expm1(-rate))
