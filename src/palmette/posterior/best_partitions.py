"""The k best partitions, lazily and exactly: a partition is a path of choices, and the best way on is known everywhere.

A partial path stands before a choice in some state. Its value is what it has collected, plus the log potential of the
choice, plus the largest that can still follow, so the best of all partial paths is on the way to the best partition
that has not come yet. Taking it out puts back two: the next best choice in the same state, and the best one in the next
state. A state's choices are sorted when it is first visited.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import Any, NamedTuple

from palmette.array_types import Floats
from palmette.passes.partitions import PartitionPasses
from palmette.posterior.tables import largest

__all__ = ["BestPartitions"]


class _Opened(NamedTuple):
    # The choices in one state by falling value: clusters, next states, log ψ, and the best that can be had with each.
    clusters: list[int]
    rest: list[int]
    log_psi: list[float]
    values: list[float]


class BestPartitions:
    """The partitions of a trellis by falling log potential, at most `limit` of them."""

    def __init__(self, passes: PartitionPasses, M: Floats, limit: int) -> None:
        self._passes = passes
        self._M = M
        self._limit = limit
        self._opened: dict[int, _Opened] = {}

    def __iter__(self) -> Iterator[tuple[float, list[int]]]:
        """Pairs of a log potential and the clusters of a partition."""
        heap: list[tuple[float, int, int, int, float, Any]] = []
        order = 0  # of equal ones the first to come stays first
        found = 0

        def push(state: int, choice: int, collected: float, taken: Any) -> None:
            nonlocal order
            values = self._open(state).values
            if choice < len(values):
                order += 1
                heapq.heappush(heap, (-(collected + values[choice]), order, state, choice, collected, taken))

        push(self._passes.start, 0, 0.0, None)
        while heap and found < self._limit:
            negative, _, state, choice, collected, taken = heapq.heappop(heap)
            node = self._opened[state]
            push(state, choice + 1, collected, taken)
            taken = (node.clusters[choice], taken)
            if node.rest[choice] == self._passes.end:
                found += 1
                yield -negative, _unlinked(taken)
            else:
                push(node.rest[choice], 0, collected + node.log_psi[choice], taken)

    def _open(self, state: int) -> _Opened:
        if state not in self._opened:
            clusters, rest, values = self._passes.choices(state, self._M)
            keep = largest(values, self._limit)  # the k best partitions use only the k best choices
            columns = (clusters, rest, self._passes.log_psi[clusters], values)
            self._opened[state] = _Opened(*(column[keep].tolist() for column in columns))
        return self._opened[state]


def _unlinked(taken: Any) -> list[int]:
    clusters = []
    while taken is not None:
        cluster, taken = taken
        clusters.append(cluster)
    return clusters
