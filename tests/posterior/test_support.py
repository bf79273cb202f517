"""Hierarchies that a posterior hands out know how probable their clusters are, if that is known or takes no time."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from cases import cases
from hypothesis import assume, given

import palmette as pal
from palmette.defaults import DEFAULTS
from palmette.models import Dasgupta
from palmette.posterior import HierarchyMixture, hierarchy_verbs

SIMILARITY = pal.similarity.of_points(np.array([[0.0], [0.3], [2.0], [2.1], [5.0]]))


def model(beta=1.0):
    return Dasgupta(SIMILARITY, beta, labels=list("abcde"))


@pytest.fixture
def dear(monkeypatch):
    """As if even a few splits took long."""
    monkeypatch.setattr(hierarchy_verbs, "DEFAULTS", dataclasses.replace(DEFAULTS, support_splits=0))


@given(case=cases(max_leaves=5))
def test_support_is_that_of_enumeration(case):
    assume(case.oracle.log_z > -np.inf)
    post = pal.HierarchyPosterior(case.model)
    for found in [post.map(), *(hierarchy for hierarchy, _ in post.best(3))]:
        expected = [case.oracle.cluster_probability(sum(1 << i for i in cluster)) for cluster in found.clusters()]
        assert found.support == pytest.approx(expected, abs=1e-9)


def test_newick_and_pictures_have_it():
    best = pal.HierarchyPosterior(model()).map()
    assert pal.Hierarchy.from_newick(best.to_newick()).support[5:] == pytest.approx(best.support[5:], abs=0)
    assert 'class="support"' in best.to_svg()
    short = pal.Hierarchy.from_newick(best.to_newick(digits=2))
    assert short.support[5:] == pytest.approx(best.support[5:], rel=0.05)
    assert repr(best) == repr(best.with_support({}))  # a name needs no numbers


@pytest.mark.usefixtures("dear")
def test_where_it_would_take_time_it_is_there_once_it_is_known():
    post = pal.HierarchyPosterior(model())
    assert post.map().support is None
    assert post.best(2)[1][0].support is None
    assert "_outside" not in post._values
    p = post.cluster_probability(["a", "b"])
    assert post.map().support[post.map().find([0, 1])] == p
    assert all(hierarchy.support is not None for hierarchy, _ in post.best(2))
    post.clear()
    assert post.map().support is None


def test_sparse_trellises_mixtures_and_chains_have_it():
    post = pal.HierarchyPosterior(model())
    sparse = post.on(pal.SparseTrellis.from_hierarchies([hierarchy for hierarchy, _ in post.best(4)]))
    mixture = HierarchyMixture([post, pal.HierarchyPosterior(model(2.0))], [0.0, 0.0])
    chains = pal.sampling.sample_hierarchies(model(), seconds=None, sweeps=40, progress=False)
    for some in (sparse, mixture, chains):
        found = [some.map(), *(hierarchy for hierarchy, _ in some.best(3))]
        for hierarchy in found:
            expected = [float(some.cluster_probability(cluster)) for cluster in hierarchy.clusters()]
            assert hierarchy.support == pytest.approx(expected, abs=1e-12)


def test_the_best_histories_of_particles_have_it():
    x = np.array([[0.0], [0.1], [1.0], [1.1]])
    draws = pal.coalescent.smc(x, pal.coalescent.Brownian(), 50, rng=0, progress=False)
    for found in (draws.map(), draws.most_credible()):
        expected = [float(draws.cluster_probability(cluster)) for cluster in found.clusters()]
        assert found.support == pytest.approx(expected, abs=1e-12)
        assert np.ptp(found.heights) > 0.0


def test_chains_that_start_at_one_hierarchy_are_the_same_with_and_without_its_support(tmp_path):
    best = pal.HierarchyPosterior(model()).map()
    options = {"seconds": None, "n_chains": 2, "checkpoint": tmp_path / "chains.npz", "progress": False}
    starts = [best, best]
    pal.sampling.sample_hierarchies(model(), sweeps=16, starts=starts, **options)
    bare = [start.with_support({}) for start in starts]
    again = pal.sampling.sample_hierarchies(model(), sweeps=32, starts=bare, **options)
    assert again.n_kept > 0
