"""Partitions of too many leaves to list: against the slow twin of the recursion, and against closed forms."""

from __future__ import annotations

import functools
import itertools
import math
from copy import copy

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_cases import Restaurant, affinities, as_clusters, large_tables, table_model
from partition_oracle import (
    PartitionOracle,
    SlowTwin,
    beta_bernoulli,
    conditioned_table,
    mask_of,
    members,
    normal_gamma,
    pair_sum,
    partitions_of,
)
from scipy.stats import betabinom, t

from palmette import PartitionPosterior, TrellisTooLarge
from palmette import threads as schedule
from palmette.likelihoods import BetaBernoulli
from palmette.models import CorrelationClusters, DirichletProcess, UniformPartitions
from palmette.passes.partitions import segments as set_passes

N = 13  # one more than is solved in one serial call
TABLES = large_tables(N)
CONDITIONS = {
    "require": {"require": [0b1_0000_0000_0011, 0b110_0000]},
    "forbid": {"forbid": [0b1, 0b11, 0b1_1111_1111_1111, 0b1_1000_0000_0000]},
    "together": {"together": [0b1000_0001, 0b1_0000_0001_0000]},
    "apart": {"apart": [0b1_0100_0000_0101, 0b1010]},
    "all": {"require": [0b100_0000], "forbid": [0b11], "together": [0b1100], "apart": [0b1_0000_0001_0001]},
}


@functools.cache
def twin(name, condition=None):
    table = TABLES[name] if condition is None else conditioned_table(N, TABLES[name], **CONDITIONS[condition])
    return SlowTwin(N, table)


def posterior(name, condition=None, **options):
    post = PartitionPosterior(table_model(TABLES[name]), **options)
    given = CONDITIONS[condition] if condition else {}
    return post.condition(**{kind: [members(mask) for mask in masks] for kind, masks in given.items()})


def check(post, slow):
    """What a pass over all sets computes, against the twin; log ψ up to 1e5 leave 1e-11 of a log-probability."""
    scale = np.abs(slow.log_psi[np.isfinite(slow.log_psi)]).max()
    tolerance = 1e-11 + 1e-14 * scale
    assert post.log_partition == pytest.approx(slow.log_z, rel=1e-13, abs=1e-10)
    assert post.count == slow.count
    clusters = as_clusters(post.map())
    assert sum(slow.log_psi[mask] for mask in clusters) == pytest.approx(slow.log_m, rel=1e-13)
    assert post.log_potential(post.map()) == pytest.approx(slow.log_m, rel=1e-13)
    found = post.cluster_probability_array()
    np.testing.assert_allclose(found, slow.cluster_probabilities(), atol=tolerance)
    together = slow.together_probabilities()
    np.testing.assert_allclose(post.together_probability_array(), together, atol=10 * tolerance)
    pairs = 1 << np.arange(slow.n)
    np.testing.assert_allclose(post.coclustering(), together[pairs[:, None] | pairs], atol=10 * tolerance)
    np.testing.assert_allclose(post.n_clusters_probabilities(), slow.n_clusters_probabilities(), atol=10 * tolerance)
    assert found.min() >= 0.0
    assert found.max() <= 1.0


# The oracle and the twin.


def test_the_oracle_lists_every_partition_once():
    assert [len(set(partitions_of(n))) for n in range(10)] == [1, 1, 2, 5, 15, 52, 203, 877, 4140, 21147]
    assert all(sum(clusters) == 31 for clusters in partitions_of(5))


@pytest.mark.parametrize("n", [1, 2, 6])
def test_the_twin_matches_enumeration(n):
    rng = np.random.default_rng(n)
    table = np.where(rng.random(1 << n) < 0.2, -np.inf, -2.0 * rng.random(1 << n))
    table[[0, 1, -1]] = -np.inf, 0.5, 0.5
    oracle = PartitionOracle(n, lambda cluster: table[mask_of(cluster)])
    for k in (None, *range(1, n + 1)):
        slow, left = SlowTwin(n, table, k), oracle.conditioned(n_clusters=k)
        assert slow.count == left.count
        assert slow.log_z == pytest.approx(left.log_z, rel=1e-13)
        assert slow.log_m == pytest.approx(left.log_potentials.max(initial=-np.inf), rel=1e-13)
        if left.count:
            assert slow.entropy == pytest.approx(left.entropy, abs=1e-12)
            np.testing.assert_allclose(slow.cluster_probabilities(), left.cluster_probabilities(), atol=1e-13)
            np.testing.assert_allclose(slow.together_probabilities(), left.together_probabilities(), atol=1e-13)


