"""What attracts pairs of leaves beside who is together with whom."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Ints
from palmette.models.base import is_model
from palmette.models.cluster_model import PartitionModel
from palmette.plot._axes import new_figure, settle
from palmette.plot._leaves import leaf_order
from palmette.plot._pairs import pair_log_potentials
from palmette.plot.heatmap import heatmap, longest_name
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

__all__ = ["affinities_and_coclustering"]


def affinities_and_coclustering(
    affinity_or_model: PartitionModel | npt.ArrayLike, posterior: Any, *, order: Sequence[int | str] | None = None
) -> Figure:
    """Two heat maps, leaves in one order: how strongly each pair attracts, and P(i ~ j), how likely it is together.

    On the left the log potential of each pair if a model is given (β w_ij for correlation clustering; the paper of
    Greenberg et al. calls it the energy of the pair), or the given matrix. `posterior` is a `PartitionPosterior`,
    `SampledPartitions`, or draws. By default leaves are grouped by the MAP partition, large clusters first. MAP
    clusters are outlined.
    """
    labels, best = posterior.labels, posterior.map().aligned_to(posterior.labels)
    left = pair_log_potentials(affinity_or_model, labels)
    np.fill_diagonal(left, np.nan)
    rows = best.leaf_order.tolist() if order is None else leaf_order(order, labels)
    side = min(6.4, max(2.4, 0.44 * len(labels))) + 0.07 * longest_name(labels)
    figure, axes = new_figure(2 * side + 2.2, side + 0.5, columns=2)
    name = "log potential of the pair" if is_model(affinity_or_model) else "affinity"
    heatmap(left, labels, ax=axes[0], order=rows, center=0.0, colorbar_label=name, title="Affinities")
    sharing = "Probability of sharing a cluster"
    together = values_of(posterior.coclustering())
    heatmap(together, labels, ax=axes[1], order=rows, limits=(0.0, 1.0), colorbar_label="P(i ~ j)", title=sharing)
    for ax in axes:
        _outline(ax, best.membership[rows])
    settle(axes[0])
    return figure


def _outline(ax: Axes, membership: Ints) -> None:
    from matplotlib.patches import Rectangle

    starts = [0, *(np.flatnonzero(np.diff(membership)) + 1).tolist(), len(membership)]
    for colour, width, layer in (("white", 2.6, 3), ("black", 1.0, 4)):  # seen on dark and on light cells
        for first, end in pairwise(starts):
            box = Rectangle((first - 0.5, first - 0.5), end - first, end - first, fill=False)
            ax.add_patch(box).set(edgecolor=colour, linewidth=width, zorder=layer, clip_on=False)
