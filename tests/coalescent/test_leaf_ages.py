"""Leaves of several ages: a lineage is there from the age of its leaf on, in priors, searches, particles and draws."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np
import pytest
from coalescent_oracle import (
    SlowBrownian,
    SlowSites,
    dense_log_likelihood,
    sites_log_likelihood,
    slow_evidence_of_three,
    slow_greedy,
    slow_hazard,
)
from hypothesis import given
from hypothesis import strategies as st

import palmette as pal
from palmette import Hierarchy, coalescent
from palmette.coalescent import Brownian, IndependentSites, greedy, log_joint, log_likelihood, log_prior, smc
from palmette.coalescent.proposals import PROPOSALS

pytestmark = pytest.mark.filterwarnings("ignore:of .* particles .* are independent")

AGES = st.lists(st.sampled_from([0.0, 0.0, 0.2, 0.5, 1.5]), min_size=1, max_size=7)
BORN = [[0.0, 0.0, 0.6], [0.3, 0.0, 0.9], [0.4, 0.4, 0.0], [0.0, 0.0, 0.0]]
THREE_POINTS = np.array([[0.0, 0.2], [0.5, -0.1], [1.1, 0.9]])
LAW = [[0.5, 0.3, 0.2], [0.4, 0.6]]
THREE_ROWS = np.array([[0, 1], [0, -1], [2, 1]])


def dated(born: Any, seed: int, process: Any = None, n_columns: int | None = None) -> Any:
    return pal.simulate.coalescent(len(born), process, seed, n_columns=n_columns, leaf_ages=born)


@given(AGES, st.integers(0, 999))
def test_the_prior_counts_the_lineages_that_are_there(born: list[float], seed: int) -> None:
    h, n = dated(born, seed).hierarchy, len(born)
    assert h.heights[:n].tolist() == born
    assert log_prior(h, born) == pytest.approx(-slow_hazard(born, h.heights[n:], h.heights[-1]), abs=1e-12)
    later = Hierarchy.from_merges(h.children, heights=h.heights + 3.0)
    assert log_prior(later, np.array(born) + 3.0) == pytest.approx(log_prior(h, born), abs=1e-9)


@given(AGES, st.sampled_from([0.0, 0.3]), st.integers(0, 999))
def test_branches_begin_at_the_ages_of_leaves(born: list[float], share: float, seed: int) -> None:
    rate, draw = np.array([0.5, 1.0, 2.0]), dated(born, seed, Brownian(), 3)
    x = draw.x.copy()
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    expected = dense_log_likelihood(x, draw.hierarchy, np.diag(rate), None, 0.1)
    assert log_likelihood(x, draw.hierarchy, Brownian(rate, leaf_variance=0.1)) == pytest.approx(expected, abs=1e-7)


def test_branches_of_sites_begin_at_the_ages_of_leaves() -> None:
    process, born = IndependentSites(0.8, LAW), [0.0, 0.7, 0.2, 0.7]
    draw = dated(born, 1, process)
    expected = sites_log_likelihood(draw.x, draw.hierarchy, np.full(2, 0.8), LAW)
    assert log_likelihood(draw.x, draw.hierarchy, process) == pytest.approx(expected, abs=1e-12)


def test_newick_has_the_branch_lengths() -> None:
    born = [0.5, 0.0, 2.0, 0.1]
    draw = dated(born, 3, Brownian(), 2)
    h = draw.hierarchy
    lengths = h.branch_lengths
    assert lengths is not None
    np.testing.assert_allclose(lengths[:-1], (h.heights[h.parents] - h.heights)[:-1])
    again = Hierarchy.from_newick(h.to_newick()).aligned_to(h.labels)
    np.testing.assert_allclose(again.heights, h.heights, atol=1e-12)
    expected = log_joint(draw.x, h, Brownian(), born)
    assert log_joint(draw.x, again, Brownian(), born) == pytest.approx(expected, abs=1e-9)
    # Text does not say how old the youngest leaf is, and only differences matter.
    older = np.array(born) + 1.0
    assert log_joint(draw.x, again, Brownian(), older) == pytest.approx(expected, abs=1e-9)


def assert_evidence(draws: Any, exact: float) -> None:
    ratios = np.exp(draws.run_log_evidences - exact)
    assert abs(ratios.mean() - 1.0) < 4.0 * ratios.std(ddof=1) / math.sqrt(len(ratios)) + 1e-5


@functools.cache
def evidence_of_three_points(born: tuple[float, ...]) -> Any:
    return slow_evidence_of_three(THREE_POINTS, SlowBrownian(np.ones(2)), born)


@functools.cache
def evidence_of_three_rows() -> float:
    law = [np.array(q) for q in LAW]
    exact, _ = slow_evidence_of_three(THREE_ROWS, SlowSites(np.full(2, 0.9), law), BORN[1])
    return exact + sum(math.log(law[d][code]) for row in THREE_ROWS for d, code in enumerate(row) if code >= 0)


@pytest.mark.parametrize("born", BORN)
@pytest.mark.parametrize("proposal", PROPOSALS)
def test_three_points_have_the_evidence_and_the_shares_of_all_histories(proposal: str, born: list[float]) -> None:
    exact, shares = evidence_of_three_points(tuple(born))
    found = smc(THREE_POINTS, Brownian(), 4000, proposal=proposal, n_runs=100, rng=0, leaf_ages=born)
    assert_evidence(found, exact)
    estimates = [float(found.cluster_probability(pair)) for pair in ([0, 1], [0, 2], [1, 2])]
    np.testing.assert_allclose(estimates, shares, atol=0.05)


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_three_rows_of_sites_have_the_evidence_of_all_histories(proposal: str) -> None:
    process = IndependentSites(0.9, LAW)
    found = smc(THREE_ROWS, process, 4000, proposal=proposal, n_runs=100, rng=1, leaf_ages=BORN[1])
    assert_evidence(found, evidence_of_three_rows())


def test_all_proposals_agree_on_leaves_that_arrive_one_by_one() -> None:
    born = [0.0, 0.1, 0.1, 0.3, 0.8]
    x = dated(born, 4, Brownian(), 2).x
    estimates, errors = [], []
    for proposal in PROPOSALS:
        evidences = smc(x, Brownian(), 3000, proposal=proposal, n_runs=30, rng=2, leaf_ages=born).run_log_evidences
        ratios = np.exp(evidences - evidences[0])
        estimates.append(evidences[0] + math.log(ratios.mean()))
        errors.append(ratios.std(ddof=1) / math.sqrt(30) / ratios.mean())
    for estimate, error in zip(estimates, errors, strict=True):
        assert abs(estimate - estimates[2]) < 4.0 * math.hypot(error, errors[2])


@pytest.mark.parametrize("proposal", PROPOSALS)
def test_particles_are_histories_of_leaves_with_these_ages(proposal: str) -> None:
    born = np.array([1.0, 0.4, 0.4, 2.0, 0.7])
    x = dated(born, 5, Brownian(), 2).x
    found = smc(x, Brownian(), 20, proposal=proposal, rng=0, leaf_ages=born, resample_below=0.0)
    for own in (found, found[3:9], found.by_run()[1], found.resampled(5, rng=0)):
        for history in own:
            np.testing.assert_array_equal(history.heights[:5], born)
            assert (history.heights[5:, None] >= history.heights[history.children]).all()
            assert math.isfinite(log_joint(x, history, Brownian(), born))
    if proposal == "prior-prior":
        logs = np.array([log_likelihood(x, history, Brownian()) for history in found])
        np.testing.assert_allclose(np.log(found.weights / found.weights[0]), logs - logs[0], rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("age", [0.0, 2.5])
def test_leaves_that_are_equally_old_are_no_other_case(age: float) -> None:
    x = dated(np.zeros(6), 6, Brownian(), 2).x
    born = np.full(6, age)
    for proposal in PROPOSALS:
        one = smc(x, Brownian(), 40, proposal=proposal, rng=1)
        two = smc(x, Brownian(), 40, proposal=proposal, rng=1, leaf_ages=born)
        assert two.log_evidence == one.log_evidence
        np.testing.assert_array_equal(two.children, one.children)
        np.testing.assert_array_equal(two.ages, one.ages + age)
        np.testing.assert_array_equal(two.weights, one.weights)
    for rule in ("rate1", "max-prob", "min-duration"):
        first, second = greedy(x, Brownian(), rule), greedy(x, Brownian(), rule, leaf_ages=born)
        assert (second.log_joint, second.n_clamped) == (first.log_joint, first.n_clamped)
        np.testing.assert_array_equal(second.hierarchy.heights, first.hierarchy.heights + age)
        now, then = (coalescent.place(x, h, Brownian(), x[:1] + 0.1) for h in (first.hierarchy, second.hierarchy))
        np.testing.assert_allclose(then.probabilities, now.probabilities, atol=1e-9)
        np.testing.assert_allclose(then.ages, now.ages + age, rtol=1e-6)
    (one_rate, _), (two_rate, _) = (coalescent.fit(x, Brownian(), scale="em", leaf_ages=a) for a in (None, born))
    assert two_rate.rate == pytest.approx(one_rate.rate)
    plain, aged = (pal.simulate.coalescent(5, rng=2, leaf_ages=ages) for ages in (None, np.full(5, age)))
    np.testing.assert_array_equal(aged.hierarchy.heights, plain.hierarchy.heights + age)


@given(AGES.filter(lambda ages: len(ages) > 1), st.booleans(), st.sampled_from([0.0, 0.3]), st.integers(0, 999))
def test_greedy_histories_are_those_of_the_slow_search(
    born: list[float], is_brownian: bool, share: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    n, youngest = len(born), min(born)
    process: Any
    if is_brownian:
        rate = np.array([0.5, 1.0, 2.0])
        process, slow = Brownian(rate, leaf_variance=0.05), SlowBrownian(rate, 0.05)
        x = dated(born, seed, Brownian(rate)).x.copy()
        x[rng.random(x.shape) < share] = np.nan
    else:
        equilibrium = [q / q.sum() for q in rng.random((6, 3)) + 0.1]
        process, slow = IndependentSites(0.6, equilibrium), SlowSites(np.full(6, 0.6), equilibrium)
        x = rng.integers(0, 3, size=(n, 6))
        x[rng.random(x.shape) < share] = -1
    found = greedy(x, process, leaf_ages=born)
    h = found.hierarchy
    by_log_z = not (is_brownian and bool(np.isnan(x).any()))
    children, ages = slow_greedy(x, slow, "rate1", by_log_z, np.array(born) - youngest)
    assert [set(pair) for pair in h.children.tolist()] == [set(pair) for pair in children]
    assert h.heights[n:] - youngest == pytest.approx(ages, rel=1e-5, abs=1e-7)
    np.testing.assert_array_equal(h.heights[:n], born)
    assert (h.heights[n:, None] >= h.heights[h.children]).all()
    assert found.log_joint == pytest.approx(log_joint(x, h, process, born), abs=1e-7)


def test_rows_that_are_the_same_may_differ_in_age() -> None:
    x = np.array([[1.0, 2.0], [1.0, 2.0], [0.0, 3.0]])
    assert math.isfinite(smc(x, Brownian(), 20, rng=0, leaf_ages=[0.0, 0.5, 0.0]).log_evidence)
    assert math.isfinite(greedy(x, Brownian(), leaf_ages=[0.0, 0.5, 0.0]).log_joint)
    with pytest.raises(ValueError, match="the rows '0' and '1' are the same"):
        smc(x, Brownian(), 20, rng=0, leaf_ages=[0.5, 0.5, 0.0])


def test_simulated_lineages_meet_only_who_is_there() -> None:
    draws = pal.simulate.coalescent(3, rng=0, size=4000, leaf_ages=[0.0, 0.7, 0.0])
    share = np.mean([any(set(c) == {0, 2} for c in draw.hierarchy.clusters()) for draw in draws])
    # Before 0.7 the two may meet, at rate 1; after that all pairs are alike.
    assert share == pytest.approx(1 - math.exp(-0.7) * 2 / 3, abs=0.03)


def test_the_sample_covariance_is_unbiased_for_leaves_of_any_age() -> None:
    born, process = [0.0, 0.0, 1.0, 4.0], Brownian(2.0, leaf_variance=0.5)
    draws = pal.simulate.coalescent(4, process, 1, 3000, leaf_ages=born)
    x = np.array([draw.x[:, 0] for draw in draws]).T
    found = coalescent.sample_covariance(x, "diagonal", 0.5, born)
    assert found.mean() == pytest.approx(2.0, abs=4 * found.std() / math.sqrt(3000))


def test_parameters_of_leaves_of_several_ages() -> None:
    born = [0.0, 0.3, 1.0, 0.0, 0.5]
    x = dated(born, 7, Brownian(), 3).x
    process, found = coalescent.fit(x, Brownian(np.ones(3)), leaf_ages=born)
    assert process.rate.sum() == pytest.approx(coalescent.sample_covariance(x, leaf_ages=born).sum())
    np.testing.assert_array_equal(found.hierarchy.heights[:5], born)
    with pytest.raises(ValueError, match='scale="em" takes leaves of one age only'):
        coalescent.fit(x, Brownian(np.ones(3)), scale="em", leaf_ages=born)


def test_predictions_know_the_ages_and_places_refuse_them() -> None:
    born = [0.0, 0.3, 1.0]
    draw = dated(born, 8, Brownian(), 2)
    hidden = draw.x.copy()
    hidden[2, 1] = np.nan
    found = coalescent.log_predictive_entry(hidden, draw.hierarchy, Brownian(), draw.x)
    parts = [log_likelihood(x, draw.hierarchy, Brownian()) for x in (draw.x, hidden)]
    assert found == pytest.approx([parts[0] - parts[1]], abs=1e-9)
    with pytest.raises(ValueError, match="leaf 2 has height 1 and others 0; place takes leaves of one age only"):
        coalescent.place(draw.x, draw.hierarchy, Brownian(), draw.x[0] + 0.1)


@pytest.mark.parametrize(
    ("ages", "error", "message"),
    [
        ([0.0, 1.0], ValueError, r"shape \(2,\); give one age for each of the 3 leaves"),
        ([0.0, -1.0, 0.0], ValueError, "leaf_ages has -1 for leaf 1; .* take dates off the latest one"),
        ([0.0, 1.0, math.nan], ValueError, "leaf_ages has nan for leaf 2; .* give 0 to leaves of today"),
        ([0.0, 1.0, math.inf], ValueError, "leaf_ages has inf for leaf 2"),
        (["a", "b", "c"], TypeError, "one number for each leaf"),
    ],
)
def test_ages_that_are_none_are_refused(ages: Any, error: Any, message: str) -> None:
    x, h = THREE_POINTS, Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
    for ask in (
        lambda: greedy(x, Brownian(), leaf_ages=ages),
        lambda: smc(x, Brownian(), 5, leaf_ages=ages),
        lambda: log_joint(x, h, Brownian(), ages),
        lambda: pal.simulate.coalescent(3, leaf_ages=ages),
    ):
        with pytest.raises(error, match=message):
            ask()


def test_what_does_not_fit_the_ages_is_refused() -> None:
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
    with pytest.raises(ValueError, match="leaf 2 has height 0 but leaf_ages says 1; give the hierarchy the ages"):
        log_joint(THREE_POINTS, h, Brownian(), [0.0, 0.0, 1.0])
    for rule in ("max-prob", "min-duration"):
        with pytest.raises(ValueError, match='takes leaves of one age only; with leaves of several ages use "rate1"'):
            greedy(THREE_POINTS, Brownian(), rule, leaf_ages=[0.0, 0.0, 1.0])
