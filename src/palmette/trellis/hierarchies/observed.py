"""Clusters and splits that occur in given hierarchies, each once, with how often they occur."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import kernel
from palmette.array_types import Floats, Ints, Words
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet
from palmette.labels import align_labels
from palmette.trellis.bit_sets import BitSets, n_words

__all__ = ["Observed", "by_size", "check_weights", "observe"]


_AT_A_TIME = 10**6  # words of bit sets that are looked at in one go


class Observed(NamedTuple):
    """Clusters by rising size, leaves first, the root last; splits by parent, then by left part.

    The left part of a split is the one that holds the lowest leaf.
    """

    labels: tuple[str, ...]
    words: Words  # (m, w): the clusters as bit sets
    parent: Ints  # (k,)
    left: Ints
    right: Ints
    weight: Floats  # (k,): the total weight of the hierarchies that have this split
    splits: Ints  # (T, n − 1): which splits each hierarchy is made of

    @property
    def totals(self) -> Floats:
        """(m,): the total weight of the hierarchies that have this cluster; 0 for leaves, which all have."""
        return np.bincount(self.parent, self.weight, minlength=len(self.words)).astype(np.float64)


@kernel
def _read(parents: Any, n: int, words: Words, children: Ints, lowest: Ints) -> int:
    # words[t, v], children[t, v]: the bit set of inner node n + v of tree t, and its two children, that with the lowest
    # leaf first. Children come before parents. Returns the number of a tree that is not binary, or −1.
    for t in range(parents.shape[0]):
        for leaf in range(n):
            lowest[leaf] = leaf
        for v in range(n - 1):
            lowest[n + v] = n
            children[t, v, 0] = children[t, v, 1] = -1
            for w in range(words.shape[2]):
                words[t, v, w] = np.uint64(0)
        for node in range(2 * n - 2):
            up = parents[t, node] - n
            if node < n:
                words[t, up, node >> 6] |= np.uint64(1) << np.uint64(node & 63)
            else:
                for w in range(words.shape[2]):
                    words[t, up, w] |= words[t, node - n, w]
            if children[t, up, 0] < 0:
                children[t, up, 0] = node
            elif children[t, up, 1] < 0:
                children[t, up, 1] = node
            else:
                return t
            lowest[n + up] = min(lowest[n + up], lowest[node])
        for v in range(n - 1):
            if children[t, v, 1] < 0:
                return t
            if lowest[children[t, v, 1]] < lowest[children[t, v, 0]]:
                children[t, v, 0], children[t, v, 1] = children[t, v, 1], children[t, v, 0]
    return -1


def by_size(words: Words) -> Ints:
    """The order of bit sets by rising size, then by rising mask."""
    sizes = np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return np.lexsort((*words.T, sizes))


def observe(hierarchies: Iterable[Hierarchy], weights: npt.ArrayLike | None = None) -> Observed:
    """The clusters and splits of binary hierarchies on the same labels, in any order of the leaves."""
    batches = _tables(hierarchies) if isinstance(hierarchies, TreeSet) else _batches(iter(hierarchies))
    labels, parents = next(batches, (None, None))
    if labels is None or parents is None:
        raise ValueError("no hierarchy was given; give at least one")
    n = len(labels)
    sets = BitSets(n_words(n))
    sets.insert(_singletons(n))
    found = [_insert(sets, parents, n, 0)]
    for _, parents in batches:
        found.append(_insert(sets, parents, n, sum(len(part) for part in found)))
    numbers = np.concatenate(found)  # (T, n − 1, 3)
    order = by_size(sets.words)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    parent, left, right = rank[numbers.reshape(-1, 3)].T
    per_tree = check_weights(weights, len(numbers))
    keys, first, which = np.unique(parent * len(order) + left, return_index=True, return_inverse=True)
    weight = np.bincount(which.reshape(-1), np.repeat(per_tree, n - 1), minlength=len(keys)).astype(np.float64)
    splits = which.reshape(len(numbers), n - 1)
    return Observed(labels, sets.words[order], parent[first], left[first], right[first], weight, splits)


def _tables(trees: TreeSet) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int32]]]:
    # The same as `_batches` without making the hierarchies.
    n_nodes = 2 * len(trees.labels) - 1
    other = np.flatnonzero(np.diff(trees.offsets) != n_nodes)
    if len(other):
        raise ValueError(f"hierarchy {other[0]} is not binary: one of its clusters has three parts or more")
    table = trees.parents.reshape(-1, n_nodes)
    step = max(1, _AT_A_TIME // (n_nodes * n_words(len(trees.labels))))
    for first in range(0, len(table), step):
        yield trees.labels, table[first : first + step]


def _batches(hierarchies: Iterator[Hierarchy]) -> Iterator[tuple[tuple[str, ...], npt.NDArray[np.int32]]]:
    # Arrays (T, 2n − 1) of parents with the leaves in the order of the first hierarchy's labels.
    labels: tuple[str, ...] | None = None
    rows: list[npt.NDArray[np.integer]] = []
    for number, hierarchy in enumerate(hierarchies):
        if not isinstance(hierarchy, Hierarchy):
            raise TypeError(f"expected hierarchies, but number {number} is a {type(hierarchy).__name__}")
        if not hierarchy.is_binary:
            raise ValueError(f"hierarchy {number} is not binary: one of its clusters has three parts or more")
        labels = hierarchy.labels if labels is None else labels
        rows.append(_parents(hierarchy, labels))
        if len(rows) * len(rows[0]) * n_words(len(labels)) > _AT_A_TIME:
            yield labels, np.array(rows, dtype=np.int32)
            rows = []
    if labels is not None and rows:
        yield labels, np.array(rows, dtype=np.int32)


def _parents(hierarchy: Hierarchy, labels: tuple[str, ...]) -> npt.NDArray[np.integer]:
    if hierarchy.labels == labels:
        return hierarchy.parents
    order = align_labels(hierarchy.labels, labels)
    return np.concatenate([hierarchy.parents[order], hierarchy.parents[hierarchy.n_leaves :]])


def _singletons(n: int) -> Words:
    words = np.zeros((n, n_words(n)), dtype=np.uint64)
    leaves = np.arange(n)
    words[leaves, leaves >> 6] = np.uint64(1) << (leaves & 63).astype(np.uint64)
    return words


def _insert(sets: BitSets, parents: npt.NDArray[np.int32], n: int, first: int) -> Ints:
    # (T, n − 1, 3): the numbers of each inner node's cluster and of its two parts.
    T = len(parents)
    parents = read_only(np.ascontiguousarray(parents).view())  # one kind of array: each kind has a kernel of its own
    words = np.empty((T, n - 1, n_words(n)), dtype=np.uint64)
    children = np.empty((T, n - 1, 2), dtype=np.int64)
    bad = _read(parents, n, words, children, np.empty(2 * n - 1, dtype=np.int64))
    if bad >= 0:
        raise ValueError(f"hierarchy {first + bad} is not binary: one of its clusters has three parts or more")
    inner = sets.insert(words.reshape(T * (n - 1), n_words(n))).reshape(T, n - 1)
    numbers = np.concatenate([np.broadcast_to(np.arange(n), (T, n)), inner], axis=1)
    parts = np.take_along_axis(numbers, children.reshape(T, -1), axis=1).reshape(T, n - 1, 2)
    return np.concatenate([inner[:, :, None], parts], axis=2)


def check_weights(weights: npt.ArrayLike | None, count: int) -> Floats:
    """(count,): one weight for each hierarchy, none of them negative; all alike if none are given."""
    if weights is None:
        return np.ones(count)
    given = np.asarray(weights, dtype=np.float64)
    if given.shape != (count,):
        raise ValueError(f"weights has shape {given.shape}; expected one for each of the {count} hierarchies")
    if not (np.isfinite(given).all() and (given >= 0.0).all() and given.sum() > 0.0):
        raise ValueError("weights must be finite and not negative, and some of them positive")
    return given
