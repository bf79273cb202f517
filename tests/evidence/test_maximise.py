"""Parameters by evidence: against another optimiser, differences, and what is known of the data."""

from __future__ import annotations

import functools
import math
import warnings

import numpy as np
import pytest
from scipy.optimize import minimize

from palmette import HierarchyPosterior, PartitionPosterior, SparseTrellis
from palmette.evidence import average, maximise
from palmette.likelihoods import NormalGamma
from palmette.models import (
    BetaSplitting,
    Contrasts,
    Dasgupta,
    DirichletProcess,
    HierarchicalRandomGraph,
    NormalPairs,
    PoissonPairs,
    with_prior,
)
from palmette.simulate import contrasts

RNG = np.random.default_rng(0)
GROUPS = np.concatenate([RNG.normal(c, 0.5, (3, 2)) for c in ([0, 0], [5, 0], [2.5, 6])])


def spread(x, a, v):
    """Contrasts by two parameters of which one is the tail, and one the scale."""
    return Contrasts(x, a, a * v)


def log_evidence(x, logs):
    a, v = np.exp(logs)
    return HierarchyPosterior(spread(x, a, v)).log_evidence


@pytest.mark.parametrize("scale", [1.0, 1e4])
def test_two_parameters_are_found_in_few_posteriors(scale):
    x = scale * GROUPS
    start = Contrasts(x)
    best = maximise(functools.partial(spread, x), a=start.a, v=start.b / start.a)
    found = np.log(list(best.values.values()))
    other = minimize(lambda logs: -log_evidence(x, logs), found, method="Nelder-Mead", options={"fatol": 1e-7})
    assert best.log_evidence == pytest.approx(-other.fun, abs=0.02)
    assert best.n_posteriors <= 25
    assert best.log_evidence == HierarchyPosterior(best.model).log_evidence
    assert not best.at_boundary
    assert min(HierarchyPosterior(best.model).cluster_probability(range(k, k + 3)) for k in (0, 3, 6)) > 0.8


@pytest.mark.filterwarnings("ignore:the evidence still grows")
@pytest.mark.parametrize("kind", ["noise", "groups", "heavy", "model"])
def test_two_parameters_never_take_many_posteriors(kind):
    for seed in range(2):
        rng = np.random.default_rng(seed)
        x = {
            "noise": rng.normal(size=(7, 1 + seed)),
            "groups": 0.3 * rng.normal(size=(7, 2)) + 3.0 * rng.integers(3, size=7)[:, None],
            "heavy": rng.standard_t(2, size=(7, 1 + seed)),
            "model": contrasts(7, 1 + seed, 0.4, rng=seed).x,
        }[kind]
        start = Contrasts(x)
        for family, names in (
            (spread, {"a": start.a, "v": start.b / start.a}),
            (Contrasts, {"a": start.a, "b": start.b}),
        ):
            best = maximise(functools.partial(family, x), **names)
            assert best.n_posteriors <= 25
            assert best.log_evidence >= HierarchyPosterior(start).log_evidence


def test_the_curvature_is_that_of_differences():
    best = maximise(functools.partial(spread, GROUPS), a=0.5, v=0.5, tolerance=1e-3)
    x, step = np.log(list(best.values.values())), 0.1
    f = functools.partial(log_evidence, GROUPS)
    axes = step * np.eye(2)
    second = [[f(x + e + d) - f(x + e - d) - f(x - e + d) + f(x - e - d) for d in axes] for e in axes]
    np.testing.assert_allclose(best.curvature, -np.array(second) / (4 * step**2), rtol=0.15, atol=0.1)
    assert list(best.errors) == ["a", "v"]
    np.testing.assert_allclose(list(best.errors.values()), np.sqrt(np.diag(np.linalg.inv(best.curvature))))


