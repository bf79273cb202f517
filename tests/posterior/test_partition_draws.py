"""Draws of partitions follow the posterior, do not depend on how they are made, and answer by plain counting."""

from __future__ import annotations

from collections import Counter
from itertools import combinations

import numpy as np
import pytest
from partition_cases import affinities, as_clusters, nothing_possible, table_model
from partition_oracle import (
    PartitionOracle,
    correlation,
    dirichlet_process,
    mask_of,
    normal_gamma,
    share_a_cluster,
    uniform,
)
from scipy.stats import chisquare

import palmette as pal
from palmette import Partition, PartitionPosterior
from palmette.likelihoods import NormalGamma
from palmette.models import CorrelationClusters, DirichletProcess, UniformPartitions


def points(n):
    return np.random.default_rng(2).normal(size=(n, 2))


def with_holes(n):
    """A random table of log ψ, 30 % of it −inf, as a model and as a formula."""
    rng = np.random.default_rng(1)
    table = -2 * rng.random(1 << n)
    table[rng.random(1 << n) < 0.3] = -np.inf
    return table_model(table), lambda cluster: float(table[mask_of(cluster)])


CASES = {
    "uniform": lambda n: (UniformPartitions(n), uniform()),
    "correlation": lambda n: (CorrelationClusters(affinities(n), 0.8), correlation(affinities(n), 0.8)),
    "dirichlet process": lambda n: (
        DirichletProcess(points(n), 1.5, NormalGamma()),
        dirichlet_process(points(n), 1.5, normal_gamma),
    ),
    "with impossible clusters": with_holes,
}


def follows(draws, oracle):
    """Whether the draws could well be draws from the oracle's distribution: χ², the rare ones together."""
    size = len(draws)
    rows, counts = np.unique(draws.memberships, axis=0, return_counts=True)  # there are few different ones
    found = Counter(dict(zip(map(as_clusters, map(Partition, rows)), counts.tolist(), strict=True)))
    expected = dict(zip(oracle.partitions, oracle.p, strict=True))
    assert all(expected[clusters] > 0 for clusters in found)
    common = [clusters for clusters, p in expected.items() if p * size >= 5]
    observed = np.array([found[clusters] for clusters in common], dtype=float)
    wanted = size * np.array([expected[clusters] for clusters in common])
    if size - wanted.sum() > 1e-6:
        observed, wanted = np.append(observed, size - observed.sum()), np.append(wanted, size - wanted.sum())
    assert len(wanted) > 2
    return chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("n", [4, 6])
@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_exact_frequencies(name, n):
    model, log_psi = CASES[name](n)
    assert follows(PartitionPosterior(model).sample(10_000, rng=n), PartitionOracle(n, log_psi))


@pytest.mark.parametrize(
    "given",
    [{"n_clusters": 3}, {"together": [0b11]}, {"apart": [0b10101]}, {"require": [0b1010]}, {"forbid": [0b1, 0b110]}],
    ids=str,
)
def test_draws_under_a_condition_have_the_exact_frequencies(given):
    model, log_psi = CASES["correlation"](5)
    asked = {
        kind: masks if kind == "n_clusters" else [[i for i in range(5) if mask >> i & 1] for mask in masks]
        for kind, masks in given.items()
    }
    draws = PartitionPosterior(model).condition(**asked).sample(10_000, rng=8)
    assert follows(draws, PartitionOracle(5, log_psi).conditioned(**given))


def test_draws_over_many_leaves_approach_the_exact_probabilities():
    post = PartitionPosterior(CorrelationClusters(affinities(13), 0.3))
    draws = post.sample(10_000, rng=1)
    error = np.sqrt(0.25 / len(draws))
    assert np.abs(draws.coclustering() - post.coclustering()).max() < 5 * error
    found = np.bincount(draws.n_clusters, minlength=14) / len(draws)
    assert np.abs(found - post.n_clusters_probabilities()).max() < 5 * error
    likely = list(post.cluster_probabilities(0.005))
    assert len(likely) > 20
    for row in likely:
        deviation = np.sqrt(row.probability * (1 - row.probability) / len(draws))
        assert abs(draws.cluster_probability(row.members) - row.probability) < 5 * deviation
    assert -draws.log_probs.mean() == pytest.approx(post.entropy, abs=5 * draws.log_probs.std() / 100)


def test_draws_of_a_cold_posterior_are_its_map():
    post = PartitionPosterior(CorrelationClusters(affinities(13), 1e6))
    draws = post.sample(50, rng=0)
    assert draws.counts() == [(post.map(), 50)]
    np.testing.assert_array_equal(draws.log_probs, 0.0)


# The same seed, the same draws.


@pytest.fixture(scope="module")
def posts():
    """The same posterior on one, two and three threads."""
    model = CorrelationClusters(affinities(13, seed=4), 0.2)
    return [PartitionPosterior(model, threads=threads) for threads in (1, 2, 3)]


def test_the_same_seed_gives_the_same_draws_on_any_number_of_threads(posts):
    one, *others = (post.sample(3000, rng=11) for post in posts)
    for other in others:
        np.testing.assert_array_equal(one.memberships, other.memberships)
        np.testing.assert_array_equal(one.log_probs, other.log_probs)


def test_a_draw_depends_on_its_number_not_on_how_many_there_are(posts):
    few, many = posts[0].sample(100, rng=5), posts[1].sample(1000, rng=5)
    np.testing.assert_array_equal(few.memberships, many.memberships[:100])
    np.testing.assert_array_equal(few.log_probs, many.log_probs[:100])


