"""The cost models against their plain formulas, the identities they obey, and an example with known answers."""

from __future__ import annotations

import itertools

import golden
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import correlation, dasgupta, sum_of_squares
from random_hierarchies import hierarchies, random_merges
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette import Hierarchy, HierarchyPosterior
from palmette.models import Correlation, Dasgupta, SplitFunction, SumOfSquares, Uniform

BETAS = st.sampled_from([0.0, 0.05, 1.0, 1e3, 1e6])
SEEDS = st.integers(0, 2**16)
binary = hierarchies(max_leaves=12, binary=True)


def weights(n, seed, signed=False):
    w = np.triu(np.random.default_rng(seed).random((n, n)) - (0.5 if signed else 0.0), 1)
    return w + w.T


def points(n, seed):
    return np.random.default_rng(seed).normal(size=(n, 3))


def splits(h):
    return [(tuple(sorted(left)), tuple(sorted(right))) for left, right in h.splits()]


def total(log_psi, h):
    return sum(log_psi(left, right) for left, right in splits(h))


def close(expected):
    return pytest.approx(expected, rel=1e-12, abs=1e-9)


@given(h=binary, seed=SEEDS, beta=BETAS)
def test_dasgupta_is_its_formula(h, seed, beta):
    w = weights(h.n_leaves, seed)
    assert Dasgupta(w, beta).log_potential(h) == close(total(dasgupta(w, beta), h))


@given(h=binary, seed=SEEDS, beta=BETAS)
def test_correlation_is_its_formula(h, seed, beta):
    w = weights(h.n_leaves, seed, signed=True)
    assert Correlation(w, beta).log_potential(h) == close(total(correlation(w, beta), h))


@given(h=binary, seed=SEEDS, beta=BETAS)
def test_sum_of_squares_is_its_formula(h, seed, beta):
    x = points(h.n_leaves, seed)
    assert SumOfSquares(x, beta).log_potential(h) == close(total(sum_of_squares(x, beta), h))


@given(h=binary)
def test_uniform_is_zero_and_a_split_function_is_itself(h):
    assert Uniform(h.n_leaves).log_potential(h) == 0.0
    model = SplitFunction(h.n_leaves, lambda left, right: np.sqrt(left) - np.log(right))
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    expected = total(lambda left, right: np.sqrt(mask(left)) - np.log(mask(right)), h)
    assert model.log_potential(h) == close(expected)


def test_a_split_function_gets_the_lowest_leaf_on_the_left():
    seen = []

    def record(left, right):
        seen.extend(zip(left.tolist(), right.tolist(), strict=True))
        return np.zeros(len(left))

    h = Hierarchy.from_nested((((4, 2), 0), (3, 1)))
    SplitFunction(5, record).log_potential(h)
    _ = HierarchyPosterior(SplitFunction(5, record)).log_partition
    assert len(seen) == 4 + 90
    assert all(left & -left < right & -right and left & right == 0 for left, right in seen)


@pytest.fixture(scope="module")
def large():
    """A random hierarchy over 300 leaves, and its splits."""
    h = Hierarchy.from_merges(random_merges(300, np.random.default_rng(8)))
    return h, [(np.array(left), np.array(right)) for left, right in splits(h)]


def test_three_hundred_leaves_follow_the_direct_formulas(large):
    h, parts = large
    w = weights(300, 1, signed=True)
    plus, minus = np.maximum(w, 0), np.minimum(w, 0)
    x = points(300, 2)

    def inside(matrix, cluster):
        return matrix[np.ix_(cluster, cluster)].sum() / 2

    def sse(cluster):
        return np.square(x[cluster] - x[cluster].mean(axis=0)).sum()

    cost = sum((len(L) + len(R)) * w[np.ix_(L, R)].sum() for L, R in parts)
    assert Dasgupta(w, 0.5).log_potential(h) == pytest.approx(-0.5 * cost, rel=1e-10, abs=1e-7)
    cost = sum(plus[np.ix_(L, R)].sum() - inside(minus, L) - inside(minus, R) for L, R in parts)
    assert Correlation(w, 0.5).log_potential(h) == pytest.approx(-0.5 * cost, rel=1e-11)
    cost = sum(sse(L) + sse(R) for L, R in parts)
    assert SumOfSquares(x, 0.5).log_potential(h) == pytest.approx(-0.5 * cost, rel=1e-11)


def test_points_far_from_the_origin_lose_no_accuracy():
    x = points(20, 3)
    h = Hierarchy.from_merges(random_merges(20, np.random.default_rng(4)))
    shifted = np.round(x, 3) + 2.0**20
    assert SumOfSquares(shifted).log_potential(h) == pytest.approx(
        SumOfSquares(shifted - 2.0**20).log_potential(h), rel=1e-12
    )


# Identities.


@given(h=binary, seed=SEEDS)
def test_dasgupta_telescopes(h, seed):
    """Σ |P|·w(L, R) = n·w(X) − Σ [ w(L)·|R| + w(R)·|L| ]."""
    n = h.n_leaves
    w = weights(n, seed)
    within = lambda c: sum(w[i, j] for i, j in itertools.combinations(c, 2))  # noqa: E731
    expected = n * within(range(n)) - sum(within(L) * len(R) + within(R) * len(L) for L, R in splits(h))
    assert -Dasgupta(w).log_potential(h) == close(expected)


