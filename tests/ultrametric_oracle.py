"""Slow twins of subdominant ultrametrics and losses, straight from their definitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
from hypothesis import strategies as st

from palmette.ultrametric import Graph

__all__ = ["closest", "cluster_size", "dasgupta", "graphs", "min_max", "prim", "single_linkage", "triplet"]


def min_max(graph, weights):
    """All-pairs min-max distances by the closure d(x, y) ← min(d(x, y), max(d(x, z), d(z, y)))."""
    d = np.full((graph.n_vertices, graph.n_vertices), np.inf)
    np.fill_diagonal(d, 0.0)
    for (x, y), w in zip(graph.edges.tolist(), weights, strict=True):
        d[x, y] = d[y, x] = min(d[x, y], w)
    for z in range(graph.n_vertices):
        d = np.minimum(d, np.maximum(d[:, z, None], d[None, z, :]))
    np.fill_diagonal(d, 0.0)
    return d


def single_linkage(graph, weights):
    """Merges in turn: (set of vertices, its two parts, the edge)."""
    clusters = [frozenset({v}) for v in range(graph.n_vertices)]
    merges = []
    for edge in sorted(range(graph.n_edges), key=lambda e: (weights[e], e)):
        x, y = graph.edges[edge].tolist()
        first = next(c for c in clusters if x in c)
        second = next(c for c in clusters if y in c)
        if first != second:
            clusters = [c for c in clusters if c not in (first, second)] + [first | second]
            merges.append((first | second, (first, second), edge))
    return merges


def _meet(merges, x, y):
    return next(i for i, (members, _, _) in enumerate(merges) if x in members and y in members)


def _heights(graph, weights):
    merges = single_linkage(graph, weights)
    return merges, [weights[edge] for _, _, edge in merges]


def closest(graph, weights):
    merges, heights = _heights(graph, weights)
    return np.mean([(heights[_meet(merges, x, y)] - w) ** 2 for (x, y), w in _observed(graph)])


def cluster_size(graph, weights, top=None, over="top"):
    merges, heights = _heights(graph, weights)
    counted = []
    for (x, y), _ in _observed(graph):
        merge = _meet(merges, x, y)
        if top is None or merge >= len(merges) - top:
            counted.append(heights[merge] / min(len(part) for part in merges[merge][1]))
    return np.sum(counted) / (len(counted) if over == "top" else graph.n_edges)


def triplet(graph, weights, labels, margin, both_orders=False):
    d = min_max(graph, weights)
    known = [v for v, label in enumerate(labels) if label >= 0]
    pairs = itertools.permutations if both_orders else itertools.combinations
    hinges = [
        max(0.0, margin + d[ref, pos] - d[ref, neg])
        for ref, pos in pairs(known, 2)
        for neg in known
        if labels[ref] == labels[pos] != labels[neg]
    ]
    return np.mean(hinges)


def dasgupta(graph, weights, slope):
    merges, heights = _heights(graph, weights)
    soft = []
    for (_, _, edge), height in zip(merges, heights, strict=True):
        total = 0.0
        for x in graph.edges[edge].tolist():
            total += _sigmoid(slope * height)
            for (members, parts, _), above in zip(merges, heights, strict=True):
                if x in members:
                    sibling = next(part for part in parts if x not in part)
                    total += len(sibling) * _sigmoid(slope * (height - above))
        soft.append(total / 2)
    return np.mean([soft[_meet(merges, x, y)] / w for (x, y), w in _observed(graph)])


def _observed(graph):
    return zip(graph.edges.tolist(), graph.weights.tolist(), strict=True)


def _sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z > -700 else 0.0


@st.composite
def graphs(draw, max_vertices=8, distinct=False):
    """A connected graph, parallel edges among its edges, and other weights to take it at; with ties unless distinct."""
    n = draw(st.integers(2, max_vertices))
    tree = [(draw(st.integers(0, v - 1)), v) for v in range(1, n)]
    more = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=12))
    edges = draw(st.permutations(tree + [(x, y) for x, y in more if x != y]))
    values = st.integers(1, 400 if distinct else 5)
    lists = st.lists(values, min_size=len(edges), max_size=len(edges), unique=distinct)
    return Graph(edges, np.array(draw(lists)) / 100, n_vertices=n), np.array(draw(lists)) / 100


def prim(points):
    """Pairs by (squared distance, smaller vertex, larger vertex), grown from vertex 0."""
    n = len(points)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    reached, outside, pairs = [0], set(range(1, n)), []
    best = {y: (squares[0, y], 0, y) for y in outside}
    while outside:
        x = min(outside, key=best.__getitem__)
        pairs.append(best[x])
        outside.remove(x)
        reached.append(x)
        for y in outside:
            best[y] = min(best[y], (squares[x, y], min(x, y), max(x, y)))
    return sorted(pairs)
