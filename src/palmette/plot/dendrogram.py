"""One hierarchy, with what supports it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.drawing.classes import class_of_leaves
from palmette.evaluate import BootstrapRow
from palmette.hierarchy import Hierarchy
from palmette.models.heights import drawn_at
from palmette.plot._axes import frame, own_axes, width_of_names
from palmette.plot._branches import check_side, draw_branches, line_width, with_shown_support, write_support
from palmette.plot._leaves import label_rows, leaf_order
from palmette.plot._places import brackets, has_heights, middle_rows, rows_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["dendrogram"]


def dendrogram(
    hierarchy: Any,
    *,
    support: Any = None,
    classes: Mapping[str, Any] | Sequence[Any] | None = None,
    order: Sequence[int | str] | None = None,
    intervals: npt.ArrayLike | None = None,
    bootstrap: Iterable[BootstrapRow] | None = None,
    orientation: str = "left",
    heights: bool = True,
    ax: Axes | None = None,
) -> Axes:
    """A hierarchy with its labels, and the support of every cluster: a number on its branch, the darker the higher.

    `hierarchy` is a `Hierarchy`, which may be multifurcating, or a posterior (or draws): then its most probable
    hierarchy, with the probabilities of its clusters. `support` is one number per node, a mapping from clusters, or a
    posterior; by default the hierarchy's own. `classes`, one per leaf or a mapping from labels, are marked beside the
    labels. `order` lists the leaves, numbers or labels, from the first row on. `intervals` (n_nodes, 2) are drawn as
    bars at the nodes, from one height to another, where they are not NaN: those of `posterior.node_ages`. `bootstrap`
    are rows of `evaluate.bootstrap`: AU and BP of clusters, written below their branches in per cent. `orientation`
    is the side of the root: "left", "right", "top" or "bottom". When there is no room, numbers and then names are
    thinned out; a note says so.

    Heights are drawn to scale where there are any: those of a `Hierarchy`, its branch lengths, or of a posterior those
    that its model has: of points and of similarities the root of each cluster's share of all scatter (see
    `SplitModel.heights`). Else, and with ``heights=False``, a cluster is one step above its highest child. For another
    hierarchy of a posterior take ``posterior.model.with_heights(hierarchy)``.

    >>> import matplotlib; matplotlib.use("agg")
    >>> ax = dendrogram(Hierarchy.from_newick("((a,b)0.9,c);"))
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['a', 'b', 'c'], ['0.90'])
    """
    check_side(orientation)
    tree = drawn_at(with_shown_support(hierarchy, support), hierarchy, heights)
    kinds = class_of_leaves(classes, tree.labels)
    leaves = tree.leaf_order.tolist() if order is None else leaf_order(order, tree.labels)
    ax = own_axes(ax, *_figure_size(tree, orientation))
    across, rows = np.asarray(tree.heights), middle_rows(tree, rows_of(np.asarray(leaves)))
    upright = orientation in ("top", "bottom")
    bars = _checked(intervals, tree.n_nodes)
    _set_limits(ax, np.append(across, bars[np.isfinite(bars)]), tree.n_leaves, orientation)
    lines = _turned(brackets(tree, across, rows), upright)
    draw_branches(ax, lines, tree.support, line_width(ax, tree.n_leaves, upright))
    _draw_bars(ax, bars, rows, upright)
    _guide_leaves(ax, across, rows, tree.n_leaves, upright)
    _frame(ax, orientation, has_heights(tree))
    label_rows(ax, tree.labels, kinds, leaves, orientation)
    write_support(ax, tree, np.column_stack([across, rows]), orientation, bootstrap=bootstrap)
    return ax


def _checked(intervals: npt.ArrayLike | None, n_nodes: int) -> Floats:
    if intervals is None:
        return np.full((n_nodes, 2), np.nan)
    bars = np.asarray(intervals, dtype=np.float64)
    if bars.shape != (n_nodes, 2):
        raise ValueError(f"intervals has shape {bars.shape}; expected {(n_nodes, 2)}, two heights for each node")
    return bars


def _draw_bars(ax: Axes, bars: Floats, rows: Floats, upright: bool) -> None:
    from matplotlib.collections import LineCollection

    shown = np.flatnonzero(np.isfinite(bars).all(axis=1) & (bars[:, 1] > bars[:, 0]))
    if not len(shown):
        return
    lines = np.array([[(bars[v, 0], rows[v]), (bars[v, 1], rows[v])] for v in shown]).reshape(-1, 2, 2)
    ax.add_collection(
        LineCollection(list(_turned(lines, upright)), colors="#2f78b7", linewidths=5, alpha=0.35, zorder=1)
    )


def _turned(lines: Floats, upright: bool) -> Floats:
    return lines[..., ::-1] if upright else lines


def _figure_size(tree: Hierarchy, orientation: str) -> tuple[float, float]:
    levels = len(np.unique(tree.heights)) if has_heights(tree) else int(tree.heights.max())
    deep = float(np.clip(0.45 * levels, 2.6, 6.5)) + width_of_names(tree.labels)
    wide = float(np.clip(0.24 * tree.n_leaves, 1.4, 12.0)) + 0.5
    return (deep + 0.4, wide) if orientation in ("left", "right") else (wide, deep + 0.2)


def _set_limits(ax: Axes, across: Floats, n: int, orientation: str) -> None:
    low, high = float(across.min()), float(across.max())
    room = 0.04 * ((high - low) or 1.0)
    low -= 0.2 * room * bool((across[n:] == low).any())  # a cluster whose leaves are alike should be seen
    along = (high + room, low) if orientation in ("left", "bottom") else (low, high + room)
    if orientation in ("left", "right"):
        ax.set(xlim=along, ylim=(n - 0.5, -0.5))
    else:
        ax.set(xlim=(-0.5, n - 0.5), ylim=along)


def _guide_leaves(ax: Axes, across: Floats, rows: Floats, n: int, upright: bool) -> None:
    # Dotted lines from leaves that end early to their names.
    from matplotlib.collections import LineCollection

    low = float(across.min())
    early = [v for v in range(n) if across[v] > low + 0.01 * float(np.ptp(across))]
    lines = np.array([[(across[v], rows[v]), (low, rows[v])] for v in early]).reshape(-1, 2, 2)
    dotted: dict[str, Any] = {"colors": "#999999", "linewidths": 0.6, "linestyles": (0, (1, 2))}
    ax.add_collection(LineCollection(list(_turned(lines, upright)), zorder=0, **dotted))


def _frame(ax: Axes, orientation: str, scale: bool) -> None:
    shown, axis = ("left", ax.yaxis) if orientation in ("top", "bottom") else ("bottom", ax.xaxis)
    frame(ax, sides=(shown,) if scale else ())
    if scale:
        axis.set_label_text("height", fontsize=9)
        axis.set_tick_params(labelsize=8)
    else:
        axis.set_ticks([])
