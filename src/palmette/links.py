"""Who is whose child in a rooted tree, as three arrays.

Nodes 0 … n−1 are the leaves; inner nodes follow, children before parents, the root last.
"""

from collections.abc import Sequence
from itertools import chain
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Ints

__all__ = ["Links", "links_from_families", "offsets_of", "order_children", "ragged"]


class Links(NamedTuple):
    """Node v has the children `child_nodes[child_offsets[v]:child_offsets[v + 1]]`."""

    parents: Ints  # (n_nodes,), −1 at the root
    child_offsets: Ints  # (n_nodes + 1,)
    child_nodes: Ints  # (n_nodes − 1,)

    def children_of(self, node: int) -> list[int]:
        """The children of a node, in order; none of a leaf."""
        start, stop = self.child_offsets[node : node + 2].tolist()
        children: list[int] = self.child_nodes[start:stop].tolist()
        return children


def offsets_of(sizes: ArrayLike) -> Ints:
    """(N + 1,): where each of N lists begins that lie end to end, and where the last one ends.

    >>> offsets_of([2, 0, 3])
    array([0, 2, 2, 5])
    """
    return np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes, dtype=np.int64)])


def ragged(starts: Ints, sizes: Ints) -> Ints:
    """starts[0], starts[0] + 1, … (sizes[0] of them), then the same for starts[1], and so on.

    >>> ragged(np.array([5, 0]), np.array([2, 3]))
    array([5, 6, 0, 1, 2])
    """
    ends = np.cumsum(sizes)
    return np.repeat(starts - ends + sizes, sizes) + np.arange(ends[-1] if len(ends) else 0)


def order_children(parents: Ints, key: Ints) -> Links:
    """The links in which the children of every node are sorted by `key`.

    >>> order_children(np.array([3, 3, 4, 4, -1]), np.array([1, 0, 2, 0, 0])).child_nodes
    array([1, 0, 3, 2])
    """
    below_root = np.flatnonzero(parents >= 0)
    child_nodes = below_root[np.lexsort((key[below_root], parents[below_root]))]
    counts = np.bincount(parents[below_root], minlength=len(parents))
    return Links(parents, offsets_of(counts), child_nodes)


def links_from_families(families: Sequence[Sequence[int]], n: int) -> Links:
    """Inner node n + j has the children `families[j]`, where ~k stands for inner node n + k.

    >>> links_from_families([[0, 1], [~0, 2]], 3).child_nodes
    array([0, 1, 3, 2])
    """
    nodes = np.fromiter(chain.from_iterable(families), dtype=np.int64)
    nodes = np.where(nodes < 0, n + ~nodes, nodes)
    counts = np.fromiter(map(len, families), dtype=np.int64, count=len(families))
    parents = np.full(n + len(families), -1, dtype=np.int64)
    parents[nodes] = np.repeat(np.arange(n, len(parents)), counts)
    return Links(parents, np.concatenate((np.zeros(n + 1, dtype=np.int64), np.cumsum(counts))), nodes)
