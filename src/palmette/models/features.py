"""The features of all clusters of a few leaves, and log ψ from a table of them."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, specialise, specialise_inline
from palmette.array_types import Floats
from palmette.clusters import size_of
from palmette.models.base import MOST_FEATURES, FeatureModel
from palmette.threads import Workers

__all__ = [
    "BLOCK",
    "all_but_the_last",
    "describe_into",
    "feature_loader",
    "feature_log_psi",
    "fill_subset_features",
    "size_features",
    "subset_features",
    "subset_scores",
    "tabulate",
    "width_of",
]

BLOCK = 10  # clusters are tabulated in blocks of 2^10

features: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None
fill: Any = None

_LOADERS = [
    inline(lambda f, i: (f[0, i],)),
    inline(lambda f, i: (f[0, i], f[1, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i], f[3, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i], f[3, i], f[4, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i], f[3, i], f[4, i], f[5, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i], f[3, i], f[4, i], f[5, i], f[6, i])),
    inline(lambda f, i: (f[0, i], f[1, i], f[2, i], f[3, i], f[4, i], f[5, i], f[6, i], f[7, i])),
]
for _k, _loader in enumerate(_LOADERS):  # the name is what the disk cache tells them apart by
    _loader.py_func.__qualname__ = f"load_{_k + 1}_features"


@inline
def all_but_the_last(features):
    """The features of a model to whose own one more was added at the end."""
    return features[:-1]


def feature_loader(n_features: int) -> Any:
    """The compiled function (table, i) → the k features of cluster i as a tuple, which LLVM keeps in registers."""
    if not isinstance(n_features, int) or not 1 <= n_features <= MOST_FEATURES:
        raise ValueError(f"n_features is {n_features!r}; a model has between 1 and {MOST_FEATURES} features")
    return _LOADERS[n_features - 1]


_WIDTHS = [inline(lambda rows: 0), inline(lambda rows: 1), inline(lambda rows: rows.shape[1])]
for _k, _width in enumerate(_WIDTHS):
    _width.py_func.__qualname__ = f"width_{_k}"


def width_of(k: int) -> Any:
    """The compiled (rows) → k, the number of columns: a constant if there is none or one, so that loops go."""
    return _WIDTHS[min(k, len(_WIDTHS) - 1)]


def _describe(theta, n, size, sums, pairs, one, table, i):
    features(theta, n, size, sums, pairs, one)
    for c in range(one.size):
        table[c, i] = one[c]


def describe_into(model: FeatureModel) -> Any:
    """The inlined (θ, n, size, sums, pairs, one, table, i): the features of a cluster as column i of a table."""
    return specialise_inline(_describe, features=model.features)


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


def _subset_features(theta, additive, pairwise, k, low, first, last, out):
    n = additive.shape[0]
    sums = np.empty((1 << low, additive.shape[1]))
    pairs = np.empty((1 << low, pairwise.shape[0]))
    rows = np.empty(1 << low)
    one = np.empty(k)
    for block in range(first, last):
        high = block << low
        _start_block(high, additive, pairwise, sums, pairs)
        _double_block(high, low, additive, pairwise, sums, pairs, rows)
        for s in range(1 << low):
            if high | s:
                features(theta, n, size_of(high | s), sums[s], pairs[s], one)
                for c in range(out.shape[0]):
                    out[c, (high | s) & (out.shape[1] - 1)] = one[c]


def tabulate(model: FeatureModel, kernel: Any, workers: Workers, out: Floats) -> None:
    """Run a kernel of blocks, such as those below, on all 2^n clusters: the last axis of `out`."""
    low = min(BLOCK, model.n_leaves)
    fixed = (model.theta, model.additive, model.pairwise, model.n_features, low)
    work = np.full(out.shape[-1] >> low, 20.0 * 2**low)
    workers.run(lambda first, last: kernel(*fixed, first, last, out), work)  # a part of it would be of another type


def subset_features(model: FeatureModel) -> Any:
    """The kernel (θ, additive, pairwise, k, low, first, last, out): the features of the clusters of some blocks.

    Those of the blocks first to last of 2^low clusters, which are independent of each other; `out` has k rows, or fewer
    if only the first features are wanted, and a column for each cluster of all blocks, or of one. The empty set is left
    alone.
    """
    return specialise(_subset_features, features=model.features)


def fill_subset_features(model: FeatureModel) -> Any:
    """`subset_features` as a part of another kernel."""
    return specialise_inline(_subset_features, features=model.features)


def _subset_scores(theta, additive, pairwise, k, low, first, last, out):
    # A block's features, then its scores: only these are kept.
    table = np.empty((k, 1 << low))
    for block in range(first, last):
        fill(theta, additive, pairwise, k, low, block, block + 1, table)
        for s in range(0 if block else 1, 1 << low):
            out[(block << low) + s] = score(theta, load(table, s))


def subset_scores(model: FeatureModel) -> Any:
    """The kernel (θ, additive, pairwise, k, low, first, last, out), as above: log ψ of the clusters of some blocks."""
    functions = {"score": model.score, "load": feature_loader(model.n_features), "fill": fill_subset_features(model)}
    return specialise(_subset_scores, **functions)


def _size_features(theta, n, d, p, out):
    for size in range(1, n + 1):
        features(theta, n, size, np.zeros(d), np.zeros(p), out[size])


def size_features(model: FeatureModel) -> Floats:
    """(n + 1, k): the features of a cluster of each size whose sums are all zero; row 0 is zero."""
    n = model.n_leaves
    out = np.zeros((n + 1, model.n_features))
    shape = (model.additive.shape[1], len(model.pairwise))
    specialise(_size_features, features=model.features)(model.theta, n, *shape, out)
    return out


def _feature_log_psi(data, P, L, R):
    return score(data[0], load(data[1], P), load(data[1], L), load(data[1], R))


def feature_log_psi(model: FeatureModel) -> Any:
    """The compiled log_psi((θ, table), P, L, R) of a model; column i of the table holds the features of cluster i."""
    return specialise_inline(_feature_log_psi, score=model.score, load=feature_loader(model.n_features))
