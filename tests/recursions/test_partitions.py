"""Every kernel of partitions beside its slow twin: the definition, in plain Python loops."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_oracle import members, subsets

from palmette import Partition
from palmette.numeric import unit_draw
from palmette.recursions.partitions import full, segments
from palmette.recursions.partitions.draws import draw_clusters, renumber
from palmette.recursions.partitions.segments import max_segments, sum_segments
from palmette.recursions.partitions.sparse import add_pairs

N = 10  # one leaf more than a tile of subsets and the highest leaf take


def taken_first(mask):
    """The clusters of a set that hold its highest leaf, by increasing mask."""
    highest = 1 << (mask.bit_length() - 1)
    return sorted(int(sub) | highest for sub in subsets(mask ^ highest))


def terms(E, V, mask):
    return [E[cluster] + V[mask ^ cluster] for cluster in taken_first(mask)]


def slow_log_sum(values):
    top = max(values)
    return top if top == -math.inf else top + math.log(math.fsum(math.exp(x - top) for x in values))


def random_tables(seed, n=N, scale=1.0, forbidden=0.0):
    """Two tables of logarithms by mask, with some entries impossible."""
    rng = np.random.default_rng(seed)
    tables = scale * rng.normal(size=(2, 1 << n))
    tables[rng.random(tables.shape) < forbidden] = -np.inf
    return tables


def as_masks(values):
    return np.array(values, dtype=np.uint32)


every = np.arange(1, 1 << N, dtype=np.uint32)
tables = st.builds(
    random_tables,
    st.integers(0, 2**32 - 1),
    scale=st.sampled_from([0.0, 1.0, 1e3, 1e6]),
    forbidden=st.sampled_from([0.0, 0.5, 0.97, 1.0]),
)
mask_lists = st.lists(st.integers(1, (1 << N) - 1), max_size=8, unique=True)


@given(st.integers(1, 2**64 - 1))
def test_the_highest_leaf_is_the_highest_bit(mask):
    assert full.highest_leaf(np.uint64(mask)) == 1 << (mask.bit_length() - 1)


def test_the_highest_leaf_of_every_single_and_every_full_set():
    for leaf in range(64):
        assert full.highest_leaf(np.uint64(1 << leaf)) == 1 << leaf
        assert full.highest_leaf(np.uint64((2 << leaf) - 1)) == 1 << leaf


# Listed sets, in log space.


@given(tables, mask_lists)
def test_sums_and_maxima_of_listed_sets_are_those_of_their_terms(both, masks):
    E, V = both
    for kernel, slow in ((full.sum_sets, slow_log_sum), (full.max_sets, max)):
        out = np.full(1 << N, 99.0)
        kernel(E, V, as_masks(masks), out)
        for mask in masks:
            assert out[mask] == pytest.approx(slow(terms(E, V, mask)), rel=1e-13, abs=1e-13)
        untouched = np.setdiff1d(np.arange(1 << N), masks)
        assert (out[untouched] == 99.0).all()


@pytest.mark.parametrize("forbidden", [0.0, 0.6])
def test_increasing_sets_can_be_solved_in_place(forbidden):
    E, _ = random_tables(5, forbidden=forbidden)
    for kernel, slow in ((full.sum_sets, slow_log_sum), (full.max_sets, max)):
        V = np.full(1 << N, np.nan)
        V[0] = 0.0
        kernel(E, V, every, V)
        expected = [0.0]
        for mask in range(1, 1 << N):
            expected.append(slow(terms(E, expected, mask)))
        np.testing.assert_allclose(V, expected, rtol=1e-12, atol=1e-12)


def test_a_maximum_is_the_very_number_it_is_made_of():
    E, V = random_tables(6, scale=1e3)
    out = np.empty(1 << N)
    full.max_sets(E, V, every, out)
    assert out[1:].tolist() == [max(terms(E, V, mask)) for mask in range(1, 1 << N)]


def test_one_huge_term_is_the_sum_and_equal_terms_add_up():
    E, V = np.zeros(1 << N), np.zeros(1 << N)
    out = np.empty(1 << N)
    full.sum_sets(E, V, every, out)
    np.testing.assert_allclose(out[1:], [(mask.bit_count() - 1) * math.log(2) for mask in range(1, 1 << N)], atol=1e-14)
    E[-1] = 1e300
    full.sum_sets(E, V, as_masks([(1 << N) - 1]), out)
    assert out[-1] == 1e300


# Counts.


@pytest.mark.parametrize("modulus", [0, 7, 4294967291])
@pytest.mark.parametrize("forbidden", [0.0, 0.5, 1.0])
def test_counts_of_listed_sets_are_sums_of_whole_numbers(modulus, forbidden):
    E = random_tables(7, forbidden=forbidden)[0]
    rng = np.random.default_rng(1)
    V = rng.integers(0, modulus or 2**64 - 1, 1 << N, dtype=np.uint64)  # sums of these wrap around many times
    out = np.full(1 << N, 12345, dtype=np.uint64)
    masks = np.unique(rng.integers(1, 1 << N, 200)).astype(np.uint32)
    full.count_sets(E, V, np.uint64(modulus), masks, out)
    for mask in masks.tolist():
        total = sum(int(V[mask ^ cluster]) for cluster in taken_first(mask) if E[cluster] > -np.inf)
        assert int(out[mask]) == total % (modulus or 2**64)
    assert (out[np.setdiff1d(np.arange(1 << N), masks)] == 12345).all()


# What can be taken.


@pytest.mark.parametrize("mask", [1, 0b10, 0b11, 0b1010_0110, (1 << N) - 1])
def test_choices_are_all_clusters_of_the_highest_leaf_by_increasing_mask(mask):
    E, V = random_tables(8, forbidden=0.2)
    clusters = np.empty(1 << (mask.bit_count() - 1), dtype=np.uint32)
    values = np.empty(len(clusters))
    full.choice_values(E, V, np.uint64(mask), clusters, values)
    assert clusters.tolist() == taken_first(mask)
    assert values.tolist() == terms(E, V, mask)


# Segments: all sets of a range of tops at once.


def slow_segments(combine, clusters, rest, mask, segment):
    """⊕ clusters[C] ⊗ rest[S ∖ C] over the C ⊆ S that hold the highest leaf of the top of S."""
    highest = 1 << (mask.bit_length() - 1)
    found = [int(sub) | highest for sub in subsets(mask ^ highest)]
    assert highest >= segment
    if combine is sum_segments:
        return math.fsum(clusters[C] * rest[mask ^ C] for C in found)
    return max(clusters[C] + rest[mask ^ C] for C in found)


@pytest.mark.parametrize("combine", [sum_segments, max_segments], ids=["sum", "maximum"])
@pytest.mark.parametrize(("middle", "top"), [(0, 1), (0, 4), (1, 3), (2, 2), (3, 3), (6, 1)])
def test_segments_are_combined_as_their_sets_are_one_by_one(combine, middle, top):
    n, segment = 3 + middle + top, 8 << middle
    rng = np.random.default_rng(n)
    clusters, rest = rng.random((2, 1 << n)) if combine is sum_segments else rng.normal(size=(2, 1 << n))
    out = np.full(1 << n, 77.0)
    combine(clusters, rest, out, middle, 1, 1 << top)
    expected = [slow_segments(combine, clusters, rest, mask, segment) for mask in range(segment, 1 << n)]
    np.testing.assert_allclose(out[segment:], expected, rtol=1e-13)
    if combine is max_segments:
        assert out[segment:].tolist() == expected
    assert (out[:segment] == 77.0).all()


@pytest.mark.parametrize("combine", [sum_segments, max_segments], ids=["sum", "maximum"])
def test_tops_can_be_shared_out_in_any_way(combine):
    middle, top = 1, 4
    segment, n = 8 << middle, 8
    clusters, rest = np.random.default_rng(3).random((2, 1 << n))
    whole, pieces = np.full(1 << n, 77.0), np.full(1 << n, 77.0)
    combine(clusters, rest, whole, middle, 1, 1 << top)
    for first, last in [(9, 16), (1, 2), (4, 9)]:
        combine(clusters, rest, pieces, middle, first, last)
    done = np.r_[segment : 2 * segment, 4 * segment : 16 * segment]
    np.testing.assert_array_equal(pieces[done], whole[done])
    assert (np.delete(pieces, done) == 77.0).all()


@pytest.mark.parametrize("combine", [sum_segments, max_segments], ids=["sum", "maximum"])
def test_the_sets_of_one_highest_leaf_need_only_those_below_it(combine):
    """`rest` may be the lower half of what is written: the passes over all sets go on in place."""
    n, middle = 8, 1
    clusters = np.random.default_rng(4).random(1 << n)
    V = np.full(1 << n, np.nan)
    V[: 8 << middle] = np.random.default_rng(5).random(8 << middle)
    expected = V.tolist()
    for mask in range(8 << middle, 1 << n):
        expected[mask] = slow_segments(combine, clusters, expected, mask, 8 << middle)
    first = 8 << middle
    while first < 1 << n:
        tops = first // (8 << middle), 2 * first // (8 << middle)
        combine(clusters, V[:first], V[: 2 * first], middle, *tops)
        first *= 2
    np.testing.assert_allclose(V, expected, rtol=1e-13)


def test_segments_where_nothing_is_possible_stay_so():
    n, middle = 7, 2
    for combine, impossible in ((sum_segments, 0.0), (max_segments, -np.inf)):
        out = np.full(1 << n, 77.0)
        nothing = np.full(1 << n, impossible)
        combine(nothing, nothing, out, middle, 1, 4)
        assert (out[32:] == impossible).all()


# In and out of linear space.


def sizes_of(n):
    return np.bitwise_count(np.arange(1 << n)).astype(np.uint8)


@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 0.5, 1.0]), st.data())
def test_the_largest_slope_is_the_largest_value_per_leaf(seed, forbidden, data):
    values = random_tables(seed, 6, scale=10.0, forbidden=forbidden)[0]
    first, last = sorted(data.draw(st.tuples(st.integers(0, 64), st.integers(0, 64))))
    expected = max((values[mask] / mask.bit_count() for mask in range(max(first, 1), last)), default=-np.inf)
    assert segments.largest_slope(sizes_of(6), values, first, last) == expected


@given(st.integers(0, 2**32 - 1), st.floats(-50, 50), st.data())
def test_exponentials_are_taken_relative_to_the_slope(seed, slope, data):
    values = random_tables(seed, 6, scale=100.0, forbidden=0.3)[0]
    first, last = sorted(data.draw(st.tuples(st.integers(0, 64), st.integers(0, 64))))
    table = np.full(64, 77.0)
    segments.tabulate(sizes_of(6), values, slope, first, last, table)
    exponents = [values[mask] - slope * mask.bit_count() for mask in range(first, last)]
    expected = [math.exp(x) if x >= -708 else 0.0 for x in exponents]
    np.testing.assert_allclose(table[first:last], expected, rtol=1e-12, atol=1e-306)
    assert (np.delete(table, np.arange(first, last)) == 77.0).all()


def test_with_the_largest_slope_no_exponential_exceeds_one_and_one_reaches_it():
    values = random_tables(9, 6, scale=1e3)[0]
    values[0] = 0.0
    slope = segments.largest_slope(sizes_of(6), values, 0, 64)
    table = np.empty(64)
    segments.tabulate(sizes_of(6), values, slope, 0, 64, table)
    assert table[0] == 1.0  # the empty set
    assert table[1:].max() == pytest.approx(1.0, rel=1e-12)


def test_sums_that_are_too_small_to_be_trusted_are_marked_and_counted():
    sums = np.array(
        [1.0, segments.SMALLEST_SUM, np.nextafter(segments.SMALLEST_SUM, 0), 0.0, 1e300, 5e-324, 2.5, np.nan]
    )
    Z = sums.copy()
    n_unsafe = segments.finish_segments(sizes_of(3), 2.5, 1, 7, Z)
    assert n_unsafe == 3
    assert np.isnan(Z).tolist() == [False, False, True, True, False, True, False, True]
    assert Z[0] == 1.0  # outside the range
    trusted = np.array([1, 4, 6])
    expected = [math.log(sums[mask]) + 2.5 * int(mask).bit_count() for mask in trusted]
    np.testing.assert_allclose(Z[trusted], expected, rtol=1e-14)
    assert segments.finish_segments(sizes_of(3), 0.0, 7, 8, Z) == 1  # NaN is not to be trusted either
    assert segments.finish_segments(sizes_of(3), 0.0, 4, 4, Z) == 0


# Draws.


def slow_choice(E, rest, total, seed, draw, mask):
    """The first cluster, by increasing mask, at which the running sum of probabilities exceeds the draw's number."""
    number, cumulative, last = unit_draw(seed, draw, mask), 0.0, mask
    for cluster in taken_first(mask):
        p = math.exp(E[cluster] + (rest[mask ^ cluster] - total))
        if p > 0.0:
            cumulative, last = cumulative + p, cluster
        if number < cumulative:
            break
    return last


