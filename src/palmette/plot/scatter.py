"""Scatter plots over all pairs of leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from palmette.array_types import Floats
from palmette.checks import check_matrix
from palmette.labels import align_labels
from palmette.models.cluster_model import PartitionModel
from palmette.plot._axes import BLUE, INK, ORANGE, frame, own_axes, shown_names
from palmette.plot._point_names import name_points
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["affinity_against_coclustering", "approximate_against_exact", "pair_log_potentials", "surprises"]


def affinity_against_coclustering(
    model: PartitionModel | npt.ArrayLike, posterior: Any, *, ax: Axes | None = None, annotate: int = 3
) -> Axes:
    """Every pair of leaves: its log potential (across) and P(i ~ j), the probability that it shares a cluster (up).

    The grey curve is what the pair would have if there were no other leaves, 1 / (1 + e^−x). The `annotate` pairs
    furthest from it are named: there the other leaves have the last word. `model` is any model of partitions, or
    the matrix of log potentials; pairs that it forbids are left out. `posterior` is a `PartitionPosterior`,
    `SampledPartitions`, or draws.
    """
    ax = own_axes(ax, 6.4, 4.8)
    log_potentials = pair_log_potentials(model, posterior.labels)
    i, j = np.nonzero(np.triu(np.isfinite(log_potentials), 1))
    x, y = log_potentials[i, j], values_of(posterior.coclustering())[i, j]
    low, high = ax.get_xlim() if len(x) == 0 else (min(x.min(), -1.0), max(x.max(), 1.0))
    curve = np.linspace(low, high, 200)
    ax.plot(curve, expit(curve), color="#999999", linewidth=1.0, zorder=1, label="the pair alone")
    best = posterior.map().aligned_to(posterior.labels).membership
    together = best[i] == best[j]
    style: dict[str, Any] = {"s": 26, "alpha": 0.8, "zorder": 2}
    ax.scatter(x[together], y[together], color=BLUE, linewidths=0, label="together in the MAP", **style)
    ax.scatter(x[~together], y[~together], color=ORANGE, linewidths=1.2, marker="x", label="apart in the MAP", **style)
    ax.set(xlabel="log potential of the pair", ylabel="P(i ~ j)", ylim=(-0.04, 1.04))
    frame(ax)
    spacing = {"handletextpad": 0.3, "handlelength": 1.4, "columnspacing": 1.2}
    ax.legend(loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=3, frameon=False, fontsize=9, **spacing)
    names = shown_names(posterior.labels, 18)
    chosen = surprises(x, y)[:annotate]
    texts = [f"{names[i[at]]} – {names[j[at]]}" for at in chosen]
    name_points(ax, np.column_stack([x, y]), chosen, texts, np.column_stack([curve, expit(curve)]))
    return ax


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


def pair_log_potentials(model: PartitionModel | npt.ArrayLike, labels: Sequence[str]) -> Floats:
    """(n, n): log ψ({i, j}) − log ψ({i}) − log ψ({j}), the log odds of a pair without other leaves; diagonal 0.

    Leaves are in the order of `labels`. For correlation clustering this is β w_ij. A matrix is taken as it is.

    >>> from palmette.models import CorrelationClusters
    >>> pair_log_potentials(CorrelationClusters([[0, 0.5], [0.5, 0]], beta=4), ["0", "1"])
    array([[0., 2.],
           [2., 0.]])
    """
    n = len(labels)
    if not isinstance(model, PartitionModel):
        matrix = check_matrix(model, "affinity")
        if len(matrix) != n:
            raise ValueError(f"affinity is for {len(matrix)} leaves, the posterior for {n}; give both for the same")
        return matrix
    order = align_labels(model.labels, labels)
    i, j = np.triu_indices(n, 1)
    single = model.log_potentials(np.arange(n + 1), order)
    pair = model.log_potentials(2 * np.arange(len(i) + 1), np.column_stack([order[i], order[j]]).reshape(-1))
    out = np.zeros((n, n))
    with np.errstate(invalid="ignore"):
        out[i, j] = out[j, i] = pair - single[i] - single[j]
    return out


def surprises(log_potentials: Floats, probabilities: Floats) -> list[int]:
    """Pairs, those first whose P(i ~ j) is furthest from 1 / (1 + e^−x), what they would have on their own.

    >>> surprises(np.array([5.0, -4.7, 0.0]), np.array([1.0, 0.99, 0.4]))
    [1, 2, 0]
    """
    return [int(at) for at in np.argsort(-np.abs(probabilities - expit(log_potentials)), kind="stable")]


def _coclustering_pairs(source: Any, labels: Sequence[str] | None) -> Floats:
    matrix = values_of(source.coclustering() if hasattr(source, "coclustering") else source)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"expected an (n, n) matrix or an object with coclustering(), not shape {matrix.shape}")
    if labels is not None and hasattr(source, "labels"):
        order = align_labels(source.labels, labels)
        matrix = matrix[np.ix_(order, order)]
    return matrix[np.triu_indices(len(matrix), 1)]
