"""The sparse trellis: chosen clusters of any number of leaves, and chosen splits of them."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
import numpy.typing as npt

from palmette._immutable import Immutable, read_only
from palmette._jit import kernel
from palmette.array_types import Ints, Words
from palmette.clusters import cluster_members, mask_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.labels import align_labels, leaf_index, leaf_numbers, name_leaves
from palmette.trellis.bit_sets import BitSets, as_words, from_words
from palmette.trellis.counting import double_factorial
from palmette.trellis.hierarchies.closing import all_splits, lowest_leaves
from palmette.trellis.hierarchies.observed import Observed, by_size, observe

__all__ = ["SparseTrellis"]


class SparseTrellis(Immutable):
    """Chosen clusters, chosen splits of them, and every binary hierarchy that can be made of these splits.

    Two kinds. With *observed* splits (in phylogenetics: CCD1) a cluster is split only in ways that some given hierarchy
    splits it. *Closed* (CCD0), it is split in all ways into two clusters that are there, whichever hierarchies they
    came from. Either way hierarchies are mixed: the trellis of a few holds many more than those.

    Make one with `from_hierarchies`, and hand it to `HierarchyPosterior` as ``trellis=``. Clusters are numbered by
    rising size, leaves first, the root last; splits are sorted by parent.

    >>> given = [Hierarchy.from_newick("(((a,b),c),((d,e),f));"), Hierarchy.from_newick("((a,(b,c)),(d,(e,f)));")]
    >>> SparseTrellis.from_hierarchies(given).count
    4
    """

    labels: tuple[str, ...]
    """The names of the leaves."""
    words: Words
    """The clusters as bit sets, rows of 64-bit words with the lowest leaves first; shape (n_clusters, w)."""
    offsets: Ints
    """Cluster p has the splits offsets[p] ≤ s < offsets[p + 1]; shape (n_clusters + 1,)."""
    left: Ints
    """The part of each split that holds its lowest leaf, shape (n_splits,)."""
    right: Ints
    """The other part of each split."""
    is_closed: bool
    """Whether all splits into two of the clusters are there."""

    def __init__(self) -> None:
        raise TypeError("a SparseTrellis is made by SparseTrellis.from_hierarchies or from_clusters")

    @classmethod
    def _make(
        cls, labels: tuple[str, ...], words: Words, parent: Ints, left: Ints, right: Ints, is_closed: bool
    ) -> SparseTrellis:
        # Splits sorted by parent, then by left part; every cluster is in some hierarchy.
        self = object.__new__(cls)
        offsets = np.searchsorted(parent, np.arange(len(words) + 1))
        arrays = {"words": words, "offsets": offsets, "left": left, "right": right}
        arrays = {name: read_only(np.ascontiguousarray(array)) for name, array in arrays.items()}
        self.__dict__.update(arrays, labels=labels, is_closed=is_closed)
        return self

    @classmethod
    def from_hierarchies(
        cls,
        hierarchies: Iterable[Hierarchy],
        *,
        closed: bool = False,
        orders: Iterable[Iterable[int]] | None = None,
    ) -> SparseTrellis:
        """The clusters of binary hierarchies on the same labels, with the splits observed, or closed.

        Any sequence of hierarchies will do: results of searches, SciPy linkages, truths of a simulator, draws, the
        trees of a file.

        >>> given = [Hierarchy.from_newick("(((a,b),c),(d,e));"), Hierarchy.from_newick("(((a,b),(d,e)),c);")]
        >>> SparseTrellis.from_hierarchies(given).count, SparseTrellis.from_hierarchies(given, closed=True).count
        (2, 2)

        With `orders`, one for each hierarchy, leaves are named by their rank, ``orders[k][r]`` being the leaf of
        hierarchy k that has rank r. Such a trellis is built once from many data sets, and serves others whose leaves
        are put into the same kind of order.

        >>> given = [Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("((p,q),r);")]
        >>> SparseTrellis.from_hierarchies(given, orders=[[0, 1, 2], [2, 0, 1]]).labels
        ('0', '1', '2')
        """
        if orders is not None:
            hierarchies, orders = list(hierarchies), list(orders)
            if len(orders) != len(hierarchies):
                raise ValueError(f"{len(hierarchies)} hierarchies and {len(orders)} orders; give one order for each")
            hierarchies = map(Hierarchy.ranked, hierarchies, orders)
        return cls.from_observed(observe(hierarchies), closed=closed)

    @classmethod
    def from_observed(cls, seen: Observed, *, closed: bool = False) -> SparseTrellis:
        """The clusters that `observe` found, by the same numbers, with the splits observed, or closed."""
        if closed:
            return cls._closed(seen.labels, seen.words)
        return cls._make(seen.labels, seen.words, seen.parent, seen.left, seen.right, False)

    @classmethod
    def from_clusters(cls, clusters: Iterable[Iterable[int | str]], labels: Iterable[str]) -> SparseTrellis:
        """The closed trellis of these clusters, the leaves, and all of them together.

        Clusters that are in no hierarchy made of them are dropped; ValueError if there is no hierarchy.

        >>> SparseTrellis.from_clusters([["a", "b"], ["c", "d"], ["a", "b", "c"]], labels=["a", "b", "c", "d"]).count
        2
        """
        names = name_leaves((), labels)
        index = leaf_index(names)
        masks = [mask_of_leaves(leaf_numbers(cluster, index)) for cluster in clusters]
        return cls._of_masks(masks, names)

    @classmethod
    def _of_masks(cls, masks: Iterable[int], labels: tuple[str, ...]) -> SparseTrellis:
        n = len(labels)
        every = {*masks, *(1 << leaf for leaf in range(n)), (1 << n) - 1} - {0}
        words = as_words(list(every), n)
        return cls._closed(labels, words[by_size(words)])

    @classmethod
    def _closed(cls, labels: tuple[str, ...], words: Words) -> SparseTrellis:
        kept, parent, left, right = all_splits(words, len(labels))
        return cls._make(labels, words[kept], parent, left, right, True)

    def closed(self) -> SparseTrellis:
        """The same clusters with all splits into two of them."""
        return self if self.is_closed else SparseTrellis._closed(self.labels, self.words)

    def aligned_to(self, labels: tuple[str, ...]) -> SparseTrellis:
        """The same trellis with its leaves renumbered: leaf i is called `labels[i]`. One object as long as it lives."""
        if self.labels == labels:
            return self
        found = self._alignments.get(labels)
        if found is None:
            found = self._alignments[labels] = self._renumbered(labels)
        return found

    @cached_property
    def _alignments(self) -> WeakValueDictionary[tuple[str, ...], SparseTrellis]:
        return WeakValueDictionary()

    def _renumbered(self, labels: tuple[str, ...]) -> SparseTrellis:
        n = self.n_leaves
        columns = np.unpackbits(self.words.astype("<u8").view(np.uint8), axis=1, bitorder="little")[:, :n]
        moved = np.zeros((len(columns), 64 * self.words.shape[1]), dtype=np.uint8)
        moved[:, :n] = columns[:, align_labels(self.labels, labels)]
        words = np.packbits(moved, axis=1, bitorder="little").view("<u8").astype(np.uint64)
        order = by_size(words)
        rank = np.argsort(order)
        words = words[order]
        lowest = lowest_leaves(words)
        parent, one, two = (rank[side] for side in (self.parent, self.left, self.right))
        left = np.where(lowest[one] < lowest[two], one, two)
        by_parent = np.lexsort((left, parent))
        right = one + two - left
        splits = (parent[by_parent], left[by_parent], right[by_parent])
        return SparseTrellis._make(labels, words, *splits, self.is_closed)

    def extended(self, masks: Iterable[int]) -> SparseTrellis:
        """The closed trellis of these clusters and more, given as bit masks; those that fit nowhere are dropped."""
        added = list(masks)
        if added and not (min(added) > 0 and max(added) < 1 << self.n_leaves):
            wrong = next(mask for mask in added if not 0 < mask < 1 << self.n_leaves)
            raise ValueError(
                f"bit mask {wrong} is no cluster of {self.n_leaves} leaves; bits 0 to {self.n_leaves - 1} count"
            )
        return SparseTrellis._of_masks([*self.masks, *added], self.labels)

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.labels)

    @property
    def n_clusters(self) -> int:
        """The number of clusters, leaves and root included."""
        return len(self.words)

    @property
    def n_splits(self) -> int:
        """The number of splits: what a pass costs."""
        return len(self.left)

    @cached_property
    def sizes(self) -> Ints:
        """The number of leaves of each cluster, shape (n_clusters,)."""
        return read_only(np.bitwise_count(self.words).sum(axis=1, dtype=np.int64))

    @cached_property
    def parent(self) -> Ints:
        """The cluster that each split splits, shape (n_splits,)."""
        return read_only(np.repeat(np.arange(self.n_clusters), np.diff(self.offsets)))

    @cached_property
    def masks(self) -> list[int]:
        """Every cluster as a bit mask, an integer of any length."""
        return from_words(self.words)

    @cached_property
    def count(self) -> int:
        """The exact number of hierarchies."""
        return self.count_possible(np.ones(self.n_splits, dtype=np.bool_))

    def count_possible(self, possible: npt.NDArray[np.bool_]) -> int:
        """The exact number of hierarchies made of possible splits only."""
        counts = [1] * self.n_leaves + [0] * (self.n_clusters - self.n_leaves)
        splits = np.flatnonzero(possible)
        for p, a, b in zip(*(x[splits].tolist() for x in (self.parent, self.left, self.right)), strict=True):
            counts[p] += counts[a] * counts[b]
        return counts[-1]

    @property
    def sparsity(self) -> Fraction:
        """The share of all (2n − 3)!! hierarchies that are in the trellis, exactly."""
        return Fraction(self.count, double_factorial(2 * self.n_leaves - 3))

    def members(self, i: int) -> tuple[int, ...]:
        """The leaves of cluster i, increasing."""
        return cluster_members(self.masks[i])

    def find(self, cluster: Iterable[int | str]) -> int:
        """The number of the cluster of these leaves, −1 if it is not there."""
        return self.find_mask(mask_of_leaves(leaf_numbers(cluster, leaf_index(self.labels))))

    def find_mask(self, mask: int) -> int:
        """The number of the cluster with this bit mask, −1 if it is not there."""
        return int(self._sets.find(as_words([mask], self.n_leaves))[0])

    def find_words(self, words: Words) -> Ints:
        """The numbers of the clusters with these bit sets, −1 where there is none."""
        return self._sets.find(words)

    @cached_property
    def _sets(self) -> BitSets:
        sets = BitSets(self.words.shape[1])
        sets.insert(self.words)
        return sets

    def find_hierarchy(self, hierarchy: Hierarchy) -> Ints:
        """(n − 1,): the split of each inner node of a binary hierarchy on the same labels, −1 if it is not there."""
        seen = observe([hierarchy.aligned_to(self.labels)])
        number = self._sets.find(seen.words)
        return self.find_splits(number[seen.parent], number[seen.left])

    def find_splits(self, parent: Ints, left: Ints) -> Ints:
        """The numbers of the splits of these clusters with these left parts; −1 where there is none."""
        out = np.empty(len(parent), dtype=np.int64)
        _find_splits(self.offsets, self.left, parent, left, out)
        return out

    def holds(self, hierarchy: Hierarchy) -> bool:
        """Whether a binary hierarchy on the same labels is made of splits of this trellis."""
        return bool((self.find_hierarchy(hierarchy) >= 0).all())

    def hierarchy_of(self, splits: npt.NDArray[np.integer]) -> Hierarchy:
        """The hierarchy made of these n − 1 splits."""
        n = self.n_leaves
        ordered = np.sort(np.asarray(splits, dtype=np.int64))  # by parent, so by size: children before parents
        node = np.full(self.n_clusters, -1, dtype=np.int64)
        node[:n] = np.arange(n)
        node[self.parent[ordered]] = n + np.arange(n - 1)
        parents = np.full(2 * n - 1, -1, dtype=np.int64)
        for side in (self.left, self.right):
            parents[node[side[ordered]]] = n + np.arange(n - 1)
        return Hierarchy.from_parents(parents, self.labels)

    def __reduce__(self) -> tuple[Any, ...]:
        arrays = (self.words, self.parent, self.left, self.right, self.is_closed)
        return SparseTrellis._make, (self.labels, *arrays)

    def __repr__(self) -> str:
        kind = "closed" if self.is_closed else "observed splits"
        return (
            f"SparseTrellis(<{self.n_leaves:,} leaves, {self.n_clusters:,} clusters, {self.n_splits:,} splits, {kind}>)"
        )


@kernel
def _find_splits(offsets, left, parents, lefts, out):
    """out[i] = the split of parents[i] whose left part is lefts[i], −1 if it is not listed; left parts increase."""
    for i in range(out.size):
        out[i] = -1
        if parents[i] >= 0 and lefts[i] >= 0:
            a, b = offsets[parents[i]], offsets[parents[i] + 1]
            at = a + np.searchsorted(left[a:b], lefts[i])
            if at < b and left[at] == lefts[i]:
                out[i] = at
