"""The features of many clusters at once: every subset of the leaves, or every node of one hierarchy."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, specialise
from palmette.clusters import size_of
from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    from palmette.models.base import SplitModel

__all__ = ["feature_loader", "hierarchy_log_potential", "size_features", "subset_features"]

Floats = npt.NDArray[np.float64]

features: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None

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


def feature_loader(n_features: int) -> Any:
    """The compiled function (table, i) → the k features of cluster i as a tuple, which LLVM keeps in registers."""
    if not 1 <= n_features <= len(_LOADERS):
        raise ValueError(f"n_features is {n_features}; a model has between 1 and {len(_LOADERS)} features")
    return _LOADERS[n_features - 1]


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
                    out[c, high | s] = one[c]


def subset_features(model: SplitModel) -> Any:
    """The kernel (θ, additive, pairwise, k, low, first, last, out): out[:, S] = the features of cluster S.

    For the blocks first to last of 2^low clusters, which are independent of each other; `out` is (k, 2^n), or has
    fewer rows if only the first features are wanted. Column 0, the empty set, is left alone.
    """
    return specialise(_subset_features, features=model.features)


def _size_features(theta, n, d, p, out):
    for size in range(1, n + 1):
        features(theta, n, size, np.zeros(d), np.zeros(p), out[size])


def size_features(model: SplitModel) -> Floats:
    """(n + 1, k): the features of a cluster of each size whose sums are all zero; row 0 is zero."""
    n = model.n_leaves
    out = np.zeros((n + 1, model.n_features))
    shape = (model.additive.shape[1], len(model.pairwise))
    specialise(_size_features, features=model.features)(model.theta, n, *shape, out)
    return out


@inline
def _node_statistics(additive, pairwise, children, order, intervals):
    n, d = additive.shape
    sums = np.zeros((2 * n - 1, d))
    pairs = np.zeros((2 * n - 1, pairwise.shape[0]))
    sums[:n] = additive
    for i in range(children.shape[0]):
        left, right = children[i]
        sums[n + i] = sums[left] + sums[right]
        pairs[n + i] = pairs[left] + pairs[right]
        for c in range(pairwise.shape[0]):
            for x in range(intervals[left, 0], intervals[left, 1]):
                for y in range(intervals[right, 0], intervals[right, 1]):
                    pairs[n + i, c] += pairwise[c, order[x], order[y]]
    return sums, pairs


def _log_potential(theta, additive, pairwise, children, order, intervals, k):
    n = additive.shape[0]
    sums, pairs = _node_statistics(additive, pairwise, children, order, intervals)
    table = np.empty((k, 2 * n - 1))
    one = np.empty(k)
    for v in range(2 * n - 1):
        features(theta, n, intervals[v, 1] - intervals[v, 0], sums[v], pairs[v], one)
        table[:, v] = one
    total = 0.0
    for i in range(children.shape[0]):
        left, right = children[i]
        total += score(theta, load(table, n + i), load(table, left), load(table, right))
    return total


def hierarchy_log_potential(model: SplitModel, hierarchy: Hierarchy) -> float:
    """Σ score over the splits of a binary hierarchy whose leaf i is the model's; O(n²) for pair sums, else O(n)."""
    evaluate = specialise(
        _log_potential, features=model.features, score=model.score, load=feature_loader(model.n_features)
    )
    children = np.ascontiguousarray(hierarchy.children, dtype=np.int64)
    order = np.ascontiguousarray(hierarchy.leaf_order, dtype=np.int64)
    intervals = np.ascontiguousarray(hierarchy.intervals, dtype=np.int64)
    args = (model.theta, model.additive, model.pairwise, children, order, intervals, model.n_features)
    return float(evaluate(*args))
