"""One iteration of ultrametric fitting, forward and backward, against the same steps with Higra; memory of a large fit.

    python benchmarks/ultrametric.py [--edges 1000000] [--large 5000000] [--write]
    python benchmarks/ultrametric.py --points 100000      neighbours and spanning trees, against SciPy's cKDTree

Everything runs on one core. *Higra* is: single linkage (`bpt_canonical`), lowest common ancestors of all edges, a
look-up, the loss, and the gradient added up on the edges of the tree. For Dasgupta's loss Higra has no soft sizes; the
walk of the published code is done in their place: forward, then backward, for each end of each tree edge, with an
exponential per ancestor, compiled. Losses and gradients of the two must agree. PASS means at least 5 times (Closest,
10⁶ edges), at least 4 times (Dasgupta, 10⁵ edges), and less than 8 GB for a graph of 5·10⁶ edges.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time

os.environ["OMP_NUM_THREADS"] = "1"  # Higra's threads, should it have any

import _tables
import higra
import numba
import numpy as np
from _measuring import seconds, verdict
from scipy.ndimage import gaussian_filter
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from palmette import ultrametric
from palmette.ultrametric.kd_tree import Boxes
from palmette.ultrametric.spanning import join_boxes

SLOPE = 50.0


def pixels(n_edges, seed=0):
    """A smooth random image with noise, 4 neighbours; weights are scaled to at most 1."""
    side = round((n_edges / 2) ** 0.5) + 1
    rng = np.random.default_rng(seed)
    image = gaussian_filter(rng.normal(size=(side, side)), 8.0) * 20 + 0.2 * rng.normal(size=(side, side))
    return unit(ultrametric.Graph.from_image(image))


def neighbours(n_edges, seed=0):
    """Points around 20 centres in three dimensions, 5 nearest neighbours and the spanning tree."""
    rng = np.random.default_rng(seed)
    n = round(n_edges / 3.05)
    points = rng.normal(size=(n, 3)) + 6 * rng.normal(size=(20, 3))[rng.integers(0, 20, n)]
    return unit(ultrametric.Graph.from_points(points))


def unit(graph):
    return graph.with_weights(graph.weights / graph.weights.max() + 1e-6)


class Higra:
    def __init__(self, graph):
        self.graph = graph
        self.sources, self.targets = graph.sources.astype(np.int64), graph.targets.astype(np.int64)
        self.theirs = higra.UndirectedGraph(graph.n_vertices)
        self.theirs.add_edges(self.sources, self.targets)

    def closest(self, weights):
        tree, altitudes, meets = self._meet(weights)
        difference = altitudes[meets] - self.graph.weights
        return (difference**2).mean(), self._scatter(tree, meets, 2 * difference / len(difference))

    def dasgupta(self, weights):
        tree, altitudes, meets = self._meet(weights)
        n, parents = self.graph.n_vertices, tree.parents()
        area = higra.attribute_area(tree)
        edges = higra.get_attribute(tree, "mst_edge_map")
        ends = np.stack((self.sources[edges], self.targets[edges]), axis=1)
        sizes = published_sizes(n, parents, area, altitudes, ends, SLOPE)
        by_size = np.bincount(meets - n, 1 / self.graph.weights, minlength=n - 1) / len(weights)
        by_altitude = published_gradient(n, parents, area, altitudes, ends, SLOPE, by_size)
        gradient = np.zeros(len(weights))
        gradient[edges] = by_altitude
        return (sizes[meets - n] / self.graph.weights).mean(), gradient

    def _meet(self, weights):
        tree, altitudes = higra.bpt_canonical(self.theirs, weights)
        tree.lowest_common_ancestor_preprocess()
        return tree, altitudes, tree.lowest_common_ancestor(self.sources, self.targets)

    def _scatter(self, tree, meets, by_edge):
        edges = higra.get_attribute(tree, "mst_edge_map")
        gradient = np.zeros(len(by_edge))
        gradient[edges] = np.bincount(meets - self.graph.n_vertices, by_edge, minlength=len(edges))
        return gradient


@numba.njit
def published_sizes(n, parents, area, altitudes, ends, slope):
    sizes = np.empty(len(ends))
    root = len(parents) - 1
    for merge in range(len(ends)):
        height = altitudes[n + merge]
        total = 0.0
        for node in ends[merge]:
            total += 1 / (1 + np.exp(-slope * height))
            while node != root:
                above = parents[node]
                total += (area[above] - area[node]) / (1 + np.exp(-slope * (height - altitudes[above])))
                node = above
        sizes[merge] = total / 2
    return sizes


@numba.njit
def published_gradient(n, parents, area, altitudes, ends, slope, by_size):
    gradient = np.zeros(len(ends))
    root = len(parents) - 1
    for merge in range(len(ends)):
        height = altitudes[n + merge]
        factor = by_size[merge] * slope / 2
        for node in ends[merge]:
            share = 1 / (1 + np.exp(-slope * height))
            gradient[merge] += factor * share * (1 - share)
            while node != root:
                above = parents[node]
                share = 1 / (1 + np.exp(-slope * (height - altitudes[above])))
                part = factor * (area[above] - area[node]) * share * (1 - share)
                gradient[merge] += part
                gradient[above - n] -= part
                node = above
    return gradient


def ours(graph, weights, loss):
    found = ultrametric.subdominant(graph, weights)
    value, gradient = loss.evaluate(found)
    return value, found.scatter(gradient)


def compare(name, graph, weights, loss, theirs, least, repeats=5):
    value, gradient = ours(graph, weights, loss)
    expected, slopes = theirs(weights)
    assert abs(value - expected) <= 1e-9 * abs(expected)
    assert np.abs(gradient - slopes).max() <= 1e-8 * np.abs(slopes).max()
    pairs = [(seconds(lambda: ours(graph, weights, loss), 2), seconds(lambda: theirs(weights))) for _ in range(repeats)]
    mine, other = (min(column) for column in zip(*pairs, strict=True))
    words = f"{name}, {graph.n_edges:,} edges: {1e3 * mine:.1f} ms, Higra {1e3 * other:.1f} ms, {other / mine:.1f} ×"
    verdict(None if least is None else other / mine >= least, words)
    return [name, f"{graph.n_edges:,}", f"{1e3 * mine:,.1f} ms", f"{1e3 * other:,.1f} ms", f"{other / mine:.1f} ×"]


def closest(sizes):
    loss = ultrametric.Closest()
    rows = []
    for n_edges in sizes:
        for kind, make in {"pixels": pixels, "neighbours": neighbours}.items():
            graph = make(n_edges)
            least = 5 if n_edges >= 1_000_000 else None
            rows.append(compare(f"Closest, {kind}", graph, graph.weights, loss, Higra(graph).closest, least))
    return rows


def dasgupta(n_edges):
    loss = ultrametric.Dasgupta(SLOPE)
    rows = []
    for kind, make in {"pixels": pixels, "neighbours": neighbours}.items():
        graph = make(n_edges)
        later = ultrametric.fit(graph, loss, iterations=30, tolerance=None).subdominant.weights
        for when, weights in {"first iteration": graph.weights, "after 30": later}.items():
            name = f"Dasgupta, {kind}, {when}"
            rows.append(compare(name, graph, weights, loss, Higra(graph).dasgupta, 4, repeats=2))
    return rows


LARGE = """
import resource, sys, time
import numpy as np
from palmette.ultrametric import Closest, ClusterSize, Graph, fit
side = round((int(sys.argv[1]) / 2) ** 0.5) + 1
graph = Graph.from_image(np.random.default_rng(0).random((side, side)))
start = time.perf_counter()
found = fit(graph, Closest() + ClusterSize(top=10), iterations=5, tolerance=None)
seconds = (time.perf_counter() - start) / 5
found.membership(10)
print(graph.n_edges, seconds, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6)
"""


def large(n_edges):
    ran = subprocess.run([sys.executable, "-c", LARGE, str(n_edges)], capture_output=True, text=True, check=True)
    edges, seconds, gigabytes = ran.stdout.split()
    words = (
        f"Closest + ClusterSize, {int(edges):,} edges: {float(seconds):.1f} s an iteration, {float(gigabytes):.2f} GB"
    )
    verdict(float(gigabytes) < 8, words)


def scipy_tree(points, tree, gaps, neighbours):
    """Total length of the spanning tree: Borůvka's rounds, and twice as many neighbours where all are in one part."""
    n = len(points)
    everyone, part, n_parts, total = np.arange(n), np.arange(n), n, 0.0
    best, gap, reach, known = np.full(n, -1), np.full(n, np.inf), gaps[:, -1].copy(), gaps.shape[1]
    while n_parts > 1:
        outside = part[neighbours] != part[:, None]
        first, has = outside.argmax(axis=1), outside.any(axis=1)
        best[has], gap[has] = neighbours[everyone, first][has], gaps[everyone, first][has]
        gap[part[best] == part] = np.inf
        nearest = np.full(n_parts, np.inf)
        np.minimum.at(nearest, part, gap)
        open_, k = np.flatnonzero(np.isinf(gap) & (reach <= nearest[part])), known
        while len(open_) and k < n:
            k = min(2 * k, n)
            lengths, others = tree.query(points[open_], k)
            outside = part[others] != part[open_, None]
            first, has, rows = outside.argmax(axis=1), outside.any(axis=1), np.arange(len(open_))
            best[open_[has]], gap[open_[has]] = others[rows, first][has], lengths[rows, first][has]
            np.minimum.at(nearest, part[open_], gap[open_])
            reach[open_] = np.maximum(reach[open_], lengths[:, -1])
            open_ = open_[~has & (reach[open_] <= nearest[part[open_]])]
        order = np.lexsort((gap, part))
        chosen = order[np.flatnonzero(np.diff(part[order], prepend=-1))]
        pairs = np.unique(np.sort(np.stack((chosen, best[chosen]), axis=1), axis=1), axis=0)
        total += np.linalg.norm(points[pairs[:, 0]] - points[pairs[:, 1]], axis=1).sum()
        joined = coo_array((np.ones(len(pairs)), tuple(part[pairs].T)), shape=(n_parts, n_parts))
        n_parts, number = connected_components(joined, directed=False)
        part = number[part]
    return total


