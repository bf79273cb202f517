"""All 2^n clusters of n leaves: their sizes, and the memory and threads for passes over them."""

from __future__ import annotations

import math
from collections.abc import Iterable
from functools import cached_property

import numpy as np
import numpy.typing as npt

from palmette.array_types import Masks
from palmette.clusters import cluster_sizes, mask_of_leaves
from palmette.errors import TrellisTooLarge
from palmette.passes.resources import Resources, amount
from palmette.progress import Progress
from palmette.threads import Workers

__all__ = ["SERIAL", "AllClusters"]

MOST_LEAVES = 30  # masks are listed as 32-bit integers
SERIAL = 12  # up to here one compiled call does everything: threads would cost more than they give


class AllClusters:
    """All 2^n clusters of n leaves, named by their masks; `beyond` says what there is for more leaves."""

    def __init__(self, n: int, beyond: str, resources: Resources | None) -> None:
        self.n = n
        self.resources = Resources() if resources is None else resources
        self._beyond = beyond

    def require_bytes(self, n_bytes: int) -> None:
        """Raise `TrellisTooLarge` unless `n_bytes` may be used."""
        what = f"the full trellis over n = {self.n} leaves"
        self.resources.require(what, n_bytes, f"Raise max_memory or take fewer leaves; beyond, {self._beyond}")
        if self.n > MOST_LEAVES:
            reason = f"at most {MOST_LEAVES} leaves are possible"
            raise TrellisTooLarge(f"{what} needs {amount(n_bytes)}; {reason}. Take fewer; beyond, {self._beyond}")

    @cached_property
    def sizes(self) -> npt.NDArray[np.uint8]:
        """The size of every cluster, by mask."""
        return cluster_sizes(self.n)

    def shared(self, leaves: Iterable[int]) -> npt.NDArray[np.uint8]:
        """(2^n,): how many of these leaves each cluster holds."""
        masks = np.arange(1 << self.n, dtype=np.uint32)
        return np.asarray(np.bitwise_count(masks & np.uint32(mask_of_leaves(leaves))))

    def of_size(self, k: int) -> Masks:
        """The masks of k leaves, increasing; a view."""
        first = sum(math.comb(self.n, j) for j in range(k))
        return self._by_size[first : first + math.comb(self.n, k)]

    @cached_property
    def _by_size(self) -> Masks:
        return np.argsort(self.sizes, kind="stable").astype(np.uint32)

    def progress(self, title: str, total: float) -> Progress:
        """A progress bar that counts up to `total`."""
        return self.resources.progress(f"{title}, n = {self.n}", total)

    def workers(self, title: str, total: float) -> Workers:
        """Threads for one pass, with a progress bar that counts up to `total`."""
        return self.resources.workers(f"{title}, n = {self.n}", total)