def test_conditions_on_the_table_are_conditions_on_the_partitions():
    given = {"require": [0b1], "forbid": [0b10], "together": [0b10100], "apart": [0b1010]}
    slow = SlowTwin(5, conditioned_table(5, np.zeros(32), **given))
    assert slow.count == PartitionOracle(5, lambda cluster: 0.0).conditioned(**given).count


def test_marginal_likelihoods_are_products_of_predictive_ones():
    x, prior = np.array([0.3, -2.0, 1.1, 5.0]), {"mean": 0.5, "pseudo_count": 2.0, "shape": 1.5, "rate": 0.7}
    mean, count, shape, rate = prior.values()
    total = 0.0
    for value in x:
        total += t.logpdf(value, 2 * shape, loc=mean, scale=np.sqrt(rate * (count + 1) / (shape * count)))
        rate += count * (value - mean) ** 2 / (2 * (count + 1))
        mean, count, shape = (count * mean + value) / (count + 1), count + 1, shape + 0.5
    assert normal_gamma(x, **prior) == pytest.approx(total, rel=1e-12)
    ones = np.array([1.0, 0.0, 1.0, 1.0])
    assert beta_bernoulli(ones, 2.0, 0.5) == pytest.approx(betabinom.logpmf(3, 4, 2.0, 0.5) - np.log(4), rel=1e-12)


# Solved in segments.


@pytest.mark.parametrize("name", TABLES)
def test_thirteen_leaves_match_the_twin(name):
    post, slow = posterior(name), twin(name)
    check(post, slow)
    scale = np.abs(TABLES[name][np.isfinite(TABLES[name])]).max()
    assert post.entropy == pytest.approx(slow.entropy, abs=1e-9 + 1e-12 * scale)


@pytest.mark.parametrize(
    ("name", "condition"),
    [
        pytest.param(name, condition, marks=[] if name == "moderate" or condition == "all" else pytest.mark.slow)
        for name, condition in itertools.product(["moderate", "extreme"], CONDITIONS)
    ],
)
def test_conditions_on_thirteen_leaves_match_the_twin(name, condition):
    check(posterior(name, condition), twin(name, condition))


@pytest.mark.parametrize("k", [1, 2, 5, 12, 13])
@pytest.mark.parametrize("name", ["moderate", "random and extreme", "forbidden clusters"])
def test_thirteen_leaves_in_a_given_number_of_clusters_match_the_twin(name, k):
    slow = copy(twin(name)).choose(k)
    post = posterior(name).condition(n_clusters=k)
    if slow.count == 0:
        assert post.log_partition == -np.inf
        assert post.count == 0
    else:
        check(post, slow)


@given(data=st.data())
def test_ten_leaves_in_segments_match_the_twin(data):
    """The path of many leaves, on enough problems to meet its corners."""
    rng = np.random.default_rng(data.draw(st.integers(0, 2**16)))
    scale = data.draw(st.sampled_from([0.0, 1.0, 50.0, 400.0, 1e5]))
    tilt = data.draw(st.sampled_from([0.0, 0.0, 300.0, -300.0]))
    table = scale * rng.normal(size=1 << 10) + tilt * np.bitwise_count(np.arange(1 << 10))
    table[rng.random(1 << 10) < data.draw(st.sampled_from([0.0, 0.3, 0.8]))] = -np.inf
    table[0] = -np.inf
    slow = SlowTwin(10, table)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(set_passes, "SERIAL", 9)
        post = PartitionPosterior(table_model(table))
        if slow.count:
            check(post, slow)
        k = data.draw(st.integers(1, 10))
        slow.choose(k)
        if slow.count:
            check(post.condition(n_clusters=k), slow)


@pytest.mark.parametrize("name", TABLES)
def test_no_bit_of_an_answer_depends_on_the_number_of_threads(name, monkeypatch):
    monkeypatch.setattr(schedule, "_SHORTEST", 1e3)  # many short slices, so that threads do share the work
    one, two = (posterior(name, "forbid", threads=threads) for threads in (1, 2))
    for verb in ("cluster_probability_array", "together_probability_array", "coclustering", "n_clusters_probabilities"):
        np.testing.assert_array_equal(getattr(one, verb)(), getattr(two, verb)(), err_msg=verb)
    assert one.log_partition == two.log_partition
    assert one.entropy == two.entropy
    assert one.map() == two.map()
    assert one.count == two.count
    assert one.consensus() == two.consensus()
    one, two = one.condition(n_clusters=5), two.condition(n_clusters=5)
    assert one.log_partition == two.log_partition
    if one.count:
        assert one.map() == two.map()
        np.testing.assert_array_equal(one.cluster_probability_array(), two.cluster_probability_array())


