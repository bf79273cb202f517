"""Graphs of points, sparse matrices and images, against plain double loops."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from ultrametric_oracle import prim

from palmette.ultrametric.graph import Graph

grid_points = st.tuples(st.integers(1, 40), st.integers(1, 4)).flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.integers(0, 5).map(float))
)


def plain_neighbours(points, k):
    """(i, j) for each of the k nearest j of i; of equal distances the lower vertex."""
    n = len(points)
    squares = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    pairs = set()
    for i in range(n):
        others = sorted((squares[i, j], j) for j in range(n) if j != i)
        pairs |= {(i, j) for _, j in others[:k]}
    return pairs


@given(grid_points, st.integers(1, 8))
def test_distances_make_the_graph_of_the_points(points, k):
    between = np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))
    of_points, of_distances = Graph.from_points(points, k), Graph.from_distances(between, k)
    np.testing.assert_array_equal(of_distances.edges, of_points.edges)
    np.testing.assert_allclose(of_distances.weights, of_points.weights)


@given(grid_points, st.integers(1, 8))
def test_points_are_joined_to_their_neighbours_and_along_the_spanning_tree(points, k):
    directed = plain_neighbours(points, k)
    tree = {(i, j) for _, i, j in prim(points)}
    expected = sorted({(min(pair), max(pair)) for pair in directed} | tree)
    distances = [np.sqrt(((points[i] - points[j]) ** 2).sum()) for i, j in expected]
    shares = [max(((i, j) in directed) + ((j, i) in directed), 1) / 2 for i, j in expected]
    graph = Graph.from_points(points, k)
    assert [tuple(edge) for edge in graph.edges.tolist()] == expected
    np.testing.assert_allclose(graph.weights, distances, rtol=1e-15)
    np.testing.assert_allclose(
        Graph.from_points(points, k, averaged=True).weights, np.multiply(distances, shares), rtol=1e-15
    )


def test_many_neighbours_are_all_pairs():
    points = np.random.default_rng(0).normal(size=(7, 2))
    for k in (6, 7, 100):
        assert Graph.from_points(points, k).n_edges == 21


def test_one_point_is_a_graph():
    graph = Graph.from_points([[1.0, 2.0]], labels=["only"])
    assert (graph.n_vertices, graph.n_edges, graph.labels) == (1, 0, ("only",))


def test_equal_points_have_weight_zero_and_cost_no_more():
    graph = Graph.from_points(np.ones((20_000, 3)), 3)
    assert not graph.weights.any()
    assert Graph(graph.edges, graph.weights).n_components == 1


def test_points_are_checked():
    with pytest.raises(ValueError, match="points holds nan at row 1, column 0"):
        Graph.from_points([[0.0], [np.nan]])
    with pytest.raises(ValueError, match="points is empty"):
        Graph.from_points(np.empty((0, 2)))
    with pytest.raises(ValueError, match="there are no columns"):
        Graph.from_points(np.empty((3, 0)))
    with pytest.raises(ValueError, match=r"expected \(n, d\)"):
        Graph.from_points([0.0, 1.0])
    with pytest.raises(ValueError, match="squares overflow"):
        Graph.from_points([[0.0], [1e200]])
    with pytest.raises(ValueError, match="k is 0; it must be at least 1"):
        Graph.from_points([[0.0], [1.0]], 0)
    with pytest.raises(ValueError, match="3 labels were given for 2 leaves"):
        Graph.from_points([[0.0], [1.0]], labels=["a", "b", "c"])


def test_averaged_weights_of_the_irises_are_the_published_ones():
    datasets = pytest.importorskip("sklearn.datasets")
    graph = Graph.from_points(datasets.load_iris().data, 5, averaged=True)
    # 511 edges there, where the one of length 0 got lost; ties may be decided otherwise, which leaves the sum.
    assert np.count_nonzero(graph.weights) == 511
    assert graph.weights.sum() == pytest.approx(134.75385848285217, rel=1e-12)


def test_one_triangle_of_a_matrix_is_enough():
    full = scipy.sparse.csr_array(np.array([[0, 1, 2], [1, 0, 0], [2, 0, 0]]))
    for matrix in (full, scipy.sparse.triu(full), scipy.sparse.tril(full), scipy.sparse.csc_matrix(full)):
        graph = Graph.from_sparse(matrix, labels=["a", "b", "c"])
        assert graph.edges.tolist() == [[0, 1], [0, 2]]
        assert graph.weights.tolist() == [1.0, 2.0]


def test_stored_zeros_are_edges_but_not_on_the_diagonal():
    matrix = scipy.sparse.coo_array(([0.0, 0.0, 1.0], ([0, 1, 1], [1, 1, 2])), shape=(3, 3))
    assert Graph.from_sparse(matrix).weights.tolist() == [0.0, 1.0]
    empty = scipy.sparse.csr_array((2, 2))
    assert Graph.from_sparse(empty, forest=True).n_components == 2


def test_what_rounding_leaves_in_a_matrix_is_averaged_out():
    matrix = scipy.sparse.csr_array(np.array([[0, 1.0], [1.0 + 1e-12, 0]]))
    assert Graph.from_sparse(matrix).weights.tolist() == pytest.approx([1.0 + 5e-13], abs=1e-15)


def test_matrices_are_checked():
    with pytest.raises(TypeError, match=r"not ndarray; scipy.sparse.csr_array\(matrix\) makes one"):
        Graph.from_sparse(np.zeros((2, 2)))
    with pytest.raises(ValueError, match=r"shape \(2, 3\); expected \(N, N\)"):
        Graph.from_sparse(scipy.sparse.csr_array((2, 3)))
    with pytest.raises(TypeError, match="real numbers, not complex128"):
        Graph.from_sparse(scipy.sparse.csr_array(np.array([[0, 1j], [1j, 0]])))
    with pytest.raises(ValueError, match=r"entries \(0, 1\) and \(1, 0\) of the matrix differ: 1 and 2; .*maximum"):
        Graph.from_sparse(scipy.sparse.csr_array(np.array([[0, 1], [2, 0]])))
    with pytest.raises(ValueError, match=r"entry \(1, 1\) of the matrix is 3 and joins vertex 1 to itself"):
        Graph.from_sparse(scipy.sparse.csr_array(np.array([[0, 1], [1, 3]])))
    with pytest.raises(ValueError, match="2 components"):
        Graph.from_sparse(scipy.sparse.csr_array((2, 2)))
    for bad in (np.nan, np.inf, -1.0):
        with pytest.raises(ValueError, match=f"edge 0 .* has weight {bad}"):
            Graph.from_sparse(scipy.sparse.csr_array(np.array([[0, bad], [bad, 0]])))


def plain_grid(image, diagonal):
    height, width = image.shape[:2]
    edges, weights = [], []
    for row in range(height):
        for column in range(width):
            for down, right in [(0, 1), (1, -1), (1, 0), (1, 1)] if diagonal else [(0, 1), (1, 0)]:
                r, c = row + down, column + right
                if r < height and 0 <= c < width:
                    edges.append([row * width + column, r * width + c])
                    gap = np.atleast_1d(image[row, column]).astype(float) - np.atleast_1d(image[r, c]).astype(float)
                    weights.append(np.sqrt((gap**2).sum()))
    return edges, weights


@given(st.integers(1, 5), st.integers(1, 5), st.integers(0, 3), st.booleans(), st.integers(0, 99))
def test_pixels_are_joined_to_their_neighbours(height, width, channels, diagonal, seed):
    shape = (height, width) if channels == 0 else (height, width, channels)
    image = np.random.default_rng(seed).integers(0, 256, shape).astype(np.uint8)
    graph = Graph.from_image(image, diagonal=diagonal)
    edges, weights = plain_grid(image, diagonal)
    assert graph.edges.tolist() == edges
    np.testing.assert_allclose(graph.weights, weights, rtol=1e-15)
    assert edges == sorted(edges)
    assert Graph(graph.edges, graph.weights, n_vertices=height * width).n_components == 1


def test_images_are_checked():
    for shape in ((3,), (0, 2), (2, 2, 2, 2)):
        with pytest.raises(ValueError, match=r"expected \(H, W\) or \(H, W, channels\)"):
            Graph.from_image(np.zeros(shape))
    with pytest.raises(ValueError, match="the image, one row per pixel, holds nan at row 1"):
        Graph.from_image([[0.0, np.nan]])
