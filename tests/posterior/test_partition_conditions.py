"""Conditions on partitions: every kind alone, together and one after the other, against enumeration of what is left.

To take only chosen clusters is one more condition: posteriors on a `PartitionTrellis` run the same tests.
"""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_cases import (
    Restaurant,
    affinities,
    as_clusters,
    as_mask,
    as_partition,
    nothing_possible,
    partition_cases,
    possible,
)
from partition_oracle import PartitionOracle, correlation, members, partitions_of, subsets

import palmette as pal
from palmette import ImpossibleData, Partition, PartitionPosterior, PartitionTrellis
from palmette.models import ClusterFunction, CorrelationClusters, UniformPartitions

KINDS = ("require", "forbid", "together", "apart")


@st.composite
def conditions(draw, n, kinds=(*KINDS, "n_clusters"), most=2):
    """Some masks of each kind, and perhaps the number of clusters."""
    masks = st.lists(st.integers(1, (1 << n) - 1), max_size=most)
    found = {kind: draw(masks) for kind in kinds if kind in KINDS}
    if "n_clusters" in kinds:
        found["n_clusters"] = draw(st.none() | st.integers(1, n))
    return found


def asked(found):
    """Conditions on masks as a user writes them."""
    return {kind: found[kind] if kind == "n_clusters" else [members(mask) for mask in found[kind]] for kind in found}


def some_posterior(draw, case):
    """The posterior over all partitions, or over those into chosen clusters, and the same by enumeration."""
    post, oracle = possible(case)
    if draw(st.booleans()):
        return post, oracle
    n = oracle.n
    chosen = draw(st.sets(st.integers(1, oracle.root), max_size=10))
    chosen = chosen.union(*draw(st.lists(st.sampled_from(oracle.partitions), min_size=1, max_size=3)))
    labels = draw(st.permutations(post.labels))  # a trellis has an order of leaves of its own
    trellis = PartitionTrellis.from_clusters([[str(i) for i in members(mask)] for mask in chosen], labels)
    left = PartitionOracle(n, oracle.log_psi, lambda clusters: clusters <= chosen)
    return PartitionPosterior(case.model, trellis=trellis), left


def conditioned(post, oracle, *wanted):
    """What is left of both, or None where the posterior says that nothing is."""
    left = oracle
    for one in wanted:
        left = left.conditioned(**one)
    try:
        for one in wanted:
            post = post.condition(**asked(one))
    except ImpossibleData:
        assert left.log_z == -np.inf
        return None, left
    return post, left


def check(post, oracle, case):
    """Every answer of a posterior against enumeration."""
    tolerance = max(1e-10, 10 * case.tolerance)
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-12, abs=1e-9)
    assert post.count == oracle.count
    if oracle.count == 0:
        return
    masks = range(1, 1 << oracle.n)
    found = [post.cluster_probability(members(mask)) for mask in masks]
    np.testing.assert_allclose(found, oracle.cluster_probabilities()[1:], atol=tolerance)
    together = [post.together_probability(members(mask)) for mask in masks]
    np.testing.assert_allclose(together, oracle.together_probabilities()[1:], atol=tolerance)
    assert max(found + together) <= 1.0
    if post.is_exact:
        np.testing.assert_array_equal(post.cluster_probability_array()[1:], found)
        np.testing.assert_array_equal(post.together_probability_array()[1:], together)
    np.testing.assert_allclose(post.coclustering(), oracle.coclusterings(), atol=tolerance)
    sizes = [oracle.n_clusters_probability(k) for k in range(oracle.n + 1)]
    np.testing.assert_allclose(post.n_clusters_probabilities(), sizes, atol=tolerance)
    assert post.entropy == pytest.approx(oracle.entropy, abs=10 * tolerance)
    assert oracle.log_potential(as_clusters(post.map())) == pytest.approx(oracle.log_potentials.max(), abs=tolerance)
    best = post.best(1000)
    np.testing.assert_allclose([log_prob for _, log_prob in best], oracle.best_log_probs, atol=tolerance)
    assert len({partition for partition, _ in best}) == oracle.count
    assert all(as_clusters(partition) in oracle.partitions for partition, _ in best)
    gain = oracle.binder_gain(as_clusters(post.consensus()))
    assert gain == pytest.approx(oracle.best_binder_gain(), abs=10 * tolerance)
    draws = post.sample(20, rng=1)
    own = [oracle.log_potential(as_clusters(partition)) - oracle.log_z for partition in draws]
    np.testing.assert_allclose(draws.log_probs, own, atol=tolerance)


