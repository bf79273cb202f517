"""The k best hierarchies, lazily and exactly.

D(P, 0) ≥ D(P, 1) ≥ … are the log potentials of the hierarchies over P in falling order. Each is

    log ψ(L, R) + D(L, i) + D(R, j)

for a split and two ranks; whoever takes (i, j) makes (i + 1, j) and (i, j + 1) candidates (Huang & Chiang 2005,
algorithm 3). Only clusters that some answer visits are ever opened.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from palmette.trellis.full import FullTrellis

__all__ = ["LazyBest"]

Floats = npt.NDArray[np.float64]


class _Opened:
    """A cluster whose splits are sorted by their best value, with the candidates for its next hierarchy."""

    def __init__(self, left: list[int], log_psi: list[float]) -> None:
        self.left = left
        self.log_psi = log_psi
        self.found: list[tuple[float, int, int, int]] = []  # value, split, rank in L, rank in R
        self.candidates: list[tuple[float, int, int, int]] = []
        self.seen: set[tuple[int, int, int]] = set()


class LazyBest:
    """The hierarchies of a trellis by falling log potential, at most `limit` of them; ties: lowest left mask first."""

    def __init__(self, trellis: FullTrellis, M: Floats, limit: int) -> None:
        self._trellis = trellis
        self._M = M
        self._limit = limit
        self._opened: dict[int, _Opened] = {}

    def __iter__(self) -> Iterator[tuple[float, list[int]]]:
        """Pairs of a log potential and the masks of the clusters of two leaves or more."""
        root = (1 << self._trellis.n) - 1
        for rank in range(self._limit):
            value = self._value(root, rank)
            if value == -np.inf:
                return
            yield value, self._masks(root, rank)

    def _value(self, mask: int, rank: int) -> float:
        if mask & (mask - 1) == 0:
            return 0.0 if rank == 0 else -np.inf
        if self._M[mask] == -np.inf:
            return -np.inf
        node = self._open(mask)
        while len(node.found) <= rank:
            if not node.candidates:
                return -np.inf
            negative, split, i, j = heapq.heappop(node.candidates)
            node.found.append((-negative, split, i, j))
            self._push(mask, node, split, i + 1, j)
            self._push(mask, node, split, i, j + 1)
            if i == j == 0:  # splits are sorted by their best value, so the next one could not come earlier
                self._push(mask, node, split + 1, 0, 0)
        return node.found[rank][0]

    def _open(self, mask: int) -> _Opened:
        if mask not in self._opened:
            left, values = self._trellis.splits(mask, self._M)
            keep = np.flatnonzero(values >= self._cutoff(values))
            keep = keep[np.argsort(-values[keep], kind="stable")]
            right = np.uint32(mask) ^ left[keep]
            log_psi = values[keep] - (self._M[left[keep]] + self._M[right])
            node = self._opened[mask] = _Opened(left[keep].tolist(), log_psi.tolist())
            self._push(mask, node, 0, 0, 0)
        return self._opened[mask]

    def _cutoff(self, values: Floats) -> float:
        # The k best hierarchies use only the k splits with the best hierarchies of their own.
        finite = values[values > -np.inf]
        if len(finite) <= self._limit:
            return float(finite.min(initial=np.inf))
        return float(np.partition(finite, len(finite) - self._limit)[len(finite) - self._limit])

    def _push(self, mask: int, node: _Opened, split: int, i: int, j: int) -> None:
        if split >= len(node.left) or (split, i, j) in node.seen:
            return
        node.seen.add((split, i, j))
        left = node.left[split]
        value = node.log_psi[split] + (self._value(left, i) + self._value(mask ^ left, j))
        if value > -np.inf:
            heapq.heappush(node.candidates, (-value, split, i, j))

    def _masks(self, mask: int, rank: int) -> list[int]:
        masks: list[int] = []
        stack = [(mask, rank)]
        while stack:
            mask, rank = stack.pop()
            if mask & (mask - 1):
                masks.append(mask)
                node = self._opened[mask]
                _, split, i, j = node.found[rank]
                stack += [(node.left[split], i), (mask ^ node.left[split], j)]
        return masks
