"""Log densities of histories: golden numbers, dense multivariate normals, sums over all inner states."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from coalescent_oracle import dense_log_likelihood, history_from, random_history, sites_log_likelihood
from golden import read
from hypothesis import given
from hypothesis import strategies as st

from palmette import Hierarchy
from palmette.coalescent import (
    Brownian,
    Gaussian,
    IndependentSites,
    InverseWishart,
    greedy,
    log_joint,
    log_likelihood,
    log_prior,
)
from palmette.coalescent.brownian_missing import ByColumn, Coupled
from palmette.coalescent.joint import evaluate_events

GOLDEN = read("coalescent")
RATES = {"scalar": 0.7, "diagonal": [0.5, 1.0, 2.5], "full": [[1.2, 0.5, 0.1], [0.5, 0.8, -0.2], [0.1, -0.2, 2.0]]}


def brownian_of(case: dict[str, Any]) -> Brownian:
    root: Any = case["root"] if case["root"] == "flat" else Gaussian(case["root"]["mu0"], case["root"]["kappa"])
    return Brownian(case["Lambda"], root)


@pytest.mark.parametrize("case", GOLDEN.brownian_trees, ids=lambda case: case["name"])
def test_golden_brownian_histories(case: dict[str, Any]) -> None:
    x, h, process = np.array(case["X"], dtype=float), history_from(case["merges"]), brownian_of(case)
    assert log_prior(h) == pytest.approx(case["log_prior"], abs=1e-9)
    assert log_likelihood(x, h, process) == pytest.approx(case["log_lik"], abs=1e-9)
    assert log_joint(x, h, process) == pytest.approx(case["log_joint"], abs=1e-9)


@pytest.mark.parametrize("case", GOLDEN.sites_trees, ids=lambda case: case["name"])
def test_golden_histories_of_sites(case: dict[str, Any]) -> None:
    x, h, process = np.array(case["X"]), history_from(case["merges"]), IndependentSites(case["lam"], case["q"])
    prepared = process.prepare(x)
    assert evaluate_events(prepared, h).log_z == pytest.approx(case["log_Z"], abs=1e-9)
    assert prepared.log_constant == pytest.approx(case["log_leaf_const"], abs=1e-9)
    assert log_likelihood(x, h, process) == pytest.approx(case["log_lik"], abs=1e-9)
    assert log_joint(x, h, process) == pytest.approx(case["log_joint"], abs=1e-9)


@given(
    n=st.integers(1, 7),
    rate=st.sampled_from(sorted(RATES)),
    share=st.sampled_from([0.0, 0.0, 0.3, 0.7]),
    root=st.sampled_from([None, (0.5, 1.5), ([1.0, -1.0, 0.0], 0.2)]),
    leaf_variance=st.sampled_from([0.0, 0.3]),
    seed=st.integers(0, 9999),
)
def test_messages_give_the_density_of_one_multivariate_normal(
    n: int, rate: str, share: float, root: Any, leaf_variance: float, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    h = random_history(n, seed)
    x = np.where(rng.random((n, 3)) < share, np.nan, rng.normal(size=(n, 3)))
    matrix = np.array(RATES[rate]) if rate == "full" else np.diag(np.broadcast_to(RATES[rate], 3))
    process = Brownian(RATES[rate], "flat" if root is None else Gaussian(*root), leaf_variance)
    # A flat root with a single observation has no contrast, and a dense matrix of zeros is singular at n = 1.
    if n == 1 and root is None:
        assert log_likelihood(x, h, process) == 0.0
        return
    expected = dense_log_likelihood(x, h, matrix, root, leaf_variance)
    assert log_likelihood(x, h, process) == pytest.approx(expected, rel=1e-9, abs=1e-8)


@pytest.mark.parametrize("rate", ["diagonal", "full"])
@pytest.mark.parametrize("root", ["flat", Gaussian([0.3, 0.0, -1.0], 0.8)])
def test_all_forms_of_brownian_motion_agree_on_complete_data(rate: str, root: Any) -> None:
    h, x = random_history(6, 3), np.random.default_rng(3).normal(size=(6, 3))
    process = Brownian(RATES[rate], root, 0.1)
    expected = log_likelihood(x, h, process)
    matrix = np.array(RATES[rate]) if rate == "full" else np.diag(RATES[rate])
    mean = root.mean if isinstance(root, Gaussian) else np.zeros(3)
    events = evaluate_events(Coupled.messages(x, process._theta(mean, matrix.reshape(-1)), 0.1, 0.0), h)
    assert events.log_z.sum() + events.log_root == pytest.approx(expected, abs=1e-9)
    scale = np.linalg.cholesky(matrix)
    white, centre = np.linalg.solve(scale, x.T).T, np.linalg.solve(scale, mean)
    constant = process.prepare(x).log_constant
    events = evaluate_events(ByColumn.messages(white, process._theta(centre), 0.1, constant), h)
    assert events.log_z.sum() + events.log_root + constant == pytest.approx(expected, abs=1e-9)


@given(st.integers(1, 4), st.sampled_from([0.0, 0.4]), st.booleans(), st.integers(0, 999))
def test_messages_give_the_sum_over_all_inner_states(n: int, share: float, common: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    equilibrium = [[0.3, 0.7], [0.2, 0.5, 0.3], [1.0], [0.6, 0.0, 0.4]]
    allowed = [[0, 1], [0, 1, 2], [0], [0, 2]]
    x = np.column_stack([rng.choice(states, n) for states in allowed])
    x[rng.random(x.shape) < share] = -1
    rates = np.full(4, 0.8) if common else rng.exponential(size=4)
    h = random_history(n, seed)
    process = IndependentSites(0.8 if common else rates, equilibrium)
    expected = sites_log_likelihood(x, h, rates, equilibrium)
    assert log_likelihood(x, h, process) == pytest.approx(expected, abs=1e-9)
    as_floats = np.where(x < 0, np.nan, x)
    assert log_likelihood(as_floats, h, process) == pytest.approx(expected, abs=1e-9)


def test_probabilities_of_all_data_sets_add_up_to_one() -> None:
    h, process = random_history(3, 1), IndependentSites([0.5, 2.0], [[0.3, 0.7], [0.2, 0.8]])
    rows = [[[(k >> 2 * i) & 1, (k >> (2 * i + 1)) & 1] for i in range(3)] for k in range(64)]
    assert sum(math.exp(log_likelihood(x, h, process)) for x in rows) == pytest.approx(1.0, abs=1e-12)


def test_the_prior_is_a_race_of_exponential_clocks() -> None:
    h = random_history(7, 2)
    rates = np.array([m * (m - 1) / 2 for m in range(7, 1, -1)])
    durations = np.diff(np.sort(h.heights[7:]), prepend=0.0)
    # Each duration has the density c e^(−cδ), and each of the c pairs is equally likely.
    expected = sum(math.log(c * math.exp(-c * d)) - math.log(c) for c, d in zip(rates, durations, strict=True))
    assert log_prior(h) == pytest.approx(expected, abs=1e-12)


def test_empirical_equilibria_count_each_state_half_a_time_more() -> None:
    x, h = np.array([[5, 0], [9, -1], [5, 0]]), random_history(3, 4)
    coded = np.array([[0, 0], [1, -1], [0, 0]])
    explicit = IndependentSites(1.0, [[2.5 / 4, 1.5 / 4], [1.0]])
    assert log_likelihood(x, h, IndependentSites()) == pytest.approx(log_likelihood(coded, h, explicit), abs=1e-12)


def test_a_flat_root_does_not_see_where_the_data_lie() -> None:
    x, h = np.random.default_rng(0).normal(size=(5, 3)), random_history(5, 5)
    process = Brownian(RATES["full"])
    assert log_likelihood(x + 100.0, h, process) == pytest.approx(log_likelihood(x, h, process), abs=1e-9)


@pytest.mark.parametrize("rate", sorted(RATES))
def test_rows_and_columns_of_which_nothing_is_known_change_nothing(rate: str) -> None:
    rng = np.random.default_rng(6)
    x, h = rng.normal(size=(6, 3)), random_history(6, 6)
    x[2] = x[:, 1] = np.nan
    whole = log_likelihood(x, h, Brownian(RATES[rate]))
    keep = [0, 2]
    fewer = np.array(RATES[rate])[keep] if rate == "diagonal" else np.array(RATES[rate])
    fewer = fewer[np.ix_(keep, keep)] if rate == "full" else fewer
    assert whole == pytest.approx(log_likelihood(x[:, keep], h, Brownian(fewer)), abs=1e-10)
    nothing = np.full((6, 3), np.nan)
    assert log_likelihood(nothing, h, Brownian(RATES[rate])) == 0.0
    assert log_likelihood(np.full((6, 3), -1), h, IndependentSites(1.0)) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("rate", sorted(RATES))
@pytest.mark.parametrize("is_missing", [False, True])
def test_identical_rows_at_distance_zero_are_infinitely_dense_and_different_ones_impossible(
    rate: str, is_missing: bool
) -> None:
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.0, 1.0])
    x = np.array([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [0.0, 0.0, 0.0]])
    if is_missing:
        x[1, 2] = np.nan
    assert log_joint(x, h, Brownian(RATES[rate])) == np.inf
    assert math.isfinite(log_joint(x, h, Brownian(RATES[rate], leaf_variance=0.01)))
    x[1, 0] = 1.5
    assert log_joint(x, h, Brownian(RATES[rate])) == -np.inf
    both = Hierarchy.from_merges([[0, 1], [2, 3], [4, 5]], heights=[0.0, 0.0, 1.0])
    assert log_joint(np.vstack([x, [0.0, 0.0, 0.0]]), both, Brownian(RATES[rate])) == -np.inf


def test_states_that_differ_at_distance_zero_are_impossible() -> None:
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.0, 1.0])
    process = IndependentSites(1.0, [[0.5, 0.5]])
    assert log_likelihood([[0], [1], [1]], h, process) == -np.inf
    assert math.isfinite(log_likelihood([[1], [1], [0]], h, process))


@pytest.mark.parametrize("scale", [1e-120, 1e-20, 1.0, 1e20, 1e120])
@pytest.mark.parametrize("is_missing", [False, True])
def test_many_columns_of_any_size_do_not_overflow(scale: float, is_missing: bool) -> None:
    rng = np.random.default_rng(7)
    x, h = scale * rng.normal(size=(5, 500)), random_history(5, 7)
    x[:, 1] = 3.0
    if is_missing:
        x[0, 0] = np.nan
    assert math.isfinite(log_joint(x, h, Brownian()))
    codes = rng.integers(0, 4, size=(5, 500))
    tiny = Hierarchy.from_merges(h.children, heights=h.heights * 1e-12)
    for history in (h, tiny):
        assert math.isfinite(log_joint(codes, history, IndependentSites(np.linspace(0.1, 5.0, 500))))


def test_one_leaf_and_two() -> None:
    one, two = Hierarchy.from_merges(np.empty((0, 2), dtype=int)), Hierarchy.from_merges([[0, 1]], heights=[0.5])
    assert log_joint([[3.0]], one, Brownian()) == 0.0
    expected = -0.5 * (math.log(2 * math.pi * 2.0) + 9 / 2.0)
    assert log_joint([[3.0]], one, Brownian(root=Gaussian(0.0, 2.0))) == pytest.approx(expected)
    assert log_joint([[1]], one, IndependentSites(1.0, [[0.25, 0.75]])) == pytest.approx(math.log(0.75))
    assert log_joint([[0.0], [1.0]], two, Brownian()) == pytest.approx(-0.5 - 0.5 * (math.log(2 * math.pi) + 1))


def test_heights_may_be_off_by_rounding() -> None:
    h = random_history(6, 8)
    again = Hierarchy.from_newick(h.to_newick()).aligned_to(h.labels)
    x = np.random.default_rng(8).normal(size=(6, 2))
    assert log_joint(x, again, Brownian()) == pytest.approx(log_joint(x, h, Brownian()), abs=1e-6)


@pytest.mark.parametrize(
    ("hierarchy", "message"),
    [
        (Hierarchy.from_newick("((a,b),c);"), "no heights"),
        (Hierarchy.from_newick("(a:1,b:1,c:1);"), "not binary"),
        (Hierarchy.from_newick("((a:1,b:2):1,c:3);"), "all leaves of a coalescent are at 0"),
        (Hierarchy.from_merges([[0, 1], [3, 2]], heights=[2.0, 1.0]), "below a child"),
        (Hierarchy.from_merges([[0, 1]], heights=[2.0]), "2 leaves but the data have 3 rows"),
    ],
)
def test_hierarchies_that_are_no_histories_are_refused(hierarchy: Hierarchy, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        log_joint([[0.0], [1.0], [2.0]], hierarchy, Brownian())


def test_a_history_must_be_a_hierarchy() -> None:
    with pytest.raises(TypeError, match="expected a Hierarchy"):
        log_prior("((a,b),c);")  # type: ignore[arg-type]


def test_what_is_no_process_is_refused() -> None:
    pair = Hierarchy.from_merges([[0, 1]], heights=[1.0])
    process: Any = Brownian  # the class, not one of it
    with pytest.raises(TypeError, match="expected a process, such as"):
        greedy([[0.0], [1.0]], process)
    with pytest.raises(TypeError, match="expected a process, such as"):
        log_joint([[0.0], [1.0]], pair, process)


def test_what_holds_arrays_can_be_compared_and_kept_in_sets() -> None:
    root, prior = Gaussian([0.0, 1.0]), InverseWishart([[1.0, 0.0], [0.0, 1.0]], 3.0)
    assert root != Gaussian([0.0, 1.0])
    assert len({root, prior, root, prior}) == 2