@pytest.mark.parametrize("kind", [*KINDS, "n_clusters"])
@given(case=partition_cases(max_leaves=5), data=st.data())
def test_one_kind_of_condition_leaves_what_enumeration_leaves(kind, case, data):
    post, oracle = possible(case)
    post, left = conditioned(post, oracle, data.draw(conditions(oracle.n, (kind,))))
    if post is not None:
        check(post, left, case)


@given(case=partition_cases(max_leaves=5), data=st.data())
def test_chosen_clusters_leave_what_enumeration_leaves(case, data):
    check(*some_posterior(data.draw, case), case)


@given(case=partition_cases(max_leaves=5), data=st.data())
def test_conditions_of_all_kinds_together_leave_what_enumeration_leaves(case, data):
    post, oracle = some_posterior(data.draw, case)
    post, left = conditioned(post, oracle, data.draw(conditions(oracle.n, most=1)))
    if post is not None:
        check(post, left, case)


@given(case=partition_cases(max_leaves=5), data=st.data())
def test_conditions_add_up(case, data):
    post, oracle = some_posterior(data.draw, case)
    first, second = data.draw(conditions(oracle.n, most=1)), data.draw(conditions(oracle.n, most=1))
    post, left = conditioned(post, oracle, first, second)
    if post is not None:
        check(post, left, case)


@given(case=partition_cases(max_leaves=4), data=st.data())
def test_splits_joins_ranks_and_log_probabilities_obey_the_conditions(case, data):
    post, oracle = some_posterior(data.draw, case)
    post, left = conditioned(post, oracle, data.draw(conditions(oracle.n, most=1)))
    if post is None or left.count == 0:
        return
    cluster = data.draw(st.integers(1, oracle.root))
    tolerance = max(1e-10, 10 * case.tolerance)
    found = {as_mask(row.left, post.labels): row.probability for row in post.split_probabilities(members(cluster))}
    found |= {cluster ^ mask: p for mask, p in found.items()}
    for part in subsets(cluster)[1:-1].tolist():
        assert found.get(part, 0.0) == pytest.approx(left.split_probability(part, cluster ^ part), abs=tolerance)
    found = {as_mask(row.others, post.labels): row.probability for row in post.join_probabilities(members(cluster))}
    for others in subsets(oracle.root ^ cluster)[1:].tolist():
        assert found.get(others, 0.0) == pytest.approx(left.cluster_probability(cluster | others), abs=tolerance)
    values = dict(zip(left.partitions, left.log_potentials, strict=True))
    for clusters in partitions_of(oracle.n):
        partition, value = as_partition(clusters, post.labels), values.get(clusters, -np.inf)
        assert post.log_potential(partition) == pytest.approx(value, rel=1e-12, abs=1e-10)
        assert post.log_prob(partition) == pytest.approx(min(0.0, value - left.log_z), rel=1e-12, abs=case.tolerance)
    better = left.log_potentials > value + 1e-11 * max(1.0, case.scale)
    assert post.rank(partition) == pal.Estimate(better.sum() + 1, "exact")
    assert post.credible_level(partition).value == pytest.approx(left.p[better].sum(), abs=1e-8)


@given(n=st.integers(1, 4), data=st.data())
def test_divergences_between_conditioned_posteriors_match_enumeration(n, data):
    case, other_case = data.draw(partition_cases(n=n)), data.draw(partition_cases(n=n))
    sides = [
        conditioned(
            *some_posterior(data.draw, one), data.draw(conditions(n, ("forbid", "apart", "n_clusters"), most=1))
        )
        for one in (case, other_case)
    ]
    if any(post is None or oracle.count == 0 for post, oracle in sides):
        return
    (post, oracle), (other, other_oracle) = sides
    tolerance = 1e-9 + 1e-13 * (case.scale + other_case.scale)
    assert post.kl(other) == pytest.approx(oracle.kl(other_oracle), rel=1e-9, abs=tolerance)


@pytest.mark.parametrize(
    "wanted", [{"forbid": [[0, 1]]}, {"require": [[0, 1]]}, {"apart": [[0, 1]]}, {"n_clusters": 2}]
)
def test_the_divergence_from_a_posterior_that_forbids_what_occurs_is_infinite(wanted):
    post = PartitionPosterior(UniformPartitions(5))
    left = post.condition(**wanted)
    assert post.kl(left) == np.inf
    assert left.kl(post) == pytest.approx(post.log_partition - left.log_partition, rel=1e-12)


@pytest.mark.parametrize("wanted", [{"forbid": [[0]]}, {"together": [[0, 1]]}, {"n_clusters": 1}], ids=str)
def test_the_divergence_is_infinite_also_if_what_is_forbidden_is_rare(wanted):
    post = PartitionPosterior(CorrelationClusters([[0.0, 30.0], [30.0, 0.0]]))
    assert 0.0 < post.cluster_probability([0]) < 1e-12
    assert post.kl(post.condition(**wanted)) == np.inf


