"""Which scores are made of vectors is read off their code; the passes that follow from it agree with a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import members

from palmette._jit import inline
from palmette.models import Correlation, Ginkgo
from palmette.models.features import feature_log_psi
from palmette.numeric import exponential, logarithm
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.resources import Resources
from palmette.recursions.tiles import scores_by_vectors
from palmette.simulate import ginkgo


@inline
def short(data, P, L, R):
    return math.sqrt(data[L] + data[R])


@inline
def long(data, P, L, R):
    return logarithm(math.sqrt(data[L]) + exponential(data[R])) if data[P] < math.inf else -math.inf


@inline
def calling(data, P, L, R):
    return long(data, P, L, R) + np.log(data[P])


@inline
def calling_below(data, P, L, R):
    return logarithm(data[P]) + other(data[L]) + other(data[R])


@inline
def other(x):
    return math.expm1(x)


@pytest.mark.parametrize(
    ("log_psi", "expected"), [(short, False), (long, True), (calling, False), (calling_below, False)]
)
def test_a_long_score_that_calls_no_library_is_made_of_vectors(log_psi, expected):
    assert scores_by_vectors(log_psi) is expected


def jet(n, likelihood):
    return Ginkgo(ginkgo(1, preset="w", min_leaves=n, max_leaves=n, rng=0)[0].momenta, 1.5, 16.0, likelihood=likelihood)


@pytest.mark.parametrize("likelihood", ["density", "symmetric", "ordered", "literal"])
def test_of_the_laws_of_showers_two_are(likelihood):
    assert scores_by_vectors(feature_log_psi(jet(3, likelihood))) is (likelihood in ("density", "symmetric"))
    assert not scores_by_vectors(feature_log_psi(Correlation(np.ones((3, 3)))))


def slow_passes(passes):
    """log Z, log M and μ, one split at a time, with log ψ as the passes report it."""
    n, full = passes.n, passes.root
    Z, M = np.full(full + 1, -np.inf), np.full(full + 1, -np.inf)
    Z[1 << np.arange(n)] = M[1 << np.arange(n)] = 0.0
    mu = np.zeros(full + 1)
    lists = {}
    for P in range(1, full + 1):
        if P & (P - 1):
            lists[P] = passes.splits(P, np.zeros(full + 1))
            if not passes.allowed.size or passes.allowed[P]:
                left, right, log_psi = lists[P]
                Z[P] = np.logaddexp.reduce(log_psi + Z[left] + Z[right])
                M[P] = np.max(log_psi + M[left] + M[right])
    mu[full] = 1.0
    for P in sorted(lists, key=lambda mask: -len(members(mask))):
        if mu[P] > 0.0:
            left, right, log_psi = lists[P]
            shares = mu[P] * np.exp(log_psi + Z[left] + Z[right] - Z[P])
            np.add.at(mu, left, shares)
            np.add.at(mu, right, shares)
    return Z, M, mu


@given(n=st.integers(2, 10), conditioned=st.booleans())
def test_passes_by_vectors_are_those_of_a_slow_twin(n, conditioned):
    model = jet(n, "symmetric")
    conditions = HierarchyConditions(model.labels)
    if conditioned and n > 3:
        conditions = conditions.and_also(forbid=[[0, 1], [1, 2, 3]])
    passes = FullHierarchyPasses(model, conditions, Resources(threads=1, progress=False))
    Z, M, mu = slow_passes(passes)
    general = passes._general
    for found in (general.inside(), passes.tables.solve(n)[0]):
        np.testing.assert_allclose(found[1:], Z[1:], rtol=1e-12, atol=1e-12)
    for found in (general.maximum(), passes.tables.solve(n)[1]):
        np.testing.assert_allclose(found[1:], M[1:], rtol=1e-12, atol=1e-12)
    if Z[-1] > -np.inf:
        np.testing.assert_allclose(general.outside(general.inside()), mu, rtol=0, atol=1e-12)


def test_threads_do_not_change_a_bit_of_it(monkeypatch):
    monkeypatch.setattr("palmette.threads._SHORTEST", 1e3)
    one, three = (
        FullHierarchyPasses(jet(11, "symmetric"), resources=Resources(threads=k, progress=False))._general
        for k in (1, 3)
    )
    Z = one.inside()
    np.testing.assert_array_equal(Z, three.inside())
    np.testing.assert_array_equal(one.maximum(), three.maximum())
    np.testing.assert_array_equal(one.outside(Z), three.outside(Z))
