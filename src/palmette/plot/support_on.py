"""Support on a dendrogram that another library has drawn: SciPy, seaborn's clustermap, Scanpy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.cluster.hierarchy import leaves_list

from palmette.array_types import Floats
from palmette.plot._branches import SUPPORT, Pen, check_side, support_text, with_shown_support

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["support_on"]


def support_on(
    ax: Axes,
    hierarchy: Any,
    *,
    orientation: str = "top",
    least: float = 0.0,
    fontsize: float = 7.0,
) -> Axes:
    """Write the support of every cluster at its node of a dendrogram of ``hierarchy.to_linkage()``, drawn by others.

    `hierarchy` is a binary `Hierarchy` with support, or a posterior (or draws). `orientation` is the side of the root,
    as in SciPy; clusters of less support than `least` are left out, and so is a number that would hide another. Leaves
    are taken to stand in SciPy's order, at the ticks if there are n of them, else evenly along the Axes: that is how
    SciPy, seaborn and Scanpy draw.

    >>> import matplotlib; matplotlib.use("agg")
    >>> import matplotlib.pyplot as plt, palmette as pal
    >>> from scipy.cluster.hierarchy import dendrogram
    >>> h, ax = pal.Hierarchy.from_newick("((a,b)0.9,c);"), plt.subplots()[1]
    >>> drawn = dendrogram(h.to_linkage(), labels=h.labels, ax=ax)
    >>> [text.get_text() for text in support_on(ax, h).texts]
    ['0.90']
    """
    check_side(orientation)
    tree = with_shown_support(hierarchy)
    if tree.support is None:
        raise ValueError("the hierarchy has no support to write; take posterior.support(hierarchy), or the posterior")
    rows, n = tree.to_linkage(), tree.n_leaves
    along = np.empty(2 * n - 1)
    along[leaves_list(rows) if n > 1 else [0]] = _leaf_places(ax, n, orientation in ("top", "bottom"))
    for row, (one, other) in enumerate(rows[:, :2].astype(int)):
        along[n + row] = (along[one] + along[other]) / 2
    support = tree.support[tree.cut_order[::-1]]  # as in the linkage
    pen = Pen(ax, np.column_stack([np.append(np.zeros(n), rows[:, 2]), along]), orientation, fontsize)
    for row in sorted(range(n - 2), key=lambda row: -rows[row, 3]):  # the last is the root
        if support[row] >= least:
            pen.write(n + row, support_text(support, row), SUPPORT)
    return ax


def _leaf_places(ax: Axes, n: int, upright: bool) -> Floats:
    axis = ax.xaxis if upright else ax.yaxis
    ticks = np.sort(axis.get_ticklocs())
    if len(ticks) == n:
        return ticks
    low, high = sorted(ax.get_xlim() if upright else ax.get_ylim())
    return np.asarray(low + (high - low) / n * (np.arange(n) + 0.5))
