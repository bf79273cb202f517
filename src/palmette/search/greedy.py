"""Greedy agglomeration: merge the pair of clusters with the largest merge score, until one cluster is left.

A cluster lives in the slot of its lowest leaf and remembers its best partner, see `palmette.search.partners`. Every
score is computed once and kept, and a step scores one new cluster against the others: (n − 1)² scores in all.
"""

from __future__ import annotations

from typing import overload

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Ints
from palmette.hierarchy import Hierarchy
from palmette.models.base import FeatureModel, is_compiled, require_model
from palmette.models.c_functions import features_of, fill_features, score_splits, scores_of
from palmette.models.cluster_model import PartitionModel
from palmette.models.split_model import HierarchyModel
from palmette.search.cuts import best_cut
from palmette.search.found import Found, FoundPartition
from palmette.search.partners import best_pair, find_partner, update_partners

__all__ = ["greedy"]


@overload
def greedy(model: HierarchyModel) -> Found: ...
@overload
def greedy(model: PartitionModel) -> FoundPartition: ...
def greedy(model: HierarchyModel | PartitionModel) -> Found | FoundPartition:
    """(L, R) = argmax merge_score, merged, again and again: O(n²) scores, and nothing proved.

    For a model of hierarchies, `merge_score` is the model's own, or log ψ if it has none. For a model of partitions it
    is the gain log ψ(L ∪ R) − log ψ(L) − log ψ(R), and of the n partitions on the way the best one is returned.

    Of equal pairs the one with the lowest leaf comes first, then the one whose other cluster has the lowest leaf.
    Merges that the model forbids are made last: something always comes out, of log potential −inf if need be. Memory
    is n² numbers for the scores and n² for each pair sum of the model.

    >>> import numpy as np
    >>> from palmette.models import CorrelationClusters, Dasgupta
    >>> found = greedy(Dasgupta(np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])))
    >>> found.hierarchy, found.log_potential
    (Hierarchy.from_newick('((0,1),2);'), -12.0)
    >>> greedy(CorrelationClusters(np.array([[0, 3, -1], [3, 0, -1], [-1, -1, 0.0]]))).partition
    Partition([0, 0, 1])
    """
    require_model(model, wanted="a model, such as palmette.models.Dasgupta", all_known=True)
    children = _merge_compiled(model) if is_compiled(model, FeatureModel) else _merge_masks(model)
    if model.clusterings == "partitions":
        # Heights in the order of the merges, so that the cuts are the partitions on the way.
        heights = np.arange(1.0, model.n_leaves)
        return best_cut(model, Hierarchy.from_merges(children, model.labels, heights=heights))
    hierarchy = Hierarchy.from_merges(children, model.labels)
    return Found(hierarchy, model.log_potential(hierarchy))


@inline
def _score_row(functions, theta, n, i, slots, clusters, cross, table, splits, out):
    # out[s] = merge score of the clusters in slots i and s, for the listed s; cross[c, i, s] = Σ w between the two. Row
    # n + x of the clusters and of the table is the union with the one in slots[x].
    sizes, sums, pairs = clusters
    parents, lefts, rights, scores = splits
    for x in range(slots.size):
        s = slots[x]
        low, high = min(i, s), max(i, s)
        parents[x], lefts[x], rights[x] = n + x, low, high
        sizes[n + x] = sizes[low] + sizes[high]
        for c in range(sums.shape[1]):
            sums[n + x, c] = sums[low, c] + sums[high, c]
        for c in range(pairs.shape[1]):
            pairs[n + x, c] = pairs[low, c] + pairs[high, c] + cross[c, low, high]
    fill_features(functions[0], theta, n, sizes, sums, pairs, table, n, slots.size)
    score_splits(functions[1], theta, table, parents, lefts, rights, slots.size, scores)
    for x in range(slots.size):
        out[slots[x]] = scores[x]


