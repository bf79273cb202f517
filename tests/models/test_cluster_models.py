"""Models of partitions: what a model must define, its log potentials against plain sums, and what it refuses."""

from __future__ import annotations

import copy
import itertools
import pickle
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numba import njit
from partition_cases import Charged, affinities
from partition_oracle import mask_of, members, pair_sum, partitions_of
from random_hierarchies import caterpillar, hierarchies

from palmette import HierarchyPosterior, Partition, PartitionPosterior
from palmette.models import ClusterFunction, ClusterModel, CorrelationClusters, PartitionModel, UniformPartitions
from palmette.models.evaluate import member_log_potentials, node_log_potentials


def charged(n, seed=0, limit=100.0):
    rng = np.random.default_rng(seed)
    additive = np.stack([rng.random(n), rng.integers(-2, 3, n)], axis=1)
    return Charged(n, theta=[2.0, limit], additive=additive, pairwise=[affinities(n, seed)])


def charged_formula(model, cluster):
    """The docstring of `Charged`, from lists of members."""
    x, charges = model.additive[list(cluster)].T
    if charges.sum() > model.theta[1]:
        return -np.inf
    return 0.1 * pair_sum(model.pairwise[0], sorted(cluster)) - model.theta[0] * abs(x.mean() - 1.0)


# What a model must define.


@pytest.mark.parametrize("missing", ["n_features", "features", "score"])
def test_what_a_model_does_not_define_is_named(missing):
    parts = {"n_features": 1, "features": Charged.features, "score": Charged.score}
    del parts[missing]
    incomplete = type("Incomplete", (ClusterModel,), parts)
    with pytest.raises(TypeError, match=f"Incomplete must define {missing}; see ClusterModel"):
        incomplete(3)


def test_a_model_that_defines_nothing_is_told_all():
    with pytest.raises(TypeError, match="ClusterModel must define n_features, features, score; see ClusterModel"):
        ClusterModel(3)


@pytest.mark.parametrize(
    ("name", "function", "message"),
    [
        ("score", lambda theta, parent, left, right: 0.0, "score takes (theta, parent, left, right); write it as a st"),
        ("score", lambda cluster: 0.0, "score takes (cluster); write it as a static method with (theta, cluster)"),
        ("score", njit(lambda theta: 0.0), "score takes (theta); write it as a static method with (theta, cluster)"),
        ("features", lambda theta, n, size, out: None, "method with (theta, n, size, sums, pairs, out)"),
        ("features", lambda self, theta, n, size, sums, pairs, out: None, "features takes (self, theta, n, size, sums"),
    ],
)
def test_a_function_of_the_wrong_parameters_is_refused_with_the_right_ones(name, function, message):
    with pytest.raises(TypeError, match=re.escape(message)):
        type("Wrong", (ClusterModel,), {name: function})
    with pytest.raises(TypeError, match=re.escape(message)):
        type("Wrong", (ClusterModel,), {name: staticmethod(function)})


@pytest.mark.parametrize("n_features", [0, -9, 1.0, "2"])
def test_a_number_of_features_that_no_model_has_is_refused(n_features):
    kind = type("Odd", (Charged,), {"n_features": n_features})
    with pytest.raises(ValueError, match=f"n_features is {n_features!r}; a model has a whole number of features"):
        kind(3, additive=np.zeros((3, 2)), theta=[0, 0])


@pytest.mark.parametrize(
    ("arrays", "error", "message"),
    [
        (
            {"additive": np.ones((2, 1))},
            ValueError,
            r"additive has shape \(2, 1\); expected \(3, d\): one row per leaf",
        ),
        ({"additive": np.ones(3)}, ValueError, r"additive has shape \(3,\); expected \(3, d\)"),
        (
            {"pairwise": [np.ones((2, 2))]},
            ValueError,
            r"pairwise has shape \(1, 2, 2\); expected matrices of shape \(3",
        ),
        ({"pairwise": [np.eye(3)[[1, 2, 0]]]}, ValueError, "a matrix in pairwise is not symmetric"),
        ({"theta": [1.0, np.nan]}, ValueError, "theta of Charged holds NaN or infinite values"),
        ({"additive": np.full((3, 1), np.inf)}, ValueError, "additive of Charged holds NaN or infinite values"),
        ({"theta": [1j]}, TypeError, "must be real numbers, not complex ones"),
        ({"labels": ["a", "a", "b"]}, ValueError, "labels must be distinct"),
    ],
)
def test_the_arrays_of_a_users_model_are_checked(arrays, error, message):
    with pytest.raises(error, match=message):
        Charged(3, **arrays)


