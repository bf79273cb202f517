"""A heat map of a square matrix over the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.labels import check_labels
from palmette.plot._axes import PLAIN, own_axes, settle, shown_names
from palmette.plot._cells import MOST_NAMES, cell_points, draw_cells, write_numbers
from palmette.plot._leaves import leaf_order

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["heatmap", "longest_name"]


def heatmap(
    matrix: npt.ArrayLike,
    labels: Sequence[str],
    *,
    ax: Axes | None = None,
    order: Sequence[int | str] | None = None,
    center: float | None = None,
    limits: tuple[float, float] | None = None,
    annotate: bool | None = None,
    colorbar_label: str = "",
    title: str = "",
) -> Axes:
    """One coloured cell for each entry of an (n, n) matrix; cells that are not finite stay blank.

    `order`: the leaves, by number or label, from the top; as they are if None. `center`: the value that is white
    between blue (below) and red (above); None is for one-sided values. `limits`: the values at the ends of the
    colours; by default those of the matrix. `annotate`: numbers in the cells; None: up to 12 leaves. Beyond 30
    leaves they are not named.
    """
    names = check_labels(labels, len(labels))
    rows = leaf_order(order, names)
    values = _square(matrix, len(names))[np.ix_(rows, rows)]
    side = min(8.0, max(2.4, 0.46 * len(names))) + 0.07 * longest_name(names)
    given, ax = ax, own_axes(ax, side + 1.1, side + 0.2)
    image = draw_cells(ax, values, center, limits)
    _name_leaves(ax, [shown_names(names)[leaf] for leaf in rows])
    bar = ax.figure.colorbar(image, ax=ax, label=colorbar_label, fraction=0.046, pad=0.03)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2.5, labelsize=8)
    if title:
        ax.set_title(title, fontsize=11)
    write_numbers(ax, image, values, annotate)
    if given is None:
        settle(ax)
    return ax


def longest_name(labels: Sequence[str]) -> int:
    """Characters of the longest name that is shown beside a heat map."""
    return max(map(len, shown_names(labels))) if len(labels) <= MOST_NAMES else 0


def _square(matrix: npt.ArrayLike, n: int) -> Floats:
    values = np.array(matrix, dtype=np.float64)
    if values.shape != (n, n):
        raise ValueError(f"the matrix has shape {values.shape}, and there are {n} labels; expected ({n}, {n})")
    values[~np.isfinite(values)] = np.nan
    return values


def _name_leaves(ax: Axes, names: list[str]) -> None:
    if len(names) > MOST_NAMES:
        ax.set(xticks=[], yticks=[])
        return
    cell = cell_points(ax, len(names))
    size = min(9.0, max(3.0, 0.7 * cell))
    upright = 0.62 * size * max(map(len, names)) < 0.9 * cell
    ax.set_xticks(range(len(names)), names, fontsize=size, rotation=0 if upright else 90, **PLAIN)
    ax.set_yticks(range(len(names)), names, fontsize=size, **PLAIN)
