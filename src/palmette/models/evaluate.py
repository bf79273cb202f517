"""Log potentials of one hierarchy, of a sparse trellis, and of listed clusters, of any number of leaves."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints
from palmette.clusters import member_list
from palmette.hierarchy import Hierarchy
from palmette.links import offsets_of
from palmette.models.base import FeatureModel, Model
from palmette.models.c_functions import (
    cluster_scores_of,
    features_of,
    fill_features,
    score_clusters,
    score_splits,
    scores_of,
)

if TYPE_CHECKING:
    from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = [
    "across",
    "hierarchy_log_potential",
    "member_log_potentials",
    "no_log_potential",
    "node_log_potentials",
    "node_sums",
    "pair_log_potentials",
    "require_log_potentials",
    "split_log_potentials",
    "trellis_sums",
]


@inline
def across(weights, one, two):
    """Σ w_ij over the leaves i of one cluster and j of another."""
    total = 0.0
    for i in one:
        for j in two:
            total += weights[i, j]
    return total


@inline
def _begin(additive, sums):
    # Those of the leaves. Written out: an assignment of one array to another takes a second to compile.
    for i in range(additive.shape[0]):
        for c in range(additive.shape[1]):
            sums[i, c] = additive[i, c]


@kernel
def _node_statistics(additive, pairwise, offsets, children, order, intervals, sums, pairs):
    # Sums and pair sums of every node, children first; the leaves below v are order[intervals[v, 0] : intervals[v, 1]].
    n, d = additive.shape
    _begin(additive, sums)
    for v in range(n, offsets.size - 1):
        for x in range(offsets[v], offsets[v + 1]):
            child = children[x]
            for c in range(d):
                sums[v, c] += sums[child, c]
            for c in range(pairwise.shape[0]):
                pairs[v, c] += pairs[child, c]
                for y in range(offsets[v], x):  # across to the children before it
                    a, b = intervals[children[y]], intervals[child]
                    pairs[v, c] += across(pairwise[c], order[a[0] : a[1]], order[b[0] : b[1]])


def _no_sums(model: FeatureModel, m: int) -> tuple[Floats, Floats]:
    return np.zeros((m, model.additive.shape[1])), np.zeros((m, len(model.pairwise)))


def node_sums(model: FeatureModel, hierarchy: Hierarchy) -> tuple[Floats, Floats]:
    """(n_nodes, d) sums and (n_nodes, p) pair sums of every node; O(n d) and O(n² p)."""
    sums, pairs = _no_sums(model, hierarchy.n_nodes)
    links = (hierarchy.child_offsets, hierarchy.child_nodes, hierarchy.leaf_order, hierarchy.intervals)
    _node_statistics(model.additive, model.pairwise, *map(_contiguous, links), sums, pairs)
    return sums, pairs


def _node_sizes(hierarchy: Hierarchy) -> Ints:
    return np.diff(_contiguous(hierarchy.intervals))[:, 0]


def _contiguous(values: npt.NDArray[np.integer]) -> Ints:
    # Closed for writing, whatever is given: to a compiler those are two types, and each would have a kernel.
    return read_only(np.ascontiguousarray(values, dtype=np.int64).view())


@kernel
def _trellis_statistics(n, words, sizes, offsets, left, right, additive, pairwise, sums, pairs):
    # Sums over the members and over the pairs of every cluster; of all its splits the cheapest one is added up.
    one, two = np.empty(n, np.int64), np.empty(n, np.int64)
    _begin(additive, sums)
    for p in range(n, sizes.size):
        best = offsets[p]
        for s in range(offsets[p], offsets[p + 1]):
            if sizes[left[s]] * sizes[right[s]] < sizes[left[best]] * sizes[right[best]]:
                best = s
        for c in range(additive.shape[1]):
            sums[p, c] = sums[left[best], c] + sums[right[best], c]
        if pairwise.shape[0] == 0:
            continue
        m, k = member_list(words[left[best]], one), member_list(words[right[best]], two)
        for c in range(pairwise.shape[0]):
            pairs[p, c] = pairs[left[best], c] + pairs[right[best], c] + across(pairwise[c], one[:m], two[:k])


def trellis_sums(model: FeatureModel, trellis: SparseTrellis) -> tuple[Floats, Floats]:
    """(m, d) sums and (m, p) pair sums of the m clusters of a sparse trellis whose leaf i is the model's."""
    sums, pairs = _no_sums(model, trellis.n_clusters)
    splits, data = (trellis.offsets, trellis.left, trellis.right), (model.additive, model.pairwise)
    _trellis_statistics(trellis.n_leaves, trellis.words, trellis.sizes, *splits, *data, sums, pairs)
    return sums, pairs