class Groups:
    """Draws that have some sets left, in groups, and what the kernel writes for them."""

    def __init__(self, E, rest, sets, sizes, n_draws, shift=0.0, seed=42):
        self.E, self.rest, self.seed = E, rest, np.uint64(seed)
        self.sets, self.starts = as_masks(sets), np.append(0, np.cumsum(sizes))
        self.totals = np.array([slow_log_sum(terms(E, rest, mask)) for mask in sets]) + shift
        self.draws = np.random.default_rng(seed).permutation(n_draws)[: self.starts[-1]]
        self.chosen = np.zeros(self.starts[-1], dtype=np.uint32)
        self.memberships = np.full((n_draws, N), 200, dtype=np.uint8)
        self.log_potential = np.full(n_draws, 0.25)

    def run(self, first, last, number=3):
        fixed = (self.E, self.rest, self.totals, self.seed, self.sets, self.starts, self.draws, number)
        draw_clusters(*fixed, self.chosen, self.memberships, self.log_potential, first, last)
        return self

    def expected(self):
        groups = enumerate(itertools.pairwise(self.starts))
        at = [(g, int(self.draws[i])) for g, (begin, end) in groups for i in range(begin, end)]
        fixed = (self.E, self.rest)
        return [slow_choice(*fixed, self.totals[g], self.seed, draw, int(self.sets[g])) for g, draw in at]


