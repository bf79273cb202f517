"""The spanning tree of points is that of Prim's algorithm and of SciPy, however many distances are equal."""

import numpy as np
import pytest
import scipy.sparse.csgraph
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.spatial.distance import pdist, squareform
from ultrametric_oracle import prim

from palmette.ultrametric.kd_tree import Boxes, check_coordinates, pair_distances
from palmette.ultrametric.spanning import join_boxes

shapes = st.tuples(st.integers(1, 90), st.integers(1, 6))
tied_points = st.tuples(shapes, st.integers(0, 4)).flatmap(
    lambda drawn: arrays(np.float64, drawn[0], elements=st.integers(0, drawn[1]).map(float), fill=st.nothing())
)


def euclidean_spanning_tree(points, k=5):
    """The tree that graphs of points hold: edges (N − 1, 2) and lengths, by rising (length, i, j)."""
    checked = check_coordinates(points, "points")
    boxes = Boxes.of(checked)
    first, second = join_boxes(boxes, *boxes.nearest(min(k, len(checked) - 1)))
    lengths = pair_distances(checked, first, second)
    rising = np.lexsort((second, first, lengths))
    return np.stack((first, second), axis=1, dtype=np.int64)[rising], lengths[rising]


@given(tied_points)
def test_ties_are_decided_as_by_prim(points):
    edges, lengths = euclidean_spanning_tree(points)
    expected = prim(points)
    assert edges.tolist() == [[i, j] for _, i, j in expected]
    np.testing.assert_allclose(lengths**2, [square for square, _, _ in expected], rtol=1e-14)
    assert edges.dtype == np.int64
    assert edges.shape == (len(points) - 1, 2)


@given(shapes, st.integers(0, 10**6))
def test_the_total_length_is_that_of_scipy(shape, seed):
    points = np.random.default_rng(seed).normal(size=shape)
    _, lengths = euclidean_spanning_tree(points)
    total = scipy.sparse.csgraph.minimum_spanning_tree(squareform(pdist(points))).sum() if len(points) > 1 else 0.0
    assert lengths.sum() == pytest.approx(total, rel=1e-12)
    assert (np.diff(lengths) >= 0).all()


def test_a_thousand_points_need_searches():
    # Tight groups far apart: the nearest neighbours are of no help between them.
    rng = np.random.default_rng(1)
    points = (rng.normal(size=(30, 1, 3)) * 100 + rng.normal(size=(30, 40, 3))).reshape(-1, 3)
    edges, lengths = euclidean_spanning_tree(points)
    assert lengths.sum() == pytest.approx(scipy.sparse.csgraph.minimum_spanning_tree(squareform(pdist(points))).sum())
    assert edges.tolist() == [[i, j] for _, i, j in prim(points)]


def test_renumbered_points_have_the_same_lengths():
    rng = np.random.default_rng(2)
    points = rng.integers(0, 9, (400, 2)).astype(float)
    _, lengths = euclidean_spanning_tree(points)
    _, others = euclidean_spanning_tree(points[rng.permutation(400)])
    assert lengths.tolist() == others.tolist()


def test_equal_points_are_joined_to_the_lowest():
    edges, lengths = euclidean_spanning_tree(np.full((30_000, 2), 7.0))
    assert (edges[:, 0] == 0).all()
    assert not lengths.any()


def test_two_piles_of_points_cost_no_more():
    points = np.zeros((30_000, 2))
    points[1::2] = 1.0
    edges, lengths = euclidean_spanning_tree(points)
    assert edges[-1].tolist() == [0, 1]
    assert lengths.sum() == pytest.approx(np.sqrt(2))


@given(tied_points, st.integers(1, 12))
def test_nearest_neighbours_come_by_distance_and_vertex(points, k):
    boxes = Boxes.of(points)
    places, squares = boxes.nearest(min(k, len(points) - 1))
    distances = ((points[:, None] - points[None]) ** 2).sum(axis=2)
    for q, v in enumerate(boxes.order):
        expected = sorted((distances[v, w], w) for w in range(len(points)) if w != v)[:k]
        assert list(zip(squares[q], boxes.order[places[q]], strict=True)) == expected


def test_one_point_has_a_tree_without_edges():
    edges, lengths = euclidean_spanning_tree([[3.0, 4.0]])
    assert edges.shape == (0, 2)
    assert lengths.shape == (0,)
