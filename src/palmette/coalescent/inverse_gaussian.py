"""∫_a^∞ S^(p−1) exp(−(c S + E/S)/2) dS with p = 1 − D/2: the generalised inverse Gaussian, cut off at a, and its draws.

With S = S_m e^y, where S_m ≥ a is the mode, the log integrand relative to the mode is

    h(y) = p y − (c S_m / 2) (e^y − 1) − (E / 2 S_m) (e^−y − 1),      y ≥ log(a / S_m),

which is concave. So the integral is a few panels of Gauss and Legendre's rule between the points where h has dropped by
42, and draws are rejections from a hat of two straight lines and a constant. Bessel functions would not give the part
above a, and overflow where D is large.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel
from palmette.numeric import LOG_2_PI, unit_draw

__all__ = ["draw_truncated", "log_truncated_integral"]

_NODES, _WEIGHTS = (np.ascontiguousarray(values) for values in np.polynomial.legendre.leggauss(16))
_DROP = 42.0


@inline
def _mode(dimension, energy, rate, lowest):
    # p and S_m, the maximum of p log S − (c S + E/S)/2 over S ≥ a, in the form that does not cancel.
    p = 1.0 - 0.5 * dimension
    root = math.sqrt(p * p + rate * energy)
    return p, max((p + root) / rate if p > 0.0 else energy / (root - p) if energy > 0.0 else 0.0, lowest)


@inline
def _height(p, grow, shrink, y):
    # h(y), by one exponential: 1 − e^−y = (e^y − 1)/e^y.
    if abs(y) < 0.5:
        gain = math.expm1(y)
        return p * y - grow * gain + shrink * (gain / (1.0 + gain))
    power = math.exp(y)
    return p * y - grow * (power - 1.0) + shrink * (1.0 - 1.0 / power)


@inline
def _slope(p, grow, shrink, y):
    return p - grow * math.exp(y) + shrink * math.exp(-y)


@inline
def _where_dropped(p, grow, shrink, drop, side):
    # The y on this side (±1) of the mode with h(y) = −drop. Outwards by doubling; then Newton from outside, which a
    # concave function leads to the root without ever passing it.
    y = 1e-8
    while _height(p, grow, shrink, side * y) > -drop and y < 600.0:
        y *= 2.0
    y = side * min(y, 600.0)
    for _ in range(60):
        step = (_height(p, grow, shrink, y) + drop) / _slope(p, grow, shrink, y)
        y -= step
        if abs(step) <= 1e-6 * abs(y):
            break
    return y


@inline
def _panel(p, grow, shrink, low, high):
    total = 0.0
    for k in range(_NODES.size):
        y = low + (high - low) * 0.5 * (1.0 + _NODES[k])
        total += _WEIGHTS[k] * math.exp(_height(p, grow, shrink, y))
    return 0.5 * (high - low) * total


@inline
def _side(p, grow, shrink, edge, side):
    # ∫ e^h from the mode to where it has dropped by 42, or to the edge. Where h does not bend like a parabola, but is
    # flat or straight for long, it takes panels on either side of the point where it has dropped by 1.
    far, near = _where_dropped(p, grow, shrink, _DROP, side), _where_dropped(p, grow, shrink, 1.0, side)
    if abs(far) > abs(edge):
        far = edge
    if abs(near) >= abs(far):
        near = 0.5 * far
    if 3.0 * abs(near) < abs(far) < 7.5 * abs(near):
        total, start = 0.0, 0.0
    else:
        start = near + side * min(8.0, abs(far - near) / 3.0)
        total = _panel(p, grow, shrink, 0.0, 0.5 * near) + _panel(p, grow, shrink, 0.5 * near, near)
        total += _panel(p, grow, shrink, near, start)
    middle = 0.5 * (start + far)
    total += _panel(p, grow, shrink, start, middle)
    return side * (total + _panel(p, grow, shrink, middle, far))


@kernel
def log_truncated_integral(dimension, energy, rate, lowest):
    """log ∫_0^∞ e^(−c δ) N(d; 0, (a + 2δ) I) dδ for a squared distance E = d·d in D dimensions, to 1e-10 or better.

    D = `dimension` ≥ 1, E = `energy` ≥ 0, c = `rate` > 0, a = `lowest` ≥ 0; inf where it diverges (E = a = 0, D ≥ 2).

    >>> round(log_truncated_integral(1.0, 1.0, 1.0, 0.0), 12)  # log(e^−1 / 2)
    -1.69314718056
    """
    p, middle = _mode(dimension, energy, rate, lowest)
    if not middle > 0.0:
        return np.inf
    grow, shrink = 0.5 * rate * middle, 0.5 * energy / middle
    total = _side(p, grow, shrink, np.inf, 1.0)
    if lowest < middle:
        total += _side(p, grow, shrink, math.log(lowest / middle) if lowest > 0.0 else -np.inf, -1.0)
    at_mode = p * math.log(middle) - 0.5 * rate * (middle - lowest) - shrink
    return at_mode - 0.5 * dimension * LOG_2_PI + math.log(0.5 * total)


@kernel
def draw_truncated(dimension, energy, rate, lowest, key):
    """δ with density proportional to e^(−c δ) N(d; 0, (a + 2δ) I), exactly, from unit draws with the seed `key`.

    One to 1.2 trials on average. 0 where the integral diverges.
    """
    p, middle = _mode(dimension, energy, rate, lowest)
    if not middle > 0.0:
        return 0.0
    grow, shrink = 0.5 * rate * middle, 0.5 * energy / middle
    right = _where_dropped(p, grow, shrink, 1.0, 1.0)
    fall = -_slope(p, grow, shrink, right)
    corner_right = right + _height(p, grow, shrink, right) / fall
    edge = 0.0 if lowest >= middle else math.log(lowest / middle) if lowest > 0.0 else -np.inf
    corner_left, rise, mass_left = edge, 1.0, 0.0
    if edge < 0.0:
        left = _where_dropped(p, grow, shrink, 1.0, -1.0)
        rise = _slope(p, grow, shrink, left)
        corner_left = left - _height(p, grow, shrink, left) / rise
        if corner_left <= edge:
            corner_left = edge
        else:
            mass_left = -math.expm1(rise * (edge - corner_left)) / rise
    mass = mass_left + (corner_right - corner_left) + 1.0 / fall
    for trial in range(10_000):
        u = unit_draw(key, trial, 0) * mass
        w = 1.0 - unit_draw(key, trial, 1)
        if u < mass_left:
            hat = math.log1p(-w * rise * mass_left)
            y = corner_left + hat / rise
        elif u < mass_left + corner_right - corner_left:
            hat = 0.0
            y = corner_left + w * (corner_right - corner_left)
        else:
            hat = math.log(w)
            y = corner_right - hat / fall
        if math.log(1.0 - unit_draw(key, trial, 2)) <= _height(p, grow, shrink, y) - hat:
            break
    return 0.5 * max(middle * math.expm1(y) + (middle - lowest), 0.0)
