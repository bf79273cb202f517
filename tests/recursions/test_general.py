"""The general passes, by blocks and in one serial call, agree with a slow twin; threads do not change a bit."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from oracle import members

from palmette.models import Ginkgo
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.resources import Resources
from palmette.simulate import ginkgo


def jet(n, likelihood):
    return Ginkgo(ginkgo(1, preset="w", min_leaves=n, max_leaves=n, rng=0)[0].momenta, 1.5, 16.0, likelihood=likelihood)


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


@given(n=st.integers(2, 10), likelihood=st.sampled_from(["density", "symmetric", "ordered"]), conditioned=st.booleans())
def test_passes_are_those_of_a_slow_twin(n, likelihood, conditioned):
    model = jet(n, likelihood)
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
