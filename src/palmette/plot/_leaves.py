"""The ends of the rows of a picture: names of leaves, and marks of their classes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Ints
from palmette.labels import leaf_index, leaf_number
from palmette.plot._axes import PLAIN, shown_names
from palmette.plot._classes import class_styles, legend_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["label_rows", "leaf_order", "row_points"]

_SMALLEST = 4.5  # points of the smallest name that is written


def label_rows(
    ax: Axes,
    labels: Sequence[str],
    kinds: Sequence[str | None],
    order: Sequence[int] | Ints,
    orientation: str = "left",
    *,
    legend: str | None = None,
) -> None:
    """The name of each leaf, in this order, at the end of its row, and the mark of its class, with a legend.

    `orientation` is the side of the root. `legend` is "under" all of the figure, or near the rows if it is None.
    """
    styles, names = class_styles(kinds), shown_names(labels)
    _name_rows(ax, [names[leaf] for leaf in order], orientation, marks=bool(styles))
    _mark_rows(ax, [kinds[leaf] for leaf in order], styles, orientation)
    near = {"bottom": "below", "right": "above, right"}.get(orientation, "above")
    legend_of(ax, styles, place=near if legend is None else legend)


def _name_rows(ax: Axes, names: Sequence[str], orientation: str, *, marks: bool) -> None:
    """Names at the ends of the rows, as large as fits; every second, third … if they would be too small to read."""
    upright = orientation in ("top", "bottom")
    axis = ax.xaxis if upright else ax.yaxis
    room = row_points(ax, len(names), upright)
    every = 1 if 0.78 * room >= _SMALLEST else int(np.ceil(1.25 * _SMALLEST / (0.78 * room)))
    size = min(9.0, 0.78 * room * every)
    shown = range(0, len(names), every)
    level = upright and 0.6 * size * max(map(len, names)) < 0.9 * room
    turned: dict[str, Any] = {"rotation": 0 if level or not upright else 90}
    axis.set_ticks(list(shown), [names[row] for row in shown], fontsize=size, **turned, **PLAIN)
    axis.set_tick_params(length=0 if every == 1 else 2, width=0.4, pad=2 + (_mark_size(room) + 3 if marks else 0))
    opposite: dict[str, Any] = {"left": "right", "right": "left", "top": "bottom", "bottom": "top"}
    axis.set_ticks_position(opposite[orientation])
    if every > 1:
        beside = ax.yaxis if upright else ax.xaxis
        words = [word for word in (beside.get_label_text(), f"one leaf in {every} is named") if word]
        beside.set_label_text("; ".join(words), fontsize=9)


def _mark_rows(ax: Axes, kinds: Sequence[str | None], styles: Mapping[str, dict[str, Any]], orientation: str) -> None:
    """A mark for the class of each row, between its end and its name."""
    from matplotlib.transforms import ScaledTranslation, blended_transform_factory

    upright = orientation in ("top", "bottom")
    size = _mark_size(row_points(ax, len(kinds), upright))
    out = (3.5 + size / 2) / 72 * (1 if orientation in ("left", "bottom") else -1)
    shift = ScaledTranslation(0 if upright else out, out if upright else 0, ax.figure.dpi_scale_trans)
    edge = 1.0 if orientation in ("left", "bottom") else 0.0
    parts = (ax.transData, ax.transAxes) if upright else (ax.transAxes, ax.transData)
    place = blended_transform_factory(*parts) + shift
    for kind, style in styles.items():
        rows = [row for row, other in enumerate(kinds) if other == kind]
        at: Any = (rows, [edge] * len(rows)) if upright else ([edge] * len(rows), rows)
        thin = {**style, "linewidth": 0.3 if size > 4 else 0.0}
        ax.scatter(at[0], at[1], size**2, transform=place, clip_on=False, zorder=3, **thin)


def leaf_order(order: Sequence[int | str] | None, labels: Sequence[str]) -> list[int]:
    """The numbers of all leaves in an order given by numbers or labels, or as they are.

    >>> leaf_order(["b", 0], ["a", "b"])
    [1, 0]
    """
    index = leaf_index(labels)
    leaves = list(range(len(labels))) if order is None else [leaf_number(leaf, index) for leaf in order]
    if sorted(leaves) != list(range(len(labels))):
        raise ValueError(f"order lists {len(leaves)} leaves; it must list each of the {len(labels)} leaves once")
    return leaves


def row_points(ax: Axes, n: int, upright: bool) -> float:
    """Points from one of n rows to the next."""
    extent = ax.get_window_extent()
    return float((extent.width if upright else extent.height) / max(1, n) / ax.figure.dpi * 72)


def _mark_size(room: float) -> float:
    return min(6.0, max(1.5, 0.6 * room))