def timed(call):
    start = time.perf_counter()
    return call(), time.perf_counter() - start


def of_points(n, k=5):
    rng = np.random.default_rng(0)
    for d in (2, 3, 10):
        normal = rng.normal(size=(n, d))
        grouped = rng.normal(size=(n // 10, d)) + 20 * rng.normal(size=(20, d))[rng.integers(0, 20, n // 10)]
        for name, points in {"normal": normal, "in 20 groups": grouped}.items():
            warm = Boxes.of(points[:99])
            join_boxes(warm, *warm.nearest(k))
            boxes, building = timed(lambda points=points: Boxes.of(points))
            near, nearing = timed(lambda boxes=boxes: boxes.nearest(k))
            ends, joining = timed(lambda boxes=boxes, near=near: join_boxes(boxes, *near))
            tree, planting = timed(lambda points=points: cKDTree(points))
            found, asking = timed(lambda points=points, tree=tree: tree.query(points, k + 1))
            total, growing = timed(lambda points=points, tree=tree, found=found: scipy_tree(points, tree, *found))
            length = np.linalg.norm(points[ends[0]] - points[ends[1]], axis=1).sum()
            verdict(
                abs(length / total - 1) < 1e-6,
                f"{len(points):,} points {name}, d = {d}: neighbours {building + nearing:.2f} s, cKDTree "
                f"{planting + asking:.2f} s; spanning tree {joining:.2f} s, with cKDTree {growing:.2f} s",
            )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--dasgupta-edges", type=int, default=100_000)
    parser.add_argument("--large", type=int, default=5_000_000)
    parser.add_argument("--points", type=int, help="compare graphs of so many points, and nothing else")
    _tables.add_option(parser)
    given = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if given.points:
        of_points(given.points)
        return
    rows = closest([n for n in (10_000, 100_000) if n < given.edges] + [given.edges])
    rows += dasgupta(given.dasgupta_edges)
    header = ["one iteration, one core", "edges", "palmette", "Higra", "ratio"]
    _tables.write(given.write, "ultrametrics", _tables.lines_of(header, rows))
    large(given.large)


if __name__ == "__main__":
    main()
