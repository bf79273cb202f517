"""When two lineages meet: the best duration, the integral over all of them, and draws, for any process.

The functions here see a process through the address of its ``log_z`` alone (`best_by_slopes` also through its
derivatives). δ is the time from the last event to this one, s = s0 + 2δ the length of both branches together. In
x = log δ the integrand δ e^(−cδ) Z(s0 + 2δ) is smooth and falls off at least exponentially on both sides, so that the
trapezoidal rule converges exponentially fast: halving the step squares the error.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._addresses import offset, room
from palmette._jit import called, inline, maker
from palmette.coalescent.c_functions import call_log_z, call_longest, call_slopes
from palmette.numeric import unit_draw

__all__ = ["best_by_slopes", "best_by_values", "log_integral", "log_survival", "propose_length", "stream_key"]

_GOLDEN = 0.6180339887498949
_LOG_2 = math.log(2)
_FIRST, _LAST = -120, 60  # δ · rate is looked for between 2 to these powers
_STEP = 4 * _LOG_2  # of the coarse grid in log δ
_DROP = 40.0  # e^−40: what may be left out of an integral
_N_GRID = 16
_N_CELLS = 64

_grid, _grid_slopes = room(_N_GRID), room(2 * _N_GRID)


@inline
def stream_key(seed, item, step):
    """An integer that stands for (seed, item, step): the seed of as many unit draws as a rejection may need."""
    return np.int64(unit_draw(seed, item, step) * 9007199254740992.0)


# A pair is (log_z, θ, |θ|, meeting, |meeting|, s0, rate).


@inline
def _log_density(pair, x, power):
    # of δ (power 0) or of x = log δ (power 1)
    log_z, theta, m, meeting, n, s0, rate = pair
    delta = math.exp(x)
    return power * x - rate * delta + call_log_z(log_z, (theta, m, meeting, n, s0 + 2.0 * delta))


@called
def _climb(pair, power, low, high, n_steps):
    # The maximum between low and high by golden section.
    left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
    value_left = _log_density(pair, left, power)
    value_right = _log_density(pair, right, power)
    for _ in range(n_steps):
        if value_left >= value_right:
            high, right, value_right = right, left, value_left
            left = high - _GOLDEN * (high - low)
            value_left = _log_density(pair, left, power)
        else:
            low, left, value_left = left, right, value_right
            right = low + _GOLDEN * (high - low)
            value_right = _log_density(pair, right, power)
    return left if value_left >= value_right else right


def best_by_values(log_z, slopes, longest, theta, m, meetings, n, rows, count, rate, lengths, log_zs):
    """argmax over s ≥ s0 of −rate (s − s0)/2 + log Z(s), to about 1e-8 of s − s0, which is all that values can tell.

    A grid in log δ, then golden section. Of maxima within a factor of two in δ it may take the lower one.
    """
    for j in range(count):
        meeting, s0 = offset(meetings, rows[j] * n), lengths[j]
        pair = log_z, theta, m, meeting, n, s0, rate
        best, at = -np.inf, 0.0
        for k in range(_FIRST, _LAST + 1):
            x = k * _LOG_2 - math.log(rate)
            value = _log_density(pair, x, 0.0)
            if value > best:
                best, at = value, x
        log_zs[j] = call_log_z(log_z, (theta, m, meeting, n, s0))
        if log_zs[j] < best:
            lengths[j] = s0 + 2.0 * math.exp(_climb(pair, 0.0, at - _LOG_2, at + _LOG_2, 44))
            log_zs[j] = call_log_z(log_z, (theta, m, meeting, n, lengths[j]))


def best_by_slopes(log_z, slopes, longest, theta, m, meetings, n, rows, count, rate, lengths, log_zs):
    """The same, right to rounding, with the derivatives of log Z."""
    for j in range(count):
        pair = log_z, theta, m, offset(meetings, rows[j] * n), n, lengths[j], rate
        lengths[j], log_zs[j] = _best_by_slopes(pair, slopes, longest)


@called
def _best_by_slopes(pair, slopes, longest):
    # Every fall of the slope through zero on a grid that doubles s − s0; maxima between neighbours are taken for one.
    log_z, theta, m, meeting, n, s0, rate = pair
    reach = call_longest(longest, (theta, m, meeting, n, rate)) - s0
    if not reach > 0.0:
        return s0, call_log_z(log_z, (theta, m, meeting, n, s0))
    half = 0.5 * rate
    grid, found = _grid(), _grid_slopes()
    grid[0] = s0
    for k in range(_N_GRID - 1):
        grid[k + 1] = s0 + reach * 2.0 ** (k + 1 - _N_GRID)
    call_slopes(slopes, (theta, m, meeting, n, grid, _N_GRID, found))
    best, best_value, best_log_z = s0, -np.inf, np.nan
    before, low = found[0] - half, 0.0
    if not before > 0.0:
        best_value = best_log_z = call_log_z(log_z, (theta, m, meeting, n, s0))
    for k in range(_N_GRID):
        high = reach * 2.0 ** (k + 1 - _N_GRID)
        after = found[2 * (k + 1)] - half if k < _N_GRID - 1 else -1.0
        if before > 0.0 and not after > 0.0:
            x = _fall_through(slopes, theta, m, meeting, n, s0, half, low, high)
            value_there = call_log_z(log_z, (theta, m, meeting, n, s0 + x))
            if value_there - half * x > best_value:
                best, best_value, best_log_z = s0 + x, value_there - half * x, value_there
        before, low = after, high
    return best, best_log_z


@called
def _fall_through(slopes, theta, m, meeting, n, s0, half, a, b):
    # Newton's steps on the slope within [a, b]; one that leaves it is replaced by the middle, of the logarithms while
    # the two ends differ in scale.
    at, found = _grid(), _grid_slopes()
    x = a
    for _ in range(200):
        if not a < x < b:
            x = b * 2.0**-8 if a == 0.0 else math.sqrt(a) * math.sqrt(b) if b > 4.0 * a else 0.5 * (a + b)
        at[0] = s0 + x
        call_slopes(slopes, (theta, m, meeting, n, at, 1, found))
        first, second = found[0] - half, found[1]
        if first > 0.0:
            a = x
        else:
            b = x
        step = first / second if second < 0.0 else np.inf
        if b - a <= 1e-15 * (s0 + b) or abs(step) <= 1e-15 * (s0 + x) or b < 1e-300:
            break
        x -= step
    return min(max(x, a), b)


@maker
def _find_window(pair):
    # (mode, log density there, left, right) in x = log δ; less than e^−40 of the density at the mode is outside.
    # The log density is inf if the integral diverges at δ = 0, and −inf if Z is 0 everywhere.
    start = _FIRST * _LOG_2 - math.log(pair[6])
    values = np.empty((_LAST - _FIRST) // 4 + 1)
    top, at = -np.inf, 0
    for i in range(values.size):
        values[i] = _log_density(pair, start + i * _STEP, 1.0)
        if values[i] > top:
            top, at = values[i], i
    if at == 0 or not -np.inf < top < np.inf:
        return 0.0, np.inf if top > -np.inf else top, 0.0, 0.0
    mode = _climb(pair, 1.0, start + (at - 1) * _STEP, start + (at + 1) * _STEP, 24)
    top = _log_density(pair, mode, 1.0)
    first, last = at, at
    for i in range(values.size):
        if values[i] >= top - _DROP:
            first, last = min(first, i), max(last, i)
    left, right = start + (first - 1) * _STEP, start + (last + 1) * _STEP
    inner_left, inner_right = min(start + first * _STEP, mode), max(start + last * _STEP, mode)
    for _ in range(6):
        middle = 0.5 * (left + inner_left)
        if _log_density(pair, middle, 1.0) >= top - _DROP:
            inner_left = middle
        else:
            left = middle
        middle = 0.5 * (right + inner_right)
        if _log_density(pair, middle, 1.0) >= top - _DROP:
            inner_right = middle
        else:
            right = middle
    return mode, top, left, right


def log_integral(log_z, theta, m, meeting, n, s0, rate):
    """log ∫_0^∞ e^(−rate δ) Z(s0 + 2δ) dδ; inf where it diverges at δ = 0."""
    # The points lie around the mode, so that two steps in a row cannot both miss a narrow peak.
    pair = log_z, theta, m, meeting, n, s0, rate
    mode, top, left, right = _find_window(pair)
    if not -np.inf < top < np.inf:
        return top
    h = (right - left) / 24.0
    total = 0.0
    for i in range(-math.floor((mode - left) / h), math.floor((right - mode) / h) + 1):
        total += math.exp(_log_density(pair, mode + i * h, 1.0) - top)
    for _ in range(14):
        between = 0.0
        for i in range(-math.floor((mode - left) / h + 0.5), math.floor((right - mode) / h - 0.5) + 1):
            between += math.exp(_log_density(pair, mode + (i + 0.5) * h, 1.0) - top)
        h *= 0.5
        is_still = abs(between - total) <= 1e-8 * total
        total += between
        if is_still:
            break
    return top + math.log(h * total)


def propose_length(log_z, theta, m, meeting, n, s0, rate, seed, item, step, log_density):
    """s and the log density of δ, drawn from close to e^(−rate δ) Z(s0 + 2δ).

    The density is the exact one of the draw: its logarithm in x = log δ is the target's at 65 points, and linear
    between. The tails go on as straight lines, so it reaches wherever the target does. Where the target diverges at
    δ = 0, that is what is drawn, with log density inf.
    """
    pair = log_z, theta, m, meeting, n, s0, rate
    _, top, left, right = _find_window(pair)
    key = stream_key(seed, item, step)
    if not top < np.inf:
        log_density[0] = np.inf
        return s0
    if top == -np.inf:
        delta = -math.log1p(-unit_draw(key, 0, 0)) / rate
        log_density[0] = math.log(rate) - rate * delta
        return s0 + 2.0 * delta
    h = (right - left) / _N_CELLS
    values = _line_through(pair, top, left, h)
    x, value = _draw_broken_line(values, left, h, unit_draw(key, 0, 0), 1.0 - unit_draw(key, 1, 0))
    log_density[0] = value - x
    return s0 + 2.0 * math.exp(x)


@maker
def _line_through(pair, top, left, h):
    # The log density in x relative to its mode, at the ends of the cells.
    values = np.empty(_N_CELLS + 1)
    for i in range(values.size):
        values[i] = max(_log_density(pair, left + i * h, 1.0) - top, -4.0 * _DROP)
    return values


def log_survival(log_z, theta, m, meeting, n, s0, rate, delta):
    """log P(a draw of `propose_length` is longer than δ): by the same window and the same broken line."""
    if not delta > 0.0:
        return 0.0
    pair = log_z, theta, m, meeting, n, s0, rate
    _, top, left, right = _find_window(pair)
    if not top < np.inf:
        return -np.inf
    if top == -np.inf:
        return -rate * delta
    h = (right - left) / _N_CELLS
    values = _line_through(pair, top, left, h)
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


@maker
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


@maker
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
