"""Names beside some of many points: none over another, few over a point, each with a line to its own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from palmette.array_types import Floats, Ints
from palmette.plot._axes import INK, PLAIN, settle

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["name_points"]

_HIDING = 60.0  # points of a longer line that a name takes rather than hide something


def name_points(ax: Axes, points: Floats, chosen: Sequence[int], texts: Sequence[str], others: Floats) -> None:
    """Write texts[i] beside points[chosen[i]]; `points` and `others`, (m, 2) each, are not to be hidden."""
    if not chosen:
        return
    settle(ax)
    dots, scale = ax.transData.transform(points)[list(chosen)], ax.figure.dpi / 72
    drawn = ax.transData.transform(np.vstack([points, others]))
    cell = _largest(ax, texts) + 4 * scale
    grids = [_grid(ax.get_window_extent(), cell, shift) for shift in np.arange(8) / 8 * cell[0]]
    ends = min((_assign(dots, grid, cell, drawn, _HIDING * scale) for grid in grids), key=lambda found: found[0])[1]
    for text, at, dot, end in zip(texts, chosen, dots, ends, strict=True):
        left = bool(end[0] >= dot[0])  # the point is on the left of its name
        line = {"arrowstyle": "-", "color": INK, "linewidth": 0.5, "shrinkA": 0, "shrinkB": 3}
        line["relpos"] = (0.0 if left else 1.0, 0.5)
        style = {"fontsize": 8, "color": INK, "ha": "left" if left else "right", "va": "center", **PLAIN}
        offset = (end - dot) / scale
        ax.annotate(text, points[at], offset, textcoords="offset points", arrowprops=line, **style)


def _assign(dots: Floats, middles: Floats, cell: Floats, drawn: Floats, price: float) -> tuple[float, Floats]:
    # A cell for each dot, beside it, and the end that faces it, at the smallest total length of the lines between the
    # two: hardly any cross then. Whatever a cell would hide has its price, and a fifth of it what a line runs through.
    ends = np.repeat(middles[None], len(dots), axis=0)
    ends[..., 0] -= cell[0] / 2 * np.sign(middles[:, 0] - dots[:, :1])
    hidden = (np.abs(drawn - middles[:, None]) <= cell / 2 + price / 15).all(axis=2).sum(axis=1)
    crossed = [_run_through(dot, to, drawn, price / 15) for dot, to in zip(dots, ends, strict=True)]
    costs = np.linalg.norm(ends - dots[:, None], axis=2) + price * (hidden + 0.2 * np.array(crossed))
    costs[np.abs(middles[:, 0] - dots[:, :1]) < cell[0] / 2 + price / 5] += 1e6  # above or below, not beside
    rows, columns = linear_sum_assignment(costs)
    found, boxes = ends[rows, columns], middles[columns]
    lines = np.linspace(dots, found, 40, endpoint=False)
    struck = int((np.abs(lines[:, :, None] - boxes) < cell / 2).all(axis=3).any(axis=0).sum())  # names run through
    return float(costs[rows, columns].sum()) + 1e3 * struck, found


def _run_through(dot: Floats, ends: Floats, drawn: Floats, reach: float) -> Ints:
    # (m,): how many drawn points come near the line from the dot to each end.
    along, relative = ends - dot, drawn - dot
    share = np.clip(relative @ along.T / np.maximum((along**2).sum(axis=1), 1.0), 0.0, 1.0)
    gap = np.linalg.norm(relative[:, None] - share[..., None] * along, axis=2)
    return np.asarray(((gap < reach) & (share > 0.0)).sum(axis=0))


def _largest(ax: Axes, texts: Sequence[str]) -> Floats:
    # Width and height in pixels that hold any of the texts.
    sizes = []
    for text in texts:
        trial = ax.text(0, 0, text, fontsize=8, **PLAIN)
        sizes.append(trial.get_window_extent().size)
        trial.remove()
    return np.asarray(np.max(sizes, axis=0))


def _grid(frame: Any, cell: Floats, shift: float) -> Floats:
    # (m, 2): the middles of cells side by side within the frame, the first one so far from its left side.
    columns = np.arange(frame.x0 + shift + cell[0] / 2, frame.x1 - cell[0] / 2, cell[0])
    rows = np.arange(frame.y0 + cell[1] / 2, frame.y1 - cell[1] / 2, cell[1])
    if len(columns) == 0:
        columns = np.array([(frame.x0 + frame.x1) / 2])
    return np.stack(np.meshgrid(columns, rows), axis=-1).reshape(-1, 2)
