"""A hierarchy to take units from, where none is given: quickly made, and of what the model sees of its leaves.

Which hierarchy it is changes how fast a chain mixes, and nothing else: a move is right for any (see `moves`).
"""

from __future__ import annotations

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.models.cluster_model import ClusterModel

__all__ = ["reference_of"]

_MOST = 10_000  # leaves that are linked: distances take 400 MB


def reference_of(model: ClusterModel, given: Hierarchy | None = None) -> Hierarchy:
    """The hierarchy that is given, on the labels of the model; without one, a hierarchy of what the model sums.

    Ward's linkage of its columns, each with variance 1, or average linkage of −pairs if there are no columns. A model
    that sums nothing, or over more leaves than can be linked, gets a balanced hierarchy: over its leaves in their
    order, or in one in which halves are halved again, each along its widest column.
    """
    if given is not None:
        if not isinstance(given, Hierarchy):
            raise TypeError(f"reference must be a Hierarchy or None, not {given!r}")
        return given.aligned_to(model.labels)
    columns = _standardised(model.additive)
    if model.n_leaves > _MOST or not (columns.shape[1] or len(model.pairwise)) or model.n_leaves < 3:
        return _balanced(_halved(columns), model.labels)
    if columns.shape[1]:
        return Hierarchy.from_linkage(linkage(columns, "ward"), model.labels)
    weights = sum(pairs / max(np.abs(pairs).max(), np.finfo(float).tiny) for pairs in model.pairwise)
    apart = squareform(np.max(weights) - weights, checks=False)
    return Hierarchy.from_linkage(linkage(apart, "average"), model.labels)


def _standardised(columns: Floats) -> Floats:
    # Without those that say nothing; first divided by the largest, so that no square overflows.
    scaled = columns / np.maximum(np.abs(columns).max(axis=0, initial=0.0), np.finfo(float).tiny)
    spread = scaled.std(axis=0)
    kept = spread > 1e-12
    return np.asarray((scaled[:, kept] - scaled[:, kept].mean(axis=0)) / spread[kept])


def _halved(columns: Floats) -> Ints:
    # Halves of halves next to each other: the leaves in the order of a k-d tree.
    order = np.arange(len(columns))
    parts = [(0, len(order))] if columns.shape[1] else []
    while parts:
        first, last = parts.pop()
        here = columns[order[first:last]]
        by = np.argsort(here[:, np.argmax(np.ptp(here, axis=0))], kind="stable")
        order[first:last] = order[first:last][by]
        middle = (first + last) // 2
        parts += [(a, b) for a, b in ((first, middle), (middle, last)) if b - a > 2]
    return order


def _balanced(order: Ints, labels: tuple[str, ...]) -> Hierarchy:
    # Neighbours are joined two by two, again and again.
    nodes: list[int] = order.tolist()
    merges: list[tuple[int, int]] = []
    while len(nodes) > 1:
        pairs = list(zip(nodes[::2], nodes[1::2], strict=False))
        rest = nodes[2 * len(pairs) :]
        nodes = [*range(len(order) + len(merges), len(order) + len(merges) + len(pairs)), *rest]
        merges += pairs
    return Hierarchy.from_merges(merges, labels) if merges else Hierarchy.from_parents([-1], labels)
