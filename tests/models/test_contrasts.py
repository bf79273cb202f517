"""Contrasts: the formula, the integral behind it, a density, and what must not change the answer."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, contrasts
from random_hierarchies import hierarchies
from scipy.integrate import quad

from palmette import HierarchyPosterior, SparseTrellis
from palmette.models import Contrasts, Dasgupta, Uniform

GROUPS = np.concatenate([np.random.default_rng(0).normal(c, 0.7, (4, 2)) for c in ([0, 0], [5, 0], [2.5, 6])])


def points(n, seed, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


@given(
    h=hierarchies(max_leaves=12, binary=True),
    seed=st.integers(0, 2**16),
    a=st.sampled_from([0.1, 1.0, 40.0]),
    b=st.sampled_from([1e-3, 1.0, 1e3]),
)
def test_contrasts_are_their_formula(h, seed, a, b):
    x = points(h.n_leaves, seed)
    log_psi = contrasts(x, a, b)
    expected = sum(log_psi(tuple(left), tuple(right)) for left, right in h.splits())
    if h.n_leaves > 1:
        assert Contrasts(x, a, b).log_potential(h) == pytest.approx(expected, rel=1e-11, abs=1e-9)


@pytest.mark.parametrize(("a", "b"), [(0.5, 0.2), (2.0, 1.0), (9.0, 30.0)])
def test_the_variance_of_a_split_is_integrated_out(a, b):
    x = points(2, 3)
    gap = x[0] - x[1]
    squared, d = float(gap @ gap) / 2, x.shape[1]

    def joint(log_variance):
        v = math.exp(log_variance)
        normal = -d / 2 * math.log(2 * math.pi * v) - squared / (2 * v)
        inverse_gamma = a * math.log(b) - math.lgamma(a) - (a + 1) * math.log(v) - b / v
        return math.exp(normal + inverse_gamma + log_variance)

    integral = quad(joint, -30, 30, limit=400, epsabs=1e-14)[0]
    assert HierarchyPosterior(Contrasts(x, a, b)).log_evidence == pytest.approx(math.log(integral), rel=1e-8)


def test_the_density_of_three_points_integrates_to_one():
    """Over the plane of all points but for their mean, in coordinates in which lengths are as they are."""
    basis = np.array([[1, -1, 0], [1, 1, -2]]) / np.sqrt([[2], [6]])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    radii, steps = 2 * (1 + nodes) / (1 - nodes), 4 * weights / (1 - nodes) ** 2  # from 0 to infinity
    total = 0.0
    for angle in np.linspace(0, 2 * np.pi, 48, endpoint=False):
        unit = np.array([math.cos(angle), math.sin(angle)]) @ basis
        for r, step in zip(radii, steps, strict=True):
            log_p = HierarchyPosterior(Contrasts(r * unit[:, None], 4.0, 4.0)).log_evidence
            total += 2 * np.pi / 48 * step * r * math.exp(log_p)
    assert total == pytest.approx(1.0, abs=1e-5)


def test_the_evidence_is_the_mean_over_all_hierarchies():
    x = points(5, 1)
    oracle = Oracle(5, contrasts(x, 0.7, 0.4))
    expected = oracle.log_z - math.log(105)
    post = HierarchyPosterior(Contrasts(x, 0.7, 0.4))
    assert post.log_evidence == pytest.approx(expected, rel=1e-12)
    some = SparseTrellis.from_hierarchies([post.map()])
    assert post.on(some).log_evidence < post.log_evidence
    given = post.condition(require=[[0, 1]])
    assert given.log_evidence - post.log_evidence == pytest.approx(math.log(post.cluster_probability([0, 1])))


def test_costs_have_no_evidence():
    for model in (Dasgupta(np.ones((3, 3))), Uniform(3)):
        with pytest.raises(TypeError, match="gives no probability of data"):
            _ = HierarchyPosterior(model).log_evidence


def test_another_score_is_not_taken_for_a_density():
    class Doubled(Contrasts):
        """Whose log ψ is no log density any more."""

        @staticmethod
        def score(theta, parent, left, right):
            return 2.0 * theta[0]

    assert Doubled(GROUPS).log_evidence_offset is None


def answers(x, **options):
    return HierarchyPosterior(Contrasts(x, **options)).cluster_probability_array()


def test_units_turns_and_shifts_do_not_matter():
    x = points(7, 4)
    turn = np.linalg.qr(points(3, 5))[0]
    for other in (1e-9 * x, 1e9 * x, x @ turn, x + np.array([3.0, -40.0, 7.0]), x[:, ::-1]):
        np.testing.assert_allclose(answers(other), answers(x), atol=1e-11)
    with_constant = np.column_stack([x, np.full(7, 3.0), np.zeros(7)])
    np.testing.assert_array_equal(answers(with_constant), answers(x))
    assert Contrasts(with_constant).dimension == 3


def test_scaling_changes_the_evidence_by_the_jacobian():
    x = points(6, 4)
    one, two = (HierarchyPosterior(Contrasts(s * x, 0.5, s * s * 0.3)).log_evidence for s in (1.0, 10.0))
    assert one - two == pytest.approx(5 * 3 * math.log(10.0), rel=1e-12)


def test_few_leaves_and_equal_points_are_ordinary():
    assert HierarchyPosterior(Contrasts([[3.0, 1.0]])).log_evidence == 0.0
    two = HierarchyPosterior(Contrasts([[0.0], [1.0]], 1.5, 0.5))
    assert two.log_evidence == pytest.approx(contrasts(np.array([[0.0], [1.0]]), 1.5, 0.5)((0,), (1,)))
    same = HierarchyPosterior(Contrasts(np.ones((4, 2))))
    assert same.model.dimension == 0
    np.testing.assert_allclose(np.exp(same.entropy), 15.0)
    pairs = HierarchyPosterior(Contrasts([[0.0], [0.0], [1.0], [1.0], [1.0]]))
    assert pairs.cluster_probability([0, 1]) > pairs.cluster_probability([0, 2])
    assert np.isfinite(pairs.log_evidence)


def test_groups_are_found_and_noise_is_not():
    post = HierarchyPosterior(Contrasts(GROUPS, 0.5, 0.2))
    assert min(post.cluster_probability(range(k, k + 4)) for k in (0, 4, 8)) > 0.75
    noise = HierarchyPosterior(Contrasts(points(9, 7)))
    assert max(row.probability for row in noise.cluster_probabilities(0.0)) < 0.5
    flat = HierarchyPosterior(Contrasts(GROUPS, 1e8, 1e8))
    assert flat.entropy == pytest.approx(HierarchyPosterior(Uniform(12)).entropy, rel=1e-5)


def test_many_more_columns_than_rows():
    x = points(6, 2, d=4000)
    x[:3] += 0.5
    post = HierarchyPosterior(Contrasts(x))
    assert post.cluster_probability([0, 1, 2]) > 0.99
    assert np.isfinite(post.log_evidence)


def test_columns_that_hang_together_count_for_less_if_asked():
    x = points(8, 3, d=2)
    x[:4] += 1.5
    copies = np.tile(x, 10)
    sure, plain, effective = (
        HierarchyPosterior(Contrasts(rows, dimension=dimension))
        for rows, dimension in ((copies, None), (x, "effective"), (copies, "effective"))
    )
    # Copies of a column are one column in other units; but there can be no more than there are.
    np.testing.assert_allclose(
        effective.cluster_probability_array(), plain.cluster_probability_array(), rtol=0, atol=0.04
    )
    assert effective.model.dimension == pytest.approx(plain.model.dimension, rel=0.1)
    assert 1.0 < plain.model.dimension <= 2.0
    assert sure.entropy < effective.entropy
    assert "effective dimension=" in repr(effective.model)
    assert Contrasts(copies, dimension=2.5).dimension == 2.5


@pytest.mark.parametrize("gap", [0.0, 30.0])
def test_independent_columns_count_whole_however_far_groups_are_apart(gap):
    x = points(40, 5, d=12)
    x[:20] += gap
    assert 10.5 < Contrasts(x, dimension="effective").dimension <= 12.0
    shared = 3.0 * np.random.default_rng(1).normal(size=(40, 1))
    assert Contrasts(x + shared, dimension="effective").dimension < 8.0


@pytest.mark.parametrize(("x", "d"), [(np.zeros((3, 2)), 0.0), (np.eye(2), 2.0), (np.arange(4.0)[:, None], 1.0)])
def test_few_points_and_columns_have_an_effective_dimension(x, d):
    assert Contrasts(x, dimension="effective").dimension == d


def test_a_model_of_contrasts_is_pickled_whole():
    model = pickle.loads(pickle.dumps(Contrasts(GROUPS, labels=[*"abcdefghijkl"])))
    assert (model.a, model.b, model.labels[0]) == (0.5, Contrasts(GROUPS).b, "a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [[0.0], [np.nan]]}, "row 1, column 0"),
        ({"points": [0.0, 1.0]}, "expected"),
        ({"points": np.empty((0, 2))}, "at least one leaf"),
        ({"points": GROUPS, "a": 0.0}, "a is 0"),
        ({"points": GROUPS, "b": -1.0}, "b is -1"),
        ({"points": GROUPS, "b": 1e-15}, "lost in the rounding"),
        ({"points": GROUPS, "dimension": 0}, "dimension is 0"),
        ({"points": 1e200 * GROUPS}, "too large"),
    ],
)
def test_bad_input_is_named(options, message):
    with pytest.raises(ValueError, match=message):
        Contrasts(**options)
