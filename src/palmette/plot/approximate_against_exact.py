"""How far an approximation is off, pair by pair."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.labels import align_labels
from palmette.plot._axes import BLUE, INK, frame, own_axes
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["approximate_against_exact"]


def approximate_against_exact(approximate: Any, exact: Any, *, ax: Axes | None = None) -> Axes:
    """P(i ~ j) of every pair of leaves: exact (across) and approximate (up), with the diagonal.

    Each is an (n, n) matrix, or has one as its `coclustering()`: a posterior, draws. Labels, where both have them,
    are matched. The largest and the mean absolute deviation are written in the picture.
    """
    x, y = _coclustering_pairs(exact, None), _coclustering_pairs(approximate, getattr(exact, "labels", None))
    if len(x) != len(y):
        raise ValueError(f"the two are about {len(y)} and {len(x)} pairs of leaves; give both for the same leaves")
    ax = own_axes(ax, 4.8, 4.8)
    ax.plot([0, 1], [0, 1], color="#999999", linewidth=1.0, zorder=1)
    ax.scatter(x, y, s=26, color=BLUE, alpha=0.75, linewidths=0, zorder=2)
    ax.set(xlabel="P(i ~ j), exact", ylabel="P(i ~ j), approximate")
    ax.set(aspect="equal", xlim=(-0.04, 1.04), ylim=(-0.04, 1.04))
    frame(ax)
    off = np.abs(y - x)
    text = f"largest deviation {off.max(initial=0.0):.3f}\nmean deviation {off.sum() / max(1, len(off)):.3f}"
    if (y - x).sum() >= 0:  # the points are above the diagonal, and the words below it
        ax.text(1.0, 0.02, text, ha="right", va="bottom", fontsize=9, color=INK)
    else:
        ax.text(0.0, 0.98, text, ha="left", va="top", fontsize=9, color=INK)
    return ax


def _coclustering_pairs(source: Any, labels: Sequence[str] | None) -> Floats:
    matrix = values_of(source.coclustering() if hasattr(source, "coclustering") else source)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"expected an (n, n) matrix or an object with coclustering(), not shape {matrix.shape}")
    if labels is not None and hasattr(source, "labels"):
        order = align_labels(source.labels, labels)
        matrix = matrix[np.ix_(order, order)]
    return matrix[np.triu_indices(len(matrix), 1)]
