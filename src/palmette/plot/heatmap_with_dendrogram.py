"""A matrix over all pairs of leaves, beside the hierarchy that puts them into order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette.array_types import Floats, Ints
from palmette.drawing.classes import class_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.plot._axes import fix, new_figure, settle, width_of_names
from palmette.plot._branches import draw_branches, line_width, with_shown_support, write_support
from palmette.plot._leaves import label_rows
from palmette.plot._places import brackets, common_order, has_heights, middle_rows, rows_of
from palmette.plot.cloud import lca_sizes
from palmette.plot.heatmaps import draw_cells, write_numbers

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["heatmap_with_dendrogram"]

_TREE = 0.42  # width of the hierarchy, as a share of that of the matrix


def heatmap_with_dendrogram(
    posterior: Any,
    *,
    hierarchy: Hierarchy | None = None,
    classes: Mapping[str, Any] | Sequence[Any] | None = None,
    annotate: bool | None = None,
) -> Figure:
    """How near any two leaves are according to a posterior, beside a hierarchy; leaves in one order.

    Of a posterior over hierarchies (or draws): the expected size of the smallest cluster with both leaves, beside the
    most probable hierarchy with the probabilities of its clusters. Of one over partitions (or draws): P(i ~ j), the
    probability of sharing a cluster, beside the average linkage of 1 − P(i ~ j), whose merges are at the mean
    probability of *not* sharing one. `hierarchy` is another one to show. `annotate`: numbers in the cells; None: up to
    12 leaves. `classes` are as in `dendrogram`.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [9.0], [1.0]], labels=["a", "b", "c"]))
    >>> cells = heatmap_with_dendrogram(post).axes[0]
    >>> [label.get_text() for label in cells.get_yticklabels()]
    ['a', 'c', 'b']
    """
    labels = tuple(posterior.labels)
    partitions = hasattr(posterior, "coclustering")
    matrix = np.array(posterior.coclustering() if partitions else lca_sizes(posterior), dtype=np.float64)
    best = _beside(posterior, matrix, partitions) if hierarchy is None else with_shown_support(hierarchy)
    best = best if best.labels == labels else best.aligned_to(labels)
    order = common_order(best, 1.0 - matrix if partitions else matrix)
    kinds = class_of_leaves(classes, labels)
    figure, ax = _figure(labels, 1.2 if partitions else 0.95)
    _draw_matrix(ax, matrix, order, partitions, annotate)
    tree = _tree_axes(ax, best, rows_of(order))
    if partitions and hierarchy is None:
        tree.set_xlabel("1 − P(i ~ j), mean", fontsize=8.5)
    label_rows(ax, labels, kinds, order)
    settle(ax)
    write_support(tree, best, np.column_stack([best.heights, middle_rows(best, rows_of(order))]), "left")
    fix(ax)
    return figure


def _beside(posterior: Any, matrix: Floats, partitions: bool) -> Hierarchy:
    if not partitions:
        return with_shown_support(posterior)
    if len(matrix) < 2:
        return Hierarchy.from_nested(0, labels=posterior.labels)
    apart = 1.0 - matrix
    np.fill_diagonal(apart, 0.0)
    merges = linkage(squareform(np.maximum(apart, 0.0), checks=False), "average")
    return Hierarchy.from_linkage(merges, posterior.labels)


def _figure(labels: Sequence[str], above_and_below: float) -> tuple[Figure, Axes]:
    side = float(np.clip(0.4 * len(labels), 2.2, 7.0))
    figure, axes = new_figure(side * (1.02 + _TREE) + width_of_names(labels) + 0.5, side + above_and_below)
    return figure, axes[0]


def _draw_matrix(ax: Axes, matrix: Floats, order: Ints, partitions: bool, annotate: bool | None) -> None:
    values = matrix[np.ix_(order, order)]
    np.fill_diagonal(values, np.nan)
    image = draw_cells(ax, values, None, (0.0, 1.0) if partitions else (min(2.0, len(values)), float(len(values))))
    if not partitions:
        image.set_cmap(image.cmap.reversed())  # near is bright in both
    words = "P(i ~ j)" if partitions else "expected size of the smallest common cluster"
    bar = ax.figure.colorbar(image, ax=ax, orientation="horizontal", fraction=0.035, pad=0.02, aspect=40, shrink=0.9)
    bar.set_label(words, fontsize=8.5)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2.5, labelsize=8)
    ax.set_xticks([])
    if len(values) <= 12 if annotate is None else annotate:
        write_numbers(ax, image, values)


def _tree_axes(ax: Axes, tree: Hierarchy, rows: Floats) -> Axes:
    # An inset, so that rows stay beside rows whatever the layout does.
    beside: Axes = ax.inset_axes((-_TREE - 0.02, 0.0, _TREE, 1.0))
    across = np.asarray(tree.heights)
    low, high = float(across.min()), float(across.max())
    beside.set(xlim=(high + 0.04 * ((high - low) or 1.0), low), ylim=(len(rows) - 0.5, -0.5))
    draw_branches(beside, brackets(tree, across, middle_rows(tree, rows)), tree.support, line_width(ax, len(rows)))
    beside.spines[:].set_visible(False)
    beside.set_yticks([])
    if has_heights(tree):
        beside.tick_params(axis="x", labelsize=7.5, width=0.5, length=2.5)
        beside.spines["bottom"].set(visible=True, linewidth=0.5)
    else:
        beside.set_xticks([])
    return beside
