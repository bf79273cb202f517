"""Many hierarchies at once: what they share is dark, what they do not is mist."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.drawing.classes import class_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import cluster_bits
from palmette.plot._axes import BLUE, INK, frame, own_axes, width_of_names
from palmette.plot._branches import with_shown_support, write_support
from palmette.plot._leaves import label_rows
from palmette.plot._places import common_order, curves, has_heights, mean_rows, relative_heights, rows_of
from palmette.posterior.consensus import consensus as majority

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["cloud"]

_DARKEST = 0.75  # opacity of a branch that every draw has


def cloud(
    draws: Any,
    *,
    size: int = 500,
    rng: np.random.Generator | int | None = 0,
    consensus: Hierarchy | bool = True,
    classes: Mapping[str, Any] | Sequence[Any] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draws laid over each other, leaves in one order: a branch is the darker the more of them have it.

    `draws` are `Draws`, any sequence of hierarchies over the same labels, or a posterior, of which `size` draws are
    taken with the seed `rng`. A cluster is placed by its size and by the rows of its leaves, so that it is at the same
    place in every draw; if all draws have heights, by its height. `consensus` is drawn on top with its support: the
    clusters in more than half of the draws, another hierarchy, or nothing (False). The order of the leaves puts those
    beside each other that have small clusters in common. `classes` are as in `dendrogram`.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import palmette as pal
    >>> ax = cloud(pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [5.0]], labels=["a", "b", "c"])))
    >>> [label.get_text() for label in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['a', 'b', 'c'], ['1.00'])
    """
    trees = _hierarchies(draws, size, rng)
    top = _on_top(draws, trees, consensus)
    labels = trees[0].labels
    kinds = class_of_leaves(classes, labels)
    order = common_order(majority_of(trees) if top is None else top, _mean_lca_sizes(trees))
    rows, by_height = rows_of(order), all(map(has_heights, trees))
    ax = own_axes(ax, 4.6 + width_of_names(labels), float(np.clip(0.26 * len(labels), 1.6, 12.0)) + 0.5)
    _draw_cloud(ax, trees, rows, by_height)
    if top is not None:
        across = top.heights if by_height and has_heights(top) else _heights_on_top(top, trees, by_height)
        place = np.column_stack([across, mean_rows(top, rows)])
        _draw_top(ax, top, place)
    _finish(ax, len(labels), by_height)
    label_rows(ax, labels, kinds, order)
    if top is not None:
        write_support(ax, top, place, "left", curved=True)
    return ax


def _mean_lca_sizes(trees: Sequence[Hierarchy]) -> Floats:
    """(n, n): the mean size of the smallest cluster with both leaves, over these hierarchies on the same labels."""
    return np.asarray(sum(tree.lca_size() for tree in trees) / len(trees))


def majority_of(trees: Sequence[Hierarchy]) -> Hierarchy:
    """The clusters in more than half of these hierarchies on the same labels, with their shares as support."""
    counts: Counter[int] = Counter()
    for tree in trees:
        counts.update(cluster_bits(tree.parents, range(tree.n_leaves))[tree.n_leaves :])
    shares = np.array(list(counts.values())) / len(trees)
    return majority(list(counts), shares, trees[0].labels, 0.5)


def _hierarchies(draws: Any, size: int, rng: Any) -> list[Hierarchy]:
    found = list(draws.sample(size, rng=rng) if hasattr(draws, "sample") else draws)
    if not found:
        raise ValueError("there is nothing to draw: give at least one hierarchy")
    for tree in found:
        if not isinstance(tree, Hierarchy):
            raise TypeError(
                f"a cloud is made of hierarchies, not of {tree!r}; for partitions see affinities_and_coclustering"
            )
    labels = getattr(draws, "labels", found[0].labels)
    return [tree if tree.labels == labels else tree.aligned_to(labels) for tree in found]


def _on_top(draws: Any, trees: Sequence[Hierarchy], consensus: Hierarchy | bool) -> Hierarchy | None:
    if consensus is False:
        return None
    if consensus is True:
        return (draws.consensus() if hasattr(draws, "consensus") else majority_of(trees)).aligned_to(trees[0].labels)
    asked = draws if consensus.support is None and hasattr(draws, "cluster_probability") else None
    return with_shown_support(consensus, asked).aligned_to(trees[0].labels)


def _heights_on_top(top: Hierarchy, trees: Sequence[Hierarchy], by_height: bool) -> Floats:
    # Among draws with heights a consensus without any gets the mean height of the lowest clusters that hold its own.
    if not by_height:
        return relative_heights(top)
    found = np.zeros(top.n_nodes)
    for tree in trees:
        lowest = np.concatenate([tree.heights[: top.n_leaves], np.full(top.n_nodes - top.n_leaves, -np.inf)])
        for node in range(top.n_leaves, top.n_nodes):
            leaves = top.leaves_below(node)
            lowest[node] = tree.heights[tree.lca(leaves[:1].repeat(len(leaves) - 1), leaves[1:])].max()
        found += lowest / len(trees)
    return found


def _draw_cloud(ax: Axes, trees: Sequence[Hierarchy], rows: Floats, by_height: bool) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    lines = [
        curves(tree, tree.heights if by_height else relative_heights(tree), mean_rows(tree, rows)) for tree in trees
    ]
    flat = np.concatenate(lines).reshape(-1, 26)
    unique, counts = np.unique(flat.round(9), axis=0, return_counts=True)
    order = np.argsort(counts, kind="stable")
    colours = [to_rgba(BLUE, shade) for shade in _DARKEST * np.sqrt(counts[order] / len(trees))]
    ax.add_collection(LineCollection(list(unique[order].reshape(-1, 13, 2)), colors=colours, linewidths=1.6, zorder=1))


def _draw_top(ax: Axes, top: Hierarchy, place: Floats) -> None:
    from matplotlib.collections import LineCollection
    from matplotlib.colors import to_rgba

    # Where many branches leave one place nothing is decided, and they should not hide what the draws say there.
    siblings = np.diff(top.child_offsets)[top.parents[:-1]]
    colours = [to_rgba(INK, alpha) for alpha in np.clip(2.0 / siblings, 0.3, 1.0)]
    widths = np.where(siblings > 2, 0.9, 1.5)
    ax.add_collection(LineCollection(list(curves(top, *place.T)), colors=colours, linewidths=widths, zorder=3))


def _finish(ax: Axes, n: int, by_height: bool) -> None:
    ax.autoscale_view()
    low, high = ax.dataLim.intervalx if n > 1 else (0.0, 1.0)
    ax.set(xlim=(high + 0.03 * ((high - low) or 1.0), low), ylim=(n - 0.5, -0.5))
    frame(ax, sides=("bottom",) if by_height else ())
    if by_height:
        ax.set_xlabel("height", fontsize=9)
    else:
        ax.set_xticks([])
