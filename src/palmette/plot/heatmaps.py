"""Heat maps of square matrices over the leaves."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.labels import check_labels
from palmette.models.base import is_model
from palmette.models.cluster_model import PartitionModel
from palmette.plot._axes import PLAIN, new_figure, own_axes, settle, shown_names
from palmette.plot._leaves import leaf_order
from palmette.plot.scatter import pair_log_potentials
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["affinities_and_coclustering", "draw_cells", "heatmap", "write_numbers"]

_MOST_NUMBERS = 12  # leaves up to which numbers are written into the cells
_MOST_NAMES = 30  # leaves up to which they are named


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
    side = min(8.0, max(2.4, 0.46 * len(names))) + 0.07 * _longest(names)
    given, ax = ax, own_axes(ax, side + 1.1, side + 0.2)
    image = draw_cells(ax, values, center, limits)
    _name_leaves(ax, [shown_names(names)[leaf] for leaf in rows])
    bar = ax.figure.colorbar(image, ax=ax, label=colorbar_label, fraction=0.046, pad=0.03)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2.5, labelsize=8)
    if title:
        ax.set_title(title, fontsize=11)
    if annotate if annotate is not None else len(names) <= _MOST_NUMBERS:
        write_numbers(ax, image, values)
    if given is None:
        settle(ax)
    return ax


def affinities_and_coclustering(
    affinity_or_model: PartitionModel | npt.ArrayLike, posterior: Any, *, order: Sequence[int | str] | None = None
) -> Figure:
    """Two heat maps, leaves in one order: how strongly each pair attracts, and P(i ~ j), how likely it is together.

    On the left the log potential of each pair if a model is given (β w_ij for correlation clustering; the paper of
    Greenberg et al. calls it the energy of the pair), or the given matrix. `posterior` is a `PartitionPosterior`,
    `SampledPartitions`, or draws. By default leaves are grouped by the MAP partition, large clusters first. MAP
    clusters are outlined.
    """
    labels, best = posterior.labels, posterior.map().aligned_to(posterior.labels)
    left = pair_log_potentials(affinity_or_model, labels)
    np.fill_diagonal(left, np.nan)
    rows = best.leaf_order.tolist() if order is None else leaf_order(order, labels)
    side = min(6.4, max(2.4, 0.44 * len(labels))) + 0.07 * _longest(labels)
    figure, axes = new_figure(2 * side + 2.2, side + 0.5, columns=2)
    name = "log potential of the pair" if is_model(affinity_or_model) else "affinity"
    heatmap(left, labels, ax=axes[0], order=rows, center=0.0, colorbar_label=name, title="Affinities")
    sharing = "Probability of sharing a cluster"
    together = values_of(posterior.coclustering())
    heatmap(together, labels, ax=axes[1], order=rows, limits=(0.0, 1.0), colorbar_label="P(i ~ j)", title=sharing)
    for ax in axes:
        _outline(ax, best.membership[rows])
    settle(axes[0])
    return figure


def _square(matrix: npt.ArrayLike, n: int) -> Floats:
    values = np.array(matrix, dtype=np.float64)
    if values.shape != (n, n):
        raise ValueError(f"the matrix has shape {values.shape}, and there are {n} labels; expected ({n}, {n})")
    values[~np.isfinite(values)] = np.nan
    return values


def _longest(labels: Sequence[str]) -> int:
    return max(map(len, shown_names(labels))) if len(labels) <= _MOST_NAMES else 0


def draw_cells(ax: Axes, values: Floats, center: float | None, limits: tuple[float, float] | None) -> Any:
    """The image of a matrix, blank where it is NaN, for `center` and `limits` see `heatmap`; square cells if it is."""
    import matplotlib

    low, high = _limits(values, center) if limits is None else limits
    colours = matplotlib.colormaps["viridis" if center is None else "RdBu_r"].with_extremes(bad="#eeeeee")
    ax.grid(False)
    cells = np.ma.masked_invalid(values)
    aspect: Any = "equal" if values.shape[0] == values.shape[1] else "auto"
    image = ax.imshow(cells, cmap=colours, vmin=low, vmax=high, interpolation="nearest", aspect=aspect)
    if max(values.shape) <= _MOST_NAMES:  # white lines between cells
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


def _name_leaves(ax: Axes, names: list[str]) -> None:
    if len(names) > _MOST_NAMES:
        ax.set(xticks=[], yticks=[])
        return
    cell = _cell(ax, len(names))
    size = min(9.0, max(3.0, 0.7 * cell))
    upright = 0.62 * size * max(map(len, names)) < 0.9 * cell
    ax.set_xticks(range(len(names)), names, fontsize=size, rotation=0 if upright else 90, **PLAIN)
    ax.set_yticks(range(len(names)), names, fontsize=size, **PLAIN)


def _cell(ax: Axes, n: int) -> float:
    # The side of a cell in points, with a fifth taken off for what the layout still has to fit in.
    extent = ax.get_window_extent()
    return float(0.8 * min(extent.width, extent.height) / n / ax.figure.dpi * 72)


def write_numbers(ax: Axes, image: Any, values: Floats) -> None:
    """The value of every cell, in black or white, whichever is read better on its colour."""
    texts = _numbers(values)
    longest = max((len(text) for text in texts.values()), default=1)
    size = min(8.5, max(3.0, _cell(ax, max(values.shape)) / (0.62 * longest)))
    for (row, column), text in texts.items():
        colour = "black" if _is_light(image.cmap(image.norm(values[row, column]))) else "white"
        ax.text(column, row, text, ha="center", va="center", fontsize=size, color=colour)


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


def _outline(ax: Axes, membership: Ints) -> None:
    from matplotlib.patches import Rectangle

    starts = [0, *(np.flatnonzero(np.diff(membership)) + 1).tolist(), len(membership)]
    for colour, width, layer in (("white", 2.6, 3), ("black", 1.0, 4)):  # seen on dark and on light cells
        for first, end in pairwise(starts):
            box = Rectangle((first - 0.5, first - 0.5), end - first, end - first, fill=False)
            ax.add_patch(box).set(edgecolor=colour, linewidth=width, zorder=layer, clip_on=False)
