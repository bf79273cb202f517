"""What must, or must not, hold of a partition: which clusters that leaves possible."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from palmette.checks import is_whole
from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.passes.conditions import Conditions, Leaves, Sharing

__all__ = ["PartitionConditions"]


@dataclass(frozen=True)
class PartitionConditions(Conditions):
    """Required and forbidden clusters, groups that stay together, groups that are apart; a number of clusters.

    All but the last are conditions on single clusters: a partition meets them if and only if each of its clusters does.
    (A leaf of a required cluster R is in some cluster, which may overlap R only by being R.)
    """

    together: frozenset[Leaves] = frozenset()
    apart: frozenset[Leaves] = frozenset()
    n_clusters: int | None = None

    def and_also(
        self,
        require: Iterable[Cluster] = (),
        forbid: Iterable[Cluster] = (),
        together: Iterable[Cluster] = (),
        apart: Iterable[Cluster] = (),
        n_clusters: int | None = None,
    ) -> PartitionConditions:
        """These conditions and more; `ImpossibleData` if two of them contradict each other."""
        conditions = PartitionConditions(
            self.labels,
            self.required | self._read("require", require),
            self.forbidden | self._read("forbid", forbid),
            _merged(self.together | self._read("together", together)),
            self.apart | self._read("apart", apart),
            self.n_clusters if n_clusters is None else self._check_number(n_clusters),
        )
        conditions._check()
        return conditions

    @property
    def restricts_clusters(self) -> bool:
        """Whether there are conditions on single clusters."""
        return super().__bool__() or bool(self.together or self.apart)

    def __bool__(self) -> bool:
        return self.restricts_clusters or self.n_clusters is not None

    @property
    def blocks(self) -> list[Leaves]:
        """Groups of leaves of which a cluster holds all or none."""
        return sorted(self.required | self.together, key=sorted)

    def allowed(self, sizes: npt.NDArray[np.integer], shared: Sharing) -> npt.NDArray[np.bool_]:
        """Flags of the possible clusters, given their sizes and how many leaves each shares with a group."""
        possible = np.ones(len(sizes), dtype=bool)
        for group in self.required:
            common = shared(group)
            possible &= (common == 0) | ((common == len(group)) & (sizes == len(group)))
        for group in self.forbidden:
            possible &= (shared(group) != len(group)) | (sizes != len(group))
        for group in self.together:
            common = shared(group)
            possible &= (common == 0) | (common == len(group))
        for group in self.apart:
            possible &= shared(group) <= 1
        return possible

    def admit(self, clusters: list[Leaves]) -> bool:
        """Whether a partition into these clusters meets the conditions."""
        return self.n_clusters in (None, len(clusters)) and super().admit(clusters)

    def phrase(self) -> str:
        """`` into 3 clusters given 2 required clusters and 1 group kept together``, or nothing."""
        kinds = [
            (self.required, "required cluster"),
            (self.forbidden, "forbidden cluster"),
            (self.together, "group kept together"),
            (self.apart, "group kept apart"),
        ]
        parts = [f"{len(some)} {_plural(kind, len(some))}" for some, kind in kinds if some]
        into = "" if self.n_clusters is None else f" into {self.n_clusters} clusters"
        return into + (f" given {' and '.join(parts)}" if parts else "")

    def _check_number(self, n_clusters: int) -> int:
        if not is_whole(n_clusters):
            raise TypeError(f"n_clusters is {n_clusters!r}; expected a whole number")
        if not 1 <= n_clusters <= len(self.labels):
            raise ImpossibleData(f"{len(self.labels)} leaves cannot be put into {n_clusters} clusters")
        if self.n_clusters not in (None, n_clusters):
            raise ImpossibleData(f"there are {self.n_clusters} clusters by an earlier condition, and not {n_clusters}")
        return int(n_clusters)

    def _check(self) -> None:
        self._refuse_both()
        for one, other in combinations(sorted(self.required, key=sorted), 2):
            if one & other:
                raise ImpossibleData(
                    f"the required clusters {self._name(one)} and {self._name(other)} overlap; no partition holds both"
                )
        for block in self.blocks:
            for group in self.apart:
                if len(block & group) > 1:
                    raise ImpossibleData(
                        f"{self._name(block & group)} must be in one cluster and must be apart; drop one condition"
                    )


def _merged(groups: frozenset[Leaves]) -> frozenset[Leaves]:
    # Groups that overlap are one: together is transitive.
    found: list[Leaves] = []
    for group in groups:
        apart = [other for other in found if not other & group]
        found = [*apart, group.union(*(other for other in found if other & group))]
    return frozenset(found)


def _plural(kind: str, number: int) -> str:
    head, _, tail = kind.partition(" ")
    if number == 1:
        return kind
    return f"{head} {tail}s" if tail == "cluster" else f"{head}s {tail}"
