"""A sparse trellis of all clusters is the full one: every verb gives the same answers."""

from __future__ import annotations

import numpy as np
import pytest
from cases import cases
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from oracle import members
from sparse_cases import all_probabilities, complete, subtrees, table

import palmette as pal
from palmette import HierarchyPosterior, ImpossibleData
from palmette.models import SplitFunction, SumOfSquares, Uniform

KINDS = {
    "uniform": "u",
    "Dasgupta": "d",
    "correlation": "c",
    "sum of squares": "s",
    "Ginkgo": "g",
    "function": "f",
    "own": "t",
}


every_kind = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)


def both(case) -> tuple[HierarchyPosterior, HierarchyPosterior]:
    assume(case.oracle.log_z > -np.inf)
    return HierarchyPosterior(case.model), HierarchyPosterior(case.model, trellis=complete(case.model.n_leaves))


def assert_same_numbers(full, sparse, tolerance):
    assert sparse.log_partition == pytest.approx(full.log_partition, rel=1e-12, abs=tolerance)
    assert sparse.count == full.count
    assert sparse.entropy == pytest.approx(full.entropy, abs=100 * tolerance)
    np.testing.assert_allclose(all_probabilities(sparse), full.cluster_probability_array()[1:], atol=10 * tolerance)
    np.testing.assert_allclose(sparse.expected_lca_size(), full.expected_lca_size(), atol=100 * tolerance)
    mine, theirs = (table(post.cluster_probabilities(1e-7)) for post in (sparse, full))
    assert all(
        mine.get(row, 1e-7) == pytest.approx(theirs.get(row, 1e-7), abs=10 * tolerance) for row in {*mine, *theirs}
    )
    assert sparse.kl(full) == pytest.approx(0.0, abs=100 * tolerance)
    assert full.kl(sparse) == pytest.approx(0.0, abs=100 * tolerance)


def assert_same_hierarchies(full, sparse, tolerance, k=30):
    best = full.log_potential(full.map())
    assert full.log_potential(sparse.map()) == pytest.approx(best, rel=1e-12, abs=tolerance)
    mine, theirs = sparse.best(k), full.best(k)
    np.testing.assert_allclose([value for _, value in mine], [value for _, value in theirs], atol=tolerance)
    assert len({h for h, _ in mine}) == len(mine)
    for h, value in mine[:: 1 + k // 4]:
        assert sparse.log_prob(h) == pytest.approx(value, abs=tolerance)
        assert sparse.rank(h) == full.rank(h)
        assert sparse.credible_level(h).value == pytest.approx(full.credible_level(h).value, abs=1e-8)
    if full.count == HierarchyPosterior(Uniform(full.n_leaves)).count:
        assert_same_centroid(full, sparse, 100 * tolerance)


def assert_same_centroid(full, sparse, tolerance):
    mine, theirs = (sum(map(full.cluster_probability, post.centroid().clusters())) for post in (sparse, full))
    assert mine == pytest.approx(theirs, abs=tolerance)


@every_kind
@settings(max_examples=8)
@given(data=st.data())
def test_all_clusters_give_the_numbers_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 6)), kinds=kind))
    assert_same_numbers(*both(case), case.tolerance)


@every_kind
@settings(max_examples=8)
@given(data=st.data())
def test_all_clusters_give_the_hierarchies_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 6)), kinds=kind))
    assert_same_hierarchies(*both(case), 10 * case.tolerance)


@every_kind
@settings(max_examples=6)
@given(data=st.data())
def test_all_clusters_give_the_splits_and_subtrees_of_the_full_trellis(kind, data):
    case = data.draw(cases(n=data.draw(st.integers(1, 5)), kinds=kind))
    full, sparse = both(case)
    for mask in range(1, 1 << full.n_leaves):
        if full.cluster_probability(members(mask)) > 1e-6:
            mine, theirs = (table(post.split_probabilities(members(mask))) for post in (sparse, full))
            for split in {*mine, *theirs}:
                assert mine.get(split, 0.0) == pytest.approx(theirs.get(split, 0.0), abs=1e4 * case.tolerance)
    for subtree in subtrees(full.n_leaves)[::5]:
        expected = full.subtree_probability(subtree)
        assert sparse.subtree_probability(subtree) == pytest.approx(expected, abs=10 * case.tolerance)


