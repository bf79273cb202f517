"""Forests, and the pool from which `beam` takes the best of them.

A forest is a row of slots: the slot of a leaf is the lowest leaf of its cluster, so two forests with the same clusters
have the same row, whatever was merged first. The pool holds merges of the forests of one step. It knows what they lead
to by a key, a sum of hashes of the clusters, and compares rows where keys agree: nothing hangs on a key being unique.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Indices, Ints, Words
from palmette.hashing import empty_table
from palmette.numeric import scramble

__all__ = [
    "Forests",
    "Pool",
    "empty",
    "empty_pool",
    "has_room",
    "keep_best",
    "merged",
    "number_clusters",
    "offer",
    "single_leaves",
]


class Forests(NamedTuple):
    """The forests of one step, best first."""

    slots: Indices  #: (forests, n): the lowest leaf of the cluster of each leaf
    gained: Floats  #: what the merges so far have brought
    keys: Words


class Pool(NamedTuple):
    """Merges that are offered for the next step: in forest `parent` the clusters in slots `low` < `high` are joined."""

    rank: Floats
    gained: Floats
    keys: Words
    parent: Indices
    low: Indices
    high: Indices
    places: Ints  #: a hash table from keys to entries of the pool; −1 where it is empty
    size: Ints  #: (1,): how many entries there are
    least: Floats  #: (1,): what a merge must outrank to be taken


def single_leaves(n: int) -> Forests:
    """The one forest of n leaves, to begin with."""
    return Forests(np.arange(n, dtype=np.int32)[None], np.zeros(1), np.zeros(1, np.uint64))


def empty_pool(n: int, width: int) -> Pool:
    """Room for `width` merges, several times as many new ones, and all those of one forest."""
    room = 4 * width + n * (n - 1) // 2
    parent, low, high = (np.empty(room, np.int32) for _ in range(3))
    size, least = np.zeros(1, np.int64), np.full(1, -np.inf)
    keys = np.empty(room, np.uint64)
    return Pool(np.empty(room), np.empty(room), keys, parent, low, high, empty_table(room), size, least)


def empty(pool: Pool) -> None:
    """Forget all entries."""
    pool.size[0], pool.least[0] = 0, -np.inf
    pool.places[:] = -1


def keep_best(pool: Pool, forests: Forests, width: int) -> None:
    """Leave the best `width` entries, best first; of equal ones those that came first."""
    best = np.argsort(-pool.rank[: pool.size[0]], kind="stable")[:width]
    for values in (pool.rank, pool.gained, pool.keys, pool.parent, pool.low, pool.high):
        values[: len(best)] = values[best]
    pool.size[0] = len(best)
    pool.least[0] = pool.rank[width - 1] if len(best) == width else -np.inf
    pool.places[:] = -1
    _enter_all(forests.slots, pool)


def merged(pool: Pool, forests: Forests) -> Forests:
    """The forests that the entries of a pool lead to."""
    size = pool.size[0]
    slots = forests.slots[pool.parent[:size]]
    slots = np.where(slots == pool.high[:size, None], pool.low[:size, None], slots)
    return Forests(slots, pool.gained[:size].copy(), pool.keys[:size].copy())


@inline
def number_clusters(slots, place, first, sizes, hashes):
    """place[i]: the number of the cluster of leaf i, by lowest leaf; first[x]: that leaf. Returns their number."""
    m = 0
    for i in range(slots.size):
        if slots[i] == i:
            first[m], sizes[m], hashes[m] = i, 0, np.uint64(0)
            place[i] = m
            m += 1
        x = place[slots[i]]
        place[i] = x
        sizes[x] += 1
        hashes[x] += scramble(np.uint64(i + 1))
    return m


@inline
def _is_same(slots, parent, low, high, other, other_low, other_high):
    # Whether two merges of two forests leave the same clusters.
    for i in range(slots.shape[1]):
        one = low if slots[parent, i] == high else slots[parent, i]
        two = other_low if slots[other, i] == other_high else slots[other, i]
        if one != two:
            return False
    return True


@inline
def _place_of(pool, slots, key, f, i, j):
    # Where in the hash table the merge of i and j in forest f is, or would go; its row is written down nowhere.
    last = pool.places.size - 1
    at = np.int64(key & np.uint64(last))
    while pool.places[at] >= 0:
        e = pool.places[at]
        if pool.keys[e] == key and _is_same(slots, pool.parent[e], pool.low[e], pool.high[e], f, i, j):
            break
        at = (at + 1) & last
    return at


@kernel
def has_room(pool, m):
    """Whether all merges of a forest of m clusters would fit in."""
    return pool.size[0] + m * (m - 1) // 2 <= pool.rank.size


@inline
def offer(forests, f, m, first, hashes, gain, rank, is_forced, pool):
    """Put all merges of two of the m clusters of forest f into the pool, unless one as good leads to the same clusters.

    `gain` and `rank` are (m, m), the part above the diagonal. Forbidden merges (−inf) are not taken; if `is_forced` all
    are, and bring nothing.
    """
    gained, key_of_forest = forests.gained[f], forests.keys[f]
    for x in range(m):
        for y in range(x + 1, m):
            brings, outlook = (0.0, 0.0) if is_forced else (gain[x, y], rank[x, y])
            if not gained + outlook > pool.least[0]:
                continue
            key = key_of_forest + scramble(hashes[x] + hashes[y]) - scramble(hashes[x]) - scramble(hashes[y])
            at = _place_of(pool, forests.slots, key, f, first[x], first[y])
            e = pool.places[at]
            if e < 0:
                e = pool.size[0]
                pool.places[at] = e
                pool.size[0] += 1
            elif gained + brings <= pool.gained[e]:
                continue
            pool.rank[e], pool.gained[e], pool.keys[e] = gained + outlook, gained + brings, key
            pool.parent[e], pool.low[e], pool.high[e] = f, first[x], first[y]


@kernel
def _enter_all(slots, pool):
    # Fills the empty hash table of a pool.
    for e in range(pool.size[0]):
        at = _place_of(pool, slots, pool.keys[e], pool.parent[e], pool.low[e], pool.high[e])
        pool.places[at] = e
