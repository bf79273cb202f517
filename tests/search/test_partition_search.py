"""Searches for one good partition: greedy merging and the best cut against plain loops, perturbed maxima one by one."""

from __future__ import annotations

import itertools
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_cases import Charged, affinities, as_clusters, nothing_possible, table_model
from partition_oracle import PartitionOracle, correlation, mask_of, pair_sum
from random_hierarchies import caterpillar, hierarchies

import palmette as pal
from palmette import Hierarchy, Partition, PartitionPosterior
from palmette.likelihoods import BetaBernoulli
from palmette.models import ClusterFunction, CorrelationClusters, Dasgupta, DirichletProcess, UniformPartitions
from palmette.models.base import Model
from palmette.search import Found, FoundPartition, best_cut, greedy, perturb_and_map

sizes = st.integers(1, 8)
seeds = st.integers(0, 2**32 - 1)


def whole_affinities(n, seed, low=-4, high=4):
    """Few distinct whole numbers: many exact ties, and every sum exact."""
    upper = np.triu(np.random.default_rng(seed).integers(low, high, (n, n)), 1).astype(float)
    return upper + upper.T


def whole_table(n, seed, forbidden):
    """Few distinct whole numbers for clusters, by mask, some of them impossible."""
    rng = np.random.default_rng(seed)
    table = rng.integers(-3, 4, 1 << n).astype(float)
    table[rng.random(1 << n) < forbidden] = -np.inf
    return table


def partitions_on_the_way(n, log_psi):
    """The n partitions of a greedy search from its definition: all pairs from scratch, the largest gain is merged.

    Clusters are sorted by their lowest leaf, so the first of equal pairs is the one that is promised.
    """

    def gain(pair):
        joined = log_psi(tuple(sorted(pair[0] + pair[1])))
        return joined - (log_psi(pair[0]) + log_psi(pair[1])) if joined > -np.inf else -np.inf

    clusters = [(i,) for i in range(n)]
    found = [clusters]
    while len(clusters) > 1:
        left, right = max(itertools.combinations(clusters, 2), key=gain)
        clusters = sorted([c for c in clusters if c not in (left, right)] + [tuple(sorted(left + right))], key=min)
        found.append(clusters)
    return found


def slow_greedy(n, log_psi):
    """The best partition on the way, the one of the fewest clusters among equals, and its log potential."""
    totals = [(sum(map(log_psi, clusters)), -len(clusters), clusters) for clusters in partitions_on_the_way(n, log_psi)]
    total, _, clusters = max(totals)
    return Partition.from_clusters(clusters, n=n), total


def points_model(points, concentration=0.3):
    return DirichletProcess(np.asarray(points, dtype=float), concentration, BetaBernoulli())


def record(found):
    """What was found, and that the partition is a cut of the hierarchy that it comes from."""
    assert found.hierarchy.cut(found.partition.n_clusters) == found.partition
    assert found.bound is found.gap is None
    return found.partition, found.log_potential


# Greedy.


@given(sizes, seeds, st.sampled_from([0.0, 0.5, 1.0]))
def test_greedy_merges_the_pair_of_largest_gain_and_keeps_the_best_partition_on_the_way(n, seed, beta):
    w = whole_affinities(n, seed)
    expected = slow_greedy(n, correlation(w, beta))
    assert record(greedy(CorrelationClusters(w, beta))) == expected


@given(sizes, seeds, st.sampled_from([0.0, 0.4, 0.9, 1.0]))
def test_greedy_of_any_function_of_a_cluster_is_the_plain_one(n, seed, forbidden):
    table = whole_table(n, seed, forbidden)
    expected = slow_greedy(n, lambda cluster: float(table[mask_of(cluster)]))
    assert record(greedy(table_model(table))) == expected


