"""Exact draws of partitions from the full trellis: draws that have the same set left go together."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.recursions.partitions.draws import draw_clusters, renumber

if TYPE_CHECKING:
    from palmette.passes.partitions.full import FullPartitionPasses

__all__ = ["draw_memberships"]


def draw_memberships(
    trellis: FullPartitionPasses, Z: Floats, size: int, seed: int
) -> tuple[npt.NDArray[np.uint8], Floats]:
    """(size, n) memberships of each draw, numbered by first appearance; (size,) log potentials."""
    memberships = np.zeros((size, trellis.n), dtype=np.uint8)
    log_potential = np.zeros(size)
    draws = np.arange(size)
    left = np.full(size, (1 << trellis.n) - 1, dtype=np.uint32)
    with trellis.workers("drawing partitions", size * trellis.n) as workers:
        for number in range(trellis.n):
            draws, left = draws[left > 0], left[left > 0]
            if len(draws) == 0:
                break
            order = np.lexsort((draws, left))
            draws, left = draws[order], left[order]
            sets, starts = np.unique(left, return_index=True)
            starts = np.append(starts, len(left))
            totals = trellis.totals(Z, sets, number)
            work = 4.0 * np.exp2(np.bitwise_count(sets), dtype=np.float64) + 50.0 * np.diff(starts)
            fixed = (trellis.log_psi, trellis.rest(Z, number), totals, np.uint64(seed), sets, starts, draws, number)
            chosen = np.empty_like(left)
            workers.run(partial(draw_clusters, *fixed, chosen, memberships, log_potential), work)
            left = left ^ chosen
    renumber(memberships)
    return memberships, log_potential
