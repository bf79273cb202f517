"""The clusters of many partitions, given as rows of memberships that are numbered by first appearance.

A cluster is known by two 64-bit sums over its leaves, of numbers that were drawn once for all: among m clusters two
have the same with probability m² / 2^129.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints, Words
from palmette.labels import describe_cluster
from palmette.posterior.partition_draws import Memberships
from palmette.sampling.partitions.pairs import pair_distances
from palmette.sampling.verdict import EventFigures, Verdict, judge
from palmette.trellis.bit_sets import BitSets

__all__ = ["JudgedClusters", "SeenClusters", "find_clusters", "judge_clusters", "occurrences"]

_BUCKETS = 1 << 20
_BLOCK = 1 << 18  # clusters looked at at once
_MOST = 1000  # clusters that are judged
_PAIRS = 500  # pairs of leaves that are judged, drawn once for all


class SeenClusters(NamedTuple):
    """m clusters that occur in some rows: the sums that each is known by, and one place where it stands."""

    keys: Words  # (m, 2)
    row: Ints  # (m,)
    number: Ints  # (m,): its number in that row
    counts: Ints  # (groups of rows, m)

    def members(self, i: int, rows: Memberships) -> list[int]:
        """The leaves of the i-th."""
        return np.flatnonzero(rows[self.row[i]] == self.number[i]).tolist()


class JudgedClusters(NamedTuple):
    """What chains say about themselves, and the clusters that tell."""

    verdict: Verdict
    figures: EventFigures  # of clusters, then of pairs
    clusters: list[frozenset[int]]
    errors: dict[frozenset[int], float]
    events: npt.NDArray[np.bool_]  # (chains, draws, clusters)

    def worst_first(self) -> Ints:
        """Which clusters are neither too rare nor too common, that with the largest R̂ first."""
        order = self.figures.worst_first()
        return order[order < len(self.clusters)]


def _leaf_keys(n: int) -> Words:
    # (n, 2): what is summed over the leaves of a cluster.
    return np.random.default_rng(20_231).integers(2**64, size=(n, 2), dtype=np.uint64)


@inline
def _add_keys(row, leaves, keys):
    # The keys of all clusters of a row; how many there are.
    count = 0
    for i in range(row.size):
        c = row[i]
        if c == count:
            keys[c, 0] = keys[c, 1] = np.uint64(0)
            count += 1
        keys[c, 0] += leaves[i, 0]
        keys[c, 1] += leaves[i, 1]
    return count


@kernel
def _tally(rows, leaves, keys, buckets):
    for t in range(rows.shape[0]):
        for c in range(_add_keys(rows[t], leaves, keys)):
            buckets[keys[c, 0] & np.uint64(buckets.size - 1)] += 1


@kernel
def _list_often(rows, leaves, keys, buckets, least, found, places):
    # Clusters in buckets that are full enough: their keys, rows and numbers.
    m = 0
    for t in range(rows.shape[0]):
        for c in range(_add_keys(rows[t], leaves, keys)):
            if buckets[keys[c, 0] & np.uint64(buckets.size - 1)] >= least:
                found[m, 0], found[m, 1] = keys[c, 0], keys[c, 1]
                places[m, 0], places[m, 1] = t, c
                m += 1
    return m


def _often(rows: Memberships, least: float) -> Iterator[tuple[Words, Ints, Ints]]:
    # Keys, rows and numbers, block by block, of all clusters that may occur `least` times or more. Most of those that
    # do not are never listed: a bucket counts every cluster that falls into it.
    n = rows.shape[1]
    leaves, keys, buckets = _leaf_keys(n), np.empty((n, 2), dtype=np.uint64), np.zeros(_BUCKETS, dtype=np.int32)
    _tally(rows, leaves, keys, buckets)
    step = max(1, _BLOCK // n)
    found, places = np.empty((step * n, 2), dtype=np.uint64), np.empty((step * n, 2), dtype=np.int64)
    for first in range(0, len(rows), step):
        m = _list_often(rows[first : first + step], leaves, keys, buckets, least, found, places)
        yield found[:m], first + places[:m, 0], places[:m, 1].copy()


def find_clusters(rows: Memberships, n_groups: int, least: float) -> SeenClusters:
    """The clusters in at least this share of the rows, as they come, counted in so many equal groups of rows."""
    seen, at, size = BitSets(2), [np.empty((0, 2), dtype=np.int64)], len(rows) // n_groups
    counts = np.zeros((n_groups, 0), dtype=np.int64)
    for keys, row, number in _often(rows, least * len(rows) - 1e-9):
        before = len(seen)
        which = seen.insert(keys)
        new, first = np.unique(which, return_index=True)
        first = first[new >= before]
        at.append(np.column_stack([row[first], number[first]]))
        counts = np.pad(counts, ((0, 0), (0, len(seen) - before)))
        np.add.at(counts, (row // size, which), 1)
    where = np.concatenate(at)
    kept = counts.sum(axis=0) >= least * len(rows) - 1e-9
    return SeenClusters(seen.words[kept], where[kept, 0], where[kept, 1], counts[:, kept])


def occurrences(rows: Memberships, keys: Words) -> npt.NDArray[np.bool_]:
    """(rows, m): whether each of m clusters, by their keys, occurs."""
    wanted, events = BitSets(2), np.zeros((len(rows), len(keys) + 1), dtype=bool)  # the last for all others
    wanted.insert(keys)
    for found, row, _ in _often(rows, 1.0) if len(keys) else ():
        events[row, wanted.find(found)] = True
    return events[:, :-1]


def judge_clusters(
    seen: SeenClusters, rows: Memberships, log_potentials: Floats, labels: tuple[str, ...]
) -> JudgedClusters:
    """Whether chains agree on log φ, on the number of clusters, on how far draws are from the best one, and on events.

    `rows` are (chains, draws, n) memberships, and events are clusters that are not rare and some pairs of leaves.
    """
    flat, shape = rows.reshape(-1, rows.shape[2]), log_potentials.shape
    share = seen.counts.sum(axis=0) / log_potentials.size
    chosen = np.flatnonzero(share < 1.0)
    chosen = chosen[np.argsort(np.abs(share[chosen] - 0.5), kind="stable")][:_MOST]
    clusters = [frozenset(seen.members(int(i), flat)) for i in chosen]
    one, two = _some_pairs(rows.shape[2])
    together = rows[:, :, one] == rows[:, :, two]
    events = np.concatenate([occurrences(flat, seen.keys[chosen]).reshape(*shape, -1), together], axis=2)
    names = [f"whether {describe_cluster(leaves, labels)} is a cluster" for leaves in clusters]
    names += [f"whether {describe_cluster(pair, labels)} are together" for pair in zip(one, two, strict=True)]
    distance = pair_distances(flat, flat[int(np.argmax(log_potentials))]).reshape(shape).astype(np.float64)
    numbers = {"the number of clusters": rows.max(axis=2) + 1.0, "the distance from the best partition": distance}
    verdict, figures = judge({"log φ": log_potentials, **numbers}, events, seen.counts / shape[1], names)
    errors = dict(zip(clusters, figures.standard_error.tolist(), strict=False))
    return JudgedClusters(verdict, figures, clusters, errors, events[:, :, : len(clusters)])


def _some_pairs(n: int) -> tuple[Ints, Ints]:
    # All pairs of leaves if they are few, else some, always the same.
    if n * (n - 1) // 2 <= _PAIRS:
        return np.triu_indices(n, 1)
    rng = np.random.default_rng(n)
    one = rng.integers(n, size=_PAIRS)
    return one, (one + rng.integers(1, n, size=_PAIRS)) % n