# Probabilities of conditions.


@pytest.mark.parametrize("model", [CorrelationClusters(affinities(6), 0.7), Restaurant(6, 0.4)], ids=repr)
def test_the_probability_of_a_condition_is_a_difference_of_log_partitions(model):
    post = PartitionPosterior(model)

    def probability(**wanted):
        return np.exp(post.condition(**wanted).log_partition - post.log_partition)

    cluster = [0, 2, 3]
    assert probability(require=[cluster]) == pytest.approx(post.cluster_probability(cluster), rel=1e-10)
    assert probability(forbid=[cluster]) == pytest.approx(1.0 - post.cluster_probability(cluster), rel=1e-10)
    assert probability(together=[cluster]) == pytest.approx(post.together_probability(cluster), rel=1e-10)
    assert probability(apart=[[1, 4]]) == pytest.approx(1.0 - post.coclustering()[1, 4], rel=1e-10)
    sizes = [probability(n_clusters=k) for k in range(1, 7)]
    np.testing.assert_allclose(sizes, post.n_clusters_probabilities()[1:], rtol=1e-10)


def test_a_condition_gives_log_probabilities_that_underflow():
    w = affinities(6)
    w[0, 3] = w[3, 0] = -5.0
    post, oracle = PartitionPosterior(CorrelationClusters(w, 1e3)), PartitionOracle(6, correlation(w, 1e3))
    for wanted in ({"require": [0b1001]}, {"together": [0b1001]}, {"n_clusters": 6}):
        left = post.condition(**asked(wanted))
        expected = oracle.conditioned(**wanted).log_z - oracle.log_z
        assert expected < -800.0
        assert left.log_partition - post.log_partition == pytest.approx(expected, rel=1e-12)
        assert left.entropy < np.inf
        assert left.log_prob(left.map()) <= 0.0


# Labels, no-ops, contradictions.


def test_conditions_are_named_by_labels_or_by_numbers():
    post = PartitionPosterior(CorrelationClusters(affinities(5), labels=list("abcde")))
    by_label = post.condition(require=[["a", "c"]], apart=[("b", "e")], forbid=[{"d"}])
    by_number = post.condition(require=[[2, 0]], apart=[[4, 1]], forbid=[[3]])
    assert by_label.log_partition == by_number.log_partition
    assert by_label.labels == post.labels
    assert by_label.map() == by_number.map()
    assert by_label.is_exact
    assert post.condition(together=[["a", "e"]]).together_probability(["e", "a"]) == 1.0


def test_conditions_that_say_nothing_change_nothing():
    post = PartitionPosterior(CorrelationClusters(affinities(5)))
    same = post.condition(together=[[3]], apart=[[1], [4]])
    for left in (post.condition(), same):
        assert left.log_partition == pytest.approx(post.log_partition, rel=1e-14)
        assert left.count == post.count == 52


def test_a_posterior_is_not_changed_by_its_conditions():
    post = PartitionPosterior(UniformPartitions(4))
    assert post.condition(n_clusters=2).count == 7
    assert post.condition(n_clusters=2).condition(apart=[[0, 1]]).count == 4
    assert post.count == 15
    assert "2 clusters" in repr(post.condition(n_clusters=2))


@pytest.mark.parametrize(
    "wanted",
    [
        {"require": [[0, 1], [1, 2]]},
        {"require": [[0, 1]], "forbid": [[0, 1]]},
        {"require": [[0]], "together": [[0, 1]]},
        {"require": [[0, 1, 2]], "apart": [[0, 2]]},
        {"together": [[0, 1]], "apart": [[0, 1]]},
        {"together": [[0, 1], [1, 2]], "apart": [[0, 2]]},
        {"require": [[0], [1], [2]], "n_clusters": 2},
        {"apart": [[0, 1, 2]], "n_clusters": 2},
        {"together": [[0, 1, 2, 3]], "n_clusters": 2},
        {"forbid": [[0], [0, 1], [0, 2], [0, 3], [0, 1, 2], [0, 1, 3], [0, 2, 3], [0, 1, 2, 3]]},
    ],
    ids=str,
)
def test_conditions_that_no_partition_meets_are_impossible(wanted):
    post = PartitionPosterior(UniformPartitions(4))
    try:
        left = post.condition(**wanted)
    except ImpossibleData:
        return
    assert left.log_partition == -np.inf
    assert left.count == 0
    with pytest.raises(ImpossibleData):
        left.map()


