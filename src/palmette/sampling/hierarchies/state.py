"""What is known of the clusters of a hierarchy, from its links and the leaves: sizes, sums, features, log ψ."""

from __future__ import annotations

import numpy as np

from palmette._jit import step
from palmette.models.c_functions import fill_features
from palmette.regrafts.compiled import score_listed

__all__ = ["list_nodes", "restate"]


@step
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


@step
def restate(data, tree, walk, nodes, leaves):
    """All statistics anew from the links, so that rounding cannot pile up; Σ log ψ, and how many are −inf.

    `nodes` are listed by `list_nodes`; `leaves` and the walk are room.
    """
    additive, pairwise, child = data.additive, data.pairwise, tree.child
    n = (nodes.size + 1) // 2
    m, count = n, 0
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
            continue
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
        walk.parents[count], walk.lefts[count], walk.rights[count] = v, one, two
        count += 1
    fill_features(data.features, data.theta, n, tree.size, tree.sums, tree.pairs, tree.table, 0, nodes.size)
    score_listed(data, tree, walk, count)
    impossible, total = 0, 0.0
    for j in range(count):
        if walk.scores[j] == -np.inf:
            impossible += 1
        else:
            total += walk.scores[j]
    return total, impossible
