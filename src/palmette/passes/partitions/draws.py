"""Exact draws of partitions from the full trellis: draws that have the same set left go together."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Masks
from palmette.passes.all_clusters import AllClusters
from palmette.recursions.partitions.draws import draw_clusters, renumber

__all__ = ["draw_memberships"]


def draw_memberships(
    clusters: AllClusters,
    log_psi: Floats,
    totals: Callable[[Masks, int], Floats],
    rest: Callable[[int], Floats],
    size: int,
    seed: int,
) -> tuple[npt.NDArray[np.uint8], Floats]:
    """(size, n) memberships of each draw, numbered by first appearance; (size,) log potentials.

    When k clusters have been taken, totals(sets, k) is log Z of the sets that are left, and rest(k) the table of log Z
    of what is left after one more.
    """
    n = clusters.n
    memberships = np.zeros((size, n), dtype=np.uint8)
    log_potential = np.zeros(size)
    draws = np.arange(size)
    left = np.full(size, (1 << n) - 1, dtype=np.uint32)
    with clusters.workers("drawing partitions", size * n) as workers:
        for number in range(n):
            draws, left = draws[left > 0], left[left > 0]
            if len(draws) == 0:
                break
            order = np.lexsort((draws, left))
            draws, left = draws[order], left[order]
            sets, starts = np.unique(left, return_index=True)
            starts = np.append(starts, len(left))
            work = 4.0 * np.exp2(np.bitwise_count(sets), dtype=np.float64) + 50.0 * np.diff(starts)
            fixed = (log_psi, rest(number), totals(sets, number), np.uint64(seed), sets, starts, draws, number)
            chosen = np.empty_like(left)
            workers.run(partial(draw_clusters, *fixed, chosen, memberships, log_potential), work)
            left = left ^ chosen
    renumber(memberships)
    return memberships, log_potential
