"""The Euclidean minimum spanning tree of many points, by Borůvka's rounds over a k-d tree.

In each round every component takes the shortest pair that leads out of it. Pairs are ordered by (distance, smaller
vertex, larger vertex); no two are equal, so no cycle can close, and the tree does not depend on the order of any
search. As long as one of the few nearest neighbours of a point is in another component, nothing is searched. Then the
boxes are: each knows the lowest vertex in it, and the lowest one of another component than that vertex's, so that a
search passes by boxes of its own component, and by those that offer a later tie at best.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel, maker
from palmette.array_types import Floats, Indices
from palmette.ultrametric.kd_tree import DEPTH, Boxes, push_halves, squared_distance
from palmette.ultrametric.single_linkage import find_root

__all__ = ["join_boxes"]


def join_boxes(boxes: Boxes, neighbours: Indices, squares: Floats) -> tuple[Indices, Indices]:
    """The two vertices of each edge of the tree with the least Σ |x_i − x_j|, the smaller first; from `boxes.nearest`.

    Equal lengths are decided by (i, j), so there is one answer, however many neighbours are known. It is exact, up to
    rounding. Memory is O(N d); time is about N log N in few dimensions and approaches N² d in many.

    >>> boxes = Boxes.of(np.array([[0.0], [3.0], [1.0]]))
    >>> [vertices.tolist() for vertices in join_boxes(boxes, *boxes.nearest(1))]
    [[0, 1], [2, 2]]
    """
    ends = boxes.order[_join_all(*boxes, neighbours, squares)]
    return ends.min(axis=1), ends.max(axis=1)


@inline
def _add_summary(summary, b, vertex, component, other):
    # Adds to box b a lowest vertex, its component, and the lowest vertex of another component.
    if vertex < summary[b, 0]:
        vertex, summary[b, 0] = summary[b, 0], vertex
        component, summary[b, 1] = summary[b, 1], component
        other, summary[b, 2] = summary[b, 2], other
    summary[b, 2] = min(summary[b, 2], vertex if component != summary[b, 1] else other)


@inline
def _summarise(ranges, order, component, summary):
    # summary[b] = lowest vertex of box b, its component, lowest vertex of another component; n stands for none.
    n = np.int32(order.size)
    for b in range(len(ranges) - 1, -1, -1):
        summary[b, 0] = summary[b, 1] = summary[b, 2] = n
        second = ranges[b, 2]
        if second > 0:
            for half in (b + 1, np.int64(second)):
                _add_summary(summary, b, summary[half, 0], summary[half, 1], summary[half, 2])
        else:
            for p in range(ranges[b, 0], ranges[b, 1]):
                _add_summary(summary, b, order[p], component[p], n)


@inline
def _precedes(distance, i, j, best, best_i, best_j):
    # Whether (distance, smaller, larger) of the first pair of vertices is lower.
    if distance != best:
        return distance < best
    smaller, best_smaller = min(i, j), min(best_i, best_j)
    return smaller < best_smaller if smaller != best_smaller else max(i, j) < max(best_i, best_j)


@inline
def _search(boxes, component, summary, stack, to_box, q, best, best_i, best_j):
    # The point of another component that makes the first pair with q, if that pair precedes the best one; else −1.
    order, points, ranges, low, high = boxes
    own, v, found = component[q], order[q], -1
    stack[0], to_box[0], waiting = 0, 0.0, 1
    while waiting > 0:
        waiting -= 1
        b = np.int64(stack[waiting])
        lowest = summary[b, 0] if summary[b, 1] != own else summary[b, 2]
        if lowest == order.size or not _precedes(to_box[waiting], v, lowest, best, best_i, best_j):
            continue
        if ranges[b, 2] > 0:
            waiting = push_halves(points, q, ranges, low, high, summary[:, 0], b, stack, to_box, waiting)
            continue
        for p in range(ranges[b, 0], ranges[b, 1]):
            if component[p] != own:
                square = squared_distance(points, q, p)
                if _precedes(square, v, order[p], best, best_i, best_j):
                    best, best_i, best_j, found = square, v, order[p], p
    return found, best


@inline
def _offer(component, order, q, p, square, best, pairs):
    # Point q offers its component the pair (q, p).
    own = component[q]
    i, j = pairs[own, 0], pairs[own, 1]
    if i < 0 or _precedes(square, order[q], order[p], best[own], order[i], order[j]):
        best[own], pairs[own, 0], pairs[own, 1] = square, q, p


@inline
def _recall(component, neighbours, squares, used, partner, reach, q):
    # The nearest point of another component, if it is known. If not, partner[q] is −1 and reach[q] a lower bound of its
    # squared distance, which stays one while components grow.
    k = neighbours.shape[1]
    while used[q] < k and component[neighbours[q, used[q]]] == component[q]:
        used[q] += 1
    if used[q] < k:
        partner[q], reach[q] = neighbours[q, used[q]], squares[q, used[q]]
    elif partner[q] >= 0 and component[partner[q]] == component[q]:
        partner[q], reach[q] = -1, max(reach[q], squares[q, k - 1])


@maker
def _find_best(boxes, neighbours, squares, component, summary, used, partner, reach, best, pairs):
    # The first pair out of each component.
    order = boxes[0]
    n = order.size
    stack, to_box = np.empty(DEPTH, np.int32), np.empty(DEPTH)
    for q in range(n):
        best[q], pairs[q, 0], pairs[q, 1] = np.inf, -1, -1
    for q in range(n):
        _recall(component, neighbours, squares, used, partner, reach, q)
        if partner[q] >= 0:
            _offer(component, order, q, partner[q], reach[q], best, pairs)
    for q in range(n):
        own = component[q]
        if partner[q] < 0 and reach[q] <= best[own]:
            i, j = (order[pairs[own, 0]], order[pairs[own, 1]]) if pairs[own, 0] >= 0 else (n, n)
            found, square = _search(boxes, component, summary, stack, to_box, q, best[own], i, j)
            reach[q], partner[q] = square, found
            if found >= 0:
                best[own], pairs[own, 0], pairs[own, 1] = square, q, found


@kernel
def _join_all(order, points, ranges, low, high, neighbours, squares):
    # Pairs of places. component[p] is a place of the same component, the same for all of them when a round begins.
    n = order.size
    component, partner = np.arange(n).astype(np.int32), np.full(n, -1, np.int32)
    used, reach, best = np.zeros(n, np.int32), np.zeros(n), np.empty(n)
    pairs, summary = np.empty((n, 2), np.int32), np.empty((len(ranges), 3), np.int32)
    ends = np.empty((n - 1, 2), np.int32)
    boxes = (order, points, ranges, low, high)
    joined = 0
    while joined < n - 1:
        _summarise(ranges, order, component, summary)
        _find_best(boxes, neighbours, squares, component, summary, used, partner, reach, best, pairs)
        for c in range(n):
            if pairs[c, 0] >= 0:
                x, y = find_root(component, pairs[c, 0]), find_root(component, pairs[c, 1])
                if x != y:
                    component[max(x, y)] = min(x, y)
                    ends[joined, 0], ends[joined, 1] = pairs[c, 0], pairs[c, 1]
                    joined += 1
        for p in range(n):
            component[p] = find_root(component, p)
    return ends