@given(sizes, seeds, st.sampled_from([-1.0, 0.0, 2.0]))
def test_greedy_of_a_users_model_that_forbids_clusters_is_the_plain_one(n, seed, limit):
    rng = np.random.default_rng(seed)
    charges = rng.integers(-2, 3, n).astype(float)
    w = 10.0 * whole_affinities(n, seed)  # 0.1 · w is whole again
    model = Charged(n, theta=[0.0, limit], additive=np.stack([np.ones(n), charges], axis=1), pairwise=[w])

    def log_psi(cluster):
        return 0.1 * pair_sum(w, cluster) if charges[list(cluster)].sum() <= limit else -np.inf

    assert record(greedy(model)) == slow_greedy(n, log_psi)


def test_greedy_looks_at_the_partitions_in_the_order_of_the_merges():
    """{0, 1, 2} is made before {3, 4}, although it takes two merges: 012|3|4 is on the way, and the best."""
    w = np.full((5, 5), -10.0)
    w[:3, :3], w[0, 1], w[1, 0], w[3, 4], w[4, 3] = 2.0, 5.0, 5.0, -0.5, -0.5
    found = greedy(CorrelationClusters(w))
    assert record(found) == (Partition([0, 0, 0, 1, 2]), 9.0)


def test_greedy_sees_a_gain_only_in_the_next_merge():
    """Three leaves that attract only as a triple stay alone if every pair is worse than nothing: nothing is proved."""
    table = np.array([-np.inf, 0, 0, -9, 0, -9, -9, -10.0])
    assert record(greedy(table_model(table))) == (Partition([0, 1, 2]), 0.0)
    table[-1] = 1.0  # on the way through a pair at −9, the triple is the best after all
    assert record(greedy(table_model(table))) == (Partition([0, 0, 0]), 1.0)


@pytest.mark.parametrize("n", [1, 2, 5])
def test_equal_partitions_go_to_the_fewest_clusters(n):
    assert record(greedy(UniformPartitions(n))) == (Partition([0] * n), 0.0)
    assert record(greedy(table_model(np.zeros(1 << n)))) == (Partition([0] * n), 0.0)


@pytest.mark.parametrize("n", [1, 2, 6])
def test_a_partition_comes_out_even_if_all_are_impossible(n):
    found = greedy(nothing_possible(n))
    assert record(found) == (Partition([0] * n), -np.inf)


@pytest.mark.parametrize("n", [2, 9, 12])
@pytest.mark.parametrize("kind", ["correlation", "Dirichlet process"])
def test_greedy_never_beats_the_map_and_knows_its_own_log_potential(kind, n):
    model = CorrelationClusters(affinities(n)) if kind == "correlation" else points_model(affinities(n)[:, :2] > 0)
    found = greedy(model)
    post = PartitionPosterior(model)
    assert found.log_potential == model.log_potential(found.partition)
    assert found.log_potential <= post.log_potential(post.map()) + 1e-12


def test_greedy_keeps_the_labels_of_the_model():
    w = np.array([[0, -1, 2], [-1, 0, -1], [2, -1, 0.0]])
    expected = Partition([0, 1, 0], ["x", "y", "z"])
    assert greedy(CorrelationClusters(w, labels=["x", "y", "z"])).partition == expected
    table = np.array([-np.inf, 0, 0, -1, 0, 2, -1, 0.0])
    assert greedy(table_model(table, labels=["x", "y", "z"])).partition == expected


def test_greedy_finds_planted_clusters_among_hundreds_of_leaves():
    rng = np.random.default_rng(4)
    planted = rng.integers(0, 12, 400)
    w = np.where(planted[:, None] == planted, 1.0, -1.0) + 0.1 * rng.normal(size=(400, 400))
    assert greedy(CorrelationClusters((w + w.T) / 2)).partition == Partition(planted)


def test_greedy_asks_a_function_about_few_clusters_at_a_time_and_reaches_63_leaves():
    n, asked = 63, []

    def two_blocks(clusters):
        asked.append(len(clusters))
        crossing = (clusters & (2**20 - 1) > 0) & (clusters >> 20 > 0)
        return np.where(crossing, -np.inf, np.bitwise_count(clusters).astype(float) ** 2)

    found = greedy(ClusterFunction(n, two_blocks))
    assert found.partition == Partition([0] * 20 + [1] * 43)
    assert found.log_potential == 20**2 + 43**2
    assert sum(asked) < 4 * n**2


