"""Flat clusters against ratios of whole likelihoods: dense multivariate normals, and restricted hierarchies."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from coalescent_cases import FairCoins
from coalescent_oracle import random_history
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import multivariate_normal

from palmette.coalescent import Brownian, Gaussian, IndependentSites, log_likelihood
from palmette.coalescent.clusters import flat_clusters, log_ratios
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition
from palmette.simulate import coalescent

RATES = [np.array(2.0), np.array([0.5, 3.0]), np.array([[2.0, 0.8], [0.8, 1.0]])]


def missing_some(x: np.ndarray, share: float, seed: int) -> np.ndarray:
    holes = np.random.default_rng(seed).random(x.shape) < share
    return np.where(holes, np.nan, x)


def log_density(x: np.ndarray, h: Hierarchy, node: int, rate: Any, mean: Any, kappa: float, noise: float) -> float:
    """log p(data below `node`) if its state is N(mean, κΛ), by the dense covariance of what is there."""
    leaves = sorted(h.clusters()[node])
    together = h.heights[node] - h.cophenetic()[np.ix_(leaves, leaves)] + noise * np.eye(len(leaves)) + kappa
    matrix = np.broadcast_to(rate, 2) * np.eye(2) if np.ndim(rate) < 2 else rate
    values = x[leaves].reshape(-1)
    known = ~np.isnan(values)
    if not known.any():
        return 0.0
    covariance = np.kron(together, matrix)[np.ix_(known, known)]
    return float(multivariate_normal.logpdf(values[known], np.tile(mean, len(leaves))[known], covariance))


def slow_ratios(x: np.ndarray, h: Hierarchy, *settings: Any) -> list[float]:
    each = [log_density(x, h, node, *settings) for node in range(h.n_nodes)]
    return [each[h.n_leaves + k] - each[i] - each[j] for k, (i, j) in enumerate(h.children.tolist())]


@given(st.integers(2, 7), st.sampled_from(RATES), st.sampled_from([0.0, 0.3]), st.booleans(), st.integers(0, 999))
def test_brownian_ratios_are_those_of_dense_normal_densities(
    n: int, rate: Any, share: float, noisy: bool, seed: int
) -> None:
    noise = 0.2 if noisy else 0.0
    root = Gaussian([0.5, -1.0], 1.3)
    draw = coalescent(n, Brownian(rate, root, noise), rng=seed, n_columns=2)
    x = missing_some(draw.x, share, seed)
    found = log_ratios(x, draw.hierarchy, Brownian(rate, root, noise))
    expected = slow_ratios(x, draw.hierarchy, rate, root.mean, root.variance, noise)
    assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("rate", RATES, ids=["scalar", "diagonal", "full"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_a_flat_root_takes_mean_and_variance_of_the_data(rate: np.ndarray, share: float) -> None:
    draw = coalescent(6, Brownian(rate), rng=3, n_columns=2, start=5.0)
    x = missing_some(draw.x, share, 4)
    mean = np.nanmean(x, axis=0)
    if rate.ndim == 2 and share == 0.0:
        kappa = float(np.trace(np.linalg.solve(rate, np.cov(x.T, ddof=0)))) / 2
    else:
        kappa = float(np.mean(np.nanvar(x, axis=0) / (np.diag(rate) if rate.ndim == 2 else rate)))
    expected = slow_ratios(x, draw.hierarchy, rate, mean, kappa, 0.0)
    assert log_ratios(x, draw.hierarchy, Brownian(rate)) == pytest.approx(expected, abs=1e-7)
    given_root = Brownian(rate, Gaussian(mean, kappa))
    assert log_ratios(x, draw.hierarchy, given_root) == pytest.approx(expected, abs=1e-7)
    assert log_ratios(x, draw.hierarchy, Brownian(rate, Gaussian(mean, 0.0))) == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("share", [0.0, 0.4])
def test_units_and_origin_do_not_matter(share: float) -> None:
    draw = coalescent(8, Brownian([1.0, 2.0, 0.5]), rng=5)
    x, unit = missing_some(draw.x, share, 6), np.array([10.0, 1e-3, 1.0])
    one = log_ratios(x, draw.hierarchy, Brownian([1.0, 2.0, 0.5]))
    two = log_ratios(7.0 + x * unit, draw.hierarchy, Brownian(unit**2 * [1.0, 2.0, 0.5]))
    assert one == pytest.approx(two, abs=1e-6)


def test_ratios_add_up_to_the_likelihood_over_that_of_the_leaves() -> None:
    process = Brownian([1.0, 2.0], Gaussian(1.0, 0.7))
    draw = coalescent(9, process, rng=7)
    alone = [log_density(draw.x, draw.hierarchy, i, [1.0, 2.0], [1.0, 1.0], 0.7, 0.0) for i in range(9)]
    total = log_likelihood(draw.x, draw.hierarchy, process) - sum(alone)
    assert log_ratios(draw.x, draw.hierarchy, process).sum() == pytest.approx(total, abs=1e-9)


@given(st.integers(2, 8), st.sampled_from([0.0, 0.3]), st.integers(0, 999))
def test_ratios_of_sites_are_those_of_restricted_hierarchies(n: int, share: float, seed: int) -> None:
    process = IndependentSites([0.5, 2.0, 1.0], [[0.2, 0.8], [0.3, 0.3, 0.4], [0.5, 0.5]])
    draw = coalescent(n, process, rng=seed)
    x = missing_some(draw.x.astype(float), share, seed)
    h, clusters = draw.hierarchy, [sorted(c) for c in draw.hierarchy.clusters()]
    each = [log_likelihood(x[c], h.restricted(c), process) for c in clusters]
    expected = [each[n + k] - each[i] - each[j] for k, (i, j) in enumerate(h.children.tolist())]
    assert log_ratios(x, h, process) == pytest.approx(expected, abs=1e-9)


def slow_clusters(h: Hierarchy, ratios: np.ndarray, threshold: float, node: int) -> list[frozenset[int]]:
    if node < h.n_leaves or ratios[node - h.n_leaves] > threshold:
        return [h.clusters()[node]]
    return [c for child in h.children[node - h.n_leaves] for c in slow_clusters(h, ratios, threshold, child)]


@given(st.integers(1, 9), st.booleans(), st.integers(0, 999))
def test_the_first_clusters_above_the_threshold_are_taken(n: int, brownian: bool, seed: int) -> None:
    process: Any = Brownian([1.0, 1.0]) if brownian else IndependentSites(0.3, [[0.5, 0.5]] * 6)
    draw = coalescent(n, process, rng=seed)
    h, ratios = draw.hierarchy, log_ratios(draw.x, draw.hierarchy, process)
    for threshold in (-math.inf, -1.0, 0.0, 1.0, math.inf, *ratios.tolist()):
        expected = Partition.from_clusters(slow_clusters(h, ratios, threshold, h.n_nodes - 1), n=n)
        assert flat_clusters(draw.x, h, process, threshold) == expected
    assert flat_clusters(draw.x, h, process, -math.inf).n_clusters == 1
    assert flat_clusters(draw.x, h, process, math.inf).n_clusters == n
    assert flat_clusters(draw.x, h, process) == flat_clusters(draw.x, h, process, 0.0)


def test_groups_far_apart_are_found_and_names_kept() -> None:
    x = np.array([[0.0, 0.1], [0.1, 0.0], [9.0, 9.1], [9.1, 9.0], [-9.0, 4.0]])
    h = Hierarchy.from_merges([[0, 1], [2, 3], [5, 6], [7, 4]], list("abcde"), heights=[0.02, 0.03, 12.0, 15.0])
    assert flat_clusters(x, h, Brownian()) == Partition([0, 0, 1, 1, 2], labels=list("abcde"))


@pytest.mark.parametrize("rate", [1.0, [[2.0, 0.5], [0.5, 1.0]]])
@pytest.mark.parametrize("hole", [False, True])
def test_meetings_at_distance_zero_are_infinitely_likely_or_impossible(rate: Any, hole: bool) -> None:
    x = np.array([[0.0, 1.0], [0.0, 1.0], [3.0, np.nan if hole else 1.0], [4.0, 2.0]])
    h = Hierarchy.from_merges([[0, 1], [2, 3], [4, 5]], heights=[0.0, 0.0, 1.0])
    ratios = log_ratios(x, h, Brownian(rate))
    assert ratios[:2].tolist() == [np.inf, -np.inf]
    assert not np.isnan(ratios).any()


@pytest.mark.parametrize("x", [np.ones((3, 2)), np.full((3, 2), np.nan), [[1.0, np.nan], [np.nan, 2.0], [np.nan] * 2]])
def test_data_that_say_nothing_give_no_nan(x: Any) -> None:
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.2, 0.5])
    ratios = log_ratios(x, h, Brownian())
    assert np.isfinite(ratios).all()
    if np.isnan(x).all():
        assert ratios.tolist() == [0.0, 0.0]


def test_one_leaf_is_one_cluster() -> None:
    h = Hierarchy.from_nested(0, labels=["0"])
    assert flat_clusters([[1.0]], h, Brownian()).n_clusters == 1
    assert len(log_ratios([[1]], h, IndependentSites())) == 0


def test_a_process_of_ones_own_is_cut_by_its_z() -> None:
    h, x = random_history(6, 3), np.random.default_rng(3).integers(0, 2, (6, 5))
    same = IndependentSites(0.8, [[0.5, 0.5]] * 5)
    assert log_ratios(x, h, FairCoins()) == pytest.approx(log_ratios(x, h, same), abs=1e-10)
    assert flat_clusters(x, h, FairCoins()) == flat_clusters(x, h, same)


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"threshold": math.nan}, ValueError, "threshold is NaN"),
        ({"threshold": "0"}, TypeError, "threshold must be a number"),
        ({"process": Brownian}, TypeError, "expected a process"),
        ({"x": [[0.0], [1.0], [2.0]]}, ValueError, "2 leaves but the data have 3 rows"),
        ({"x": [[np.inf], [1.0]]}, ValueError, "inf at row 0, column 0"),
        ({"x": [0.0, 1.0]}, ValueError, "expected \\(n, d\\)"),
        ({"process": Brownian([1.0, 2.0])}, ValueError, "rate has shape \\(2,\\) but x has 1 columns"),
        ({"hierarchy": Hierarchy.from_nested((0, 1))}, ValueError, "has no heights"),
    ],
)
def test_bad_input_is_refused_with_a_reason(change: dict[str, Any], error: Any, message: str) -> None:
    arguments = {
        "x": [[0.0], [1.0]],
        "hierarchy": Hierarchy.from_merges([[0, 1]], heights=[1.0]),
        "process": Brownian(),
        **change,
    }
    with pytest.raises(error, match=message):
        flat_clusters(**arguments)