def test_the_arrays_of_a_model_are_copies_that_nobody_can_change():
    x = np.ones((3, 2))
    model = Charged(3, theta=[1, 2], additive=x, pairwise=[np.ones((3, 3))])
    x[:] = 7.0
    assert (model.additive == 1.0).all()
    for array in (model.theta, model.additive, model.pairwise):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0.0


@pytest.mark.parametrize("duplicate", [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy], ids=["pickle", "copy"])
@pytest.mark.parametrize(
    "model",
    [
        charged(6),
        UniformPartitions(6, labels=list("abcdef")),
        CorrelationClusters(affinities(6), 0.7, labels=list("fedcba")),
        ClusterFunction(6, np.sqrt),
    ],
    ids=repr,
)
def test_a_copy_of_a_model_gives_the_same_numbers(model, duplicate):
    again = duplicate(model)
    assert type(again) is type(model)
    assert again.labels == model.labels
    assert repr(again) == repr(model) == f"{type(model).__name__}(n_leaves=6)"
    partition = Partition([0, 1, 0, 2, 2, 2], model.labels)
    assert again.log_potential(partition) == model.log_potential(partition)
    if isinstance(model, ClusterModel):
        assert not any(array.flags.writeable for array in (again.theta, again.additive, again.pairwise))
    assert PartitionPosterior(again).log_partition == PartitionPosterior(model).log_partition


def test_a_model_of_partitions_alone_scores_nothing():
    with pytest.raises(TypeError, match="PartitionModel does not say how to score a cluster"):
        PartitionModel(3).log_potential(Partition([0, 0, 1]))


def test_models_of_partitions_and_of_hierarchies_are_not_mistaken_for_each_other():
    with pytest.raises(TypeError, match="hand that to PartitionPosterior"):
        HierarchyPosterior(UniformPartitions(3))


# Log potentials of listed clusters.


def listed(clusters):
    offsets = np.append(0, np.cumsum([len(cluster) for cluster in clusters])).astype(np.int64)
    return offsets, np.array([leaf for cluster in clusters for leaf in cluster], dtype=np.int64)


