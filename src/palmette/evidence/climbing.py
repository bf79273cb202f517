"""The maximum of a smooth function of few variables in a box, from few values and no slopes.

Around the best point so far a quadratic is fitted to all values, those nearby above all. Its maximum within a smaller
box, as large as the quadratic has proved to be good for, is the next point. At the end a few more points around the
maximum tell whether it is one, and give the second derivatives.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats

__all__ = ["Summit", "climb"]

_FIRST = 1.0  # half a side of the first box
_WIDEST, _NARROWEST = 3.0, 0.02
_STEP = 0.4  # between the points that give second derivatives
_NEAR = 1e-9


class Summit(NamedTuple):
    """Where a function is largest."""

    x: Floats
    value: float
    hessian: Floats
    """(k, k): second derivatives, on the inner side of an edge of the box."""
    n_values: int


class Quadratic(NamedTuple):
    """value + slope · d + ½ d · hessian d, at a distance d."""

    slope: Floats
    hessian: Floats

    def gain(self, d: Floats) -> float:
        """How much higher it is at d than at 0."""
        return float(self.slope @ d + 0.5 * d @ self.hessian @ d)

    def best_within(self, low: Floats, high: Floats) -> Floats:
        """The d in a box where it is largest: each entry at one of its ends, or where the slope is 0."""
        best = np.zeros_like(low)
        for ends in itertools.product((0, 1, 2), repeat=len(low)):
            d = np.choose(np.array(ends), [np.zeros_like(low), low, high])
            free = np.array(ends) == 0
            if free.any():
                slope = self.slope[free] + self.hessian[np.ix_(free, ~free)] @ d[~free]
                d[free] = -np.linalg.lstsq(self.hessian[np.ix_(free, free)], slope, rcond=None)[0]
            if (d >= low - _NEAR).all() and (d <= high + _NEAR).all() and self.gain(d) > self.gain(best):
                best = np.clip(d, low, high)
        return best


class _Known:
    # The points that were asked for, and their values.

    def __init__(self, function: Callable[[Floats], float], low: Floats, high: Floats, most: int) -> None:
        self.function, self.low, self.high, self.most = function, low, high, most
        self.points: list[Floats] = []
        self.values: list[float] = []

    def ask(self, x: Floats) -> float:
        x = np.clip(x, self.low, self.high)
        for point, value in zip(self.points, self.values, strict=True):
            if np.abs(point - x).max() < _NEAR:
                return value
        value = float(self.function(x))
        if not value < math.inf:
            raise ValueError(f"the function to be maximised is {value} at {x.tolist()}")
        self.points.append(x)
        self.values.append(value)
        return value

    @property
    def is_spent(self) -> bool:
        return len(self.values) >= self.most

    @property
    def best(self) -> tuple[Floats, float]:
        at = int(np.argmax(self.values))
        return self.points[at], self.values[at]

    def ask_around(self, x: Floats, step: float) -> None:
        """A step to both sides along each axis, two to one side at an edge, and one along both of each two axes."""
        k, towards = len(x), np.zeros(len(x))
        for i, axis in enumerate(np.eye(k)):
            up, down = step, -step
            if x[i] + up > self.high[i]:
                up = -2 * step
            elif x[i] + down < self.low[i]:
                down = 2 * step
            values = self.ask(x + up * axis), self.ask(x + down * axis)
            towards[i] = up if values[0] > values[1] else down
        for i, j in itertools.combinations(range(k), 2):
            self.ask(x + towards * (np.arange(k) == i) + towards * (np.arange(k) == j))

    def fit(self, centre: Floats, value: float, radius: float) -> Quadratic:
        """The quadratic through the centre that fits all values best; those two radii away hardly count."""
        k, d = len(centre), np.array(self.points) - centre
        finite = np.isfinite(self.values)
        pairs = list(itertools.combinations_with_replacement(range(k), 2))
        squares = np.column_stack([d[:, i] * d[:, j] * (0.5 if i == j else 1.0) for i, j in pairs])
        weights = finite * np.exp(-0.6 * np.square(d / radius).sum(axis=1))
        targets = np.where(finite, np.array(self.values) - value, 0.0)
        found = np.linalg.lstsq(weights[:, None] * np.hstack([d, squares]), weights * targets, rcond=1e-12)[0]
        hessian = np.zeros((k, k))
        for (i, j), second in zip(pairs, found[k:], strict=True):
            hessian[i, j] = hessian[j, i] = second
        return Quadratic(found[:k], hessian)

    def step(self, radius: float) -> tuple[Floats, float]:
        """Where the quadratic around the best point is largest, no further away than this, and what it gains there."""
        centre, value = self.best
        quadratic = self.fit(centre, value, radius)
        d = quadratic.best_within(np.maximum(self.low - centre, -radius), np.minimum(self.high - centre, radius))
        return centre + d, quadratic.gain(d)


def climb(
    function: Callable[[Floats], float], start: Floats, low: Floats, high: Floats, *, tolerance: float, most: int
) -> Summit:
    """The maximum of `function` in a box, until no more than `tolerance` seems to be left to gain; a local one.

    `function` may be −inf, but not at the start. At most about `most` values are asked for.

    >>> hill = lambda x: -math.cosh(x[0] - 1.0) - (x[1] + 0.5 * x[0]) ** 2
    >>> summit = climb(hill, np.zeros(2), np.full(2, -5.0), np.full(2, 5.0), tolerance=1e-4, most=50)
    >>> summit.x.round(2), round(summit.value, 3), summit.hessian.round(1)
    (array([ 1. , -0.5]), -1.0, array([[-1.5, -1. ],
           [-1. , -2. ]]))
    """
    known = _Known(function, low, high, most)
    if known.ask(start) == -math.inf:
        raise ValueError("the function to be maximised is -inf at the start; begin elsewhere")
    radius = _FIRST
    known.ask_around(start, radius)
    while not known.is_spent:
        radius = _walk(known, radius, tolerance)
        centre, value = known.best
        known.ask_around(centre, _STEP)  # a quadratic may be wrong about what is left to gain: look
        if known.best[1] <= value + tolerance:
            known.ask(known.step(_STEP)[0])
            if known.best[1] <= value + tolerance:
                break
    x, value = known.best
    return Summit(x, value, known.fit(x, value, _STEP).hessian, len(known.values))


def _walk(known: _Known, radius: float, tolerance: float) -> float:
    # To where a quadratic sees no more to gain; how far it was to be trusted in the end.
    while radius > _NARROWEST and not known.is_spent:
        centre, value = known.best
        x, expected = known.step(radius)
        if expected < tolerance:
            break
        gain = known.ask(x) - value
        if gain < 0.25 * expected:
            radius /= 2
        elif gain > 0.75 * expected and np.abs(x - centre).max() > 0.9 * radius:
            radius = min(2 * radius, _WIDEST)
    return max(radius, _STEP)
