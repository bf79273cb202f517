"""Average linkage on a graph: always join the two clusters with the smallest mean weight of the edges between them.

All edges between the same two clusters are one *bundle*: a sum, a count, and the lowest edge in it. A cluster keeps a
list of its bundles, a hash table finds the bundle of two clusters, and a heap the one with the smallest mean. When two
clusters join, the bundles of the one that has fewer are handed to the other. A bundle that meets another one there is
poured into it, and so gone: that happens fewer than M times, each with a new entry in the heap. Entries of bundles that
have gone, or changed, are passed by when they come up.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Indices
from palmette.hashing import mix
from palmette.ultrametric.graph import Graph

__all__ = ["AverageLinkage", "average_linkage"]


class AverageLinkage(NamedTuple):
    """What `average_linkage` finds in a graph of N vertices, M edges and c components."""

    values: Floats
    """The height at which the two ends of each edge are joined, shape (M,): an ultrametric on the edges."""
    children: Indices
    """The two clusters of each join in SciPy's numbering, shape (N − c, 2): join i makes cluster N + i."""
    heights: Floats
    """The mean weight between the two clusters of each join, shape (N − c,); it never falls."""


def average_linkage(graph: Graph) -> AverageLinkage:
    """d(A, B) = mean weight of the edges between A and B; the pair with the smallest d is joined, again and again.

    Pairs of vertices without an edge do not count; parallel edges count each. Clusters without an edge between them are
    not joined, so each component of a forest is on its own. Of equal means the one with the lowest edge comes first.
    On a complete graph this is the ordinary average linkage (UPGMA). Time is about O(M log² M), memory O(M).

    >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [1.0, 2.0, 4.0])
    >>> joined = average_linkage(graph)
    >>> joined.values
    array([1., 3., 3.])
    >>> from palmette import Hierarchy
    >>> Hierarchy.from_merges(joined.children, graph.labels, heights=joined.heights)
    Hierarchy.from_newick('(2,(0,1));')
    """
    n, n_places = graph.n_vertices, 1 << max(2 * graph.n_edges - 1, 1).bit_length()
    edges = graph.sources, graph.targets, graph.weights
    return AverageLinkage(*_agglomerate(*edges, n, n - graph.n_components, n_places))


@inline
def _home(table, x, y):
    # Where the bundle of clusters x and y would like to be.
    return np.int64(mix(mix(np.uint64(0), min(x, y)), max(x, y)) & np.uint64(table.size - 1))


@inline
def _place(table, ends, x, y):
    # Where the bundle of clusters x and y is, or the free place where it belongs.
    at = _home(table, x, y)
    while table[at] >= 0:
        p, q = ends[table[at], 0], ends[table[at], 1]
        if (p == x and q == y) or (p == y and q == x):
            break
        at = (at + 1) & (table.size - 1)
    return at


@inline
def _take_out(table, ends, bundle):
    # Those that come after it move up, so that no search ends at the gap.
    gap = _place(table, ends, ends[bundle, 0], ends[bundle, 1])
    mask = table.size - 1
    at = (gap + 1) & mask
    while table[at] >= 0:
        home = _home(table, ends[table[at], 0], ends[table[at], 1])
        if (at - home) & mask >= (at - gap) & mask:
            table[gap] = table[at]
            gap = at
        at = (at + 1) & mask
    table[gap] = -1


@inline
def _sift_down(heap, size, at):
    # A heap by rising (mean, item); an item is a lowest edge and a bundle in one number.
    means, items = heap
    mean, item = means[at], items[at]
    child = 2 * at + 1
    while child < size:
        if child + 1 < size and (
            means[child + 1] < means[child] or (means[child + 1] == means[child] and items[child + 1] < items[child])
        ):
            child += 1
        if mean < means[child] or (mean == means[child] and item <= items[child]):
            break
        means[at], items[at] = means[child], items[child]
        at, child = child, 2 * child + 1
    means[at], items[at] = mean, item


@inline
def _push(heap, size, mean, item):
    means, items = heap
    at = size
    while at > 0:
        parent = (at - 1) // 2
        if means[parent] < mean or (means[parent] == mean and items[parent] < item):
            break
        means[at], items[at] = means[parent], items[parent]
        at = parent
    means[at], items[at] = mean, item


@inline
def _item(lowest, bundle):
    return (np.int64(lowest[bundle]) << 32) | bundle


