"""Greedy histories against golden numbers and against a search that looks at every pair anew."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from coalescent_oracle import SlowBrownian, SlowSites, random_history, slow_greedy
from golden import read
from hypothesis import given
from hypothesis import strategies as st

from palmette.coalescent import Brownian, FoundHistory, Gaussian, IndependentSites, Process, greedy, log_joint

RULES: list[Any] = ["rate1", "max-prob", "min-duration"]
TIES: Any = st.sampled_from(["log-z", "order"])
FULL = [[1.2, 0.5, 0.1], [0.5, 0.8, -0.2], [0.1, -0.2, 2.0]]
GOLDEN = read("coalescent")


def evolved(n: int, n_columns: int, seed: int) -> np.ndarray:
    """Rows that wandered along a random history."""
    rng, h = np.random.default_rng(seed), random_history(n, seed)
    states = np.zeros((h.n_nodes, n_columns))
    for v in range(h.n_nodes - 2, -1, -1):
        above = h.parents[v]
        states[v] = states[above] + math.sqrt(h.heights[above] - h.heights[v]) * rng.normal(size=n_columns)
    return states[:n]


@pytest.mark.parametrize("case", GOLDEN.greedy, ids=lambda case: case["rule"])
def test_golden_greedy_histories(case: dict[str, Any]) -> None:
    found = greedy(GOLDEN.greedy_x, Brownian(), case["rule"])
    assert [set(pair) for pair in found.hierarchy.children.tolist()] == [{i, j} for i, j, _ in case["merges"]]
    assert found.hierarchy.heights[8:] == pytest.approx([-t for *_, t in case["merges"]], rel=1e-9, abs=1e-12)
    assert found.log_joint == pytest.approx(case["log_joint"], abs=1e-9)
    assert found.n_clamped == case["clamped"]
    assert found.n_evaluations == 49


def agrees(x: np.ndarray, process: Process, slow: Any, rule: Any, ties: Any) -> None:
    found = greedy(x, process, rule, ties=ties)
    # Densities of pairs that share different columns have different units, and break no ties.
    has_units = isinstance(process, Brownian) and bool(np.isnan(x).any())
    children, ages = slow_greedy(x, slow, rule, ties == "log-z" and not has_units)
    assert [set(pair) for pair in found.hierarchy.children.tolist()] == [set(pair) for pair in children]
    assert found.hierarchy.heights[len(x) :] == pytest.approx(ages, rel=1e-5, abs=1e-7)
    assert found.n_evaluations == (len(x) - 1) ** 2
    assert found.log_joint == pytest.approx(log_joint(x, found.hierarchy, process), abs=1e-9)


@given(st.integers(2, 7), st.sampled_from(RULES), TIES, st.sampled_from([0.0, 0.3]), st.booleans(), st.integers(0, 999))
def test_brownian_histories_are_those_of_the_slow_search(
    n: int, rule: Any, ties: Any, share: float, noisy: bool, seed: int
) -> None:
    x, rate, noise = evolved(n, 3, seed), np.array([0.5, 1.0, 2.0]), 0.05 if noisy else 0.0
    x[np.random.default_rng(seed).random(x.shape) < share] = np.nan
    agrees(x, Brownian(rate, leaf_variance=noise), SlowBrownian(rate, noise), rule, ties)


@given(st.integers(2, 7), st.sampled_from(RULES), TIES, st.sampled_from([0.0, 0.3]), st.booleans(), st.integers(0, 999))
def test_histories_of_sites_are_those_of_the_slow_search(
    n: int, rule: Any, ties: Any, share: float, common: bool, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    # Uneven probabilities, so that no two pairs tie but by being the same.
    equilibrium = [q / q.sum() for q in rng.random((6, 3)) + 0.1]
    x = rng.integers(0, 3, size=(n, 6))
    x[rng.random(x.shape) < share] = -1
    rates = np.full(6, 0.6) if common else 0.2 + rng.random(6)
    agrees(x, IndependentSites(0.6 if common else rates, equilibrium), SlowSites(rates, equilibrium), rule, ties)


@pytest.mark.parametrize("rule", RULES)
def test_a_full_rate_with_missing_entries_agrees_with_a_diagonal_one_in_its_limit(rule: Any) -> None:
    x = evolved(7, 3, 11)
    x[np.random.default_rng(11).random(x.shape) < 0.3] = np.nan
    almost = np.diag([0.5, 1.0, 2.0]) + 1e-10 * (np.ones((3, 3)) - np.eye(3))
    coupled, separate = greedy(x, Brownian(almost), rule), greedy(x, Brownian([0.5, 1.0, 2.0]), rule)
    assert coupled.hierarchy == separate.hierarchy
    assert coupled.hierarchy.heights == pytest.approx(separate.hierarchy.heights, abs=1e-6)
    assert coupled.log_joint == pytest.approx(separate.log_joint, abs=1e-6)


@pytest.mark.parametrize("n", [1, 2, 3, 40])
@pytest.mark.parametrize("rule", RULES)
def test_every_pair_of_lineages_is_compared_once(n: int, rule: Any) -> None:
    found = greedy(evolved(n, 2, n), Brownian(), rule)
    assert found.n_evaluations == (n - 1) ** 2
    assert found.hierarchy.n_leaves == n
    assert np.isfinite(found.log_joint)
    assert (np.diff(found.hierarchy.heights[n:]) >= 0).all()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("is_missing", [False, True])
def test_identical_rows_meet_first_and_at_once(rule: Any, is_missing: bool) -> None:
    x = evolved(6, 3, 5)
    x = np.vstack([x, x[[2, 2, 4]]])
    if is_missing:
        x[0, 1] = np.nan
    found = greedy(x, Brownian(), rule)
    clusters = set(map(frozenset, found.hierarchy.clusters()))
    assert {frozenset({2, 6, 7}), frozenset({4, 8})} <= clusters
    assert (found.hierarchy.heights[9:12] == 0).all()
    assert (found.hierarchy.heights[12:] > 0).all()
    assert found.log_joint == np.inf
    assert found.n_clamped == 0 or rule == "max-prob"
    blurred = greedy(x, Brownian(leaf_variance=1e-3), rule)
    assert math.isfinite(blurred.log_joint)
    codes = np.array([[0, 1, 2], [1, 1, 0], [0, 1, 2], [2, 0, 1]])
    assert greedy(codes, IndependentSites(), rule).hierarchy.children[0].tolist() == [0, 2]


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("rate", [1.0, [[1.0, 0.3], [0.3, 1.0]]])
def test_pairs_that_know_nothing_in_common_meet_last_at_the_mean_of_the_prior(rule: Any, rate: Any) -> None:
    nan = np.nan
    x = np.array([[0.0, nan], [nan, 1.0], [9.0, nan], [nan, 50.0], [nan, nan]])
    found = greedy(x, Brownian(rate), rule)
    children, ages = found.hierarchy.children.tolist(), found.hierarchy.heights[5:]
    assert [set(pair) for pair in children] == [{0, 2}, {1, 3}, {5, 6}, {7, 4}]
    # At 3 and 2 lineages.
    assert np.diff(ages)[1:] == pytest.approx([1 / 3, 1.0])
    sites = greedy(np.where(np.isnan(x), -1, x), IndependentSites(), rule)
    assert np.diff(sites.hierarchy.heights[5:])[1:] == pytest.approx([1 / 3, 1.0])


@pytest.mark.parametrize("rule", RULES)
def test_wholly_missing_data_give_the_mean_history(rule: Any) -> None:
    found = greedy(np.full((4, 2), np.nan), Brownian(), rule)
    assert found.hierarchy.children.tolist() == [[0, 1], [4, 2], [5, 3]]
    assert found.hierarchy.heights[4:] == pytest.approx([1 / 6, 1 / 6 + 1 / 3, 1.5])
    assert found.log_joint == pytest.approx(-3.0)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("is_missing", [False, True])
@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_many_columns_and_constant_ones_of_any_size_give_numbers(rule: Any, is_missing: bool, scale: float) -> None:
    x = scale * evolved(9, 500, 3)
    x[:, 7], x[:, 8] = 4.0, np.nan if is_missing else 0.0
    found = greedy(x, Brownian(), rule)
    assert np.isfinite(found.hierarchy.heights).all()
    assert math.isfinite(found.log_joint)
    codes = np.random.default_rng(3).integers(0, 3, size=(9, 500))
    codes[:, 7], codes[:, 8] = 1, -1 if is_missing else 2
    assert math.isfinite(greedy(codes, IndependentSites(), rule).log_joint)


def test_of_equal_pairs_the_lowest_leaves_come_first() -> None:
    square = greedy([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], Brownian())
    assert square.hierarchy.children[0].tolist() == [0, 1]


@pytest.mark.parametrize("rule", ["rate1", "min-duration"])
def test_of_pairs_that_would_meet_at_once_those_with_most_in_common_do(rule: Any) -> None:
    # The first two rows agree on all that both know, one column; the last two do so on two.
    codes = np.array([[0, -1, -1], [0, -1, -1], [-1, 1, 2], [-1, 1, 2]])
    process = IndependentSites(0.5, [[0.5, 0.5], [0.5, 0.5], [0.3, 0.3, 0.4]])
    found, by_order = (greedy(codes, process, rule, ties=ties).hierarchy for ties in ("log-z", "order"))
    assert found.children[:2].tolist() == [[2, 3], [0, 1]]
    assert by_order.children[:2].tolist() == [[0, 1], [2, 3]]
    assert (found.heights[4:6] == 0).all()


def test_breaking_ties_by_log_z_raises_the_log_joint_where_little_is_known() -> None:
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 4, size=(60, 30))
    codes[30:] = np.where(rng.random((30, 30)) < 0.2, codes[30:], codes[:30])
    codes[rng.random(codes.shape) < 0.7] = -1
    first, by_order = (greedy(codes, IndependentSites(0.5), ties=ties).log_joint for ties in ("log-z", "order"))
    assert first > by_order + 10


def test_units_of_real_rows_with_missing_entries_do_not_matter() -> None:
    x = evolved(9, 4, 2)
    x[np.random.default_rng(2).random(x.shape) < 0.4] = np.nan
    small, large = (greedy(k * x, Brownian(k * k, leaf_variance=0.5)).hierarchy for k in (1e-3, 1e3))
    assert small == large
    assert (small.heights[9:] == 0).sum() > 1


def test_rate1_never_clamps_on_data_from_the_model() -> None:
    for seed in range(5):
        found = greedy(evolved(60, 8, seed), Brownian())
        assert found.n_clamped == 0
        assert found.log_joint > greedy(evolved(60, 8, seed), Brownian(), "max-prob").log_joint


@pytest.mark.parametrize("root", ["flat", Gaussian(0.0, 1.0)])
def test_the_root_does_not_change_the_history_but_its_density(root: Any) -> None:
    x = evolved(12, 3, 9)
    found = greedy(x, Brownian(FULL, root))
    assert found.hierarchy == greedy(x, Brownian(FULL)).hierarchy
    assert found.log_joint == pytest.approx(log_joint(x, found.hierarchy, Brownian(FULL, root)), abs=1e-9)


def test_labels_are_those_given() -> None:
    found = greedy([[0.0], [0.1], [5.0]], Brownian(), labels=["a", "b", "c"])
    assert isinstance(found, FoundHistory)
    assert found.hierarchy.to_nested() == (("a", "b"), "c")


def test_bad_arguments_are_refused() -> None:
    with pytest.raises(ValueError, match="give one of 'rate1', 'max-prob', 'min-duration'"):
        greedy([[0.0], [1.0]], Brownian(), "rate2")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="give one of 'log-z', 'order'"):
        greedy([[0.0], [1.0]], Brownian(), ties="row")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="labels"):
        greedy([[0.0], [1.0]], Brownian(), labels=["a"])
