"""What a sparse trellis misses: exact where the full one fits, and an unbiased estimate with an honest error beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from random_hierarchies import random_merges

import palmette as pal
from palmette.defaults import Defaults
from palmette.search import coverage
from palmette.trellis.counting import double_factorial


def sparse_posterior(model, count=2, seed=0):
    rng = np.random.default_rng(seed)
    given = [pal.Hierarchy.from_merges(random_merges(model.n_leaves, rng), model.labels) for _ in range(count)]
    given.append(pal.search.greedy(model).hierarchy)
    return pal.HierarchyPosterior(model, trellis=pal.SparseTrellis.from_hierarchies(given, closed=True))


def points(n, seed=0):
    return pal.models.SumOfSquares(np.random.default_rng(seed).random((n, 2)), beta=3.0)


@pytest.mark.parametrize("seed", range(6))
def test_small_problems_are_compared_with_the_full_trellis(seed):
    posterior = sparse_posterior(points(7, seed), seed=seed)
    missed = 1.0 - math.exp(posterior.log_partition - pal.HierarchyPosterior(posterior.model).log_partition)
    found = pal.search.uncovered(posterior)
    assert found.kind == "exact"
    assert found.value == pytest.approx(missed, abs=1e-12)
    assert 0.0 <= found.value <= 1.0


def test_a_full_trellis_misses_nothing():
    model = points(5)
    everything = list(map(pal.clusters.cluster_members, range(1, 2**5)))
    complete = pal.SparseTrellis.from_clusters(everything, model.labels)
    assert pal.search.uncovered(pal.HierarchyPosterior(model)).value == 0.0
    assert pal.search.uncovered(pal.HierarchyPosterior(model, trellis=complete)).value == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_the_estimate_agrees_with_the_exact_share(seed, monkeypatch):
    posterior = sparse_posterior(points(8, seed), seed=seed)
    exact = pal.search.uncovered(posterior).value
    monkeypatch.setattr(coverage, "DEFAULTS", Defaults(exact_leaves=3, function_leaves=3))
    # A trellis that is hardly grown, so that most of what is missed is left to the draws.
    found = pal.search.uncovered(posterior, min_share=0.5, max_clusters=20, n_draws=400, rng=seed)
    assert found.kind == "estimate"
    assert found.standard_error > 0.0
    assert abs(found.value - exact) < 5.0 * found.standard_error + 1e-3


def test_the_error_shrinks_with_the_number_of_draws(monkeypatch):
    monkeypatch.setattr(coverage, "DEFAULTS", Defaults(exact_leaves=3, function_leaves=3))
    posterior = sparse_posterior(points(8))
    errors = [pal.search.uncovered(posterior, min_share=0.5, max_clusters=20, n_draws=k, rng=1) for k in (50, 800)]
    assert errors[1].standard_error < 0.6 * errors[0].standard_error


@pytest.mark.parametrize("n", [4, 5, 6])
def test_the_proposal_draws_every_hierarchy_with_the_probability_it_says(n):
    # E_q[1 / q] is the number of hierarchies, and E_q[1{H} / q(H)] = 1 for each of them.
    posterior = sparse_posterior(points(n, 5))
    proposal = coverage._Proposal(posterior.passes, posterior._possible, np.random.default_rng(0))
    draws = [proposal.draw() for _ in range(4000)]
    inverse = np.exp([-log_q for _, log_q, _ in draws])
    error = inverse.std() / math.sqrt(len(draws))
    assert abs(inverse.mean() - double_factorial(2 * n - 3)) < 5.0 * error
    seen = {}
    for masks, log_q, covered in draws:
        hierarchy = coverage.hierarchy_of_masks(masks, posterior.labels)
        assert covered == posterior.trellis.holds(hierarchy)
        assert seen.setdefault(hierarchy, log_q) == pytest.approx(log_q)
    assert sum(math.exp(log_q) for log_q in seen.values()) <= 1.0 + 1e-9


@pytest.mark.parametrize("kind", ["split function", "dasgupta"])
def test_other_kinds_of_models(kind, monkeypatch):
    monkeypatch.setattr(coverage, "DEFAULTS", Defaults(exact_leaves=3, function_leaves=3))
    rng = np.random.default_rng(2)
    w = rng.random((7, 7))
    model = pal.models.Dasgupta(w + w.T, beta=0.3)
    if kind == "split function":
        table = rng.normal(size=2**7)
        model = pal.models.SplitFunction(7, lambda left, right: table[left] + table[right])
    posterior = sparse_posterior(model)
    exact = 1.0 - math.exp(posterior.log_partition - pal.HierarchyPosterior(model).log_partition)
    found = pal.search.uncovered(posterior, min_share=0.5, max_clusters=20, n_draws=500, rng=0)
    assert abs(found.value - exact) < 5.0 * found.standard_error + 1e-3


def test_same_seed_same_estimate(monkeypatch):
    monkeypatch.setattr(coverage, "DEFAULTS", Defaults(exact_leaves=3, function_leaves=3))
    posterior = sparse_posterior(points(7))
    one, two = (pal.search.uncovered(posterior, n_draws=30, min_share=0.5, rng=4) for _ in range(2))
    assert (one.value, one.standard_error) == (two.value, two.standard_error)


def test_a_trellis_of_hopeless_hierarchies_misses_everything(monkeypatch):
    monkeypatch.setattr(coverage, "DEFAULTS", Defaults(exact_leaves=3, function_leaves=3))
    model = pal.models.SumOfSquares(np.random.default_rng(0).random((7, 2)), beta=1e5)
    worst = pal.Hierarchy.from_merges(random_merges(7, np.random.default_rng(3)))
    posterior = pal.HierarchyPosterior(model, trellis=pal.SparseTrellis.from_hierarchies([worst]))
    found = pal.search.uncovered(posterior, max_clusters=13, n_draws=50, rng=0)
    assert found.value == pytest.approx(1.0)
    assert not math.isnan(found.standard_error)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="expected a HierarchyPosterior"):
        pal.search.uncovered(points(4))
    with pytest.raises(ValueError, match="n_draws"):
        pal.search.uncovered(pal.HierarchyPosterior(points(4)), n_draws=0)
