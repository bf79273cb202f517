"""Means over edges: how far the ultrametric is from the weights, and a price for small clusters that stay alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette._jit import kernel
from palmette.array_types import Floats
from palmette.checks import check_choice, check_integer
from palmette.ultrametric.losses.base import Loss
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["Closest", "ClusterSize"]


@dataclass(frozen=True)
class Closest(Loss):
    """mean over edges of (u(e) − w(e))².

    The paper writes the sum (eq. 7); a mean does not grow with the graph.
    """

    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The mean squared difference, and its gradient by the altitudes."""
        gradient = np.zeros(len(fitted.altitudes))
        n_edges = max(fitted.graph.n_edges, 1)
        total = _squares(fitted.altitudes, fitted.merge_of_edge, fitted.graph.weights, gradient, 2.0 / n_edges)
        return total / n_edges, gradient


@dataclass(frozen=True)
class ClusterSize(Loss):
    """mean over edges of u(e) / γ(e), where γ is the size of the smaller child of the merge where the ends of e meet.

    With `top`, only those edges count whose ends meet at one of the `top` highest merges: small clusters are a nuisance
    at large scales, and natural at small ones. `over` says what the sum is divided by: the number of edges that count
    ("top", as in the published code), or that of all edges ("all"). The paper writes the sum (eq. 8), as it does for
    `Closest`; divided by the number of all edges both are means, and the weight between them is the paper's. γ counts
    as constant in the gradient.
    """

    top: int | None = None
    over: str = "top"

    def __post_init__(self) -> None:
        if self.top is not None:
            check_integer("top", self.top, 1)
        check_choice("over", self.over, ("top", "all"))

    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The mean of height over size, and its gradient by the altitudes."""
        n_merges = len(fitted.altitudes)
        lowest = 0 if self.top is None else max(n_merges - self.top, 0)
        edges_at = np.bincount(fitted.merge_of_edge, minlength=n_merges)[lowest:]
        n_edges = edges_at.sum() if self.over == "top" else fitted.graph.n_edges
        gradient = np.zeros(n_merges)
        gradient[lowest:] = edges_at / fitted.smaller_sizes[lowest:] / max(n_edges, 1)
        return float(gradient @ fitted.altitudes), gradient


@kernel
def _squares(altitudes, merges, weights, gradient, factor):
    total = 0.0
    for edge in range(len(merges)):
        merge = merges[edge]
        difference = altitudes[merge] - weights[edge]
        total += difference * difference
        gradient[merge] += factor * difference
    return total