SETS = [0b1, 0b1000, 0b110, 0b11_0101, (1 << N) - 1]


@pytest.mark.parametrize("forbidden", [0.0, 0.4])
def test_draws_take_the_cluster_that_their_number_falls_on(forbidden):
    E, rest = random_tables(10, forbidden=forbidden)
    E[SETS] = 0.5  # something is always possible
    rest[0] = 0.0
    groups = Groups(E, rest, SETS, [1, 2, 40, 300, 500], 1000).run(0, 5)
    assert groups.chosen.tolist() == groups.expected()
    for i, draw in enumerate(groups.draws):
        inside = list(members(int(groups.chosen[i])))
        assert (groups.memberships[draw, inside] == 3).all()
        assert (np.delete(groups.memberships[draw], inside) == 200).all()
        assert groups.log_potential[draw] == 0.25 + E[groups.chosen[i]]
    others = np.setdiff1d(np.arange(1000), groups.draws)
    assert (groups.memberships[others] == 200).all()
    assert (groups.log_potential[others] == 0.25).all()


def test_a_group_of_draws_is_served_alone_as_it_is_among_others():
    E, rest = random_tables(11)
    together = Groups(E, rest, SETS, [20] * 5, 100).run(0, 5)
    alone = Groups(E, rest, SETS, [20] * 5, 100)
    for g in (3, 0, 4):
        alone.run(g, g + 1)
    served = np.r_[0:20, 60:100]
    np.testing.assert_array_equal(alone.chosen[served], together.chosen[served])
    assert (alone.chosen[20:60] == 0).all()
    np.testing.assert_array_equal(alone.memberships[alone.draws[served]], together.memberships[alone.draws[served]])


