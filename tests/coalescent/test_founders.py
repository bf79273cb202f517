"""What particles are worth: errors that hold between seeds, and the word for it if there is too little."""

from __future__ import annotations

import math
import pickle
import warnings

import numpy as np
import pytest
from coalescent_cases import data_of

import palmette as pal
from palmette import coalescent
from palmette.coalescent.draws import CoalescentDraws
from palmette.coalescent.founders import error_of, founder_errors


def quiet(*arguments, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return coalescent.smc(*arguments, **options)


def test_errors_are_the_formula_founder_by_founder():
    rng = np.random.default_rng(0)
    weights, founders = rng.dirichlet(np.ones(12)), rng.integers(0, 5, 12)
    events = rng.integers(0, 4, (12, 1))
    p, errors = founder_errors(weights, founders, events, 4)
    for event in range(4):
        here = events[:, 0] == event
        share = sum(weights[here])
        parts = [(weights[here & (founders == g)].sum(), weights[founders == g].sum()) for g in range(5)]
        independent = 1 / sum(whole**2 for _, whole in parts)
        spread = sum((own - share * whole) ** 2 for own, whole in parts) * independent / (independent - 1)
        error = math.sqrt(spread + 1.5 * ((1 - 2 * share) / independent) ** 2)
        assert p[event] == pytest.approx(share)
        assert errors[event] == pytest.approx(min(error, max(share, 1 - share)))


def test_one_founder_says_nothing():
    assert error_of(np.array([0.0, 0.25, 1.0]), 0.0, 1.0).tolist() == [1.0, 0.75, 1.0]


def test_several_runs_are_their_pool_by_evidence():
    x = data_of(5, 2, 0)
    found = quiet(x, coalescent.Brownian(), 120, n_runs=3, proposal="race", rng=1)
    assert np.bincount(found.runs).tolist() == [40, 40, 40]
    runs = found.by_run()
    assert np.exp(found.log_evidence) == pytest.approx(np.mean([np.exp(run.log_evidence) for run in runs]))
    np.testing.assert_allclose(sum(run.n_effective for run in runs), found.n_effective)
    assert all((run.n_effective <= 40).all() for run in runs)
    np.testing.assert_array_equal(runs[1].by_run()[0].n_effective, runs[1].n_effective)
    weight = np.exp(found.run_log_evidences - found.log_evidence) / 3
    cluster = found.cluster_probabilities(0.0)[2].members
    shares = [float(run.cluster_probability(cluster)) for run in runs]
    assert float(found.cluster_probability(cluster)) == pytest.approx(float(weight @ shares))
    assert {len(set(run.founders) & set(other.founders)) for run in runs for other in runs if run is not other} == {0}
    one = quiet(x, coalescent.Brownian(), 120, n_runs=1, proposal="race", rng=1)
    assert (one.runs == 0).all()
    assert quiet(x, coalescent.Brownian(), 3, n_runs=7, rng=1).verdict.n_runs == 3


def test_errors_cover_the_spread_between_seeds():
    x = data_of(6, 3, 5)
    found = [quiet(x, coalescent.Brownian(), 200, proposal="race", rng=seed) for seed in range(20)]
    assert all(each.verdict.usable for each in found)
    names = {row.members for each in found for row in each.cluster_probabilities(0.05)}
    estimates = [[each.cluster_probability(name) for name in names] for each in found]
    values, errors = (
        np.array([[getattr(estimate, kind) for estimate in row] for row in estimates])
        for kind in ("value", "standard_error")
    )
    z = (values - values.mean(axis=0)) / errors
    assert np.mean(np.abs(z) < 2) > 0.93
    assert 0.7 < z.std() < 1.15


def test_collapsed_particles_warn_and_are_not_usable():
    x = data_of(14, 40, 2)
    with pytest.warns(UserWarning, match=r"of 60 particles .* are independent, too few for probabilities; take more"):
        found = coalescent.smc(x, coalescent.Brownian(), 60, proposal="prior-prior", rng=0)
    verdict = found.verdict
    assert not verdict.usable
    assert verdict.n_independent < 20
    assert str(verdict).startswith("not usable: runs disagree on {")
    assert "60 particles in 4 runs" in str(verdict)
    rows = found.cluster_probabilities(0.9)
    assert all(row.standard_error > 0.1 for row in rows)
    assert found.cluster_probability([0, 13]).standard_error > 0.1


def test_runs_whose_particles_all_die_carry_nothing():
    children = np.array([[[0, 1], [3, 2]], [[0, 2], [3, 1]]])
    ages = np.array([[0.1, 0.2], [0.1, 0.2]])
    found = CoalescentDraws(
        children, ages, np.array([0.0, -np.inf]), -0.7, np.ones(2), ("a", "b", "c"), np.arange(2), np.arange(2)
    )
    assert float(found.cluster_probability(["a", "c"])) == 0.0
    assert found.run_log_evidences.tolist() == [0.0, -np.inf]
    assert found.verdict.n_effective_runs == 1.0


def test_what_is_resampled_keeps_the_word_on_its_runs():
    children, ages = np.tile([[0, 1], [3, 2]], (200, 1, 1)), np.tile([0.1, 0.2], (200, 1))
    log_weights = np.repeat([0.0, -9.0, -9.0, -9.0], 50)
    found = CoalescentDraws(children, ages, log_weights, -1.0, np.ones(2), ("a", "b", "c"), np.arange(200) // 50)
    fewer = found.resampled(100, rng=0).resampled(80, rng=1)
    assert min(found.n_independent, fewer.n_independent) > 20
    for each in (found, fewer, fewer[:60]):
        assert each.verdict.n_effective_runs == pytest.approx(1.0, abs=1e-3)
        assert not each.verdict.usable
    assert fewer.verdict.n_particles == 80
    assert fewer.run_log_evidences == pytest.approx([-1.0])
    assert fewer.by_run()[0].n_effective.tolist() == fewer.n_effective.tolist() == found.n_effective.tolist()


def test_what_is_resampled_does_not_keep_what_it_was_drawn_from():
    children, ages = np.tile([[0, 1], [3, 2]], (2000, 1, 1)), np.tile([0.1, 0.2], (2000, 1))
    found = CoalescentDraws(children, ages, np.zeros(2000), -1.0, np.ones(2), ("a", "b", "c"), np.arange(2000) // 500)
    fewer = found.resampled(20, rng=0)
    assert 20 * len(pickle.dumps(fewer)) < len(pickle.dumps(found))
    assert pickle.loads(pickle.dumps(fewer)).verdict == fewer.verdict


def test_a_history_without_weight_is_not_the_most_credible():
    children, ages = np.array([[[0, 2], [3, 1]], [[0, 1], [3, 2]]]), np.tile([0.1, 0.2], (2, 1))
    found = CoalescentDraws(children, ages, np.array([-np.inf, 0.0]), 0.0, np.ones(2), ("a", "b", "c"))
    assert found.most_credible() == found[1]


@pytest.mark.slow
def test_probabilities_of_shipped_words_hold_between_seeds_or_are_refused():
    words = pal.datasets.load_numerals().words
    codes = np.array(
        [[sorted({w[0] for w in column}).index(word[0]) for word in column] for column in zip(*words, strict=True)]
    ).T
    n_usable = 0
    for particles in (200, 8000):
        found = [
            quiet(codes, coalescent.IndependentSites(0.5), particles, proposal="prior-post", rng=k) for k in range(8)
        ]
        usable = [each for each in found if each.verdict.usable]
        n_usable += len(usable)
        names = {row.members for each in found for row in each.cluster_probabilities(0.5)}
        centre = {name: np.mean([float(each.cluster_probability(name)) for each in found]) for name in names}
        for name in names if usable else ():
            estimates = [each.cluster_probability(name) for each in usable]
            outside = [abs(each.value - centre[name]) > 3 * each.standard_error for each in estimates]
            assert np.mean(outside) <= 0.2
    assert n_usable > 0
