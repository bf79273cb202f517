"""What a sparse trellis misses: exact where the full one fits, and an estimate with an honest error beyond."""

from __future__ import annotations

import math

import numpy as np
import pytest
from random_hierarchies import random_merges
from sampling_cases import rows_and_columns

import palmette as pal
from palmette.defaults import Defaults
from palmette.models import split_model
from palmette.sampling import sample_hierarchies


@pytest.fixture
def nothing_is_exact(monkeypatch):
    monkeypatch.setattr(split_model, "DEFAULTS", Defaults(separable_leaves=3, exact_leaves=3, function_leaves=3))


def points(n, seed=0, beta=20.0):
    return pal.models.SumOfSquares(np.random.default_rng(seed).random((n, 2)), beta=beta)


def sparse_posterior(model, min_share=1e-2):
    start = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy])
    return pal.HierarchyPosterior(model, trellis=pal.search.grow(model, start, min_share=min_share))


def missed_by(posterior):
    return -math.expm1(posterior.log_partition - posterior.on(None).log_partition)


@pytest.mark.parametrize("seed", range(6))
def test_small_problems_are_compared_with_the_full_trellis(seed):
    posterior = sparse_posterior(points(7, seed, beta=3.0))
    found = pal.search.uncovered(posterior)
    assert found.kind == "exact"
    assert found.value == pytest.approx(missed_by(posterior), abs=1e-12)
    assert 0.0 < found.value < 1.0


def test_a_full_trellis_misses_nothing():
    model = points(5)
    everything = list(map(pal.clusters.cluster_members, range(1, 2**5)))
    complete = pal.SparseTrellis.from_clusters(everything, model.labels)
    assert pal.search.uncovered(pal.HierarchyPosterior(model)).value == 0.0
    assert pal.search.uncovered(pal.HierarchyPosterior(model, trellis=complete)).value == pytest.approx(0.0, abs=1e-12)


def test_a_model_that_knows_only_its_trellis_misses_nothing(nothing_is_exact):
    trees = pal.HierarchyPosterior(points(6)).sample(20, rng=0)
    found = pal.search.uncovered(pal.posterior.from_trees(trees))
    assert (found.value, found.kind) == (0.0, "exact")


@pytest.mark.parametrize("n", [10, *(pytest.param(n, marks=pytest.mark.slow) for n in (11, 12))])
@pytest.mark.parametrize("min_share", [1e-1, 1e-2, 1e-3])
def test_the_estimate_agrees_with_the_exact_share(n, min_share, nothing_is_exact):
    posterior = sparse_posterior(points(n, seed=n), min_share)
    exact = missed_by(posterior)
    found = pal.search.uncovered(posterior, sweeps=400)
    assert found.kind == "estimate"
    assert 0.0 < found.standard_error < 0.05
    assert abs(found.value - exact) < 4.0 * found.standard_error


def test_shares_of_draws_are_those_that_holds_counts():
    posterior = sparse_posterior(points(9))
    sampled = sample_hierarchies(posterior.model, seconds=None, sweeps=100)
    slow = np.mean([posterior.trellis.holds(tree) for tree in sampled.trees])
    assert 0.0 < slow < 1.0
    turned = posterior.trellis.aligned_to(sampled.labels[::-1])
    assert sampled.share_in(posterior.trellis).value == sampled.share_in(turned).value == pytest.approx(slow)


def test_where_no_draw_is_outside_the_share_is_zero_with_an_error(nothing_is_exact):
    model = points(8)
    everything = list(map(pal.clusters.cluster_members, range(1, 2**8)))
    complete = pal.SparseTrellis.from_clusters(everything, model.labels)
    found = pal.search.uncovered(pal.HierarchyPosterior(model, trellis=complete), sweeps=200)
    assert (found.value, found.kind) == (0.0, "estimate")
    assert 0.0 < found.standard_error < 0.02


def test_a_trellis_of_hopeless_hierarchies_misses_everything_with_an_error(nothing_is_exact):
    model = points(8)
    worst = pal.Hierarchy.from_merges(random_merges(8, np.random.default_rng(3)))
    posterior = pal.HierarchyPosterior(model, trellis=pal.SparseTrellis.from_hierarchies([worst]))
    found = pal.search.uncovered(posterior, sweeps=200)
    assert found.value == 1.0
    assert 0.0 < found.standard_error < 0.02


@pytest.mark.slow
def test_conditions_are_honoured(nothing_is_exact):
    free = sparse_posterior(points(10, seed=1), min_share=1e-1)
    likely = free.cluster_probabilities(0.2)
    forbidden = next(row.members for row in likely if row.probability < 0.8)
    posterior = free.condition(forbid=[forbidden])
    exact = missed_by(posterior)
    assert abs(exact - missed_by(free)) > 0.05
    found = pal.search.uncovered(posterior, sweeps=1600)
    assert abs(found.value - exact) < 4.0 * found.standard_error < 0.1


def test_same_seed_same_estimate(nothing_is_exact):
    posterior = sparse_posterior(points(9))
    one, two, other = (pal.search.uncovered(posterior, sweeps=200, rng=seed) for seed in (4, 4, 5))
    assert one == two != other


def test_chains_that_disagree_are_said_to_and_the_error_is_their_spread(nothing_is_exact):
    # Rows or columns: each chain is frozen in one of two answers, and the trellis holds only one of them.
    model = rows_and_columns(beta=30.0)
    rows = [range(first, first + 4) for first in range(0, 16, 4)]
    sparse = pal.HierarchyPosterior(model).condition(require=rows)
    posterior = pal.HierarchyPosterior(model, trellis=pal.SparseTrellis.from_hierarchies(sparse.sample(50, rng=0)))
    with pytest.warns(UserWarning, match="a rough guess. Chains: not converged"):
        found = pal.search.uncovered(posterior, sweeps=100, rng=2)
    assert found.standard_error > 0.2


def test_black_boxes_beyond_the_exact_limit_are_refused(nothing_is_exact):
    model = pal.models.SplitFunction(5, lambda left, right: np.zeros(len(left)))
    with pytest.raises(TypeError, match="a CompiledSplitFunction, or compare with a full trellis, of up to 3 leaves"):
        pal.search.uncovered(sparse_posterior(model))


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="expected a HierarchyPosterior"):
        pal.search.uncovered(points(4))
    with pytest.raises(ValueError, match="sweeps"):
        pal.search.uncovered(pal.HierarchyPosterior(points(4)), sweeps=0)
