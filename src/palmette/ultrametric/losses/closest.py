"""How far the ultrametric is from the weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.ultrametric.losses.base import Loss
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["Closest"]


@dataclass(frozen=True)
class Closest(Loss):
    """mean over edges of (u(e) − w(e))².

    The paper writes the sum; means make weights of terms and learning rates independent of the size of the graph.
    """

    def evaluate(self, fitted: Subdominant) -> tuple[float, npt.NDArray[np.float64]]:
        """The mean squared difference, and its gradient by the altitudes."""
        gradient = np.zeros(len(fitted.altitudes))
        n_edges = max(fitted.graph.n_edges, 1)
        total = _squares(fitted.altitudes, fitted.merge_of_edge, fitted.graph.weights, gradient, 2.0 / n_edges)
        return total / n_edges, gradient


@kernel
def _squares(altitudes, merges, weights, gradient, factor):
    total = 0.0
    for edge in range(len(merges)):
        merge = merges[edge]
        difference = altitudes[merge] - weights[edge]
        total += difference * difference
        gradient[merge] += factor * difference
    return total
