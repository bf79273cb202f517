"""Processes: durations, integrals and draws against golden numbers, quadrature and plain search; bad input."""

from __future__ import annotations

import ctypes
import functools
import itertools
import math
import sys
from typing import Any

import numpy as np
import pytest
from coalescent_cases import FairCoins, Functions, meeting_of
from coalescent_oracle import random_history, slow_best_length
from golden import read
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import kstest

from palmette.coalescent import (
    Brownian,
    Gaussian,
    IndependentSites,
    Prepared,
    Process,
    durations,
    greedy,
    joint,
    log_likelihood,
    proposals,
    smc,
)
from palmette.coalescent.brownian_missing import ByColumn, Coupled
from palmette.coalescent.inverse_gaussian import draw_truncated, log_truncated_integral
from palmette.coalescent.joint import evaluate_events
from palmette.hierarchy import Hierarchy

GOLDEN = read("coalescent")
Case = tuple[Any, np.ndarray, np.ndarray]  # functions of a kind, theta, meeting


@functools.cache
def cached(kind: type[Process]) -> Functions:
    return Functions(kind)


def whole(square: float, dimension: int, variance: float = 0.0) -> Case:
    return cached(Brownian), np.concatenate([[dimension, 0.0, 0.0], np.zeros(dimension)]), np.array([square, variance])


def by_column(squares: Any, variances: Any) -> Case:
    n = len(squares)
    theta = np.concatenate([[n, 0.0, 0.0], np.zeros(n)])
    return cached(ByColumn), theta, np.concatenate([[n, 0.0], squares, variances])


def sites(k: Any, rates: Any) -> Case:
    rates = np.asarray(rates, dtype=float)
    theta = np.concatenate([[len(rates), float((rates == rates[0]).all())], rates, np.zeros(len(rates) + 2)])
    return cached(IndependentSites), theta, np.asarray(k, dtype=float)


def golden_case(case: dict[str, Any]) -> tuple[Case, float]:
    if case["kind"] == "brownian_equal_variance":
        return whole(case["sq_mahalanobis"], case["D"]), case["s0"]
    if case["kind"] == "brownian_per_dimension":
        return by_column(case["e"], case["s0"]), 0.0
    return sites(1 - np.array(case["g"]), case["lam"]), case["s0"]


