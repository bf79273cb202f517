"""A graph keeps what it was given, and says what is wrong with what it cannot keep."""

import pickle

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
from hypothesis import given
from hypothesis import strategies as st

from palmette.ultrametric.graph import Graph

TRIANGLE = [[0, 1], [1, 2], [2, 0]]


def test_edges_and_weights_are_kept_in_their_order():
    graph = Graph(TRIANGLE, [3, 1, 2])
    assert graph.sources.tolist() == [0, 1, 2]
    assert graph.targets.tolist() == [1, 2, 0]
    assert graph.sources.dtype == graph.targets.dtype == np.int32
    assert graph.weights.tolist() == [3.0, 1.0, 2.0]
    assert graph.weights.dtype == np.float64
    assert graph.edges.tolist() == TRIANGLE
    assert graph.edges.dtype == np.int64
    assert (graph.n_vertices, graph.n_edges, graph.n_components) == (3, 3, 1)
    assert graph.labels == ("0", "1", "2")


def test_a_graph_never_changes():
    edges, weights = np.array(TRIANGLE), np.array([3.0, 1.0, 2.0])
    graph = Graph(edges, weights)
    edges[:], weights[:] = 0, -1
    assert graph.edges.tolist() == TRIANGLE
    assert graph.weights.tolist() == [3.0, 1.0, 2.0]
    for array in (graph.sources, graph.targets, graph.weights):
        assert not array.flags.writeable
        assert array.flags.c_contiguous
    with pytest.raises(AttributeError, match="never changes"):
        graph.weights = weights


def test_one_vertex_and_no_edge_is_a_graph():
    graph = Graph([], [], n_vertices=1)
    assert (graph.n_vertices, graph.n_edges, graph.n_components, graph.labels) == (1, 0, 1, ("0",))
    assert graph.edges.shape == (0, 2)
    assert graph.to_sparse().shape == (1, 1)
    assert Graph(np.empty((0, 2)), [], labels=["a"]).labels == ("a",)


def test_parallel_edges_and_zero_weights_are_allowed():
    graph = Graph([[0, 1], [1, 0], [0, 1]], [2.0, 0.0, -0.0])
    assert graph.n_edges == 3
    assert not np.signbit(graph.weights).any()


def test_labels_count_the_vertices():
    assert Graph([[0, 1]], [1.0], labels=["a", "b", "c"], forest=True).n_vertices == 3
    assert Graph([[0, 1]], [1.0], labels=iter(["a", "b"])).labels == ("a", "b")
    with pytest.raises(ValueError, match="2 labels were given for 3 leaves"):
        Graph([[0, 1]], [1.0], labels=["a", "b"], n_vertices=3)


def test_a_million_vertices_get_names_only_when_asked():
    path = np.arange(10**6)
    graph = Graph(np.stack((path[:-1], path[1:]), axis=1), np.ones(10**6 - 1))
    assert "labels" not in vars(graph)
    assert graph.labels[-1] == "999999"


@pytest.mark.parametrize(
    ("edges", "weights", "message"),
    [
        ([[0, 1, 2]], [1.0], r"edges has shape \(1, 3\); expected \(M, 2\)"),
        ([0, 1], [1.0], r"edges has shape \(2,\)"),
        ([[0, 1], [-1, 0]], [1.0, 1.0], "edge 1 joins vertices -1 and 0, but vertices are numbered from 0"),
        ([[0, 1], [1, 1]], [1.0, 1.0], "edge 1 joins vertex 1 to itself"),
        ([[0, 1]], [1.0, 2.0], r"weights has shape \(2,\); give one weight per edge \(1\)"),
        ([[0, 1], [1, 2]], [1.0, np.nan], r"edge 1 \(vertices 1 and 2\) has weight nan"),
        ([[0, 1]], [np.inf], r"edge 0 \(vertices 0 and 1\) has weight inf"),
        ([[0, 1], [0, 1]], [-2.0, -1.0], r"has weight -2.0 \(and 1 more do so\); weights are dissimilarities"),
        ([[0, 1]], [1e200], "at most 1e"),
        ([], [], "the graph has 0 vertices; give n_vertices=1"),
    ],
)
def test_errors_name_the_edge(edges, weights, message):
    with pytest.raises(ValueError, match=message):
        Graph(edges, weights)


