"""Marks for classes of leaves: one colour each, and another shape when the colours have been used up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from palmette.plot._axes import INK, PLAIN, shown_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["COLOURS", "LINE_COLOURS", "class_styles", "legend_of"]

# Okabe and Ito, without black; the strongest first.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#f0e442")
LINE_COLOURS = COLOURS[:6]  # yellow lines are not seen on white
_SHAPES = ("s", "o", "^", "D", "v", "P")


def class_styles(classes: Sequence[str | None]) -> dict[str, dict[str, Any]]:
    """Colour and shape of the mark of every class, in the order in which they first appear.

    >>> list(class_styles(["x", None, "y", "x"]))
    ['x', 'y']
    """
    kinds = list(dict.fromkeys(kind for kind in classes if kind is not None))
    most = len(COLOURS) * len(_SHAPES)
    if len(kinds) > most:
        raise ValueError(f"there are {len(kinds)} classes, and marks for {most}; put the rare ones together")
    marks = [{"color": c, "marker": m, "edgecolor": INK, "linewidth": 0.3} for m in _SHAPES for c in COLOURS]
    return dict(zip(kinds, marks, strict=False))


def legend_of(ax: Axes, styles: Mapping[str, dict[str, Any]], *, place: str = "above") -> None:
    """One entry for each class, "above" or "below" the Axes or "under" all of the figure, in columns that fit."""
    if not styles:
        return
    frame = ax.figure.bbox
    room = frame.width if ax.figure.canvas.figure.get_layout_engine() else frame.x1 - ax.get_window_extent().x0
    width = 0.97 * room / ax.figure.dpi * 72
    names = shown_names(list(styles))
    columns = max(1, min(len(names), int(width / (5.0 * max(map(len, names)) + 22))))
    handles = [ax.scatter([], [], s=34, **style) for style in styles.values()]
    spacing = {
        "handletextpad": 0.2,
        "columnspacing": 1.1,
        "borderaxespad": 0.2,
        "handlelength": 1.4,
        "labelspacing": 0.3,
    }
    places: dict[str, dict[str, Any]] = {
        "above": {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0)},
        "above, right": {"loc": "lower right", "bbox_to_anchor": (1.0, 1.0)},
        "below": {"loc": "upper left", "bbox_to_anchor": (0.0, 0.0)},
        "under": {"loc": "outside lower left"},
    }
    owner = ax.figure if place == "under" else ax
    legend = owner.legend(handles, names, ncols=columns, frameon=False, fontsize=8.5, **places[place], **spacing)
    for text in legend.get_texts():
        text.set(**PLAIN)
