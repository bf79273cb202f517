"""The sequential test of Ward's splits: its null law, its statistic, and how p is passed down the tree."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st


@pytest.fixture
def significance(load):
    return load("_significance")


@given(st.lists(st.floats(0.0, 100.0), min_size=1, max_size=12), st.floats(1e-3, 50.0))
def test_soft_thresholding_takes_as_much_from_all_as_the_noise_lacks(load, values, background):
    values = np.sort(np.array(values))[::-1]
    found = load("_significance").soft_thresholded(values, background)
    floor = min(background, values.mean())
    assert found.sum() == pytest.approx(values.sum(), abs=1e-6)
    assert found.min() >= floor
    above = found > floor + 1e-6
    shift = np.min((values - found)[above], initial=np.inf)
    np.testing.assert_allclose((values - found)[above], shift, atol=1e-6)
    assert shift >= -1e-9
    assert (values[~above] <= floor + shift + 1e-5).all()


def test_null_eigenvalues_are_those_of_the_covariance_where_these_are_above_the_noise(significance):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(200, 4)) * [5.0, 3.0, 2.0, 2.0]
    covariance = np.linalg.eigvalsh(np.cov(x.T))[::-1]
    assert significance.null_eigenvalues(x).sum() == pytest.approx(covariance.sum())
    wide = rng.normal(size=(5, 30))
    values = significance.null_eigenvalues(wide)
    assert len(values) == 30
    assert (values > 0).all()
    assert values.sum() == pytest.approx(np.trace(np.cov(wide.T)))


def test_the_cluster_index_is_the_share_that_is_left_within_the_last_merge(significance):
    x = np.concatenate([np.random.default_rng(0).normal(size=(4, 2)), np.random.default_rng(1).normal(size=(3, 2)) + 9])
    within = sum(np.square(part - part.mean(axis=0)).sum() for part in (x[:4], x[4:]))
    assert significance.cluster_index(x) == pytest.approx(within / np.square(x - x.mean(axis=0)).sum())


def test_p_of_one_gaussian_is_spread_out_and_that_of_two_is_small(significance):
    rng = np.random.default_rng(0)
    null = [significance.p_value(rng.normal(size=(12, 20)), rng) for _ in range(40)]
    assert 0.05 < np.mean(null) < 0.95
    assert np.mean(np.array(null) < 0.05) < 0.2
    two = rng.normal(size=(12, 20)) + 4.0 * (np.arange(12) < 6)[:, None]
    assert significance.p_value(two, rng) < 1e-6
    assert significance.p_value(np.ones((5, 3)), rng) == 1.0


def test_support_falls_down_the_tree_and_brothers_have_the_same(significance):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 4)
    x = rng.normal(size=(12, 10)) + 8.0 * rng.normal(size=(3, 10))[group]
    found = significance.split_significance(x, rng)
    for child, support in found.items():
        above = [found[parent] for parent in found if child < parent]
        assert all(support <= p for p in above)
    groups = [frozenset(np.flatnonzero(group == k).tolist()) for k in range(3)]
    assert all(found[g] > 0.95 for g in groups)
    rest = [p for cluster, p in found.items() if any(cluster < g for g in groups)]
    assert np.mean(np.array(rest) > 0.95) <= 0.5


def test_family_wise_error_is_less_at_small_clusters(significance, monkeypatch):
    monkeypatch.setattr(significance, "p_value", lambda x, rng: 0.01)
    x = np.random.default_rng(0).normal(size=(9, 3))
    found = significance.split_significance(x, np.random.default_rng(0))
    sizes = {1.0 - p for p in found.values()}
    assert min(sizes) == pytest.approx(0.01)
    assert all(p <= 0.01 * 8 / 2 + 1e-12 for p in sizes)  # the smallest that is tested has three leaves
