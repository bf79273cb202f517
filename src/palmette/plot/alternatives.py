"""The best few clusterings side by side, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import linear_sum_assignment

from palmette.array_types import Floats, Ints
from palmette.checks import check_integer
from palmette.drawing.classes import class_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition
from palmette.plot._axes import INK, ORANGE, fix, new_figure, width_of_names
from palmette.plot._classes import COLOURS
from palmette.plot._leaves import label_rows
from palmette.plot._places import common_order, curves, mean_rows, relative_heights, rows_of
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["alternatives"]

_PALE = "#dddddd"  # of a leaf that is a cluster of its own


def alternatives(posterior: Any, k: int = 4, *, classes: Mapping[str, Any] | Sequence[Any] | None = None) -> Figure:
    """The k most probable hierarchies, or partitions, with their probabilities; leaves in one order.

    Of draws: the most frequent ones, with their shares. Of chains: the best that were found, and by how much log φ of
    each is below that of the first, since it is not known how probable a whole one is. The order is that of the first
    one. Clusters that the first one does not have are orange in the other hierarchies. In partitions a cluster has the
    colour and the number of the one in the first that it has most leaves in common with, and a dot if the first one
    does not have it. `classes` are as in `dendrogram`.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import palmette as pal
    >>> figure = alternatives(pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [3.0]], beta=0.5)), k=2)
    >>> [ax.get_title() for ax in figure.axes]
    ['1.  p = 0.62', '2.  p = 0.29']
    """
    best = _best(posterior, k)
    kinds = class_of_leaves(classes, posterior.labels)
    if isinstance(best[0][0], Hierarchy):
        return _hierarchies(best, posterior, kinds)
    return _partitions(best, posterior, kinds)


def _best(posterior: Any, k: int) -> list[tuple[Any, str]]:
    # Each with what is said of it.
    check_integer("k", k, 1)
    if getattr(posterior, "kind", None) == "chains":  # how probable a whole is, is not known
        found = posterior.best(k)
        gaps = [f"log φ\n−{found[0][1] - value:.3g}" for _, value in found[1:]]
        return [(one, text) for (one, _), text in zip(found, ["best\nfound", *gaps], strict=True)]
    if hasattr(posterior, "best"):
        return [(one, _probability(np.exp(log_prob))) for one, log_prob in posterior.best(k)]
    if len(posterior) == 0:
        raise ValueError("there are no draws; sample at least one")
    return [(one, _probability(share)) for one, share in posterior.shares()[:k]]


def _hierarchies(best: list[tuple[Hierarchy, str]], posterior: Any, kinds: Sequence[str | None]) -> Figure:
    labels, first = posterior.labels, best[0][0]
    order = common_order(first, values_of(posterior.expected_lca_size()))
    height = float(np.clip(0.24 * len(labels), 1.4, 11.0)) + 0.5
    figure, axes = new_figure(2.3 * len(best) + width_of_names(labels) + 0.3, height, columns=len(best))
    known = set(map(frozenset, first.named_clusters()))
    for number, (ax, (hierarchy, text)) in enumerate(zip(axes, best, strict=True), start=1):
        _draw_hierarchy(ax, hierarchy, rows_of(order), known)
        ax.set_title(f"{number}.  {text}".replace("\n", " "), fontsize=9.5, color=INK)
    label_rows(axes[-1], labels, kinds, order, legend="under")
    fix(axes[0])
    return figure


def _draw_hierarchy(ax: Axes, hierarchy: Hierarchy, rows: Floats, known: set[frozenset[str]]) -> None:
    from matplotlib.collections import LineCollection

    other = np.array([frozenset(cluster) not in known for cluster in hierarchy.named_clusters()])
    across, down = relative_heights(hierarchy), mean_rows(hierarchy, rows)
    lines, drawn = curves(hierarchy, across, down), np.argsort(other[:-1], kind="stable")
    colours = [ORANGE if other[node] else INK for node in drawn]
    widths = [2.0 if other[node] else 1.1 for node in drawn]
    ax.add_collection(LineCollection(list(lines[drawn]), colors=colours, linewidths=widths, zorder=2))
    ax.scatter(across[other], down[other], s=16, color=ORANGE, linewidths=0, zorder=3)
    ax.set(xlim=(1.03, 0.0), ylim=(len(rows) - 0.5, -0.5))
    _bare(ax)


def _partitions(best: list[tuple[Partition, str]], posterior: Any, kinds: Sequence[str | None]) -> Figure:
    labels, first = posterior.labels, best[0][0]
    clusters = first.clusters_by_size()
    order = first.leaf_order
    numbers = [matched(clusters, [sorted(c) for c in partition.clusters()], len(labels)) for partition, _ in best]
    height = float(np.clip(0.24 * len(labels), 1.4, 11.0)) + 0.6
    figure, axes = new_figure(0.75 * len(best) + width_of_names(labels) + 0.6, height)
    ax = axes[0]
    ax.set(xlim=(-0.5, len(best) - 0.5), ylim=(len(labels) - 0.5, -0.5))
    for column, ((partition, text), number) in enumerate(zip(best, numbers, strict=True)):
        _draw_partition(ax, column, partition, number[order], order, set(clusters))
        head = f"{column + 1}.\n{text.removeprefix('p = ')}"
        ax.text(column, -0.62, head, ha="center", va="bottom", fontsize=9, color=INK, linespacing=1.3)
    _bare(ax)
    label_rows(ax, labels, kinds, order, legend="under")
    fix(ax)
    return figure


def matched(first: Sequence[Any], other: Sequence[Any], n: int) -> Ints:
    """(n,): a number for the cluster of each leaf in `other`: that of a cluster in `first`, or a new one.

    Each cluster gets the number of one that it shares leaves with, so that as many leaves as possible keep theirs.

    >>> matched([[0, 1, 2], [3]], [[0], [1, 2], [3]], 4).tolist()
    [2, 0, 0, 1]
    """
    shared = np.array([[len(set(one) & set(two)) for one in first] for two in other])
    rows, columns = linear_sum_assignment(-shared)
    number = {int(row): int(column) for row, column in zip(rows, columns, strict=True) if shared[row, column]}
    out, fresh = np.empty(n, dtype=np.int64), len(first)
    for at, cluster in enumerate(other):
        if at not in number:
            number[at], fresh = fresh, fresh + 1
        out[list(cluster)] = number[at]
    return out


def _draw_partition(
    ax: Axes, column: int, partition: Partition, numbers: Ints, order: Ints, known: set[frozenset[int]]
) -> None:
    from matplotlib.patches import Rectangle

    row_of = {int(leaf): row for row, leaf in enumerate(order)}
    for cluster in partition.clusters():
        rows = sorted(row_of[leaf] for leaf in cluster)
        number = int(numbers[rows[0]])
        colour = _PALE if len(cluster) == 1 else COLOURS[number % len(COLOURS)]
        text = f"{number + 1}{' •' if cluster not in known else ''}"
        dark = colour in ("#0072b2", "#d55e00", "#009e73")
        style: dict[str, Any] = {"facecolor": colour, "edgecolor": "white", "linewidth": 0.8}
        for row in rows:
            ax.add_patch(Rectangle((column - 0.4, row - 0.5), 0.8, 1.0, **style))
            ax.text(column, row, text, ha="center", va="center", fontsize=8, color="white" if dark else "black")


def _probability(value: float) -> str:
    return f"p = {value:.2g}" if value < 0.01 else f"p = {value:.2f}" if value >= 0.1 else f"p = {value:.3f}"


def _bare(ax: Axes) -> None:
    ax.spines[:].set_visible(False)
    ax.set(xticks=[], yticks=[])