def test_the_consensus_of_thirteen_leaves_has_the_largest_expected_gain():
    post = posterior("moderate")
    gains = post.coclustering() - 0.3
    table = np.array([-np.inf, *(pair_sum(gains, members(mask)) for mask in range(1, 1 << N))])
    found = sum(table[mask] for mask in as_clusters(post.consensus(0.3)))
    assert found == pytest.approx(SlowTwin(N, table).log_m, rel=1e-12)


def test_the_best_partitions_of_thirteen_leaves_are_in_order_and_begin_with_the_map():
    post = posterior("moderate")
    best = post.best(200)
    values = [log_prob for _, log_prob in best]
    assert values == sorted(values, reverse=True)
    assert values[0] == pytest.approx(twin("moderate").log_m - twin("moderate").log_z, rel=1e-12)
    assert best[0][0] == post.map()
    assert len({partition for partition, _ in best}) == 200
    assert values == pytest.approx([post.log_prob(partition) for partition, _ in best], rel=1e-12)
    rank = post.rank(best[150][0])
    assert rank.kind == "exact"
    assert rank.value == 151


def test_draws_of_thirteen_leaves_have_exact_log_probabilities():
    for post in (posterior("moderate"), posterior("forbidden clusters"), posterior("moderate").condition(n_clusters=4)):
        draws = post.sample(200, rng=0)
        np.testing.assert_allclose(draws.log_probs, [post.log_prob(p) for p in draws], rtol=1e-12, atol=1e-12)


def test_a_trellis_that_is_too_large_is_refused_before_anything_is_allocated():
    with pytest.raises(TrellisTooLarge):
        PartitionPosterior(UniformPartitions(60))
    needed = PartitionPosterior(UniformPartitions(10)).memory_needed
    assert PartitionPosterior(UniformPartitions(10), max_memory=needed).log_partition == pytest.approx(np.log(115_975))
    with pytest.raises(TrellisTooLarge):
        PartitionPosterior(UniformPartitions(10), max_memory=needed - 1)


# Closed forms.


def stirling_numbers(n):
    """S(n, k) for k = 0, …, n: the partitions of n leaves into k clusters."""
    row = [1]
    for _ in range(n):
        row = [0, *(row[k - 1] + k * (row[k] if k < len(row) else 0) for k in range(1, len(row) + 1))]
    return row


def bell_number(n):
    return sum(stirling_numbers(n))


@pytest.mark.parametrize("n", range(1, 26))
def test_counts_are_bell_numbers(n):
    assert PartitionPosterior(UniformPartitions(n)).count == bell_number(n)
    if n <= 14:
        assert PartitionPosterior(table_model(np.zeros(1 << n))).count == bell_number(n)


def test_the_bell_number_of_25_is_the_one_in_the_books():
    assert PartitionPosterior(UniformPartitions(25)).count == 4_638_590_332_229_999_353
    assert PartitionPosterior(CorrelationClusters(affinities(25))).count == 4_638_590_332_229_999_353


@pytest.mark.parametrize("n", [1, 2, 3, 7, 12, 13, 14])
def test_uniform_partitions_follow_stirling_and_bell(n):
    post = PartitionPosterior(UniformPartitions(n))
    total = bell_number(n)
    assert post.log_partition == pytest.approx(math.log(total), rel=1e-13, abs=1e-14)
    assert post.entropy == pytest.approx(math.log(total), rel=1e-12, abs=1e-14)
    expected = [count / total for count in stirling_numbers(n)]
    np.testing.assert_allclose(post.n_clusters_probabilities(), expected, rtol=1e-11)
    for size in range(1, n + 1):
        others = bell_number(n - size) / total
        assert post.cluster_probability(range(size)) == pytest.approx(others, rel=1e-11)
        contracted = bell_number(n - size + 1) / total
        assert post.together_probability(range(n - size, n)) == pytest.approx(contracted, rel=1e-11)
    if n > 1:
        pairs = post.coclustering()[~np.eye(n, dtype=bool)]
        np.testing.assert_allclose(pairs, bell_number(n - 1) / total, rtol=1e-11)
    for k in range(1, n + 1):
        assert post.condition(n_clusters=k).count == stirling_numbers(n)[k]


