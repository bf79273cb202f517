"""The law of the number of particles, against integrals as they are written and against simulated showers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

import palmette as pal
from palmette.jets._sizes import size_probabilities

TOP = 0.999


def density(a, bound, rate):
    return rate / bound * math.exp(-rate * a / bound) / -math.expm1(-TOP * rate)


def below(cut, bound, rate):
    return math.expm1(-rate * min(cut / bound, TOP)) / math.expm1(-TOP * rate)


def rest(t, a):
    return (math.sqrt(t) - math.sqrt(a)) ** 2


def two(t, rate, cut=1.0):
    """P(2 | t): both children are light."""
    if t <= cut:
        return 0.0
    found = lambda a: density(a, t, rate) * below(cut, rest(t, a), rate)  # noqa: E731
    return quad(found, 0.0, min(cut, TOP * t), points=[min(rest(t, cut), cut)], epsabs=1e-6, limit=200)[0]


def three(t, rate, root_rate, cut=1.0):
    """P(3 | t): one child is light, the other ends with two particles."""

    def heavy_second(a):
        s = rest(t, a)
        if TOP * s <= cut:
            return 0.0
        return quad(lambda b: density(b, s, root_rate) * two(b, rate), cut, TOP * s, epsabs=1e-6)[0]

    light = quad(lambda a: density(a, t, root_rate) * heavy_second(a), 0.0, min(cut, TOP * t), epsabs=1e-5)[0]
    heavy = lambda a: density(a, t, root_rate) * two(a, rate) * below(cut, rest(t, a), root_rate)  # noqa: E731
    return light + (quad(heavy, cut, TOP * t, epsabs=1e-7)[0] if TOP * t > cut else 0.0)


@given(st.floats(0.1, 60.0), st.floats(0.05, 8.0), st.floats(0.01, 100.0))
def test_two_particles_are_one_integral(t, rate, cut):
    found = size_probabilities(np.array([t * cut]), 2, rate=rate, t_cut=cut)[0]
    assert found[0] == (t * cut <= cut)
    assert found[1] == pytest.approx(two(t, rate), abs=2e-4)


@pytest.mark.parametrize(
    ("t", "rate", "root_rate"), [(3.0, 1.5, 1.5), pytest.param(30.0, 0.5, 2.0, marks=pytest.mark.slow)]
)
def test_three_particles_are_integrals_in_integrals(t, rate, root_rate):
    found = size_probabilities(np.array([t]), 4, rate=rate, t_cut=1.0, root_rate=root_rate)[0]
    assert found[2] == pytest.approx(three(t, rate, root_rate), abs=2e-4)


@pytest.mark.parametrize("preset", ["qcd", "w"])
def test_showers_have_as_many_particles_as_the_law_says(preset):
    jets = pal.simulate.ginkgo(20_000, preset=preset, rng=3)
    mass = 30.0 if preset == "qcd" else 80.0
    odds = size_probabilities(np.array([mass**2]), 25, **jets.law)[0]
    counts = np.bincount(jets.n_leaves, minlength=26)[1:26]
    expected = len(jets) * odds
    common = expected > 10.0
    assert ((counts - expected)[common] ** 2 / expected[common]).sum() < 50.0  # about twenty of them
    assert odds.sum() == pytest.approx(1.0, abs=3e-3 if preset == "w" else 1e-4)


def test_many_jets_at_once_and_numbers_that_are_not_heard_of():
    t = np.array([0.0, 15.9, 16.1, 100.0, 900.0])
    law = {"rate": 1.5, "t_cut": 16.0, "root_rate": 3.0}
    whole = size_probabilities(t, 60, **law)
    assert whole.shape == (5, 60)
    assert whole.sum(axis=1) == pytest.approx(1.0, abs=2e-4)
    assert whole[:2, 0].tolist() == [1.0, 1.0]
    assert whole[4, 40:].max() == 0.0
    np.testing.assert_allclose(size_probabilities(t, 5, **law), whole[:, :5], atol=1e-12)
    assert size_probabilities(t, 0, **law).shape == (5, 0)
