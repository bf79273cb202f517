"""Where two leaves part, averaged over many hierarchies."""

from __future__ import annotations

import itertools

import numpy as np

from palmette._jit import step
from palmette.array_types import Floats, Indices
from palmette.sampling.diagnostics import batch_edges
from palmette.sampling.estimates import Estimates

__all__ = ["expected_lca"]


@step
def _add_lca(parents, first, last, by_depth, following, head, tail, size, depth, out):
    # Adds the size, or the depth, of the smallest common cluster of every pair, for some rows of parents. The leaves of
    # a cluster are a chain, from its head to its tail.
    n = (parents.shape[1] + 1) // 2
    for t in range(first, last):
        for v in range(n):
            size[v], head[v], tail[v], following[v] = 1, v, v, -1
        for v in range(n, 2 * n - 1):
            size[v] = 0
        depth[2 * n - 2] = 0
        for i in range(1, 2 * n - 1):
            v = 2 * n - 2 - i
            depth[v] = depth[parents[t, v]] + 1
        for v in range(2 * n - 2):
            up = parents[t, v]
            if size[up] == 0:  # its first child
                size[up], head[up], tail[up] = size[v], head[v], tail[v]
                continue
            value = depth[up] if by_depth else size[up] + size[v]
            i = head[up]
            while i >= 0:
                j = head[v]
                while j >= 0:
                    out[i, j] += value
                    out[j, i] += value
                    j = following[j]
                i = following[i]
            following[tail[up]] = head[v]
            tail[up] = tail[v]
            size[up] += size[v]
        for i in range(n):
            out[i, i] += depth[i] if by_depth else 1


def expected_lca(rows: Indices, *, depth: bool) -> Estimates:
    """(n, n) means over (chains, draws, 2n − 1) parents: the size, or the depth, of the smallest common cluster."""
    n_chains, n_draws, m = rows.shape
    n = (m + 1) // 2
    ints = [np.empty(k, dtype=np.int64) for k in (n, m, m, m, m)]
    edges = batch_edges(n_draws)
    total, squares = np.zeros((n, n)), np.zeros((n, n))
    for chain in rows:
        for first, last in itertools.pairwise(edges):
            out = np.zeros((n, n))
            _add_lca(chain, first, last, depth, *ints, out)
            out /= last - first
            total += out
            squares += out**2
    count = n_chains * (len(edges) - 1)
    mean: Floats = total / count
    variance = np.maximum(squares / count - mean**2, 0.0)
    return Estimates(mean, np.sqrt(variance / max(1, count - 1)))
