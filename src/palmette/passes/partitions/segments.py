"""Sums and maxima for every set of a range, over the clusters that can be taken first.

Kernels: `recursions.partitions.segments`, and those in log space of `recursions.partitions.full`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.passes.all_clusters import SERIAL, AllClusters
from palmette.recursions.partitions import segments
from palmette.recursions.partitions.full import max_sets, sum_sets
from palmette.recursions.segments import MIDDLE, SEGMENT, SEGMENT_LEAVES
from palmette.threads import Workers

__all__ = ["SegmentPasses", "nothing_left"]


class SegmentPasses:
    """Tables of logarithms over sets of leaves, by mask: `rest` is what is known, `out` what is computed.

    `blocks` are groups of leaves, as masks, of which a cluster holds all or none.
    """

    def __init__(self, clusters: AllClusters, log_psi: Floats, blocks: list[int]) -> None:
        self._clusters, self._sizes, self._n = clusters, clusters.sizes, clusters.n
        self._log_psi = log_psi
        self._blocks = blocks

    @property
    def n_first(self) -> int:
        """The sets below this one are done by one serial call, those from here on in segments."""
        return 1 << (self._n if self._n <= SERIAL else SEGMENT_LEAVES)

    def sums(self) -> tuple[Floats, int]:
        """log Z of every set, into any number of clusters, and how many sums left the safe range; see `sum_range`."""
        Z, n_unsafe = nothing_left(1 << self._n), 0
        self.sum_first(Z, Z)
        with self._clusters.workers("summing partitions", 0.5 * 3.0**self._n) as workers:
            first = self.n_first
            while first < len(Z):  # sets with the same highest leaf need only sets with a lower one
                n_unsafe += self.sum_range(workers, Z[:first], Z[: 2 * first], first)
                first *= 2
        return Z, n_unsafe

    def sum_first(self, rest: Floats, out: Floats) -> None:
        """out[S] = log Σ exp(log ψ(C) + rest[S ∖ C]) for 1 ≤ S < n_first; `rest` may be `out`."""
        sum_sets(self._log_psi, rest, np.arange(1, min(self.n_first, len(out)), dtype=np.uint32), out)

    def max_first(self, rest: Floats, out: Floats) -> None:
        """out[S] = max log ψ(C) + rest[S ∖ C] for 1 ≤ S < n_first; `rest` may be `out`."""
        max_sets(self._log_psi, rest, np.arange(1, min(self.n_first, len(out)), dtype=np.uint32), out)

    def sum_range(self, workers: Workers, rest: Floats, out: Floats, first: int, least_size: int = 1) -> int:
        """out[S] = log Σ exp(log ψ(C) + rest[S ∖ C]) for n_first ≤ first ≤ S < len(out).

        Sets of fewer leaves than `least_size` are known to have none. Returns how many left the safe range and went to
        the kernel in log space.
        """
        steepest = max(self._slope(workers, self._log_psi[: len(out)]), self._slope(workers, rest))
        slope = steepest if np.isfinite(steepest) else 0.0  # so that no exponential exceeds 1
        G = self._exponentials(workers, self._log_psi[: len(out)], slope)
        Y = self._exponentials(workers, rest, slope)
        self._combine(workers, segments.sum_segments, G, Y, out, first)
        del G, Y
        return self._take_logarithms(workers, slope, rest, out, first, least_size)

    def max_range(self, workers: Workers, rest: Floats, out: Floats, first: int) -> None:
        """out[S] = max log ψ(C) + rest[S ∖ C] for n_first ≤ first ≤ S < len(out)."""
        self._combine(workers, segments.max_segments, self._log_psi, rest, out, first)

    def _combine(self, workers: Workers, combine: Any, clusters: Floats, rest: Floats, out: Floats, first: int) -> None:
        start, stop = first // SEGMENT, len(out) // SEGMENT
        work = 0.5 * 3.0**SEGMENT_LEAVES * np.exp2(np.bitwise_count(np.arange(start, stop)), dtype=np.float64)
        workers.run(lambda i, j: combine(clusters, rest, out, MIDDLE, start + i, start + j), work)

    def _take_logarithms(
        self, workers: Workers, slope: float, rest: Floats, out: Floats, first: int, least_size: int
    ) -> int:
        # Sums that are too small to be trusted are done again, one by one; most of them are of no partition at all.
        sizes, sums = self._sizes[first:], out[first:]
        if sum(_in_slices(workers, len(sums), lambda i, j: segments.finish_segments(sizes, slope, i, j, sums))) == 0:
            return 0
        unsafe = first + np.flatnonzero(np.isnan(sums))
        impossible = self._split_a_block(unsafe) | (self._sizes[unsafe] < least_size)
        out[unsafe[impossible]] = -np.inf
        masks = unsafe[~impossible].astype(np.uint32)
        work = 2.0 * np.exp2(self._sizes[masks], dtype=np.float64)
        workers.run(lambda i, j: sum_sets(self._log_psi, rest, masks[i:j], out), work)
        return len(masks)

    def _split_a_block(self, sets: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        # Leaves that must stay together are all left, or none of them is.
        split = np.zeros(len(sets), dtype=bool)
        for mask in self._blocks:
            split |= ((sets & mask) != 0) & ((sets & mask) != mask)
        return split

    def _slope(self, workers: Workers, values: Floats) -> float:
        slopes = _in_slices(workers, len(values), lambda i, j: segments.largest_slope(self._sizes, values, i, j))
        return float(max(slopes))

    def _exponentials(self, workers: Workers, values: Floats, slope: float) -> Floats:
        out = np.empty(len(values))
        _in_slices(workers, len(values), lambda i, j: segments.tabulate(self._sizes, values, slope, i, j, out))
        return out


def nothing_left(length: int) -> Floats:
    """A table in which the empty set has one partition, without clusters; of the others nothing is known yet."""
    V = np.full(length, -np.inf)
    V[0] = 0.0
    return V


def _in_slices(workers: Workers, length: int, call: Callable[[int, int], Any]) -> list[Any]:
    work = np.full(length // SEGMENT, 2.0 * SEGMENT)
    return workers.run(lambda i, j: call(i * SEGMENT, j * SEGMENT), work)
