"""Parameters by draws: they are where `maximise` finds the maximum, on exact draws and on those of chains."""

from __future__ import annotations

import functools
import math
import sys
import types

import numpy as np
import pytest
from budget_cases import Clock
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import hierarchies
from scipy.optimize import minimize

from palmette import HierarchyPosterior, evidence
from palmette.models import BetaSplitting, Contrasts, Dasgupta, with_prior
from palmette.posterior import HierarchyMixture
from palmette.sampling import SampledPosterior, sample_hierarchies
from palmette.search import greedy

RNG = np.random.default_rng(4)
GROUPS = np.concatenate([RNG.normal(c, 0.6, (4, 3)) for c in ([0, 0, 0], [5, 0, 1], [2, 6, 0])])


@given(h=hierarchies(max_leaves=12, binary=True), seed=st.integers(0, 2**16))
def test_increments_are_wards(h, seed):
    x = np.random.default_rng(seed).normal(size=(h.n_leaves, 2))

    def squares(cluster):
        return float(np.square(x[list(cluster)] - x[list(cluster)].mean(axis=0)).sum())

    expected = [squares(left | right) - squares(left) - squares(right) for left, right in h.splits()]
    assert np.sort(Contrasts(x, labels=h.labels).increments(h)) == pytest.approx(np.sort(expected), abs=1e-9)


def test_what_is_fitted_to_hierarchies_makes_the_data_most_probable():
    model = Contrasts(GROUPS)
    draws = list(HierarchyPosterior(model).sample(20, rng=0))
    fitted = model.fitted_to(draws)

    def loss(x):
        return -np.mean([model.with_parameters(a=math.exp(x[0]), b=math.exp(x[1])).log_potential(h) for h in draws])

    best = minimize(loss, np.log([fitted.a, fitted.b]), method="Nelder-Mead")
    assert best.fun == pytest.approx(loss(np.log([fitted.a, fitted.b])), abs=1e-5)


def test_tuned_parameters_are_those_of_the_maximum():
    model = Contrasts(GROUPS)
    best = evidence.maximise(functools.partial(Contrasts, GROUPS), a=model.a, b=model.b)
    for found in (evidence.tuned(model), evidence.tuned(model, exact_leaves=0, rng=1)):
        assert HierarchyPosterior(found).log_evidence > best.log_evidence - 0.05


@pytest.mark.slow
def test_the_prior_stays():
    model = with_prior(Contrasts(GROUPS), BetaSplitting(0.0))
    found = evidence.tuned(model, most=3)
    assert found.prior == model.prior
    assert HierarchyPosterior(found).log_evidence > HierarchyPosterior(model).log_evidence


@pytest.mark.slow
def test_a_posterior_without_parameters_is_averaged_tuned_or_neither():
    model = with_prior(Contrasts(GROUPS), BetaSplitting(0.0))
    averaged = evidence.posterior(model)
    assert isinstance(averaged, HierarchyMixture)
    best = evidence.posterior(model, averaged_leaves=0)
    assert isinstance(best, HierarchyPosterior)
    assert averaged.log_evidence < best.log_evidence  # a mean is below the maximum
    few = evidence.posterior(model, max_memory=1000, sweeps=20, seconds=None)
    assert isinstance(few, SampledPosterior)
    cost = Dasgupta(np.ones((4, 4)))
    assert evidence.posterior(cost).model is cost


def test_the_same_seed_gives_the_same_parameters():
    model = Contrasts(GROUPS[::2])
    first, second = (evidence.tuned(model, most=2, rng=3) for _ in range(2))
    assert (first.a, first.b) == (second.a, second.b)


@pytest.mark.parametrize("points", [[[0.0]], [[0.0], [1.0]], [[2.0], [2.0], [2.0]], [[0.0], [0.0], [1.0], [1.0]]])
def test_few_and_equal_points_have_parameters_as_well(points):
    found = evidence.tuned(Contrasts(points))
    assert np.isfinite([found.a, found.b]).all()
    assert np.isfinite(HierarchyPosterior(found).log_evidence)


def test_units_do_not_matter():
    one, other = (evidence.tuned(Contrasts(GROUPS[::2] * unit), most=3) for unit in (1.0, 1e3))
    assert other.a == pytest.approx(one.a, rel=1e-4)
    assert other.b == pytest.approx(one.b * 1e6, rel=1e-4)


def test_a_model_that_fits_nothing_says_what_to_do():
    with pytest.raises(TypeError, match=r"evidence\.maximise does without, or write `fitted_to`"):
        evidence.tuned(Dasgupta(np.ones((4, 4))))


def test_without_time_the_parameters_are_those_of_the_greedy_hierarchy():
    model = Contrasts(GROUPS)
    with pytest.warns(UserWarning, match="parameters are those after 0 steps"):
        found = evidence.tuned(model, seconds=0.0, exact_leaves=0)
    first = model.fitted_to([greedy(model).hierarchy])
    assert (found.a, found.b) == (first.a, first.b)
    with pytest.raises(ValueError, match="seconds is -1"):
        evidence.tuned(model, seconds=-1)


def test_steps_end_when_their_time_is_up(monkeypatch):
    clock, model = Clock(monkeypatch), Contrasts(GROUPS)
    slow = clock.after(sample_hierarchies, 3.0)
    monkeypatch.setattr(sys.modules["palmette.evidence.tuned"], "sample_hierarchies", slow)
    with pytest.warns(UserWarning, match="parameters are those after 2 steps"):
        found = evidence.tuned(model, seconds=5.0, tolerance=1e-12, exact_leaves=0, rng=1)
    two = evidence.tuned(model, most=2, tolerance=1e-12, exact_leaves=0, rng=1)
    assert (found.a, found.b) == (two.a, two.b)


def test_parameters_get_a_fifth_of_the_time_and_chains_the_rest(monkeypatch):
    asked, clock = [], Clock(monkeypatch)

    def noted(model, *, seconds, **_):
        asked.append(seconds)
        clock.time += seconds or 0.0
        return model

    module = sys.modules["palmette.evidence.posterior"]
    monkeypatch.setattr(module, "tuned", noted)
    monkeypatch.setattr(module, "search", types.SimpleNamespace(posterior=noted))
    model = Contrasts(GROUPS)
    evidence.posterior(model, seconds=50.0, exact_leaves=8)
    evidence.posterior(model, seconds=50.0, sweeps=20, exact_leaves=8)
    evidence.posterior(model, seconds=50.0, averaged_leaves=0)  # few leaves take what they take
    assert asked == [10.0, 40.0, None, None, None, 50.0]
