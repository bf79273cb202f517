"""Greedy agglomeration against the textbook version, SciPy and golden numbers."""

from __future__ import annotations

import itertools

import golden
import numpy as np
import pytest
from cases import Tilted
from hypothesis import given
from hypothesis import strategies as st
from oracle import pair_sum
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

from palmette.hierarchy import Hierarchy
from palmette.models import Correlation, Dasgupta, Ginkgo, SplitFunction, SplitModel, SumOfSquares
from palmette.models.base import Model
from palmette.search import Found, greedy


def average(w):
    return lambda left, right: pair_sum(w, left, right) / (len(left) * len(right))


def minus_increment(x):
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    sse = lambda cluster: pair_sum(squared, cluster) / len(cluster)  # noqa: E731
    return lambda left, right: sse(left) + sse(right) - sse(left + right)


def slow_greedy(n, merge_score):
    """All pairs scored from scratch at every step; clusters stay sorted by lowest leaf, so the first of equals wins."""
    clusters = [(i,) for i in range(n)]
    nested = {(i,): i for i in range(n)}
    while len(clusters) > 1:
        pairs = list(itertools.combinations(clusters, 2))
        left, right = max(pairs, key=lambda pair: merge_score(*pair))
        clusters = sorted([c for c in clusters if c not in (left, right)] + [left + right], key=min)
        nested[left + right] = (nested[left], nested[right])
    return Hierarchy.from_nested(nested[clusters[0]], [str(i) for i in range(n)])


def merges(hierarchy):
    """The clusters that each step merged, as sorted tuples of leaves, and those that were there before it."""
    clusters = {i: (i,) for i in range(hierarchy.n_leaves)}
    for step, (one, two) in enumerate(hierarchy.children):
        before = list(clusters.values())
        left, right = sorted([clusters.pop(one), clusters.pop(two)])
        clusters[hierarchy.n_leaves + step] = tuple(sorted(left + right))
        yield left, right, before


def assert_best_at_every_step(hierarchy, merge_score):
    for left, right, before in merges(hierarchy):
        best = max(merge_score(*sorted(pair)) for pair in itertools.combinations(before, 2))
        assert merge_score(left, right) >= best - 1e-9 * (1 + abs(best)) or best == -np.inf


def whole_weights(seed, n, low=0):
    """Few distinct whole numbers: many exact ties, and every sum exact."""
    upper = np.triu(np.random.default_rng(seed).integers(low, 4, (n, n)), 1).astype(float)
    return upper + upper.T


sizes = st.integers(1, 9)
seeds = st.integers(0, 2**32 - 1)


@given(sizes, seeds)
def test_the_first_of_equal_pairs_is_merged_every_time(n, seed):
    w = whole_weights(seed, n)
    assert greedy(Dasgupta(w)).hierarchy == slow_greedy(n, average(w))


@given(sizes, seeds)
def test_correlation_merges_by_average_affinity(n, seed):
    w = whole_weights(seed, n, low=-3)
    assert greedy(Correlation(w)).hierarchy == slow_greedy(n, average(w))


@given(sizes, seeds)
def test_sums_of_squares_merges_by_smallest_increment(n, seed):
    x = np.random.default_rng(seed).integers(0, 4, (n, 2)).astype(float)
    assert greedy(SumOfSquares(x)).hierarchy == slow_greedy(n, minus_increment(x))


