"""The rate of sites by the evidence: where it is known, where it is simulated, and where the data do not tell it."""

from __future__ import annotations

import numpy as np
import pytest
from coalescent_oracle import dirichlet_multinomial

import palmette as pal
from palmette import coalescent


def test_the_rate_has_the_largest_evidence_of_all_histories():
    # One site of n leaves is Dirichlet-multinomial with α = 2 λ, so the best rate is known.
    states, law = np.array([0] * 6 + [1, 1]), np.array([0.5, 0.5])
    rates = np.exp(np.linspace(-4, 4, 4001))
    best = rates[np.argmax([dirichlet_multinomial(states, rate, law) for rate in rates])]
    found = coalescent.rate_by_evidence(states[:, None], coalescent.IndependentSites(0.1, [law]), 2000)
    assert not found.at_boundary
    assert abs(np.log(found.process.rate / best)) < 0.4
    np.testing.assert_allclose(
        found.log_evidences, [dirichlet_multinomial(states, rate, law) for rate in found.rates], atol=0.15
    )


def test_rates_of_simulated_sites_are_found():
    found = []
    for seed in range(4):
        truth = coalescent.IndependentSites(0.5, [[0.6, 0.3, 0.1]] * 40)
        x = pal.simulate.coalescent(10, truth, n_columns=40, rng=seed).x
        found.append(float(coalescent.rate_by_evidence(x, coalescent.IndependentSites(1.0, "uniform")).process.rate))
    assert 0.3 < np.exp(np.mean(np.log(found))) < 0.8


def test_a_rate_that_the_data_do_not_tell_is_said_to_be_so():
    x = np.array([[0], [1], [2], [3]])
    assert coalescent.rate_by_evidence(x, coalescent.IndependentSites(1.0, "uniform"), 20).at_boundary
    with pytest.raises(ValueError, match=r'the equilibrium is "empirical", which has seen the data'):
        coalescent.rate_by_evidence(x, coalescent.IndependentSites())
    with pytest.raises(TypeError, match="expected IndependentSites"):
        coalescent.rate_by_evidence(x, coalescent.Brownian())
