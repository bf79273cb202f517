"""Every pass on the trellis of chosen clusters agrees with listing its partitions."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_trellis_cases import (
    assert_well_formed,
    balanced,
    drawn,
    families,
    made,
    passes,
    potentials,
    sums_by_number,
    walk,
)
from random_hierarchies import caterpillar, hierarchies

from palmette import Hierarchy, Partition, PartitionTrellis
from palmette.models import ClusterFunction, ClusterModel, CorrelationClusters
from palmette.recursions.partitions.sparse import best_path
from palmette.trellis.partitions import sparse as trellis_paths
from palmette.trellis.partitions.paths import _count_large, count_paths, layered


def sums(paths, log_e):
    """log Z, the maximum, and the probability of every cluster, from a list of all paths."""
    listed = walk(paths)
    values = np.array([log_e[list(path)].sum() for path in listed])
    top = values.max(initial=-np.inf)
    if top == -np.inf:
        return top, top, np.zeros(len(log_e))
    weights = np.exp(values - top)
    p = weights / weights.sum()
    mu = [p[[c in path for path in listed]].sum() for c in range(len(log_e))]
    return top + np.log(weights.sum()), top, np.array(mu)


SCALES = st.sampled_from([0.0, 1.0, 50.0, 1e4])


@given(families(), st.integers(0, 10**6), st.sampled_from([0.0, 0.3]), SCALES)
def test_sums_maxima_and_probabilities_match_enumeration(family, seed, forbidden, scale):
    trellis = made(family)
    log_e = potentials(trellis, seed, forbidden, scale)
    Z, M, reach, mu = passes(trellis.paths, log_e)
    log_z, top, expected = sums(trellis.paths, log_e)
    np.testing.assert_allclose(Z[0], log_z, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M[0], top, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mu, expected, atol=1e-9)
    assert mu.min(initial=0.0) >= 0.0
    assert max(mu.max(initial=0.0), reach.max()) <= 1.0
    assert count_paths(*trellis.paths, log_e > -np.inf) == sum(
        np.isfinite(log_e[list(path)]).all() for path in walk(trellis.paths)
    )
    if top > -np.inf:
        path = np.empty(trellis.n_leaves, dtype=np.int64)
        path = path[: best_path(*trellis.paths, log_e, M, path)]
        np.testing.assert_allclose(log_e[path].sum(), top, rtol=1e-12, atol=1e-12)
        assert reach[0] == 1.0
        np.testing.assert_allclose(reach[-1], 1.0, rtol=1e-12)


@given(families(max_leaves=6), st.integers(0, 10**6), st.sampled_from([0.0, 0.3]))
def test_sums_by_number_of_clusters_match_enumeration(family, seed, forbidden):
    trellis = made(family)
    log_e = potentials(trellis, seed, forbidden)
    found = sums_by_number(trellis, log_e)
    for k in range(trellis.n_leaves + 1):
        values = [log_e[list(path)].sum() for path in walk(trellis.paths) if len(path) == k]
        np.testing.assert_allclose(found[k], np.logaddexp.reduce(values, initial=-np.inf), rtol=1e-12, atol=1e-12)
        paths = layered(*trellis.paths, k)
        assert_well_formed(paths)
        assert sorted(walk(paths)) == sorted(path for path in walk(trellis.paths) if len(path) == k)
        np.testing.assert_allclose(passes(paths, log_e)[0][0], found[k], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["family", "hierarchy", "layered"])
def test_draws_come_as_often_as_they_are_probable(kind):
    n = 5
    trellis = (
        PartitionTrellis.from_hierarchy(Hierarchy.from_newick("((a,b),c,(d,e));"))
        if kind == "hierarchy"
        else PartitionTrellis.from_clusters([[i for i in range(n) if m >> i & 1] for m in range(1, 2**n) if m % 3])
    )
    log_e = potentials(trellis, 3, forbidden=0.1)
    paths = layered(*trellis.paths, 3) if kind == "layered" else trellis.paths
    size = 5000
    membership, log_potential = drawn(trellis, log_e, size, paths=paths)
    listed = [path for path in walk(paths) if np.isfinite(log_e[list(path)]).all()]
    values = np.array([log_e[list(path)].sum() for path in listed])
    p = np.exp(values - np.logaddexp.reduce(values))
    where = {trellis.partition_of(path): i for i, path in enumerate(listed)}
    met = np.array([where[Partition(row, trellis.labels)] for row in membership])
    np.testing.assert_allclose(log_potential, values[met], rtol=1e-12)
    error = np.bincount(met, minlength=len(p)) / size - p
    assert (np.abs(error) <= 4.5 * np.sqrt(p * (1 - p) / size)).all()


def test_a_draw_does_not_depend_on_the_others():
    trellis = PartitionTrellis.from_hierarchy(caterpillar(40))
    log_e = potentials(trellis, 0)
    whole, parts = drawn(trellis, log_e, 50), drawn(trellis, log_e, 50, slices=[0, 1, 20, 33, 50])
    np.testing.assert_array_equal(whole[0], parts[0])
    np.testing.assert_array_equal(whole[1], parts[1])
    np.testing.assert_array_equal(drawn(trellis, log_e, 20)[0], whole[0][:20])
    assert (drawn(trellis, log_e, 50, seed=8)[0] != whole[0]).any()


def test_numbers_of_any_length_are_counted_alike():
    for family in ([[0, 1], [2], [0], [1, 2], [1]], [[i] for i in range(5)], [[0, 1, 2], [2], [1, 2], [0]]):
        trellis = PartitionTrellis.from_clusters(family)
        for possible in itertools.product([False, True], repeat=trellis.n_clusters):
            flags = np.array(possible)
            assert _count_large(*trellis.paths, flags) == count_paths(*trellis.paths, flags)


def balanced_count(n):
    return 1 if n == 1 else balanced_count(n // 2) ** 2 + 1


def test_counts_of_large_hierarchies_are_exact():
    for n in (2, 4, 8, 2**11):
        assert PartitionTrellis.from_hierarchy(balanced(n)).count == balanced_count(n)
    assert PartitionTrellis.from_hierarchy(caterpillar(1000)).count == 1000
    star = Hierarchy.from_parents([500] * 500 + [-1])
    assert PartitionTrellis.from_hierarchy(star).count == 2


@pytest.mark.parametrize("shape", [balanced, caterpillar])
def test_a_hundred_thousand_leaves_are_no_trouble(shape):
    trellis = PartitionTrellis.from_hierarchy(shape(2**17))
    log_e = potentials(trellis, 0)
    Z, M, reach, mu = passes(trellis.paths, log_e)
    membership, log_potential = drawn(trellis, log_e, 10)
    assert M[0] <= Z[0]
    assert (log_potential <= M[0] + 1e-6).all()
    assert 0.0 <= mu.min() <= mu.max() <= 1.0
    np.testing.assert_allclose(mu @ trellis.sizes, trellis.n_leaves, rtol=1e-6)
    assert reach[-1] > 1 - 1e-9
    first = Partition(membership[0], trellis.labels)
    numbers = trellis.find_clusters(first)
    assert (numbers >= 0).all()
    np.testing.assert_allclose(log_e[numbers].sum(), log_potential[0], rtol=1e-9)
    assert trellis.partition_of(numbers) == first


class Weighted(ClusterModel):
    """log ψ(C) = Σ x_i · |C| + θ · Σ w_ij: nothing in it is the same for two leaves."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = sums[0] * size + theta[0] * pairs[0]

    @staticmethod
    def score(theta, cluster):
        return cluster[0]


