from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.ultrametric.single_linkage import rising_order


def stable(weights):
    return np.argsort(weights, kind="stable")


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=1, max_size=50))
def test_order_is_that_of_a_stable_sort(weights):
    given_weights = np.array(weights)
    np.testing.assert_array_equal(rising_order(given_weights), stable(given_weights))


@pytest.mark.parametrize(
    "weights",
    [
        np.random.default_rng(0).integers(0, 5, 3_000).astype(float),
        np.random.default_rng(1).normal(size=3_000) * 1e300,
        -np.arange(3_000) * 1e-12 + 1.0,  # alike in single precision, and falling: insertion would take for ever
        np.array([0.0, -0.0] * 500),
        np.random.default_rng(2).random(3_000) * 1e-310,
    ],
    ids=["ties", "huge", "alike", "zeros", "tiny"],
)
def test_order_of_hard_weights(weights):
    np.testing.assert_array_equal(rising_order(weights), stable(weights))
