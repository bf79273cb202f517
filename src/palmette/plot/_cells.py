"""Matrices as coloured cells, and the numbers in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["MOST_NAMES", "cell_points", "draw_cells", "write_numbers"]

MOST_NAMES = 30  # leaves up to which they are named
_MOST_NUMBERS = 12  # leaves up to which numbers are written into the cells, unless somebody says


def draw_cells(ax: Axes, values: Floats, center: float | None, limits: tuple[float, float] | None) -> Any:
    """The image of a matrix, blank where it is NaN, for `center` and `limits` see `heatmap`; square cells if it is."""
    import matplotlib

    low, high = _limits(values, center) if limits is None else limits
    colours = matplotlib.colormaps["viridis" if center is None else "RdBu_r"].with_extremes(bad="#eeeeee")
    ax.grid(False)
    cells = np.ma.masked_invalid(values)
    aspect: Any = "equal" if values.shape[0] == values.shape[1] else "auto"
    image = ax.imshow(cells, cmap=colours, vmin=low, vmax=high, interpolation="nearest", aspect=aspect)
    if max(values.shape) <= MOST_NAMES:  # white lines between cells
        ax.set_xticks(np.arange(values.shape[1] - 1) + 0.5, minor=True)
        ax.set_yticks(np.arange(values.shape[0] - 1) + 0.5, minor=True)
        ax.grid(which="minor", color="white", linewidth=0.6)
    ax.tick_params(which="both", length=0)
    ax.spines[:].set_visible(False)
    return image


def _limits(values: Floats, center: float | None) -> tuple[float, float]:
    finite = values[~np.isnan(values)]
    if len(finite) == 0:
        return 0.0, 1.0
    if center is None:
        return float(finite.min()), float(finite.max())
    reach = float(np.abs(finite - center).max()) or 1.0
    return center - reach, center + reach


def write_numbers(ax: Axes, image: Any, values: Floats, annotate: bool | None) -> None:
    """The value of every cell, in black or white, whichever is read better on its colour; None: up to 12 leaves."""
    if not (max(values.shape) <= _MOST_NUMBERS if annotate is None else annotate):
        return
    texts = _numbers(values)
    longest = max((len(text) for text in texts.values()), default=1)
    size = min(8.5, max(3.0, cell_points(ax, max(values.shape)) / (0.62 * longest)))
    for (row, column), text in texts.items():
        colour = "black" if _is_light(image.cmap(image.norm(values[row, column]))) else "white"
        note = ax.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)
        note.set_in_layout(False)  # they are within their cells, and a layout would take twice as long to find that


def _numbers(values: Floats) -> dict[tuple[int, int], str]:
    # As many digits for all as the largest has use for; no minus in front of a zero.
    largest = float(np.nanmax(np.abs(values), initial=0.0))
    places = int(np.clip(np.floor(np.log10(largest or 1.0)), -2, 2))
    decimals = 2 - max(places, 0) if places >= -1 else 3
    short = largest == 0 or 0.01 <= largest < 1e4
    cells = [(int(row), int(column)) for row, column in np.argwhere(~np.isnan(values))]
    texts = [f"{round(values[c], decimals) + 0.0:.{decimals}f}" if short else f"{values[c]:.0e}" for c in cells]
    return {cell: text.replace("-", "−") for cell, text in zip(cells, texts, strict=True)}


def _is_light(colour: tuple[float, float, float, float]) -> bool:
    # Relative luminance as in the web's rules for contrast; at 0.18 black and white are read equally well.
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour[:3]]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2] > 0.18


def cell_points(ax: Axes, n: int) -> float:
    """The side of one of n cells in points, with a fifth taken off for what the layout still has to fit in."""
    extent = ax.get_window_extent()
    return float(0.8 * min(extent.width, extent.height) / n / ax.figure.dpi * 72)
