"""exp, log, log Σ exp and unit draws against Python's own mathematics."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numba import njit
from scipy.stats import chisquare, kstest

from palmette.numeric import (
    accumulate,
    add_exponentials,
    exponential,
    largest,
    logarithm,
    one_minus_exponential,
    unit_draw,
)

ULP = 2.0**-52


@settings(max_examples=150)
@given(x=st.floats(-708.0, 700.0))
def test_the_exponential_is_right_to_two_units_in_the_last_place(x):
    assert abs(exponential(x) - math.exp(x)) <= 2 * ULP * math.exp(x)


def test_the_exponential_is_right_all_along_its_range():
    for x in np.linspace(-708.0, 700.0, 20_001):
        assert abs(exponential(x) - math.exp(x)) <= 2 * ULP * math.exp(x)


def test_the_exponential_of_small_numbers_is_one_plus_the_number():
    assert exponential(0.0) == exponential(-0.0) == 1.0
    for x in (1e-300, -1e-300, 1e-17, -1e-17):
        assert exponential(x) == 1.0
    assert exponential(ULP) == 1.0 + ULP


@pytest.mark.parametrize("x", [-math.inf, -1e308, -1e6, -745.2, -709.0])
def test_what_is_below_the_range_of_normal_numbers_is_nothing(x):
    assert exponential(x) == 0.0


def test_nan_stays_nan():
    assert math.isnan(exponential(math.nan))


@settings(max_examples=150)
@given(x=st.floats(0.0, 50.0) | st.floats(1e-300, 1e-3) | st.sampled_from([708.0, 1e6, 1e300, math.inf]))
def test_one_minus_the_exponential_keeps_its_digits(x):
    assert abs(one_minus_exponential(x) + math.expm1(-x)) <= -2 * ULP * math.expm1(-x)


@settings(max_examples=150)
@given(x=st.floats(2.3e-308, 1.7e308))
def test_the_logarithm_is_right_to_rounding(x):
    assert abs(logarithm(x) - math.log(x)) <= 2.3e-16 * (1 + abs(math.log(x)))


def test_the_logarithm_is_right_near_one_and_in_every_interval_of_the_mantissa():
    assert abs(logarithm(1.0)) <= 2e-16
    for x in np.concatenate(
        [np.linspace(0.5, 2.0, 4097), 1 + np.arange(-50, 50) * ULP, 2.0 ** np.arange(-1022, 1024.0)]
    ):
        assert abs(logarithm(x) - math.log(x)) <= 2.3e-16 * (1 + abs(math.log(x)))


@settings(max_examples=100)
@given(values=st.lists(st.floats(-800, 0) | st.just(-math.inf), max_size=40), shift=st.floats(-1e5, 1e5))
def test_a_sum_of_exponentials_is_their_sum(values, shift):
    table = np.array([*values, 5.0, 5.0]) + shift  # what follows is not counted
    exact = math.fsum(math.exp(x - shift) for x in table[: len(values)])
    assert add_exponentials(table, len(values), shift) == pytest.approx(
        exact, rel=1e-14 * (len(values) + 1), abs=1e-300
    )


@settings(max_examples=100)
@given(tiles=st.lists(st.lists(st.floats(-1e4, 1e4) | st.just(-math.inf), min_size=1, max_size=9), max_size=6))
def test_a_running_sum_of_exponentials_is_the_sum_of_all(tiles):
    reference, total = -math.inf, 0.0
    for tile in tiles:
        reference, total = accumulate(np.array(tile), len(tile), max(tile), reference, total)
    seen = [x for tile in tiles for x in tile]
    assert reference == max(seen, default=-math.inf)
    if reference > -math.inf:
        assert total == pytest.approx(math.fsum(math.exp(x - reference) for x in seen), rel=1e-13)
    else:
        assert total == 0.0


def test_a_running_sum_does_not_lose_a_nan():
    """Not even where it stands among impossible ones only: no comparison finds it there."""
    nothing = (-math.inf, 0.0)
    for tile in ([math.nan], [math.nan, -math.inf], [-math.inf, math.nan], [1.0, math.nan]):
        top = max((x for x in tile if x == x), default=-math.inf)
        reference, total = accumulate(np.array(tile), len(tile), top, *nothing)
        assert math.isnan(total)
        assert math.isnan(accumulate(np.array([2.0]), 1, 2.0, reference, total)[1])


@settings(max_examples=100)
@given(values=st.lists(st.floats(allow_nan=True), min_size=1, max_size=20))
def test_the_largest_entry_is_found_and_nan_passed_over(values):
    expected = max((x for x in values if x == x), default=-math.inf)
    assert largest(np.array([*values, math.inf]), len(values)) == expected


# Draws that depend on their address only.


def mixed(x):
    x = ((x ^ x >> 30) * 0xBF58476D1CE4E5B9) % 2**64
    x = ((x ^ x >> 27) * 0x94D049BB133111EB) % 2**64
    return x ^ x >> 31


def slow_unit_draw(seed, item, step):
    """Splitmix64, started anew from what the argument before it gave."""
    x = mixed((seed + 0x9E3779B97F4A7C15) % 2**64)
    for argument in (item, step):
        x = mixed((x + 0x9E3779B97F4A7C15 * (argument + 1)) % 2**64)
    return (x >> 11) / 2**53


@settings(max_examples=100)
@given(seed=st.integers(0, 2**63 - 1), item=st.integers(0, 2**40), step=st.integers(0, 2**30 - 1))
def test_a_unit_draw_is_the_hash_of_its_three_arguments(seed, item, step):
    found = unit_draw(seed, item, step)
    assert found == slow_unit_draw(seed, item, step)
    assert 0.0 <= found < 1.0


@njit
def draws(first, size, axis):
    """Draws along one axis: seed, item or step counts from 0, the other two are fixed."""
    out = np.empty(size)
    for k in range(size):
        seed, item, step = first, first + 1, first + 2
        if axis == 0:
            seed = k
        elif axis == 1:
            item = k
        else:
            step = k
        out[k] = unit_draw(seed, item, step)
    return out


@pytest.mark.parametrize("axis", [0, 1, 2], ids=["seed", "item", "step"])
def test_unit_draws_are_uniform_and_independent_along_every_axis(axis):
    """P-values over many starting points, since among many one is bound to be small: they are uniform themselves."""
    uniform, independent = [], []
    for first in range(0, 3000, 30):
        found = draws(first, 5_000, axis)
        uniform.append(kstest(found, "uniform").pvalue)
        cells = np.histogram2d(found[::2], found[1::2], bins=10, range=[[0, 1], [0, 1]])[0]
        independent.append(chisquare(cells.ravel()).pvalue)
        assert len(np.unique(found)) == len(found)
    for p_values in (uniform, independent):
        assert kstest(p_values, "uniform").pvalue > 1e-3
        assert min(p_values) > 1e-5


def test_unit_draws_do_not_mistake_one_argument_for_another():
    found = [unit_draw(*order) for order in itertools.permutations((1, 2, 3))]
    assert len(set(found)) == 6
