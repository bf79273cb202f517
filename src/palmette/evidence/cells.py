"""Equal cells around a maximum that hold nearly all that is under a hill, for sums in place of an integral.

Cells lie along the principal axes of the second derivatives at the top, each 1¼ standard deviations wide, as far as the
function is not too far below the top: the rule of INLA (Rue, Martino and Chopin 2009). Where the hill is flat they are
a part of the box. A cell that the box cuts counts for as much of it as is inside, at the middle of that.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats

__all__ = ["Cell", "cells_around"]

_WIDTH = 1.25  # of a cell, in standard deviations
_CUT = 3.0  # nats: neighbours of cells that are further below the top are not looked at
_AT_LEAST, _AT_MOST = 60, 6  # cells in a row through the box
_WIDER = 1.5  # if there are too many
_PARTS = 4  # pieces along each side of a cell, to see what is inside


class Cell(NamedTuple):
    """One of the cells."""

    x: Floats
    """Where the function was asked."""
    value: float
    log_volume: float


def cells_around(
    function: Callable[[Floats], float], top: Floats, hessian: Floats, low: Floats, high: Floats, *, most: int
) -> list[Cell]:
    """Cells around a maximum at `top`, in the box from `low` to `high`; at most about `most` values are asked for.

    >>> hill = lambda x: -0.5 * (x[0] ** 2 + (x[1] / 3) ** 2)
    >>> found = cells_around(hill, np.zeros(2), -np.diag([1, 1 / 9]), np.full(2, -20.0), np.full(2, 20.0), most=60)
    >>> len(found), round(sum(math.exp(cell.value + cell.log_volume) for cell in found) / (2 * math.pi * 3), 2)
    (21, 1.0)
    """
    axes = _axes(hessian, high - low)
    while True:
        found = _fill(function, top, axes, low, high, most)
        if found is not None:
            return found
        axes = axes * _WIDER


def _axes(hessian: Floats, span: Floats) -> Floats:
    # (k, k): the sides of a cell, in columns.
    values, vectors = np.linalg.eigh(-hessian)
    across = np.abs(vectors.T) @ span
    with np.errstate(divide="ignore", invalid="ignore"):
        width = np.where(values > 0.0, _WIDTH / np.sqrt(values), np.inf)
    return vectors * np.clip(width, across / _AT_LEAST, across / _AT_MOST)  # type: ignore[no-any-return]


def _fill(
    function: Callable[[Floats], float], top: Floats, axes: Floats, low: Floats, high: Floats, most: int
) -> list[Cell] | None:
    # From the cell at the top to its neighbours, for as long as these are high enough; None if they are too many.
    k = len(top)
    steps = [sign * row for row in np.eye(k, dtype=int) for sign in (1, -1)]
    pieces = (np.array(list(itertools.product(range(_PARTS), repeat=k))) + 0.5) / _PARTS - 0.5
    log_volume = math.log(abs(np.linalg.det(axes)))
    found: dict[tuple[int, ...], Cell] = {}
    best, waiting, seen = -math.inf, [(0,) * k], {(0,) * k}
    while waiting:
        at = waiting.pop(0)
        points = top + (pieces + at) @ axes.T
        points = points[((points >= low) & (points <= high)).all(axis=1)]
        if len(points) == 0:
            continue
        if len(found) >= most:
            return None
        x = points.mean(axis=0)
        cell = found[at] = Cell(x, function(x), log_volume + math.log(len(points) / len(pieces)))
        best = max(best, cell.value)
        if cell.value > best - _CUT:
            new = [tuple((np.array(at) + step).tolist()) for step in steps]
            waiting += [place for place in new if place not in seen]
            seen |= set(new)
    return list(found.values())
