"""The paths of a family of clusters: from all leaves, take away the cluster that holds the first leaf of what remains.

States are the remainders that can come up, choices are (state, cluster, next state); every path from the first state
to the last is one partition.
"""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Indices, Ints, Words
from palmette.errors import TrellisTooLarge
from palmette.hashing import empty_table, fill_table, slot_of
from palmette.links import offsets_of, ragged
from palmette.trellis.bit_sets import n_words
from palmette.trellis.partitions.paths import Paths, frozen_paths, longest_paths, no_paths

__all__ = ["interval_paths", "remainder_paths"]


_CHOICES = 20  # per remainder that is allowed
_MOST_WORDS = 2**29  # of bit sets: 4 GB
_ROOM = 1024  # remainders and choices at first
_CHOICES_FULL, _REMAINDERS_FULL = 1, 2


def interval_paths(intervals: Ints, n: int) -> Paths:
    """The paths of clusters that are intervals [a, b) of positions, among them every [a, a + 1).

    Remainders are suffixes: state a means that positions a, a + 1, … remain, and an interval leads from a to b.

    >>> interval_paths(np.array([[0, 1], [1, 2], [0, 2]]), 2).choice_next
    array([1, 2, 2])
    """
    order = np.lexsort((intervals[:, 1], intervals[:, 0]))
    offsets = np.searchsorted(intervals[order, 0], np.arange(n + 2))
    return frozen_paths(offsets, order, intervals[order, 1])


def remainder_paths(bounds: Ints, members: Indices, order: Ints, max_remainders: int) -> Paths:
    """The paths of any family, with the leaves in this order; states with no way to the end are dropped.

    `TrellisTooLarge` if more than `max_remainders` remainders come up, or twenty times as many choices.

    >>> remainder_paths(np.array([[0, 1], [1, 2], [0, 2]]), np.array([0, 1], np.int32), np.arange(2), 10).choice_next
    array([1, 2, 2])
    """
    n, m = len(order), len(bounds)
    if m * n_words(n) > _MOST_WORDS:
        _refuse(m, n, "do not fit into 4 GB as bit sets")
    rows = np.zeros((m, n_words(n)), dtype=np.uint64)
    first = np.full(m, n, dtype=np.int64)
    _pack_clusters(bounds, members, np.argsort(order), rows, first)
    grouped = np.lexsort((bounds[:, 1] - bounds[:, 0], first))
    groups = np.searchsorted(first[grouped], np.arange(n + 1))
    return _in_order(n, *_discover(n, rows, groups, grouped, max_remainders))


def _discover(n: int, clusters: Words, groups: Ints, grouped: Ints, limit: int) -> tuple[Ints, Ints, Indices]:
    # Remainders as they come up: the first position of each, offsets of its choices, and (cluster, remainder) of those.
    m, width = clusters.shape
    room = min(_ROOM, limit)
    rows = np.zeros((room, width), dtype=np.uint64)
    rows[0] = np.packbits(np.arange(64 * width) < n, bitorder="little").view("<u8")
    first, offsets = np.zeros(room, dtype=np.int64), np.zeros(room + 1, dtype=np.int64)
    choices = np.zeros((room, 2), dtype=np.int32)
    table = _table_of(rows, 1)
    at = np.array([1, 0, 0])  # remainders, remainders whose choices are known, choices
    while full := _expand(n, clusters, groups, grouped, rows, first, offsets, choices, table, at):
        if full == _CHOICES_FULL:
            if len(choices) == _CHOICES * limit:
                _refuse(m, n, f"lead to more than {_CHOICES * limit:,} choices, {_CHOICES} for each of max_remainders")
            choices = _grown(choices, min(2 * len(choices), _CHOICES * limit))
            continue
        if len(rows) == limit:
            _refuse(m, n, f"lead to more than max_remainders = {limit:,} remainders")
        if 2 * rows.size > _MOST_WORDS:
            _refuse(m, n, f"lead to more than {len(rows):,} remainders, which do not fit into 4 GB as bit sets")
        room = min(2 * len(rows), limit)
        rows, first, offsets = _grown(rows, room), _grown(first, room), _grown(offsets, room + 1)
        table = _table_of(rows, at[0])
    return first[: at[0]], offsets[: at[0] + 1], choices[: at[2]]


