"""Every verb of PartitionPosterior against enumeration."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from partition_cases import affinities, as_clusters, as_mask, as_partition, partition_cases, possible
from partition_oracle import PartitionOracle, correlation, members, subsets

import palmette as pal
from palmette import HierarchyPosterior, Partition, PartitionPosterior
from palmette.models import ClusterFunction, CorrelationClusters, Uniform, UniformPartitions


def roundoff(case, factor=10):
    return max(1e-10, factor * case.tolerance)


# Numbers.


@given(case=partition_cases(max_leaves=7))
def test_log_partition_and_count_match_enumeration(case):
    post = PartitionPosterior(case.model)
    assert post.log_partition == pytest.approx(case.oracle.log_z, rel=1e-12, abs=1e-10)
    assert post.count == case.oracle.count
    assert isinstance(post.count, int)


@given(case=partition_cases())
def test_entropy_matches_enumeration(case):
    post, oracle = possible(case)
    assert post.entropy == pytest.approx(oracle.entropy, abs=roundoff(case, 100))
    assert post.entropy >= 0.0


@given(n=st.integers(1, 5), data=st.data())
def test_kl_matches_enumeration(n, data):
    case, other_case = data.draw(partition_cases(n=n)), data.draw(partition_cases(n=n))
    post, oracle = possible(case)
    other, other_oracle = possible(other_case)
    tolerance = 1e-9 + 1e-13 * (case.scale + other_case.scale)
    assert post.kl(other) == pytest.approx(oracle.kl(other_oracle), rel=1e-9, abs=tolerance)
    assert post.kl(other) >= 0.0
    assert post.kl(post) == pytest.approx(0.0, abs=tolerance)


# Partitions.


@given(case=partition_cases(max_leaves=7))
def test_map_reaches_the_largest_log_potential(case):
    post, oracle = possible(case)
    best = post.map()
    assert best.labels == post.labels
    assert oracle.log_potential(as_clusters(best)) == pytest.approx(oracle.log_potentials.max(), rel=1e-12, abs=1e-10)
    assert post.log_potential(best) == pytest.approx(oracle.log_potentials.max(), rel=1e-12, abs=1e-10)
    assert PartitionPosterior(case.model).map() == best


@given(case=partition_cases(max_leaves=5), k=st.integers(1, 60))
def test_k_best_matches_the_sorted_enumeration(case, k):
    post, oracle = possible(case)
    best = post.best(k)
    expected = oracle.best_log_probs[:k]
    np.testing.assert_allclose([log_prob for _, log_prob in best], expected, atol=10 * case.tolerance)
    assert len({partition for partition, _ in best}) == len(best)
    assert all(log_prob <= 0.0 for _, log_prob in best)
    for partition, log_prob in best:
        own = oracle.log_potential(as_clusters(partition)) - oracle.log_z
        assert own == pytest.approx(log_prob, abs=10 * case.tolerance)


@given(case=partition_cases())
def test_the_list_of_all_partitions_is_complete_and_sums_to_one(case):
    post, oracle = possible(case)
    best = post.best(10_000)
    assert len(best) == oracle.count
    assert {as_clusters(partition) for partition, _ in best} == {
        clusters for clusters, value in zip(oracle.partitions, oracle.log_potentials, strict=True) if value > -np.inf
    }
    assert sum(np.exp(log_prob) for _, log_prob in best) == pytest.approx(1.0, abs=roundoff(case))
    assert best[0][1] == pytest.approx(post.log_prob(post.map()), abs=10 * case.tolerance)


def test_the_best_of_many_is_the_map_when_nothing_ties():
    post = PartitionPosterior(CorrelationClusters(affinities(9), 0.7))
    assert post.best(1)[0][0] == post.best(50)[0][0] == post.map()


@given(case=partition_cases())
def test_the_log_probability_of_every_partition_matches_enumeration(case):
    post, oracle = possible(case)
    for clusters, value in zip(oracle.partitions, oracle.log_potentials, strict=True):
        partition = as_partition(clusters, post.labels)
        assert post.log_potential(partition) == pytest.approx(value, rel=1e-12, abs=1e-10)
        assert post.log_prob(partition) == pytest.approx(min(0.0, value - oracle.log_z), rel=1e-12, abs=case.tolerance)
        assert post.log_prob(partition) <= 0.0


@given(case=partition_cases(max_leaves=5), data=st.data())
def test_rank_and_credible_level_match_enumeration(case, data):
    post, oracle = possible(case)
    i = data.draw(st.integers(0, len(oracle.partitions) - 1))
    better = oracle.log_potentials > oracle.log_potentials[i] + 1e-11 * max(1.0, case.scale)
    partition = as_partition(oracle.partitions[i], post.labels)
    assert post.rank(partition) == pal.Estimate(better.sum() + 1, "exact")
    level = post.credible_level(partition)
    assert level.kind == "exact"
    assert level.value == pytest.approx(oracle.p[better].sum(), abs=1e-8)


def test_rank_and_credible_level_beyond_the_limit_are_bound_and_estimate():
    post = PartitionPosterior(CorrelationClusters(affinities(8), 0.3))
    poor, _ = post.best(3000)[-1]
    assert post.rank(poor).value == pytest.approx(3000, abs=1)
    assert post.rank(poor, limit=100) == pal.Estimate(101, "bound")
    exact, rough = post.credible_level(poor), post.credible_level(poor, limit=100, n_draws=4000, rng=3)
    assert exact.kind == "exact"
    assert rough.kind == "estimate"
    assert abs(rough.value - exact.value) < 4 * rough.standard_error


@given(case=partition_cases(max_leaves=5), threshold=st.sampled_from([0.5, 0.5, 0.0, 0.2, 0.7, 0.95]))
def test_no_partition_has_a_larger_expected_gain_than_the_consensus(case, threshold):
    post, oracle = possible(case)
    found = oracle.binder_gain(as_clusters(post.consensus(threshold)), threshold)
    assert found == pytest.approx(oracle.best_binder_gain(threshold), abs=roundoff(case, 100))


# Clusters and groups.


@given(case=partition_cases())
def test_all_cluster_probabilities_match_enumeration(case):
    post, oracle = possible(case)
    found = post.cluster_probability_array()
    np.testing.assert_allclose(found, oracle.cluster_probabilities(), atol=roundoff(case))
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    assert [post.cluster_probability(members(mask)) for mask in range(1, 1 << oracle.n)] == found[1:].tolist()


@given(case=partition_cases(), least=st.sampled_from([0.0, 0.01, 0.21, 0.6]))
def test_the_table_of_clusters_is_sorted_and_complete(case, least):
    post, oracle = possible(case)
    expected = oracle.cluster_probabilities()
    assume(least == 0.0 or not any(abs(p - least) < 1e-7 for p in expected))
    table = post.cluster_probabilities(least) if least != 0.01 else post.cluster_probabilities()
    assert table.columns == ("members", "size", "probability")
    assert [row.probability for row in table] == sorted((row.probability for row in table), reverse=True)
    assert all(row.size == len(row.members) for row in table)
    found = {as_mask(row.members, post.labels): row.probability for row in table}
    assert len(found) == len(table)
    wanted = {mask: p for mask, p in enumerate(expected) if p >= least and p > 0}
    assert {mask: p for mask, p in found.items() if p > 0} == pytest.approx(wanted, abs=roundoff(case))


@given(case=partition_cases())
def test_the_probability_that_a_group_stays_together_matches_enumeration(case):
    post, oracle = possible(case)
    found = post.together_probability_array()
    np.testing.assert_allclose(found, oracle.together_probabilities(), atol=roundoff(case))
    assert found[0] == 1.0
    assert found.min() >= 0.0
    assert found.max() <= 1.0
    alone = [post.together_probability(members(mask)) for mask in range(1, 1 << oracle.n)]
    np.testing.assert_allclose(alone, found[1:], rtol=1e-12, atol=1e-14)
    assert max(alone) <= 1.0


@given(case=partition_cases())
def test_coclustering_matches_enumeration(case):
    post, oracle = possible(case)
    found = post.coclustering()
    np.testing.assert_allclose(found, oracle.coclusterings(), atol=roundoff(case))
    np.testing.assert_array_equal(np.diag(found), 1.0)
    np.testing.assert_array_equal(found, found.T)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


@given(case=partition_cases(), data=st.data())
def test_split_probabilities_match_enumeration(case, data):
    post, oracle = possible(case)
    cluster = data.draw(st.integers(1, oracle.root))
    table = post.split_probabilities(members(cluster))
    assert table.columns == ("left", "right", "probability")
    assert [row.probability for row in table] == sorted((row.probability for row in table), reverse=True)
    sides = [(as_mask(row.left, post.labels), as_mask(row.right, post.labels)) for row in table]
    assert all(left | right == cluster and not left & right for left, right in sides)
    found = {frozenset(pair): row.probability for pair, row in zip(sides, table, strict=True)}
    assert len(found) == len(table)
    for left in subsets(cluster)[1:-1].tolist():
        expected = oracle.split_probability(left, cluster ^ left)
        assert found.get(frozenset({left, cluster ^ left}), 0.0) == pytest.approx(expected, abs=roundoff(case))


@given(case=partition_cases(), data=st.data())
def test_join_probabilities_match_enumeration(case, data):
    post, oracle = possible(case)
    cluster = data.draw(st.integers(1, oracle.root))
    table = post.join_probabilities(members(cluster))
    assert table.columns == ("others", "size", "probability")
    assert [row.probability for row in table] == sorted((row.probability for row in table), reverse=True)
    assert all(row.size == len(row.others) > 0 for row in table)
    found = {as_mask(row.others, post.labels): row.probability for row in table}
    assert len(found) == len(table)
    assert not any(others & cluster for others in found)
    for others in subsets(oracle.root ^ cluster)[1:].tolist():
        expected = oracle.cluster_probability(cluster | others)
        assert found.get(others, 0.0) == pytest.approx(expected, abs=roundoff(case))


@given(case=partition_cases())
def test_the_distribution_of_the_number_of_clusters_matches_enumeration(case):
    post, oracle = possible(case)
    found = post.n_clusters_probabilities()
    expected = [oracle.n_clusters_probability(k) for k in range(oracle.n + 1)]
    np.testing.assert_allclose(found, expected, atol=roundoff(case))
    assert found[0] == 0.0
    assert found.min() >= 0.0
    assert found.max() <= 1.0


@pytest.mark.parametrize("beta", [0.8, 1e6])
def test_nine_leaves_match_enumeration(beta):
    w = affinities(9, seed=7)
    post, oracle = PartitionPosterior(CorrelationClusters(w, beta)), PartitionOracle(9, correlation(w, beta))
    assert post.count == oracle.count == 21_147
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-13)
    assert post.entropy == pytest.approx(oracle.entropy, abs=1e-9)
    assert post.log_potential(post.map()) == pytest.approx(oracle.log_potentials.max(), rel=1e-13)
    np.testing.assert_allclose(post.coclustering(), oracle.coclusterings(), atol=1e-9)
    np.testing.assert_allclose(
        [log_prob for _, log_prob in post.best(500)], oracle.best_log_probs[:500], rtol=1e-11, atol=1e-8
    )


# Labels, sizes, kinds.


@pytest.mark.parametrize("n", [1, 2])
def test_the_smallest_problems_answer_everything(n):
    post = PartitionPosterior(UniformPartitions(n))
    assert post.n_leaves == n
    assert post.is_exact
    assert post.memory_needed > 0
    assert post.log_partition == pytest.approx(np.log(n), abs=1e-15)
    assert post.count == n
    assert post.entropy == pytest.approx(np.log(n), abs=1e-15)
    assert post.map().n_leaves == n
    assert len(post.best(10)) == n
    assert post.sample(4, rng=0)[3].n_leaves == n
    assert post.consensus().n_leaves == n
    np.testing.assert_allclose(post.coclustering(), np.full((n, n), 0.5) + np.eye(n) / 2)
    np.testing.assert_allclose(post.n_clusters_probabilities(), [[0, 1], [0, 0.5, 0.5]][n - 1])
    assert post.kl(post) == 0.0
    assert post.log_prob(post.map()) == pytest.approx(-np.log(n), abs=1e-15)
    assert post.rank(post.map()) == pal.Estimate(1, "exact")
    assert post.credible_level(post.map()).value == 0.0
    assert post.cluster_probability([0]) == pytest.approx(1 / n)
    assert post.together_probability([0]) == 1.0
    assert len(post.cluster_probabilities()) == [1, 3][n - 1]
    assert len(post.split_probabilities(range(n))) == len(post.join_probabilities([0])) == n - 1
    assert len(post.join_probabilities(range(n))) == len(post.split_probabilities([0])) == 0
    assert post.condition(n_clusters=n).count == post.condition(require=[[0]]).count == 1


@pytest.fixture
def animals():
    w = np.array([[0, 2, -1, 0.5], [2, 0, -1, 0.1], [-1, -1, 0, 0.7], [0.5, 0.1, 0.7, 0.0]])
    return PartitionPosterior(CorrelationClusters(w, labels=["ant", "bee", "cat", "dog"]))


def test_clusters_are_named_by_labels_or_by_numbers(animals):
    assert animals.cluster_probability(["bee", "ant"]) == animals.cluster_probability([0, 1])
    assert animals.together_probability({"ant", 1}) == animals.together_probability(np.array([1, 0]))
    assert list(animals.split_probabilities(["ant", "bee"])) == list(animals.split_probabilities([0, 1]))
    assert list(animals.join_probabilities(["cat"])) == list(animals.join_probabilities([2]))
    assert animals.split_probabilities(["bee", "ant"])[0][:2] == (("ant",), ("bee",))


def test_a_partition_is_aligned_by_label_and_strangers_are_refused(animals):
    same = Partition([0, 0, 1, 1], labels=["dog", "cat", "bee", "ant"])
    assert animals.log_potential(same) == pytest.approx(2.7)
    assert animals.log_prob(same) == animals.log_prob(Partition([0, 0, 1, 1], labels=animals.labels))
    assert animals.rank(same) == animals.rank(same.aligned_to(animals.labels))
    for verb in (animals.log_potential, animals.log_prob, animals.rank, animals.credible_level):
        with pytest.raises(ValueError, match="labels do not match"):
            verb(Partition([0, 0, 1, 1], labels=["ant", "bee", "cat", "eel"]))
        with pytest.raises(ValueError, match="labels do not match"):
            verb(Partition([0, 0, 1]))


def test_the_divergence_of_two_posteriors_is_taken_by_label(animals):
    other = CorrelationClusters(affinities(4, seed=3), labels=["dog", "ant", "cat", "bee"])
    order = [1, 3, 2, 0]
    same = CorrelationClusters(other.affinity[np.ix_(order, order)], labels=animals.labels)
    expected = animals.kl(PartitionPosterior(same))
    assert animals.kl(PartitionPosterior(other)) == pytest.approx(expected, rel=1e-12)


def test_each_posterior_points_to_the_other_for_the_other_kind_of_model():
    with pytest.raises(TypeError, match="HierarchyPosterior"):
        PartitionPosterior(Uniform(3))
    with pytest.raises(TypeError, match="PartitionPosterior"):
        HierarchyPosterior(UniformPartitions(3))
    with pytest.raises(TypeError, match="expected a model"):
        PartitionPosterior(np.eye(3))


@pytest.mark.parametrize(
    ("verb", "message"),
    [
        (lambda post: post.best(0), "k is 0"),
        (lambda post: post.sample(-1), "size is -1"),
        (lambda post: post.consensus(1.5), "threshold is 1.5"),
        (lambda post: post.consensus(np.nan), "threshold is nan"),
        (lambda post: post.cluster_probability([9]), "leaf 9 does not exist"),
        (lambda post: post.cluster_probability(["z"]), "no leaf is called 'z'"),
        (lambda post: post.cluster_probability([]), "empty"),
        (lambda post: post.together_probability([3]), "leaf 3 does not exist"),
        (lambda post: post.split_probabilities([-1]), "leaf -1 does not exist"),
        (lambda post: post.join_probabilities([]), "empty"),
        (lambda post: post.rank(post.map(), limit=0), "limit is 0"),
        (lambda post: post.credible_level(post.map(), limit=0), "limit is 0"),
        (lambda post: PartitionPosterior(post.model, threads=0), "threads is 0"),
        (lambda post: post.kl(PartitionPosterior(UniformPartitions(4))), "labels do not match"),
    ],
)
def test_bad_questions_are_answered_kindly(verb, message):
    with pytest.raises(ValueError, match=message):
        verb(PartitionPosterior(UniformPartitions(3)))


def test_what_is_no_cluster_and_no_posterior_is_refused():
    post = PartitionPosterior(UniformPartitions(3))
    with pytest.raises(TypeError, match="must be a collection"):
        post.cluster_probability("ab")
    with pytest.raises(TypeError, match="PartitionPosterior"):
        post.kl(HierarchyPosterior(Uniform(3)))


def test_a_cluster_function_that_returns_nan_is_refused():
    with pytest.raises(ValueError, match="finite or -inf"):
        _ = PartitionPosterior(ClusterFunction(3, lambda masks: np.full(len(masks), np.nan))).log_partition


# Tables that are kept.


def test_a_pickle_drops_the_tables_and_gives_the_same_answers(animals):
    given = animals.condition(together=[["ant", "bee"]], forbid=[["cat"]])
    for post in (animals, given):
        before = len(pickle.dumps(post))
        expected = post.log_partition, post.entropy, post.map(), post.count
        assert len(pickle.dumps(post)) == before
        again = pickle.loads(pickle.dumps(post))
        assert (again.log_partition, again.entropy, again.map(), again.count) == expected
        assert again.labels == post.labels
        assert repr(again) == repr(post)


def test_cleared_tables_come_back_the_same(animals):
    before = animals.log_partition, animals.coclustering().tolist(), animals.map(), animals.entropy
    animals.clear()
    assert (animals.log_partition, animals.coclustering().tolist(), animals.map(), animals.entropy) == before


def test_tables_cannot_be_changed_by_accident():
    post = PartitionPosterior(UniformPartitions(4))
    for table in (post.cluster_probability_array(), post.together_probability_array()):
        with pytest.raises(ValueError, match="read-only"):
            table[3] = 0.5
