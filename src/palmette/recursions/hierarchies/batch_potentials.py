"""Σ log ψ of one given hierarchy of each of many problems, over the ragged arrays of `batch`."""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel
from palmette.models.c_functions import fill_features, score_splits
from palmette.recursions.hierarchies.batch_tables import largest_of, matrices_of, theta_of

__all__ = ["score_problems"]


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


@kernel
def score_problems(addresses, theta, offsets, additive, pair_offsets, pairwise, p, k, children, first, last, out):
    """Σ log ψ of one hierarchy of each of the problems first … last − 1, by the addresses of `features` and `splits`.

    The merges of problem i are the n_i − 1 rows of `children` from offsets[i] − i on. Returns the number of the first
    problem whose rows are no merges, or −1; those after it are left alone.
    """
    largest = largest_of(offsets, offsets[-1], first, last)
    d = additive.shape[1]
    sums, pairs, table = np.empty((2 * largest, d)), np.empty((2 * largest, p)), np.empty((2 * largest, k))
    size, used = np.empty(2 * largest, np.int64), np.empty(2 * largest, np.uint8)
    begin, end = np.empty(2 * largest, np.int64), np.empty(2 * largest, np.int64)
    following, log_psi = np.empty(largest, np.int64), np.empty(largest)
    parents, lefts, rights = np.empty(largest, np.int64), np.empty(largest, np.int64), np.empty(largest, np.int64)
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        own, matrices = theta_of(theta, i), matrices_of(pair_offsets, pairwise, p, n, i)
        merges = children[offsets[i] - i : offsets[i + 1] - i - 1]
        if not _are_merges(n, merges, used):
            return i
        for v in range(2 * n - 1):
            for c in range(p):
                pairs[v, c] = 0.0
            if v < n:
                size[v], begin[v], end[v], following[v] = 1, v, v, -1
                for c in range(d):
                    sums[v, c] = additive[offsets[i] + v, c]
            else:
                a, b = merges[v - n, 0], merges[v - n, 1]
                parents[v - n], lefts[v - n], rights[v - n] = v, a, b
                size[v] = size[a] + size[b]
                for c in range(d):
                    sums[v, c] = sums[a, c] + sums[b, c]
                for c in range(p):
                    pairs[v, c] = pairs[a, c] + pairs[b, c]
                begin[v], end[v] = _join(a, b, matrices, begin, end, following, pairs[v])
        fill_features(addresses[0], own, n, size, sums, pairs, table, 0, 2 * n - 1)
        score_splits(addresses[1], own, table, parents, lefts, rights, n - 1, log_psi)
        out[i] = 0.0
        for j in range(n - 1):
            out[i] += log_psi[j]
    return -1
