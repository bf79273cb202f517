"""The trellis of chosen clusters: its paths are the partitions made of them."""

from __future__ import annotations

import itertools
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_trellis_cases import (
    assert_well_formed,
    balanced,
    drawn,
    families,
    made,
    passes,
    potentials,
    sums_by_number,
    walk,
)
from random_hierarchies import caterpillar, hierarchies

import palmette as pal
from palmette import Hierarchy, Partition, PartitionTrellis, TrellisTooLarge
from palmette.trellis.partitions import families as family_lists
from palmette.trellis.partitions import sparse as trellis_paths
from palmette.trellis.partitions.families import collect
from palmette.trellis.partitions.paths import layered
from palmette.trellis.partitions.remainders import remainder_paths


@cache
def partitions_of(n):
    """All partitions of 0 … n−1, each as a set of sets."""
    if n == 0:
        return [frozenset()]
    found = []
    for smaller in partitions_of(n - 1):
        found.append(smaller | {frozenset([n - 1])})
        found += [smaller - {cluster} | {cluster | {n - 1}} for cluster in smaller]
    return found


def partitions_within(clusters, n):
    return [p for p in partitions_of(n) if p <= set(clusters)]


# ---- the paths -------------------------------------------------------------------------------------------------------


@given(families())
def test_paths_are_exactly_the_partitions_made_of_the_clusters(family):
    n, clusters = family
    trellis = made(family)
    assert_well_formed(trellis.paths)
    own = trellis.clusters()
    found = [frozenset(own[c] for c in path) for path in walk(trellis.paths)]
    expected = partitions_within(clusters, n)
    assert len(found) == len(expected) == trellis.count
    assert set(found) == set(expected)


@given(families())
def test_a_family_is_what_was_given_without_duplicates(family):
    n, clusters = family
    trellis = made(family)
    assert trellis.clusters() == list(dict.fromkeys(clusters))
    assert trellis.n_clusters == len(set(clusters))
    assert trellis.n_leaves == n
    assert [trellis.members(i) for i in range(trellis.n_clusters)] == [tuple(sorted(c)) for c in trellis.clusters()]
    assert trellis.sizes.tolist() == [len(cluster) for cluster in trellis.clusters()]
    assert [trellis.find(cluster) for cluster in trellis.clusters()] == list(range(trellis.n_clusters))


@given(families(), st.integers(1, 127))
def test_find_shared_and_holds_follow_their_definitions(family, mask):
    n, clusters = family
    trellis = made(family)
    leaves = frozenset(i for i in range(n) if mask >> i & 1)
    assert trellis.shared(leaves).tolist() == [len(leaves & cluster) for cluster in trellis.clusters()]
    assert (trellis.find(leaves) >= 0) == (leaves in clusters)
    assert trellis.find([]) == -1
    for partition in partitions_of(n)[:60]:
        flat = Partition.from_clusters(partition, n=n)
        assert trellis.holds(flat) == (partition <= set(clusters))
        numbers = trellis.find_clusters(flat)
        assert [trellis.clusters()[i] if i >= 0 else None for i in numbers] == [
            c if c in clusters else None for c in flat.clusters()
        ]
        if trellis.holds(flat):
            assert trellis.partition_of(numbers) == flat


@given(hierarchies(max_leaves=7))
def test_a_hierarchy_gives_the_same_partitions_as_its_clusters(h):
    linear, general = PartitionTrellis.from_hierarchy(h), PartitionTrellis.from_clusters(h.clusters(), h.labels)
    assert_well_formed(linear.paths)
    assert linear.n_remainders == h.n_leaves + 1 == general.n_remainders
    assert linear.n_choices == linear.n_clusters == h.n_nodes
    own = linear.clusters()
    assert own == h.clusters()
    expected = partitions_within(own, h.n_leaves)
    assert {frozenset(own[c] for c in path) for path in walk(linear.paths)} == set(expected)
    assert linear.count == general.count == len(expected)
    log_e = potentials(linear, 1)
    same = log_e[[linear.find(cluster) for cluster in general.clusters()]]
    np.testing.assert_allclose(passes(linear.paths, log_e)[0][0], passes(general.paths, same)[0][0], rtol=1e-12)
    for leaves in own:
        assert linear.shared(leaves).tolist() == [len(leaves & cluster) for cluster in own]
        assert linear.members(linear.find(leaves)) == tuple(sorted(leaves))
    assert all(linear.holds(Partition.from_clusters(p, n=h.n_leaves, labels=h.labels)) for p in expected[:50])