@given(case=cases(max_leaves=5), threshold=st.sampled_from([0.3, 0.5, 0.8]))
def test_all_clusters_give_the_consensus_of_the_full_trellis(case, threshold):
    full, sparse = both(case)
    values = np.sort(full.cluster_probability_array())
    assume(np.abs(values - threshold).min() > 1e-6)
    if threshold < 0.5:
        assume(np.diff(values[values > threshold]).min(initial=1.0) > 1e-6)  # ties may fall either way
    one, two = full.consensus(threshold), sparse.consensus(threshold)
    assert one == two
    np.testing.assert_allclose(np.sort(two.support), np.sort(one.support), atol=100 * case.tolerance)


@given(n=st.integers(1, 5), data=st.data())
def test_divergences_on_all_clusters_are_those_of_the_full_trellis(n, data):
    case, other_case = data.draw(cases(n=n)), data.draw(cases(n=n))
    (full, sparse), (other_full, other_sparse) = both(case), both(other_case)
    expected = full.kl(other_full)
    tolerance = 1e-9 + 1e-13 * (case.scale + other_case.scale)
    for one, two in [(sparse, other_sparse), (sparse, other_full), (full, other_sparse)]:
        assert one.kl(two) == pytest.approx(expected, rel=1e-9, abs=tolerance)


@given(case=st.integers(1, 5).flatmap(lambda n: cases(n=n)), data=st.data())
def test_conditions_on_all_clusters_are_those_of_the_full_trellis(case, data):
    full, sparse = both(case)
    clusters = st.sets(st.integers(1, (1 << full.n_leaves) - 1).map(members), max_size=2)
    conditions = data.draw(clusters), data.draw(clusters)
    try:
        full = full.condition(*conditions)
    except ImpossibleData:
        with pytest.raises(ImpossibleData):
            sparse.condition(*conditions)
        return
    sparse = sparse.condition(*conditions)
    assert sparse.log_partition == pytest.approx(full.log_partition, rel=1e-12, abs=case.tolerance)
    if full.log_partition > -np.inf:
        assert_same_numbers(full, sparse, case.tolerance)
        assert_same_hierarchies(full, sparse, 10 * case.tolerance, k=10)


def test_all_clusters_give_the_centroid_of_the_full_trellis_where_splits_are_forbidden():
    table = np.where(np.random.default_rng(0).random((64, 64)) < 0.3, -np.inf, 0.0)
    model = SplitFunction(6, lambda left, right: table[left, right])
    assert_same_centroid(HierarchyPosterior(model), HierarchyPosterior(model, trellis=complete(6)), 1e-9)


def test_eight_leaves_with_all_clusters_answer_like_the_full_trellis():
    model = SumOfSquares(np.random.default_rng(3).normal(size=(8, 2)), 0.7)
    full, sparse = HierarchyPosterior(model), HierarchyPosterior(model, trellis=complete(8))
    assert_same_numbers(full, sparse, 1e-10)
    assert_same_hierarchies(full, sparse, 1e-10, k=200)
    assert sparse.map() == full.map()
    assert sparse.consensus() == full.consensus()
    assert sparse.centroid() == full.centroid()
    poor = full.best(3000)[-1][0]
    assert sparse.rank(poor, limit=100) == pal.Estimate(101, "bound")
    rough = sparse.credible_level(poor, limit=100, n_draws=4000, rng=3)
    assert abs(rough.value - full.credible_level(poor).value) < 4 * rough.standard_error
