"""Exact draws of hierarchies from the full trellis: draws that stand at one cluster go together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from palmette.array_types import Floats, Ints, Masks
from palmette.passes.hierarchies.blocks import SplitBlocks
from palmette.passes.hierarchies.tables import SplitTables
from palmette.recursions.hierarchies.draws import choose_numbers, draw_splits

__all__ = ["draw_masks"]


def draw_masks(tables: SplitTables | SplitBlocks, Z: Floats, size: int, seed: int) -> tuple[Masks, Floats]:
    """(size, n − 1) increasing masks of the clusters of two leaves or more of each draw; (size,) log potentials."""
    n = tables.clusters.n
    log_potential = np.zeros(size)
    pending: list[list[tuple[Masks, Ints]]] = [[] for _ in range(n + 1)]
    if n > 1:
        pending[n].append((np.full(size, (1 << n) - 1, np.uint32), np.arange(size)))
    visited = []
    with tables.clusters.workers("drawing hierarchies", size * n) as workers:
        for k in range(n, 1, -1):
            if not pending[k]:
                continue
            cluster = np.concatenate([part[0] for part in pending[k]])
            draw = np.concatenate([part[1] for part in pending[k]])
            numbers = np.empty(len(draw))
            choose_numbers(np.uint64(seed), cluster, draw, numbers)
            order = np.lexsort((numbers, cluster))
            cluster, draw, numbers = cluster[order], draw[order], numbers[order]
            visited.append((cluster, draw))
            clusters, starts = np.unique(cluster, return_index=True)
            starts = np.append(starts, len(cluster))
            left, gain = np.empty_like(cluster), np.empty(len(cluster))
            work = 4.0 * 2.0 ** (k - 1) + 50.0 * np.diff(starts)
            first = 0
            for count, data in tables.pieces(clusters):
                call = _from(first, partial(draw_splits, data, Z, clusters, starts, numbers, left, gain))
                workers.run(call, work[first : first + count])
                first += count
            log_potential += np.bincount(draw, gain, minlength=size)
            for part in (left, cluster ^ left):
                sizes = np.bitwise_count(part)
                for s in np.unique(sizes[sizes >= 2]):
                    pending[s].append((part[sizes == s], draw[sizes == s]))
    return _by_draw(visited, size, n), log_potential


def _from(first: int, call: Callable[[int, int], None]) -> Callable[[int, int], None]:
    return lambda a, b: call(first + a, first + b)


def _by_draw(visited: list[tuple[Masks, Ints]], size: int, n: int) -> Masks:
    if n < 2 or size == 0:
        return np.empty((size, n - 1), np.uint32)
    cluster = np.concatenate([part[0] for part in visited])
    draw = np.concatenate([part[1] for part in visited])
    return cluster[np.lexsort((cluster, draw))].reshape(size, n - 1)
