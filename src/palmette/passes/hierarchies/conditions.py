"""Clusters that must, or must not, occur in a hierarchy: which clusters that leaves possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.passes.conditions import Conditions, Sharing

__all__ = ["HierarchyConditions"]


@dataclass(frozen=True)
class HierarchyConditions(Conditions):
    """Required and forbidden clusters.

    A cluster is possible if it is not forbidden and crosses no required one. A binary hierarchy made of such clusters
    only contains every required one, since a cluster that is absent is crossed by some cluster that is present.
    """

    def and_also(self, require: Iterable[Cluster] = (), forbid: Iterable[Cluster] = ()) -> HierarchyConditions:
        """These conditions and more; `ImpossibleData` if no hierarchy can meet them."""
        required, forbidden = self._read("require", require), self._read("forbid", forbid)
        conditions = HierarchyConditions(self.labels, self.required | required, self.forbidden | forbidden)
        conditions._check()
        return conditions

    def allowed(self, sizes: npt.NDArray[np.integer], shared: Sharing) -> npt.NDArray[np.bool_]:
        """Flags of the possible clusters, given their sizes and how many leaves each shares with a given one."""
        possible = np.ones(len(sizes), dtype=bool)
        for leaves in self.required:
            common = shared(leaves)
            possible &= (common == 0) | (common == len(leaves)) | (common == sizes)
        for leaves in self.forbidden:
            possible &= (shared(leaves) != len(leaves)) | (sizes != len(leaves))
        return possible

    def phrase(self) -> str:
        """`` given 2 required and 1 forbidden clusters``, or nothing."""
        if not self:
            return ""
        return f" given {len(self.required)} required and {len(self.forbidden)} forbidden clusters"

    def _check(self) -> None:
        self._refuse_both()
        for leaves in sorted(self.forbidden, key=sorted):
            if len(leaves) in (1, len(self.labels)):
                raise ImpossibleData(
                    f"the cluster {self._name(leaves)} occurs in every hierarchy; it cannot be forbidden"
                )
        for one, other in combinations(sorted(self.required, key=sorted), 2):
            if len(one & other) not in (0, len(one), len(other)):
                raise ImpossibleData(
                    f"the required clusters {self._name(one)} and {self._name(other)} overlap; no hierarchy holds both"
                )