def random_case(seed: int) -> tuple[Case, float, float]:
    """A meeting of any kind, s0 and a rate, over many orders of magnitude."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    s0, rate = float(rng.choice([0.0, rng.lognormal(-1, 2)])), float(rng.lognormal(0, 2))
    if seed % 3 == 0:
        return whole(float(rng.lognormal(0, 2)), n, float(rng.choice([0.0, rng.lognormal(-2, 2)]))), s0, rate
    if seed % 3 == 1:
        return by_column(rng.lognormal(0, 2, n), rng.lognormal(-2, 2, n)), s0, rate
    agreement = np.where(rng.random(n) < 0.4, 0.0, 1.2 * rng.exponential(size=n))
    return sites(agreement, rng.lognormal(0, 1.5 * (seed % 2), n)), s0, rate


def log_density(case: Case, s0: float, rate: float, delta: Any) -> np.ndarray:
    kind, theta, meeting = case
    return np.array([kind.log_z(theta, meeting, s0 + 2 * d) - rate * d for d in np.atleast_1d(delta)])


@pytest.mark.parametrize("golden", GOLDEN.best_durations, ids=lambda case: case["kind"])
def test_golden_best_durations(golden: dict[str, Any]) -> None:
    (kind, theta, meeting), s0 = golden_case(golden)
    rate = float(golden["rate"])
    s = kind.best_length(theta, meeting, s0, rate)
    assert (s - s0) / 2 == pytest.approx(golden["delta_opt"], rel=1e-7, abs=1e-12)
    assert kind.log_z(theta, meeting, s) - rate * (s - s0) / 2 == pytest.approx(golden["value"], abs=1e-9)


@given(st.integers(0, 100_000))
def test_best_lengths_beat_a_dense_grid(seed: int) -> None:
    (kind, theta, meeting), s0, rate = random_case(seed)

    def log_z(s: np.ndarray) -> np.ndarray:
        return np.array([kind.log_z(theta, meeting, one) for one in np.atleast_1d(s)]).reshape(s.shape)

    _, best = slow_best_length(log_z, s0, rate)
    for functions in (kind, Functions(kind.kind, best_length=durations.best_by_values)):
        s = functions.best_length(theta, meeting, s0, rate)
        assert s >= s0
        assert log_z(np.array(s)) - rate * (s - s0) / 2 >= best - 1e-9 * (1 + abs(best))


@pytest.mark.parametrize("golden", GOLDEN.integrals)
def test_golden_integrals(golden: dict[str, Any]) -> None:
    n, square, s0, rate = (golden[name] for name in ("D", "sq_mahalanobis", "s0", "rate"))
    closed = log_truncated_integral(float(n), square, float(rate), s0)
    assert closed == pytest.approx(golden["log_integral"], abs=1e-9)
    for variance in (0.0, s0):  # whether of the lineages or of the branches, a variance is a variance
        for case in (whole(square, n, variance), by_column(np.full(n, square / n), np.full(n, variance))):
            found = case[0].log_integral(*case[1:], s0 - variance, float(rate))
            assert found == pytest.approx(golden["log_integral"], abs=1e-9)


@given(st.integers(0, 100_000))
def test_integrals_match_quadrature(seed: int) -> None:
    case, s0, rate = random_case(seed)
    kind, theta, meeting = case
    best = (kind.best_length(theta, meeting, s0, rate) - s0) / 2
    top = float(log_density(case, s0, rate, best)[0])

    def integrand(x: float) -> float:
        return math.exp(log_density(case, s0, rate, math.exp(x))[0] + x - top)

    edges = np.unique([*np.linspace(-40, 12, 50), math.log(max(best, 1e-12))])
    parts = itertools.pairwise(edges)
    total = sum(quad(integrand, a, b, epsabs=1e-13, epsrel=1e-11)[0] for a, b in parts)
    expected = top + math.log(total)
    assert kind.log_integral(theta, meeting, s0, rate) == pytest.approx(expected, abs=1e-8)
    if kind.kind is Brownian:  # the general method, where there is a special one
        general = Functions(kind.kind, log_integral=durations.log_integral)
        assert general.log_integral(theta, meeting, s0, rate) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("dimension", [1, 2, 20, 784])
def test_identical_leaves_have_an_integral_in_one_dimension_only(dimension: int) -> None:
    expected = math.log(0.5 * math.sqrt(1.0)) if dimension == 1 else np.inf  # ∫ e^−δ (4πδ)^−½ dδ
    for kind, theta, meeting in (whole(0.0, dimension), by_column(np.zeros(dimension), np.zeros(dimension))):
        assert kind.log_integral(theta, meeting, 0.0, 1.0) == pytest.approx(expected, abs=1e-9)
        s, log_q = kind.propose_length(theta, meeting, 0.0, 1.0, 1, 2, 3)
        assert (s > 0.0 and math.isfinite(log_q)) if dimension == 1 else (s == 0.0 and log_q == np.inf)


DRAWS = [(1.0, 1, 1.0, 0.0), (2.5, 2, 3.0, 0.0), (4.0, 5, 10.0, 0.3), (300.0, 200, 10.0, 1.0), (0.0, 1, 1.0, 0.2)]
DRAWS += [(0.0, 1, 1.0, 0.0), (1e-3, 20, 50.0, 2.0), (1e6, 3, 1.0, 1e-9)]


@pytest.mark.parametrize(("square", "dimension", "rate", "lowest"), DRAWS)
def test_draws_have_the_truncated_distribution(square: float, dimension: int, rate: float, lowest: float) -> None:
    deltas = np.array([draw_truncated(float(dimension), square, rate, lowest, key) for key in range(2000)])
    total = log_truncated_integral(float(dimension), square, rate, lowest)
    # P(δ > d) = e^(−cd) I(a + 2d)/I(a), which is uniform.
    later = [log_truncated_integral(float(dimension), square, rate, lowest + 2 * delta) for delta in deltas]
    assert kstest(np.exp(np.array(later) - rate * deltas - total), "uniform").pvalue > 1e-3


@pytest.mark.parametrize("golden", GOLDEN.integrals)
def test_golden_moments_of_draws(golden: dict[str, Any]) -> None:
    n, square, s0, rate = (float(golden[name]) for name in ("D", "sq_mahalanobis", "s0", "rate"))
    deltas = np.array([draw_truncated(n, square, rate, s0, key) for key in range(4000)])
    error = golden["posterior_sd_delta"] / math.sqrt(len(deltas))
    assert deltas.mean() == pytest.approx(golden["posterior_mean_delta"], abs=4 * error)
    assert deltas.std() == pytest.approx(golden["posterior_sd_delta"], rel=0.1)


@pytest.mark.parametrize("seed", range(12))
def test_proposals_state_their_own_density(seed: int) -> None:
    case, s0, rate = random_case(seed)
    kind, theta, meeting = case
    drawn = np.array([kind.propose_length(theta, meeting, s0, rate, 7, item, 3) for item in range(1500)])
    deltas = (drawn[:, 0] - s0) / 2
    weights = np.exp(log_density(case, s0, rate, deltas) - drawn[:, 1])
    total = math.exp(kind.log_integral(theta, meeting, s0, rate))
    # The mean weight is the integral, and the proposal is so close to the target that weights hardly vary.
    assert weights.mean() == pytest.approx(total, rel=4 * weights.std() / total / math.sqrt(len(weights)) + 1e-6)
    assert weights.std() < 0.1 * total
    later = [kind.log_integral(theta, meeting, s0 + 2 * d, rate) - rate * d for d in deltas[:500]]
    assert kstest(np.exp(later) / total, "uniform").pvalue > 1e-3
    again = kind.propose_length(theta, meeting, s0, rate, 7, 5, 3)
    assert again == tuple(drawn[5])


@given(st.integers(0, 100_000), st.floats(0.01, 10.0))
def test_slopes_are_the_derivatives_of_log_z(seed: int, s: float) -> None:
    (kind, theta, meeting), *_ = random_case(seed)
    if kind.kind is Brownian:
        return
    h = 1e-5 * s
    first, second = kind.slopes(theta, meeting, s)
    low, high = (kind.log_z(theta, meeting, s + step) for step in (-h, h))
    low_slope, high_slope = (kind.slopes(theta, meeting, s + step)[0] for step in (-h, h))
    size = max(1.0, 1 / s) * (1 + float(np.abs(meeting).max()) / s)
    assert (high - low) / (2 * h) == pytest.approx(first, rel=1e-5, abs=1e-6 * size)
    assert (high_slope - low_slope) / (2 * h) == pytest.approx(second, rel=1e-5, abs=1e-6 * size**2)


def test_coupled_events_are_those_of_the_information_form() -> None:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    rate = root @ root.T + np.eye(4)
    x = rng.normal(size=(3, 4))
    x[0, 1] = x[1, 2] = np.nan
    prepared = Brownian(rate, leaf_variance=0.2).prepare(x)
    assert prepared.kind is Coupled
    # The state at the first event, 0.3 above the first two rows, given those: precision and weighted mean.
    precision, weighted = np.zeros((4, 4)), np.zeros(4)
    for row, known in ((x[0], [0, 2, 3]), (x[1], [0, 1, 3])):
        inverse = np.linalg.inv((0.2 + 0.3) * rate[np.ix_(known, known)])
        precision[np.ix_(known, known)] += inverse
        weighted[known] += inverse @ row[known]
    covariance = np.linalg.inv(precision)
    for age in (0.3, 0.4, 2.0):
        h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.3, age])
        total, gap = covariance + (0.2 + age + age - 0.3) * rate, covariance @ weighted - x[2]
        in_units = np.linalg.slogdet(total)[1] - np.log(np.diag(rate)).sum()
        expected = -0.5 * (4 * math.log(2 * math.pi) + in_units + gap @ np.linalg.solve(total, gap))
        assert evaluate_events(prepared, h).log_z[1] == pytest.approx(expected, abs=1e-9)


def test_meetings_count_what_both_know() -> None:
    x = np.array([[1.0, np.nan, 2.0], [np.nan, np.nan, 3.0], [4.0, 1.0, np.nan]])
    full = [[2.0, 0.5, 0.1], [0.5, 1.0, 0.0], [0.1, 0.0, 1.0]]
    codes = np.where(np.isnan(x), -1, x)
    for prepared in (p.prepare(d) for p, d in ((Brownian(), x), (Brownian(full), x), (IndependentSites(), codes))):
        meetings = [meeting_of(prepared, i, j) for i, j in ((0, 1), (0, 2), (1, 2))]
        assert [count for count, _ in meetings] == [1, 1, 0]
        kind, nothing = cached(prepared.kind), meetings[2][1]
        theta = prepared.theta
        assert kind.log_z(theta, nothing, 0.7) == pytest.approx(0.0, abs=1e-15)
        assert kind.log_integral(theta, nothing, 0.7, 2.0) == pytest.approx(math.log(0.5), abs=1e-9)
        s, log_q = kind.propose_length(theta, nothing, 0.7, 2.0, 1, 2, 3)
        assert log_q == pytest.approx(math.log(2.0) - 2.0 * (s - 0.7) / 2, abs=0.05)


def test_a_process_of_ones_own_needs_three_functions() -> None:
    x = np.random.default_rng(2).integers(0, 2, size=(7, 5))
    same, h = IndependentSites(0.8, [[0.5, 0.5]] * 5), random_history(7, 2)
    assert log_likelihood(x, h, FairCoins()) == pytest.approx(log_likelihood(x, h, same), abs=1e-10)
    found, expected = greedy(x, FairCoins()), greedy(x, same)
    assert found.hierarchy == expected.hierarchy
    assert found.hierarchy.heights == pytest.approx(expected.hierarchy.heights, abs=1e-6)


def test_agreement_is_log_z_of_a_meeting_also_for_c() -> None:
    rng = np.random.default_rng(3)
    numbers, whole_numbers = ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_int64)
    n = ctypes.c_int64
    agree = ctypes.CFUNCTYPE(
        None, numbers, n, numbers, numbers, n, whole_numbers, n, numbers, n, numbers
    )  # θ, |θ|, left, table, |message|, others, count, room, |meeting|, values
    x = rng.integers(0, 2, size=(6, 4))
    for process in (Brownian(leaf_variance=0.1), IndependentSites(), FairCoins()):
        prepared, others, lengths = process.prepare(x), np.array([4, 1, 5]), rng.exponential(size=3)
        theta, leaves = prepared.theta.copy(), prepared.leaves.copy()
        values, room = lengths.copy(), np.empty(prepared.n_meeting)
        table, one, listed = (each.ctypes.data_as(numbers) for each in (leaves, leaves[0], values))
        rows, place = others.ctypes.data_as(whole_numbers), room.ctypes.data_as(numbers)
        function = agree(prepared.compiled("agree").agree)
        sizes = leaves.shape[1], room.size
        function(theta.ctypes.data_as(numbers), theta.size, one, table, sizes[0], rows, 3, place, sizes[1], listed)
        kind = cached(prepared.kind)
        expected = [kind.log_z(theta, meeting_of(prepared, 0, j)[1], s) for j, s in zip(others, lengths, strict=True)]
        assert values == pytest.approx(expected, abs=1e-12)


@pytest.mark.filterwarnings("ignore:of .* particles .* are independent")
def test_kernels_are_compiled_once_for_all_processes() -> None:
    x = np.random.default_rng(4).integers(0, 2, size=(5, 3)).astype(float)
    gaps = x.copy()
    gaps[0, 0] = np.nan
    coins, sites, brownian = FairCoins(), IndependentSites(), Brownian(leaf_variance=0.1)
    for data, process in ((x, brownian), (gaps, brownian), (x, sites), (x, coins), (x[:, :2], coins)):
        greedy(data, process, progress=False)
        smc(data, process, 4, n_runs=1, rng=0, proposal="prior-post", progress=False)
    kernels = (joint._pass, sys.modules["palmette.coalescent.greedy"]._set_clocks, proposals._by_prior_post)
    assert [len(kernel.signatures) for kernel in kernels] == [1, 1, 1]


def test_functions_with_the_wrong_parameters_are_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"Wrong.log_z takes \(theta, s\); write it .* \(theta, meeting, s\)"):
        type("Wrong", (Process,), {"log_z": staticmethod(lambda theta, s: 0.0)})
    with pytest.raises(TypeError, match="must define prepare, meet, log_z and join"):
        Process().prepare([[0.0]])
    with pytest.raises(ValueError, match="must have 2 axes and no NaN"):
        Prepared(Brownian, np.zeros(1), np.array([[np.nan]]), 1)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: Brownian(-1.0), ValueError, "must be positive"),
        (lambda: Brownian([1.0, 0.0]), ValueError, "must be positive"),
        (lambda: Brownian(np.nan), ValueError, "NaN or infinite"),
        (lambda: Brownian("fast"), TypeError, "rate must be a number"),
        (lambda: Brownian([[1.0, 1.0], [1.0, 1.0]]), ValueError, "not positive definite"),
        (lambda: Brownian([[1.0, 0.2], [0.1, 1.0]]), ValueError, "not symmetric"),
        (lambda: Brownian([[1.0, 0.2]]), ValueError, r"shape \(1, 2\)"),
        (lambda: Brownian([]), ValueError, r"shape \(0,\)"),
        (lambda: Brownian(root="sharp"), TypeError, 'give "flat" or a Gaussian'),  # type: ignore[arg-type]
        (lambda: Brownian(leaf_variance=-0.1), ValueError, "leaf_variance is -0.1"),
        (lambda: Brownian(leaf_variance="some"), TypeError, "must be a number"),  # type: ignore[arg-type]
        (lambda: Gaussian(0.0, -1.0), ValueError, "variance of the root"),
        (lambda: Gaussian([[0.0]], 1.0), ValueError, "mean of the root"),
        (lambda: IndependentSites(0.0), ValueError, "must be positive"),
        (lambda: IndependentSites([1.0, -2.0]), ValueError, "must be positive"),
        (lambda: IndependentSites([[1.0]]), ValueError, "shape"),
        (lambda: IndependentSites(1.0, "some"), ValueError, "empirical"),  # type: ignore[arg-type]
        (lambda: IndependentSites(1.0, []), ValueError, "empty"),
        (lambda: IndependentSites(1.0, [[0.5, 0.6]]), ValueError, r"site 0 .* add up to 1 \(these to 1.1\)"),
        (lambda: IndependentSites(1.0, [[1.0], [1.5, -0.5]]), ValueError, "site 1 .* at least 0"),
        (lambda: IndependentSites(1.0, [[[1.0]]]), ValueError, "shape"),
        (lambda: IndependentSites([1.0, 2.0], [[1.0]]), ValueError, "2 rates but 1 equilibria"),
    ],
)
def test_bad_parameters_are_refused(make: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        make()


@pytest.mark.parametrize(
    ("process", "x", "error", "message"),
    [
        (Brownian(), [1.0, 2.0], ValueError, r"expected \(n, d\)"),
        (Brownian(), [[1.0], [np.inf]], ValueError, "row 1, column 0"),
        (Brownian(), [["a"]], TypeError, "real numbers"),
        (Brownian(), np.empty((3, 0)), ValueError, "no columns"),
        (Brownian(), np.empty((0, 3)), ValueError, "empty"),
        (Brownian(), [[1e200], [0.0]], ValueError, "row 0, column 0 .* rescale"),
        (Brownian([1.0, 2.0]), [[1.0]], ValueError, "1 columns"),
        (Brownian(root=Gaussian([0.0, 0.0])), [[1.0]], ValueError, "mean of 2 entries"),
        (IndependentSites(), [[0.5]], ValueError, "0.5 at row 0, column 0"),
        (IndependentSites(), [[0], [-2]], ValueError, "-2 at row 1, column 0"),
        (IndependentSites(), np.empty((3, 0)), ValueError, "no columns"),
        (IndependentSites([1.0, 2.0]), [[0]], ValueError, "2 rates but x has 1 columns"),
        (IndependentSites(1.0, [[0.5, 0.5]]), [[0, 1]], ValueError, "1 equilibria but x has 2 columns"),
        (IndependentSites(1.0, [[0.5, 0.5]]), [[0], [2]], ValueError, "state 2 at row 1, column 0, .* only 2 states"),
        (IndependentSites(1.0, [[1.0, 0.0]]), [[0], [1]], ValueError, "state 1 at row 1, column 0, .* is 0"),
    ],
)
def test_bad_data_are_refused(process: Process, x: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        process.prepare(x)


def test_processes_say_what_they_are() -> None:
    assert repr(Brownian([1.0, 2.0])) == "Brownian(rate=[1.0, 2.0], root='flat', leaf_variance=0)"
    assert repr(IndependentSites(0.5)) == "IndependentSites(rate=0.5, equilibrium='empirical')"