def test_numbers_beyond_a_sum_that_rounding_left_below_one_get_the_last_possible_cluster():
    """Here the sum stops at one half, so that half of the draws are beyond it."""
    E, rest = random_tables(12)
    full = (1 << N) - 1
    E[full] = E[full - 1] = -np.inf
    groups = Groups(E, rest, [full], [400], 400, shift=math.log(2)).run(0, 1)
    assert groups.chosen.tolist() == groups.expected()
    assert 150 < (groups.chosen == full - 2).sum() < 250


def test_draws_come_as_often_as_they_are_probable():
    E, rest = random_tables(13, forbidden=0.3)
    mask = 0b1011
    E[mask] = rest[0] = 0.0
    groups = Groups(E, rest, [mask], [20_000], 20_000).run(0, 1)
    for cluster, value in zip(taken_first(mask), terms(E, rest, mask), strict=True):
        p = math.exp(value - groups.totals[0])
        assert (groups.chosen == cluster).mean() == pytest.approx(p, abs=5 * math.sqrt(p / 20_000))


@given(st.integers(1, 12), st.integers(0, 8), st.integers(0, 2**32 - 1))
def test_clusters_are_renumbered_by_first_appearance(n, size, seed):
    memberships = np.random.default_rng(seed).integers(0, n, (size, n)).astype(np.uint8)
    expected = [Partition(row.astype(np.int64)).membership.tolist() for row in memberships]
    renumber(memberships)
    assert memberships.tolist() == expected


# Pairs.


@given(st.integers(1, 7), st.lists(st.integers(0, 126), max_size=8), st.integers(0, 2**32 - 1))
def test_values_of_clusters_are_added_to_all_their_pairs(n, masks, seed):
    clusters = [members(mask % ((1 << n) - 1) + 1) for mask in masks]
    rng = np.random.default_rng(seed)
    values = rng.choice([0.0, 0.5, 1.25, 3.0], len(clusters))
    flattened = np.array([leaf for cluster in clusters for leaf in cluster], dtype=np.int32)
    ends = np.cumsum([len(cluster) for cluster in clusters], dtype=np.int64)
    bounds = np.stack([np.append(0, ends[:-1]) if len(ends) else ends, ends], axis=1)
    start = rng.integers(0, 3, (n, n)).astype(float)
    out, expected = start.copy(), start.copy()
    add_pairs(bounds, flattened, values, out)
    for cluster, value in zip(clusters, values, strict=True):
        for i, j in itertools.product(cluster, repeat=2):
            expected[i, j] += value
    np.testing.assert_array_equal(out, expected)
