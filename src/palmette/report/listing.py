"""Which clusters a report lists, and what competes with each of them."""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from palmette.coalescent import CoalescentDraws
from palmette.labels import leaf_index
from palmette.passes.conditions import Leaves
from palmette.posterior import HierarchyMixture, HierarchyPosterior, PartitionMixture, PartitionPosterior
from palmette.posterior.tables import Table
from palmette.report.levels import CERTAIN, PROBABLE
from palmette.sampling import SampledPartitions, SampledPosterior

__all__ = [
    "AnyPosterior",
    "Hierarchies",
    "Leaves",
    "ListedCluster",
    "Listing",
    "Modelled",
    "Partitions",
    "hierarchy_listing",
    "partition_listing",
    "rows_above",
]

_MOST_ROWS = 400
_MOST_NAMES = 60_000  # members of all rows together: keeps the file small
_MOST_RIVALS = 6  # splits, or joins, that are listed for one cluster
_WORTH_LISTING = 1e-3
_WALK = 1 << 26  # splits that are looked at for one report: a few seconds

Rival = tuple[list[int], float]
Hierarchies = HierarchyPosterior | HierarchyMixture  # those that are sums over a trellis
Partitions = PartitionPosterior | PartitionMixture
Modelled = Hierarchies | Partitions | SampledPosterior | SampledPartitions
AnyPosterior = Modelled | CoalescentDraws


@dataclass
class ListedCluster:
    """A cluster and its rivals: of each split one part and its probability, None where they were not computed."""

    leaves: Leaves
    probability: float
    in_best: bool
    error: float | None = None  # the standard error of the probability, if it is an estimate
    splits: list[Rival] | None = None
    joins: list[Rival] | None = None
    au: float | None = None  # bootstrap support, if there is any
    bp: float | None = None

    def as_data(self) -> dict[str, Any]:
        """What goes into the page's data block."""
        data: dict[str, Any] = {
            "members": sorted(self.leaves),
            "probability": self.probability,
            "in_best": self.in_best,
            "splits": self.splits,
        }
        more = {"joins": self.joins, "error": self.error, "au": self.au, "bp": self.bp}
        return data | {name: value for name, value in more.items() if value is not None}


@dataclass(frozen=True)
class Listing:
    """Clusters by falling probability: the rows of the table, and after them perhaps the cluster of all leaves."""

    clusters: list[ListedCluster]
    n_rows: int
    n_left_out: int  # as probable as was asked for, but beyond what a page can hold
    n_certain: int  # of all clusters, listed or not: at least 95 %
    n_probable: int  # 50 % to 95 %

    def number_of(self) -> dict[Leaves, int]:
        """The number of each listed cluster."""
        return {cluster.leaves: number for number, cluster in enumerate(self.clusters)}


def rows_above(table: Table[Any], probability: float) -> int:
    """How many rows of a table by falling probability have at least this one; looks at a few rows only."""
    return bisect_right(table, -probability, key=lambda row: -row.probability)


def hierarchy_listing(
    posterior: Hierarchies | SampledPosterior | CoalescentDraws,
    best: Iterable[Leaves],
    others: Iterable[Leaves],
    min_probability: float,
) -> Listing:
    """The clusters of at least this probability, those of the `best` and of `others`, and all leaves; with splits.

    Particles know no splits; these stay None.
    """
    n = posterior.n_leaves
    inner = dict.fromkeys(others, False) | dict.fromkeys(best, True)
    inner.pop(frozenset(range(n)), None)
    table = posterior.cluster_probabilities(min(min_probability, PROBABLE))
    rows, n_left_out = _rows(posterior, table, inner, min_probability)
    everything = [ListedCluster(frozenset(range(n)), 1.0, True)] if n > 1 else []
    if posterior.kind != "particles":
        _split([*everything, *rows], posterior)
    return Listing([*rows, *everything], len(rows), n_left_out, *_strong(table))


def partition_listing(
    posterior: Partitions | SampledPartitions, best: Iterable[Leaves], min_probability: float
) -> Listing:
    """The clusters of at least this probability and those of the `best` partition; with their splits and joins.

    Chains over partitions know no splits; these stay None.
    """
    table = posterior.cluster_probabilities(min(min_probability, PROBABLE))
    rows, n_left_out = _rows(posterior, table, dict.fromkeys(best, True), min_probability)
    if posterior.kind != "chains":
        _split(rows, posterior)
    for cluster in rows:
        cluster.joins = _joins(cluster.leaves, rows)
    return Listing(rows, len(rows), n_left_out, *_strong(table))


def _rows(
    posterior: AnyPosterior,
    table: Table[Any],
    drawn: dict[Leaves, bool],
    min_probability: float,
) -> tuple[list[ListedCluster], int]:
    index = leaf_index(posterior.labels)
    found = ((leaves, best, posterior.cluster_probability(leaves)) for leaves, best in drawn.items())
    rows = [ListedCluster(leaves, float(share), best, _error(share)) for leaves, best, share in found]
    names = number = 0
    wanted = rows_above(table, min_probability)
    while number < min(wanted, _MOST_ROWS) and names < _MOST_NAMES:
        row = table[number]
        leaves = frozenset(index[label] for label in row.members)
        number, names = number + 1, names + row.size
        if leaves not in drawn:
            rows.append(ListedCluster(leaves, row.probability, False, _error(row)))
    rows.sort(key=lambda cluster: (-cluster.probability, len(cluster.leaves), sorted(cluster.leaves)))
    return rows, wanted - number


def _error(found: Any) -> float | None:
    # Of an estimate, or of a row of a table that has errors; exact numbers have none.
    return getattr(found, "standard_error", None)


def _strong(table: Table[Any]) -> tuple[int, int]:
    certain = rows_above(table, CERTAIN)
    return certain, rows_above(table, PROBABLE) - certain


def _split(clusters: Sequence[ListedCluster], posterior: Hierarchies | Partitions | SampledPosterior) -> None:
    # The best clustering's own first, then by probability, for as long as the walks are not too long.
    purse = _WALK
    for cluster in sorted(clusters, key=lambda cluster: not cluster.in_best):
        cost = 1 << (len(cluster.leaves) - 1) if posterior.is_exact else 1
        if cost <= purse and cluster.probability > 0.0:
            purse -= cost
            cluster.splits = _rival_splits(posterior, cluster.leaves)


def _rival_splits(posterior: Hierarchies | Partitions | SampledPosterior, leaves: Leaves) -> list[Rival]:
    index = leaf_index(posterior.labels)
    found = posterior.split_probabilities(leaves, most=_MOST_RIVALS)
    return [
        (sorted(index[label] for label in row.left), row.probability)
        for row in found
        if row.probability >= _WORTH_LISTING
    ]


def _joins(leaves: Leaves, rows: Sequence[ListedCluster]) -> list[Rival]:
    # The listed clusters that hold this one and more, by what they add.
    wider = [row for row in rows if row.leaves > leaves][:_MOST_RIVALS]
    return [(sorted(row.leaves - leaves), row.probability) for row in wider]
