"""A matrix over all pairs of leaves, or a table of the leaves, beside the hierarchy that puts them into order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette.array_types import Floats, Ints
from palmette.drawing.classes import class_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.models.heights import drawn_at
from palmette.plot._axes import PLAIN, fix, new_figure, settle, shown_names, width_of_names
from palmette.plot._branches import draw_branches, line_width, with_shown_support, write_support
from palmette.plot._cells import draw_cells, write_numbers
from palmette.plot._leaves import label_rows, row_points
from palmette.plot._places import brackets, common_order, has_heights, middle_rows, rows_of
from palmette.plot._tables import Columns, read_columns
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["heatmap_with_dendrogram"]

_TREE = 0.42  # width of the hierarchy, as a share of that of the matrix
_MOST_NAMED = 80  # columns of a table up to which they are named


def heatmap_with_dendrogram(
    posterior: Any,
    matrix: Any = None,
    *,
    columns: Sequence[str] | None = None,
    sort_columns: bool = True,
    hierarchy: Hierarchy | None = None,
    classes: Mapping[str, Any] | Sequence[Any] | None = None,
    annotate: bool | None = None,
    heights: bool = True,
) -> Figure:
    """How near any two leaves are according to a posterior, or a table of the leaves, beside a hierarchy.

    Of a posterior over hierarchies (or draws): the expected size of the smallest cluster with both leaves, beside the
    most probable hierarchy with the probabilities of its clusters. Of one over partitions (or draws): P(i ~ j), the
    probability of sharing a cluster, beside the average linkage of 1 − P(i ~ j), whose merges are at the mean
    probability of *not* sharing one. `hierarchy` is another one to show. `annotate`: numbers in the cells; None: up to
    12 leaves. `classes` and `heights` are as in `dendrogram`.

    `matrix` is a table to show in place of that, (n, d) with a row for each leaf, such as samples by genes: an array,
    or a DataFrame, which is put into order by its index. `posterior` may then be a `Hierarchy`. `columns` are the names
    of the columns. Those that rise and fall together are put beside each other unless `sort_columns` is False.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [9.0], [1.0]], labels=["a", "b", "c"]))
    >>> cells = heatmap_with_dendrogram(post).axes[0]
    >>> [label.get_text() for label in cells.get_yticklabels()]
    ['a', 'c', 'b']
    """
    labels = tuple(posterior.labels)
    kinds = class_of_leaves(classes, labels)
    partitions = hasattr(posterior, "coclustering")
    table = None if matrix is None else read_columns(matrix, columns, labels)
    pairs: Floats | None = None
    if table is None or (partitions and hierarchy is None):
        pairs = values_of(posterior.coclustering() if partitions else posterior.expected_lca_size())
    best = _hierarchy_of(posterior, pairs, partitions) if hierarchy is None else with_shown_support(hierarchy)
    best = drawn_at(best, posterior if hierarchy is None and not partitions else best, heights)
    best = best if best.labels == labels else best.aligned_to(labels)
    if table is not None:
        order = common_order(best, table.row_distances())
        figure, ax = _table_figure(labels, table)
        _draw_table(ax, table, order, sort_columns, annotate)
    else:
        assert pairs is not None
        order = common_order(best, 1.0 - pairs if partitions else pairs)
        figure, ax = _figure(labels, 1.2 if partitions else 0.95)
        _draw_matrix(ax, pairs, order, partitions, annotate)
    tree = _tree_axes(ax, best, rows_of(order))
    if partitions and hierarchy is None and heights:
        tree.set_xlabel("1 − P(i ~ j), mean", fontsize=8.5)
    label_rows(ax, labels, kinds, order)
    settle(ax)
    write_support(tree, best, np.column_stack([best.heights, middle_rows(best, rows_of(order))]), "left")
    fix(ax)
    return figure


def _hierarchy_of(posterior: Any, pairs: Floats | None, partitions: bool) -> Hierarchy:
    if not partitions or pairs is None:
        return with_shown_support(posterior)
    if len(pairs) < 2:
        return Hierarchy.from_nested(0, labels=posterior.labels)
    apart = 1.0 - pairs
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
    _explain(ax, image, "P(i ~ j)" if partitions else "expected size of the smallest common cluster")
    ax.set_xticks([])
    write_numbers(ax, image, values, annotate)


def _table_figure(labels: Sequence[str], table: Columns) -> tuple[Figure, Axes]:
    n, d = table.values.shape
    wide, high = float(np.clip(0.3 * d, 2.6, 8.0)), float(np.clip(0.24 * n, 1.8, 9.0))
    below = 0.0 if table.names is None or d > _MOST_NAMED else width_of_names(table.names)
    figure, axes = new_figure(wide * (1.02 + _TREE) + width_of_names(labels) + 0.5, high + below + 0.95)
    return figure, axes[0]


def _draw_table(ax: Axes, table: Columns, order: Ints, sort_columns: bool, annotate: bool | None) -> None:
    d = table.values.shape[1]
    across = table.order() if sort_columns else np.arange(d)
    values, center = table.values[np.ix_(order, across)], table.center()
    image = draw_cells(ax, values, center, table.limits(center))
    ax.set_xticks([])
    if table.names is not None and d <= _MOST_NAMED:
        names = shown_names(table.names)
        room = row_points(ax, d, upright=True)
        size = float(np.clip(0.8 * room, 4.5, 8.5))
        ax.set_xticks(range(d), [names[column] for column in across], rotation=90, fontsize=size, **PLAIN)
    _explain(ax, image, "" if d <= _MOST_NAMED or table.names is None else f"{d} columns, too many to be named")
    write_numbers(ax, image, values, annotate)


def _explain(ax: Axes, image: Any, words: str) -> None:
    bar = ax.figure.colorbar(image, ax=ax, orientation="horizontal", fraction=0.035, pad=0.02, aspect=40, shrink=0.9)
    bar.set_label(words, fontsize=8.5)
    bar.outline.set_linewidth(0.4)
    bar.ax.tick_params(width=0.5, length=2.5, labelsize=8)


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
