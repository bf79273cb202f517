from __future__ import annotations

import pickle

import golden
import numpy as np
import pytest
import ultrametric_oracle as oracle
from hypothesis import given

from palmette.ultrametric import (
    Closest,
    ClusterSize,
    Dasgupta,
    Graph,
    Loss,
    Triplet,
    average_linkage,
    closest_exact,
    fit,
    is_ultrametric,
    subdominant,
)

TRIANGLE = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
GOLDEN = golden.read("ultrametric")
IRIS = Graph(np.reshape(GOLDEN.iris_edges, (-1, 2)), GOLDEN.iris_weights)
BOTH = ("weights", "average")


def iris_classes():
    classes = np.full(150, -1)
    classes[GOLDEN.iris_labelled] = np.array(GOLDEN.iris_classes)[GOLDEN.iris_labelled]
    return classes


def iris_problems():
    classes = iris_classes()
    return {
        "closest": (IRIS, Closest()),
        "closest+1*size_top10": (IRIS, Closest() + ClusterSize(top=10)),
        "closest+10*size_top10": (IRIS, Closest() + 10 * ClusterSize(top=10)),
        "closest+1*triplet_margin1": (IRIS, Closest() + Triplet(classes, margin=1.0)),
        "dasgupta_lambda50_w_over_max": (IRIS.with_weights(IRIS.weights / IRIS.weights.max()), Dasgupta(slope=50)),
    }


@pytest.mark.parametrize("name", iris_problems())
@pytest.mark.filterwarnings("ignore:the loss had not settled")
def test_iris_is_no_worse_than_the_published_optimiser(name):
    graph, loss = iris_problems()[name]
    assert fit(graph, loss).best_loss <= min(GOLDEN.iris_best[name].values())


def test_closest_on_iris_is_no_worse_than_average_linkage():
    plain = np.mean((average_linkage(IRIS).values - IRIS.weights) ** 2)
    assert plain == pytest.approx(0.002715, abs=1e-6)
    assert fit(IRIS, Closest(), start="average").best_loss < plain


@given(oracle.graphs(max_vertices=6))
def test_never_below_the_exact_optimum_and_seldom_far_above(case):
    graph, _ = case
    exact = closest_exact(graph)
    found = fit(graph, Closest(), start=BOTH, tolerance=None, iterations=500)
    assert found.best_loss >= exact.lower_bound - 1e-12
    assert found.best_loss <= 1.5 * exact.loss + 1e-3 * graph.weights.mean() ** 2


@given(oracle.graphs())
def test_what_is_returned_is_the_best_iterate(case):
    graph, _ = case
    loss = Closest() + ClusterSize(top=2)
    found = fit(graph, loss, iterations=80, tolerance=None)
    assert found.best_loss == found.history.min() == found.history[found.best_iteration]
    assert loss.evaluate(found.subdominant)[0] == found.best_loss
    assert is_ultrametric(graph, found.ultrametric)
    np.testing.assert_array_equal(found.membership(2), found.subdominant.membership(2))


def test_is_reproducible_and_goes_on_where_it_stopped():
    loss = Closest() + ClusterSize(top=10)
    whole, again = (fit(IRIS, loss, iterations=90, tolerance=None) for _ in range(2))
    np.testing.assert_array_equal(whole.history, again.history)
    assert len({whole, again, whole}) == 2
    half = pickle.loads(pickle.dumps(fit(IRIS, loss, iterations=40, tolerance=None)))
    for _ in range(2):  # going on leaves the first half as it was
        resumed = half.resume(50)
        np.testing.assert_array_equal(resumed.history, whole.history)
        np.testing.assert_array_equal(resumed.ultrametric, whole.ultrametric)
        assert resumed.best_iteration == whole.best_iteration


@pytest.mark.parametrize("unit", [1e-6, 2.0**20])
@pytest.mark.parametrize("steps", ["rounds", "constant"])
def test_the_unit_of_weights_does_not_matter(unit, steps):
    for margin in (None, 0.5, 20.0):
        histories = []
        for u in (1.0, unit):
            loss = Closest() if margin is None else Closest() + u * Triplet(iris_classes(), u * margin)
            found = fit(IRIS.with_weights(u * IRIS.weights), loss, iterations=25, tolerance=None, steps=steps)
            histories.append(found.history / u**2)
        np.testing.assert_allclose(*histories, rtol=1e-2)


def test_steps_are_as_long_as_what_the_loss_asks_for():
    # A margin of 300 mean weights is reached in as many steps as one of 3.
    classes = iris_classes()
    for margin in (3.0, 300.0):
        loss = Triplet(classes, margin * IRIS.weights.mean())
        assert (3 * loss + Closest()).reach == loss.margin
        found = fit(IRIS, loss, iterations=142, tolerance=None)
        assert found.best_loss < 0.5 * found.history[0]


def test_stops_when_the_loss_has_settled():
    found = fit(TRIANGLE, Closest())
    assert found.converged
    assert found.iterations == len(found.history) == 242
    assert found.best_loss == pytest.approx(2 / 3, rel=1e-6)
    assert fit(TRIANGLE, Closest(), tolerance=None, iterations=300).iterations == 300


