"""Regrafts under a model of compiled functions, all statistics of clusters being kept.

They need the pair sums between the moved part S and every cluster: the rows of S are added up once and summed over the
clusters, children first. All scores follow in the same pass.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, kernel, specialise, specialise_inline
from palmette.hierarchy import Hierarchy
from palmette.models.evaluate import node_sums
from palmette.models.features import feature_loader, width_of
from palmette.models.split_model import SplitModel
from palmette.regrafts.protocol import Regrafts, weigh
from palmette.regrafts.tree_state import (
    CHANGES,
    GAINS,
    IS_NEW,
    IS_SAME,
    LOSES,
    PLACE,
    POSITIONS,
    WORK,
    Tree,
    lay_out,
    tree_with,
)

__all__ = ["CompiledRegrafts"]

features: Any = None  # a model's, put in by `specialise`, as are all of these
score: Any = None
load: Any = None
n_sums: Any = None
n_pairs: Any = None
add_rows: Any = None
weigh_rest: Any = None


class CompiledRegrafts(Regrafts):
    """Those of a `SplitModel`; the table of a tree holds features."""

    effort = 1 << 19
    make = staticmethod(specialise)

    def __init__(self, model: SplitModel) -> None:
        self._model = model
        self.data = (model.theta, model.pairwise)
        self.scorer = {"score": model.score, "load": feature_loader(model.n_features)}
        some = 2 if model.additive.shape[1] else 0  # conditions are sums, and their number makes no other kernel
        widths = {"n_sums": width_of(some), "n_pairs": width_of(len(model.pairwise))}
        add_rows = specialise_inline(_add_rows, n_pairs=widths["n_pairs"])
        weigh_rest = specialise_inline(_weigh_rest, features=model.features, **self.scorer, **widths)
        self.survey = specialise(_survey, add_rows=add_rows, weigh_rest=weigh_rest)
        self.refresh = specialise(_refresh, features=model.features, **self.scorer)

    def empty_tree(self, hierarchy: Hierarchy) -> Tree:
        """With the sums of all clusters, and room for their features."""
        features = np.zeros((hierarchy.n_nodes, self._model.n_features))
        return tree_with(hierarchy, *node_sums(self._model, hierarchy), features)


def _survey(data, tree, walk, moved, top):
    lay_out(tree.parent, tree.child, moved, top, walk)
    add_rows(data[1], tree.child, moved, walk)
    weigh_rest(data, tree, walk, moved)
    _restore(tree, walk)
    weigh(walk)
    walk.counts[WORK] += tree.size[moved] * (walk.counts[POSITIONS] // 32) * data[1].shape[0]


def _add_rows(pairwise, child, moved, walk):
    # walk.across of the leaves: the sum of the rows of `moved`.
    n = (child.shape[0] + 1) // 2
    leaves = (walk.counts[POSITIONS] + 1) // 2
    walk.stack[0], height, is_first = moved, 1, True
    while height > 0:
        height -= 1
        v = walk.stack[height]
        if v >= n:
            walk.stack[height], walk.stack[height + 1] = child[v, 0], child[v, 1]
            height += 2
            continue
        for c in range(n_pairs(walk.across)):
            row = pairwise[c, v]
            if is_first:
                for x in range(leaves):
                    walk.across[walk.leaf[x], c] = row[walk.node[walk.leaf[x]]]
            else:
                for x in range(leaves):
                    walk.across[walk.leaf[x], c] += row[walk.node[walk.leaf[x]]]
        is_first = False


def _weigh_rest(data, tree, walk, moved):
    # All scores of a walk, children first. Clusters that lose the moved part do so for now, so that the tree holds what
    # every cluster is without it; what they were is kept in the walk.
    theta, n = data[0], (tree.size.size + 1) // 2
    across, node, second = walk.across, walk.node, walk.second
    table, joined = tree.table.T, walk.joined.T
    part, size = load(table, moved), tree.size[moved]
    for j in range(walk.counts[POSITIONS]):
        i = walk.counts[POSITIONS] - 1 - j
        v, two = node[i], second[i]
        if two > 0:
            for c in range(n_pairs(across)):
                across[i, c] = across[i + 1, c] + across[two, c]
            walk.log_psi[i] = tree.log_psi[v]
        if walk.loses[i]:
            _keep(tree, walk, i)
            tree.size[v] -= size
            for c in range(n_sums(tree.sums)):
                tree.sums[v, c] = tree.sums[node[i + 1], c] + tree.sums[node[two], c]
            for c in range(n_pairs(across)):
                tree.pairs[v, c] -= tree.pairs[moved, c] + across[i, c]
            features(theta, n, tree.size[v], tree.sums[v], tree.pairs[v], tree.table[v])
            walk.log_psi[i] = score(theta, load(table, v), load(table, node[i + 1]), load(table, node[two]))
        for c in range(n_sums(tree.sums)):
            walk.union[c] = tree.sums[v, c] + tree.sums[moved, c]
        for c in range(n_pairs(across)):
            walk.union_pairs[c] = tree.pairs[v, c] + (tree.pairs[moved, c] + across[i, c])
        features(theta, n, tree.size[v] + size, walk.union, walk.union_pairs, walk.joined[i])
        whole = load(joined, i)
        walk.beside[i] = score(theta, whole, load(table, v), part)
        if two > 0:
            walk.first_with[i] = score(theta, whole, load(joined, i + 1), load(table, node[two]))
            walk.second_with[i] = score(theta, whole, load(table, node[i + 1]), load(joined, two))


@inline
def _keep(tree, walk, i):
    v = walk.node[i]
    walk.size[i] = tree.size[v]
    _copy_row(tree.sums, v, walk.sums, i)
    _copy_row(tree.pairs, v, walk.pairs, i)
    _copy_row(tree.table, v, walk.table, i)


@kernel
def _restore(tree, walk):
    # The clusters that lost the moved part get it back.
    i = walk.up[walk.counts[PLACE]]
    while i >= 0:
        v = walk.node[i]
        tree.size[v] = walk.size[i]
        _copy_row(walk.sums, i, tree.sums, v)
        _copy_row(walk.pairs, i, tree.pairs, v)
        _copy_row(walk.table, i, tree.table, v)
        i = walk.up[i]


@inline
def _copy_row(source, i, target, j):
    for c in range(source.shape[1]):
        target[j, c] = source[i, c]


def _refresh(data, tree, walk, moved):
    # The statistics and log ψ of the clusters in walk.changed.
    theta, n, p = data[0], (tree.size.size + 1) // 2, tree.pairs.shape[1]
    table = tree.table.T
    for k in range(walk.counts[CHANGES]):
        v, i, what = walk.changed[k, 0], walk.changed[k, 1], walk.changed[k, 2]
        one, two = tree.child[v, 0], tree.child[v, 1]
        if what != IS_SAME:
            if v >= n:
                tree.size[v] = tree.size[one] + tree.size[two]
                for c in range(tree.sums.shape[1]):
                    tree.sums[v, c] = tree.sums[one, c] + tree.sums[two, c]
            for c in range(p):
                across = tree.pairs[moved, c] + walk.across[i, c]
                if what == IS_NEW:
                    tree.pairs[v, c] = tree.pairs[one, c] + across
                elif what == GAINS:
                    tree.pairs[v, c] += across
                elif what == LOSES:
                    tree.pairs[v, c] -= across
            features(theta, n, tree.size[v], tree.sums[v], tree.pairs[v], tree.table[v])
        if v >= n:
            tree.log_psi[v] = score(theta, load(table, v), load(table, one), load(table, two))