@given(h=binary, seed=SEEDS, beta=BETAS)
def test_correlation_telescopes(h, seed, beta):
    """−β · (all positive weights + Σ over negative pairs of |w_ij| · depth of their lowest common ancestor)."""
    n = h.n_leaves
    w = weights(n, seed, signed=True)
    clusters = h.clusters()
    expected = 0.0
    for i, j in itertools.combinations(range(n), 2):
        depth = sum({i, j} <= cluster for cluster in clusters) - 1  # of the lowest common ancestor; the root has 0
        expected += w[i, j] if w[i, j] > 0 else -w[i, j] * depth
    assert Correlation(w, beta).log_potential(h) == close(-beta * expected)


@given(h=binary, seed=SEEDS)
def test_sum_of_squares_adds_up_every_cluster_but_the_root(h, seed):
    x = points(h.n_leaves, seed)
    sse = lambda c: np.square(x[list(c)] - x[list(c)].mean(axis=0)).sum()  # noqa: E731
    expected = sum(sse(cluster) for cluster in h.clusters() if len(cluster) < h.n_leaves)
    assert -SumOfSquares(x).log_potential(h) == close(expected)


@pytest.mark.parametrize("beta", [1.0, 1e3])
def test_an_affinity_without_negative_entries_gives_the_uniform_posterior(beta):
    n = 7
    post = HierarchyPosterior(Correlation(weights(n, 5), beta))
    uniform = HierarchyPosterior(Uniform(n))
    np.testing.assert_allclose(
        post.cluster_probability_array(), uniform.cluster_probability_array(), rtol=1e-12 * max(1.0, beta)
    )
    assert post.entropy == pytest.approx(np.log(uniform.count), rel=1e-10)
    assert post.log_prob(post.map()) == pytest.approx(-np.log(uniform.count), rel=1e-10)


def test_beta_zero_gives_the_uniform_posterior():
    for model in (Dasgupta(weights(6, 1), 0.0), Correlation(weights(6, 1, True), 0.0), SumOfSquares(points(6, 1), 0.0)):
        assert HierarchyPosterior(model).log_partition == pytest.approx(np.log(945), rel=1e-14)


def test_weights_and_beta_enter_only_as_their_product():
    w = weights(6, 2, signed=True)
    for model in (Dasgupta, Correlation):
        one, other = (HierarchyPosterior(model(w * factor, 0.75 / factor)) for factor in (1.0, 8.0))
        assert one.log_partition == pytest.approx(other.log_partition, rel=1e-14)


# The ladder of 2 × 4 vertices.


@pytest.fixture(scope="module")
def ladder():
    w = np.zeros((8, 8))
    for i, j, weight in golden.LADDER.edges:
        w[i, j] = w[j, i] = weight
    return HierarchyPosterior(Dasgupta(w))


def cost(post, h):
    return -post.model.log_potential(h)


def test_the_cheapest_hierarchy_of_the_ladder_is_known_and_unique(ladder):
    assert ladder.map() == Hierarchy.from_nested(golden.LADDER.tree)
    assert cost(ladder, ladder.map()) == pytest.approx(golden.LADDER.cost, abs=1e-12)
    (best, first), (_, second) = ladder.best(2)
    assert best == ladder.map()
    assert second < first - 1e-6
    assert ladder.rank(best).value == 1


@pytest.mark.parametrize("method", ["single", "complete"])
def test_linkage_of_the_ladder_costs_more(ladder, method):
    w = ladder.model.pairwise[0]
    distances = squareform(w.max() - w + np.diag(np.diag(w) - w.max()), checks=False)
    h = Hierarchy.from_linkage(linkage(distances, method))
    assert cost(ladder, h) == pytest.approx(golden.LADDER.greedy_cost, abs=1e-12)
    greedy = Hierarchy.from_nested(golden.LADDER.greedy_tree)
    assert cost(ladder, greedy) == pytest.approx(golden.LADDER.greedy_cost, abs=1e-12)


def test_the_posterior_of_the_ladder_is_known(ladder):
    assert ladder.log_partition == pytest.approx(golden.LADDER.log_partition, abs=1e-8)
    assert ladder.count == golden.LADDER.n_hierarchies
    for cluster, probability in golden.LADDER.marginals.items():
        assert ladder.cluster_probability(cluster) == pytest.approx(probability, abs=1e-8)


# What greedy agglomeration maximises.


def merge_score(model, left, right):
    columns = []
    for cluster in (left + right, left, right):
        out = np.empty(model.n_features)
        pairs = np.array([sum(m[i, j] for i, j in itertools.combinations(cluster, 2)) for m in model.pairwise])
        sums = model.additive[list(cluster)].sum(axis=0)
        model.features(model.theta, model.n_leaves, len(cluster), sums, pairs, out)
        columns.append(tuple(out))
    return model.merge_score(model.theta, *columns)


CLUSTERS = [((0,), (1,)), ((0, 3), (5,)), ((1, 2, 4), (0, 6))]


@pytest.mark.parametrize(("left", "right"), CLUSTERS)
@pytest.mark.parametrize("model", [Dasgupta, Correlation])
def test_the_merge_score_of_weights_is_their_average_across(model, left, right):
    w = weights(7, 3, signed=True)
    average = np.mean([w[i, j] for i in left for j in right])
    assert merge_score(model(w, 2.5), left, right) == pytest.approx(average, rel=1e-12)


@pytest.mark.parametrize(("left", "right"), CLUSTERS)
def test_the_merge_score_of_points_is_minus_wards_increment(left, right):
    x = points(7, 4)
    gap = x[list(left)].mean(axis=0) - x[list(right)].mean(axis=0)
    increment = len(left) * len(right) / (len(left) + len(right)) * gap @ gap
    assert merge_score(SumOfSquares(x, 2.5), left, right) == pytest.approx(-increment, rel=1e-12)