def test_vertices_must_exist():
    with pytest.raises(ValueError, match="edge 0 joins vertices 0 and 5, but vertices are 0 to 2"):
        Graph([[0, 5]], [1.0], n_vertices=3)
    with pytest.raises(ValueError, match="n_vertices is 0; it must be at least 1"):
        Graph([], [], n_vertices=0)


def test_types_are_checked():
    with pytest.raises(TypeError, match="edges must hold integers"):
        Graph([[0.5, 1.0]], [1.0])
    with pytest.raises(TypeError, match="weights must be real numbers"):
        Graph([[0, 1]], ["heavy"])
    with pytest.raises(TypeError, match="weights must be real numbers"):
        Graph([[0, 1]], [1j])


def test_a_disconnected_graph_is_an_error_unless_a_forest_is_asked_for():
    edges = [[0, 1], [3, 2]]
    with pytest.raises(ValueError, match=r"2 components: no path leads from vertex 0 to vertex 2.*from_points.*forest"):
        Graph(edges, [1.0, 1.0])
    forest = Graph(edges, [1.0, 1.0], n_vertices=5, forest=True)
    assert forest.n_components == 3
    assert repr(forest) == "Graph(<5 vertices, 2 edges, 3 components>)"


@given(st.integers(1, 12), st.lists(st.tuples(st.integers(0, 11), st.integers(0, 11)), max_size=14))
def test_components_are_those_of_scipy(n, pairs):
    pairs = [(i % n, j % n) for i, j in pairs if i % n != j % n]
    graph = Graph(np.array(pairs, dtype=int).reshape(-1, 2), np.ones(len(pairs)), n_vertices=n, forest=True)
    dense = np.zeros((n, n))
    for i, j in pairs:
        dense[i, j] = 1
    count, component = scipy.sparse.csgraph.connected_components(dense, directed=False)
    assert graph.n_components == count
    if count > 1:
        apart = np.flatnonzero(component != component[0])[0]
        with pytest.raises(ValueError, match=f"{count} components: no path leads from vertex 0 to vertex {apart};"):
            Graph(graph.edges, graph.weights, n_vertices=n)


def test_other_weights_share_the_edges():
    graph = Graph(TRIANGLE, [3, 1, 2], labels=["a", "b", "c"])
    other = graph.with_weights([1, 1, 0])
    assert other.sources is graph.sources
    assert other.weights.tolist() == [1.0, 1.0, 0.0]
    assert other.labels == graph.labels
    with pytest.raises(ValueError, match=r"edge 2 .* has weight -1"):
        graph.with_weights([1, 1, -1])


def test_matrix_and_back():
    graph = Graph([[2, 0], [0, 1], [1, 2]], [2.0, 0.0, 1.0])
    matrix = graph.to_sparse()
    assert scipy.sparse.issparse(matrix)
    assert matrix.nnz == 6
    assert matrix.toarray().tolist() == [[0, 0, 2], [0, 0, 1], [2, 1, 0]]
    again = Graph.from_sparse(matrix)
    assert again.edges.tolist() == [[0, 1], [0, 2], [1, 2]]
    assert again.weights.tolist() == [0.0, 2.0, 1.0]
    assert graph.to_sparse(np.array([5, 6, 7])).toarray().tolist() == [[0, 6, 5], [6, 0, 7], [5, 7, 0]]
    with pytest.raises(ValueError, match=r"values has shape \(2,\); give one value per edge \(3\)"):
        graph.to_sparse([1.0, 2.0])


def test_a_matrix_keeps_the_smallest_of_parallel_edges():
    assert Graph([[0, 1], [1, 0]], [5.0, 3.0]).to_sparse().toarray().tolist() == [[0, 3], [3, 0]]


def test_pickling_keeps_everything():
    graph = Graph(TRIANGLE, [3, 1, 2], labels=["a", "b", "c"])
    again = pickle.loads(pickle.dumps(graph))
    assert again.edges.tolist() == TRIANGLE
    assert again.weights.tolist() == graph.weights.tolist()
    assert again.labels == graph.labels
    assert not again.weights.flags.writeable
