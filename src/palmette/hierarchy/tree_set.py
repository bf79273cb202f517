"""Many hierarchies over the same leaves, as a few flat arrays."""

from collections.abc import Sequence
from typing import Any, overload

import numpy as np

from palmette._immutable import Immutable, read_only
from palmette.array_types import Floats, Indices, Ints
from palmette.formats.newick import TreeArrays
from palmette.hierarchy.arrays import smallest_below
from palmette.hierarchy.hierarchy import Hierarchy
from palmette.links import order_children

__all__ = ["TreeSet"]


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

    def __init__(self, *arrays: Any, **named: Any) -> None:
        fields = TreeArrays(*arrays, **named)._asdict()
        self.__dict__.update({name: read_only(x) if isinstance(x, np.ndarray) else x for name, x in fields.items()})

    @property
    def n_leaves(self) -> int:
        """The number of leaves."""
        return len(self.labels)

    @property
    def is_binary(self) -> bool:
        """Whether every hierarchy is binary."""
        return bool((np.diff(self.offsets) == 2 * self.n_leaves - 1).all())

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
        offsets = np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(counts)))
        nodes = np.arange(offsets[-1]) + np.repeat(self.offsets[chosen] - offsets[:-1], counts)
        return TreeSet(
            self.labels,
            offsets,
            self.parents[nodes],
            self.leaf_orders[chosen],
            _some(self.branch_lengths, nodes),
            _some(self.support, nodes),
            self.weights[chosen],
            None if self.names is None else tuple(self.names[t] for t in chosen),
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return TreeSet, tuple(self.__dict__[name] for name in TreeArrays._fields)

    def __repr__(self) -> str:
        return f"TreeSet({len(self)} hierarchies over {self.n_leaves} leaves)"


def _some(values: Floats | None, nodes: slice | Ints) -> Floats | None:
    """A copy of the values of these nodes; None if there is none among them."""
    if values is None or np.isnan(values[nodes]).all():
        return None
    return np.array(values[nodes])