def test_draws_given_the_number_of_clusters_do_not_depend_on_threads_or_size(posts):
    few, many = (post.condition(n_clusters=4).sample(size, rng=5) for post, size in zip(posts, (50, 400), strict=False))
    np.testing.assert_array_equal(few.memberships, many.memberships[:50])
    np.testing.assert_array_equal(many.n_clusters, 4)


def test_a_seed_and_its_generator_give_the_same_draws(posts):
    seed, generator = posts[0].sample(20, rng=7), posts[0].sample(20, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(seed.memberships, generator.memberships)


def test_a_generator_moves_on_and_other_seeds_give_other_draws(posts):
    rng = np.random.default_rng(7)
    first, second = (posts[0].sample(20, rng) for _ in range(2))
    assert not np.array_equal(first.memberships, second.memberships)
    assert not np.array_equal(first.memberships, posts[0].sample(20, rng=8).memberships)
    assert not np.array_equal(posts[0].sample(50).memberships, posts[0].sample(50).memberships)


# What draws answer.


@pytest.fixture(scope="module")
def sampled():
    names = ["ant", "bee", "cat", "dog", "eel"]
    post = PartitionPosterior(CorrelationClusters(affinities(5, seed=2), 1.0, labels=names))
    return post, post.sample(400, rng=3)


def test_draws_are_partitions(sampled):
    _, draws = sampled
    assert draws.memberships.shape == (400, 5)
    assert all(Partition(row, draws.labels) == draw for row, draw in zip(draws.memberships, draws, strict=True))


def test_memberships_are_numbered_by_first_appearance(sampled):
    _, draws = sampled
    np.testing.assert_array_equal(draws.memberships, [draw.membership for draw in draws])


def test_numbers_of_clusters_are_those_of_the_items(sampled):
    _, draws = sampled
    np.testing.assert_array_equal(draws.n_clusters, [draw.n_clusters for draw in draws])


def test_the_probability_of_a_cluster_is_its_share(sampled):
    _, draws = sampled
    drawn = [draw.clusters() for draw in draws]
    for size in range(1, 6):
        for cluster in combinations(range(5), size):
            share = np.mean([frozenset(cluster) in clusters for clusters in drawn])
            names = [draws.labels[i] for i in cluster]
            assert draws.cluster_probability(cluster) == draws.cluster_probability(names) == pytest.approx(share)
    with pytest.raises(ValueError, match="no leaf is called 'fox'"):
        draws.cluster_probability(["fox"])


def test_the_probability_that_a_group_stays_together_is_its_share(sampled):
    _, draws = sampled
    drawn = [as_clusters(draw) for draw in draws]
    for size in range(1, 6):
        for group in combinations(range(5), size):
            share = np.mean([share_a_cluster(clusters, mask_of(group)) for clusters in drawn])
            assert draws.together_probability(group) == pytest.approx(share, rel=1e-14)
    assert draws.together_probability(["ant", "bee"]) == draws.together_probability([1, 0])


def test_coclustering_of_draws_is_the_share_of_pairs(sampled):
    _, draws = sampled
    expected = np.mean([draw.membership[:, None] == draw.membership for draw in draws], axis=0)
    np.testing.assert_allclose(draws.coclustering(), expected, rtol=1e-14)
    np.testing.assert_array_equal(np.diag(draws.coclustering()), 1.0)


def test_the_table_of_draws_lists_shares_in_falling_order(sampled):
    _, draws = sampled
    table = draws.cluster_probabilities(min_probability=0.05)
    shares = [row.probability for row in table]
    assert shares == sorted(shares, reverse=True)
    counted = Counter(cluster for draw in draws for cluster in draw.clusters())
    expected = {cluster: count / 400 for cluster, count in counted.items() if count >= 20}
    found = {frozenset(map(draws.labels.index, row.members)): row.probability for row in table}
    assert found == pytest.approx(expected)
    assert all(row.size == len(row.members) for row in table)
    assert {row.size for row in draws.cluster_probabilities(1e-9)} >= {1, 2, 3}


def test_the_map_of_draws_is_the_most_probable_one_drawn(sampled):
    post, draws = sampled
    assert post.log_prob(draws.map()) == pytest.approx(draws.log_probs.max(), abs=1e-12)
    assert draws.map() == post.map()


def test_no_draws_are_draws_but_have_no_shares():
    draws = PartitionPosterior(UniformPartitions(4)).sample(0, rng=0)
    assert len(draws) == 0
    assert list(draws) == []
    assert draws.counts() == []
    assert draws.memberships.shape == (0, 4)
    assert draws.n_clusters.shape == (0,)
    verbs = (draws.cluster_probabilities, draws.map, draws.coclustering)
    for verb in (*verbs, lambda: draws.cluster_probability([0, 1]), lambda: draws.together_probability([0, 1])):
        with pytest.raises(ValueError, match="there are no draws; sample at least one"):
            verb()


def test_draws_over_one_leaf_are_all_the_same():
    draws = PartitionPosterior(UniformPartitions(1)).sample(5, rng=0)
    assert draws.counts() == [(Partition([0]), 5)]
    assert draws.cluster_probability([0]) == draws.together_probability([0]) == 1.0
    np.testing.assert_array_equal(draws.log_probs, 0.0)


def test_draws_say_what_they_are():
    draws = PartitionPosterior(UniformPartitions(3)).sample(2, rng=0)
    assert repr(draws) == "PartitionDraws(2 partitions of 3 leaves)"


def test_impossible_data_cannot_be_drawn_from():
    with pytest.raises(pal.ImpossibleData, match="every partition over these 3 leaves has probability zero"):
        PartitionPosterior(nothing_possible(3)).sample(0)
