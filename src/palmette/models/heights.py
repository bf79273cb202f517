"""How high the nodes of a hierarchy are drawn: by the scatter of the leaves below them."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import monotone_heights

__all__ = ["drawn_at", "scatter_heights", "scatters", "self_similarity"]

_LOST = 1e-12  # of the largest distance; an eigenvalue below is 0 and rounding


def drawn_at(hierarchy: Hierarchy, source: Any, heights: bool) -> Hierarchy:
    """The hierarchy as it is drawn: at the heights that the model of a posterior has for it; with False by its shape.

    `source` is what it comes from. If that is no posterior with a model, say the hierarchy itself, it keeps its own.
    """
    if not heights:
        return hierarchy.with_heights(None)
    model = getattr(source, "model", None)
    return hierarchy if model is None else model.with_heights(hierarchy)


def scatters(hierarchy: Hierarchy, apart: Floats) -> Floats:
    """(n_nodes,): S(C) = Σ d_ij / |C| over the pairs of leaves of each cluster C, whatever the number of its parts.

    For squared distances d that is SSE(C), the sum of the squared distances to the mean of C. The diagonal of `apart`
    is not used. O(n²), by sums alone: of a tight cluster far from all else no digits are lost.

    >>> d = np.array([[0, 1, 9], [1, 0, 16], [9, 16, 0.0]])
    >>> scatters(Hierarchy.from_nested(((0, 1), 2)), d).round(4).tolist()
    [0.0, 0.0, 0.0, 0.5, 8.6667]
    """
    ordered = apart[np.ix_(hierarchy.leaf_order, hierarchy.leaf_order)]
    spans, sums = hierarchy.intervals.tolist(), [0.0] * hierarchy.n_nodes
    for node in range(hierarchy.n_leaves, hierarchy.n_nodes):
        first = spans[node][0]
        for child in hierarchy.children_of(node):
            start, stop = spans[child]  # the children before it have the leaves from `first` to `start`
            sums[node] += sums[child] + float(ordered[first:start, start:stop].sum())
    return np.asarray(np.array(sums) / hierarchy.sizes)


def scatter_heights(hierarchy: Hierarchy, apart: Floats) -> Floats | None:
    """(n_nodes,): √(S(C) / S(all leaves)), 0 at leaves and 1 at the root; None if no two leaves differ.

    For squared distances it rises from child to parent by itself: SSE(P) = SSE(L) + SSE(R) + Ward's increment. Where
    rounding makes it fall, it stays at the largest below.

    >>> scatter_heights(Hierarchy.from_nested(((0, 1), 2)), np.array([[0, 1, 9], [1, 0, 16], [9, 16, 0.0]])).round(3)
    array([0.  , 0.  , 0.  , 0.24, 1.  ])
    """
    n = hierarchy.n_leaves
    raised = monotone_heights(hierarchy.parents, scatters(hierarchy, apart), n)
    if n == 1 or not raised[-1] > 0.0:
        return None
    return np.concatenate([np.zeros(n), np.sqrt(raised / raised[-1])])


def self_similarity(similarity: Floats) -> float:
    """The smallest c for which there are points with squared distances c − w_ij: how similar a leaf is to itself.

    With d = max w − w, that is max w + λ, λ ≥ 0 the largest eigenvalue of d with its rows and columns centred (Lingoes
    1971). The diagonal of w, which no model uses, is not used here either. A kernel of few dimensions gets back
    its own diagonal.

    >>> x = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, -0.6]])
    >>> round(self_similarity(x @ x.T), 6)
    1.0
    """
    pairs = ~np.eye(len(similarity), dtype=bool)
    largest = float(np.max(similarity, where=pairs, initial=-np.inf))
    apart = np.where(pairs, largest - similarity, 0.0)
    centred = apart - apart.mean(axis=0) - apart.mean(axis=1)[:, None] + apart.mean()
    more = float(np.linalg.eigvalsh(centred)[-1])
    return largest + (more if more > _LOST * float(apart.max()) else 0.0)