@inline
def _fill_heap(bundles, heap):
    _, sums, counts, lowest, _ = bundles
    size = 0
    for bundle in range(sums.size):
        if counts[bundle] > 0:
            heap[0][size], heap[1][size] = sums[bundle] / counts[bundle], _item(lowest, bundle)
            size += 1
    for at in range(size // 2 - 1, -1, -1):
        _sift_down(heap, size, at)
    return size


@inline
def _pop(bundles, heap, size):
    # The bundle with the smallest mean, its mean, and how many entries are left.
    _, sums, counts, lowest, _ = bundles
    means, items = heap
    while True:
        mean, item = means[0], items[0]
        size -= 1
        means[0], items[0] = means[size], items[size]
        _sift_down(heap, size, 0)
        bundle = np.int32(item & 0xFFFFFFFF)
        if counts[bundle] > 0 and sums[bundle] / counts[bundle] == mean and lowest[bundle] == item >> 32:
            return bundle, mean, size


@inline
def _bundle_edges(sources, targets, weights, bundles, table, lists):
    # Parallel edges become one bundle; every other edge is one by itself, with the number of the edge.
    ends, sums, counts, _, into = bundles
    heads, following, sizes = lists
    for e in range(sources.size):
        x, y = sources[e], targets[e]
        ends[e, 0], ends[e, 1], sums[e], counts[e], into[e] = x, y, weights[e], 1, e
        at = _place(table, ends, x, y)
        if table[at] >= 0:
            first = table[at]
            sums[first] += weights[e]
            counts[first] += 1
            counts[e], into[e] = 0, first
        else:
            table[at] = e
            following[2 * e], following[2 * e + 1] = heads[x], heads[y]
            heads[x], heads[y] = 2 * e, 2 * e + 1
            sizes[x] += 1
            sizes[y] += 1


@inline
def _hand_over(x, y, bundles, table, lists, heap, size):
    # The bundles of cluster x become bundles of cluster y; returns the new size of the heap.
    ends, sums, counts, lowest, into = bundles
    heads, following, sizes = lists
    h = heads[x]  # side h & 1 of bundle h >> 1
    while h >= 0:
        after, bundle, other = following[h], h >> 1, ends[h >> 1, 1 - (h & 1)]
        if counts[bundle] > 0:
            _take_out(table, ends, bundle)
            at = _place(table, ends, y, other)
            same = table[at]
            if same >= 0:
                sums[same] += sums[bundle]
                counts[same] += counts[bundle]
                lowest[same] = min(lowest[same], lowest[bundle])
                counts[bundle], into[bundle] = 0, same
                sizes[other] -= 1
                _push(heap, size, sums[same] / counts[same], _item(lowest, same))
                size += 1
            else:
                table[at], ends[bundle, h & 1] = bundle, y
                following[h], heads[y] = heads[y], h
                sizes[y] += 1
        h = after
    return size


@inline
def _read_values(into, reached, values):
    # The height that the bundle reached into which each edge was poured in the end.
    for e in range(values.size):
        last = e
        while into[last] != last:
            into[last] = into[into[last]]
            last = into[last]
        values[e] = reached[last]


@kernel
def _agglomerate(sources, targets, weights, n, n_joins, n_places):
    m = sources.size
    ends, sums, counts = np.empty((m, 2), np.int32), np.empty(m), np.empty(m, np.int32)
    bundles = (ends, sums, counts, np.arange(m).astype(np.int32), np.empty(m, np.int32))
    sizes = np.zeros(n, np.int32)
    lists = (np.full(n, -1, np.int32), np.empty(2 * m, np.int32), sizes)
    table, heap = np.full(n_places, -1, np.int32), (np.empty(2 * m), np.empty(2 * m, np.int64))
    _bundle_edges(sources, targets, weights, bundles, table, lists)
    size = _fill_heap(bundles, heap)
    names = np.arange(n).astype(np.int32)  # the number of the cluster that lives at a vertex
    children, heights, reached = np.empty((n_joins, 2), np.int32), np.empty(n_joins), np.empty(m)
    height = 0.0
    for join in range(n_joins):
        bundle, mean, size = _pop(bundles, heap, size)
        height = max(height, mean)  # means never fall, but their rounding may
        heights[join] = reached[bundle] = height
        x, y = ends[bundle, 0], ends[bundle, 1]
        if sizes[x] > sizes[y]:
            x, y = y, x
        children[join, 0], children[join, 1] = min(names[x], names[y]), max(names[x], names[y])
        names[y] = n + join
        _take_out(table, ends, bundle)
        counts[bundle] = 0
        sizes[y] -= 1
        size = _hand_over(x, y, bundles, table, lists, heap, size)
    values = np.empty(m)
    _read_values(bundles[4], reached, values)
    return values, children, heights
