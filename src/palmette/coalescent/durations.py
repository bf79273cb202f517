"""When two lineages meet: the best duration, the integral over all of them, and draws, for any process.

The templates here see a process through ``log_z`` alone (`_best_by_slopes` also through its derivatives). δ is the time
from the last event to this one, s = s0 + 2δ the length of both branches together. In x = log δ the integrand
δ e^(−cδ) Z(s0 + 2δ) is smooth and falls off at least exponentially on both sides, so that the trapezoidal rule
converges exponentially fast: halving the step squares the error.
"""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from palmette._jit import inline, specialise_called, specialise_inline
from palmette.numeric import unit_draw

__all__ = ["best_length_from", "log_integral_from", "log_survival_from", "propose_length_from", "stream_key"]

# A process's functions and ours for it, put in by `specialise`.
log_z = slopes = longest = log_density = climb = find_window = fall_through = line_through = cast(Any, None)

_GOLDEN = 0.6180339887498949
_LOG_2 = math.log(2)
_FIRST, _LAST = -120, 60  # δ · rate is looked for between 2 to these powers
_STEP = 4 * _LOG_2  # of the coarse grid in log δ
_DROP = 40.0  # e^−40: what may be left out of an integral
_N_GRID = 16
_N_CELLS = 64


def best_length_from(log_z: Any, slopes: Any = None, longest: Any = None) -> Any:
    """(theta, meeting, s0, rate) → argmax over s ≥ s0 of −rate (s − s0)/2 + log Z(s).

    With the derivatives of log Z it is right to rounding; from log Z alone to about 1e-8 of s − s0, which is all that
    values of a function can tell of its maximum.
    """
    if slopes is None or longest is None:
        log_density = specialise_inline(_log_density, log_z=log_z)
        functions = {"log_density": log_density, "climb": specialise_called(_climb, log_density=log_density)}
        return specialise_called(_best_by_values, log_z=log_z, **functions)
    fall_through = specialise_called(_fall_through, slopes=slopes)
    return specialise_called(_best_by_slopes, log_z=log_z, slopes=slopes, longest=longest, fall_through=fall_through)


def log_integral_from(log_z: Any) -> Any:
    """(theta, meeting, s0, rate) → log ∫_0^∞ e^(−rate δ) Z(s0 + 2δ) dδ; inf where it diverges at δ = 0."""
    return specialise_called(_log_integral, **_searching(log_z))


def propose_length_from(log_z: Any) -> Any:
    """(theta, meeting, s0, rate, seed, item, step) → (s, log density of δ), drawn from close to e^(−rate δ) Z(s0 + 2δ).

    The density is the exact one of the draw: its logarithm in x = log δ is the target's at 65 points, and linear
    between. The tails go on as straight lines, so it reaches wherever the target does. Where the target diverges at
    δ = 0, that is what is drawn, with log density inf.
    """
    return _on_line(_propose, log_z)


def log_survival_from(log_z: Any) -> Any:
    """(theta, meeting, s0, rate, δ) → log P(a draw of `propose_length_from` is longer than δ)."""
    return _on_line(_log_survival, log_z)


def _on_line(template: Any, log_z: Any) -> Any:
    parts = _searching(log_z)
    line_through = specialise_inline(_line_through, log_density=parts["log_density"])
    return specialise_called(template, find_window=parts["find_window"], line_through=line_through)


def _searching(log_z: Any) -> dict[str, Any]:
    log_density = specialise_inline(_log_density, log_z=log_z)
    climb = specialise_called(_climb, log_density=log_density)
    return {
        "log_density": log_density,
        "find_window": specialise_called(_find_window, log_density=log_density, climb=climb),
    }


@inline
def stream_key(seed, item, step):
    """An integer that stands for (seed, item, step): the seed of as many unit draws as a rejection may need."""
    return np.int64(unit_draw(seed, item, step) * 9007199254740992.0)


def _log_density(theta, meeting, s0, rate, x, power):
    # of δ (power 0) or of x = log δ (power 1)
    delta = math.exp(x)
    return power * x - rate * delta + log_z(theta, meeting, s0 + 2.0 * delta)


def _climb(theta, meeting, s0, rate, power, low, high, n_steps):
    # The maximum between low and high by golden section.
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    value_left = log_density(theta, meeting, s0, rate, left, power)
    value_right = log_density(theta, meeting, s0, rate, right, power)
    for _ in range(n_steps):
        if value_left >= value_right:
            high, right, value_right = right, left, value_left
            left = high - _GOLDEN * (high - low)
            value_left = log_density(theta, meeting, s0, rate, left, power)
        else:
            low, left, value_left = left, right, value_right
            right = low + _GOLDEN * (high - low)
            value_right = log_density(theta, meeting, s0, rate, right, power)
    return left if value_left >= value_right else right