@given(st.lists(hierarchies(max_leaves=6), min_size=1, max_size=3), st.randoms(use_true_random=False))
def test_several_hierarchies_are_the_union_of_their_clusters(given_hierarchies, random):
    n = min(h.n_leaves for h in given_hierarchies)
    same = [h for h in given_hierarchies if h.n_leaves == n]
    shuffled = [h.aligned_to(random.sample(h.labels, n)) for h in same]
    trellis = PartitionTrellis.from_hierarchies(shuffled)
    named = {frozenset(trellis.labels[i] for i in cluster) for cluster in trellis.clusters()}
    assert named == {frozenset(h.labels[i] for i in cluster) for h in same for cluster in h.clusters()}
    assert trellis.labels == shuffled[0].labels
    assert trellis.count == len(partitions_within(trellis.clusters(), n))


def test_hierarchies_that_one_of_them_refines_cost_what_one_costs():
    fine, coarse = Hierarchy.from_newick("(((a,b),c),d);"), Hierarchy.from_newick("(d,(c,a,b));")
    trellis = PartitionTrellis.from_hierarchies([coarse, fine, fine])
    assert trellis.hierarchy == fine
    assert trellis.labels == coarse.labels
    assert trellis.n_remainders == 5


def test_partitions_give_their_mixtures_whatever_the_order_of_leaves():
    one, two = Partition([0, 0, 1, 1], list("abcd")), Partition([0, 1, 2, 3], list("dcba"))
    trellis = PartitionTrellis.from_partitions(p for p in (one, two, one))
    assert trellis.n_clusters == 6
    assert trellis.count == 4
    assert trellis.holds(one)
    assert trellis.holds(two)
    assert trellis.holds(Partition([0, 1, 2, 2], list("abcd")))
    assert not trellis.holds(Partition([0, 1, 1, 2], list("abcd")))
    turned = Partition([0, 0, 1, 2], list("dcba"))  # its clusters are numbered as it numbers them
    assert [trellis.members(i) for i in trellis.find_clusters(turned)] == [(2, 3), (1,), (0,)]


def test_duplicates_are_dropped_along_the_way(monkeypatch):
    parts = [(np.array([1, 2]), np.array([i % 3, 3, 4], np.int32)) for i in range(20)]
    whole = collect(parts)
    monkeypatch.setattr(family_lists, "_PENDING", 4)
    for found, expected in zip(collect(parts), whole, strict=True):
        np.testing.assert_array_equal(found, expected)
    assert whole[1].tolist() == [0, 3, 4, 1, 2]


def test_clusters_are_found_even_if_their_keys_were_alike_at_first(monkeypatch):
    class Zeros:
        def integers(self, low, high, n, dtype):
            return np.zeros(n, dtype)

    rng = np.random.default_rng
    monkeypatch.setattr(np.random, "default_rng", lambda seed: Zeros() if seed == 0 else rng(seed))
    trellis = PartitionTrellis.from_clusters([{0, 1}, {2}, {1, 2}, {0}])
    assert [trellis.find(c) for c in ([2], [0], [1, 2], [1, 0], [1], [0, 2])] == [1, 3, 2, 0, -1, -1]


def test_all_or_singletons_are_two_partitions_with_as_many_remainders_as_leaves():
    trellis = PartitionTrellis.from_clusters([range(200), *([i] for i in range(200))])
    assert trellis.count == 2
    assert trellis.n_remainders == 201


def test_three_pairs_of_three_leaves_make_no_partition():
    trellis = PartitionTrellis.from_clusters([{"a", "b"}, {"b", "c"}, {"a", "c"}])
    assert (trellis.count, trellis.n_remainders, trellis.n_choices) == (0, 2, 0)
    assert_well_formed(trellis.paths)
    Z, M, reach, mu = passes(trellis.paths, np.zeros(3))
    assert Z[0] == M[0] == -np.inf
    assert (reach == 0).all()
    assert (mu == 0).all()
    assert (sums_by_number(trellis, np.zeros(3)) == -np.inf).all()
    assert len(layered(*trellis.paths, 2).choice_next) == 0


