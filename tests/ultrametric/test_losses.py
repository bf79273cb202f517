from __future__ import annotations

import golden
import numpy as np
import pytest
import ultrametric_oracle as oracle
from hypothesis import assume, given
from hypothesis import strategies as st

from palmette.ultrametric import Closest, ClusterSize, Dasgupta, Graph, Loss, Triplet, subdominant
from palmette.ultrametric.losses.dasgupta import _walk

TRIANGLE = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
GOLDEN = golden.read("ultrametric")
IRIS = Graph(np.reshape(GOLDEN.iris_edges, (-1, 2)), GOLDEN.iris_weights)


def golden_losses(classes, margin):
    return {
        "closest": Closest(),
        "size_all": ClusterSize(),
        "size_top10": ClusterSize(top=10),
        "triplet": Triplet(classes, margin),
        "dasgupta_lambda5": Dasgupta(slope=5),
        "dasgupta_lambda50": Dasgupta(slope=50),
    }


def labelled_iris():
    classes = np.full(150, -1)
    classes[GOLDEN.iris_labelled] = np.array(GOLDEN.iris_classes)[GOLDEN.iris_labelled]
    return classes


@pytest.mark.parametrize("case", GOLDEN.cases)
def test_golden_losses_and_gradients(case):
    found = subdominant(Graph(case["edges"], case["weights"]), case["point"])
    for name, loss in golden_losses(case["classes"], case["margin"]).items():
        value, gradient = loss.evaluate(found)
        expected, slopes = case["losses"][name]
        assert value == pytest.approx(expected, rel=1e-12), name
        np.testing.assert_allclose(found.scatter(gradient), slopes, rtol=1e-9, atol=1e-12, err_msg=name)
    soft_sizes, _ = _walk(found, 5.0, np.zeros(len(found.altitudes)))
    np.testing.assert_allclose(soft_sizes, case["soft_sizes"], rtol=1e-12)


def test_golden_losses_of_iris():
    for name, loss in golden_losses(labelled_iris(), 1.0).items():
        assert loss.evaluate(subdominant(IRIS))[0] == pytest.approx(GOLDEN.iris_losses[name], rel=1e-12), name


def random_classes(n, seed):
    classes = np.random.default_rng(seed).integers(-1, 3, n)
    sizes = np.bincount(classes[classes >= 0], minlength=3)
    assume(sizes.max() > 1 and (sizes > 0).sum() > 1)
    return classes


@given(oracle.graphs())
def test_values_equal_their_definitions(case):
    graph, weights = case
    found = subdominant(graph, weights)
    assert Closest().evaluate(found)[0] == pytest.approx(oracle.closest(graph, weights))
    for top in (None, 1, 2, 100):
        for over in ("top", "all"):
            expected = oracle.cluster_size(graph, weights, top, over)
            assert ClusterSize(top, over).evaluate(found)[0] == pytest.approx(expected)
    for slope in (1.0, 50.0, 40_000.0):  # the last is too steep for ratios of exponentials
        assert Dasgupta(slope).evaluate(found)[0] == pytest.approx(oracle.dasgupta(graph, weights, slope))


@given(oracle.graphs(), st.integers(0, 1000))
def test_triplets_equal_their_definition(case, seed):
    graph, weights = case
    classes = random_classes(graph.n_vertices, seed)
    for margin in (0.0, 0.02, 1.0):
        for both in (False, True):
            expected = oracle.triplet(graph, weights, classes, margin, both)
            loss = Triplet(classes, margin, both_orders=both)
            assert loss.evaluate(subdominant(graph, weights))[0] == pytest.approx(expected, abs=1e-12)


def by_differences(graph, weights, loss, step):
    slopes = np.empty(len(weights))
    for edge in range(len(weights)):
        shift = step * (np.arange(len(weights)) == edge)
        high, low = (loss.evaluate(subdominant(graph, weights + s))[0] for s in (shift, -shift))
        slopes[edge] = (high - low) / (2 * step)
    return slopes


@given(oracle.graphs(distinct=True), st.integers(0, 1000))
def test_gradients_equal_differences(case, seed):
    graph, weights = case  # distinct hundredths, so that a small step changes no order
    classes = random_classes(graph.n_vertices, seed)
    found = subdominant(graph, weights)
    triplets = [Triplet(classes, 0.505, both_orders=both) for both in (False, True)]
    sizes = [ClusterSize(), ClusterSize(top=2), ClusterSize(top=2, over="all")]
    for loss in (Closest(), *sizes, *triplets, Dasgupta(5.0), Dasgupta(20.0)):
        slopes = by_differences(graph, weights, loss, 1e-5)
        np.testing.assert_allclose(
            found.scatter(loss.evaluate(found)[1]), slopes, rtol=1e-5, atol=1e-6, err_msg=repr(loss)
        )


