"""A model on all clusters, as kernels take it: log ψ, what it reads, and which clusters may occur."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import is_ours
from palmette.array_types import Floats, Masks
from palmette.clusters import cluster_members
from palmette.labels import describe_cluster
from palmette.models.c_functions import TILE, SplitTable
from palmette.models.full_tables import Potentials, Separable
from palmette.models.split_model import HierarchyModel, MaskList
from palmette.passes.all_clusters import AllClusters
from palmette.recursions.hierarchies.inside import log_psi_of_splits, solve
from palmette.recursions.hierarchies.tiles import NOTHING_KNOWN
from palmette.threads import Workers

__all__ = ["SplitTables", "tabulate_potentials"]


class SplitTables(NamedTuple):
    """All clusters, log ψ of their splits, and flags of those that may occur (none: all may)."""

    clusters: AllClusters
    potentials: Potentials
    allowed: npt.NDArray[np.uint8]

    @property
    def data(self) -> SplitTable:
        """log ψ of all splits, as kernels take it."""
        return self.potentials.data

    @property
    def separable(self) -> Separable:
        """The tables of a separable model."""
        assert self.potentials.separable is not None
        return self.potentials.separable

    def run(self, workers: Workers, kernel: Any, masks: Masks, work: float, *tables: Any) -> None:
        """kernel(data, allowed, masks, *tables) on slices of the masks, each of which costs `work`."""
        data = self.data

        def call(first: int, last: int) -> None:
            kernel(data, self.allowed, masks[first:last], *tables)

        workers.run(call, np.full(len(masks), work))

    def pieces(self, parents: Masks) -> Iterator[tuple[int, SplitTable]]:
        """How many of these clusters come next, and log ψ of their splits: all of them, and the tables."""
        yield len(parents), self.data

    def log_psi_of(self, left: MaskList, right: MaskList) -> Floats:
        """log ψ of the splits into these pairs of clusters, given as masks."""
        one, two = np.asarray(left, dtype=np.uint64), np.asarray(right, dtype=np.uint64)
        out = np.empty(len(one))
        log_psi_of_splits(self.data, one | two, one, out)
        return out

    def solve(self, n: int) -> tuple[Floats, Floats]:
        """log Z and log M of all clusters of the n lowest leaves, in one compiled call."""
        Z, M = np.empty(1 << n), np.empty(1 << n)
        room = np.empty(TILE, np.uint64), np.empty(TILE)
        solve(self.data, NOTHING_KNOWN, self.allowed, n, Z, M, *room)
        return Z, M


def tabulate_potentials(model: HierarchyModel, clusters: AllClusters) -> Potentials:
    """The tables of `model` for all clusters; ValueError if a score of a person's own is no score, on some splits."""
    with clusters.workers("tabulating clusters", 20.0 * 2**clusters.n) as workers:
        potentials = model.tabulate_splits(workers)
    if not is_ours(potentials.score):
        _try_out(model, potentials)
    return potentials


def _try_out(model: HierarchyModel, potentials: Potentials) -> None:
    # A score must not be NaN or +inf, and has to be symmetric: the passes hand it the parts of a split in either order.
    n = model.n_leaves
    rng = np.random.default_rng(0)
    parent, choice = rng.integers(1, 1 << n, (2, 64), dtype=np.uint64)
    left = parent & choice
    proper = (left != 0) & (left != parent)
    parent, left = parent[proper], left[proper]
    one, two = np.empty(len(left)), np.empty(len(left))
    log_psi_of_splits(potentials.data, parent, left, one)
    log_psi_of_splits(potentials.data, parent, parent ^ left, two)
    bad = np.flatnonzero(~(one < np.inf) | ~np.isclose(one, two, rtol=1e-9, atol=1e-9))
    if len(bad):
        i = bad[0]
        sides = " and ".join(describe_cluster(cluster_members(int(m[i])), model.labels) for m in (left, parent ^ left))
        what = f"the split into {sides}"
        name = f"{type(model).__name__}.score"
        if not one[i] < np.inf:
            raise ValueError(f"{name} returned {one[i]} for {what}; a log potential is finite or -inf")
        raise ValueError(
            f"{name} is not symmetric: {what} has log potential {one[i]:g} one way round and {two[i]:g} the other; "
            "a split is an unordered pair"
        )
