"""The laws of splits that race only: what they integrate to, and what they find."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import betaln, expit

import palmette as pal
from palmette.clusters import cluster_members


@pytest.fixture
def laws(load):
    return load("_split_laws")


def three_groups(columns, noise):
    rng = np.random.default_rng(3)
    x = rng.normal(size=(9, columns + noise))
    x[:, :columns] += np.repeat(rng.normal(scale=12.0, size=(3, columns)), 3, axis=0)
    return pal.similarity.standardised(x)


def asked(law, left, right):
    return law(np.array([left]), np.array([right]))[0]


def test_sums_of_squares_are_those_of_every_cluster(laws):
    x = np.random.default_rng(0).normal(size=(5, 3))
    found = laws.sums_of_squares(x)
    for mask in range(1, 32):
        rows = x[list(cluster_members(mask))]
        np.testing.assert_allclose(found[mask], np.square(rows - rows.mean(axis=0)).sum(axis=0), atol=1e-12)


def mean_under_beta(f, a, b):
    def of(z):
        p = expit(z)
        return f(p) * math.exp(a * math.log(p) + b * math.log1p(-p) - betaln(a, b))

    return quad(of, -36.0, 36.0, limit=200)[0]


@pytest.mark.parametrize("b", [0.5, 1.0, 4.5])
def test_what_is_taken_in_a_column_has_a_density_relative_to_noise(laws, b):
    ratio = lambda u: laws.more_than_noise(np.array([[u]]), np.array([b]))[0, 0]  # noqa: E731
    assert mean_under_beta(ratio, 0.5, b) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize(("a", "b"), [(2.5, 4.0), (3.0, 3.0)])
def test_how_spreads_differ_in_a_column_has_a_density_relative_to_noise(laws, a, b):
    ratio = lambda w: laws.spreads_that_differ(np.array([[w]]), np.array([a]), np.array([b]))[0, 0]  # noqa: E731
    assert mean_under_beta(ratio, a, b) == pytest.approx(1.0, abs=1e-4)


def test_a_split_that_is_real_in_no_column_is_as_probable_as_in_noise(laws):
    law = laws.column_law(laws.sums_of_squares(three_groups(2, 1)), 1.0, 0.0)
    np.testing.assert_array_equal(law(np.array([0b111, 0b1]), np.array([0b111000, 0b10])), 0.0)


def test_a_column_in_which_a_split_takes_nothing_forbids_nothing(laws):
    x = np.append(np.tile([1.0, -1.0], 5), 0.0)[:, None]
    law = laws.column_law(laws.sums_of_squares(x), 1.0, 1.0)
    assert -50.0 < asked(law, 0b1111, 0b11111110000) < -40.0


def test_the_law_of_shares_adds_up_columns(laws):
    sse = laws.sums_of_squares(three_groups(2, 3))
    apart = [asked(laws.column_law(sse[:, [j]], 1.0, 0.4), 0b111, 0b111000) for j in range(5)]
    assert asked(laws.column_law(sse, 0.5, 0.4), 0b111, 0b111000) == pytest.approx(0.5 * sum(apart))
    assert np.mean(apart[:2]) > 0.0 > np.mean(apart[2:])


@pytest.mark.parametrize(("tie", "b"), [(0.1, 0.3), (1.0, 2.0)])
def test_a_tied_contrast_has_a_density(laws, tie, b):
    def density(third):
        sse = laws.sums_of_squares(np.array([[0.0], [1.0], [third]])).sum(axis=1)
        return math.exp(asked(laws.tied_law(sse, 1.0, tie, b), 0b011, 0b100))

    # Its contrast is √(2/3) (third − ½).
    total = 2.0 * math.sqrt(2.0 / 3.0) * quad(lambda t: density(0.5 + t), 0.0, np.inf)[0]
    assert total == pytest.approx(1.0, rel=1e-5)


def test_without_ties_and_scales_contrasts_are_those_of_the_package(laws, monkeypatch):
    monkeypatch.setattr(laws, "WIDER", (1.0,))
    x = np.random.default_rng(1).normal(size=(5, 2))
    ours = laws.tied_law(laws.sums_of_squares(x).sum(axis=1), 2.0, 0.0, 0.7)
    theirs = pal.models.Contrasts(x, laws.TAIL, 0.7)
    left, right = np.array([0b00011, 0b00001, 0b10101]), np.array([0b01100, 0b00010, 0b01010])
    np.testing.assert_allclose(ours(left, right), theirs.log_potentials(left, right), rtol=1e-10)


@pytest.mark.parametrize(("rival", "noise"), [("column_shares", 0), ("column_shares", 12), ("tied_contrasts", 0)])
def test_groups_far_apart_are_found(laws, rival, noise):
    support = getattr(laws, rival)(three_groups(6, noise), np.random.default_rng(0))
    for first in (0, 3, 6):
        assert support[frozenset(range(first, first + 3))] > 0.8
