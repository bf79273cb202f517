"""Many hierarchies over the same leaves, as a few flat arrays."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import Immutable, read_only
from palmette.array_types import Floats, Indices, Ints
from palmette.drawing.cards import card, named
from palmette.formats.tree_arrays import TreeArrays
from palmette.hierarchy.arrays import smallest_below
from palmette.hierarchy.hierarchy import Hierarchy
from palmette.hierarchy.rooting import PlainTree, at_midpoint, by_outgroup
from palmette.labels import align_labels, describe_cluster, leaf_index, leaf_numbers
from palmette.links import offsets_of, order_children

__all__ = ["TreeSet", "binary_trees"]


class TreeSet(Immutable, Sequence[Hierarchy]):
    """A sequence of hierarchies over the same labels, each made when asked for; see `read_trees`.

    A slice is a `TreeSet` again. All that is known of the trees lies in flat arrays, closed for writing. Tree t has the
    entries `offsets[t]` to `offsets[t + 1]` of each array per node, numbered from 0 within the tree: first the leaves
    0 … n − 1, which have the same numbers in all trees, then the inner nodes in the order in which their brackets
    close, so that children come before parents and the root is the last. A binary tree has 2n − 1 nodes; if all are
    binary, `parents.reshape(-1, 2 * n - 1)` is a table with one row per tree.

    >>> from palmette.hierarchy.tree_files import read_trees
    >>> trees = read_trees("((a,b),c); (b,(c,a)); (c,b,a);")
    >>> trees
    TreeSet(3 hierarchies over 3 leaves)
    >>> trees.offsets
    array([ 0,  5, 10, 14])
    >>> trees.parents
    array([ 3,  3,  4,  4, -1,  3,  4,  3,  4, -1,  3,  3,  3, -1],
          dtype=int32)
    >>> trees[1]
    Hierarchy.from_newick('(b,(c,a));')
    """

    labels: tuple[str, ...]
    """The names of the leaves, the same in all trees."""
    offsets: Ints
    """Where the nodes of each tree begin, shape (T + 1,)."""
    parents: Indices
    """The parent of each node within its tree, −1 at the root, shape (offsets[-1],)."""
    leaf_orders: Indices
    """The leaves of each tree in the order of the text, shape (T, n)."""
    branch_lengths: Floats | None
    """The length of the branch above each node, NaN for none, shape (offsets[-1],); None if there are none at all."""
    support: Floats | None
    """The number that an inner node is called, NaN for none, shape (offsets[-1],); None if there are none at all."""
    weights: Floats
    """The weight of each tree as it was given, else 1, shape (T,)."""
    names: tuple[str, ...] | None
    """The names of the trees; None if they have none, as in Newick."""
    rooted: npt.NDArray[np.int8]
    """What is said of each root: 1 if it is meant, ``[&R]``; 0 if not, ``[&U]``; −1 if nothing is said; shape (T,)."""

    def __init__(self, arrays: TreeArrays) -> None:
        for field in arrays:
            if isinstance(field, np.ndarray):
                read_only(field)
        self.__dict__.update(arrays._asdict())

    @property
    def _arrays(self) -> TreeArrays:
        return TreeArrays(*(getattr(self, name) for name in TreeArrays._fields))

    def _with(self, **changes: Any) -> "TreeSet":
        return TreeSet(self._arrays._replace(**changes))

    @classmethod
    def joined(cls, sets: Iterable["TreeSet"]) -> "TreeSet":
        """The trees of several sets over the same labels, in the order of the first, one set after the other.

        >>> from palmette.hierarchy.tree_files import read_trees
        >>> TreeSet.joined([read_trees("((a,b),c);"), read_trees("((c,a),b);")])[1]
        Hierarchy.from_newick('((c,a),b);')
        """
        found = list(sets)
        if not found:
            raise ValueError("there are no trees; give one set at least")
        aligned = [each._aligned(found[0].labels) for each in found]
        ends = offsets_of([each.offsets[-1] for each in aligned])
        offsets = [each.offsets[:-1] + end for each, end in zip(aligned, ends[:-1], strict=True)]
        names = [each.names for each in aligned]
        return aligned[0]._with(
            offsets=np.append(np.concatenate(offsets), ends[-1]),
            parents=np.concatenate([each.parents for each in aligned]),
            leaf_orders=np.concatenate([each.leaf_orders for each in aligned]),
            branch_lengths=_some(np.concatenate([_filled(each, each.branch_lengths) for each in aligned])),
            support=_some(np.concatenate([_filled(each, each.support) for each in aligned])),
            weights=np.concatenate([each.weights for each in aligned]),
            names=None if None in names else tuple(name for each in names for name in each or ()),
            rooted=np.concatenate([each.rooted for each in aligned]),
        )

    def _aligned(self, labels: tuple[str, ...]) -> "TreeSet":
        # The same with the leaves in another order.
        if labels == self.labels:
            return self
        place = align_labels(labels, self.labels)  # where each leaf goes
        own = self.offsets[:-1, None] + np.arange(self.n_leaves)
        moved = np.arange(self.offsets[-1])
        moved[self.offsets[:-1, None] + place] = own
        return self._with(
            labels=labels,
            parents=self.parents[moved],
            leaf_orders=place[self.leaf_orders].astype(np.int32),
            branch_lengths=_some(self.branch_lengths, moved),
            support=_some(self.support, moved),
        )

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.labels)

    @property
    def is_binary(self) -> bool:
        """Whether every hierarchy is binary."""
        return bool((np.diff(self.offsets) == 2 * self.n_leaves - 1).all())

    @property
    def is_unrooted(self) -> npt.NDArray[np.bool_]:
        """(T,): whether a root means nothing: ``[&U]``, or three branches at it and no ``[&R]``, as MrBayes writes."""
        n_nodes = np.diff(self.offsets)
        roots = np.repeat(n_nodes - 1, n_nodes)
        branches = np.add.reduceat((self.parents == roots).astype(np.int64), self.offsets[:-1])
        unrooted: npt.NDArray[np.bool_] = (self.rooted == 0) | ((self.rooted < 0) & (branches > 2))
        return unrooted

    def with_roots(self) -> "TreeSet":
        """The same trees, said to be rooted as they are written."""
        return self._with(rooted=np.ones(len(self), dtype=np.int8))

    def rooted_by(self, outgroup: Iterable[str]) -> "TreeSet":
        """The same trees with the root in the middle of the branch that parts these leaves from all others.

        >>> from palmette.hierarchy.tree_files import read_trees
        >>> read_trees("[&U] (a:1,b:1,(c:1,d:1):1);").rooted_by(["d"])[0].to_newick()
        '(((a:1,b:1):1,c:1):0.5,d:0.5);'
        """
        leaves = leaf_numbers([outgroup] if isinstance(outgroup, str) else outgroup, leaf_index(self.labels))
        if not 0 < len(leaves) < self.n_leaves:
            raise ValueError(f"the outgroup has {len(leaves)} of {self.n_leaves} leaves; give some, and not all")

        def turned(tree: PlainTree, number: int) -> PlainTree:
            found = by_outgroup(tree, leaves, self.n_leaves)
            if found is None:
                parted = describe_cluster(leaves, self.labels)
                raise ValueError(
                    f"tree {number + 1} has no branch that parts {parted} from the others; "
                    "give an outgroup that every tree keeps together, or one leaf"
                )
            return found

        return self._rerooted(turned)

    def midpoint_rooted(self) -> "TreeSet":
        """The same trees with the root in the middle of the longest path between two leaves.

        >>> from palmette.hierarchy.tree_files import read_trees
        >>> read_trees("[&U] (a:1,b:1,(c:1,d:4):1);").midpoint_rooted()[0].to_newick()
        '(((a:1,b:1):1,c:1):1,d:3);'
        """

        def turned(tree: PlainTree, number: int) -> PlainTree:
            if np.isnan(tree.lengths[:-1]).any() or (tree.lengths[:-1] < 0).any():
                raise ValueError(
                    f"tree {number + 1} has a branch without length, or below 0; for a midpoint all are needed: "
                    "give an outgroup"
                )
            return at_midpoint(tree, self.n_leaves)

        return self._rerooted(turned)

    def _rerooted(self, turned: Callable[[PlainTree, int], PlainTree]) -> "TreeSet":
        found = []
        lengths, support = _filled(self, self.branch_lengths), _filled(self, self.support)
        for t in range(len(self)):
            nodes = slice(*self.offsets[t : t + 2].tolist())
            found.append(turned(PlainTree(self.parents[nodes].astype(np.int64), lengths[nodes], support[nodes]), t))
        return self._with(
            offsets=offsets_of([len(tree.parents) for tree in found]),
            parents=np.concatenate([tree.parents for tree in found]).astype(np.int32),
            leaf_orders=np.tile(np.arange(self.n_leaves, dtype=np.int32), (len(self), 1)),  # that of the text is lost
            branch_lengths=_some(np.concatenate([tree.lengths for tree in found])),
            support=_some(np.concatenate([tree.support for tree in found])),
            rooted=np.ones(len(self), dtype=np.int8),
        )

    def __len__(self) -> int:
        return len(self.leaf_orders)

    @overload
    def __getitem__(self, index: int) -> Hierarchy: ...
    @overload
    def __getitem__(self, index: slice) -> "TreeSet": ...
    def __getitem__(self, index: int | slice) -> "Hierarchy | TreeSet":
        return self._take(np.arange(len(self))[index]) if isinstance(index, slice) else self._hierarchy(index)

    def _hierarchy(self, index: int) -> Hierarchy:
        t = range(len(self))[index]
        nodes = slice(*self.offsets[t : t + 2].tolist())
        parents = self.parents[nodes].astype(np.int64)
        links = order_children(parents, smallest_below(parents, np.argsort(self.leaf_orders[t])))
        return Hierarchy._make(links, self.labels, None, _some(self.branch_lengths, nodes), _some(self.support, nodes))

    def _take(self, chosen: Ints) -> "TreeSet":
        counts = np.diff(self.offsets)[chosen]
        offsets = offsets_of(counts)
        nodes = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], counts)
        return self._with(
            offsets=offsets,
            parents=self.parents[nodes],
            leaf_orders=self.leaf_orders[chosen],
            branch_lengths=_some(self.branch_lengths, nodes),
            support=_some(self.support, nodes),
            weights=self.weights[chosen],
            names=None if self.names is None else tuple(self.names[t] for t in chosen),
            rooted=self.rooted[chosen],
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeSet, (self._arrays,)

    def _repr_html_(self) -> str:
        facts = [("trees", len(self)), ("leaves", f"{self.n_leaves:,}: {named(self.labels)}"), ("below", "the first")]
        return card("TreeSet", facts[: 3 if len(self) else 2], self[0] if len(self) else None)

    def __repr__(self) -> str:
        return f"TreeSet({len(self)} hierarchies over {self.n_leaves} leaves)"


def binary_trees(parents: Indices, labels: tuple[str, ...], weights: Floats | None = None) -> TreeSet:
    """Binary trees from a (T, 2n − 1) table of parents, nodes numbered as in a `TreeSet`.

    >>> binary_trees(np.array([[3, 3, 4, 4, -1]], dtype=np.int32), ("a", "b", "c"))[0]
    Hierarchy.from_newick('((a,b),c);')
    """
    (count, m), n = parents.shape, len(labels)
    offsets, orders = np.arange(count + 1, dtype=np.int64) * m, np.tile(np.arange(n, dtype=np.int32), (count, 1))
    given, rooted = np.ones(count) if weights is None else weights, np.ones(count, dtype=np.int8)
    return TreeSet(TreeArrays(labels, offsets, parents.reshape(-1), orders, None, None, given, None, rooted))


def _filled(trees: TreeSet, values: Floats | None) -> Floats:
    return np.full(len(trees.parents), np.nan) if values is None else values


def _some(values: Floats | None, nodes: slice | Ints = slice(None)) -> Floats | None:
    """A copy of the values of these nodes; None if there is none among them."""
    if values is None or np.isnan(values[nodes]).all():
        return None
    return np.array(values[nodes])
