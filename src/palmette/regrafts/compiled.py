"""Regrafts under a model of compiled functions, all statistics of clusters being kept.

They need the pair sums between the moved part S and every cluster: the rows of S are added up once and summed over the
clusters, children first. Then all clusters that a regraft could make are described at once, and all splits scored.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, step
from palmette.hierarchy import Hierarchy
from palmette.models.c_functions import ModelData, features_of, fill_features, score_splits, scores_of
from palmette.models.evaluate import node_sums
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

__all__ = ["CompiledRegrafts", "refresh", "survey"]


class CompiledRegrafts(Regrafts):
    """Those of a `SplitModel`; the table of a tree holds features."""

    effort = 1 << 19

    def __init__(self, model: SplitModel) -> None:
        self._model = model
        arrays = (model.theta, model.additive, model.pairwise)
        self.data = ModelData(features_of(model), scores_of(model), *arrays)
        self.survey, self.refresh = survey, refresh

    def empty_tree(self, hierarchy: Hierarchy) -> Tree:
        """With the sums of all clusters, and room for their features."""
        features = np.zeros((3 * hierarchy.n_nodes, self._model.n_features))
        return tree_with(hierarchy, *node_sums(self._model, hierarchy), features)


@step
def survey(data, tree, walk, moved, top):
    """What `Regrafts` says of it."""
    lay_out(tree.parent, tree.child, moved, top, walk)
    _add_rows(data.pairwise, tree.child, moved, walk)
    _join(tree, walk, moved)
    n_losers = _lose(tree, walk, moved)
    _score_all(data, tree, walk, moved, n_losers)
    weigh(walk)
    walk.counts[WORK] += tree.size[moved] * (walk.counts[POSITIONS] // 32) * data.pairwise.shape[0]


@inline
def _add_rows(pairwise, child, moved, walk):
    # walk.across: for leaves the sum of the rows of `moved`, for the others what their children have, these first.
    n, node, across = (child.shape[0] + 1) // 2, walk.node, walk.across
    leaves = (walk.counts[POSITIONS] + 1) // 2
    walk.stack[0], height, is_first = moved, 1, True
    while height > 0 and pairwise.shape[0] > 0:
        height -= 1
        v = walk.stack[height]
        if v >= n:
            walk.stack[height], walk.stack[height + 1] = child[v, 0], child[v, 1]
            height += 2
            continue
        for c in range(pairwise.shape[0]):
            row = pairwise[c, v]
            if is_first:
                for x in range(leaves):
                    across[c, walk.leaf[x]] = row[node[walk.leaf[x]]]
            else:
                for x in range(leaves):
                    across[c, walk.leaf[x]] += row[node[walk.leaf[x]]]
        is_first = False
    for c in range(pairwise.shape[0]):
        for i in range(walk.counts[POSITIONS] - 1, -1, -1):
            if walk.second[i] > 0:
                across[c, i] = across[c, i + 1] + across[c, walk.second[i]]


@inline
def _join(tree, walk, moved):
    # What is known of all clusters with the moved part, but for those that lose it.
    count, size = walk.counts[POSITIONS], tree.size[moved]
    for i in range(count):
        v = walk.node[i]
        walk.row[i], walk.size[i], walk.log_psi[i] = v, tree.size[v] + size, tree.log_psi[v]
        for c in range(tree.sums.shape[1]):
            walk.sums[i, c] = tree.sums[v, c] + tree.sums[moved, c]
        for c in range(tree.pairs.shape[1]):
            walk.pairs[i, c] = tree.pairs[v, c] + (tree.pairs[moved, c] + walk.across[c, i])


@inline
def _lose(tree, walk, moved):
    # What is known of the clusters that lose the moved part, without it and then with it; lists their splits without.
    m, count = tree.size.size, 0
    below, i = walk.node[walk.counts[PLACE]], walk.up[walk.counts[PLACE]]
    while i >= 0:
        v, j = walk.node[i], m + count
        one, two = walk.row[i + 1], walk.row[walk.second[i]]
        walk.parents[count], walk.lefts[count], walk.rights[count] = m + j, one, two
        walk.row[i], walk.size[j], walk.size[i] = m + j, tree.size[v] - tree.size[moved], tree.size[v]
        other = two if one == below else one
        for c in range(tree.sums.shape[1]):
            known = walk.sums[j - 1, c] if count else tree.sums[below, c]
            walk.sums[j, c] = known + tree.sums[other, c]
            walk.sums[i, c] = walk.sums[j, c] + tree.sums[moved, c]
        for c in range(tree.pairs.shape[1]):
            across = tree.pairs[moved, c] + walk.across[c, i]
            walk.pairs[j, c] = tree.pairs[v, c] - across
            walk.pairs[i, c] = walk.pairs[j, c] + across
        below, i = m + j, walk.up[i]
        count += 1
    return count


@inline
def _score_all(data, tree, walk, moved, n_losers):
    # The features of all these clusters, and log ψ of all splits: without, beside, and inside.
    m, count = tree.size.size, walk.counts[POSITIONS]
    n, row, parents, lefts, rights = (m + 1) // 2, walk.row, walk.parents, walk.lefts, walk.rights
    known = walk.size, walk.sums, walk.pairs, walk.table
    fill_features(data.features, data.theta, n, *known, 0, count)
    fill_features(data.features, data.theta, n, *known, m, n_losers)
    splits = tree.table, parents, lefts, rights
    score_splits(data.scores, data.theta, *splits, n_losers, walk.scores)
    i = walk.up[walk.counts[PLACE]]
    for j in range(n_losers):
        walk.log_psi[i] = walk.scores[j]
        i = walk.up[i]
    for i in range(count):
        rights[i] = moved
    score_splits(data.scores, data.theta, tree.table, walk.union, row, rights, count, walk.beside)
    parents[0], lefts[0] = m, row[0]
    for i in range(count):  # the first position is in none, and what it has beside it stands for that
        two = walk.second[i]
        if two > 0:
            parents[i + 1], lefts[i + 1], rights[i + 1] = m + i, m + i + 1, row[two]
            parents[two], lefts[two], rights[two] = m + i, row[i + 1], m + two
    score_splits(data.scores, data.theta, *splits, count, walk.inside)


@step
def refresh(data, tree, walk, moved):
    """What `Regrafts` says of it."""
    n, count = (tree.size.size + 1) // 2, 0
    for k in range(walk.counts[CHANGES]):
        v, i, what = walk.changed[k, 0], walk.changed[k, 1], walk.changed[k, 2]
        one, two = tree.child[v, 0], tree.child[v, 1]
        if what != IS_SAME:
            if v >= n:
                tree.size[v] = tree.size[one] + tree.size[two]
                for c in range(tree.sums.shape[1]):
                    tree.sums[v, c] = tree.sums[one, c] + tree.sums[two, c]
            for c in range(tree.pairs.shape[1]):
                across = tree.pairs[moved, c] + walk.across[c, i]
                if what == IS_NEW:
                    tree.pairs[v, c] = tree.pairs[one, c] + across
                elif what == GAINS:
                    tree.pairs[v, c] += across
                elif what == LOSES:
                    tree.pairs[v, c] -= across
            fill_features(data.features, data.theta, n, tree.size, tree.sums, tree.pairs, tree.table, v, 1)
        if v >= n:
            walk.parents[count], walk.lefts[count], walk.rights[count] = v, one, two
            count += 1
    score_listed(data, tree, walk, count)


@inline
def score_listed(data, tree, walk, count):
    """log ψ of nodes whose splits are the first of walk.parents, lefts and rights."""
    score_splits(data.scores, data.theta, tree.table, walk.parents, walk.lefts, walk.rights, count, walk.scores)
    for j in range(count):
        tree.log_psi[walk.parents[j]] = walk.scores[j]
