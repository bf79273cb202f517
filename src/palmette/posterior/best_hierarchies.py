"""The k best hierarchies, lazily and exactly.

D(P, 0) ≥ D(P, 1) ≥ … are the log potentials of the hierarchies over P in falling order. Each is

    log ψ(L, R) + D(L, i) + D(R, j)

for a split and two ranks; whoever takes (i, j) makes (i + 1, j) and (i, j + 1) candidates (Huang & Chiang 2005,
algorithm 3). D(P, 0) is known, and only clusters that some answer visits are ever opened.
"""

from __future__ import annotations

import heapq
from collections.abc import Generator, Iterator
from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.passes.hierarchies import HierarchyPasses
from palmette.posterior.tables import largest

__all__ = ["BestHierarchies"]


class _Opened:
    """A cluster whose splits are sorted by their best value, with the candidates for its next hierarchy."""

    def __init__(self, left: list[int], right: list[int], log_psi: list[float]) -> None:
        self.left = left
        self.right = right
        self.log_psi = log_psi
        self.found: list[tuple[float, int, int, int]] = []  # value, split, rank in L, rank in R
        self.candidates: list[tuple[float, int, int, int]] = []
        self.seen: set[tuple[int, int, int]] = set()


#: A computation that may ask for the value of (cluster, rank): it yields that, and is sent the value.
_Asking = Generator[tuple[int, int], float, Any]


class BestHierarchies:
    """The hierarchies of a trellis by falling log potential, at most `limit` of them; ties: lowest left part first."""

    def __init__(self, passes: HierarchyPasses, M: Floats, limit: int) -> None:
        self._passes = passes
        self._M = M
        self._limit = limit
        self._opened: dict[int, _Opened] = {}

    def __iter__(self) -> Iterator[tuple[float, list[int]]]:
        """Pairs of a log potential and the masks of the clusters of two leaves or more."""
        root = self._passes.root
        for rank in range(self._limit):
            value = self._value(root, rank)
            if value == -np.inf:
                return
            yield value, self._masks(root, rank)

    def _value(self, cluster: int, rank: int) -> float:
        # A stack of its own: hierarchies may be deeper than Python's.
        stack: list[_Asking] = [self._ask(cluster, rank)]
        answer: float | None = None
        while stack:
            try:
                wanted = stack[-1].send(answer)  # type: ignore[arg-type]
                stack.append(self._ask(*wanted))
                answer = None
            except StopIteration as done:
                answer = done.value
                stack.pop()
        assert answer is not None
        return answer

    def _ask(self, cluster: int, rank: int) -> _Asking:
        if rank == 0 or self._M[cluster] == -np.inf:
            return float(self._M[cluster])
        if self._passes.sizes[cluster] == 1:
            return -np.inf
        node = self._opened.get(cluster) or self._open(cluster)
        if not node.seen:
            yield from self._push(node, 0, 0, 0)
        while len(node.found) <= rank:
            if not node.candidates:
                return -np.inf
            negative, split, i, j = heapq.heappop(node.candidates)
            node.found.append((-negative, split, i, j))
            yield from self._push(node, split, i + 1, j)
            yield from self._push(node, split, i, j + 1)
            if i == j == 0:  # splits are sorted by their best value, so the next one could not come earlier
                yield from self._push(node, split + 1, 0, 0)
        return node.found[rank][0]

    def _open(self, cluster: int) -> _Opened:
        left, right, values = self._passes.splits(cluster, self._M)
        keep = largest(values, self._limit)  # the k best hierarchies use only the k splits with the best of their own
        left, right = left[keep], right[keep]
        log_psi = values[keep] - (self._M[left] + self._M[right])
        node = self._opened[cluster] = _Opened(left.tolist(), right.tolist(), log_psi.tolist())
        return node

    def _push(self, node: _Opened, split: int, i: int, j: int) -> _Asking:
        if split >= len(node.left) or (split, i, j) in node.seen:
            return
        node.seen.add((split, i, j))
        one = yield node.left[split], i
        two = yield node.right[split], j
        value = node.log_psi[split] + (one + two)
        if value > -np.inf:
            heapq.heappush(node.candidates, (-value, split, i, j))

    def _masks(self, cluster: int, rank: int) -> list[int]:
        masks: list[int] = []
        stack = [(cluster, rank)]
        while stack:
            cluster, rank = stack.pop()
            if self._passes.sizes[cluster] == 1:
                continue
            masks.append(self._passes.mask_of(cluster))
            node = self._opened.get(cluster) or self._open(cluster)
            split, i, j = node.found[rank][1:] if node.found else (0, 0, 0)
            stack += [(node.left[split], i), (node.right[split], j)]
        return masks
