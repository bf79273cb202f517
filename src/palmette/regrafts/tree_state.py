"""A hierarchy that changes, in `refine` and in chains: links, statistics, and a walk over what a pruned part leaves.

Node v has the parent ``parent[v]`` (−1 at the root) and the children ``child[v]``; the first n nodes are the leaves,
the others come in no order. A part is pruned by taking away its parent, whose place its sibling takes. It is regrafted
beside any cluster of the rest by putting that parent in between the cluster and what was above it.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, step
from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy

__all__ = [
    "Tree",
    "Walk",
    "ancestor_of_size",
    "copy_tree",
    "empty_walk",
    "lay_out",
    "leaf_of_rank",
    "regraft",
    "total",
    "tree_with",
]

# What happened to a cluster, see `regraft`; of a known one the sums and pair sums are right already.
GAINS, LOSES, IS_NEW, IS_SAME, IS_KNOWN = range(5)

# What a walk counts: its positions, the one of the present sibling, the clusters that a regraft changed, steps of work.
POSITIONS, PLACE, CHANGES, WORK = range(4)


class Tree(NamedTuple):
    """A binary hierarchy, m = 2n − 1 nodes, and what is known of the cluster of each."""

    parent: Ints
    child: Ints  # (m, 2)
    size: Ints
    sums: Floats  # (m, d)
    pairs: Floats  # (m, p)
    table: npt.NDArray[Any]  # (m, k): features, or bit masks; of features 2m rows more, which are those of a walk
    log_psi: Floats  # (m,): of the split of an inner node


class Walk(NamedTuple):
    """The rest of a cluster in preorder, without the part that is moved, and what it would be with it.

    The first child of position i is at i + 1, the second at `second[i]`, which is 0 for a leaf. Below, "with" means:
    if the moved part belonged to the cluster as well. What is known of clusters that no node has now is in 2m rows: row
    i is the cluster of position i with, and from row m on come those that lose the part, as they are without, the
    lowest first.
    """

    node: Ints
    up: Ints  # position of the parent, −1 at the top
    second: Ints
    loses: npt.NDArray[np.bool_]  # whether the moved part is below it now
    leaf: Ints  # positions of the leaves
    stack: Ints
    size: Ints  # (2m,)
    sums: Floats  # (2m, d)
    pairs: Floats  # (2m, p)
    table: npt.NDArray[Any]  # (2m, k): the rows behind those of the tree, so that splits have clusters of both
    row: Ints  # of the tree's table: where the cluster without is, a node's if it loses nothing
    union: Ints  # m + i: where the cluster with is
    across: Floats  # (p, m): sums over pairs of this cluster and the moved part
    log_psi: Floats  # of its split without
    inside: Floats  # log ψ of the split of the cluster above if the moved part is in this one
    beside: Floats  # log ψ of the split {this cluster, moved part}
    gain: Floats  # Σ log ψ with the part beside it, finite terms, up to a constant
    impossible: Ints  # how many terms are −inf, up to a constant
    parents: Ints  # splits that are scored at once, as rows of the tree's table, and log ψ of them
    lefts: Ints
    rights: Ints
    scores: Floats
    changed: Ints  # (m, 3): node, position, and what happened to its cluster
    counts: Ints  # (4,): see POSITIONS and so on


def tree_with(hierarchy: Hierarchy, sums: Floats, pairs: Floats, table: npt.NDArray[Any]) -> Tree:
    """The links of a binary hierarchy, and what is known of its clusters."""
    n, m = hierarchy.n_leaves, hierarchy.n_nodes
    child = np.zeros((m, 2), dtype=np.int64)
    child[n:] = hierarchy.children
    parent, size = (np.array(values, dtype=np.int64) for values in (hierarchy.parents, hierarchy.sizes))
    return Tree(parent, child, size, sums, pairs, table, np.zeros(m))


def empty_walk(tree: Tree) -> Walk:
    """Room for any walk over the tree."""
    m, d, p = len(tree.size), tree.sums.shape[1], tree.pairs.shape[1]
    ints = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731
    links = (ints(m), ints(m), ints(m), np.zeros(m, dtype=bool), ints(m), ints(2 * m + 4))
    rows = (ints(2 * m), np.zeros((2 * m, d)), np.zeros((2 * m, p)), tree.table[m:])
    where = (ints(m), np.arange(m, 2 * m))
    values = [np.zeros((p, m)), *(np.zeros(m) for _ in range(4)), ints(m)]
    splits = (ints(m), ints(m), ints(m), np.zeros(m))
    return Walk._make([*links, *rows, *where, *values, *splits, ints(m, 3), ints(4)])


@inline
def _copy(source, target):
    # Entry by entry: Numba takes seconds to compile an assignment of arrays, for all the shapes these might have.
    for i in range(source.shape[0]):
        target[i] = source[i]


@inline
def _copy_rows(source, target, count):
    for i in range(count):
        for j in range(source.shape[1]):
            target[i, j] = source[i, j]


@step
def copy_tree(source, target):
    """Make `target` the same as `source`."""
    m = source.size.size
    _copy(source.parent, target.parent)
    _copy_rows(source.child, target.child, m)
    _copy(source.size, target.size)
    _copy_rows(source.sums, target.sums, m)
    _copy_rows(source.pairs, target.pairs, m)
    _copy_rows(source.table, target.table, m)
    _copy(source.log_psi, target.log_psi)


@step
def total(log_psi):
    """(how many entries are −inf, the sum of the others)."""
    impossible, finite = 0, 0.0
    for value in log_psi:
        if value > -np.inf:
            finite += value
        else:
            impossible += 1
    return impossible, finite


@inline
def leaf_of_rank(child, size, v, rank):
    """One of the leaves below v, of which there are size[v]."""
    while size[v] > 1:
        first = child[v, 0]
        if rank < size[first]:
            v = first
        else:
            v, rank = child[v, 1], rank - size[first]
    return v


@step
def ancestor_of_size(parent, size, v, least):
    """The lowest cluster of at least this size at or above v; the root if there is none."""
    while size[v] < least and parent[v] >= 0:
        v = parent[v]
    return v


@step
def lay_out(parent, child, moved, top, walk):
    """Walk over what is left below `top`, a proper ancestor, when `moved` is pruned; fills the links of the walk."""
    n = (parent.size + 1) // 2
    gone = parent[moved]
    sibling = child[gone, 0] + child[gone, 1] - moved
    node, up, second, stack = walk.node, walk.up, walk.second, walk.stack
    stack[0], stack[1] = (sibling if gone == top else top), -1
    height, r, leaves, place = 2, 0, 0, 0
    while height > 0:
        height -= 2
        v, link = stack[height], stack[height + 1]  # a link is twice the parent's position, plus 1 for a second child
        node[r], up[r], second[r], walk.loses[r] = v, link >> 1, 0, False
        if link >= 0 and link & 1:
            second[link >> 1] = r
        if v == sibling:
            place = r
        if v < n:
            walk.leaf[leaves] = r
            leaves += 1
        else:
            for c in range(2):
                below = child[v, 1 - c]
                stack[height] = sibling if below == gone else below
                stack[height + 1] = 2 * r + 1 - c
                height += 2
        r += 1
    q = up[place]
    while q >= 0:
        walk.loses[q] = True
        q = up[q]
    walk.counts[POSITIONS], walk.counts[PLACE] = r, place


@step
def regraft(parent, child, moved, target, walk):
    """Put `moved` beside the cluster at position `target` of its walk, and list in `walk.changed` what that changes.

    These are the clusters that gain the moved part or lose it, the new one, and the lowest one that has it before and
    after, of which only the split is another. Children come before parents.
    """
    place = walk.counts[PLACE]
    gone, sibling, beside = parent[moved], walk.node[place], walk.node[target]
    _replace(parent, child, gone, sibling)
    _replace(parent, child, beside, gone)
    child[gone, 0], child[gone, 1] = beside, moved
    parent[beside] = parent[moved] = gone
    k, q = 0, walk.up[target]
    meeting = target
    if not walk.loses[target]:
        k = _note(walk.changed, k, gone, target, IS_NEW)
        while q >= 0 and not walk.loses[q]:
            k = _note(walk.changed, k, walk.node[q], q, GAINS)
            q = walk.up[q]
        meeting = q
    q = walk.up[place]
    while q != meeting:
        k = _note(walk.changed, k, walk.node[q], q, LOSES)
        q = walk.up[q]
    if walk.loses[target]:
        k = _note(walk.changed, k, beside, target, LOSES)
        k = _note(walk.changed, k, gone, target, IS_NEW)
    elif meeting >= 0:
        k = _note(walk.changed, k, walk.node[meeting], meeting, IS_SAME)
    walk.counts[CHANGES] = k


@step
def _replace(parent, child, old, new):
    above = parent[old]
    parent[new] = above
    if above >= 0:
        child[above, 0 if child[above, 0] == old else 1] = new


@step
def _note(changed, k, node, position, what):
    changed[k, 0], changed[k, 1], changed[k, 2] = node, position, what
    return k + 1
