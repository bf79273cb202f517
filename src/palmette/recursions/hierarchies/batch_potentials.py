"""Σ log ψ of one given hierarchy of each of many problems, over the ragged arrays of `batch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, specialise
from palmette.models.features import describe_into, feature_loader
from palmette.models.split_model import SplitModel
from palmette.recursions.hierarchies.batch_tables import largest_of

__all__ = ["potential_kernel"]

describe: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None


@inline
def _are_merges(n, children, used):
    # Whether row i has two nodes below n + i that nobody had before: then all rows are one hierarchy.
    for v in range(2 * n - 1):
        used[v] = 0
    for i in range(n - 1):
        for side in range(2):
            v = children[i, side]
            if v < 0 or v >= n + i or used[v]:
                return False
            used[v] = 1
    return True


@inline
def _join(one, two, matrices, first, last, following, out):
    # Σ w_ij over the leaves of two nodes, and the leaves of both in one list: those of a node follow each other.
    for c in range(matrices.shape[0]):
        x = first[one]
        while x >= 0:
            y = first[two]
            while y >= 0:
                out[c] += matrices[c, x, y]
                y = following[y]
            x = following[x]
    following[last[one]] = first[two]
    return first[one], last[two]


def _score_problems(theta, offsets, additive, pair_offsets, pairwise, p, k, children, first, last, out):
    largest = largest_of(offsets, offsets[-1], first, last)
    d = additive.shape[1]
    sums, pairs, one = np.empty((2 * largest, d)), np.empty((2 * largest, p)), np.empty(k)
    table = np.empty((k, 2 * largest))
    size, used = np.empty(2 * largest, np.int64), np.empty(2 * largest, np.uint8)
    begin, end = np.empty(2 * largest, np.int64), np.empty(2 * largest, np.int64)
    following = np.empty(largest, np.int64)
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        own = theta[i if theta.shape[0] > 1 else 0]
        matrices = pairwise[pair_offsets[i] : pair_offsets[i + 1]].reshape(p, n, n)
        merges = children[offsets[i] - i : offsets[i + 1] - i - 1]
        if not _are_merges(n, merges, used):
            return i
        out[i] = 0.0
        for v in range(2 * n - 1):
            for c in range(p):
                pairs[v, c] = 0.0
            if v < n:
                size[v], begin[v], end[v], following[v] = 1, v, v, -1
                for c in range(d):
                    sums[v, c] = additive[offsets[i] + v, c]
            else:
                a, b = merges[v - n, 0], merges[v - n, 1]
                size[v] = size[a] + size[b]
                for c in range(d):
                    sums[v, c] = sums[a, c] + sums[b, c]
                for c in range(p):
                    pairs[v, c] = pairs[a, c] + pairs[b, c]
                begin[v], end[v] = _join(a, b, matrices, begin, end, following, pairs[v])
            describe(own, n, size[v], sums[v], pairs[v], one, table, v)
            if v >= n:
                out[i] += score(own, load(table, v), load(table, a), load(table, b))
    return -1


def potential_kernel(model: SplitModel) -> Any:
    """The kernel (θ, offsets, additive, pair_offsets, pairwise, p, k, children, first, last, out) for a model.

    out[i] = Σ log ψ of the hierarchy whose merges are the n_i − 1 rows of `children` from offsets[i] − i on, for the
    problems first … last − 1. Returns the number of the first whose rows are no merges, or −1; those after it are left
    alone.
    """
    functions = {"describe": describe_into(model), "score": model.score, "load": feature_loader(model.n_features)}
    return specialise(_score_problems, **functions)
