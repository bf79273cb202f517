"""Diagnostics against slow loops, closed forms, numbers of ArviZ 0.23.4, and truths that are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import norm, rankdata

from palmette.sampling import diagnostics
from palmette.sampling.diagnostics import (
    effective_size,
    indicator_error,
    rank_effective_size,
    rank_r_hat,
    smoothed_error,
    split_frequency_deviation,
    split_r_hat,
    standard_error,
)

EVERY = [split_r_hat, rank_r_hat, effective_size, rank_effective_size, standard_error]
RANKED = [rank_r_hat, rank_effective_size]
every_function = pytest.mark.parametrize("function", EVERY)
shapes = st.tuples(st.integers(1, 4), st.integers(4, 23))
# Few different numbers, so that constants, constant chains and ties come up.
chains = shapes.flatmap(lambda shape: arrays(np.float64, shape, elements=st.integers(-3, 3).map(lambda x: x / 8)))
ranked_chains = shapes.flatmap(
    lambda shape: arrays(np.float64, shape, elements=st.sampled_from([-np.inf, -1e300, -5.0, -1.25, 0.0, 2.0]))
)


# Slow twins, a line of the formulas at a time.


def slow_halves(values):
    half = values.shape[1] // 2
    return np.array([part for chain in values for part in (chain[:half], chain[len(chain) - half :])])


def slow_r_hat(halves):
    n = halves.shape[1]
    means = [math.fsum(chain) / n for chain in halves]
    within = np.mean(
        [math.fsum((x - mean) ** 2 for x in chain) / (n - 1) for chain, mean in zip(halves, means, strict=True)]
    )
    between = n * np.var(means, ddof=1)
    if within < 1e-25:
        return 1.0 if between < 1e-25 else math.inf
    return math.sqrt(((n - 1) / n * within + between / n) / within)


def slow_scores(halves):
    return norm.ppf((rankdata(halves) - 3 / 8) / (halves.size + 1 / 4)).reshape(halves.shape)


def slow_fold(halves):
    median = np.median(halves)
    return np.array([[0.0 if x == median else abs(x - median) for x in chain] for chain in halves])


def slow_size(halves, draws):
    n = halves.shape[1]
    if np.ptp(halves) == 0:
        return float(draws)
    means = halves.mean(axis=1)

    def covariance(lag):
        return np.mean(
            [sum((c[t] - m) * (c[t + lag] - m) for t in range(n - lag)) / n for c, m in zip(halves, means, strict=True)]
        )

    within = covariance(0) * n / (n - 1)
    variance = (n - 1) / n * within + np.var(means, ddof=1)
    rho = [1.0] + [1 - (within - covariance(lag)) / variance for lag in range(1, n)]
    time, previous = -1.0, math.inf
    for j in range(n // 2):
        pair = rho[2 * j] + rho[2 * j + 1]
        if abs(pair) < 1e-12:
            return None  # which side of 0 rounding takes it to decides
        if pair < 0:
            time += max(rho[2 * j], 0.0)
            break
        previous = min(previous, pair)
        time += 2 * previous
    return draws / max(time, 1 / max(1.0, math.log10(draws)))


@given(chains)
def test_split_r_hat_matches_the_slow_loop(values):
    assert split_r_hat(values) == pytest.approx(slow_r_hat(slow_halves(values)), rel=1e-9)


@given(ranked_chains)
def test_rank_r_hat_matches_the_slow_loop(values):
    halves = slow_halves(values)
    expected = max(slow_r_hat(slow_scores(halves)), slow_r_hat(slow_scores(slow_fold(halves))))
    assert rank_r_hat(values) == pytest.approx(expected, rel=1e-9)


@given(chains)
def test_effective_size_matches_the_slow_loop(values):
    expected = slow_size(slow_halves(values), values.size)
    if expected is not None:
        assert effective_size(values) == pytest.approx(expected, rel=1e-8)


@given(ranked_chains)
def test_rank_effective_size_matches_the_slow_loop(values):
    expected = slow_size(slow_scores(slow_halves(values)), values.size)
    if expected is not None:
        assert rank_effective_size(values) == pytest.approx(expected, rel=1e-8)


@given(chains, st.none() | st.floats(1.0, 1e4))
def test_standard_error_matches_the_formula(values, least_size):
    size = effective_size(values)
    expected = np.var(values, ddof=1) / size
    if set(values.flat) <= {0.0, 1.0}:
        p = values.mean()
        least = min(size, values.size, least_size or math.inf)
        expected += 1.5 * (1 - 2 * p) ** 2 / least**2
    assert standard_error(values, least_size=least_size) == pytest.approx(math.sqrt(expected), rel=1e-9, abs=1e-15)


# What others compute.


def example(name):
    t, chain = np.arange(60), np.arange(3)[:, None]
    match name:
        case "waves":
            return np.sin(0.7 * t + chain) + 0.3 * np.cos(0.11 * t * (chain + 1))
        case "drift":
            return ((t * t * 7 + chain * 13) % 31) / 31 + 0.001 * t
        case "indicator":
            return ((t * t * (chain + 1)) % 11 < 4).astype(float)
        case "tails":
            return np.tan(1.5 * np.sin(t * t + 2.0 * chain))


#: rhat(method="split"), rhat(method="rank"), ess(method="mean"), ess(method="bulk"), mcse(method="mean")
ARVIZ = {
    "waves": (0.9864055686083616, 0.9901723897137986, 67.89914544676985, 68.83485284054107, 0.09060732962398393),
    "tails": (1.0137870836859388, 1.015735743869623, 146.4369327524229, 165.4025067014772, 0.4628322756087337),
    "drift": (0.997206334912719, 0.9971225101261779, 153.03649670104812, 150.27877891749316, 0.023716869481244046),
    "indicator": (1.001803045426546, 1.001803045426546, 95.60457464320291, 95.60457464320291, 0.05024305298224647),
}


@pytest.mark.parametrize("name", ARVIZ)
def test_numbers_are_those_of_arviz(name):
    values = example(name)
    expected = list(ARVIZ[name])
    if name == "indicator":
        expected[4] = math.hypot(expected[4], math.sqrt(1.5) * (1 - 2 * values.mean()) / expected[2])
    assert [function(values) for function in EVERY] == pytest.approx(expected, rel=1e-9)


# Closed forms and known truths.


def autoregression(rng, shape, rho):
    """Stationary, of variance 1 and mean 0."""
    from scipy.signal import lfilter

    steps = rng.standard_normal(shape) * math.sqrt(1 - rho**2)
    steps[:, 0] /= math.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], steps, axis=1)


def two_states(rng, shape, p, rho):
    """Stationary indicators of mean p with autocorrelations rho^t."""
    values = np.empty(shape, bool)
    values[:, 0] = rng.random(values[:, 0].shape) < p
    for t in range(1, shape[1]):
        values[:, t] = rng.random(values[:, 0].shape) < p * (1 - rho) + rho * values[:, t - 1]
    return values


@pytest.mark.parametrize("rho", [-0.4, 0.0, 0.5, 0.9])
def test_effective_size_of_an_autoregression(rho):
    values = autoregression(np.random.default_rng(1), (4, 5000, 20), rho)
    assert np.mean(effective_size(values)) == pytest.approx(20000 * (1 - rho) / (1 + rho), rel=0.05)
    assert np.mean(rank_effective_size(values)) == pytest.approx(20000 * (1 - rho) / (1 + rho), rel=0.07)
    assert np.all(split_r_hat(values) < 1.02)
    assert np.all(rank_r_hat(values) < 1.02)


def z_deviation(values, truth, least_size=None):
    z = (values.mean(axis=(0, 1)) - truth) / standard_error(values, least_size=least_size)
    return math.sqrt(np.mean(z**2))


@pytest.mark.parametrize(
    ("shape", "rho"), [((1, 200), 0.5), ((2, 300), 0.8), ((4, 100), 0.0), ((4, 300), 0.9), ((8, 100), 0.6)]
)
def test_standard_errors_of_an_autoregression_are_honest(shape, rho):
    assert shape[0] * shape[1] * (1 - rho) / (1 + rho) >= 50
    values = autoregression(np.random.default_rng(2), (*shape, 1500), rho)
    assert 0.9 < z_deviation(values, 0.0) < 1.15


@pytest.mark.parametrize(
    ("draws", "p", "rho"),
    [(100, 0.5, 0.0), (100, 0.03, 0.0), (100, 0.99, 0.0), (200, 0.5, 0.8), (200, 0.1, 0.8), (400, 0.975, 0.8)],
)
def test_standard_errors_of_indicators_are_honest(draws, p, rho):
    size = 4 * draws * (1 - rho) / (1 + rho)
    assert size >= 50
    assert size * min(p, 1 - p) >= 4
    values = two_states(np.random.default_rng(3), (4, draws, 1500), p, rho)
    assert 0.9 < z_deviation(values, p, least_size=size) < 1.15


@pytest.mark.parametrize(("p", "rho"), [(0.001, 0.0), (0.01, 0.8), (0.999, 0.8)])
def test_standard_errors_of_indicators_hardly_seen_are_on_the_safe_side(p, rho):
    values = two_states(np.random.default_rng(4), (4, 200, 1500), p, rho)
    deviation = z_deviation(values, p, least_size=800 * (1 - rho) / (1 + rho))
    assert 0.0 < deviation < 1.0


def test_standard_errors_of_slow_indicators_need_the_right_least_size():
    values = two_states(np.random.default_rng(5), (4, 300, 1000), 0.01, 0.9)
    assert z_deviation(values, 0.01) > 2


def test_standard_error_when_chains_stay_apart_is_that_of_as_many_draws():
    values = np.zeros((4, 100))
    values[2:] = 1
    assert standard_error(values) == pytest.approx(math.sqrt(0.25 / 4), rel=0.02)
    rng = np.random.default_rng(6)
    values = rng.standard_normal((8, 1, 500)) + 0.1 * rng.standard_normal((8, 50, 500))
    by_means = values.mean(axis=1).std(axis=0, ddof=1) / math.sqrt(8)
    assert np.median(standard_error(values) / by_means) == pytest.approx(1.0, abs=0.2)


# Edges.


def test_constants():
    values = np.full((3, 7, 2), [0.1, -7.3])
    assert split_r_hat(values).tolist() == rank_r_hat(values).tolist() == [1.0, 1.0]
    assert effective_size(values).tolist() == rank_effective_size(values).tolist() == [21.0, 21.0]
    assert standard_error(values).tolist() == [0.0, 0.0]


def test_indicators_never_or_always_seen_have_the_error_of_what_is_assumed():
    values = np.stack([np.zeros((2, 50)), np.ones((2, 50))], axis=2)
    assert standard_error(values) == pytest.approx([math.sqrt(1.5) / 100] * 2)
    assert standard_error(values, least_size=20) == pytest.approx([math.sqrt(1.5) / 20] * 2)
    assert standard_error(values, least_size=1e9) == pytest.approx([math.sqrt(1.5) / 100] * 2)


@pytest.mark.parametrize("draws", [4, 5, 50])
def test_constants_that_disagree(draws):
    values = np.repeat([[0.1], [0.3], [0.7]], draws, axis=1)
    assert split_r_hat(values) == rank_r_hat(values) == math.inf
    half = draws // 2
    assert effective_size(values) == pytest.approx(3 * draws / (2 * (half - half % 2) - 1))


def test_a_chain_that_drifts_disagrees_with_itself():
    assert split_r_hat(np.arange(100.0)[None]) > 1.5
    assert rank_r_hat(np.arange(100.0)[None]) > 1.5
    assert effective_size(np.arange(100.0)[None]) < 5


def test_rank_r_hat_sees_chains_that_differ_in_width_only():
    values = np.random.default_rng(7).standard_normal((4, 500))
    values[0] *= 5
    assert split_r_hat(values) < 1.05 < rank_r_hat(values)


def test_minus_infinity_ranks_lowest():
    values = np.random.default_rng(8).standard_normal((2, 40))
    lowest = np.where(values < -1, -np.inf, values)
    finite = np.where(values < -1, -9.0, values)
    assert np.isneginf(lowest).any()
    assert rank_effective_size(lowest) == rank_effective_size(finite)
    assert rank_r_hat(lowest) == rank_r_hat(finite)
    assert rank_r_hat(np.full((2, 6), -np.inf)) == 1.0


def test_the_middle_of_an_odd_number_of_draws_is_left_out():
    values = np.random.default_rng(9).standard_normal((3, 21))
    assert split_r_hat(values) == split_r_hat(np.delete(values, 10, axis=1))
    assert effective_size(values) == pytest.approx(effective_size(np.delete(values, 10, axis=1)) * 21 / 20)


@every_function
def test_many_quantities_at_once_are_as_one_by_one(function, monkeypatch):
    values = np.random.default_rng(10).standard_normal((3, 30, 7)).cumsum(axis=1)
    values[:, :, 3] = 1.0
    expected = [function(values[:, :, i]) for i in range(7)]
    assert all(type(x) is float for x in expected)
    assert function(values) == pytest.approx(expected, rel=1e-12)
    assert function(values[:, :, :1]).shape == (1,)
    monkeypatch.setattr(diagnostics, "_BLOCK", 2 * 90)
    assert function(values) == pytest.approx(expected, rel=1e-12)


@every_function
def test_no_quantities(function):
    result = function(np.zeros((2, 10, 0)))
    assert result.shape == (0,)
    assert result.dtype == np.float64


@every_function
def test_booleans_are_zeros_and_ones(function):
    values = np.random.default_rng(11).random((2, 30, 3)) < 0.3
    before = values.copy()
    assert np.array_equal(function(values), function(values.astype(float)))
    assert np.array_equal(values, before)


@every_function
@pytest.mark.parametrize("shape", [(1, 4), (2, 4), (1, 5)])
def test_four_draws_are_enough(function, shape):
    result = function(np.random.default_rng(12).standard_normal(shape))
    assert np.isfinite(result)
    assert result > 0


@every_function
@pytest.mark.parametrize("shape", [(2, 3), (0, 10), (10,), (1, 1, 4, 1), (2, 3, 5)])
def test_too_little_is_refused(function, shape):
    with pytest.raises(ValueError, match=r"shape \(.*expected \(chains, draws\).*4 draws or more; sample longer"):
        function(np.zeros(shape))


@every_function
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_has_no_place_is_refused(function, value):
    values = np.random.default_rng(13).standard_normal((2, 10))
    values[1, 3] = value
    if function in RANKED and value == -np.inf:
        assert np.isfinite(function(values))
    else:
        with pytest.raises(ValueError, match="NaN or infinity; expected finite numbers"):
            function(values)


@every_function
def test_what_is_no_number_is_refused(function):
    with pytest.raises(TypeError, match="must hold numbers or booleans"):
        function([["a"] * 4])


def test_a_least_size_that_is_not_positive_is_refused():
    with pytest.raises(ValueError, match="least_size is 0; give a positive number, or None"):
        standard_error(np.zeros((2, 10)), least_size=0)


def test_split_frequency_deviation_is_the_mean_over_clusters_often_seen():
    frequencies = np.array([[0.5, 0.1, 0.09, 1.0], [0.9, 0.0, 0.0, 1.0], [0.7, 0.0, 0.05, 1.0]])
    expected = (0.2 + 0.1 / math.sqrt(3) + 0.0) / 3
    assert split_frequency_deviation(frequencies) == pytest.approx(expected)
    assert split_frequency_deviation(frequencies, least=0.6) == pytest.approx(0.1)
    assert split_frequency_deviation(frequencies * 0.01) == 0.0
    assert split_frequency_deviation(np.zeros((2, 0))) == 0.0


def test_split_frequency_deviation_refuses_one_chain_and_counts():
    with pytest.raises(ValueError, match=r"shape \(1, 3\); expected \(chains, clusters\) of 2 chains or more"):
        split_frequency_deviation(np.zeros((1, 3)))
    with pytest.raises(ValueError, match="outside 0 to 1; divide counts"):
        split_frequency_deviation([[3, 4], [2, 5]])


def test_errors_of_indicators_from_their_effective_sizes():
    rng = np.random.default_rng(5)
    values = rng.random((4, 50, 6)) < [0.0, 0.02, 0.3, 0.5, 0.98, 1.0]
    sizes = effective_size(values)
    for least in (20.0, 1e9):
        found = indicator_error(values.mean(axis=(0, 1)), sizes, 200, least)
        np.testing.assert_allclose(found, standard_error(values, least_size=least), rtol=1e-12)


def test_errors_of_smoothed_values_are_those_of_indicators_if_they_are():
    rng = np.random.default_rng(5)
    values = 1.0 * (rng.random((4, 50, 6)) < [0.0, 0.02, 0.3, 0.5, 0.98, 1.0])
    sizes = np.asarray(effective_size(values))
    for least in (20.0, 1e9):
        found = smoothed_error(values, sizes, least)
        np.testing.assert_allclose(found, indicator_error(values.mean(axis=(0, 1)), sizes, 200, least), rtol=1e-12)


@given(chains, st.floats(1.0, 1e4), st.sampled_from([0.0, 0.3, 1.0]))
def test_smoothed_error_matches_the_formula(values, least_size, least_sighting):
    values = (values + 0.375) / 0.75
    size = effective_size(values)
    x = values if values.mean() <= 0.5 else 1.0 - values
    v = max((x**2).sum() / x.sum() if x.any() else 1.0, least_sighting)
    more = v * (1.0 - 2.0 * values.mean()) / min(size, least_size, values.size)
    expected = math.sqrt(np.var(values, ddof=1) / size + 1.5 * more**2)
    found = smoothed_error(values[:, :, None], np.array([size]), least_size, least_sighting)
    assert found[0] == pytest.approx(expected, rel=1e-9, abs=1e-12)
