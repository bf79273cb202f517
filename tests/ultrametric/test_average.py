"""Average linkage on graphs, against a dictionary of clusters that joins the smallest mean each time."""

from fractions import Fraction

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage

from palmette import Hierarchy
from palmette.ultrametric.average import average_linkage
from palmette.ultrametric.graph import Graph


def plain_average(n, edges, weights):
    """Values and children by exact fractions: between any two clusters, the list of edges."""
    clusters = {vertex: {vertex} for vertex in range(n)}
    values, children, heights = [None] * len(edges), [], []
    while True:
        home = {vertex: name for name, members in clusters.items() for vertex in members}
        between = {}
        for e, (x, y) in enumerate(edges):
            if home[x] != home[y]:
                between.setdefault(frozenset((home[x], home[y])), []).append(e)
        if not between:
            return values, children, heights
        means = {pair: sum(Fraction(weights[e]) for e in found) / len(found) for pair, found in between.items()}
        pair = min(between, key=lambda pair: (means[pair], between[pair][0]))
        for e in between[pair]:
            values[e] = float(means[pair])
        a, b = sorted(pair)
        clusters[n + len(children)] = clusters.pop(a) | clusters.pop(b)
        children.append([a, b])
        heights.append(float(means[pair]))


@st.composite
def graphs(draw):
    n = draw(st.integers(1, 14))
    pairs = draw(st.lists(st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)), max_size=40))
    edges = [pair for pair in pairs if pair[0] != pair[1]]
    weights = draw(st.lists(st.integers(0, 6), min_size=len(edges), max_size=len(edges)))
    return n, edges, weights


@given(graphs())
def test_joins_are_those_of_the_plain_loop(drawn):
    n, edges, weights = drawn
    graph = Graph(np.array(edges, dtype=int).reshape(-1, 2), weights, n_vertices=n, forest=True)
    joined = average_linkage(graph)
    values, children, heights = plain_average(n, edges, weights)
    assert joined.children.tolist() == children
    assert joined.heights.tolist() == heights
    assert joined.values.tolist() == values
    assert len(children) == n - graph.n_components


@given(st.integers(2, 40), st.integers(0, 10**6))
def test_on_complete_graphs_it_is_the_ordinary_average_linkage(n, seed):
    weights = np.random.default_rng(seed).random(n * (n - 1) // 2)
    joined = average_linkage(Graph(np.stack(np.triu_indices(n, 1), axis=1), weights))
    expected = linkage(weights, "average")
    np.testing.assert_array_equal(joined.children, expected[:, :2])
    np.testing.assert_allclose(joined.heights, expected[:, 2], rtol=1e-12)
    np.testing.assert_allclose(joined.values, cophenet(expected), rtol=1e-12)


@given(st.integers(2, 60), st.integers(1, 4), st.integers(0, 10**6))
def test_heights_never_fall_and_the_last_is_the_highest_value(n, k, seed):
    graph = Graph.from_points(np.random.default_rng(seed).normal(size=(n, 2)), k)
    joined = average_linkage(graph)
    assert (np.diff(joined.heights) >= 0).all()
    assert joined.values.max() == joined.heights[-1]
    hierarchy = Hierarchy.from_merges(joined.children, graph.labels, heights=joined.heights)
    assert hierarchy.n_leaves == n


def test_a_height_is_the_mean_over_all_edges_between_two_clusters():
    graph = Graph.from_image(np.random.default_rng(3).random((40, 40)), diagonal=True)
    joined = average_linkage(graph)
    heights, which = np.unique(joined.values, return_inverse=True)
    np.testing.assert_array_equal(heights, joined.heights)
    np.testing.assert_allclose(np.bincount(which, graph.weights) / np.bincount(which), heights, rtol=1e-12)


def test_a_star_is_no_trouble():
    n = 100_000
    weights = np.random.default_rng(4).random(n - 1)
    joined = average_linkage(Graph(np.stack((np.zeros(n - 1, int), np.arange(1, n)), axis=1), weights))
    np.testing.assert_array_equal(joined.values, weights)
    np.testing.assert_array_equal(joined.heights, np.sort(weights))


def test_many_hubs_are_no_trouble():
    rng = np.random.default_rng(5)
    leaves = np.repeat(np.arange(10, 30_000), 3)
    graph = Graph(np.stack((leaves, rng.integers(0, 10, len(leaves))), axis=1), rng.random(len(leaves)))
    joined = average_linkage(graph)
    assert len(joined.heights) == graph.n_vertices - 1
    assert (np.diff(joined.heights) >= 0).all()


def test_one_vertex_has_no_joins():
    joined = average_linkage(Graph([], [], n_vertices=1))
    assert (joined.values.shape, joined.children.shape, joined.heights.shape) == ((0,), (0, 2), (0,))


def test_the_same_graph_gives_the_same_bits():
    graph = Graph.from_points(np.random.default_rng(6).normal(size=(500, 3)))
    first, second = average_linkage(graph), average_linkage(graph)
    assert all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