@pytest.mark.parametrize("concentration", [0.1, 1.0, 7.0])
@pytest.mark.parametrize("n", [2, 6, 13])
def test_a_dirichlet_process_without_data_is_a_chinese_restaurant(n, concentration):
    post = PartitionPosterior(Restaurant(n, concentration))
    normaliser = math.lgamma(concentration + n) - math.lgamma(concentration)
    assert post.log_partition == pytest.approx(normaliser, rel=1e-12)
    numbers = post.n_clusters_probabilities()
    expected = sum(concentration / (concentration + i) for i in range(n))
    assert numbers @ np.arange(n + 1) == pytest.approx(expected, rel=1e-11)
    pairs = post.coclustering()[~np.eye(n, dtype=bool)]
    np.testing.assert_allclose(pairs, 1 / (1 + concentration), rtol=1e-11)
    alone = concentration / (concentration + n - 1)
    assert post.cluster_probability([n - 1]) == pytest.approx(alone, rel=1e-11)
    assert post.count == bell_number(n)


@pytest.mark.parametrize("shift", [1e3, 1e6])
@pytest.mark.parametrize("n", [6, 13])
def test_a_constant_for_every_leaf_changes_log_z_and_nothing_else(n, shift):
    table = np.random.default_rng(0).normal(size=1 << n)
    shifted = table + shift * np.bitwise_count(np.arange(1 << n))
    post, same = PartitionPosterior(table_model(table)), PartitionPosterior(table_model(shifted))
    assert same.log_partition == pytest.approx(post.log_partition + n * shift, rel=1e-14)
    assert same.map() == post.map()
    np.testing.assert_allclose(same.cluster_probability_array(), post.cluster_probability_array(), atol=1e-8)
    np.testing.assert_allclose(same.n_clusters_probabilities(), post.n_clusters_probabilities(), atol=1e-8)
    assert same.entropy == pytest.approx(post.entropy, abs=1e-7)
    assert same.kl(post) == pytest.approx(0.0, abs=1e-7)
    assert post.kl(same) == pytest.approx(0.0, abs=1e-7)


def test_two_groups_that_do_not_see_each_other_are_independent():
    w = np.full((13, 13), -1e9)
    w[:6, :6], w[6:, 6:] = affinities(6, seed=1), affinities(7, seed=2)
    whole = PartitionPosterior(CorrelationClusters(w))
    parts = [PartitionPosterior(CorrelationClusters(w[s, s])) for s in (slice(6), slice(6, 13))]
    assert whole.log_partition == pytest.approx(sum(part.log_partition for part in parts), rel=1e-12)
    assert whole.entropy == pytest.approx(sum(part.entropy for part in parts), rel=1e-10)
    np.testing.assert_allclose(whole.coclustering()[:6, :6], parts[0].coclustering(), rtol=1e-10)
    numbers = np.convolve(*(part.n_clusters_probabilities() for part in parts))
    np.testing.assert_allclose(whole.n_clusters_probabilities(), numbers, rtol=1e-9, atol=1e-14)


def test_the_evidence_of_a_dirichlet_process_sums_over_all_partitions_under_its_prior():
    points = np.array([[1, 0], [1, 1], [0, 0], [0, 1], [1, 1.0]])
    post = PartitionPosterior(DirichletProcess(points, 0.7, BetaBernoulli(a=2.0, b=0.5)))
    normaliser = math.lgamma(0.7 + 5) - math.lgamma(0.7)
    assert post.log_evidence == pytest.approx(post.log_partition - normaliser, rel=1e-13)
    everything = itertools.product([0.0, 1.0], repeat=3)
    evidence = [
        PartitionPosterior(DirichletProcess(np.array(x)[:, None], 0.7, BetaBernoulli(a=2.0, b=0.5))).log_evidence
        for x in everything
    ]
    assert np.exp(evidence).sum() == pytest.approx(1.0, rel=1e-12)  # a probability of all data there could be


def test_only_a_dirichlet_process_has_an_evidence():
    with pytest.raises((AttributeError, TypeError), match="Dirichlet process"):
        _ = PartitionPosterior(UniformPartitions(3)).log_evidence