def test_memory_is_refused_beforehand():
    trellis = PartitionTrellis.from_clusters([[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]], list("abcd"))
    model = UniformPartitions(4, labels=list("abcd"))
    with pytest.raises(pal.TrellisTooLarge, match=r"7 clusters and . remainders needs .* 100 bytes are allowed"):
        PartitionPosterior(model, trellis=trellis, max_memory=100)
    post = PartitionPosterior(model, trellis=trellis)
    conditioned = post.condition(n_clusters=2)
    assert 0 < post.memory_needed < conditioned.memory_needed < 1000
    exact = PartitionPosterior(model, trellis=trellis, max_memory=post.memory_needed)
    assert exact.log_partition == pytest.approx(np.log(5))
    with pytest.raises(pal.TrellisTooLarge, match="remainders into 2 clusters needs"):
        exact.condition(n_clusters=2)


def test_a_model_is_asked_about_chosen_clusters_once():
    asked = []
    model = ClusterFunction(4, lambda clusters: asked.append(len(clusters)) or np.zeros(len(clusters)))
    trellis = PartitionTrellis.from_clusters([[0], [1], [2], [3], [0, 1], [2, 3], [0, 1, 2, 3]], model.labels)
    post = PartitionPosterior(model, trellis=trellis)
    assert [row.probability for row in post.split_probabilities(range(4))] == [pytest.approx(0.2)]
    assert sum(asked) == trellis.n_clusters


def test_a_number_of_clusters_that_needs_too_much_memory_is_refused_at_once():
    post = PartitionPosterior(UniformPartitions(10))
    exact = PartitionPosterior(UniformPartitions(10), max_memory=post.memory_needed)
    with pytest.raises(pal.TrellisTooLarge, match="n = 10 leaves"):
        exact.condition(n_clusters=3)


def test_two_numbers_of_clusters_are_impossible():
    post = PartitionPosterior(UniformPartitions(4)).condition(n_clusters=2)
    assert post.condition(n_clusters=2).count == 7
    with pytest.raises(ImpossibleData):
        post.condition(n_clusters=3).map()


@pytest.mark.parametrize("k", [0, 5, -1, 2.5, True, "2"])
def test_a_number_of_clusters_that_cannot_be_is_refused(k):
    with pytest.raises((ValueError, TypeError), match="clusters"):
        PartitionPosterior(UniformPartitions(4)).condition(n_clusters=k)


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_on_leaves_that_are_not_there_are_refused(kind):
    post = PartitionPosterior(UniformPartitions(3))
    with pytest.raises(ValueError, match="leaf 7 does not exist"):
        post.condition(**{kind: [[0, 7]]})
    with pytest.raises(ValueError, match="no leaf is called 'z'"):
        post.condition(**{kind: [["z"]]})
    with pytest.raises(ValueError, match="empty"):
        post.condition(**{kind: [[]]})


# Impossible data.


VERBS = {
    "entropy": lambda post: post.entropy,
    "map": lambda post: post.map(),
    "best": lambda post: post.best(1),
    "sample": lambda post: post.sample(1, rng=0),
    "sample nothing": lambda post: post.sample(0, rng=0),
    "log_prob": lambda post: post.log_prob(Partition([0, 0, 1])),
    "rank": lambda post: post.rank(Partition([0, 0, 1])),
    "credible_level": lambda post: post.credible_level(Partition([0, 0, 1])),
    "cluster_probability": lambda post: post.cluster_probability([0, 1]),
    "cluster_probabilities": lambda post: post.cluster_probabilities(),
    "cluster_probability_array": lambda post: post.cluster_probability_array(),
    "together_probability": lambda post: post.together_probability([0, 1]),
    "together_probability_array": lambda post: post.together_probability_array(),
    "coclustering": lambda post: post.coclustering(),
    "split_probabilities": lambda post: post.split_probabilities([0, 1]),
    "join_probabilities": lambda post: post.join_probabilities([0]),
    "n_clusters_probabilities": lambda post: post.n_clusters_probabilities(),
    "consensus": lambda post: post.consensus(),
    "kl": lambda post: post.kl(PartitionPosterior(UniformPartitions(3))),
    "kl of another": lambda post: PartitionPosterior(UniformPartitions(3)).kl(post),
}


@pytest.mark.parametrize("verb", VERBS)
def test_impossible_data_say_so(verb):
    post = PartitionPosterior(nothing_possible(3))
    assert post.log_partition == -np.inf
    assert post.count == 0
    with pytest.raises(ImpossibleData, match="every partition over these 3 leaves has probability zero"):
        VERBS[verb](post)
