"""What conditions on hierarchies and on partitions share: required and forbidden clusters of labelled leaves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.labels import describe_cluster, leaf_index, leaf_numbers

__all__ = ["Conditions", "Leaves", "Sharing"]

Leaves = frozenset[int]
Sharing = Callable[[Leaves], npt.NDArray[np.integer]]  #: how many leaves each cluster shares with a given one


@dataclass(frozen=True)
class Conditions:
    """Clusters that must, or must not, occur; falsy if there are no conditions."""

    labels: tuple[str, ...] = field(repr=False)
    required: frozenset[Leaves] = frozenset()
    forbidden: frozenset[Leaves] = frozenset()

    @abstractmethod
    def allowed(self, sizes: npt.NDArray[np.integer], shared: Sharing) -> npt.NDArray[np.bool_]:
        """Flags of the possible clusters, given their sizes and how many leaves each shares with a given one."""

    @abstractmethod
    def phrase(self) -> str:
        """The conditions in words, for messages; nothing if there are none."""

    def __bool__(self) -> bool:
        return bool(self.required or self.forbidden)

    def admit(self, clusters: list[Leaves]) -> bool:
        """Whether all of these clusters are possible."""
        sizes = np.array([len(cluster) for cluster in clusters])
        return bool(self.allowed(sizes, lambda leaves: np.array([len(leaves & c) for c in clusters])).all())

    def _read(self, name: str, groups: Iterable[Cluster]) -> frozenset[Leaves]:
        if isinstance(groups, str):
            raise TypeError(f"{name} is a list of clusters, each a list of leaves, not {groups!r}")
        index = leaf_index(self.labels)
        found = frozenset(leaf_numbers(group, index) for group in groups)
        if frozenset() in found:
            raise ValueError(f"{name} holds an empty cluster; a cluster holds at least one leaf")
        return found

    def _refuse_both(self) -> None:
        for leaves in sorted(self.required & self.forbidden, key=sorted):
            raise ImpossibleData(f"the cluster {self._name(leaves)} is both required and forbidden")

    def _name(self, leaves: Leaves) -> str:
        return describe_cluster(leaves, self.labels)