def models(n, labels):
    rng = np.random.default_rng(n)
    w = np.triu(rng.normal(size=(n, n)), 1)
    x = rng.normal(size=n)
    weights = np.exp(rng.normal(size=n))
    return [
        CorrelationClusters(w + w.T, labels=labels),
        Weighted(n, theta=[0.5], additive=x[:, None], pairwise=[w + w.T], labels=labels),
        ClusterFunction(n, lambda masks: (masks[:, None] >> np.arange(n) & 1) @ weights, labels=labels),
    ]


@pytest.mark.parametrize("which", [0, 1, 2])
@given(h=hierarchies(max_leaves=6), random=st.randoms(use_true_random=False), at_a_time=st.sampled_from([1, 4, 10**6]))
def test_log_potentials_are_the_models_in_any_order_of_leaves(which, h, random, at_a_time):
    model = models(h.n_leaves, random.sample(h.labels, h.n_leaves))[which]
    for trellis in (PartitionTrellis.from_hierarchy(h), PartitionTrellis.from_clusters(h.clusters(), h.labels)):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(trellis_paths, "_AT_A_TIME", at_a_time)
            log_e = model.cluster_log_potentials(trellis)
        for path in walk(trellis.paths):
            expected = model.log_potential(trellis.partition_of(path))
            assert math.isclose(log_e[list(path)].sum(), expected, rel_tol=1e-9, abs_tol=1e-9)
        alone = [model.log_potentials(np.array([0, len(c)]), np.array(c))[0] for c in in_model_order(trellis, model)]
        np.testing.assert_allclose(log_e, alone, atol=1e-12)


def in_model_order(trellis, model):
    return [sorted(model.labels.index(trellis.labels[leaf]) for leaf in cluster) for cluster in trellis.clusters()]
