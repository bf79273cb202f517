"""What must, or must not, hold of a partition: which clusters that leaves possible."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np
import numpy.typing as npt

from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.labels import describe_cluster, leaf_index, leaf_numbers

__all__ = ["PartitionConditions"]

Leaves = frozenset[int]


@dataclass(frozen=True)
class PartitionConditions:
    """Required and forbidden clusters, groups that stay together, groups that are apart; a number of clusters.

    All but the last are conditions on single clusters: a partition meets them if and only if each of its clusters does.
    (A leaf of a required cluster R is in some cluster, which may overlap R only by being R.)
    """

    labels: tuple[str, ...] = field(repr=False)
    required: frozenset[Leaves] = frozenset()
    forbidden: frozenset[Leaves] = frozenset()
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
        index = leaf_index(self.labels)

        def read(name: str, groups: Iterable[Cluster]) -> frozenset[Leaves]:
            if isinstance(groups, str):
                raise TypeError(f"{name} is a list of clusters, each a list of leaves, not {groups!r}")
            found = frozenset(leaf_numbers(group, index) for group in groups)
            if frozenset() in found:
                raise ValueError(f"{name} holds an empty cluster; a cluster holds at least one leaf")
            return found

        conditions = PartitionConditions(
            self.labels,
            self.required | read("require", require),
            self.forbidden | read("forbid", forbid),
            _merged(self.together | read("together", together)),
            self.apart | read("apart", apart),
            self.n_clusters if n_clusters is None else self._check_number(n_clusters),
        )
        conditions._check()
        return conditions

    def __bool__(self) -> bool:
        """Whether there are conditions on single clusters."""
        return bool(self.required or self.forbidden or self.together or self.apart)

    @property
    def blocks(self) -> list[Leaves]:
        """Groups of leaves of which a cluster holds all or none."""
        return sorted(self.required | self.together, key=sorted)

    def allowed(
        self, sizes: npt.NDArray[np.integer], shared: Callable[[Leaves], npt.NDArray[np.integer]]
    ) -> npt.NDArray[np.bool_]:
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
        if self.n_clusters not in (None, len(clusters)):
            return False
        sizes = np.array([len(cluster) for cluster in clusters])
        return bool(self.allowed(sizes, lambda group: np.array([len(group & c) for c in clusters])).all())

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
        if isinstance(n_clusters, bool) or not isinstance(n_clusters, int | np.integer):
            raise TypeError(f"n_clusters is {n_clusters!r}; expected a whole number")
        if not 1 <= n_clusters <= len(self.labels):
            raise ImpossibleData(f"{len(self.labels)} leaves cannot be put into {n_clusters} clusters")
        if self.n_clusters not in (None, n_clusters):
            raise ImpossibleData(f"there are {self.n_clusters} clusters by an earlier condition, and not {n_clusters}")
        return int(n_clusters)

    def _check(self) -> None:
        for group in self.required & self.forbidden:
            raise ImpossibleData(f"the cluster {self._name(group)} is both required and forbidden")
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

    def _name(self, group: Leaves) -> str:
        return describe_cluster(group, self.labels)


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
