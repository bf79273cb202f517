"""Clusters as bit masks: leaf i belongs to cluster `mask` if bit i of `mask` is set."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.array_types import Ints
from palmette.labels import leaf_index, leaf_numbers

__all__ = [
    "Cluster",
    "add_members",
    "cluster_leaves",
    "cluster_mask",
    "cluster_members",
    "cluster_sizes",
    "left_parts",
    "lowest_first",
    "lowest_leaf",
    "mask_of_leaves",
    "member_list",
    "size_of",
]

#: How a person names a cluster: leaf indices, or labels.
Cluster: TypeAlias = Iterable[int | str]

_ONE = np.uint64(1)


@inline
def size_of(mask):
    """|S|: the number of set bits of a 64-bit mask."""
    x = np.uint64(mask)
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return np.int64((x * np.uint64(0x0101010101010101)) >> np.uint64(56))


@inline
def lowest_leaf(mask):
    """The mask that holds only the lowest leaf of `mask`, both unsigned."""
    return mask & (~mask + _ONE)


@inline
def add_members(word, first, out, count):
    """Write the leaves of a word, whose lowest bit is leaf `first`, into `out` from `count` on; the new count."""
    while word != np.uint64(0):
        lowest = lowest_leaf(word)
        out[count] = first + size_of(lowest - _ONE)
        count += 1
        word ^= lowest
    return count


@inline
def member_list(words, out):
    """Fill `out` with the leaves of a bit set, increasing; return how many they are."""
    count = 0
    for w in range(words.size):
        count = add_members(words[w], 64 * w, out, count)
    return count


def cluster_sizes(n: int) -> npt.NDArray[np.uint8]:
    """The sizes of all 2^n clusters, by mask.

    >>> cluster_sizes(3)
    array([0, 1, 1, 2, 1, 2, 2, 3], dtype=uint8)
    """
    sizes = np.empty(1 << n, dtype=np.uint8)
    few = min(n, 10)
    sizes[: 1 << few] = np.bitwise_count(np.arange(1 << few))
    for leaf in range(few, n):  # by doubling: a list of all masks would take more memory than the sizes
        sizes[1 << leaf : 2 << leaf] = sizes[: 1 << leaf] + np.uint8(1)
    return sizes


def cluster_members(mask: int) -> tuple[int, ...]:
    """The leaves of a cluster, in increasing order.

    >>> cluster_members(0b1101)
    (0, 2, 3)
    """
    return tuple(i for i in range(int(mask).bit_length()) if mask >> i & 1)


def left_parts(mask: int) -> Ints:
    """All proper parts of a cluster that hold its lowest leaf, increasing: one for each split.

    >>> left_parts(0b111)
    array([1, 3, 5])
    """
    parts = np.array([mask & -mask], dtype=np.int64)
    others = mask & (mask - 1)
    while others:
        leaf = others & -others
        parts = np.concatenate([parts, parts | leaf])
        others ^= leaf
    return parts[:-1]


def lowest_first(one: Ints, two: Ints) -> tuple[Ints, Ints]:
    """The two parts of many splits, the one that holds the lowest leaf first.

    >>> lowest_first(np.array([2, 1]), np.array([1, 2]))
    (array([1, 1]), array([2, 2]))
    """
    swap = (two & -two) < (one & -one)
    return np.where(swap, two, one), np.where(swap, one, two)


def cluster_mask(cluster: Cluster, labels: Sequence[str]) -> int:
    """The bit mask of a cluster given by leaf indices (integers) or by labels (strings).

    >>> cluster_mask(["a", "c"], labels=("a", "b", "c")), cluster_mask([1], labels=("a", "b", "c"))
    (5, 2)
    """
    return mask_of_leaves(cluster_leaves(cluster, labels))


def mask_of_leaves(leaves: Iterable[int]) -> int:
    """Σ 2^i over these leaves, each given once: the bit mask of their cluster.

    >>> mask_of_leaves([0, 2, 3]) == 0b1101
    True
    """
    return sum(1 << leaf for leaf in leaves)


def cluster_leaves(cluster: Cluster, labels: Sequence[str]) -> frozenset[int]:
    """The leaves of a cluster given by leaf indices (integers) or by labels (strings), of which there must be some."""
    leaves = leaf_numbers(cluster, leaf_index(labels))
    if not leaves:
        raise ValueError("the cluster is empty; a cluster holds at least one leaf")
    return leaves
