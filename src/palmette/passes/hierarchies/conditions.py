"""Clusters that must, or must not, occur in a hierarchy: which clusters that leaves possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import numpy.typing as npt

from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.labels import describe_cluster, leaf_index, leaf_numbers

__all__ = ["HierarchyConditions"]

Leaves = frozenset[int]


class HierarchyConditions:
    """Required and forbidden clusters over labelled leaves.

    A cluster is possible if it is not forbidden and crosses no required one. A binary hierarchy made of such clusters
    only contains every required one, since a cluster that is absent is crossed by some cluster that is present.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        required: frozenset[Leaves] = frozenset(),
        forbidden: frozenset[Leaves] = frozenset(),
    ) -> None:
        self._labels = labels
        self.required = required
        self.forbidden = forbidden

    def and_also(self, require: Iterable[Cluster], forbid: Iterable[Cluster]) -> HierarchyConditions:
        """These conditions and more; `ImpossibleData` if no hierarchy can meet them."""
        required = self.required | {self._leaves(cluster) for cluster in require}
        forbidden = self.forbidden | {self._leaves(cluster) for cluster in forbid}
        for leaves in sorted(forbidden, key=sorted):
            if leaves in required:
                raise ImpossibleData(f"the cluster {self._name(leaves)} is both required and forbidden")
            if len(leaves) in (1, len(self._labels)):
                raise ImpossibleData(
                    f"the cluster {self._name(leaves)} occurs in every hierarchy; it cannot be forbidden"
                )
        for one, other in combinations(sorted(required, key=sorted), 2):
            if len(one & other) not in (0, len(one), len(other)):
                raise ImpossibleData(
                    f"the required clusters {self._name(one)} and {self._name(other)} overlap; no hierarchy holds both"
                )
        return HierarchyConditions(self._labels, frozenset(required), frozenset(forbidden))

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)

    def allowed(
        self, sizes: npt.NDArray[np.integer], shared: Callable[[Leaves], npt.NDArray[np.integer]]
    ) -> npt.NDArray[np.bool_]:
        """Flags of the possible clusters, given their sizes and how many leaves each shares with a given one."""
        possible = np.ones(len(sizes), dtype=bool)
        for leaves in self.required:
            common = shared(leaves)
            possible &= (common == 0) | (common == len(leaves)) | (common == sizes)
        for leaves in self.forbidden:
            possible &= (shared(leaves) != len(leaves)) | (sizes != len(leaves))
        return possible

    def admit(self, hierarchy: Hierarchy) -> bool:
        """Whether a hierarchy on these labels, in this order, meets the conditions."""
        return not self or self.admit_clusters(hierarchy.clusters())

    def admit_clusters(self, clusters: list[Leaves]) -> bool:
        """Whether all of these clusters are possible."""
        sizes = np.array([len(cluster) for cluster in clusters])
        return bool(self.allowed(sizes, lambda leaves: np.array([len(leaves & c) for c in clusters])).all())

    def phrase(self) -> str:
        """`` given 2 required and 1 forbidden clusters``, or nothing."""
        if not self:
            return ""
        return f" given {len(self.required)} required and {len(self.forbidden)} forbidden clusters"

    def _leaves(self, cluster: Cluster) -> Leaves:
        leaves = leaf_numbers(cluster, leaf_index(self._labels))
        if not leaves:
            raise ValueError("the cluster is empty; a cluster holds at least one leaf")
        return leaves

    def _name(self, leaves: Leaves) -> str:
        return describe_cluster(leaves, self._labels)
