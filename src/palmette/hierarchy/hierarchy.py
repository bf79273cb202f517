"""`Hierarchy`: a rooted tree over labelled leaves, checked once and immutable ever after."""

from collections.abc import Iterable
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Floats, Ints
from palmette.checks import as_integers, branch_values, check_integer, is_whole, node_values, optional_node_values
from palmette.formats.linkage import read_linkage
from palmette.formats.newick import NewickTree, newick_text, parse_newick
from palmette.hierarchy import arrays
from palmette.hierarchy.given import (
    families_from_nested,
    links_from_merges,
    links_from_parents,
    parents_from_clusters,
    parents_from_splits,
)
from palmette.hierarchy.pruning import cheapest_nodes
from palmette.hierarchy.written import WrittenTree
from palmette.labels import (
    align_labels,
    check_labels,
    describe_cluster,
    leaf_index,
    leaf_number,
    leaf_numbers,
    name_leaves,
    read_clusters,
)
from palmette.links import Links, links_from_families
from palmette.partition import Partition

__all__ = ["Hierarchy"]


class Hierarchy(WrittenTree):
    """A rooted tree over labelled leaves, in which every inner node has two or more children.

    Leaves are the nodes 0 … n−1. Inner nodes follow, children before parents (SciPy's numbering), so the
    root is the last. Heights, leaf numbers and the order of children carry no meaning for `==`: two
    hierarchies are equal when they have the same clusters of labels. A hierarchy never changes, and no
    operation recurses, so depth is no concern.

    Make one with `from_newick`, `from_linkage`, `from_merges`, `from_parents`, `from_nested`,
    `from_splits` or `from_clusters`.

    >>> h = Hierarchy.from_newick("((a,b),c);")
    >>> h.n_leaves, h.labels, h.is_binary
    (3, ('a', 'b', 'c'), True)
    >>> h.parents
    array([ 3,  3,  4,  4, -1])
    >>> h == Hierarchy.from_nested(("c", ("b", "a")))
    True
    """

    def __init__(self) -> None:
        raise TypeError("a Hierarchy is made by Hierarchy.from_newick, from_merges, from_nested or another from_…")

    @classmethod
    def from_merges(
        cls, children: ArrayLike, labels: Iterable[str] | None = None, heights: ArrayLike | None = None
    ) -> "Hierarchy":
        """Row i of `children`, shape (n − 1, 2), holds the two children of node n + i.

        `heights` has one number per inner node (leaves are then at 0) or one per node. They need not rise
        towards the root; `cut` and `to_linkage` say what they do where they do not.

        >>> Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
        Hierarchy.from_newick('((0,1),2);')
        """
        links = links_from_merges(as_integers(children, "children"))
        n_nodes = len(links.parents)
        n = (n_nodes + 1) // 2
        values = None if heights is None else node_values(heights, n, n_nodes, "heights")
        return cls._make(links, check_labels(labels, n), values)

    @classmethod
    def from_parents(
        cls,
        parents: ArrayLike,
        labels: Iterable[str] | None = None,
        heights: ArrayLike | None = None,
        *,
        branch_lengths: ArrayLike | None = None,
        support: ArrayLike | None = None,
    ) -> "Hierarchy":
        """`parents[v]` is the parent of node v, −1 at the root; the leaves are numbered first.

        Inner nodes may come in any order; unless children come before parents they are renumbered, and
        the numbers per node (`heights`, `branch_lengths`, `support`) with them.

        >>> Hierarchy.from_parents([4, 4, 4, 5, 5, -1], labels=["a", "b", "c", "d"])
        Hierarchy.from_newick('((a,b,c),d);')
        """
        links, order = links_from_parents(as_integers(parents, "parents"))
        m = len(order)
        n = int((links.child_offsets == 0).sum()) - 1
        given = (
            None if heights is None else node_values(heights, n, m, "heights"),
            branch_values(branch_lengths, m),
            optional_node_values(support, m, "support"),
        )
        return cls._make(links, check_labels(labels, n), *(None if x is None else x[order] for x in given))

    @classmethod
    def from_nested(cls, nested: Any, labels: Iterable[str] | None = None) -> "Hierarchy":
        """Nested tuples or lists; leaves are leaf numbers (integers) or labels (strings).

        Without `labels`, strings become the labels in reading order.

        >>> Hierarchy.from_nested(((0, 2), 1), labels=["a", "b", "c"])
        Hierarchy.from_newick('((a,c),b);')
        """
        families, leaves = families_from_nested(nested)
        names = name_leaves(leaves, labels)
        index = leaf_index(names)
        numbers = [leaf_number(leaf, index) for leaf in leaves]
        if len(set(numbers)) < len(numbers) or len(numbers) < len(names):
            _refuse_leaves(numbers, names)
        families = [[child if child < 0 else numbers[child] for child in family] for family in families]
        return cls._make(links_from_families(families, len(names)), names)

    @classmethod
    def from_clusters(
        cls, clusters: Iterable[Iterable[int | str]], labels: Iterable[str] | None = None, *, n: int | None = None
    ) -> "Hierarchy":
        """The hierarchy with these clusters, its singletons and its root, and no others.

        Clusters must be nested or disjoint. Integers are leaf numbers, strings are labels; without
        `labels` and `n`, the leaves are those that occur (names sorted).

        >>> Hierarchy.from_clusters([{0, 1}], n=4)
        Hierarchy.from_newick('((0,1),2,3);')
        """
        found, names = read_clusters(clusters, labels, n)
        return cls._make(links_from_parents(parents_from_clusters(found, names))[0], names)

    @classmethod
    def from_splits(
        cls, splits: Iterable[tuple[Iterable[int | str], Iterable[int | str]]], labels: Iterable[str] | None = None
    ) -> "Hierarchy":
        """The binary hierarchy with exactly these splits, one per inner node, in any order.

        >>> Hierarchy.from_splits([({"a"}, {"b"}), ({"a", "b"}, {"c"})])
        Hierarchy.from_newick('((a,b),c);')
        """
        parents, names = parents_from_splits(splits, labels)
        return cls._make(links_from_parents(parents)[0], names)

    @classmethod
    def from_newick(cls, text: str) -> "Hierarchy":
        """The hierarchy that a Newick text describes; see `palmette.formats.newick` for the dialect.

        >>> Hierarchy.from_newick("((a:1,b:1)0.9:2,c:3);").heights
        array([0., 0., 0., 1., 3.])
        """
        labels, links, lengths, support = parse_newick(text)
        return cls._make(links, labels, None, lengths, support)

    @classmethod
    def from_linkage(cls, Z: ArrayLike, labels: Iterable[str] | None = None) -> "Hierarchy":
        """The hierarchy of a SciPy linkage, shape (n − 1, 4); row i is (child, child, height, size) of node n + i.

        Heights need not rise (centroid and median linkage have inversions). The first child stays the first,
        so `leaf_order` is SciPy's `leaves_list`.

        >>> Hierarchy.from_linkage([[0, 1, 0.5, 2], [2, 3, 2.0, 3]]).heights
        array([0. , 0. , 0. , 0.5, 2. ])
        """
        linkage = read_linkage(Z)
        hierarchy = cls.from_merges(linkage.merges, labels, linkage.heights)
        linkage.check_sizes(hierarchy.sizes[hierarchy.n_leaves :])
        return hierarchy

    def cut(self, k: int) -> Partition:
        """The k clusters that are left when the highest merges are undone first.

        A node counts as no lower than anything below it; among equal heights the later node goes first.
        A binary hierarchy can be cut into any 1 ≤ k ≤ n.

        >>> Hierarchy.from_newick("((a,b),(c,d));").cut(3)
        Partition([0, 0, 1, 2], labels=('a', 'b', 'c', 'd'))
        """
        if not is_whole(k):
            raise TypeError(f"k must be an integer, the number of clusters, not {k!r}")
        reachable = self.cut_counts
        undone = int(np.searchsorted(reachable, k))
        if not 1 <= k <= self.n_leaves:
            raise ValueError(f"cannot cut {self.n_leaves} leaves into {k} clusters; give 1 to {self.n_leaves}")
        if reachable[undone] != k:
            raise ValueError(
                f"this hierarchy is not binary and its cuts skip k = {k}; "
                f"the nearest that exist are {reachable[undone - 1]} and {reachable[undone]}"
            )
        return self._without(self.cut_order[:undone])

    def cheapest_cut(self, costs: ArrayLike, k: int) -> Partition:
        """Of all partitions into k of its clusters, the one with the smallest sum of costs, in O(nk) time.

        `costs` has one number per node, or one per inner node (leaves then cost 0).

        >>> h = Hierarchy.from_newick("(((a,b),c),(d,e));")
        >>> h.cheapest_cut([1.0, 5.0, 2.0, 9.0], 3)
        Partition([0, 0, 1, 2, 2], labels=('a', 'b', 'c', 'd', 'e'))
        """
        values = node_values(costs, self.n_leaves, self.n_nodes, "costs")
        count = check_integer("k", k, 1)
        if count > self.n_leaves:
            raise ValueError(f"cannot cut {self.n_leaves} leaves into {k} clusters; give 1 to {self.n_leaves}")
        nodes = cheapest_nodes(self.links, values, count)
        if nodes is None:
            raise ValueError(
                f"this hierarchy is not binary, and no {k} of its clusters hold every leaf once; try another k"
            )
        return self._of_nodes(nodes)

    def cut_height(self, height: float) -> Partition:
        """The largest clusters whose height is at most `height`; a leaf always stays.

        >>> Hierarchy.from_newick("((a,b),c);").cut_height(1.5).n_clusters
        2
        """
        if not height == height:
            raise ValueError("height is NaN; give a number")
        return self._without(self.n_leaves + np.flatnonzero(self._rising_heights > height))

    def first_clusters(self, is_cluster: ArrayLike) -> Partition:
        """From the root down, the first clusters for which `is_cluster`, one flag per inner node, holds; then leaves.

        >>> Hierarchy.from_newick("(((a,b),c),d);").first_clusters([False, True, False]).membership
        array([0, 0, 0, 1])
        """
        n, flags = self.n_leaves, np.asarray(is_cluster, dtype=bool)
        if flags.shape != (self.n_nodes - n,):
            raise ValueError(f"is_cluster has shape {flags.shape}; give {self.n_nodes - n} flags, one per inner node")
        undone = (~flags).tolist()
        for k, parent in reversed(list(enumerate((self.parents[n:-1] - n).tolist()))):
            undone[k] = undone[k] and undone[parent]
        return self._without(n + np.flatnonzero(undone))

    def aligned_to(self, labels: Iterable[str]) -> "Hierarchy":
        """The same hierarchy with its leaves renumbered: leaf i is called `labels[i]`.

        >>> Hierarchy.from_newick("((a,b),c);").aligned_to(["c", "b", "a"]).parents
        array([ 4,  3,  3,  4, -1])
        """
        order = align_labels(self.labels, labels)
        return self._renumbered(order, tuple(self.labels[leaf] for leaf in order))

    def ranked(self, order: Iterable[int]) -> "Hierarchy":
        """The same hierarchy with its leaves named by their rank: leaf `order[r]` becomes leaf r, called ``str(r)``.

        So hierarchies of different data can be laid over each other, leaf by leaf, where leaves have no names that
        mean anything: particles by momentum, say.

        >>> Hierarchy.from_newick("((a,b),c);").ranked([2, 0, 1])
        Hierarchy.from_newick('((1,2),0);')
        """
        given = np.asarray(order if isinstance(order, np.ndarray) else list(order))
        if given.shape != (self.n_leaves,) or not np.array_equal(np.sort(given), np.arange(self.n_leaves)):
            raise ValueError(
                f"the order is {given.tolist()}; expected the leaf of each rank, "
                f"so each of the numbers 0 to {self.n_leaves - 1} once"
            )
        return self._renumbered(given.astype(np.int64), tuple(map(str, range(self.n_leaves))))

    def restricted(self, leaves: Iterable[int | str]) -> "Hierarchy":
        """The hierarchy of these leaves (numbers or labels) alone: every cluster without the others, if two are left.

        The leaves keep their order, and every node that stays keeps its height. Branch lengths that were read are added
        up over the nodes that go. Support says nothing about the smaller clusters, so it is left out.

        >>> Hierarchy.from_newick("(((a,b),c),(d,e));").restricted(["a", "c", "e"])
        Hierarchy.from_newick('((a,c),e);')
        """
        kept = sorted(leaf_numbers(leaves, self._leaf_index))
        if not kept:
            raise ValueError("no leaves were given; a hierarchy has at least one")
        nodes, parents, lengths = arrays.restrict(self.parents, kept, self._lengths)
        return Hierarchy.from_parents(
            parents,
            [self.labels[leaf] for leaf in kept],
            None if self._heights is None else self._heights[nodes],
            branch_lengths=lengths,
        )

    def _renumbered(self, order: Ints, names: tuple[str, ...]) -> "Hierarchy":
        inner = np.arange(self.n_leaves, self.n_nodes)
        old, new = np.concatenate((order, inner)), np.concatenate((np.argsort(order), inner))
        links = Links(self.parents[old], self.child_offsets, new[self.child_nodes])
        values = (self._heights, self._lengths, self.support)
        return self._make(links, names, *(None if x is None else x[old] for x in values))

    def __reduce__(self) -> tuple[Any, ...]:
        return _rebuild, (tuple(self.links), self.labels, self._heights, self._lengths, self.support)

    def __repr__(self) -> str:
        if self.n_leaves <= 12 and sum(map(len, self.labels)) <= 80:
            bare = newick_text(NewickTree(self.labels, self.links, None, None))
            return f"Hierarchy.from_newick({bare!r})"
        return f"Hierarchy(<{self.n_leaves} leaves, {self.n_nodes} nodes>)"

    def _without(self, undone: Ints) -> Partition:
        """The largest clusters that are left without the nodes `undone`, which hold their own ancestors."""
        gone = np.zeros(self.n_nodes + 1, dtype=bool)
        gone[undone] = gone[-1] = True  # the last entry is what parent −1 points at
        return self._of_nodes(np.flatnonzero(~gone[:-1] & gone[self.parents]))

    def _of_nodes(self, nodes: Ints) -> Partition:
        """The clusters of `nodes`, which hold every leaf once."""
        kept = nodes[np.argsort(self.intervals[nodes, 0])]
        membership = np.empty(self.n_leaves, dtype=np.int64)
        membership[self.leaf_order] = np.repeat(np.arange(len(kept)), self.sizes[kept])
        return Partition(membership, self.labels)


def _rebuild(links: tuple[Ints, Ints, Ints], labels: tuple[str, ...], *values: Floats | None) -> Hierarchy:
    return Hierarchy._make(Links(*links), labels, *values)


def _refuse_leaves(numbers: list[int], names: tuple[str, ...]) -> NoReturn:
    seen: set[int] = set()
    for number in numbers:
        if number in seen:
            raise ValueError(f"leaf {names[number]!r} occurs twice; each leaf occurs once in a hierarchy")
        seen.add(number)
    missing = describe_cluster(set(range(len(names))) - seen, names)
    raise ValueError(f"leaves {missing} do not occur; every leaf must occur once")