def _refuse(n_clusters: int, n: int, complaint: str) -> NoReturn:
    raise TrellisTooLarge(
        f"{n_clusters:,} clusters of {n:,} leaves {complaint}. Take fewer clusters, for example only the more probable "
        f"ones, or raise max_remainders; the clusters of one hierarchy (from_hierarchy) need only n + 1 remainders"
    )


def _grown(array: npt.NDArray[Any], size: int) -> npt.NDArray[Any]:
    larger = np.zeros((size, *array.shape[1:]), dtype=array.dtype)
    larger[: len(array)] = array
    return larger


def _table_of(rows: Words, count: int) -> Ints:
    table = empty_table(len(rows))
    fill_table(rows, count, table)
    return table


@kernel
def _pack_clusters(bounds, members, position, rows, first):
    """rows[i]: the positions of cluster i as set bits of 64-bit words; first[i]: the lowest of them."""
    for i in range(bounds.shape[0]):
        for x in range(bounds[i, 0], bounds[i, 1]):
            p = position[members[x]]
            rows[i, p >> 6] |= np.uint64(1) << np.uint64(p & 63)
            first[i] = min(first[i], p)


@kernel
def _expand(
    n: int, clusters: Words, groups: Ints, grouped: Ints, rows: Words, first: Ints, offsets: Ints, choices: Indices,
    table: Ints, at: Ints,
) -> int:  # fmt: skip
    # Lists the choices of remainder after remainder until no new one comes up (0), or an array is full; what was
    # listed for the last remainder is then listed again.
    row = np.empty(clusters.shape[1], np.uint64)
    while at[1] < at[0]:
        s, listed = at[1], at[2]
        x = first[s]
        for g in range(groups[x], groups[min(x + 1, n)]):
            if not _take_away(rows[s], clusters[grouped[g]], x >> 6, row):
                continue
            if listed == choices.shape[0]:
                return _CHOICES_FULL
            slot = slot_of(rows, row, table)
            if table[slot] < 0:
                if at[0] == rows.shape[0]:
                    return _REMAINDERS_FULL
                rows[at[0]] = row
                first[at[0]] = _first_position(row, x, n)
                table[slot] = at[0]
                at[0] += 1
            choices[listed, 0] = grouped[g]
            choices[listed, 1] = table[slot]
            listed += 1
        at[1] += 1
        at[2] = listed
        offsets[at[1]] = listed
    return 0


@inline
def _take_away(remainder: Words, cluster: Words, start: int, row: Words) -> bool:
    # Whether the cluster is part of the remainder; if so, row = remainder ∖ cluster. Words before `start` are empty.
    for w in range(start, row.size):
        if cluster[w] & ~remainder[w]:
            return False
    for w in range(row.size):
        row[w] = remainder[w] & ~cluster[w]
    return True


@inline
def _first_position(row: Words, x: int, n: int) -> int:
    while x < n and not (row[x >> 6] >> np.uint64(x & 63)) & np.uint64(1):
        x += 1
    return x


def _in_order(n: int, first: Ints, offsets: Ints, choices: Indices) -> Paths:
    # Numbered by first position, so that next > state; without dead ends.
    order = np.argsort(first, kind="stable")
    if first[order[-1]] < n:
        return no_paths()
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    sizes = np.diff(offsets)[order]
    listed = ragged(offsets[order], sizes)
    cluster, following = choices[listed, 0], number[choices[listed, 1]]
    length = np.empty(len(order), dtype=np.int64)
    longest_paths(offsets_of(sizes), following, length)
    return _without(length < 0, np.repeat(np.arange(len(order)), sizes), cluster, following)


def _without(dead: npt.NDArray[np.bool_], state: Ints, cluster: Indices, following: Ints) -> Paths:
    if dead[0]:
        return no_paths()
    kept = ~dead[following]
    number = np.cumsum(~dead) - 1
    offsets = np.searchsorted(number[state[kept]], np.arange(number[-1] + 2))
    return frozen_paths(offsets, cluster[kept], number[following[kept]])