def test_what_is_no_model_is_refused_by_greedy():
    for wrong in (Model(3), PartitionPosterior(UniformPartitions(3)), None):
        with pytest.raises(TypeError, match=r"expected a model, such as palmette.models.Dasgupta, not"):
            greedy(wrong)


# The best cut.


def cuts(hierarchy):
    """All cuts of a hierarchy, the fewest clusters first; a multifurcation skips some numbers."""
    found = []
    for k in range(1, hierarchy.n_leaves + 1):
        try:
            found.append(hierarchy.cut(k))
        except ValueError as error:
            assert "skip" in str(error)  # noqa: PT017
    return found


def slow_best_cut(model, hierarchy):
    """The first of the best cuts, so the one of the fewest clusters, and its log potential."""
    values = [model.log_potential(cut) for cut in cuts(hierarchy)]
    return cuts(hierarchy)[int(np.argmax(values))], max(values)


@given(hierarchies(max_leaves=9, binary=True, heights=True), seeds)
def test_the_best_cut_of_a_binary_hierarchy_is_the_best_of_all_cuts(h, seed):
    model = CorrelationClusters(whole_affinities(h.n_leaves, seed))
    assert record(best_cut(model, h)) == slow_best_cut(model, h)


@given(hierarchies(max_leaves=9), seeds, st.sampled_from([0.0, 0.3, 0.7, 1.0]))
def test_the_best_cut_of_a_multifurcating_hierarchy_passes_by_impossible_clusters(h, seed, forbidden):
    model = table_model(whole_table(h.n_leaves, seed, forbidden))
    assert record(best_cut(model, h)) == slow_best_cut(model, h)


@given(hierarchies(max_leaves=9, heights=True), st.randoms(use_true_random=False))
def test_the_best_cut_is_found_by_label(h, random):
    names = random.sample(h.labels, h.n_leaves)
    model = CorrelationClusters(whole_affinities(h.n_leaves, h.n_nodes), labels=names)
    found = best_cut(model, h)
    partition, value = slow_best_cut(model, h)
    assert found.partition == partition
    assert found.partition.labels == tuple(names)
    assert found.log_potential == value


@given(hierarchies(max_leaves=8, heights=True), seeds)
def test_no_cut_beats_the_best_partition_into_clusters_of_the_hierarchy(h, seed):
    model = CorrelationClusters(whole_affinities(h.n_leaves, seed))
    best = PartitionPosterior(model, trellis=pal.PartitionTrellis.from_hierarchy(h)).map()
    assert best_cut(model, h).log_potential <= model.log_potential(best)


def test_heights_decide_which_cuts_there_are():
    w = np.array([[0, 1, -2, -2], [1, 0, -2, -2], [-2, -2, 0, -1], [-2, -2, -1, 0.0]])
    merges = [[0, 1], [2, 3], [4, 5]]
    low_first, high_first = (Hierarchy.from_merges(merges, heights=h) for h in ([1, 2, 3], [2, 1, 3]))
    assert record(best_cut(CorrelationClusters(w), low_first)) == (Partition([0, 0, 1, 2]), 1.0)
    assert record(best_cut(CorrelationClusters(w), high_first)) == (Partition([0, 0, 1, 1]), 0.0)


def test_the_best_cut_of_thousands_of_leaves_takes_no_time():
    n = 20_000
    model = points_model(np.zeros((n, 1)), concentration=1e9)
    found = best_cut(model, caterpillar(n))
    assert found.partition.n_clusters == n
    assert found.log_potential == pytest.approx(n * np.log(1e9 / 2), rel=1e-12)