def test_an_end_before_the_loss_has_settled_is_told():
    with pytest.warns(UserWarning, match="not settled after 10 iterations; go on with .resume()"):
        early = fit(TRIANGLE, Closest(), iterations=10)
    assert not early.converged
    with pytest.warns(UserWarning, match="after 20 iterations"):
        early.resume(10)
    assert early.resume().converged


class _Late(Loss):
    """A loss that looks settled for `wait` evaluations, and then falls."""

    def __init__(self, wait):
        self.wait, self.n = wait, 0

    def evaluate(self, fitted):
        self.n += 1
        value, gradient = Closest().evaluate(fitted)
        return (value, gradient) if self.n > self.wait else (1000.0 + 0.1 * (self.n % 7), gradient)


@pytest.mark.parametrize("steps", ["rounds", "constant"])
@pytest.mark.parametrize("wait", [60, 130, 240])
def test_does_not_stop_while_a_large_fall_is_still_coming(wait, steps):
    assert fit(TRIANGLE, _Late(wait), steps=steps).best_loss < 1


def test_starts():
    exact = np.array([5.0, 3.0, 5.0])
    given = fit(TRIANGLE, Closest(), start=exact)
    assert given.start == "given"
    assert given.history[0] == Closest().evaluate(subdominant(TRIANGLE, exact))[0]
    assert fit(TRIANGLE, Closest(), start="average").history[0] == pytest.approx(2 / 3)
    each = [fit(IRIS, Dasgupta(20), start=name, iterations=30, tolerance=None).best_loss for name in BOTH]
    assert fit(IRIS, Dasgupta(20), start=BOTH, iterations=30, tolerance=None).best_loss == min(each)


@given(oracle.graphs())
def test_weights_are_where_it_begins(case):
    # Algorithm 1, line 1: the first iterate is the subdominant ultrametric of the weights, to the last bit.
    graph, _ = case
    found = fit(graph, ClusterSize(), iterations=1, tolerance=None)
    np.testing.assert_array_equal(found.ultrametric, subdominant(graph).values)


def test_result_has_a_hierarchy():
    labelled = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6], labels=["a", "b", "c"])
    found = fit(labelled, Closest())
    assert found.hierarchy.to_newick(branch_lengths=False) == "(a,(b,c));"
    np.testing.assert_allclose(found.hierarchy.heights, [0, 0, 0, 3, 5], atol=1e-3)


def test_hard_graphs():
    alone = fit(Graph([], [], n_vertices=1), Closest())
    assert (alone.best_loss, alone.hierarchy.n_leaves) == (0.0, 1)
    forest = fit(Graph([[0, 1], [2, 3]], [1, 2], forest=True), Closest())
    assert [h.n_leaves for h in forest.hierarchies] == [2, 2]
    nothing = fit(Graph([[0, 1], [1, 2]], [0, 0]), Closest(), iterations=400, tolerance=None)
    assert 0 <= nothing.best_loss < 1e-2


def test_progress_is_drawn_on_stderr_alone(capsys, monkeypatch):
    monkeypatch.setattr("palmette.progress._PATIENCE", -1.0)
    monkeypatch.setattr("palmette.progress._INTERVAL", -1.0)
    fit(TRIANGLE, Closest(), iterations=5, tolerance=None, progress=True)
    out, err = capsys.readouterr()
    assert out == ""
    assert "fitting" in err


class _Bad(Loss):
    def __init__(self, value, shape):
        self._answer = (value, np.zeros(shape))

    def evaluate(self, fitted):
        return self._answer


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: fit(TRIANGLE, "closest"), TypeError, "must be a Loss"),
        (lambda: fit(TRIANGLE, Closest(), start="ward"), ValueError, "'ward'; it may be \"weights\""),
        (lambda: fit(TRIANGLE, Closest(), start=[1, 2]), ValueError, r"start has shape \(2,\)"),
        (lambda: fit(TRIANGLE, Closest(), start=[1, 2, -1]), ValueError, "edge 2 is -1"),
        (lambda: fit(TRIANGLE, Closest(), iterations=0), ValueError, "iterations is 0"),
        (lambda: fit(TRIANGLE, Closest(), learning_rate=-1), ValueError, "learning_rate is -1"),
        (lambda: fit(TRIANGLE, Closest(), tolerance="x"), TypeError, "tolerance must be a number"),
        (lambda: fit(TRIANGLE, Closest(), steps="short"), ValueError, "steps is 'short'; give one of 'rounds'"),
        (lambda: fit(TRIANGLE, Closest(), scale=0.0), ValueError, "scale is 0"),
        (lambda: fit(TRIANGLE, Triplet([0, 0, 1, 1])), ValueError, "4 entries"),
        (lambda: fit(Graph([[0, 1]], [0]), Dasgupta()), ValueError, "weight 0"),
        (lambda: fit(TRIANGLE, _Bad(np.nan, 2)), ValueError, "is nan"),
        (lambda: fit(TRIANGLE, _Bad(1.0, 3)), ValueError, r"shape \(3,\); give one number per merge"),
    ],
)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()
