"""Clusters that must, or must not, occur: which clusters that leaves possible."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.clusters import Cluster, cluster_mask, cluster_members
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.labels import describe_cluster

__all__ = ["Conditions"]


class Conditions:
    """Required and forbidden clusters over labelled leaves.

    A cluster is possible if it is not forbidden and crosses no required one. A binary hierarchy made of such clusters
    only contains every required one, since a cluster that is absent is crossed by some cluster that is present.
    """

    def __init__(
        self,
        labels: tuple[str, ...],
        required: frozenset[int] = frozenset(),
        forbidden: frozenset[int] = frozenset(),
    ) -> None:
        self._labels = labels
        self.required = required
        self.forbidden = forbidden

    def and_also(self, require: Iterable[Cluster], forbid: Iterable[Cluster]) -> Conditions:
        """These conditions and more; `ImpossibleData` if no hierarchy can meet them."""
        required = self.required | {cluster_mask(c, self._labels) for c in require}
        forbidden = self.forbidden | {cluster_mask(c, self._labels) for c in forbid}
        for mask in sorted(forbidden):
            if mask in required:
                raise ImpossibleData(f"the cluster {self._name(mask)} is both required and forbidden")
            if mask.bit_count() in (1, len(self._labels)):
                raise ImpossibleData(
                    f"the cluster {self._name(mask)} occurs in every hierarchy; it cannot be forbidden"
                )
        for one in sorted(required):
            for other in sorted(required):
                if one & other not in (0, one, other):
                    raise ImpossibleData(
                        f"the required clusters {self._name(one)} and {self._name(other)} overlap; "
                        f"no hierarchy holds both"
                    )
        return Conditions(self._labels, frozenset(required), frozenset(forbidden))

    def allowed(self) -> npt.NDArray[np.uint8] | None:
        """Flags (2^n,) of the possible clusters; None if all are."""
        if not self.required and not self.forbidden:
            return None
        return self._possible(np.arange(1 << len(self._labels), dtype=np.uint32)).astype(np.uint8)

    def admit(self, hierarchy: Hierarchy) -> bool:
        """Whether a hierarchy on these labels, in this order, meets the conditions."""
        if not self.required and not self.forbidden:
            return True
        return self.admit_masks(hierarchy.cluster_masks())

    def admit_masks(self, masks: npt.NDArray[np.integer]) -> bool:
        """Whether all of these clusters are possible."""
        return bool(self._possible(masks.astype(np.uint32)).all())

    def phrase(self) -> str:
        """`` given 2 required and 1 forbidden clusters``, or nothing."""
        if not self.required and not self.forbidden:
            return ""
        return f" given {len(self.required)} required and {len(self.forbidden)} forbidden clusters"

    def _possible(self, masks: npt.NDArray[np.uint32]) -> npt.NDArray[np.bool_]:
        possible = np.ones(masks.shape, dtype=bool)
        for required in self.required:
            shared = masks & np.uint32(required)
            possible &= (shared == 0) | (shared == required) | (shared == masks)
        for forbidden in self.forbidden:
            possible &= masks != forbidden
        return possible

    def _name(self, mask: int) -> str:
        return describe_cluster(cluster_members(mask), self._labels)