@given(st.integers(1, 9), st.integers(0, 2**16), st.sampled_from([0.0, 100.0]), st.data())
def test_listed_clusters_have_the_log_potentials_of_the_formula(n, seed, limit, data):
    model = charged(n, seed, limit)
    cluster = st.permutations(range(n)).flatmap(lambda leaves: st.integers(1, n).map(lambda size: leaves[:size]))
    clusters = data.draw(st.lists(cluster, min_size=1, max_size=6))  # in any order, overlapping or not
    expected = [charged_formula(model, cluster) for cluster in clusters]
    np.testing.assert_allclose(member_log_potentials(model, *listed(clusters)), expected, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(model.log_potentials(*listed(clusters)), expected, rtol=1e-12, atol=1e-12)


def test_no_clusters_have_no_log_potentials():
    for model in (charged(4), UniformPartitions(4)):
        assert member_log_potentials(model, *listed([])).shape == (0,)


def test_members_may_be_any_integers():
    model = charged(5)
    offsets, leaves = listed([(4, 0), (1, 2, 3)])
    expected = member_log_potentials(model, offsets, leaves)
    same = member_log_potentials(model, offsets.astype(np.int32), np.repeat(leaves, 2)[::2].astype(np.uint8))
    np.testing.assert_array_equal(same, expected)


@given(hierarchies(max_leaves=12), st.integers(0, 2**16), st.sampled_from([0.0, 100.0]))
def test_nodes_of_any_hierarchy_have_the_log_potentials_of_their_clusters(h, seed, limit):
    model = charged(h.n_leaves, seed, limit)
    expected = [charged_formula(model, sorted(cluster)) for cluster in h.clusters()]
    np.testing.assert_allclose(node_log_potentials(model, h), expected, rtol=1e-11, atol=1e-11)


@given(hierarchies(max_leaves=12))
def test_pair_sums_of_a_multifurcation_count_every_pair_once(h):
    w = np.round(8 * affinities(h.n_leaves, seed=h.n_nodes))  # whole numbers: sums are exact
    found = node_log_potentials(CorrelationClusters(w), h)
    assert found.tolist() == [pair_sum(w, sorted(cluster)) for cluster in h.clusters()]


def test_a_star_has_the_pair_sum_of_all_leaves():
    n = 40
    star = "(" + ",".join(map(str, range(n))) + ");"
    w = np.round(8 * affinities(n))
    h = type(caterpillar(2)).from_newick(star).aligned_to(map(str, range(n)))
    found = node_log_potentials(CorrelationClusters(w), h)
    assert found.tolist() == [0.0] * n + [np.triu(w, 1).sum()]


# Log potentials of partitions.


def test_the_log_potential_of_a_partition_is_the_sum_over_its_clusters():
    model = charged(5, seed=1, limit=2.0)
    for clusters in partitions_of(5):
        expected = sum(charged_formula(model, members(mask)) for mask in clusters)
        partition = Partition.from_clusters(map(members, clusters))
        assert model.log_potential(partition) == pytest.approx(expected, rel=1e-12, abs=1e-12)


class Spread(ClusterModel):
    """log ψ(C) = −θ₀ − Σ (x − mean)² in two columns, from sums of x and of x²: no pair sums."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = -theta[0]
        for c in range(2):
            out[0] -= sums[2 + c] - sums[c] * sums[c] / size

    @staticmethod
    @njit
    def score(theta, cluster):
        return cluster[0]

    def __init__(self, points, penalty, **options):
        super().__init__(len(points), theta=[penalty], additive=np.hstack([points, points**2]), **options)


def test_a_thousand_leaves_with_sums_are_scored_in_no_time():
    rng = np.random.default_rng(0)
    x, membership = rng.normal(size=(1000, 2)), rng.integers(0, 30, 1000)
    names = [f"leaf {i}" for i in rng.permutation(1000)]
    model, partition = Spread(x, 3.5, labels=names), Partition(membership, names)
    parts = [x[membership == k] for k in range(30)]
    expected = sum(-3.5 - ((part - part.mean(axis=0)) ** 2).sum() for part in parts)
    assert model.log_potential(partition) == pytest.approx(expected, rel=1e-12)
    assert model.log_potential(partition.aligned_to(sorted(names))) == pytest.approx(expected, rel=1e-12)
    alone = Partition(range(1000), names)
    assert model.log_potential(alone) == pytest.approx(-3500.0, rel=1e-12)


def test_a_thousand_leaves_with_pair_sums_are_scored_as_well():
    rng = np.random.default_rng(1)
    membership = rng.integers(0, 4, 1000)
    w = affinities(1000)
    expected = 0.3 * np.triu(w * (membership[:, None] == membership), 1).sum()
    assert CorrelationClusters(w, 0.3).log_potential(Partition(membership)) == pytest.approx(expected, rel=1e-9)


def test_partitions_of_other_leaves_are_refused():
    with pytest.raises(ValueError, match="the labels do not match the 3 leaves"):
        UniformPartitions(3).log_potential(Partition([0, 0, 1], ["a", "b", "c"]))


def test_a_function_is_asked_about_the_masks_of_a_partition():
    asked = []

    def log_psi(clusters):
        asked.extend(clusters.tolist())
        return np.log(clusters)

    model = ClusterFunction(5, log_psi, labels=list("abcde"))
    value = model.log_potential(Partition([0, 1, 0, 2, 1], list("edcba")))  # by label: {e, c}, {d, a}, {b}
    assert sorted(asked) == sorted([mask_of([4, 2]), mask_of([3, 0]), mask_of([1])])
    assert value == pytest.approx(np.log(asked).sum(), rel=1e-14)


# Correlation clustering.


def test_affinities_within_minus_those_across_are_twice_the_log_potential_and_a_constant():
    w = affinities(6)
    total = np.triu(w, 1).sum()
    for clusters in partitions_of(6):
        partition = Partition.from_clusters(map(members, clusters))
        same = partition.membership[:, None] == partition.membership
        signed = np.triu(np.where(same, w, -w), 1).sum()
        assert 2 * CorrelationClusters(w).log_potential(partition) - total == pytest.approx(signed, abs=1e-12)


def test_the_diagonal_of_an_affinity_is_not_used_and_the_data_are_copied():
    w = affinities(4)
    np.fill_diagonal(w, [np.nan, 1e305, -3.0, np.inf])
    model = CorrelationClusters(w, 2)
    w[0, 1] = 99.0
    assert np.diag(model.affinity).tolist() == [0.0] * 4
    np.testing.assert_array_equal(model.affinity, affinities(4))
    assert model.beta == 2.0
    assert not model.may_forbid
    with pytest.raises(ValueError, match="read-only"):
        model.affinity[0, 1] = 0.0


def test_a_beta_of_zero_makes_all_partitions_alike():
    post = PartitionPosterior(CorrelationClusters(affinities(5), 0.0))
    assert post.log_partition == pytest.approx(np.log(52), rel=1e-13)


def test_the_largest_affinities_that_are_taken_give_finite_answers():
    w = affinities(5)
    post = PartitionPosterior(CorrelationClusters(w * (0.9e300 / np.abs(w).sum())))
    assert np.isfinite(post.log_partition)
    assert post.cluster_probability_array().max() == 1.0


def entry(i, j, value, mirrored=True):
    w = np.zeros((3, 3))
    w[i, j] = value
    if mirrored:
        w[j, i] = value
    return w


@pytest.mark.parametrize(
    ("affinity", "options", "error", "message"),
    [
        (np.ones((2, 3)), {}, ValueError, r"affinity has shape \(2, 3\); expected a square matrix"),
        (np.ones(3), {}, ValueError, r"affinity has shape \(3,\); expected a square matrix"),
        (np.ones((0, 0)), {}, ValueError, "affinity is empty; at least one leaf is needed"),
        (
            entry(0, 2, np.nan),
            {},
            ValueError,
            r"affinity holds nan at row 0, column 2 \(and 1 more\); entries must be f",
        ),
        (entry(1, 2, -np.inf), {}, ValueError, "affinity holds -inf at row 1, column 2"),
        (
            entry(0, 1, 1.0, mirrored=False),
            {},
            ValueError,
            r"affinity is not symmetric: entry \(0, 1\) is 1 but \(1, 0",
        ),
        (entry(0, 1, 1e301), {}, ValueError, r"affinity holds entries as large as 1e\+301, whose sums overflow"),
        (
            entry(0, 1, 1e200),
            {"beta": 1e150},
            ValueError,
            "affinity is too large: costs overflow; divide affinity, or b",
        ),
        ([["a", "b"], ["b", "a"]], {}, TypeError, "affinity must be an array of real numbers, not list"),
        (np.ones((2, 2)) * 1j, {}, TypeError, "affinity must be an array of real numbers, not ndarray"),
        (
            np.ones((2, 2)),
            {"beta": -1.0},
            ValueError,
            "beta is -1.0; the inverse temperature must be finite and at lea",
        ),
        (np.ones((2, 2)), {"beta": np.nan}, ValueError, "beta is nan; the inverse temperature must be finite"),
        (np.ones((2, 2)), {"beta": np.inf}, ValueError, "beta is inf; the inverse temperature must be finite"),
        (np.ones((2, 2)), {"beta": True}, TypeError, "beta must be a number, not True"),
        (np.ones((2, 2)), {"beta": "1"}, TypeError, "beta must be a number, not '1'"),
        (np.ones((2, 2)), {"labels": ["a"]}, ValueError, "label"),
        (np.ones((2, 2)), {"labels": ["a", "a"]}, ValueError, "labels must be distinct"),
    ],
)
def test_what_is_no_affinity_is_refused(affinity, options, error, message):
    with pytest.raises(error, match=message):
        CorrelationClusters(affinity, **options)


def test_asymmetry_of_the_size_of_rounding_is_averaged_out():
    w = affinities(4)
    w[0, 1] += 1e-12
    np.testing.assert_array_equal(CorrelationClusters(w).affinity, (w + w.T) / 2)


# Every partition alike.


def test_every_partition_has_the_same_log_potential():
    model = UniformPartitions(4, labels=list("wxyz"))
    assert model.labels == ("w", "x", "y", "z")
    assert not model.may_forbid
    for clusters in partitions_of(4):
        assert model.log_potential(Partition.from_clusters(map(members, clusters), model.labels)) == 0.0
    np.testing.assert_array_equal(trellis_table(model), [-np.inf] + [0.0] * 15)


def trellis_table(model):
    return PartitionPosterior(model).passes.log_psi


@pytest.mark.parametrize(
    ("n", "error", "message"),
    [
        (0, ValueError, "at least one leaf; the data have 0"),
        (-2, ValueError, "at least one leaf; the data have -2"),
        (2.0, TypeError, "the number of leaves must be an integer, not float"),
        (True, TypeError, "the number of leaves must be an integer, not bool"),
        ("3", TypeError, "the number of leaves must be an integer, not str"),
    ],
)
def test_a_number_of_leaves_that_is_none_is_refused(n, error, message):
    for make in (UniformPartitions, lambda n: ClusterFunction(n, np.sqrt), Charged):
        with pytest.raises(error, match=message):
            make(n)


def test_any_whole_number_counts_leaves():
    assert UniformPartitions(np.int64(3)).n_leaves == 3
    assert UniformPartitions(3).labels == ("0", "1", "2")


def test_all_clusters_are_tabulated_as_they_are_scored_one_by_one():
    for model in (charged(11, limit=1.0), CorrelationClusters(affinities(11), 0.4)):
        clusters = [members(mask) for mask in range(1, 1 << 11)]
        expected = model.log_potentials(*listed(clusters))
        np.testing.assert_allclose(trellis_table(model)[1:], expected, rtol=1e-10, atol=1e-10)


def test_many_pair_matrices_and_sums_are_kept_apart():
    """Each feature sees its own statistic: sums in columns, pair sums in matrices."""

    class Raw(ClusterModel):
        n_features = 4

        @staticmethod
        def features(theta, n, size, sums, pairs, out):
            out[0] = sums[0] + 10.0 * sums[1]
            out[1] = pairs[0] + 100.0 * pairs[1]
            out[2] = size * n
            out[3] = theta[1]

        @staticmethod
        def score(theta, cluster):
            return cluster[0] + 3.0 * cluster[1] + 0.5 * cluster[2] + cluster[3] * theta[0]

    n = 5
    rng = np.random.default_rng(2)
    additive = rng.integers(0, 5, (n, 2)).astype(float)
    one, two = (np.round(4 * affinities(n, seed)) for seed in (0, 1))
    model = Raw(n, theta=[2.0, 7.0], additive=additive, pairwise=[one, two])

    def formula(cluster):
        x, y = additive[list(cluster)].sum(axis=0)
        pairs = pair_sum(one, cluster) + 100.0 * pair_sum(two, cluster)
        return x + 10.0 * y + 3.0 * pairs + 0.5 * len(cluster) * n + 14.0

    clusters = [c for size in range(1, n + 1) for c in itertools.combinations(range(n), size)]
    assert model.log_potentials(*listed(clusters)).tolist() == [formula(cluster) for cluster in clusters]
    assert trellis_table(model)[1:].tolist() == [formula(members(mask)) for mask in range(1, 1 << n)]
    h = caterpillar(n)
    assert node_log_potentials(model, h).tolist() == [formula(sorted(cluster)) for cluster in h.clusters()]