def test_a_finite_penalty_does_not_drown_the_log_potentials_of_other_cuts():
    w = affinities(6, seed=3)
    w[0, 5] = w[5, 0] = -1e17
    model, h = CorrelationClusters(w), Hierarchy.from_nested((((0, 1), 2), ((3, 4), 5)))
    assert record(best_cut(model, h)) == slow_best_cut(model, h)


def test_one_leaf_has_one_cut():
    one = Hierarchy.from_nested("a")
    assert record(best_cut(UniformPartitions(1, labels=["a"]), one)) == (Partition([0], ["a"]), 0.0)
    impossible = ClusterFunction(1, lambda clusters: np.full(len(clusters), -np.inf), labels=["a"])
    assert best_cut(impossible, one).log_potential == -np.inf


def test_what_cannot_be_cut_is_refused():
    h = Hierarchy.from_nested(((0, 1), 2))
    for wrong in (Dasgupta(np.ones((3, 3))), None):
        with pytest.raises(TypeError, match=r"expected a model of partitions, such as palmette.models.CorrelationClus"):
            best_cut(wrong, h)
    with pytest.raises(ValueError, match="missing: '2'; not among them: 'c'"):
        best_cut(UniformPartitions(3, labels=["0", "1", "c"]), h)


# Perturbed maxima.


def perturbed_oracles(model, size, noise, seed):
    """Every partition of every perturbed problem: one matrix of noise after the other, from one generator."""
    n, generator = model.n_leaves, np.random.default_rng(seed)
    for _ in range(size):
        epsilon = np.zeros((n, n))
        epsilon[np.triu_indices(n, 1)] = getattr(generator, noise)(size=n * (n - 1) // 2)
        yield PartitionOracle(n, correlation(model.beta * model.affinity + epsilon + epsilon.T, 1.0))


@pytest.mark.parametrize("noise", ["gumbel", "logistic"])
@pytest.mark.parametrize(("n", "beta"), [(1, 1.0), (2, 0.0), (5, 0.0), (6, 0.7), (6, 30.0)])
def test_each_draw_is_the_exact_maximum_of_its_perturbed_problem(n, beta, noise):
    model = CorrelationClusters(affinities(n), beta)
    draws = perturb_and_map(model, 25, noise=noise, rng=11)
    assert len(draws) == 25
    for draw, oracle in zip(draws, perturbed_oracles(model, 25, noise, 11), strict=True):
        assert oracle.log_potential(as_clusters(draw)) == oracle.log_potentials.max()


def test_gumbel_noise_is_the_default_and_pulls_pairs_together():
    model = CorrelationClusters(np.zeros((6, 6)))
    default, gumbel, logistic = (
        perturb_and_map(model, 60, rng=0, **options) for options in ({}, {"noise": "gumbel"}, {"noise": "logistic"})
    )
    np.testing.assert_array_equal(default.memberships, gumbel.memberships)
    assert gumbel.n_clusters.mean() < logistic.n_clusters.mean()


@pytest.mark.parametrize("n", [1, 7])
def test_log_probabilities_of_perturbed_maxima_are_those_of_the_model(n):
    model = CorrelationClusters(affinities(n), 0.8, labels=list("abcdefg")[:n])
    post = PartitionPosterior(model)
    draws = perturb_and_map(model, 40, rng=5)
    assert isinstance(draws, pal.PartitionDraws)
    assert draws.labels == model.labels
    np.testing.assert_allclose(draws.log_probs, [post.log_prob(p) for p in draws], rtol=1e-13, atol=1e-13)
    assert draws.log_probs.max() <= 0.0
    for row, draw in zip(draws.memberships, draws, strict=True):
        np.testing.assert_array_equal(row, draw.membership)


def test_the_same_seed_gives_the_same_perturbed_maxima_and_more_leave_the_first_alone():
    model = CorrelationClusters(affinities(7), 0.5)
    few, many = perturb_and_map(model, 8, rng=3), perturb_and_map(model, 20, rng=3)
    np.testing.assert_array_equal(few.memberships, many.memberships[:8])
    np.testing.assert_array_equal(few.log_probs, many.log_probs[:8])
    generator = np.random.default_rng(3)
    twice = [perturb_and_map(model, size, rng=generator) for size in (8, 12)]
    np.testing.assert_array_equal(np.concatenate([draws.memberships for draws in twice]), many.memberships)
    assert not np.array_equal(perturb_and_map(model, 20, rng=4).memberships, many.memberships)


def test_without_a_seed_perturbed_maxima_differ_from_call_to_call():
    model = CorrelationClusters(np.zeros((7, 7)))
    one, two = (perturb_and_map(model, 10, noise="logistic") for _ in range(2))
    assert not np.array_equal(one.memberships, two.memberships)


def test_no_perturbed_maxima_are_draws():
    draws = perturb_and_map(CorrelationClusters(affinities(4)), 0, rng=0)
    assert len(draws) == 0
    assert draws.memberships.shape == (0, 4)
    assert draws.log_probs.shape == (0,)


def test_a_cold_model_is_hardly_perturbed():
    model = CorrelationClusters(affinities(8), 1e4)
    assert set(perturb_and_map(model, 10, rng=0)) == {PartitionPosterior(model).map()}


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"model": UniformPartitions(3)}, TypeError, "perturbs the affinities of a CorrelationClusters model, not U"),
        ({"model": np.ones((3, 3))}, TypeError, "perturbs the affinities of a CorrelationClusters model, not a"),
        ({"size": -1}, ValueError, "size is -1; expected the number of draws, a whole number of at least 0"),
        ({"size": 2.0}, ValueError, "size is 2.0; expected the number of draws"),
        ({"size": True}, ValueError, "size is True; expected the number of draws"),
        ({"size": None}, ValueError, "size is None; expected the number of draws"),
        ({"noise": "normal"}, ValueError, "noise is 'normal'; give one of 'gumbel', 'logistic'"),
        ({"noise": None}, ValueError, "noise is None; give one of 'gumbel', 'logistic'"),
    ],
)
def test_wrong_arguments_are_told_what_is_right(arguments, error, message):
    given_arguments = {"model": CorrelationClusters(affinities(3)), "size": 2, "rng": 0, **arguments}
    with pytest.raises(error, match=message):
        perturb_and_map(given_arguments.pop("model"), given_arguments.pop("size"), **given_arguments)


