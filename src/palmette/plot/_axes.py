"""What every picture needs: matplotlib itself, an Axes to draw on, names that are shown letter by letter."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from palmette._extras import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = [
    "BLUE",
    "INK",
    "ORANGE",
    "PLAIN",
    "cluster_name",
    "fix",
    "frame",
    "new_figure",
    "own_axes",
    "settle",
    "shown_names",
    "width_of_names",
]

INK, BLUE, ORANGE = "#333333", "#0072b2", "#d55e00"  # the two are told apart by any eye (Okabe and Ito)
PLAIN: dict[str, Any] = {"parse_math": False, "usetex": False}  # for leaf names: `$` and `_` mean themselves


def new_figure(width: float, height: float, columns: int = 1) -> tuple[Figure, list[Axes]]:
    """A new figure of so many inches with Axes side by side; pyplot knows of it, so notebooks show it."""
    plt = require("matplotlib.pyplot", "plot")
    figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="compressed", squeeze=False)
    return figure, list(axes[0])


def settle(ax: Axes) -> None:
    """Lay the figure out now: places are known then, and colour bars, which move at the second time, are at rest."""
    ax.figure.canvas.figure.draw_without_rendering()


def fix(ax: Axes) -> None:
    """Lay the figure out until it is at rest, and leave it so: what was put beside something stays there."""
    figure = ax.figure.canvas.figure
    for _ in range(3):
        figure.draw_without_rendering()
    figure.set_layout_engine("none")


def own_axes(ax: Axes | None, width: float, height: float) -> Axes:
    """The Axes that were given, or those of a new figure."""
    return new_figure(width, height)[1][0] if ax is None else ax


def frame(ax: Axes, *, sides: Sequence[str] = ("left", "bottom")) -> None:
    """Thin lines on these sides only, and small numbers."""
    for side, spine in ax.spines.items():
        spine.set_visible(side in sides)
        spine.set_linewidth(0.6)
    ax.tick_params(width=0.6, length=3, labelsize=9)


def width_of_names(labels: Sequence[str]) -> float:
    """Inches that the names of the leaves take, about."""
    return 0.075 * max(map(len, shown_names(labels)))


def shown_names(labels: Sequence[str], longest: int = 28) -> list[str]:
    """Names on one line each, long ones without their middle; numbered if that makes two of them alike.

    >>> shown_names(["a_1", "TCGA-A7-A0DA-01A-31R-A115-07.counts.gz"])
    ['a_1', 'TCGA-A7-A0DA-01A-3…counts.gz']
    """
    names = [" ".join(label.splitlines()) for label in labels]
    tail = longest // 3
    short = [name if len(name) <= longest else f"{name[: longest - tail - 1]}…{name[-tail:]}" for name in names]
    if len(set(short)) < len(labels):
        return [f"{name} ({leaf})" for leaf, name in enumerate(short)]
    return short


def cluster_name(cluster: Sequence[str], longest: int = 30) -> str:
    """The labels of a cluster on one line: as many as there is room for, and how many more.

    >>> cluster_name([f"leaf {i}" for i in range(20)])
    'leaf 0 leaf 1 leaf 2 leaf 3 +16'
    """
    names = shown_names(cluster, 18)
    text, left = names[0], len(names) - 1
    while left and len(text) + len(names[-left]) + 1 <= longest:
        text, left = f"{text} {names[-left]}", left - 1
    return f"{text} +{left}" if left else text