def _best_by_values(theta, meeting, s0, rate):
    # A grid in log δ, then golden section. Of maxima within a factor of two in δ it may take the lower one.
    best, at = -np.inf, 0.0
    for k in range(_FIRST, _LAST + 1):
        x = k * _LOG_2 - math.log(rate)
        value = log_density(theta, meeting, s0, rate, x, 0.0)
        if value > best:
            best, at = value, x
    if log_z(theta, meeting, s0) >= best:
        return s0
    return s0 + 2.0 * math.exp(climb(theta, meeting, s0, rate, 0.0, at - _LOG_2, at + _LOG_2, 44))


def _best_by_slopes(theta, meeting, s0, rate):
    # Every fall of the slope through zero on a grid that doubles s − s0; maxima between neighbours are taken for one.
    reach = longest(theta, meeting, rate) - s0
    if not reach > 0.0:
        return s0
    half = 0.5 * rate
    best, best_value = s0, -np.inf
    before, low = slopes(theta, meeting, s0)[0] - half, 0.0
    if not before > 0.0:
        best_value = log_z(theta, meeting, s0)
    for k in range(_N_GRID):
        high = reach * 2.0 ** (k + 1 - _N_GRID)
        after = slopes(theta, meeting, s0 + high)[0] - half if k < _N_GRID - 1 else -1.0
        if before > 0.0 and not after > 0.0:
            x = fall_through(theta, meeting, s0, half, low, high)
            value = log_z(theta, meeting, s0 + x) - half * x
            if value > best_value:
                best, best_value = s0 + x, value
        before, low = after, high
    return best


def _fall_through(theta, meeting, s0, half, a, b):
    # Newton's steps on the slope within [a, b]; one that leaves it is replaced by the middle, of the logarithms while
    # the two ends differ in scale.
    x = a
    for _ in range(200):
        if not a < x < b:
            x = b * 2.0**-8 if a == 0.0 else math.sqrt(a) * math.sqrt(b) if b > 4.0 * a else 0.5 * (a + b)
        first, second = slopes(theta, meeting, s0 + x)
        first -= half
        if first > 0.0:
            a = x
        else:
            b = x
        step = first / second if second < 0.0 else np.inf
        if b - a <= 1e-15 * (s0 + b) or abs(step) <= 1e-15 * (s0 + x) or b < 1e-300:
            break
        x -= step
    return min(max(x, a), b)