class Scrambled(SplitModel):
    """Four values, scrambled by the mask of the union: a merge may make a better partner than any before."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = sums[0]

    @staticmethod
    def score(theta, parent, left, right):
        return (parent[0] * theta[0]) // 64.0 % 4.0


@given(sizes, st.integers(1, 2**20))
def test_a_new_cluster_becomes_partner_exactly_where_it_comes_first(n, multiplier):
    masks = 2.0 ** np.arange(n)
    model = Scrambled(n, theta=[multiplier], additive=masks[:, None])
    value = lambda left, right: masks[list(left + right)].sum() * multiplier // 64.0 % 4.0  # noqa: E731
    assert greedy(model).hierarchy == slow_greedy(n, value)


@given(st.integers(1, 12), seeds, st.sampled_from([0.0, 0.2, 10.0]))
def test_a_model_without_merge_score_merges_by_its_log_potential(n, seed, threshold):
    rng = np.random.default_rng(seed)
    x, w = rng.random(n), whole_weights(seed, n)

    def log_psi(left, right):
        gap = abs(x[list(left)].mean() - x[list(right)].mean())
        return -3.0 * gap + 0.1 * pair_sum(w, left, right) if gap >= threshold else -np.inf

    model = Tilted(n, theta=[3.0, threshold], additive=x[:, None], pairwise=[w])
    found = greedy(model)
    assert_best_at_every_step(found.hierarchy, log_psi)
    assert found.log_potential == model.log_potential(found.hierarchy)


@pytest.mark.parametrize("method", ["ward", "average"])
def test_a_thousand_leaves_match_scipy(method):
    x = np.random.default_rng(7).standard_normal((1000, 3))
    squared = ((x[:, None] - x[None]) ** 2).sum(axis=2)
    model = SumOfSquares(x) if method == "ward" else Dasgupta(10 - squared)
    expected = linkage(x if method == "ward" else squareform(squared, checks=False), method)
    assert greedy(model).hierarchy == Hierarchy.from_linkage(expected)


@pytest.mark.parametrize("jet", golden.JETS, ids=lambda jet: f"{len(jet.momenta)} particles")
def test_jets_match_the_golden_numbers(jet):
    found = greedy(Ginkgo(jet.momenta, golden.RATE, golden.T_CUT))
    assert found.log_potential == pytest.approx(jet.ordered.greedy_log_potential, abs=1e-8)


@given(sizes, seeds, st.sampled_from([0.0, 0.5, 1.0]))
def test_a_split_function_is_merged_by_its_values(n, seed, forbidden):
    rng = np.random.default_rng(seed)
    table = rng.integers(0, 5, (1 << n, 1 << n)).astype(float)
    table[rng.random(table.shape) < forbidden] = -np.inf
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    model = SplitFunction(n, lambda left, right: table[left, right])
    assert greedy(model).hierarchy == slow_greedy(n, lambda left, right: table[mask(left), mask(right)])


def test_a_split_function_is_called_once_per_merge_for_n_squared_splits():
    n, seen = 40, []
    rng = np.random.default_rng(1)

    def log_psi(left, right):
        assert ((left & -left) < (right & -right)).all()
        seen.append(len(left))
        return rng.random(len(left))

    model = SplitFunction(n, log_psi)
    model.log_potential = lambda hierarchy: 0.0
    greedy(model)
    assert len(seen) == n - 1
    assert sum(seen) == (n - 1) ** 2


def test_a_hierarchy_comes_out_even_if_a_compiled_model_forbids_all():
    found = greedy(Tilted(6, theta=[1.0, 10.0], additive=np.zeros((6, 1)), pairwise=[np.zeros((6, 6))]))
    assert found.log_potential == -np.inf
    assert found.hierarchy == Hierarchy.from_nested((((((0, 1), 2), 3), 4), 5))


def test_labels_of_the_model_are_kept():
    w = np.array([[0, 0, 1], [0, 0, 0], [1, 0, 0.0]])
    assert greedy(Dasgupta(w, labels=["x", "y", "z"])).hierarchy == Hierarchy.from_newick("((x,z),y);")


def test_what_is_no_model_of_hierarchies_is_refused():
    with pytest.raises(TypeError, match=r"expected a model.*Dasgupta"):
        greedy(Model(3))


def test_a_split_function_of_too_many_leaves_is_refused():
    with pytest.raises(ValueError, match="at most 63 leaves, not 64"):
        greedy(SplitFunction(64, lambda left, right: np.zeros(len(left))))


@pytest.mark.parametrize(
    ("log_potential", "bound", "gap"),
    [(-3.0, None, None), (-3.0, -2.0, 1.0), (-3.0, -3.0 - 1e-15, 0.0), (-np.inf, -np.inf, 0.0), (-np.inf, 1.0, np.inf)],
)
def test_a_gap_is_known_only_from_a_bound_and_never_negative(log_potential, bound, gap):
    assert Found(Hierarchy.from_nested((0, 1)), log_potential, bound).gap == gap