@given(oracle.graphs(), st.integers(0, 1000))
def test_with_ties_it_is_a_gradient_nearby(case, seed):
    # A limit of gradients at points without ties is a valid sub-gradient; the order of edges says from which side.
    graph, weights = case
    nearby = weights + 1e-9 * np.arange(len(weights))
    classes = random_classes(graph.n_vertices, seed)
    for loss in (Closest(), ClusterSize(top=2), Triplet(classes, 0.505), Dasgupta(5.0)):
        here, there = subdominant(graph, weights), subdominant(graph, nearby)
        np.testing.assert_array_equal(here.tree_edges, there.tree_edges)
        np.testing.assert_allclose(loss.evaluate(here)[1], loss.evaluate(there)[1], rtol=1e-6, atol=1e-6)


def test_soft_sizes_on_a_deep_tree_and_a_wide_range():
    n = 400
    rng = np.random.default_rng(0)
    edges = [(int(rng.integers(max(0, v - 3), v)), v) for v in range(1, n)] + [(v, v + 2) for v in range(n - 2)]
    graph = Graph(edges, rng.random(len(edges)) + 0.1)
    found = subdominant(graph)
    for slope in (3.0, 300.0, 5_000.0):
        value, gradient = Dasgupta(slope).evaluate(found)
        assert value == pytest.approx(oracle.dasgupta(graph, graph.weights, slope), rel=1e-11)
        assert np.isfinite(gradient).all()


def test_ratios_and_exponentials_agree(monkeypatch):
    found = subdominant(IRIS)
    value, gradient = Dasgupta(50.0).evaluate(found)
    monkeypatch.setattr("palmette.ultrametric.losses.dasgupta._WIDEST", 0.0)
    other_value, other = Dasgupta(50.0).evaluate(found)
    assert value == pytest.approx(other_value, rel=1e-13)
    np.testing.assert_allclose(gradient, other, rtol=1e-9, atol=1e-13)


def test_losses_add_up():
    found = subdominant(TRIANGLE)
    both = Closest() + 10 * (ClusterSize(top=1) + Dasgupta() * 0.5)
    value, gradient = both.evaluate(found)
    parts = [loss.evaluate(found) for loss in (Closest(), ClusterSize(top=1), Dasgupta())]
    assert value == pytest.approx(parts[0][0] + 10 * parts[1][0] + 5 * parts[2][0])
    np.testing.assert_allclose(gradient, parts[0][1] + 10 * parts[1][1] + 5 * parts[2][1])
    assert repr(both) == "Closest() + 10 * ClusterSize(top=1, over='top') + 5 * Dasgupta(slope=5.0)"


def test_without_edges_every_loss_is_nothing():
    alone = subdominant(Graph([], [], n_vertices=1))
    for loss in (Closest(), ClusterSize(), ClusterSize(top=3), Dasgupta()):
        value, gradient = loss.evaluate(alone)
        assert (value, gradient.shape) == (0.0, (0,))


def test_forests():
    forest = Graph([[0, 1], [2, 3]], [1, 2], forest=True)
    found = subdominant(forest)
    assert Closest().evaluate(found)[0] == 0
    assert ClusterSize().evaluate(found)[0] == 1.5
    assert np.isfinite(Dasgupta().evaluate(found)[0])
    with pytest.raises(ValueError, match="2 components"):
        Triplet([0, 0, 1, 1]).check(forest)


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: ClusterSize(top=0), ValueError, "top is 0"),
        (lambda: ClusterSize(top=1.5), TypeError, "top must be an integer"),
        (lambda: ClusterSize(over="sum"), ValueError, "over is 'sum'; give one of 'top', 'all'"),
        (lambda: Dasgupta(slope=0), ValueError, "positive number"),
        (lambda: Dasgupta(slope=np.nan), ValueError, "positive number"),
        (lambda: Dasgupta().check(Graph([[0, 1]], [0.0])), ValueError, r"edge 0 \(0–1\) has weight 0"),
        (lambda: Triplet([0, 0, 0]), ValueError, "no triplet: 3 vertices have a class, in 1 classes"),
        (lambda: Triplet([[0, 1]]), ValueError, "one class per vertex"),
        (lambda: Triplet([0.5, 1, 1]), TypeError, "integers"),
        (lambda: Triplet([0, 0, 1], margin=-1), ValueError, "margin is -1"),
        (lambda: Triplet([0, 0, 1, 1]).check(TRIANGLE), ValueError, "4 entries, but the graph has 3"),
        (lambda: -1 * Closest(), ValueError, "at least 0, not by -1"),
        (lambda: np.nan * Closest(), ValueError, "finite"),
        (lambda: Closest() + 1, TypeError, "unsupported operand"),
        (lambda: Closest() * "x", TypeError, "multiply"),
    ],
)
def test_errors(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


def test_a_loss_of_ones_own_is_a_small_class():
    class Highest(Loss):
        def evaluate(self, fitted):
            gradient = np.zeros(len(fitted.altitudes))
            gradient[-1] = 1.0
            return fitted.altitudes[-1], gradient

    value, gradient = (Highest() + Closest()).evaluate(subdominant(TRIANGLE))
    assert value == 4.0 + 4 / 3
    assert gradient.tolist() == [0.0, 1.0 - 4 / 3]
