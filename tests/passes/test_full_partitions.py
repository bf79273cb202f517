"""All partitions of a few leaves: every table against its slow twin, what states offer, clusters, counts."""

from __future__ import annotations

import functools
import itertools
import math
import time

import numpy as np
import pytest
from partition_cases import affinities, table_model
from partition_oracle import SlowTwin, conditioned_table, mask_of, members, pair_sum, partitions_of

import palmette as pal
from palmette import Partition, PartitionPosterior
from palmette.models import ClusterFunction, ClusterModel, CorrelationClusters, UniformPartitions, cluster_model
from palmette.models.cluster_model import PartitionModel
from palmette.passes.partitions import counted, full, segments
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.trellis.counting import bell_number, double_factorial, exact_count, stirling_numbers

N = 11  # two leaves more than a segment has


def conditions_on(model, require=(), forbid=(), together=(), apart=()):
    return PartitionConditions(model.labels).and_also(require, forbid, together, apart)


def passes_of(model, n_clusters=None, given=None):
    conditions = conditions_on(model, **(given or {}))
    if n_clusters is None:
        return FullPartitionPasses(model, conditions)
    return CountedPartitionPasses(model, conditions.and_also(n_clusters=n_clusters))


@pytest.fixture
def in_segments(monkeypatch):
    """The path of many leaves, on few."""
    monkeypatch.setattr(segments, "SERIAL", 9)


@pytest.fixture
def one_by_one(monkeypatch):
    """Every set in log space, on any number of leaves."""
    monkeypatch.setattr(segments, "SERIAL", 30)


