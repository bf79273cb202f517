"""What is known of the clusters of a hierarchy, from its links and the leaves: sizes, sums, features, log ψ."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import kernel, specialise
from palmette.models.features import feature_loader
from palmette.models.split_model import SplitModel

__all__ = ["list_nodes", "restater"]

features: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None


@kernel
def list_nodes(child, root, nodes, stack):
    """All nodes below the root, parents first, so that the leaves below a node follow it; how many there are."""
    n = (child.shape[0] + 1) // 2
    stack[0], height, m = root, 1, 0
    while height > 0:
        height -= 1
        v = stack[height]
        nodes[m] = v
        m += 1
        if v >= n:
            stack[height], stack[height + 1] = child[v, 1], child[v, 0]
            height += 2
    return m


def _restate(data, additive, tree, nodes, leaves):
    # All statistics anew from the links, so that rounding cannot pile up; returns Σ log ψ and how many are −inf.
    theta, pairwise = data
    n, child = (tree.size.size + 1) // 2, tree.child
    table = tree.table.T
    m, impossible, total = n, 0, 0.0
    for i in range(nodes.size):  # from the last leaf on; those below a node come just before it
        v = nodes[nodes.size - 1 - i]
        if v < n:
            m -= 1
            leaves[m] = v
            for c in range(additive.shape[1]):
                tree.sums[v, c] = additive[v, c]
            for c in range(pairwise.shape[0]):
                tree.pairs[v, c] = 0.0
            tree.size[v] = 1
        else:
            one, two = child[v, 0], child[v, 1]
            tree.size[v] = tree.size[one] + tree.size[two]
            for c in range(additive.shape[1]):
                tree.sums[v, c] = tree.sums[one, c] + tree.sums[two, c]
            middle = m + tree.size[one]
            for c in range(pairwise.shape[0]):
                across = 0.0
                for x in range(m, middle):
                    row = pairwise[c, leaves[x]]
                    for y in range(middle, m + tree.size[v]):
                        across += row[leaves[y]]
                tree.pairs[v, c] = tree.pairs[one, c] + tree.pairs[two, c] + across
        features(theta, n, tree.size[v], tree.sums[v], tree.pairs[v], tree.table[v])
        if v >= n:
            value = score(theta, load(table, v), load(table, child[v, 0]), load(table, child[v, 1]))
            tree.log_psi[v] = value
            if value == -np.inf:
                impossible += 1
            else:
                total += value
    return total, impossible


def restater(model: SplitModel) -> Any:
    """The compiled (data, additive, tree, nodes, leaves) that states all anew; Σ log ψ, and how many are −inf."""
    return specialise(_restate, features=model.features, score=model.score, load=feature_loader(model.n_features))
