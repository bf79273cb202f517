"""What is wrong with each of many jets: the same as the checks of a single one say."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

from palmette.models import Ginkgo
from palmette.models.particles import jet_errors
from palmette.simulate import ginkgo


def single_error(momenta):
    """Whether a single model refuses the jet, or warns."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            Ginkgo(momenta, 1.5, 16.0)
        except (ValueError, UserWarning) as error:
            return str(error)
    return None


def test_errors_are_those_of_single_jets():
    rng = np.random.default_rng(0)
    jets = [jet.momenta.copy() for jet in ginkgo(60, rng=1)]
    for momenta in jets:
        row = rng.integers(len(momenta))
        match rng.integers(6):
            case 0:
                momenta[row, rng.integers(4)] = rng.choice([np.nan, np.inf, -np.inf])
            case 1:
                momenta[row, 0] *= -1.0
            case 2:
                momenta[row, 1] += 2.0 * momenta[row, 0]
            case 3:
                momenta[row] *= 1e40
    offsets = np.concatenate([[0], np.cumsum([len(jet) for jet in jets])])
    errors = jet_errors(np.concatenate(jets), offsets)
    assert len(errors) == len(jets)
    for momenta, error in zip(jets, errors, strict=True):
        assert (error is None) == (single_error(momenta) is None)
    assert sum(error is None for error in errors) > 10


@pytest.mark.parametrize("count", [0, 3])
def test_empty_jets(count):
    assert jet_errors(np.empty((0, 4)), np.zeros(count + 1, dtype=int)) == ["no particles"] * count


def test_the_first_bad_particle_and_the_worst_complaint_are_named():
    momenta = np.array([[1.0, 5, 0, 0], [1, np.nan, 0, 0], [-1, 0, 0, 0], [1, 0, np.inf, 0]])
    assert jet_errors(momenta, np.array([0, 4])) == ["a particle is not finite: number 1, [1.0, nan, 0.0, 0.0]"]
    heavy = np.array([[5.0, 4.9, 0, 0], [1.0, 1.00001, 0, 0], [1.0, 1.00001, 0, 0]])
    assert jet_errors(np.concatenate([heavy, heavy[1:]]), np.array([0, 3, 5])) == [None, None]
    many = np.tile([[1.0, 1.000014, 0, 0]], (3, 1))
    assert jet_errors(many, np.array([0, 3])) == [None]
