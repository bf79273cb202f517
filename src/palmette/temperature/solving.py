"""The β at which an entropy is what was asked for, from as few posteriors as possible.

Let βE be the best log potential, x = log β, and g(x) = log Z − βE, which falls from log N, for N clusterings, to nearly
nothing. Its slope is g(x) − entropy. So one posterior gives g and its slope at once, and two of them a cubic between
them. Where there are not yet two: if what log potentials are below the best one had a gamma distribution of shape s and
scale θ over all clusterings, then

    g = log N − s log(1 + t),        entropy = log N − s (log(1 + t) − t / (1 + t)),        t = βθ,

and two numbers fix s and θ: the mean and the variance of draws at β = 0, or g and the entropy at one β.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

from scipy.optimize import brentq

__all__ = ["Landscape", "State", "solve"]

_FAR = 1.5  # two posteriors further apart than this, in log β, say little about what is near one of them
_CLOSE = 1e-3  # nearer than this, a straight line will do
_STEP = math.log(4)  # into the dark
_BEYOND = 0.02  # past a guess: two posteriors on both sides are worth more than two on one


class State(NamedTuple):
    """A posterior at one β, in three numbers: log β, g = log Z − βE and the entropy."""

    log_beta: float
    excess: float
    entropy: float


class Landscape(NamedTuple):
    """What is known of all clusterings: log N, and what s and log θ draws from all of them suggest."""

    log_count: float
    shape: float
    log_scale: float

    def guess(self, target: float) -> float:
        """log β where the entropy should be `target`."""
        return _log_time(self.shape, self.log_count - target) - self.log_scale

    def guess_from(self, state: State, target: float) -> float | None:
        """The same from one posterior; None if it is too near to either end to say."""
        fallen = self.log_count - state.entropy
        summed = self.log_count - state.excess
        if not 1e-6 < fallen < (1 - 1e-6) * summed:
            return None
        ratio = fallen / summed
        log_t = _root(lambda x: 1.0 - 1.0 / ((1.0 + math.exp(-x)) * _log1p_exp(x)) - ratio)
        shape = summed / _log1p_exp(log_t)
        return state.log_beta + _log_time(shape, self.log_count - target) - log_t


def _log1p_exp(x: float) -> float:
    return x + math.log1p(math.exp(-x)) if x > 0 else math.log1p(math.exp(x))


def _log_time(shape: float, fall: float) -> float:
    # log t with s (log(1 + t) − t / (1 + t)) = fall.
    return _root(lambda x: _log1p_exp(x) - 1.0 / (1.0 + math.exp(-x)) - fall / shape)


def _root(rising: Callable[[float], float], low: float = -60.0, high: float = 60.0) -> float:
    if rising(low) >= 0.0:
        return low
    return high if rising(high) <= 0.0 else float(brentq(rising, low, high, xtol=1e-14))


def _between(low: State, high: State, target: float) -> float:
    # Where the entropy is `target` if g is the cubic with the values and slopes of both.
    width = high.log_beta - low.log_beta
    if width < _CLOSE:  # the cubic would be a difference of nearly equal numbers
        return low.log_beta + width * (low.entropy - target) / (low.entropy - high.entropy)
    start, end = ((state.excess - state.entropy) * width for state in (low, high))
    rise = high.excess - low.excess
    square, cube = 3 * rise - 2 * start - end, start + end - 2 * rise

    def beyond(s: float) -> float:
        excess = low.excess + s * (start + s * (square + s * cube))
        return target - (excess - (start + s * (2 * square + 3 * s * cube)) / width)

    return low.log_beta + width * _root(beyond, 0.0, 1.0)


def solve(
    evaluate: Callable[[float], State], known: list[State], landscape: Landscape, target: float, tolerance: float
) -> float:
    """log β where the entropy is `target`, in nats, to within `tolerance` and, by a last cubic, usually far better.

    `evaluate` is asked for posteriors at log β; it raises if the entropy is not going to fall to the target. `known`
    are those that are there already.
    """
    states = sorted(known)
    stalled = False
    for _ in range(300):
        near = min(states, key=lambda state: abs(state.entropy - target), default=None)
        if near is not None and abs(near.entropy - target) <= tolerance:
            return _polished(near, states, target)
        low = max((state for state in states if state.entropy > target), default=None)
        high = min((state for state in states if state.entropy < target), default=None)
        if near is None:
            states.append(evaluate(landscape.guess(target)))
        elif low is None or high is None:
            states.append(evaluate(_outwards(max(states) if high is None else min(states), landscape, target)))
        else:
            x = (low.log_beta + high.log_beta) / 2 if stalled else _between(low, high, target)
            states.append(evaluate(x))
            # A cubic that does not help is followed by the middle, once.
            stalled = not stalled and 4 * abs(states[-1].entropy - target) > abs(near.entropy - target)
    raise AssertionError("an entropy that falls was not found")  # pragma: no cover – brackets are halved


def _outwards(last: State, landscape: Landscape, target: float) -> float:
    # All posteriors so far are on one side of the target, and this is the last of them.
    towards = 1.0 if last.entropy > target else -1.0
    guess = landscape.guess_from(last, target)
    ahead = 0.0 if guess is None else towards * (guess - last.log_beta)
    return last.log_beta + towards * (min(ahead + _BEYOND, 4 * _STEP) if ahead > 0 else _STEP)


def _polished(near: State, states: list[State], target: float) -> float:
    # From a posterior that is near enough, by the cubic to the next one, if that is near too.
    others = [state for state in states if (state.entropy - target) * (near.entropy - target) < 0]
    if near.entropy == target or not others:
        return near.log_beta
    other = min(others, key=lambda state: abs(state.log_beta - near.log_beta))
    if abs(other.log_beta - near.log_beta) > _FAR:
        return near.log_beta
    found = _between(min(near, other), max(near, other), target)
    # Where the entropy hardly falls any more, rounding alone puts it on the target's other side, and a cubic goes far
    # for nothing. Elsewhere it goes about as far as a straight line does.
    share = (found - near.log_beta) / (other.log_beta - near.log_beta)
    by_line = share * abs(other.entropy - near.entropy)
    return found if by_line <= 2.0 * abs(near.entropy - target) else near.log_beta
