"""Regrafts under a model of compiled functions, all statistics of clusters being kept.

They need the pair sums between the moved part S and every cluster: the rows of S are added up once and summed over the
clusters, children first.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import kernel, specialise, specialise_inline
from palmette.hierarchy import Hierarchy
from palmette.models.evaluate import node_sums
from palmette.models.features import feature_loader
from palmette.models.split_model import SplitModel
from palmette.regrafts.protocol import Regrafts, weigh
from palmette.regrafts.tree_state import (
    CHANGES,
    GAINS,
    IS_NEW,
    IS_SAME,
    LOSES,
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
describe_rest: Any = None
score_rest: Any = None


class CompiledRegrafts(Regrafts):
    """Those of a `SplitModel`; the table of a tree holds features."""

    effort = 1 << 19
    make = staticmethod(specialise)

    def __init__(self, model: SplitModel) -> None:
        self._model = model
        self.data = (model.theta, model.pairwise)
        self.scorer = {"score": model.score, "load": feature_loader(model.n_features)}
        describe_rest = specialise_inline(_describe_rest, features=model.features)
        score_rest = specialise_inline(_score_rest, **self.scorer)
        self.survey = specialise(_survey, describe_rest=describe_rest, score_rest=score_rest)
        self.refresh = specialise(_refresh, features=model.features, **self.scorer)

    def empty_tree(self, hierarchy: Hierarchy) -> Tree:
        """With the sums of all clusters, and room for their features."""
        features = np.zeros((hierarchy.n_nodes, self._model.n_features))
        return tree_with(hierarchy, *node_sums(self._model, hierarchy), features)


def _survey(data, tree, walk, moved, top):
    lay_out(tree.parent, tree.child, moved, top, walk)
    _add_across(data[1], tree.child, tree.size, moved, walk)
    describe_rest(data, tree, walk, moved)
    score_rest(data, tree, walk, moved)
    weigh(walk)


@kernel
def _add_across(pairwise, child, size, moved, walk):
    # walk.across: leaves get the sum of the rows of `moved`, clusters that of their children.
    n = (size.size + 1) // 2
    r, leaves = walk.counts[POSITIONS], (walk.counts[POSITIONS] + 1) // 2
    for c in range(pairwise.shape[0]):
        for x in range(leaves):
            walk.across[walk.leaf[x], c] = 0.0
    walk.stack[0], height = moved, 1
    while height > 0:
        height -= 1
        v = walk.stack[height]
        if v < n:
            for c in range(pairwise.shape[0]):
                for x in range(leaves):
                    walk.across[walk.leaf[x], c] += pairwise[c, v, walk.node[walk.leaf[x]]]
        else:
            walk.stack[height], walk.stack[height + 1] = child[v, 0], child[v, 1]
            height += 2
    for j in range(r):
        i = r - 1 - j
        if walk.second[i] > 0:
            for c in range(pairwise.shape[0]):
                walk.across[i, c] = walk.across[i + 1, c] + walk.across[walk.second[i], c]
    walk.counts[WORK] += size[moved] * leaves * pairwise.shape[0] // 16


def _describe_rest(data, tree, walk, moved):
    # Statistics and features of every cluster of the walk, without and with the moved part, children first.
    theta, pairwise = data
    n, d, p = (tree.size.size + 1) // 2, tree.sums.shape[1], pairwise.shape[0]
    size, sums, pairs, table, second = walk.size, walk.sums, walk.pairs, walk.table, walk.second
    union, union_pairs = np.empty(d), np.empty(p)
    for j in range(walk.counts[POSITIONS]):
        i = walk.counts[POSITIONS] - 1 - j
        v = walk.node[i]
        if walk.loses[i]:
            size[i] = tree.size[v] - tree.size[moved]
            for c in range(d):
                sums[i, c] = sums[i + 1, c] + sums[second[i], c]
            for c in range(p):
                pairs[i, c] = tree.pairs[v, c] - (tree.pairs[moved, c] + walk.across[i, c])
            features(theta, n, size[i], sums[i], pairs[i], table[i])
        else:
            size[i] = tree.size[v]
            for c in range(d):
                sums[i, c] = tree.sums[v, c]
            for c in range(p):
                pairs[i, c] = tree.pairs[v, c]
            for c in range(table.shape[1]):
                table[i, c] = tree.table[v, c]
        for c in range(d):
            union[c] = sums[i, c] + tree.sums[moved, c]
        for c in range(p):
            union_pairs[c] = pairs[i, c] + (tree.pairs[moved, c] + walk.across[i, c])
        features(theta, n, size[i] + tree.size[moved], union, union_pairs, walk.joined[i])


def _score_rest(data, tree, walk, moved):
    theta = data[0]
    table, joined = walk.table.T, walk.joined.T
    part = load(tree.table.T, moved)
    for i in range(walk.counts[POSITIONS]):
        whole = load(joined, i)
        walk.beside[i] = score(theta, whole, load(table, i), part)
        j = walk.second[i]
        if j > 0:
            walk.first_with[i] = score(theta, whole, load(joined, i + 1), load(table, j))
            walk.second_with[i] = score(theta, whole, load(table, i + 1), load(joined, j))
            if walk.loses[i]:
                walk.log_psi[i] = score(theta, load(table, i), load(table, i + 1), load(table, j))
            else:
                walk.log_psi[i] = tree.log_psi[walk.node[i]]


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
