"""All splits of a family of clusters into two of its own, and the clusters that some hierarchy of them has."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.array_types import Ints, Words
from palmette.trellis.bit_sets import BitSets

__all__ = ["all_splits", "lowest_leaves"]


_PAIRS = 10**6  # pairs of a cluster and a possible left part that are looked at in one go


def all_splits(words: Words, n: int) -> tuple[Ints, Ints, Ints, Ints]:
    """(kept, parent, left, right): the clusters that are in some hierarchy, and all splits between them.

    `words` are bit sets by rising size, the n leaves first and the root last. Splits are sorted by parent, then by
    left part, and number the kept clusters from 0.
    """
    sets = BitSets(words.shape[1])
    sets.insert(words)
    lowest = lowest_leaves(words)
    grouped = np.argsort(lowest, kind="stable")  # by lowest leaf, then by size
    groups = np.searchsorted(lowest[grouped], np.arange(n + 1))
    parts = [_splits_between(words, sets, lowest, grouped, groups, a, b) for a, b in _slices(lowest, groups)]
    parent, left, right = np.concatenate(parts, axis=1)
    return _without_dead_ends(parent, left, right, len(words), n)


def _slices(lowest: Ints, groups: Ints) -> list[tuple[int, int]]:
    # Ranges of clusters, each with about as many pairs as are looked at in one go.
    pairs = np.cumsum(np.diff(groups)[lowest])
    edges = np.searchsorted(pairs, np.arange(_PAIRS, int(pairs[-1]), _PAIRS))
    edges = np.unique([0, *edges, len(lowest)])
    return list(zip(edges[:-1].tolist(), edges[1:].tolist(), strict=True))


def _splits_between(
    words: Words, sets: BitSets, lowest: Ints, grouped: Ints, groups: Ints, first: int, last: int
) -> npt.NDArray[np.int64]:
    # (3, k): the splits of the clusters first … last − 1.
    room = int(np.diff(groups)[lowest[first:last]].sum())
    pairs = np.empty((2, room), dtype=np.int64)
    rest = np.empty((room, words.shape[1]), dtype=np.uint64)
    count = _list_parts(words, lowest, grouped, groups, first, last, pairs, rest)
    right = sets.find(rest[:count])
    return np.concatenate([pairs[:, :count], right[None]])[:, right >= 0]


@kernel
def _list_parts(
    words: Words, lowest: Ints, grouped: Ints, groups: Ints, first: int, last: int, pairs: Ints, rest: Words
) -> int:
    # All proper parts of a cluster that hold its lowest leaf, and what they leave.
    count = 0
    for p in range(first, last):
        for g in range(groups[lowest[p]], groups[lowest[p] + 1]):
            part = grouped[g]
            if part >= p:
                break
            inside = True
            for w in range(words.shape[1]):
                if words[part, w] & ~words[p, w]:
                    inside = False
                    break
            if inside:
                pairs[0, count] = p
                pairs[1, count] = part
                for w in range(words.shape[1]):
                    rest[count, w] = words[p, w] ^ words[part, w]
                count += 1
    return count


def lowest_leaves(words: Words) -> Ints:
    """The lowest leaf of every bit set."""
    at = np.argmax(words != 0, axis=1)
    word = words[np.arange(len(words)), at]
    isolated = word & (~word + np.uint64(1))
    return np.asarray(64 * at + np.bitwise_count(isolated - np.uint64(1)), dtype=np.int64)


@kernel
def _mark_completable(n: int, parent: Ints, left: Ints, right: Ints, flags: npt.NDArray[np.bool_]) -> None:
    for i in range(n):
        flags[i] = True
    for s in range(parent.size):  # parents rise in size, so parts come first
        if flags[left[s]] and flags[right[s]]:
            flags[parent[s]] = True


@kernel
def _mark_reachable(
    parent: Ints, left: Ints, right: Ints, completable: npt.NDArray[np.bool_], flags: npt.NDArray[np.bool_]
) -> None:
    flags[flags.size - 1] = True
    for k in range(parent.size):
        s = parent.size - 1 - k
        if flags[parent[s]] and completable[left[s]] and completable[right[s]]:
            flags[left[s]] = True
            flags[right[s]] = True


def _without_dead_ends(parent: Ints, left: Ints, right: Ints, m: int, n: int) -> tuple[Ints, Ints, Ints, Ints]:
    order = np.lexsort((left, parent))
    parent, left, right = parent[order], left[order], right[order]
    completable, reachable = np.zeros(m, dtype=np.bool_), np.zeros(m, dtype=np.bool_)
    _mark_completable(n, parent, left, right, completable)
    if not completable[-1]:
        raise ValueError("no hierarchy can be made of these clusters; add those of at least one hierarchy")
    _mark_reachable(parent, left, right, completable, reachable)
    keep = completable & reachable
    number = np.cumsum(keep) - 1
    used = keep[parent] & keep[left] & keep[right]
    return np.flatnonzero(keep), number[parent[used]], number[left[used]], number[right[used]]
