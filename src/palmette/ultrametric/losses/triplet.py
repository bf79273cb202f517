"""What a few known classes ask for: vertices of one class should meet before those of two."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Floats
from palmette.checks import as_integers, check_non_negative
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses.base import Loss
from palmette.ultrametric.single_linkage import where_they_meet
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["Triplet"]


class Triplet(Loss):
    """mean over triplets (ref, pos, neg) of max(0, margin + d(ref, pos) − d(ref, neg)).

    `classes` has one whole number per vertex: its class, or −1 where that is not known. `ref` and `pos` are two
    vertices of one class, and `neg` is any vertex of another. `ref` is the one with the lower number, as in the
    published code; with `both_orders` each of the two is, as the paper prints it (eqs. 10 and 11).

    No list of triplets is made: L vertices with a class take O(L² log L) time and O(L) memory, not O(L³).
    """

    def __init__(self, classes: npt.ArrayLike, margin: float = 1.0, *, both_orders: bool = False) -> None:
        numbers = as_integers(classes, "classes")
        if numbers.ndim != 1:
            raise ValueError(f"classes has shape {numbers.shape}; give one class per vertex, −1 where it is not known")
        self._n_vertices = len(numbers)
        known = np.flatnonzero(numbers >= 0)
        order = known[np.argsort(numbers[known], kind="stable")]  # by class, then by number
        _, sizes = np.unique(numbers[order], return_counts=True)
        self._vertices = order.astype(np.int32)
        self._ends = np.repeat(np.cumsum(sizes), sizes)  # where the class of each ends, and where it begins
        self._begins = self._ends - np.repeat(sizes, sizes)
        self.margin = self.reach = check_non_negative("margin", margin)
        self.both_orders = bool(both_orders)
        in_one_order = int((sizes * (sizes - 1) // 2 * (len(order) - sizes)).sum())
        self.n_triplets = 2 * in_one_order if self.both_orders else in_one_order
        if self.n_triplets == 0:
            raise ValueError(
                f"classes make no triplet: {len(known)} vertices have a class, in {len(sizes)} classes; "
                "give two vertices of one class and one of another"
            )

    def check(self, graph: Graph) -> None:
        """There must be one class per vertex, and every two vertices must meet."""
        if graph.n_vertices != self._n_vertices:
            raise ValueError(f"classes has {self._n_vertices} entries, but the graph has {graph.n_vertices} vertices")
        if graph.n_components > 1:
            raise ValueError(f"triplets need a connected graph, and this one has {graph.n_components} components")

    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The mean hinge, and its gradient by the altitudes."""
        counts = np.zeros(len(fitted.altitudes), dtype=np.int64)
        total = _sum_over_references(
            fitted.links,
            fitted.altitudes,
            self._vertices,
            self._begins,
            self._ends,
            self.margin,
            self.both_orders,
            counts,
        )
        return total / self.n_triplets, counts / self.n_triplets

    def __repr__(self) -> str:
        orders = ", both_orders=True" if self.both_orders else ""
        return f"Triplet(<{len(self._vertices)} vertices with a class>, margin={self.margin:g}{orders})"


@kernel
def _sum_over_references(links, altitudes, vertices, begins, ends, margin, both_orders, counts):
    total = 0.0
    n = len(vertices)
    everyone = np.empty(n, dtype=np.int32)
    for i in range(n):
        begin, end = begins[i], ends[i]
        first = begin if both_orders else i
        if end - first == 1:
            continue
        where_they_meet(links, np.full(n, vertices[i]), vertices, everyone)
        near = np.sort(np.concatenate((everyone[first:i], everyone[i + 1 : end])))
        far = np.sort(np.concatenate((everyone[:begin], everyone[end:])))
        total += _hinges(altitudes, near, far, margin, counts)
    return total


@inline
def _hinges(altitudes, near, far, margin, counts):
    """Σ over pos in `near`, neg in `far` of max(0, margin + d(pos) − d(neg)), both sorted; how often each merge counts.

    The negatives that hurt a positive are the first few of `far`, and these become more as the positives rise.
    """
    total = below = 0.0
    n_below = 0
    for i in range(len(near)):
        reach = margin + altitudes[near[i]]
        while n_below < len(far) and altitudes[far[n_below]] < reach:
            below += altitudes[far[n_below]]
            counts[far[n_below]] -= len(near) - i
            n_below += 1
        total += n_below * reach - below
        counts[near[i]] += n_below
    return total
