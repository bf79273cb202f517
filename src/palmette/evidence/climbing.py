"""The maximum of a smooth function of few variables in a box, from few values and no slopes.

A surface goes through all values that are known: a sum of cubes of distances, and a plane. Distances are measured in
units in which the hill is about as long as it is wide, by a quadratic that is fitted to the same values, so that a
ridge is seen as one. The next point is the top of the surface within a smaller box, as large as the surface has proved
to be good for. At the end points about a standard deviation away, along the axes of the quadratic, tell whether it is a
top, and give the second derivatives.

Slopes are not asked for, though E[∂ log ψ / ∂θ] would give them: with the pass from the root down and one over all
splits for each of two parameters they take six times as long as the value, and a quadratic has five unknowns.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats

__all__ = ["Summit", "climb"]

_FIRST, _WIDEST, _NARROWEST = 1.0, 3.0, 0.05  # half a side of the box in which the surface is trusted
_LOOK = 1.5  # half a side of the box in which nothing may be left to gain at the end
_SHORTEST, _LONGEST = 0.4, 2.5  # how far away points are asked for at the end
_FAR = 2.5  # values further away hardly count for the units of distances
_NEAR = 0.8  # nor these for where points are asked for at the end
_LENGTH = 30.0**0.5  # a hill is not taken to be longer than that, if its width is 1
_DEEP = 5.0  # nats below the top from which on depths are seen as their logarithms
_SAME = 1e-9
_CLOSE = 1e-3  # nearer than this to a known point nothing new is to be learned
_GRID = 2000  # points at which a surface is looked at, four times, each time closer


class Summit(NamedTuple):
    """Where a function is largest."""

    x: Floats
    value: float
    hessian: Floats
    """(k, k): second derivatives, on the inner side of an edge of the box."""
    n_values: int


class _Known:
    # The points that were asked for, and their values.

    def __init__(self, function: Callable[[Floats], float], low: Floats, high: Floats, most: int) -> None:
        self.function, self.low, self.high, self.most = function, low, high, most
        self.points = np.empty((0, len(low)))
        self.values: list[float] = []

    def ask(self, x: Floats) -> float:
        x = np.clip(x, self.low, self.high)
        if self.distance(x) < _SAME:
            return self.values[int(np.argmin(np.abs(self.points - x).max(axis=1)))]
        value = float(self.function(x))
        if not value < math.inf:
            raise ValueError(f"the function to be maximised is {value} at {x.tolist()}")
        self.points = np.vstack([self.points, x])
        self.values.append(value)
        return value

    def distance(self, x: Floats) -> float:
        """From the nearest known point."""
        return float(np.abs(self.points - x).max(axis=1).min(initial=math.inf))

    @property
    def is_spent(self) -> bool:
        return len(self.values) >= self.most

    @property
    def best(self) -> tuple[Floats, float]:
        at = int(np.argmax(self.values))
        return self.points[at], self.values[at]

    def quadratic(self, units: Floats) -> _Quadratic:
        """Through the best point, the one that fits all values best; those two units away hardly count."""
        centre, value = self.best
        k, d = len(centre), np.linalg.solve(units, (self.points - centre).T).T
        finite = np.isfinite(self.values)
        pairs = list(itertools.combinations_with_replacement(range(k), 2))
        squares = np.column_stack([d[:, i] * d[:, j] * (0.5 if i == j else 1.0) for i, j in pairs])
        weights = finite * np.exp(-0.6 * np.square(d).sum(axis=1))
        targets = np.where(finite, np.array(self.values) - value, 0.0)
        terms = weights[:, None] * np.hstack([d, squares])
        found, _, _, singular = np.linalg.lstsq(terms, weights * targets, rcond=1e-12)
        hessian = np.zeros((k, k))
        for (i, j), second in zip(pairs, found[k:], strict=True):
            hessian[i, j] = hessian[j, i] = second
        is_fixed = len(terms) > terms.shape[1] and bool(singular[-1] > 0.02 * singular[0])
        return _Quadratic(units, found[:k], hessian, is_fixed)


class _Quadratic(NamedTuple):
    # value + slope · d + ½ d · second d, at a distance d in units, which are the columns of a matrix.
    units: Floats
    slope: Floats
    second: Floats
    is_fixed: bool  # whether the values nearby leave it no freedom

    @property
    def hessian(self) -> Floats:
        back = np.linalg.inv(self.units)
        return back.T @ self.second @ back

    def step(self) -> tuple[Floats, float]:
        """To its maximum, or to an end of the units, and what is gained by that; nothing where it has none."""
        values, axes = np.linalg.eigh(self.second)
        if values.max() >= 0.0:
            return np.zeros_like(self.slope), 0.0
        d = np.clip(-axes @ ((self.slope @ axes) / values), -1.0, 1.0)
        return self.units @ d, float(self.slope @ d + 0.5 * d @ self.second @ d)


class _Surface:
    # Σ c_i |x − x_i|³ + a plane, through all values; deep ones are lifted.

    def __init__(self, known: _Known) -> None:
        self.turn, self.top = _round(known), known.best[1]
        self.points = known.points @ self.turn
        m, k = self.points.shape
        depths = np.minimum(self.top - np.array(known.values), 1e9)
        depths = np.where(depths < _DEEP, depths, _DEEP * (1.0 + np.log(np.maximum(depths, _DEEP) / _DEEP)))
        plane = np.hstack([np.ones((m, 1)), self.points])
        system = np.block([[self._cubes(self.points), plane], [plane.T, np.zeros((k + 1, k + 1))]])
        self.found = np.linalg.lstsq(system, np.append(-depths, np.zeros(k + 1)), rcond=1e-13)[0]

    def _cubes(self, x: Floats) -> Floats:
        return np.linalg.norm(x[:, None] - self.points[None], axis=2) ** 3  # type: ignore[no-any-return]

    def __call__(self, x: Floats) -> Floats:
        m, turned = len(self.points), x @ self.turn
        return np.asarray(
            self.top + self._cubes(turned) @ self.found[:m] + self.found[m] + turned @ self.found[m + 1 :]
        )

    def best_within(self, low: Floats, high: Floats) -> tuple[Floats, float]:
        """Where it is largest in a box, about, and how large."""
        k = len(low)
        size = max(3, int(_GRID ** (1 / k)))
        below, above = low, high
        for _ in range(4):
            axes = [np.linspace(*ends, size) for ends in zip(below, above, strict=True)]
            x = np.stack(np.meshgrid(*axes), axis=-1).reshape(-1, k)
            values = self(x)
            at = int(np.argmax(values))
            reach = 1.5 * (above - below) / (size - 1)
            below, above = np.maximum(low, x[at] - reach), np.minimum(high, x[at] + reach)
        return x[at], float(values[at])


def _round(known: _Known) -> Floats:
    # What points are multiplied with so that the hill is about as long as it is wide.
    k = known.points.shape[1]
    if len(known.points) <= k * (k + 3) // 2:
        return np.eye(k)
    values, axes = np.linalg.eigh(-known.quadratic(_FAR * np.eye(k)).hessian)
    widest = max(float(values.max()), 1e-6)
    return axes * np.sqrt(np.clip(values / widest, _LENGTH**-2, 1.0))


def climb(
    function: Callable[[Floats], float], start: Floats, low: Floats, high: Floats, *, tolerance: float, most: int
) -> Summit:
    """The maximum of `function` in a box, until no more than `tolerance` seems to be left to gain; a local one.

    `function` may be −inf, but not at the start. At most about `most` values are asked for.

    >>> hill = lambda x: -math.cosh(x[0] - 1.0) - (x[1] + 0.5 * x[0]) ** 2
    >>> summit = climb(hill, np.zeros(2), np.full(2, -5.0), np.full(2, 5.0), tolerance=1e-4, most=50)
    >>> summit.x.round(2), round(summit.value, 3), summit.hessian.round(1)
    (array([ 1. , -0.5]), -1.0, array([[-1.6, -1. ],
           [-1. , -2. ]]))
    """
    known = _Known(function, low, high, most)
    if known.ask(start) == -math.inf:
        raise ValueError("the function to be maximised is -inf at the start; begin elsewhere")
    for i, axis in enumerate(_FIRST * np.eye(len(start))):
        known.ask(start + axis if start[i] + _FIRST <= high[i] else start - axis)
    radius = _FIRST
    asked = 0
    while not known.is_spent and len(known.values) > asked:
        asked = len(known.values)
        radius = max(_walk(known, radius, tolerance), _LOOK)
        centre, value = known.best
        if not _is_lower_around(known, tolerance):
            continue
        step, gain = known.quadratic(_axes(known)).step()
        if gain > tolerance / 4:
            known.ask(centre + step)
        if known.best[1] <= value + tolerance and not _next(known, _LOOK)[1] > known.best[1] + tolerance:
            break
    x, value = known.best
    return Summit(x, value, known.quadratic(_axes(known)).hessian, len(known.values))


def _walk(known: _Known, radius: float, tolerance: float) -> float:
    # To where the surface sees no more to gain; how far it was to be trusted in the end.
    while radius > _NARROWEST and not known.is_spent:
        centre, value = known.best
        x, expected = _next(known, radius)
        if not expected > value + tolerance:
            break
        gain = (known.ask(x) - value) / (expected - value)
        if gain < 0.25:
            radius /= 2
        elif gain > 0.5 and np.abs(x - centre).max() > 0.9 * radius:
            radius = min(2 * radius, _WIDEST)
    return radius


def _next(known: _Known, radius: float) -> tuple[Floats, float]:
    # The top of the surface no further away than this, and its height there; −inf if it is known already.
    centre, _ = known.best
    x, value = _Surface(known).best_within(
        np.maximum(known.low, centre - radius), np.minimum(known.high, centre + radius)
    )
    return x, value if known.distance(x) > _CLOSE else -math.inf


def _axes(known: _Known) -> Floats:
    # In columns, the axes of the hill, each about a standard deviation long.
    k = known.points.shape[1]
    values, axes = np.linalg.eigh(-known.quadratic(_NEAR * np.eye(k)).hessian)
    return axes * np.clip(1.0 / np.sqrt(np.maximum(values, 1e-9)), _SHORTEST, _LONGEST)  # type: ignore[no-any-return]


def _is_lower_around(known: _Known, tolerance: float) -> bool:
    # Whether nothing along the axes of the hill is higher than its top; points that are missing there are asked for.
    (centre, value), axes = known.best, _axes(known)
    k = len(centre)
    inverse = np.linalg.inv(axes)
    ways = [sign * row for row in np.eye(k) for sign in (1.0, -1.0)]
    across = [one + two for one, two in itertools.combinations(np.eye(k), 2)]
    for way in (*ways, *across):
        x = np.clip(centre + axes @ way, known.low, known.high)
        d = (known.points - centre) @ inverse.T
        length = np.linalg.norm(d, axis=1)
        along = d @ way / np.linalg.norm(way) > 0.8 * length
        is_known = bool(((length > 0.7) & (length < 2.0) & along).any())
        is_needed = not is_known if np.count_nonzero(way) == 1 else not known.quadratic(axes).is_fixed
        if is_needed and np.abs(x - centre).max() > 0.2:
            known.ask(x)
            if known.best[1] > value + tolerance:
                return False
    return True
