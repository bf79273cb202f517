"""How many clusters there are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.defaults import DEFAULTS
from palmette.plot._axes import BLUE, INK, frame, own_axes
from palmette.sampling.estimates import values_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["n_clusters"]

_MOST_NUMBERS = 12  # bars up to which numbers are written on them


def n_clusters(posterior: Any, *, ax: Axes | None = None) -> Axes:
    """P(number of clusters = k) as bars; the ends of the range where it is below 0.0005 are left out.

    `posterior` is a `PartitionPosterior`, `SampledPartitions`, whose standard errors are shown as well, or draws, of
    which the shares are shown.
    """
    probabilities, errors = _probabilities(posterior)
    seen = np.flatnonzero(probabilities >= DEFAULTS.drawn_probability)
    numbers = np.arange(seen[0], seen[-1] + 1)
    ax = own_axes(ax, min(9.0, max(4.0, 1.6 + 0.5 * len(numbers))), 3.4)
    whiskers = None if errors is None else errors[numbers]
    bars = ax.bar(numbers, probabilities[numbers], width=0.72, color=BLUE, yerr=whiskers, ecolor=INK)
    if len(numbers) <= _MOST_NUMBERS:
        texts = [f"{p:.2f}" if p >= 0.005 else f"{p:.3f}" for p in probabilities[numbers]]
        ax.bar_label(bars, texts, fontsize=8.5, color=INK, padding=2)
        ax.set_xticks(numbers)
    ax.margins(y=0.1)
    ax.set(xlim=(numbers[0] - 0.7, numbers[-1] + 0.7), xlabel="number of clusters", ylabel="probability")
    frame(ax)
    return ax


def _probabilities(posterior: Any) -> tuple[Floats, Floats | None]:
    # Of 0, 1, 2, … clusters, and their standard errors if these are known.
    if hasattr(posterior, "n_clusters_probabilities"):
        found = posterior.n_clusters_probabilities()
        return values_of(found), getattr(found, "standard_errors", None)
    return np.bincount(posterior.n_clusters) / len(posterior), None