@kernel
def _join(i, j, slots, sizes, sums, pairs, cross):
    # Slot i takes over slot j; `slots` are the others.
    sizes[i] += sizes[j]
    for c in range(sums.shape[1]):
        sums[i, c] += sums[j, c]
    for c in range(pairs.shape[1]):
        pairs[i, c] += pairs[j, c] + cross[c, i, j]
        for s in slots:
            cross[c, i, s] += cross[c, j, s]
            cross[c, s, i] = cross[c, i, s]


@kernel
def _note_scores(i, slots, row, scores):
    # Those of the new cluster in slot i.
    for s in slots:
        if s < i:
            scores[s, i] = row[s]
        elif s > i:
            scores[i, s] = row[s]


@kernel
def _without(slots, i):
    # A loop: `slots[slots != i]` takes a second longer to compile.
    left = np.empty(slots.size - 1, np.int64)
    k = 0
    for s in slots:
        if s != i:
            left[k] = s
            k += 1
    return left


@kernel
def _agglomerate(functions, theta, sums, cross, k):
    # `sums` and `cross` are those of single leaves at first, and change; the sums have as many rows again for unions.
    n = cross.shape[1]
    slots = np.arange(n)
    sizes, pairs = np.ones(2 * n, np.int64), np.zeros((2 * n, cross.shape[0]))
    clusters, table = (sizes, sums, pairs), np.empty((2 * n, k))
    parents, lefts, rights = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    splits = parents, lefts, rights, np.empty(n)
    scores, row, weights = np.empty((n, n)), np.empty(n), np.zeros(n)
    partner, value = np.empty(n, np.int64), np.empty(n)
    node = np.arange(n)
    children = np.empty((n - 1, 2), np.int64)
    fill_features(functions[0], theta, n, sizes, sums, pairs, table, 0, n)
    for i in range(n):
        _score_row(functions, theta, n, i, slots[i + 1 :], clusters, cross, table, splits, scores[i])
        find_partner(i, slots, scores, weights, partner, value)
    for step in range(n - 1):
        i, j = best_pair(slots, partner, value)
        children[step, 0], children[step, 1] = node[i], node[j]
        node[i] = n + step
        slots = _without(slots, j)
        others = _without(slots, i)
        _join(i, j, others, sizes, sums, pairs, cross)
        fill_features(functions[0], theta, n, sizes, sums, pairs, table, i, 1)
        _score_row(functions, theta, n, i, others, clusters, cross, table, splits, row)
        _note_scores(i, others, row, scores)
        update_partners(i, j, slots, row, scores, weights, partner, value)
    return children


def _merge_compiled(model: FeatureModel) -> Ints:
    functions = features_of(model), scores_of(model, model.compiled_merge_score)
    sums = np.concatenate([model.additive, np.empty_like(model.additive)])
    return np.asarray(_agglomerate(functions, model.theta, sums, model.pairwise.copy(), model.n_features))


def _merge_masks(model: HierarchyModel | PartitionModel) -> Ints:
    # One call for all pairs of leaves, then one for each new cluster against the others.
    n = model.n_leaves
    masks = 1 << np.arange(n, dtype=np.int64)
    node = np.arange(n)
    scores = np.empty((n, n))  # row < column
    is_pair = np.triu(np.ones((n, n), dtype=bool), 1)
    rows, columns = np.nonzero(is_pair)
    children = np.empty((n - 1, 2), dtype=np.int64)
    for step in range(n - 1):
        if len(rows):
            scores[rows, columns] = model.merge_scores(masks[rows], masks[columns])
        pairs = np.nonzero(is_pair)
        best = np.argmax(scores[pairs])  # of equal ones the first
        i, j = pairs[0][best], pairs[1][best]
        children[step] = node[i], node[j]
        node[i] = n + step
        masks[i] |= masks[j]
        is_pair[j, :] = is_pair[:, j] = False
        others = np.flatnonzero(is_pair[i] | is_pair[:, i])
        rows, columns = np.minimum(others, i), np.maximum(others, i)
    return children