def test_an_empty_family_and_a_single_leaf_are_ordinary():
    empty = PartitionTrellis.from_clusters([], n=3)
    assert (empty.count, empty.n_clusters, empty.find([0]), empty.is_closed) == (0, 0, -1, True)
    assert empty.shared([0, 1]).tolist() == []
    assert not empty.holds(Partition([0, 0, 0]))
    assert len(pal.models.UniformPartitions(3).cluster_log_potentials(empty)) == 0
    for trellis in (PartitionTrellis.from_clusters([[0]]), PartitionTrellis.from_hierarchy(Hierarchy.from_nested("a"))):
        assert (trellis.count, trellis.n_remainders, trellis.n_choices, trellis.is_closed) == (1, 2, 1, True)
        assert drawn(trellis, np.array([2.5]), 3)[1].tolist() == [2.5] * 3


@given(families(max_leaves=5))
def test_closed_means_that_all_complements_are_there(family):
    clusters = set(family[1])
    expected = all(y - x in clusters for x, y in itertools.permutations(clusters, 2) if x < y)
    assert made(family).is_closed == expected


@given(hierarchies(max_leaves=6))
def test_the_clusters_of_a_hierarchy_are_closed_only_for_two_leaves(h):
    assert PartitionTrellis.from_hierarchy(h).is_closed == (h.n_leaves <= 2)
    assert PartitionTrellis.from_clusters(h.clusters(), h.labels).is_closed == (h.n_leaves <= 2)


def test_all_clusters_are_closed_and_make_every_partition():
    n = 6
    everything = [[i for i in range(n) if mask >> i & 1] for mask in range(1, 2**n)]
    trellis = PartitionTrellis.from_clusters(everything)
    assert trellis.is_closed
    assert trellis.count == 203
    assert trellis.n_remainders == 2 ** (n - 1) + 1  # X, and what does not hold the first leaf


@given(families(max_leaves=6), st.randoms(use_true_random=False))
def test_every_order_of_the_leaves_gives_the_same_partitions(family, random):
    n = family[0]
    trellis = made(family)
    order = np.array(random.sample(range(n), n))
    paths = remainder_paths(trellis.cluster_bounds, trellis.cluster_members, order, 1000)
    assert_well_formed(paths)
    assert {frozenset(path) for path in walk(paths)} == {frozenset(path) for path in walk(trellis.paths)}


def test_thousands_of_leaves_need_many_words_and_stay_few_remainders():
    n = 1500
    rng = np.random.default_rng(5)
    places = rng.permutation(n)  # blocks of ten in a hidden order, whole or cut in two
    clusters = [places[i : i + 10] for i in range(0, n, 10)] + [places[i : i + 5] for i in range(0, n, 5)]
    trellis = PartitionTrellis.from_clusters([c.tolist() for c in clusters], n=n)
    assert trellis.count == 2**150
    assert trellis.n_remainders == 301
    given_order = remainder_paths(trellis.cluster_bounds, trellis.cluster_members, places, 1000)
    assert len(given_order.offsets) == 302


# ---- what is refused, and what is kept -------------------------------------------------------------------------------


def test_too_many_remainders_are_refused_with_advice():
    pairs = [set(pair) for pair in itertools.combinations(range(14), 2)]
    assert PartitionTrellis.from_clusters(pairs).count == 135135
    with pytest.raises(TrellisTooLarge, match=r"91 clusters of 14 leaves .* max_remainders = 50 .*from_hierarchy"):
        PartitionTrellis.from_clusters(pairs, max_remainders=50)
    exact = PartitionTrellis.from_clusters(pairs).n_remainders
    assert PartitionTrellis.from_clusters(pairs, max_remainders=exact).n_remainders == exact
    with pytest.raises(TrellisTooLarge):
        PartitionTrellis.from_clusters(pairs, max_remainders=exact - 1)


def test_too_many_choices_are_refused():
    everything = [[i for i in range(11) if mask >> i & 1] for mask in range(1, 2**11)]
    with pytest.raises(TrellisTooLarge, match="2,047 clusters of 11 leaves lead to more than 20,500 choices"):
        PartitionTrellis.from_clusters(everything, max_remainders=1025)
    assert PartitionTrellis.from_clusters(everything, max_remainders=1600).n_remainders == 1025


