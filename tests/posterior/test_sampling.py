"""Draws follow the posterior, do not depend on how they are made, and answer the verbs of a posterior by shares."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from oracle import Oracle, clusters_of, correlation, dasgupta, sum_of_squares
from scipy.stats import chisquare

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior
from palmette.models import Correlation, Dasgupta, SplitFunction, SumOfSquares, Uniform


def weights(n, seed=0):
    w = np.triu(np.random.default_rng(seed).random((n, n)), 1)
    return w + w.T


def points(n, seed=0):
    return np.random.default_rng(seed).normal(size=(n, 2))


def with_holes(n):
    """A random table of log ψ, 40 % of it −inf, as a model and as a formula."""
    rng = np.random.default_rng(1)
    table = -2 * rng.random((1 << n, 1 << n))
    table[rng.random(table.shape) < 0.4] = -np.inf
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    model = SplitFunction(n, lambda left, right: table[left, right])
    return model, lambda left, right: table[mask(left), mask(right)]


CASES = {
    "uniform": lambda n: (Uniform(n), lambda left, right: 0.0),
    "dasgupta": lambda n: (Dasgupta(weights(n), 0.4), dasgupta(weights(n), 0.4)),
    "correlation": lambda n: (Correlation(weights(n) - 0.6, 2.0), correlation(weights(n) - 0.6, 2.0)),
    "sum of squares": lambda n: (SumOfSquares(points(n), 0.5), sum_of_squares(points(n), 0.5)),
    "with impossible splits": with_holes,
}


def shares(draws, n):
    """How often each hierarchy was drawn, by the set of its clusters of two leaves or more."""
    return Counter(frozenset(row) for row in draws.masks.tolist())


def exact(oracle):
    large = lambda clusters: frozenset(c for c in clusters if c & (c - 1))  # noqa: E731
    return {large(clusters_of(h, oracle.n)): p for h, p in zip(oracle.hierarchies, oracle.p, strict=True)}


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("name", CASES)
def test_draws_have_the_exact_frequencies(name, n):
    model, log_psi = CASES[name](n)
    oracle = Oracle(n, log_psi)
    size = 20_000
    found = shares(HierarchyPosterior(model).sample(size, rng=n), n)
    expected = exact(oracle)
    assert all(expected[h] > 0 for h in found)
    common = [h for h, p in expected.items() if p * size >= 5]
    observed = np.array([found[h] for h in common], dtype=float)
    wanted = size * np.array([expected[h] for h in common])
    if len(common) < len(expected):  # the rare ones together
        rare = max(size - wanted.sum(), 0.0)
        observed, wanted = np.append(observed, size - observed.sum()), np.append(wanted, rare)
        observed, wanted = observed[wanted > 1e-6], wanted[wanted > 1e-6]
    assert len(wanted) > 3
    assert chisquare(observed, wanted * observed.sum() / wanted.sum()).pvalue > 1e-3


@pytest.mark.parametrize("n", [5, 13])
def test_cluster_frequencies_approach_their_probabilities(n):
    post = HierarchyPosterior(Dasgupta(weights(n), 0.05 if n == 13 else 0.4))
    size = 10_000
    draws = post.sample(size, rng=1)
    mu = post.cluster_probability_array()
    masks = [m for m in np.argsort(-mu)[:200].tolist() if m & (m - 1)]
    found = np.array([(draws.masks == m).any(axis=1).mean() for m in masks])
    error = np.sqrt(mu[masks] * (1 - mu[masks]) / size)
    assert np.abs(found - mu[masks]).max() < 5 * error.max()


def test_draws_meet_the_conditions():
    post = HierarchyPosterior(Uniform(6)).condition(require=[[0, 1, 2]], forbid=[[0, 1]])
    draws = post.sample(500, rng=0)
    assert draws.cluster_probability([0, 1, 2]) == 1.0
    assert draws.cluster_probability([0, 1]) == 0.0


# The same seed, the same draws.


@pytest.fixture(scope="module")
def posts():
    """The same posterior on one, two and three threads."""
    model = Dasgupta(weights(13, seed=4), 0.2)
    return [HierarchyPosterior(model, threads=threads) for threads in (1, 2, 3)]


def test_the_same_seed_gives_the_same_draws_on_any_number_of_threads(posts):
    one, *others = (post.sample(3000, rng=11) for post in posts)
    for other in others:
        np.testing.assert_array_equal(one.masks, other.masks)
        np.testing.assert_array_equal(one.log_probs, other.log_probs)


def test_a_draw_depends_on_its_number_not_on_how_many_there_are(posts):
    few, many = posts[0].sample(100, rng=5), posts[1].sample(1000, rng=5)
    np.testing.assert_array_equal(few.masks, many.masks[:100])
    np.testing.assert_array_equal(few.log_probs, many.log_probs[:100])


def test_a_seed_and_its_generator_give_the_same_draws(posts):
    seed = posts[0].sample(20, rng=7)
    generator = posts[0].sample(20, rng=np.random.default_rng(7))
    np.testing.assert_array_equal(seed.masks, generator.masks)


def test_a_generator_moves_on_and_other_seeds_give_other_draws(posts):
    rng = np.random.default_rng(7)
    first, second = (posts[0].sample(20, rng) for _ in range(2))
    assert not np.array_equal(first.masks, second.masks)
    assert not np.array_equal(first.masks, posts[0].sample(20, rng=8).masks)


def test_without_a_seed_draws_differ_from_call_to_call(posts):
    assert not np.array_equal(posts[0].sample(50).masks, posts[0].sample(50).masks)


# What draws answer.


@pytest.fixture(scope="module")
def sampled():
    names = ["ant", "bee", "cat", "dog", "eel"]
    post = HierarchyPosterior(SumOfSquares(points(5, seed=2), 1.0, labels=names))
    return post, post.sample(400, rng=3)


def test_draws_are_binary_hierarchies(sampled):
    post, draws = sampled
    assert draws.n_leaves == 5
    assert all(h.is_binary and h.labels == post.labels for h in draws[:20])


def test_the_probability_of_a_cluster_is_its_share(sampled):
    _, draws = sampled
    share = np.mean([frozenset({1, 3}) in h.clusters() for h in draws])
    assert draws.cluster_probability([1, 3]) == draws.cluster_probability(["bee", "dog"]) == share
    assert draws.cluster_probability(["cat"]) == 1.0
    assert draws.cluster_probability(range(5)) == 1.0
    with pytest.raises(ValueError, match="no leaf is called 'fox'"):
        draws.cluster_probability(["fox"])


def test_the_table_of_draws_lists_shares_in_falling_order(sampled):
    _, draws = sampled
    table = draws.cluster_probabilities(min_probability=0.05)
    shares = [row.probability for row in table]
    assert shares == sorted(shares, reverse=True)
    assert min(shares) >= 0.05
    assert all(draws.cluster_probability(row.members) == row.probability for row in table)


def test_the_tables_of_draws_and_of_the_posterior_list_the_same_kind_of_cluster(sampled):
    post, draws = sampled
    sizes = [{row.size for row in source.cluster_probabilities(0.0001)} for source in (post, draws)]
    assert sizes[0] == sizes[1] == {2, 3, 4}


def test_the_consensus_of_draws_holds_what_most_of_them_hold(sampled):
    _, draws = sampled
    consensus = draws.consensus()
    inner = [c for c in consensus.clusters() if 1 < len(c) < 5]
    assert inner
    assert all(draws.cluster_probability(c) > 0.5 for c in inner)
    frequent = [row for row in draws.cluster_probabilities(0.5 + 1e-9) if row.size < 5]
    assert len(frequent) == len(inner)


def test_the_map_of_draws_is_the_most_probable_one_drawn(sampled):
    post, draws = sampled
    assert post.log_prob(draws.map()) == pytest.approx(draws.log_probs.max(), abs=1e-12)
    assert draws.map() == post.map()


def test_no_draws_are_draws_but_have_no_shares():
    draws = HierarchyPosterior(Uniform(4)).sample(0, rng=0)
    assert len(draws) == 0
    assert list(draws) == []
    assert draws.counts() == []
    assert draws.masks.shape == (0, 3)
    for verb in (draws.consensus, draws.cluster_probabilities, draws.map, lambda: draws.cluster_probability([0, 1])):
        with pytest.raises(ValueError, match="there are no draws; sample at least one"):
            verb()


@pytest.mark.parametrize("n", [1, 2])
def test_draws_over_one_or_two_leaves_are_all_the_same(n):
    draws = HierarchyPosterior(Uniform(n)).sample(5, rng=0)
    only = Hierarchy.from_nested((0, 1)) if n == 2 else draws[0]
    assert draws.counts() == [(only, 5)]
    assert draws.map() == draws.consensus() == only
    assert draws.cluster_probability([0]) == 1.0
    np.testing.assert_array_equal(draws.log_probs, 0.0)


def test_draws_say_what_they_are():
    assert repr(HierarchyPosterior(Uniform(3)).sample(2, rng=0)) == "Draws(2 hierarchies over 3 leaves)"


def test_impossible_data_cannot_be_drawn_from():
    post = HierarchyPosterior(SplitFunction(3, lambda left, right: np.full(len(left), -np.inf)))
    with pytest.raises(pal.ImpossibleData, match="every hierarchy over these 3 leaves has probability zero"):
        post.sample(0)
