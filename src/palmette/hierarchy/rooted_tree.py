"""What a hierarchy knows about itself: shape, heights, clusters, pairs of leaves, identity."""

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self, TypeAlias, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from palmette._immutable import Labelled, read_only
from palmette.array_types import Floats, Ints
from palmette.checks import as_integers, node_values, optional_node_values
from palmette.hierarchy import arrays
from palmette.labels import leaf_index, leaf_number, leaf_numbers
from palmette.links import Links

Support: TypeAlias = Mapping[frozenset[int], float] | ArrayLike
_Leaves = Sequence[int] | NDArray[np.integer[Any]]
_MASK_BITS = 63  # what fits into int64 beside the sign


class RootedTree(Labelled):
    """A rooted tree over labelled leaves, stored as links and read through them; see `Hierarchy`.

    Everything that is not stored is computed on first use, in one pass over the nodes, and kept.
    """

    parents: Ints
    """The parent of each node, −1 at the root, shape (n_nodes,)."""
    child_offsets: Ints
    """Node v has the children `child_nodes[child_offsets[v]:child_offsets[v + 1]]`; shape (n_nodes + 1,)."""
    child_nodes: Ints
    """All nodes but the root, grouped by parent, shape (n_nodes − 1,)."""
    support: Floats | None
    """A number per node that says how well its cluster is supported, NaN where there is none; or None."""
    _heights: Floats | None
    _lengths: Floats | None

    @classmethod
    def _make(
        cls,
        links: Links,
        labels: tuple[str, ...],
        heights: Floats | None = None,
        lengths: Floats | None = None,
        support: Floats | None = None,
    ) -> Self:
        self = object.__new__(cls)
        fields = {**links._asdict(), "_heights": heights, "_lengths": lengths, "support": support}
        self.__dict__.update({name: None if x is None else read_only(x) for name, x in fields.items()}, labels=labels)
        return self

    @property
    def links(self) -> Links:
        """The parents, child offsets and child nodes together."""
        return Links(self.parents, self.child_offsets, self.child_nodes)

    @property
    def n_nodes(self) -> int:
        """The number of nodes, leaves included: 2n − 1 when binary."""
        return len(self.parents)

    @property
    def is_binary(self) -> bool:
        """Whether every inner node has exactly two children; a single leaf is binary."""
        return self.n_nodes == 2 * self.n_leaves - 1

    @property
    def children(self) -> Ints:
        """Row i holds the two children of node n + i, shape (n − 1, 2); raises unless binary."""
        self._require_binary("children")
        return self.child_nodes.reshape(-1, 2)

    def children_of(self, node: int) -> list[int]:
        """The children of a node, in order; none of a leaf.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c,d);").children_of(5)
        [4, 2, 3]
        """
        return self.links.children_of(node)

    @cached_property
    def sizes(self) -> Ints:
        """The number of leaves below each node, shape (n_nodes,)."""
        return read_only(arrays.subtree_sizes(self.parents, self.n_leaves))

    @property
    def leaf_order(self) -> Ints:
        """The leaves from the first child to the last, as a drawing shows them, shape (n,)."""
        return self._order[0]

    @property
    def intervals(self) -> Ints:
        """The leaves below node v are `leaf_order[start:stop]` with `start, stop = intervals[v]`."""
        return self._order[1]

    @cached_property
    def heights(self) -> Floats:
        """The height of each node, shape (n_nodes,).

        Heights that were given are kept. Otherwise, with branch lengths, the height is the largest
        distance from the root to a leaf minus the node's distance from the root (a missing length counts
        as 0); without, a leaf is at 0 and an inner node one above its highest child.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a:1,b:2):1,c:3);").heights
        array([1., 0., 0., 2., 3.])
        >>> Hierarchy.from_newick("((a,b),c);").heights
        array([0., 0., 0., 1., 2.])
        """
        if self._heights is not None:
            return self._heights
        if self._lengths is None or np.isnan(self._lengths[:-1]).all():
            return read_only(arrays.topological_heights(self.parents))
        return read_only(arrays.heights_from_lengths(self.parents, self._lengths, self.n_leaves))

    @cached_property
    def branch_lengths(self) -> Floats | None:
        """The length of the branch above each node, NaN where there is none; None when there are none at all.

        Lengths that were read are kept. Otherwise, with given heights, the height of the parent minus the
        height of the node.
        """
        if self._lengths is not None or self._heights is None or self.n_leaves == 1:
            return self._lengths
        lengths = self._heights[self.parents] - self._heights
        lengths[-1] = np.nan
        return read_only(lengths)

    @cached_property
    def cut_order(self) -> Ints:
        """The inner nodes in the order in which cuts undo them, the highest first, shape (n_nodes - n,).

        A node counts as no lower than anything below it; among equal heights the later node goes first.
        """
        return read_only(self.n_leaves + np.argsort(self._rising_heights, kind="stable")[::-1])

    @cached_property
    def cut_counts(self) -> Ints:
        """How many clusters there are when the first 0, 1, … nodes of `cut_order` are undone, (n_nodes - n + 1,)."""
        more = np.diff(self.child_offsets)[self.cut_order] - 1
        return read_only(np.concatenate(([1], 1 + np.cumsum(more))))

    def with_support(self, support: Support) -> Self:
        """The same hierarchy with another support: a mapping from clusters, or one number per node, NaN for none.

        Clusters that the hierarchy does not have are passed over.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a:1,b:2):0.5,c);").with_support({frozenset({0, 1}): 0.75}).to_newick()
        '((a:1,b:2)0.75:0.5,c);'
        """
        if isinstance(support, Mapping):
            nodes = {self.find(cluster): value for cluster, value in support.items()}
            support = [nodes.get(node, np.nan) for node in range(self.n_nodes)]
        values = optional_node_values(support, self.n_nodes, "support")
        return self._make(self.links, self.labels, self._heights, self._lengths, values)

    def with_heights(self, heights: ArrayLike | None) -> Self:
        """The same hierarchy with other heights, one per node, or one per inner node with the leaves at 0; None: none.

        Branch lengths are then the differences of these heights, or there are none.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b)0.75,c);").with_heights([1.0, 3.0]).to_newick()
        '((a:1,b:1)0.75:2,c:3);'
        """
        values = None if heights is None else node_values(heights, self.n_leaves, self.n_nodes, "heights")
        return self._make(self.links, self.labels, values, None, self.support)

    def clusters(self) -> list[frozenset[int]]:
        """The cluster of every node, in order: singletons first, the root last.

        >>> from palmette.hierarchy import Hierarchy
        >>> [sorted(cluster) for cluster in Hierarchy.from_nested(((0, 2), 1)).clusters()]
        [[0], [1], [2], [0, 2], [0, 1, 2]]
        """
        order = self.leaf_order.tolist()
        return [frozenset(order[start:stop]) for start, stop in self.intervals.tolist()]

    def named_clusters(self) -> list[tuple[str, ...]]:
        """The cluster of every node as the labels of its leaves, in the order of `clusters`.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,c),b);").named_clusters()[3:]
        [('a', 'c'), ('a', 'c', 'b')]
        """
        return [tuple(self.labels[leaf] for leaf in sorted(cluster)) for cluster in self.clusters()]

    def leaves_below(self, node: int) -> Ints:
        """The leaves of the cluster of a node, in the order of `leaf_order`; of a leaf, itself.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_nested(((2, 0), 1)).leaves_below(3)
        array([2, 0])
        """
        start, stop = self.intervals[node].tolist()
        return self.leaf_order[start:stop]

    def splits(self) -> list[tuple[frozenset[int], frozenset[int]]]:
        """The split of every inner node, in order; the side with the smallest leaf comes first.

        >>> from palmette.hierarchy import Hierarchy
        >>> [(sorted(left), sorted(right)) for left, right in Hierarchy.from_nested((1, (2, 0))).splits()]
        [([0], [2]), ([0, 2], [1])]
        """
        self._require_binary("splits")
        clusters = self.clusters()
        smallest = arrays.smallest_below(self.parents, np.arange(self.n_leaves))
        pairs = np.take_along_axis(self.children, np.argsort(smallest[self.children], axis=1), axis=1)
        return [(clusters[left], clusters[right]) for left, right in pairs.tolist()]

    def cluster_masks(self) -> Ints:
        """The cluster of every node as a bit mask (bit i for leaf i), shape (n_nodes,); n ≤ 63.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_nested(((0, 2), 1)).cluster_masks()
        array([1, 2, 4, 5, 7])
        """
        if self.n_leaves > _MASK_BITS:
            raise ValueError(
                f"bit masks hold at most {_MASK_BITS} leaves, and this hierarchy has {self.n_leaves}; "
                "use leaf_order with intervals, or clusters()"
            )
        return np.array(arrays.cluster_bits(self.parents, range(self.n_leaves)), dtype=np.int64)

    def find(self, cluster: Iterable[int | str]) -> int | None:
        """The node whose leaves are exactly `cluster` (numbers or labels), or None.

        >>> from palmette.hierarchy import Hierarchy
        >>> h = Hierarchy.from_newick("((a,b),c);")
        >>> h.find({"b", "a"}), h.find({"b", "c"})
        (3, None)
        """
        leaves = np.fromiter(leaf_numbers(cluster, self._leaf_index), dtype=np.int64)
        if len(leaves) == 0:
            raise ValueError("the cluster is empty; give at least one leaf")
        places = self.intervals[leaves, 0]
        span = (int(places.min()), int(places.max()) + 1)
        return self._node_at.get(span) if span[1] - span[0] == len(leaves) else None

    @overload
    def lca(self, i: int | str, j: int | str) -> int: ...
    @overload
    def lca(self, i: _Leaves, j: _Leaves) -> Ints: ...
    def lca(self, i: int | str | _Leaves, j: int | str | _Leaves) -> int | Ints:
        """The lowest node above both leaves, each a number or a label; arrays give an array, pair by pair.

        >>> from palmette.hierarchy import Hierarchy
        >>> h = Hierarchy.from_newick("((a,b),c);")
        >>> h.lca("a", "b"), h.lca([0, 1, 2], [1, 2, 2])
        (3, array([3, 4, 2]))
        """
        one, two = np.broadcast_arrays(self._leaf_array(i), self._leaf_array(j))
        places = np.sort([self.intervals[one, 0], self.intervals[two, 0]], axis=0)
        found = one.copy()
        apart = one != two
        found[apart] = arrays.ancestors_between(self._gap_table, places[0][apart], places[1][apart])
        return found if found.ndim else int(found)

    def cophenetic(self) -> Floats:
        """The n×n matrix of height(lca(i, j)); the diagonal holds the leaves' own heights.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c);").cophenetic()[0]
        array([0., 1., 2.])
        """
        return arrays.pairwise(self.heights, self.leaf_order, self._gap_table[0])

    def lca_size(self) -> Ints:
        """The n×n matrix of |lca(i, j)|, the size of the smallest cluster with both; the diagonal is 1.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c);").lca_size()[0]
        array([1, 2, 3])
        """
        return arrays.pairwise(self.sizes, self.leaf_order, self._gap_table[0])

    @cached_property
    def _order(self) -> tuple[Ints, Ints]:
        order, intervals = arrays.leaf_intervals(self.links, self.sizes, self.n_leaves)
        return read_only(order), read_only(intervals)

    @cached_property
    def _gap_table(self) -> list[Ints]:
        return arrays.range_maxima(arrays.ancestor_gaps(self.links, self.intervals, self.n_leaves))

    @cached_property
    def _node_at(self) -> dict[tuple[int, int], int]:
        return {(start, stop): node for node, (start, stop) in enumerate(self.intervals.tolist())}

    @cached_property
    def _leaf_index(self) -> dict[str, int]:
        return leaf_index(self.labels)

    @cached_property
    def _rising_heights(self) -> Floats:
        return arrays.monotone_heights(self.parents, self.heights, self.n_leaves)

    def _canonical_form(self, leaves: Ints) -> tuple[Ints, ...]:
        return arrays.canonical_form(self.parents, np.argsort(leaves))

    def _leaf_array(self, leaves: int | str | _Leaves) -> Ints:
        if isinstance(leaves, str | int | np.integer):
            return np.array(leaf_number(leaves, self._leaf_index))
        numbers = as_integers(leaves, "leaves")
        outside = numbers[(numbers < 0) | (numbers >= self.n_leaves)]
        if len(outside):
            raise ValueError(f"leaf {outside[0]} does not exist; the leaves are 0 to {self.n_leaves - 1}")
        return numbers

    def _require_binary(self, what: str) -> None:
        if not self.is_binary:
            counts = np.diff(self.child_offsets)
            node = int(np.argmax(counts > 2))
            raise ValueError(
                f"{what} needs a binary hierarchy, but node {node} has {counts[node]} children; "
                "use clusters() or child_offsets, which any hierarchy has"
            )