def random_table(n, seed=0, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    table = scale * rng.normal(size=1 << n)
    table[rng.random(1 << n) < forbidden] = -np.inf
    table[0] = -np.inf
    return table


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


def pairs_only(clusters):
    return np.where(np.bitwise_count(clusters) == 2, 0.0, -np.inf)


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


# The table of clusters.


def test_clusters_are_named_by_their_masks():
    passes = passes_of(UniformPartitions(5))
    assert passes.find([0, 3]) == 0b1001
    assert passes.members(0b10110) == (1, 2, 4)
    assert passes.shared([0, 3]).tolist() == [(mask & 0b1001).bit_count() for mask in range(32)]
    assert passes.sizes.tolist() == [mask.bit_count() for mask in range(32)]


@pytest.mark.parametrize("n", [1, 4, 10, 12])
def test_a_compiled_model_is_tabulated_as_its_formula_says(n):
    w = affinities(n)
    table = passes_of(CorrelationClusters(w, 0.7)).log_psi
    assert table[0] == -np.inf
    expected = [0.7 * pair_sum(w, members(mask)) for mask in range(1, 1 << n)]
    np.testing.assert_allclose(table[1:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("at_a_time", [2, 8, 64])
def test_a_function_is_asked_about_every_cluster_once_some_at_a_time(at_a_time, monkeypatch):
    monkeypatch.setattr(cluster_model, "_CALL", at_a_time)
    asked = []

    def log_psi(clusters):
        assert clusters.dtype == np.int64
        assert len(clusters) <= at_a_time
        asked.extend(clusters.tolist())
        return -0.5 * clusters

    n = 5
    table = passes_of(ClusterFunction(n, log_psi)).log_psi
    assert asked == list(range(1, 32))
    assert table[1:].tolist() == [-0.5 * mask for mask in range(1, 32)]


@pytest.mark.parametrize(
    "given",
    [
        {"require": [0b11, 0b10000]},
        {"forbid": [0b1, 0b1111]},
        {"together": [0b101, 0b110]},
        {"apart": [0b11100]},
        {"require": [0b1], "forbid": [0b10], "together": [0b1100], "apart": [0b10010]},
    ],
    ids=str,
)
def test_clusters_that_break_a_condition_are_impossible(given):
    table = random_table(5, seed=6, forbidden=0.2)
    leaves = {kind: [members(mask) for mask in masks] for kind, masks in given.items()}
    found = passes_of(table_model(table), given=leaves).log_psi
    np.testing.assert_array_equal(found, conditioned_table(5, table, **given))


def test_a_model_that_scores_no_cluster_cannot_be_tabulated():
    with pytest.raises(TypeError, match="PartitionModel does not say how to score a cluster"):
        _ = PartitionPosterior(PartitionModel(3)).log_partition


class Broken(ClusterModel):
    """log ψ = θ₀ for clusters of two, else 0."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = theta[0] if size == 2 else 0.0

    @staticmethod
    def score(theta, cluster):
        return np.nan if cluster[0] > 5.0 else cluster[0] / 0.0 if cluster[0] > 0.0 else 0.0

    def __init__(self, n_leaves, value):
        super().__init__(n_leaves, theta=[value])


@pytest.mark.parametrize("value", [1.0, 10.0], ids=["inf", "nan"])
def test_a_users_model_that_returns_nan_or_inf_is_named(value):
    model = Broken(4, value)
    message = "Broken.score returned NaN or inf; a log potential is finite or -inf"
    for verb in (
        lambda: PartitionPosterior(model).log_partition,
        PartitionPosterior(model).map,
        lambda: PartitionPosterior(model).condition(n_clusters=2).count,
        lambda: model.log_potential(Partition([0, 0, 1, 1])),
        lambda: pal.search.best_cut(model, pal.Hierarchy.from_nested(((0, 1), (2, 3)))),
    ):
        with pytest.raises(ValueError, match=message):
            verb()
    assert model.log_potential(Partition([0, 0, 0, 1])) == 0.0
    assert PartitionPosterior(Broken(4, 0.0)).count == 15


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda clusters: 0.0, r"returned an array of shape \(\) for 7 clusters; expected \(7,\)"),
        (lambda clusters: np.zeros((len(clusters), 1)), r"returned an array of shape \(7, 1\) for 7 clusters"),
        (lambda clusters: [0.0] * (len(clusters) + 1), r"returned an array of shape \(8,\) for 7 clusters"),
        (
            lambda clusters: np.where(clusters == 6, np.nan, 0.0),
            "returned nan for the cluster .*1.*2.*; log potentials are finite or -inf",
        ),
        (
            lambda clusters: np.where(clusters == 5, np.inf, 0.0),
            "returned inf for the cluster .*0.*2.*; log potentials are finite or -inf",
        ),
    ],
)
def test_a_function_that_returns_what_is_no_log_potential_is_told_so(function, message):
    post = PartitionPosterior(ClusterFunction(3, function))
    for verb in (post.map, lambda: post.log_partition):
        with pytest.raises(ValueError, match=f"the cluster function {message}"):
            verb()


def test_a_function_sees_at_most_63_leaves():
    with pytest.raises(ValueError, match="64-bit masks: at most 63 leaves, not 64; write a ClusterModel"):
        ClusterFunction(64, pairs_only)
    model = ClusterFunction(63, lambda clusters: np.where(clusters > 2**62, -1.0, 2.0))
    assert model.log_potential(Partition([0] * 62 + [1])) == 4.0
    assert model.log_potential(Partition([0] * 61 + [1, 1])) == 1.0
    with pytest.raises(TypeError, match="expected a function of an array of masks, not 3"):
        ClusterFunction(3, 3)


# Counts.


def test_stirling_numbers_count_partitions_by_their_number_of_clusters():
    for n in range(9):
        sizes = [len(clusters) for clusters in partitions_of(n)]
        assert stirling_numbers(n) == [sizes.count(k) for k in range(n + 1)]
        assert bell_number(n) == len(sizes)


def test_stirling_numbers_follow_their_closed_form():
    for n, k in itertools.product(range(31), repeat=2):
        if k <= n:
            alternating = sum((-1) ** (k - j) * math.comb(k, j) * j**n for j in range(k + 1))
            assert stirling_numbers(n)[k] * math.factorial(k) == alternating


def test_bell_numbers_are_those_in_the_books():
    """Aitken's array, and the number for thirty leaves as it is printed."""
    row = [1]
    for n in range(1, 31):
        assert bell_number(n) == row[-1]
        row = list(itertools.accumulate(row, initial=row[-1]))
    assert bell_number(30) == 846_749_014_511_809_332_450_147


@pytest.mark.parametrize("n", range(24, 31))
def test_numbers_beyond_64_bits_are_put_together_from_remainders(n):
    bound = bell_number(n)
    for number in (bound, bound - 1, bound // 3, 2**63, 12, 0):
        asked = []

        def count_modulo(modulus, number=number, asked=asked):
            asked.append(modulus)
            return number % (modulus or 2**64)

        assert exact_count(count_modulo, bound) == number
        assert asked[0] == 0
        assert len(asked) == (1 if n <= 25 else 2)


def test_bounds_far_beyond_ask_for_more_primes():
    number = 3**100 + 12345  # 2^158
    assert exact_count(lambda modulus: number % (modulus or 2**64), 3**101) == number
    asked = []
    assert exact_count(lambda modulus: asked.append(modulus) or 7, 2**64 - 1) == 7
    assert asked == [0]
    assert exact_count(lambda modulus: asked.append(modulus) or 7, 2**64) == 7
    assert len(asked) == 3


@pytest.mark.parametrize("n", [26, 30])
def test_models_that_forbid_nothing_are_counted_without_a_pass(n):
    post = PartitionPosterior(UniformPartitions(n), max_memory=int(1e15))
    begin = time.monotonic()
    assert post.count == bell_number(n) > 2**64
    assert post.condition(n_clusters=9).count == stirling_numbers(n)[9]
    assert time.monotonic() - begin < 1.0


def test_a_count_modulo_a_number_is_the_remainder_of_the_count():
    table = random_table(13, seed=9, forbidden=0.3)
    whole, by_number = passes_of(table_model(table)), [passes_of(table_model(table), k) for k in range(1, 14)]
    assert sum(passes.count() for passes in by_number) == whole.count() == SlowTwin(13, table).count > 2**20
    for passes, modulus in itertools.product((whole, by_number[3]), (0, 97, 4294967291)):
        assert passes._count_modulo(modulus) == passes.count() % (modulus or 2**64)


@pytest.mark.parametrize("k", [None, 4])
def test_a_trellis_puts_its_count_together_from_several_passes(k, monkeypatch):
    """As if thirteen leaves could have more than 2^90 partitions."""
    monkeypatch.setattr(full, "bell_number", lambda n: 2**90)
    monkeypatch.setattr(counted, "stirling_numbers", lambda n: [2**90] * (n + 1))
    asked = []
    kind = FullPartitionPasses if k is None else CountedPartitionPasses
    count_modulo = kind._count_modulo
    monkeypatch.setattr(
        kind, "_count_modulo", lambda self, modulus: asked.append(modulus) or count_modulo(self, modulus)
    )
    passes = passes_of(table_model(np.zeros(1 << 13)), k)
    assert passes.count() == (bell_number(13) if k is None else stirling_numbers(13)[4])
    assert len(asked) == 2


def test_a_model_that_forbids_nothing_is_counted_by_a_pass_under_conditions():
    model = UniformPartitions(13)
    assert passes_of(model, given={"together": [[0, 12]]}).count() == bell_number(12)
    assert passes_of(model, 5, given={"require": [[3]]}).count() == stirling_numbers(12)[4]
