"""How strongly pairs of leaves attract each other, and how likely they are together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from palmette.array_types import Floats
from palmette.models.cluster_model import PartitionModel
from palmette.plot._axes import BLUE, ORANGE, frame, own_axes, shown_names
from palmette.plot._pairs import pair_log_potentials
from palmette.plot._point_names import name_points
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["affinity_against_coclustering", "surprises"]


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


def surprises(log_potentials: Floats, probabilities: Floats) -> list[int]:
    """Pairs, those first whose P(i ~ j) is furthest from 1 / (1 + e^−x), what they would have on their own.

    >>> surprises(np.array([5.0, -4.7, 0.0]), np.array([1.0, 0.99, 0.4]))
    [1, 2, 0]
    """
    return [int(at) for at in np.argsort(-np.abs(probabilities - expit(log_potentials)), kind="stable")]