@kernel
def _split_scores(features, scores, theta, n, sizes, sums, pairs, table, parents, lefts, rights, out):
    fill_features(features, theta, n, sizes, sums, pairs, table, 0, sizes.size)
    score_splits(scores, theta, table, parents, lefts, rights, out.size, out)


def split_log_potentials(
    model: FeatureModel, sizes: Ints, sums: Floats, pairs: Floats, parent: Ints, left: Ints, right: Ints
) -> Floats:
    """(k,): log ψ of k splits of clusters that are known by their sizes, sums (m, d) and pair sums (m, p)."""
    functions = features_of(model), scores_of(model)
    table, out = np.empty((len(sizes), model.n_features)), np.empty(len(parent))
    sizes, *splits = map(_contiguous, (sizes, parent, left, right))
    _split_scores(*functions, model.theta, model.n_leaves, sizes, sums, pairs, table, *splits, out)
    require_log_potentials(model, out)
    return out


def hierarchy_log_potential(model: FeatureModel, hierarchy: Hierarchy) -> float:
    """Σ score over the splits of a binary hierarchy whose leaf i is the model's; O(n²) for pair sums, else O(n)."""
    parents = np.arange(hierarchy.n_leaves, hierarchy.n_nodes)
    sums = _node_sizes(hierarchy), *node_sums(model, hierarchy)
    return float(split_log_potentials(model, *sums, parents, *hierarchy.children.T).sum())


@kernel
def _cluster_scores(features, scores, theta, n, sizes, sums, pairs, table, out):
    fill_features(features, theta, n, sizes, sums, pairs, table, 0, sizes.size)
    score_clusters(scores, theta, table, out.size, out, 0)


def _scores(model: FeatureModel, sizes: Ints, sums: Floats, pairs: Floats) -> Floats:
    functions = features_of(model), cluster_scores_of(model)
    table, out = np.empty((len(sizes), model.n_features)), np.empty(len(sizes))
    _cluster_scores(*functions, model.theta, model.n_leaves, _contiguous(sizes), sums, pairs, table, out)
    require_log_potentials(model, out)
    return out


@kernel
def _member_statistics(additive, pairwise, offsets, members, sums, pairs):
    for i in range(offsets.size - 1):
        for x in range(offsets[i], offsets[i + 1]):
            for c in range(additive.shape[1]):
                sums[i, c] += additive[members[x], c]
            for c in range(pairwise.shape[0]):
                for y in range(offsets[i], x):
                    pairs[i, c] += pairwise[c, members[x], members[y]]


def _member_sums(model: FeatureModel, offsets: Ints, members: Ints) -> tuple[Floats, Floats]:
    sums, pairs = _no_sums(model, len(offsets) - 1)
    _member_statistics(model.additive, model.pairwise, _contiguous(offsets), _contiguous(members), sums, pairs)
    return sums, pairs


def member_log_potentials(model: FeatureModel, offsets: Ints, members: Ints) -> Floats:
    """(m,): log ψ of m clusters; the leaves of cluster i are members[offsets[i] : offsets[i + 1]]."""
    return _scores(model, np.diff(offsets), *_member_sums(model, offsets, members))


def node_log_potentials(model: FeatureModel, hierarchy: Hierarchy) -> Floats:
    """(n_nodes,): log ψ of the cluster of every node of a hierarchy whose leaf i is the model's."""
    return _scores(model, _node_sizes(hierarchy), *node_sums(model, hierarchy))


def pair_log_potentials(model: FeatureModel, pairs: Sequence[tuple[Sequence[int], Sequence[int]]]) -> Floats:
    """(k,): log ψ of the splits into k pairs of disjoint clusters, given by their leaves."""
    clusters = [members for one, two in pairs for members in ([*one, *two], one, two)]
    sizes = np.array([len(members) for members in clusters], dtype=np.int64)
    offsets = offsets_of(sizes)
    members = np.fromiter(itertools.chain.from_iterable(clusters), dtype=np.int64, count=int(sizes.sum()))
    first = 3 * np.arange(len(pairs))
    return split_log_potentials(model, sizes, *_member_sums(model, offsets, members), first, first + 1, first + 2)


def require_log_potentials(model: Model, values: Floats) -> None:
    """Refuse NaN and +inf of a compiled score."""
    if not np.all(np.less(values, np.inf)):
        raise no_log_potential(model)


def no_log_potential(model: Model) -> ValueError:
    """What is the matter if a compiled score was NaN or +inf."""
    return ValueError(f"{type(model).__name__}.score returned NaN or inf; a log potential is finite or -inf")
