"""log ψ of all splits by asking for it, a block of clusters at a time; as much as there is room for is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Floats, Ints, Masks
from palmette.models.c_functions import SplitTable
from palmette.models.full_tables import listed_splits
from palmette.passes.all_clusters import AllClusters
from palmette.recursions.hierarchies.listed import list_left_parts
from palmette.trellis.counting import n_splits

__all__ = ["BLOCK", "ProbableSplits", "SplitBlock", "SplitBlocks"]

BLOCK = 1 << 18  # splits that a model is asked about in one call: far less than there are, and no overhead for each


class SplitBlock(NamedTuple):
    """Clusters of one size, increasing, and log ψ of their splits: a row each, by increasing left part."""

    parents: Masks
    log_psi: Floats

    def parts(self) -> tuple[Ints, Ints]:
        """L and R of every split, in the shape of `log_psi`."""
        left = np.empty(self.log_psi.shape, np.int64)
        list_left_parts(self.parents, left)
        return left, self.parents.astype(np.int64)[:, None] ^ left


class ProbableSplits(NamedTuple):
    """Splits P = L ∪ R that occur: log p(L, R | P), and p = μ(P) p(L, R | P) > 0."""

    parent: Ints
    left: Ints
    right: Ints
    log_share: Floats
    p: Floats


class SplitBlocks:
    """log ψ of the splits of any clusters, of which at most `room` bytes are kept for the next time they are wanted."""

    def __init__(self, log_psi: Callable[[Ints, Ints], Floats], clusters: AllClusters, room: int) -> None:
        self.clusters = clusters
        self._log_psi = log_psi
        self._room = room
        self._kept: dict[tuple[int, int], Floats] = {}

    def over(self, masks: Masks) -> Iterator[SplitBlock]:
        """Block by block, clusters that are all of one size, two leaves or more, and increasing."""
        if len(masks) == 0:
            return
        size = int(masks[0]).bit_count()
        everything = self.clusters.of_size(size)
        # Blocks have fixed places, so that they are found again.
        in_block = max(1, BLOCK // (2 ** (size - 1) - 1))
        block, row = np.divmod(np.searchsorted(everything, masks), in_block)
        for part in np.split(np.arange(len(masks)), np.flatnonzero(np.diff(block)) + 1):
            number = int(block[part[0]])
            n_rows = min(in_block, len(everything) - number * in_block)
            kept = self._kept.get((size, number))
            if kept is None:
                found = self._ask(masks[part], size)
                if len(part) == n_rows and found.nbytes <= self._room:
                    self._kept[size, number] = found
                    self._room -= found.nbytes
            else:
                found = kept if len(part) == n_rows else kept[row[part]]
            yield SplitBlock(masks[part], found)

    def _ask(self, masks: Masks, size: int) -> Floats:
        block = SplitBlock(masks, np.empty((len(masks), 2 ** (size - 1) - 1)))
        left, right = (side.ravel() for side in block.parts())
        out = block.log_psi.ravel()
        for begin in range(0, len(out), BLOCK):  # a large cluster may have more splits than a block
            some = slice(begin, begin + BLOCK)
            out[some] = self._log_psi(left[some], right[some])
        return block.log_psi

    def walk(self, title: str, sizes: range, wanted: Callable[[Masks], Any]) -> Iterator[SplitBlock]:
        """The wanted clusters of one size after the other, in one thread: others would wait for who is asked."""
        bar = self.clusters.progress(title, float(n_splits(self.clusters.n)))
        try:
            for k in sizes:
                masks = self.clusters.of_size(k)
                for block in self.over(masks[wanted(masks)]):
                    yield block
                    bar.advance(block.log_psi.size)
        finally:
            bar.close()

    def downward(self, title: str, weight: Floats) -> Iterator[SplitBlock]:
        """Every cluster of positive weight, the largest first; weights of clusters to come may change on the way."""
        return self.walk(title, range(self.clusters.n, 1, -1), lambda masks: weight[masks] > 0.0)

    def probable(self, Z: Floats, mu: Floats) -> Iterator[ProbableSplits]:
        """All splits that occur, block by block."""
        for block in self.downward("taking an expectation", mu):
            left, right = block.parts()
            parent = np.broadcast_to(block.parents.astype(np.int64)[:, None], left.shape)
            log_share = block.log_psi + (Z[left] + Z[right] - Z[parent])
            p = mu[parent] * np.exp(log_share)
            some = p > 0.0
            yield ProbableSplits(parent[some], left[some], right[some], log_share[some], p[some])

    def pieces(self, parents: Masks) -> Iterator[tuple[int, SplitTable]]:
        """How many of these clusters come next, and log ψ of their splits, as kernels take it."""
        starts = np.empty(1 << self.clusters.n, np.int64)
        for block in self.over(parents):
            starts[block.parents] = block.log_psi.shape[1] * np.arange(len(block.parents))
            yield len(block.parents), listed_splits(starts, block.log_psi.ravel()).data
