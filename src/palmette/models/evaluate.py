"""The log potential of one hierarchy, of any number of leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette._jit import kernel, specialise
from palmette.hierarchy import Hierarchy
from palmette.models.features import feature_loader

if TYPE_CHECKING:
    from palmette.models.base import SplitModel

__all__ = ["hierarchy_log_potential"]

features: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None


@kernel
def _node_statistics(additive, pairwise, children, order, intervals, sums, pairs):
    # Sums and pair sums of every node; the leaves below node v are order[intervals[v, 0] : intervals[v, 1]].
    n, d = additive.shape
    for i in range(n):
        for c in range(d):
            sums[i, c] = additive[i, c]
    for i in range(n - 1):
        left, right = children[i, 0], children[i, 1]
        for c in range(d):
            sums[n + i, c] = sums[left, c] + sums[right, c]
        for c in range(pairwise.shape[0]):
            total = pairs[left, c] + pairs[right, c]
            for x in range(intervals[left, 0], intervals[left, 1]):
                for y in range(intervals[right, 0], intervals[right, 1]):
                    total += pairwise[c, order[x], order[y]]
            pairs[n + i, c] = total


def _log_potential(theta, children, intervals, sums, pairs, table):
    n = children.shape[0] + 1
    one = np.empty(table.shape[0])
    for v in range(2 * n - 1):
        features(theta, n, intervals[v, 1] - intervals[v, 0], sums[v], pairs[v], one)
        for c in range(one.size):
            table[c, v] = one[c]
    total = 0.0
    for i in range(n - 1):
        left, right = children[i, 0], children[i, 1]
        total += score(theta, load(table, n + i), load(table, left), load(table, right))
    return total


def hierarchy_log_potential(model: SplitModel, hierarchy: Hierarchy) -> float:
    """Σ score over the splits of a binary hierarchy whose leaf i is the model's; O(n²) for pair sums, else O(n)."""
    children = np.ascontiguousarray(hierarchy.children, dtype=np.int64)
    order = np.ascontiguousarray(hierarchy.leaf_order, dtype=np.int64)
    intervals = np.ascontiguousarray(hierarchy.intervals, dtype=np.int64)
    n_nodes = hierarchy.n_nodes
    sums = np.zeros((n_nodes, model.additive.shape[1]))
    pairs = np.zeros((n_nodes, len(model.pairwise)))
    _node_statistics(model.additive, model.pairwise, children, order, intervals, sums, pairs)
    functions = {"features": model.features, "score": model.score, "load": feature_loader(model.n_features)}
    table = np.empty((model.n_features, n_nodes))
    total = float(specialise(_log_potential, **functions)(model.theta, children, intervals, sums, pairs, table))
    if not total < np.inf:
        raise ValueError(f"{type(model).__name__}.score returned NaN or inf; a log potential is finite or -inf")
    return total
