"""What every regraft of a part would change, in one walk.

A part S is taken out of a cluster T, and put back beside a cluster C of what is left. The clusters from C up to T gain
S, so the splits on this path, and no others, change:

    gain(C) = log ψ(C, S) + Σ [log ψ with S in the child on the path − log ψ without S]

A cluster has two children, so all these terms, for all C, are three per cluster. They need the pair sums between S and
every cluster: the rows of S are added up once and summed over the clusters, children first.
"""

from __future__ import annotations

import types
from collections.abc import Callable
from typing import Any

import numpy as np

from palmette._jit import kernel, specialise, specialise_inline
from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.models.evaluate import _node_sums
from palmette.models.features import feature_loader
from palmette.models.split_function import SplitFunction
from palmette.models.split_model import SplitModel
from palmette.search.tree_state import (
    CHANGES,
    GAINS,
    IS_KNOWN,
    IS_NEW,
    IS_SAME,
    LOSES,
    PLACE,
    POSITIONS,
    WORK,
    Tree,
    Walk,
    empty_tree,
    empty_walk,
    lay_out,
)

__all__ = ["Regrafts", "best_position"]


_NOISE = 1e-12  # a gain below this share of the largest log ψ around is rounding

features: Any = None  # a model's, put in by `specialise`, as are all of these
score: Any = None
load: Any = None
describe_rest: Any = None
score_rest: Any = None


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


def _mask_scores(model, tree, walk, moved):
    # Called from Python only: `model` is a split function, and the table holds bit masks.
    r = walk.counts[POSITIONS]
    part = tree.table[moved, 0]
    rest = tree.table[walk.node[:r], 0] & ~part
    inner = np.flatnonzero(walk.second[:r])
    lost = inner[walk.loses[inner]]
    first, second = rest[inner + 1], rest[walk.second[inner]]
    left = [rest, first | part, first, rest[lost + 1]]
    right = [np.full(r, part), second, second | part, rest[walk.second[lost]]]
    values = _mask_log_psi(model, np.concatenate(left), np.concatenate(right))
    ends = np.cumsum([len(part) for part in left])
    walk.beside[:r], walk.first_with[inner], walk.second_with[inner], own = np.split(values, ends[:-1])
    walk.log_psi[inner] = tree.log_psi[walk.node[inner]]
    walk.log_psi[lost] = own


def _mask_refresh(model, tree, walk, moved):
    nodes = walk.changed[: walk.counts[CHANGES], 0]
    nodes = nodes[tree.child[nodes, 0] != tree.child[nodes, 1]]  # both are 0 for a leaf
    for v in nodes:
        tree.size[v] = tree.size[tree.child[v]].sum()
        tree.table[v, 0] = np.bitwise_or.reduce(tree.table[tree.child[v], 0])
    tree.log_psi[nodes] = _mask_log_psi(model, *tree.table[tree.child[nodes], 0].T)


def _mask_log_psi(model: SplitFunction, one: Ints, two: Ints) -> Floats:
    swap = (two & -two) < (one & -one)
    return model.log_potentials(np.where(swap, two, one), np.where(swap, one, two))


@kernel
def _weigh(walk):
    # gain and impossible of every position, the parents of a position first.
    walk.gain[0], walk.impossible[0] = 0.0, 0
    for i in range(walk.counts[POSITIONS]):
        gain, impossible = walk.gain[i], walk.impossible[i]
        walk.gain[i], walk.impossible[i] = _add(gain, impossible, walk.beside[i])
        j = walk.second[i]
        if j > 0:
            if walk.log_psi[i] > -np.inf:
                gain -= walk.log_psi[i]
            else:
                impossible -= 1
            walk.gain[i + 1], walk.impossible[i + 1] = _add(gain, impossible, walk.first_with[i])
            walk.gain[j], walk.impossible[j] = _add(gain, impossible, walk.second_with[i])
    walk.counts[WORK] += walk.counts[POSITIONS]


@kernel
def _add(gain, impossible, term):
    if term > -np.inf:
        return gain + term, impossible
    return gain, impossible + 1


@kernel
def best_position(walk):
    """The first of the best positions of a survey: fewest impossible splits, then largest gain.

    The present one if none is better by more than rounding.
    """
    best = place = walk.counts[PLACE]
    largest = abs(walk.gain[place])
    for i in range(walk.counts[POSITIONS]):
        fewer = walk.impossible[best] - walk.impossible[i]
        if fewer > 0 or (fewer == 0 and walk.gain[i] > walk.gain[best]):
            best = i
        if walk.second[i] > 0 and -np.inf < walk.log_psi[i]:
            largest = max(largest, abs(walk.log_psi[i]))
    if walk.impossible[best] == walk.impossible[place] and walk.gain[best] <= walk.gain[place] + _NOISE * largest:
        return place
    return best


def _survey(data, tree, walk, moved, top):
    lay_out(tree.parent, tree.child, moved, top, walk)
    _add_across(data[1], tree.child, tree.size, moved, walk)
    describe_rest(data, tree, walk, moved)
    score_rest(data, tree, walk, moved)
    _weigh(walk)


def _mask_survey(model, tree, walk, moved, top):
    lay_out(tree.parent, tree.child, moved, top, walk)
    _mask_scores(model, tree, walk, moved)
    _weigh(walk)


class Regrafts:
    """The regrafts of one model, as functions of (data, tree, walk, …).

    ``survey(data, tree, walk, moved, top)``
        the gain of every regraft of `moved` below its ancestor `top`, up to a constant.
    ``refresh(data, tree, walk, moved)``
        brings the statistics up to date after a `regraft` to a position of the survey.
    ``make(template, **functions)``
        a template as a function of the kind that these are.

    For a `SplitModel` they are compiled. For a `SplitFunction` they are plain Python, with one call of the function for
    each survey, and the table of a tree holds bit masks.
    """

    def __init__(self, model: SplitModel | SplitFunction) -> None:
        self._model = model
        self.data: Any = model
        self.make: Callable[..., Any] = _plain
        self.survey, self.refresh = _mask_survey, _mask_refresh
        if isinstance(model, SplitModel):
            self.data, self.make = (model.theta, model.pairwise), specialise
            self.survey, self.refresh = _compiled(model)

    def tree_of(self, hierarchy: Hierarchy) -> tuple[Tree, Walk]:
        """A hierarchy of the model's leaves as a tree with all statistics, and room for walks over it."""
        if isinstance(self._model, SplitModel):
            tree = empty_tree(hierarchy, *_node_sums(self._model, hierarchy), self._model.n_features)
        else:
            tree = empty_tree(hierarchy, masks=hierarchy.cluster_masks())
        walk, m = empty_walk(tree), hierarchy.n_nodes
        walk.changed[:, 0], walk.changed[:, 2], walk.counts[CHANGES] = np.arange(m), IS_KNOWN, m
        self.refresh(self.data, tree, walk, 0)
        return tree, walk


def _plain(template: Callable[..., Any], **functions: Any) -> Callable[..., Any]:
    return types.FunctionType(template.__code__, {**template.__globals__, **functions}, template.__name__)


def _compiled(model: SplitModel) -> tuple[Any, Any]:
    scorer = {"score": model.score, "load": feature_loader(model.n_features)}
    describe_rest = specialise_inline(_describe_rest, features=model.features)
    survey = specialise(_survey, describe_rest=describe_rest, score_rest=specialise_inline(_score_rest, **scorer))
    return survey, specialise(_refresh, features=model.features, **scorer)
