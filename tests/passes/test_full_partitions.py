"""All partitions of a few leaves: every table against its slow twin, and what states offer."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from full_partition_cases import pairs_only, passes_of, random_table
from partition_cases import affinities, table_model
from partition_oracle import SlowTwin, conditioned_table, mask_of, partitions_of

import palmette as pal
from palmette import Partition, PartitionPosterior
from palmette.models import ClusterFunction, CorrelationClusters, UniformPartitions
from palmette.passes.partitions import segments
from palmette.trellis.counting import double_factorial

N = 11  # two leaves more than a segment has


@pytest.fixture
def in_segments(monkeypatch):
    """The path of many leaves, on few."""
    monkeypatch.setattr(segments, "SERIAL", 9)


@pytest.fixture
def one_by_one(monkeypatch):
    """Every set in log space, on any number of leaves."""
    monkeypatch.setattr(segments, "SERIAL", 30)


TABLES = {
    "moderate": random_table(N),
    "cold": random_table(N, scale=400.0),
    "half forbidden": random_table(N, forbidden=0.5),
    "nearly all forbidden": random_table(N, forbidden=0.98),
    "steep": random_table(N) + 1e3 * np.bitwise_count(np.arange(1 << N)),
}


@functools.cache
def twin(name):
    return SlowTwin(N, TABLES[name])


def log_sums(terms):
    top = terms.max(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(top > -np.inf, top + np.log(np.exp(terms - top[:, None]).sum(axis=1)), -np.inf)


# Tables over all sets.


@pytest.mark.parametrize("way", ["one_by_one", "in_segments"])
@pytest.mark.parametrize("name", TABLES)
def test_sums_and_maxima_of_all_sets_match_the_twin(name, way, request):
    request.getfixturevalue(way)
    slow, passes = twin(name), passes_of(table_model(TABLES[name]))
    Z, M = passes.inside(), passes.maximum()
    np.testing.assert_allclose(Z, log_sums(slow.layers), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M, slow.best.max(axis=1)[: 1 << (N - 1)], rtol=1e-12, atol=1e-12)
    assert passes.log_partition(Z) == Z[-1]
    assert passes.sum_of_all(Z) == pytest.approx(Z[-1], rel=1e-12)
    np.testing.assert_allclose(passes.log_partitions_by_number(), slow.layers[-1], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", ["one_by_one", "in_segments"])
@pytest.mark.parametrize("name", TABLES)
@pytest.mark.parametrize("k", [1, 2, 4, N])
def test_sums_and_maxima_for_a_number_of_clusters_match_the_twin(name, k, way, request):
    request.getfixturevalue(way)
    slow, passes = twin(name), passes_of(table_model(TABLES[name]), k)
    Z, M = passes.inside(), passes.maximum()
    half = 1 << (N - 1)
    np.testing.assert_allclose(Z, slow.layers[:half, :k].T, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(M, slow.best[:half, :k].T, rtol=1e-12, atol=1e-12)
    assert passes.log_partition(Z) == pytest.approx(slow.layers[-1, k], rel=1e-12)
    expected = np.full(N + 1, -np.inf)
    expected[k] = slow.layers[-1, k]
    np.testing.assert_allclose(passes.log_partitions_by_number(), expected, rtol=1e-12)


@pytest.mark.parametrize("way", ["one_by_one", "in_segments"])
@pytest.mark.parametrize("k", [1, 2, 5, N])
def test_a_layer_is_computed_for_all_sets_that_there_is_room_for(k, way, request):
    request.getfixturevalue(way)
    slow, passes = twin("half forbidden"), passes_of(table_model(TABLES["half forbidden"]))
    for room in (1 << (N - 1), 1 << N):
        out = np.full(room, 7.0)
        before = np.ascontiguousarray(slow.layers[: 1 << (N - 1), k - 1])
        with passes.clusters.workers("a layer", 1.0) as workers:
            passes.sum_layer(workers, k, before, out)
        np.testing.assert_allclose(out, slow.layers[:room, k], rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("way", ["one_by_one", "in_segments"])
def test_draws_have_the_clusters_and_the_log_potentials_that_they_say(way, request):
    request.getfixturevalue(way)
    table = TABLES["half forbidden"]
    for k in (None, 4):
        passes = passes_of(table_model(table), k)
        memberships, log_potentials = passes.draw(passes.inside(), 300, seed=5)
        for row, value in zip(memberships, log_potentials, strict=True):
            clusters = list(map(mask_of, Partition(row.astype(int)).clusters()))
            assert k in (None, len(clusters))
            assert value == pytest.approx(table[clusters].sum(), rel=1e-13)


# Sums in and out of the safe range.


def test_a_term_is_not_lost_because_one_of_its_factors_underflows():
    """Of two partitions the better one, at 1200 − 700, has a factor far below the range and another far above it."""
    values = {0xFFF: 1200.0, 0x1000: -700.0, 0x1FFF: 0.0}
    post = PartitionPosterior(ClusterFunction(13, lambda clusters: [values.get(c, -np.inf) for c in clusters.tolist()]))
    assert post.count == 2
    assert post.log_potential(post.map()) == 500.0
    assert post.log_partition == pytest.approx(500.0, rel=1e-12)


@pytest.mark.parametrize("beta", [100.0, 200.0, 1e3, 1e6, 1e15, 1e20, 1e290])
def test_sums_beyond_the_range_of_float64_are_done_again_exactly(beta, monkeypatch):
    model = CorrelationClusters(affinities(13), beta)
    fast = passes_of(model)
    (Z, n_unsafe), M = fast.segments.sums(), fast.maximum()
    numbers = fast.log_partitions_by_number()
    assert n_unsafe > 0
    monkeypatch.setattr(segments, "SERIAL", 30)
    slow = passes_of(model)
    slow_Z, n_unsafe = slow.segments.sums()
    assert n_unsafe == 0
    np.testing.assert_allclose(Z, slow_Z, rtol=1e-12, atol=1e-12)
    np.testing.assert_array_equal(M, slow.maximum())
    np.testing.assert_allclose(numbers, slow.log_partitions_by_number(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("tilt", [-1e12, -1e3, 0.0, 1e3, 1e12])
def test_what_is_linear_in_the_size_costs_no_digits_and_no_second_pass(tilt, monkeypatch):
    table = random_table(13, seed=2) + tilt * np.bitwise_count(np.arange(1 << 13))
    fast = passes_of(table_model(table))
    Z, n_unsafe = fast.segments.sums()
    assert n_unsafe == 0
    monkeypatch.setattr(segments, "SERIAL", 30)
    np.testing.assert_allclose(Z, passes_of(table_model(table)).inside(), rtol=1e-12)


@pytest.mark.parametrize(
    "given",
    [
        {"together": [[0, 1]]},
        {"together": [[0, 13], [5, 6, 7]]},
        {"together": [[0, 1], [1, 2], [2, 9]]},
        {"together": [list(range(10))]},
        {"require": [[3, 4, 12]]},
        {"require": [[3, 4, 12]], "together": [[0, 1]], "apart": [[0, 2, 5]], "forbid": [[8, 9]]},
    ],
    ids=str,
)
def test_sets_that_conditions_make_impossible_are_not_done_again(given):
    model = CorrelationClusters(affinities(14))
    passes = passes_of(model, given=given)
    Z, n_unsafe = passes.segments.sums()
    assert n_unsafe == 0
    blocks = [mask_of(group) for group in (*given.get("together", ()), *given.get("require", ()))]
    masks = np.arange(1 << 14)
    split = np.any([((masks & block) != 0) & ((masks & block) != block) for block in blocks], axis=0)
    np.testing.assert_array_equal(Z[split], -np.inf)
    assert np.isfinite(Z[-1])
    masked = {kind: [mask_of(group) for group in groups] for kind, groups in given.items()}
    plain = passes_of(table_model(conditioned_table(14, passes_of(model).log_psi, **masked)))
    np.testing.assert_allclose(Z, plain.inside(), rtol=1e-12)


@pytest.mark.parametrize("n", [2, 12, 14])
def test_a_model_of_pairs_has_as_many_partitions_as_there_are_matchings(n):
    post = PartitionPosterior(ClusterFunction(n, pairs_only))
    matchings = double_factorial(n - 1)
    assert post.count == matchings
    assert post.log_partition == pytest.approx(math.log(matchings), rel=1e-13, abs=1e-14)
    assert post.map().sizes.tolist() == [2] * (n // 2)
    assert post.cluster_probability([0, 1]) == pytest.approx(1 / (n - 1), rel=1e-12)
    assert post.n_clusters_probabilities()[n // 2] == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n", [1, 3, 13])
def test_an_odd_number_of_leaves_has_no_partition_into_pairs(n):
    post = PartitionPosterior(ClusterFunction(n, pairs_only))
    assert post.count == 0
    assert post.log_partition == -np.inf
    for verb in (post.map, post.coclustering, lambda: post.entropy):
        with pytest.raises(pal.ImpossibleData):
            verb()


@pytest.mark.parametrize("n", [1, 9, 13])
@pytest.mark.parametrize("k", [None, 1, "n"])
def test_where_all_is_impossible_every_table_says_so(n, k):
    model = ClusterFunction(n, lambda clusters: np.full(len(clusters), -np.inf))
    passes = passes_of(model, n if k == "n" else k)
    Z = passes.inside()
    assert passes.log_partition(Z) == -np.inf
    assert passes.best_path(passes.maximum()) is None
    assert passes.count() == 0
    assert (passes.log_partitions_by_number() == -np.inf).all()
    assert not np.isnan(Z).any()


def test_one_leaf_is_a_trellis():
    for k in (None, 1):
        passes = passes_of(table_model(np.array([0.0, 2.5])), k)
        Z, M = passes.inside(), passes.maximum()
        assert passes.log_partition(Z) == 2.5
        assert passes.best_path(M) == [1]
        assert passes.count() == 1
        assert passes.log_partitions_by_number().tolist() == [-np.inf, 2.5]
        assert passes.outside(Z).tolist() == [0.0, 1.0]
        memberships, log_potentials = passes.draw(Z, 3, seed=0)
        assert memberships.tolist() == [[0]] * 3
        assert log_potentials.tolist() == [2.5] * 3


# What a state offers.


@pytest.mark.parametrize("k", [None, 3])
def test_choices_lead_from_a_state_to_what_is_left(k):
    n = 5
    table = random_table(n, seed=1)
    passes = passes_of(table_model(table), k)
    M, full = passes.maximum(), (1 << n) - 1
    clusters, left, values = passes.choices(passes.start, M)
    assert clusters.tolist() == list(range(16, 32))
    to_come = 0 if k is None else (k - 1) << n
    assert left.tolist() == [to_come + (full ^ cluster) for cluster in range(16, 32)]
    rest = M if k is None else M[k - 1]
    assert values.tolist() == [table[cluster] + rest[full ^ cluster] for cluster in range(16, 32)]


def test_equal_choices_go_to_the_lowest_cluster_each_time():
    passes = passes_of(UniformPartitions(5))
    assert passes.best_path(passes.maximum()) == [16, 8, 4, 2, 1]
    passes = passes_of(UniformPartitions(5), 2)
    assert passes.best_path(passes.maximum()) == [16, 15]
    assert passes.partition_of([16, 15]) == Partition([0, 0, 0, 0, 1])


@pytest.mark.parametrize("k", [None, 1, 2, 3, 5])
def test_the_sum_over_partitions_with_given_clusters_is_that_of_the_list(k):
    n, table = 5, random_table(5, seed=3)
    passes = passes_of(table_model(table), k)
    Z = passes.inside()
    for clusters in ([0b1], [0b11111], [0b10001], [0b110, 0b1001], [0b1, 0b10, 0b11100], [0b10000, 0b1]):
        listed = [p for p in partitions_of(n) if p >= set(clusters) and k in (None, len(p))]
        values = np.array([table[list(p)].sum() for p in listed])
        expected = np.log(np.exp(values).sum()) if len(values) else -np.inf
        assert passes.log_joint(clusters, Z) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize("k", [None, 2])
def test_the_splits_of_a_set_are_its_pairs_of_parts(k):
    table = random_table(5, seed=4)
    passes = passes_of(table_model(table), k)
    left, right, values = passes.splits([0, 2, 4])
    possible = values > -np.inf
    found = {frozenset(pair): v for *pair, v in zip(left.tolist(), right.tolist(), values, strict=True)}
    assert possible.sum() == 3
    for one, two in ((0b1, 0b10100), (0b100, 0b10001), (0b10000, 0b101)):
        assert found[frozenset((one, two))] == table[one] + table[two]


def test_sums_over_leaves_and_over_clusters_are_plain_sums():
    passes = passes_of(UniformPartitions(4))
    values = np.random.default_rng(0).random(16)
    by_leaf = [sum(values[mask] for mask in range(16) if mask >> leaf & 1) for leaf in range(4)]
    np.testing.assert_allclose(passes.leaf_sums(values), by_leaf, rtol=1e-14)
    shares = np.array([1.0, 2.0, 4.0, 8.0])
    assert passes.cluster_sums(shares).tolist() == list(range(16))
