"""Every verb of HierarchyPosterior on chosen clusters, against enumeration of what the trellis holds."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import clusters_of, members
from sparse_cases import all_probabilities, as_hierarchy, as_splits, mask_of, problems, subtrees

import palmette as pal
from palmette import HierarchyPosterior, SparseTrellis


@given(problem=problems())
def test_one_number_each_matches_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-12, abs=1e-10)
    assert post.count == oracle.count
    assert post.entropy == pytest.approx(oracle.entropy, abs=10 * problem.tolerance)
    assert not post.is_exact


@given(problem=problems())
def test_clusters_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    expected = [oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    found = all_probabilities(post)
    np.testing.assert_allclose(found, expected, atol=problem.tolerance)
    assert 0.0 <= min(found) <= max(found) <= 1.0
    rows = post.cluster_probabilities(1e-3)
    assert all(row.size == len(row.members) and 1 < row.size < oracle.n for row in rows)
    assert [row.probability for row in rows] == sorted((row.probability for row in rows), reverse=True)
    listed = {mask_of(row.members): row.probability for row in rows}
    likely = {m: p for m, p in enumerate(expected, 1) if p >= 1e-3 and 1 < m.bit_count() < oracle.n}
    assert all(
        listed.get(m, 1e-3) == pytest.approx(likely.get(m, 1e-3), abs=problem.tolerance) for m in {*listed, *likely}
    )


@given(problem=problems())
def test_the_best_hierarchies_match_enumeration(problem):
    post, oracle, inputs = problem.post, problem.oracle, problem.sample
    top = oracle.log_potentials.max()
    assert oracle.log_potential(as_splits(post.map())) == pytest.approx(top, rel=1e-12, abs=1e-10)
    assert top >= max(post.log_potential(h) for h in inputs) - problem.tolerance
    best = post.best(20)
    expected = np.sort(oracle.log_potentials[problem.inside()])[::-1][:20] - oracle.log_z
    np.testing.assert_allclose([value for _, value in best], expected, atol=problem.tolerance)
    assert len({h for h, _ in best}) == len(best)
    for h, value in best:
        assert oracle.log_potential(as_splits(h)) - oracle.log_z == pytest.approx(value, abs=problem.tolerance)
        assert post.log_prob(h) == pytest.approx(value, abs=problem.tolerance)


@given(problem=problems(max_leaves=5))
def test_splits_and_subtrees_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    for mask in range(1, 1 << oracle.n):
        p = oracle.cluster_probability(mask)
        if p > 1e-6 and mask.bit_count() > 1:
            found = {
                (mask_of(row.left), mask_of(row.right)): row.probability
                for row in post.split_probabilities(members(mask))
            }
            assert sum(found.values()) == pytest.approx(1.0)
            for split, value in found.items():
                assert value == pytest.approx(oracle.split_probability(split), abs=problem.tolerance / p)
    for subtree in subtrees(oracle.n)[:: 1 + oracle.n // 3]:
        splits = frozenset((mask_of(map(subtree.labels.__getitem__, s)) for s in pair) for pair in subtree.splits())
        splits = frozenset(tuple(sorted(split, key=lambda m: m & -m)) for split in map(tuple, splits))
        expected = oracle.subtree_probability(splits)
        assert post.subtree_probability(subtree) == pytest.approx(expected, abs=problem.tolerance)


@given(problem=problems(max_leaves=5), data=st.data())
def test_rank_and_credible_level_match_enumeration(problem, data):
    post, oracle = problem.post, problem.oracle
    i = data.draw(st.sampled_from(problem.inside()))
    better = oracle.log_potentials > oracle.log_potentials[i] + 1e-11 * max(1.0, problem.case.scale)
    hierarchy = as_hierarchy(oracle.hierarchies[i], oracle.n)
    assert post.rank(hierarchy) == pal.Estimate(better.sum() + 1, "exact")
    assert post.credible_level(hierarchy).value == pytest.approx(oracle.p[better].sum(), abs=1e-8)


@given(problem=problems(max_leaves=5), threshold=st.sampled_from([0.5, 0.7]))
def test_consensus_and_centroid_match_enumeration(problem, threshold):
    post, oracle = problem.post, problem.oracle
    probabilities = {mask: oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)}
    assume(not any(0 < abs(p - threshold) < 1e-6 for p in probabilities.values()))
    consensus = post.consensus(threshold)
    found = {int(mask) for mask in consensus.cluster_masks()}
    assert found == {mask for mask, p in probabilities.items() if p > threshold + 1e-12}
    supports = [probabilities[int(mask)] for mask in consensus.cluster_masks()][oracle.n :]
    np.testing.assert_allclose(consensus.support[oracle.n :], supports, atol=problem.tolerance)
    if problem.case.oracle.count < len(oracle.hierarchies):  # the model forbids some on its own account
        return
    scores = [oracle.expected_correct(oracle.clusters[i]) for i in problem.inside()]
    centroid = post.centroid()
    assert oracle.log_potential(as_splits(centroid)) > -np.inf
    score = oracle.expected_correct(clusters_of(as_splits(centroid), oracle.n))
    assert score == pytest.approx(max(scores), abs=10 * problem.tolerance)


@given(problem=problems(max_leaves=5))
def test_expected_lca_size_matches_enumeration(problem):
    found = problem.post.expected_lca_size()
    for i, j in itertools.combinations(range(problem.oracle.n), 2):
        assert found[i, j] == found[j, i] == pytest.approx(problem.oracle.lca_size(i, j), abs=10 * problem.tolerance)
    np.testing.assert_array_equal(np.diag(found), 1.0)


@given(n=st.integers(2, 5), data=st.data())
def test_divergences_match_enumeration(n, data):
    one, two = (data.draw(problems(max_leaves=n).filter(lambda p: p.oracle.n == n)) for _ in range(2))
    tolerance = 1e-8 + 1e-13 * (one.case.scale + two.case.scale)
    full = HierarchyPosterior(two.case.model)
    for post, other, p, q in [
        (one.post, two.post, one.oracle, two.oracle),
        (one.post, full, one.oracle, two.case.oracle),
        (full, one.post, two.case.oracle, one.oracle),
        (one.post, one.post, one.oracle, one.oracle),
    ]:
        underflow = (p.p == 0.0) & (p.log_potentials > -np.inf)  # below the range of float64 the two disagree
        if p.log_z > -np.inf and q.log_z > -np.inf and not underflow.any():
            assert post.kl(other) == pytest.approx(p.kl(q), rel=1e-9, abs=tolerance)


@given(problem=problems())
def test_what_a_trellis_holds_is_a_part_of_everything(problem):
    post = problem.post
    full = HierarchyPosterior(problem.case.model)
    closed = HierarchyPosterior(post.model, trellis=SparseTrellis.from_hierarchies(problem.sample, closed=True))
    assert post.log_partition <= closed.log_partition + problem.tolerance
    assert closed.log_partition <= full.log_partition + problem.tolerance
    assert post.count <= closed.count <= full.count
    for h in problem.sample:
        assert post.log_prob(h) >= full.log_prob(h) - problem.tolerance


@given(problem=problems(max_leaves=5))
def test_the_probabilities_of_all_hierarchies_match_enumeration(problem):
    post, oracle = problem.post, problem.oracle
    found = [post.log_prob(as_hierarchy(h, oracle.n)) for h in oracle.hierarchies]
    np.testing.assert_allclose(found, oracle.log_potentials - oracle.log_z, atol=problem.tolerance)


@given(problem=problems(kinds="ds", max_leaves=6), seed=st.integers(0, 99), closed=st.booleans())
def test_model_and_trellis_may_number_the_leaves_differently(problem, seed, closed):
    n = problem.oracle.n
    rng = np.random.default_rng(seed)
    mixed = [h.aligned_to([str(i) for i in rng.permutation(n)]) for h in problem.sample]
    model = problem.case.model
    same, other = (
        HierarchyPosterior(model, trellis=SparseTrellis.from_hierarchies(sample, closed=closed))
        for sample in (problem.sample, mixed)
    )
    assert other.labels == model.labels
    assert other.log_partition == same.log_partition
    assert all_probabilities(other) == all_probabilities(same)
    assert other.map() == same.map()
    assert [h for h, _ in other.best(5)] == [h for h, _ in same.best(5)]
    np.testing.assert_array_equal(other.sample(20, rng=1).splits, same.sample(20, rng=1).splits)
    for h in mixed:
        assert other.log_prob(h) == same.log_prob(h)


@given(problem=problems())
def test_duplicates_of_hierarchies_change_nothing(problem):
    again = SparseTrellis.from_hierarchies(problem.sample * 3, closed=problem.post.trellis.is_closed)
    twice = HierarchyPosterior(problem.post.model, trellis=again)
    assert twice.log_partition == problem.post.log_partition
    assert twice.entropy == problem.post.entropy