def test_tables_that_do_not_fit_are_refused():
    trellis = PartitionTrellis.from_hierarchy(balanced(2**15))
    with pytest.raises(TrellisTooLarge, match="by number of clusters"):
        sums_by_number(trellis, np.zeros(trellis.n_clusters), max_memory=10**9)
    with pytest.raises(TrellisTooLarge, match="exactly 20,000 clusters"):
        layered(*trellis.paths, 20_000)
    deep = PartitionTrellis.from_hierarchy(caterpillar(20_000))
    with pytest.raises(ValueError, match="too many to list"):
        deep.clusters()


def test_hierarchies_too_large_to_combine_are_refused(monkeypatch):
    monkeypatch.setattr(trellis_paths, "_MOST_MEMBERS", 5)
    with pytest.raises(TrellisTooLarge, match="too many to combine"):
        PartitionTrellis.from_hierarchies([Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("(a,(b,c));")])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: PartitionTrellis(), TypeError, "from_clusters"),
        (lambda: PartitionTrellis.from_clusters([[0], []]), ValueError, "cluster 1 is empty"),
        (lambda: PartitionTrellis.from_clusters([[0]], max_remainders=1), ValueError, "at least two"),
        (lambda: PartitionTrellis.from_clusters([[0]], max_remainders="9"), TypeError, "a number"),
        (lambda: PartitionTrellis.from_hierarchy("((a,b),c);"), TypeError, "takes a Hierarchy, not a str"),
        (lambda: PartitionTrellis.from_hierarchies([]), ValueError, "no hierarchy"),
        (lambda: PartitionTrellis.from_hierarchies([Partition([0])]), TypeError, "list of Hierarchy"),
        (lambda: PartitionTrellis.from_partitions([]), ValueError, "no partition"),
        (lambda: PartitionTrellis.from_partitions([[0, 1]]), TypeError, "not a list"),
        (lambda: PartitionTrellis.from_partitions([Partition([0, 1]), [0, 1]]), TypeError, "not a list"),
        (lambda: PartitionTrellis.from_partitions([Partition([0]), Partition([0, 1])]), ValueError, "labels do not"),
        (lambda: PartitionTrellis.from_clusters([[0]]).members(1), IndexError, "cluster 1 does not exist"),
        (lambda: PartitionTrellis.from_clusters([[0], [1]]).find([2]), ValueError, "leaf 2 does not exist"),
        (lambda: PartitionTrellis.from_clusters([[0], [1]]).partition_of([0, 0]), ValueError, "no partition"),
        (lambda: PartitionTrellis.from_clusters([[0], [1]]).holds([0, 1]), TypeError, "a Partition, not a list"),
    ],
)
def test_wrong_input_is_told_what_is_right(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_labels_that_differ_from_the_models_are_refused():
    trellis = PartitionTrellis.from_clusters([["a"], ["b"]])
    with pytest.raises(ValueError, match="labels do not match"):
        pal.models.UniformPartitions(2).cluster_log_potentials(trellis)


def test_a_trellis_never_changes_and_survives_pickling():
    for trellis in (
        PartitionTrellis.from_clusters([{"b", "a"}, {"c"}, {"a"}, {"b"}]),
        PartitionTrellis.from_hierarchy(Hierarchy.from_newick("((a,b),c);")),
    ):
        again = pickle.loads(pickle.dumps(trellis))
        assert again.labels == trellis.labels
        assert again.clusters() == trellis.clusters()
        assert again.count == trellis.count
        assert again.hierarchy == trellis.hierarchy
        assert_well_formed(again.paths)
        for array in (again.cluster_bounds, again.cluster_members, again.leaf_order, again.sizes):
            assert not array.flags.writeable
        with pytest.raises(AttributeError, match="never changes"):
            trellis.labels = ()
    assert repr(trellis) == "PartitionTrellis(<3 leaves, 5 clusters, 4 remainders>)"
    np.testing.assert_array_equal(trellis.offsets, again.offsets)
    np.testing.assert_array_equal(trellis.choice_cluster, again.choice_cluster)
    np.testing.assert_array_equal(trellis.choice_next, again.choice_next)
