"""Families of clusters as lists: the leaves of cluster i are members[bounds[i, 0] : bounds[i, 1]]."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Indices, Ints, Words
from palmette.hashing import empty_table, mix
from palmette.links import ragged

__all__ = [
    "Keys",
    "as_bounds",
    "cluster_keys",
    "collect",
    "find_clusters",
    "is_closed",
    "leaf_order",
    "list_members",
]


_SERIATED = 4000  # leaves: for more, an order by similarity takes too long to find
_OPTIMALLY = 200  # leaves: for more, the best order of a linkage does
_PAIRS = 10**9  # pairs of leaves that are looked at for an order
_PENDING = 10**7  # members that are listed before duplicates are dropped


def as_bounds(sizes: Ints) -> Ints:
    """(m, 2): where each cluster starts and stops when they are listed one after the other.

    >>> as_bounds(np.array([2, 1]))
    array([[0, 2],
           [2, 3]])
    """
    ends = np.cumsum(sizes, dtype=np.int64)
    return np.column_stack((ends - sizes, ends))


def collect(parts: Iterable[tuple[Ints, Indices]]) -> tuple[Ints, Indices]:
    """The different clusters of all parts, in order of first appearance, as bounds and members.

    A part is (sizes, members), the members of each cluster increasing.

    >>> pair, one = (np.array([2]), np.array([0, 1], np.int32)), (np.array([1]), np.array([0], np.int32))
    >>> collect([pair, one, pair])[1]
    array([0, 1, 0], dtype=int32)
    """
    pending: list[tuple[Ints, Indices]] = [(np.empty(0, np.int64), np.empty(0, np.int32))]
    kept = waiting = 0
    for part in parts:
        pending.append(part)
        waiting += len(part[1])
        if waiting > kept + _PENDING:
            pending = [_distinct(pending)]
            kept, waiting = len(pending[0][1]), 0
    sizes, members = _distinct(pending)
    return as_bounds(sizes), members


def _distinct(parts: list[tuple[Ints, Indices]]) -> tuple[Ints, Indices]:
    sizes = np.concatenate([part[0] for part in parts])
    members = np.concatenate([part[1] for part in parts])
    bounds = as_bounds(sizes)
    is_new = np.empty(len(sizes), dtype=np.bool_)
    _mark_new(bounds, members, empty_table(len(sizes)), is_new)
    return sizes[is_new], members[ragged(bounds[is_new, 0], sizes[is_new])]


@kernel
def _mark_new(bounds: Ints, members: Indices, table: Ints, is_new: npt.NDArray[np.bool_]) -> None:
    # As `slot_of` of `hashing` does it for rows of one length; clusters have any number of leaves.
    last = np.uint64(table.size - 1)
    for i in range(bounds.shape[0]):
        own = members[bounds[i, 0] : bounds[i, 1]]
        slot = np.uint64(0)
        for leaf in own:
            slot = mix(slot, leaf)
        slot &= last
        while table[slot] >= 0 and not np.array_equal(members[bounds[table[slot], 0] : bounds[table[slot], 1]], own):
            slot = (slot + np.uint64(1)) & last
        is_new[i] = table[slot] < 0
        if is_new[i]:
            table[slot] = i


class Keys(NamedTuple):
    """Numbers to find clusters by: that of a cluster is the sum of those of its leaves, modulo 2^64."""

    leaves: Words  # (n,)
    clusters: Words  # (m,), no two alike
    order: Ints  # (m,), sorts them


def cluster_keys(bounds: Ints, members: Indices, n: int) -> Keys:
    """Keys for the clusters of a family: random ones, drawn again if two clusters have the same."""
    for seed in itertools.count():
        leaves = np.random.default_rng(seed).integers(0, 2**64, n, dtype=np.uint64)
        sums = np.concatenate((np.zeros(1, np.uint64), np.cumsum(leaves[members])))
        clusters = sums[bounds[:, 1]] - sums[bounds[:, 0]]
        order = np.argsort(clusters, kind="stable")
        if (np.diff(clusters[order]) > 0).all():
            return Keys(leaves, clusters, order)
    raise AssertionError("unreachable: no end to the seeds")


def find_clusters(keys: Keys, bounds: Ints, members: Indices, sizes: Ints, leaves: Ints) -> Ints:
    """(k,): the numbers of k clusters, −1 if not in the family; `leaves` lists `sizes` increasing leaves for each."""
    if len(bounds) == 0:
        return np.full(len(sizes), -1)
    wanted = np.add.reduceat(keys.leaves[leaves], np.cumsum(sizes) - sizes)
    at = np.searchsorted(keys.clusters, wanted, sorter=keys.order)
    found = keys.order[np.minimum(at, len(bounds) - 1)]
    found[(bounds[found, 1] - bounds[found, 0]) != sizes] = -1
    likely = np.flatnonzero(found >= 0)  # the same key, by design or by chance: compare the leaves themselves
    row = np.repeat(likely, sizes[likely])
    own = members[ragged(bounds[found[likely], 0], sizes[likely])]
    found[row[own[np.lexsort((own, row))] != leaves[np.repeat(found >= 0, sizes)]]] = -1
    return found


def leaf_order(bounds: Ints, members: Indices, n: int) -> Ints:
    """An order of the leaves in which those that share small clusters are close, which keeps remainders few.

    Average linkage; the similarity of two leaves is Σ 1 / (|C| − 1) over the clusters that hold both, the smallest
    clusters first as long as there is time. Beyond a few thousand leaves it is the given order.
    """
    if not 2 < n <= _SERIATED:
        return np.arange(n)
    from scipy.cluster.hierarchy import leaves_list, linkage

    sizes = bounds[:, 1] - bounds[:, 0]
    smallest = np.argsort(sizes, kind="stable")
    affordable = np.cumsum(sizes[smallest].astype(np.float64) ** 2) <= _PAIRS
    together = np.zeros((n, n))
    _add_pairs(bounds[smallest[affordable]], members, together)
    distances = together.max() - together[np.triu_indices(n, 1)]
    return np.asarray(leaves_list(linkage(distances, "average", optimal_ordering=n <= _OPTIMALLY)), dtype=np.int64)


@kernel
def _add_pairs(bounds: Ints, members: Indices, together: npt.NDArray[np.float64]) -> None:
    for i in range(bounds.shape[0]):
        own = members[bounds[i, 0] : bounds[i, 1]]
        for x in range(own.size):
            for y in range(x + 1, own.size):  # members increase: the upper triangle
                together[own[x], own[y]] += 1.0 / (own.size - 1)


@kernel
def list_members(parents, starts, members, n):
    """members[starts[v]], …: the leaves below node v of a hierarchy, increasing."""
    filled = np.zeros(parents.size, np.int64)
    for leaf in range(n):
        v = leaf
        while v >= 0:
            members[starts[v] + filled[v]] = leaf
            filled[v] += 1
            v = parents[v]


@kernel
def is_closed(bounds, members, groups, grouped, keys, order, stamp):
    """Whether y∖x is in the family for all x ⊂ y in it.

    grouped[groups[i] : groups[i + 1]] are the clusters whose lowest leaf is i. keys[c] is a sum over the leaves of c,
    so that of y∖x is a difference; order sorts them. stamp is scratch of one number per leaf, −1 at first.
    """
    ranked = keys[order]
    for y in range(bounds.shape[0]):
        whole = members[bounds[y, 0] : bounds[y, 1]]
        for leaf in whole:
            stamp[leaf] = y
        for lowest in whole:
            for g in range(groups[lowest], groups[lowest + 1]):
                part = members[bounds[grouped[g], 0] : bounds[grouped[g], 1]]
                if part.size == whole.size or not _all_stamped(part, stamp, y):
                    continue
                at = np.searchsorted(ranked, keys[y] - keys[grouped[g]])
                if at == order.size:
                    return False
                rest = members[bounds[order[at], 0] : bounds[order[at], 1]]
                stamp[part] = -1
                if rest.size != whole.size - part.size or not _all_stamped(rest, stamp, y):
                    return False
                stamp[part] = y
    return True


@inline
def _all_stamped(leaves, stamp, y):
    for leaf in leaves:  # noqa: SIM110 – compiled
        if stamp[leaf] != y:
            return False
    return True
