"""The features of all clusters of a few leaves, and log ψ from them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from palmette._jit import inline, kernel, maker
from palmette.array_types import Floats
from palmette.clusters import size_of
from palmette.models.base import FeatureModel
from palmette.models.c_functions import cluster_scores_of, features_of, fill_features, score_clusters
from palmette.threads import Workers

__all__ = [
    "all_but_the_last",
    "blocks_of",
    "fill_subset_features",
    "size_features",
    "tabulate_features",
    "tabulate_scores",
]

_BLOCK = 10  # clusters are tabulated in blocks of 2^10


@inline
def all_but_the_last(features):
    """The features of a model to whose own one more was added at the end."""
    return features[:-1]


@inline
def _start_block(high, additive, pairwise, sums, pairs):
    # The sums and pair sums of the cluster `high` itself, straight from its members.
    sums[0, :] = 0.0
    pairs[0, :] = 0.0
    for i in range(additive.shape[0]):
        if (high >> i) & 1:
            for c in range(additive.shape[1]):
                sums[0, c] += additive[i, c]
            for c in range(pairwise.shape[0]):
                for j in range(i):
                    if (high >> j) & 1:
                        pairs[0, c] += pairwise[c, i, j]


@inline
def _double_block(high, low, additive, pairwise, sums, pairs, rows):
    # Leaf b joins every cluster made of `high` and leaves below b: one addition each for its sums, and one for its
    # pair sums, given rows[s] = Σ w_bi over the members of that cluster, which grows by doubling itself.
    n = additive.shape[0]
    for b in range(low):
        for s in range(1 << b):
            for c in range(additive.shape[1]):
                sums[s | 1 << b, c] = sums[s, c] + additive[b, c]
        for c in range(pairwise.shape[0]):
            rows[0] = 0.0
            for i in range(low, n):
                if (high >> i) & 1:
                    rows[0] += pairwise[c, b, i]
            for i in range(b):
                for s in range(1 << i):
                    rows[s | 1 << i] = rows[s] + pairwise[c, b, i]
            for s in range(1 << b):
                pairs[s | 1 << b, c] = pairs[s, c] + rows[s]


@inline
def blocks_of(n):
    """How many blocks all clusters of n leaves make."""
    return 1 << max(0, n - _BLOCK)


@maker
def _rooms(low, d, p, k):
    # For one block: sizes, sums, pair sums, one number for each cluster, and features.
    m = 1 << low
    return np.empty(m, np.int64), np.empty((m, d)), np.empty((m, p)), np.empty(m), np.empty((m, k))


@inline
def _describe_block(features, theta, additive, pairwise, low, block, rooms):
    # Fills the features of one block of clusters; returns the first that is not the empty set.
    sizes, sums, pairs, rows, out = rooms
    high = block << low
    _start_block(high, additive, pairwise, sums, pairs)
    _double_block(high, low, additive, pairwise, sums, pairs, rows)
    for s in range(1 << low):
        sizes[s] = size_of(high | s)
    first = 0 if high else 1
    fill_features(features, theta, additive.shape[0], sizes, sums, pairs, out, first, (1 << low) - first)
    return first


@kernel
def fill_subset_features(features, theta, additive, pairwise, k, first, last, out):
    """The features of the clusters of the blocks `first` to `last`, by the address of the C function of a model.

    `out` (k, 2^n) has a column for each cluster, and k rows or fewer, if only the first features are wanted. The empty
    set is left alone. Blocks are independent of each other, 2^10 clusters each.
    """
    low = min(additive.shape[0], _BLOCK)
    rooms = _rooms(low, additive.shape[1], pairwise.shape[0], k)
    for block in range(first, last):
        for s in range(_describe_block(features, theta, additive, pairwise, low, block, rooms), 1 << low):
            for c in range(out.shape[0]):
                out[c, (block << low) + s] = rooms[4][s, c]


@kernel
def _fill_scores(features, scores, theta, additive, pairwise, k, first, last, out):
    # A block's features, then its scores: only these are kept.
    low = min(additive.shape[0], _BLOCK)
    rooms = _rooms(low, additive.shape[1], pairwise.shape[0], k)
    for block in range(first, last):
        begin = _describe_block(features, theta, additive, pairwise, low, block, rooms)
        score_clusters(scores, theta, rooms[4][begin:], (1 << low) - begin, out, (block << low) + begin)


@kernel
def _fill_sizes(features, theta, n, sizes, sums, pairs, out):
    fill_features(features, theta, n, sizes, sums, pairs, out, 0, sizes.size)


def _in_blocks(n: int, workers: Workers, call: Callable[[int, int], None]) -> None:
    workers.run(call, np.full(1 << max(0, n - _BLOCK), 20.0 * 2 ** min(_BLOCK, n)))


def tabulate_features(model: FeatureModel, workers: Workers, out: Floats) -> None:
    """The features of all 2^n clusters but the empty set, in the columns of `out`, which may have fewer than k rows."""
    fixed = (features_of(model), model.theta, model.additive, model.pairwise, model.n_features)
    _in_blocks(model.n_leaves, workers, lambda first, last: fill_subset_features(*fixed, first, last, out))


def tabulate_scores(model: FeatureModel, workers: Workers, out: Floats) -> None:
    """out[C] = log ψ(C) of all 2^n clusters but the empty set, for a model of partitions."""
    fixed = (features_of(model), cluster_scores_of(model), model.theta, model.additive, model.pairwise)
    _in_blocks(model.n_leaves, workers, lambda i, j: _fill_scores(*fixed, model.n_features, i, j, out))


def size_features(model: FeatureModel) -> Floats:
    """(n + 1, k): the features of a cluster of each size whose sums are all zero; row 0 is zero."""
    n = model.n_leaves
    sizes = np.arange(1, n + 1)
    sums, pairs = np.zeros((n, model.additive.shape[1])), np.zeros((n, len(model.pairwise)))
    out = np.zeros((n + 1, model.n_features))
    _fill_sizes(features_of(model), model.theta, n, sizes, sums, pairs, out[1:])
    return out