def test_noise_goes_to_the_boundary_and_says_so():
    noise = np.random.default_rng(5).normal(size=(8, 3))
    with pytest.warns(UserWarning, match="still grows where a cannot go further"):
        best = maximise(functools.partial(spread, noise), a=0.5, v=0.2, within={"a": (0.1, 20.0)})
    assert best.at_boundary == ("a",)
    assert best.values["a"] == pytest.approx(20.0)
    assert best.errors["a"] == math.inf
    assert "at the boundary: a" in repr(best)
    assert max(row.probability for row in HierarchyPosterior(best.model).cluster_probabilities(0.0)) < 0.3


@pytest.mark.filterwarnings("ignore:the evidence still grows")
def test_priors_graphs_and_partitions_are_families_too():
    comb = np.array([1.0, 3, 9, 27, 81, 243, 729])[:, None]
    model = Contrasts(comb, 0.2, 0.1)
    best = maximise(lambda c: with_prior(model, BetaSplitting(c - 2.0)), c=1.0, within={"c": (0.01, 20.0)})
    assert best.values["c"] < 0.5  # combs are near −2
    w = np.kron(np.eye(2), np.ones((4, 4))) - np.eye(8)
    graph = maximise(functools.partial(HierarchicalRandomGraph, w), a=1.0, b=1.0)
    assert max(graph.values.values()) < 1.0  # probabilities are near 0 and near 1
    mixture = lambda alpha: DirichletProcess(GROUPS, alpha, NormalGamma(pseudo_count=0.1))  # noqa: E731
    best = maximise(mixture, alpha=1.0, tolerance=1e-4)
    grid = [PartitionPosterior(mixture(alpha)).log_evidence for alpha in np.exp(np.linspace(-3, 3, 200))]
    assert best.log_evidence == pytest.approx(max(grid), abs=2e-3)


def test_a_model_says_where_to_begin():
    start = Contrasts(GROUPS)
    assert (
        maximise(functools.partial(Contrasts, GROUPS)).values
        == maximise(functools.partial(Contrasts, GROUPS), a=start.a, b=start.b).values
    )
    w = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    for model in (HierarchicalRandomGraph, PoissonPairs, NormalPairs):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            best = maximise(functools.partial(model, w), most=8)
        assert best.values == pytest.approx(best.model.free_parameters)
    post = average(functools.partial(Contrasts, GROUPS))
    assert post.cluster_probability([0, 1, 2]) > 0.8


def test_a_trellis_is_passed_on():
    hierarchy = HierarchyPosterior(Contrasts(GROUPS)).map()
    trellis = SparseTrellis.from_hierarchies([hierarchy])
    best = maximise(functools.partial(spread, GROUPS), a=0.5, v=0.5, trellis=trellis)
    assert best.log_evidence == HierarchyPosterior(best.model, trellis=trellis).log_evidence


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"a": -1.0}, ValueError, "a is -1"),
        ({"a": 1.0, "within": {"q": (1, 2)}}, ValueError, "speaks of 'q'"),
        ({"a": 1.0, "within": {"a": (2, 1)}}, ValueError, "lower end first"),
        ({"a": 1.0, "tolerance": 0.0}, ValueError, "tolerance is 0"),
    ],
)
def test_bad_input_is_named(options, error, message):
    with pytest.raises(error, match=message):
        maximise(lambda a: Contrasts(GROUPS, a), **options)


def test_no_start_is_named():
    with pytest.raises(ValueError, match="no parameter"):
        maximise(lambda a: Contrasts(GROUPS, a))
    with pytest.raises(ValueError, match="no parameter"):
        maximise(lambda: Dasgupta(np.ones((3, 3))))


def test_a_family_makes_models_with_an_evidence():
    with pytest.raises(TypeError, match="from the family"):
        maximise(lambda a: a, a=1.0)
    with pytest.raises(TypeError, match="gives no probability of data"):
        maximise(lambda beta: Dasgupta(np.ones((3, 3)), beta), beta=1.0)