def test_too_many_leaves_are_refused_before_any_noise_is_drawn():
    generator = np.random.default_rng(0)
    with pytest.raises(pal.TrellisTooLarge, match="n = 45 leaves"):
        perturb_and_map(CorrelationClusters(np.zeros((45, 45))), 1, rng=generator)
    with pytest.raises(pal.TrellisTooLarge, match="n = 45 leaves"):
        perturb_and_map(CorrelationClusters(np.zeros((45, 45))), 0, rng=generator)


# What a search comes back with.


@pytest.mark.parametrize(
    ("log_potential", "bound", "gap"),
    [(-3.0, None, None), (-3.0, -2.0, 1.0), (-3.0, -3.0 - 1e-15, 0.0), (-np.inf, -np.inf, 0.0), (-np.inf, 1.0, np.inf)],
)
def test_a_gap_is_known_only_from_a_bound_and_never_negative(log_potential, bound, gap):
    assert FoundPartition(Partition([0, 1]), log_potential, bound).gap == gap


def test_a_found_partition_is_a_plain_record():
    found = FoundPartition(Partition([0, 0, 1]), 2.0, bound=2.5)
    assert repr(found).startswith("FoundPartition(partition=Partition([0, 0, 1]), log_potential=2.0, bound=2.5")
    assert found.hierarchy is None
    assert pickle.loads(pickle.dumps(found)) == found
    assert len({found, FoundPartition(Partition([5, 5, 3]), 2.0, 2.5)}) == 1
    assert found != Found(Hierarchy.from_nested(((0, 1), 2)), 2.0, 2.5)
    with pytest.raises(FrozenInstanceError):
        found.bound = 3.0
