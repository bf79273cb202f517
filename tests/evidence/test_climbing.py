"""Maxima of functions whose maxima are known."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.evidence.climbing import climb

WIDE = {"tolerance": 1e-3, "most": 60}


def box(k, half=6.0):
    return np.full(k, -half), np.full(k, half)


@given(seed=st.integers(0, 999), k=st.integers(1, 3))
def test_the_maximum_of_a_quadratic_is_found_with_its_second_derivatives(seed, k):
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(k, k))
    hessian, top = -(root @ root.T + 0.3 * np.eye(k)), rng.uniform(-2, 2, k)
    summit = climb(lambda x: 0.5 * (x - top) @ hessian @ (x - top), np.zeros(k), *box(k), **WIDE)
    assert summit.value == pytest.approx(0.0, abs=2e-3)
    np.testing.assert_allclose(summit.hessian, hessian, rtol=1e-3, atol=1e-3 * np.abs(hessian).max())
    assert summit.n_values <= 40


def test_a_bent_ridge_is_followed():
    ridge = lambda x: -((x[1] - math.sin(x[0])) ** 2) - 0.1 * (x[0] - 3.0) ** 2  # noqa: E731
    summit = climb(ridge, np.zeros(2), *box(2), **WIDE)
    assert summit.value > -0.1  # at (3, sin 3) it is 0; at the start -0.9


def test_edges_are_reached_and_not_passed():
    asked = []

    def slope(x):
        asked.append(x)
        return x[0] - 0.5 * x[1] ** 2

    summit = climb(slope, np.zeros(2), *box(2, 1.5), **WIDE)
    np.testing.assert_allclose(summit.x, [1.5, 0.0], atol=0.05)
    assert np.abs(asked).max() <= 1.5


def test_what_is_impossible_is_kept_away_from():
    summit = climb(lambda x: -((x[0] - 1) ** 2) if x[0] < 1.2 else -math.inf, np.zeros(1), *box(1), **WIDE)
    assert summit.x[0] == pytest.approx(1.0, abs=0.05)
    with pytest.raises(ValueError, match="-inf at the start"):
        climb(lambda x: -math.inf, np.zeros(1), *box(1), **WIDE)
    with pytest.raises(ValueError, match="is nan at"):
        climb(lambda x: math.nan, np.zeros(1), *box(1), **WIDE)


def test_no_more_is_asked_than_was_allowed():
    asked = []
    climb(lambda x: asked.append(x) or -np.sum(np.abs(x - 4) ** 1.5), np.zeros(2), *box(2), tolerance=1e-9, most=12)
    assert len(asked) <= 12 + 6
