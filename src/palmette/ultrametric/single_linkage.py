"""Single linkage: order the edges, grow the union forest, and read off where the ends of each edge meet.

Edges are taken in rising order of weight, equal ones by number (Kruskal). Trees are linked by size, and two records
are kept of that: one whose paths are compressed, to ask whether an edge joins two trees, and the *union forest*, whose
paths are not. In the forest a vertex is linked once, at a merge with a number, and these numbers rise along every path.
So two vertices meet at the largest number between them, and a walk from both ends that always takes the step with the
smaller number finds it. Paths have at most log₂ N steps, and 2–3 on average. The walks come last and take the edges as
they are numbered: neighbouring edges tend to share vertices, and the sorted order would jump about in memory.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel, maker
from palmette.array_types import Floats, Indices

__all__ = ["find_root", "membership_below", "merge_tree", "rising_order", "single_linkage", "where_they_meet"]

_ROOT = np.int64(2**31 - 1) << 32  # a link number above all others: this vertex has not been linked
_LOW = np.int64(2**32 - 1)
_DIGIT, _SHIFT = 2048, 11
_PATIENCE = 4  # moves per edge that the insertion of the last stage may take


def rising_order(weights: Floats) -> Indices:
    """The edges from the lightest to the heaviest, equal ones by number; what a stable argsort gives.

    >>> rising_order(np.array([2.0, 1.0, 2.0, -1.0]))
    array([3, 1, 0, 2], dtype=int32)
    """
    order = np.empty(len(weights), dtype=np.int32)
    if _radix_order(weights, order):
        return order
    return np.argsort(weights, kind="stable").astype(np.int32)


@kernel
def _radix_order(weights, order):
    # Radix sort by the leading 32 bits of precision, then insertion where those were alike. False: far too many were.
    n = len(weights)
    bits = weights.astype(np.float32).view(np.uint32)
    items = np.empty(n, dtype=np.uint64)
    spare = np.empty(n, dtype=np.uint64)
    counts = np.zeros((3, _DIGIT), dtype=np.int64)
    for i in range(n):
        b = bits[i]
        if b == np.uint32(0x80000000):  # −0 is 0
            b = np.uint32(0)
        key = ~b if b >> np.uint32(31) else b | np.uint32(0x80000000)
        counts[0, key & np.uint32(_DIGIT - 1)] += 1
        counts[1, (key >> np.uint32(_SHIFT)) & np.uint32(_DIGIT - 1)] += 1
        counts[2, key >> np.uint32(2 * _SHIFT)] += 1
        items[i] = (np.uint64(key) << np.uint64(32)) | np.uint64(i)
    for digit in range(3):
        items, spare = _by_digit(items, spare, counts[digit], np.uint64(32 + digit * _SHIFT))
    return _insert(weights, items, order)


@maker
def _by_digit(items, spare, counts, shift):
    total = 0
    for value in range(_DIGIT):
        count = counts[value]
        if count == len(items):
            return items, spare
        counts[value] = total
        total += count
    for i in range(len(items)):
        digit = (items[i] >> shift) & np.uint64(_DIGIT - 1)
        spare[counts[digit]] = items[i]
        counts[digit] += 1
    return spare, items


@inline
def _insert(weights, items, order):
    moves = _PATIENCE * len(order)
    for i in range(len(order)):
        edge = np.int32(items[i] & np.uint64(_LOW))
        at = i
        if i > 0 and items[i] >> np.uint64(32) == items[i - 1] >> np.uint64(32):
            weight = weights[edge]
            while at > 0 and weights[order[at - 1]] > weight:
                order[at] = order[at - 1]
                at -= 1
            moves -= i - at
            if moves < 0:
                return False
        order[at] = edge
    return True


@kernel
def single_linkage(n_vertices, sources, targets, order):
    """The union forest, the edge of each merge and the size of its smaller part, and where the ends of each edge meet.

    The forest is one number per vertex: the merge at which it was linked above bit 32, what it was linked to below.
    """
    links = np.empty(n_vertices, dtype=np.int64)
    roots = np.empty(n_vertices, dtype=np.int32)
    sizes = np.ones(n_vertices, dtype=np.int32)
    for x in range(n_vertices):
        links[x] = _ROOT | x
        roots[x] = x
    tree_edges = np.empty(n_vertices, dtype=np.int32)
    smaller = np.empty(n_vertices, dtype=np.int32)
    merges = np.full(len(order), np.int32(-1))
    n_merges = np.int32(0)
    for edge in order:
        x, y = find_root(roots, sources[edge]), find_root(roots, targets[edge])
        if x != y:
            if sizes[x] > sizes[y]:
                x, y = y, x
            sizes[y] += sizes[x]
            roots[x] = y
            links[x] = (np.int64(n_merges) << 32) | y
            tree_edges[n_merges] = edge
            smaller[n_merges] = sizes[x]
            merges[edge] = n_merges
            n_merges += np.int32(1)
            if n_merges == n_vertices - 1:
                break
    for edge in range(len(order)):
        if merges[edge] < 0:
            merges[edge] = _meet(links, sources[edge], targets[edge])
    return links, tree_edges[:n_merges].copy(), smaller[:n_merges].copy(), merges


@inline
def find_root(roots, x):
    """The vertex that stands for the tree of x in a union forest; the path to it is halved."""
    while roots[x] != x:
        roots[x] = roots[roots[x]]
        x = roots[x]
    return x


@inline
def _meet(links, first, second):
    # The largest link number between two vertices: −1 for one vertex with itself, −2 in different components.
    x, y = np.int64(first), np.int64(second)
    at_x, at_y = links[x], links[y]
    last = np.int64(-1)
    while x != y:
        if at_x < at_y:
            step = at_x
            x = step & _LOW
            at_x = links[x]
        else:
            step = at_y
            y = step & _LOW
            at_y = links[y]
        last = step >> 32
        if step >= _ROOT:
            return np.int32(-2)
    return np.int32(last)


@kernel
def where_they_meet(links, first, second, merges):
    """Fill `merges` with the merge at which each pair of vertices meets: −1 for one vertex, −2 for two components."""
    for i in range(len(merges)):
        merges[i] = _meet(links, first[i], second[i])


@kernel
def merge_tree(links, n_merges):
    """The two children of each merge, shape (n_merges, 2), in SciPy's numbering, and how many vertices each one has."""
    n = len(links)
    linked = np.empty(n_merges, dtype=np.int32)
    for x in range(n):
        if links[x] < _ROOT:
            linked[links[x] >> 32] = x
    node = np.arange(n).astype(np.int32)
    size = np.ones(n, dtype=np.int32)
    children = np.empty((n_merges, 2), dtype=np.int32)
    child_sizes = np.empty((n_merges, 2), dtype=np.int32)
    for merge in range(n_merges):
        x = linked[merge]
        y = links[x] & _LOW
        first = 0 if node[x] < node[y] else 1
        children[merge, first], child_sizes[merge, first] = node[x], size[x]
        children[merge, 1 - first], child_sizes[merge, 1 - first] = node[y], size[y]
        node[y] = n + merge
        size[y] += size[x]
    return children, child_sizes


@kernel
def membership_below(links, n_kept):
    """The cluster of each vertex after the first `n_kept` merges; clusters are numbered as they first occur."""
    number = np.full(len(links), -1)
    membership = np.empty(len(links), dtype=np.int64)
    n_clusters = 0
    for vertex in range(len(links)):
        x = np.int64(vertex)
        while links[x] >> 32 < n_kept:
            x = links[x] & _LOW
        if number[x] < 0:
            number[x] = n_clusters
            n_clusters += 1
        membership[vertex] = number[x]
    return membership