def _find_window(theta, meeting, s0, rate):
    # (mode, log density there, left, right) in x = log δ; less than e^−40 of the density at the mode is outside.
    # The log density is inf if the integral diverges at δ = 0, and −inf if Z is 0 everywhere.
    start = _FIRST * _LOG_2 - math.log(rate)
    values = np.empty((_LAST - _FIRST) // 4 + 1)
    top, at = -np.inf, 0
    for i in range(values.size):
        values[i] = log_density(theta, meeting, s0, rate, start + i * _STEP, 1.0)
        if values[i] > top:
            top, at = values[i], i
    if at == 0 or not -np.inf < top < np.inf:
        return 0.0, np.inf if top > -np.inf else top, 0.0, 0.0
    mode = climb(theta, meeting, s0, rate, 1.0, start + (at - 1) * _STEP, start + (at + 1) * _STEP, 24)
    top = log_density(theta, meeting, s0, rate, mode, 1.0)
    first, last = at, at
    for i in range(values.size):
        if values[i] >= top - _DROP:
            first, last = min(first, i), max(last, i)
    left, right = start + (first - 1) * _STEP, start + (last + 1) * _STEP
    inner_left, inner_right = min(start + first * _STEP, mode), max(start + last * _STEP, mode)
    for _ in range(6):
        middle = 0.5 * (left + inner_left)
        if log_density(theta, meeting, s0, rate, middle, 1.0) >= top - _DROP:
            inner_left = middle
        else:
            left = middle
        middle = 0.5 * (right + inner_right)
        if log_density(theta, meeting, s0, rate, middle, 1.0) >= top - _DROP:
            inner_right = middle
        else:
            right = middle
    return mode, top, left, right


def _log_integral(theta, meeting, s0, rate):
    # The points lie around the mode, so that two steps in a row cannot both miss a narrow peak.
    mode, top, left, right = find_window(theta, meeting, s0, rate)
    if not -np.inf < top < np.inf:
        return top
    h = (right - left) / 24.0
    total = 0.0
    for i in range(-math.floor((mode - left) / h), math.floor((right - mode) / h) + 1):
        total += math.exp(log_density(theta, meeting, s0, rate, mode + i * h, 1.0) - top)
    for _ in range(14):
        between = 0.0
        for i in range(-math.floor((mode - left) / h + 0.5), math.floor((right - mode) / h - 0.5) + 1):
            between += math.exp(log_density(theta, meeting, s0, rate, mode + (i + 0.5) * h, 1.0) - top)
        h *= 0.5
        is_still = abs(between - total) <= 1e-8 * total
        total += between
        if is_still:
            break
    return top + math.log(h * total)


def _propose(theta, meeting, s0, rate, seed, item, step):
    _, top, left, right = find_window(theta, meeting, s0, rate)
    key = stream_key(seed, item, step)
    if not top < np.inf:
        return s0, np.inf
    if top == -np.inf:
        delta = -math.log1p(-unit_draw(key, 0, 0)) / rate
        return s0 + 2.0 * delta, math.log(rate) - rate * delta
    h = (right - left) / _N_CELLS
    values = line_through(theta, meeting, s0, rate, top, left, h)
    x, value = _draw_broken_line(values, left, h, unit_draw(key, 0, 0), 1.0 - unit_draw(key, 1, 0))
    return s0 + 2.0 * math.exp(x), value - x


def _line_through(theta, meeting, s0, rate, top, left, h):
    # The log density in x relative to its mode, at the ends of the cells.
    values = np.empty(_N_CELLS + 1)
    for i in range(values.size):
        values[i] = max(log_density(theta, meeting, s0, rate, left + i * h, 1.0) - top, -4.0 * _DROP)
    return values


def _log_survival(theta, meeting, s0, rate, delta):
    # The same window and the same broken line as in `_propose`.
    if not delta > 0.0:
        return 0.0
    _, top, left, right = find_window(theta, meeting, s0, rate)
    if not top < np.inf:
        return -np.inf
    if top == -np.inf:
        return -rate * delta
    h = (right - left) / _N_CELLS
    values = line_through(theta, meeting, s0, rate, top, left, h)
    return _log_above(values, left, h, math.log(delta))


@inline
def _fill_masses(values, h, masses):
    # The mass of each cell of the broken line, tails first and last; returns the slopes of the tails.
    n = values.size - 1
    rise, fall = max((values[1] - values[0]) / h, 0.1), max((values[n - 1] - values[n]) / h, 0.1)
    masses[0], masses[n + 1] = math.exp(values[0]) / rise, math.exp(values[n]) / fall
    for i in range(n):
        masses[i + 1] = h * math.exp(values[i]) * _mean_rise(values[i + 1] - values[i])
    return rise, fall


@inline
def _mean_rise(gain):
    # ∫_0^1 e^(gain x) dx
    return math.expm1(gain) / gain if abs(gain) > 1e-9 else 1.0 + 0.5 * gain


@inline
def _log_above(values, left, h, x):
    # log of the share of the density's mass above x.
    n = values.size - 1
    masses = np.empty(n + 2)
    rise, fall = _fill_masses(values, h, masses)
    total = masses.sum()
    if x >= left + n * h:
        return values[n] - fall * (x - left - n * h) - math.log(fall * total)
    if x <= left:
        return math.log1p(-masses[0] * math.exp(rise * (x - left)) / total)
    cell = min(int((x - left) / h), n - 1)
    above = masses[n + 1]
    for i in range(cell + 1, n):
        above += masses[i + 1]
    part = cell + 1 - (x - left) / h  # of the cell that is above x
    gain = values[cell + 1] - values[cell]
    above += part * h * math.exp(values[cell + 1] - part * gain) * _mean_rise(part * gain)
    return math.log(above / total)


@inline
def _draw_broken_line(values, left, h, u, w):
    # (x, log density) from the density whose logarithm is a broken line through `values`, up to a constant.
    n = values.size - 1
    masses = np.empty(n + 2)
    rise, fall = _fill_masses(values, h, masses)
    total = masses.sum()
    rest, cell = u * total, 0
    while cell <= n and rest >= masses[cell]:
        rest -= masses[cell]
        cell += 1
    if cell == 0:
        return left + math.log(w) / rise, values[0] + math.log(w) - math.log(total)
    if cell == n + 1:
        return left + n * h - math.log(w) / fall, values[n] + math.log(w) - math.log(total)
    gain = values[cell] - values[cell - 1]
    share = math.log1p(w * math.expm1(gain)) / gain if abs(gain) > 1e-9 else w
    return left + (cell - 1 + share) * h, values[cell - 1] + share * gain - math.log(total)
