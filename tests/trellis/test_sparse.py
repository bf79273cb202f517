"""The sparse trellis: it holds the hierarchies made of its splits."""

from __future__ import annotations

import copy
import itertools
import math
import pickle
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from oracle import clusters_of, hierarchies_over, members, splits_of
from random_hierarchies import caterpillar
from sparse_cases import WORD_EDGES, as_hierarchy, as_splits, listed_splits, mask_of, samples, some_hierarchies

from palmette import Hierarchy, SparseTrellis
from palmette.trellis.bit_sets import as_words, from_words, n_words
from palmette.trellis.hierarchies import closing, observed
from palmette.trellis.hierarchies.closing import all_splits
from palmette.trellis.hierarchies.observed import by_size, observe


def lowest(mask):
    return mask & -mask


def balanced(n):
    nested = list(range(n))
    while len(nested) > 1:
        nested = [tuple(nested[i : i + 2]) if i + 1 < len(nested) else nested[i] for i in range(0, len(nested), 2)]
    return Hierarchy.from_nested(nested[0], [str(i) for i in range(n)])


families = st.integers(2, 6).flatmap(
    lambda n: st.tuples(st.just(n), st.sets(st.integers(1, 2**n - 1), max_size=25), st.integers(0, 2**16))
)


def assert_well_made(trellis):
    """Clusters by size and mask, leaves first and the root last; splits by parent and left part, which is the lower."""
    n, masks = trellis.n_leaves, trellis.masks
    assert masks == sorted(set(masks), key=lambda m: (m.bit_count(), m))
    assert masks[:n] == [1 << leaf for leaf in range(n)]
    assert masks[-1] == (1 << n) - 1
    np.testing.assert_array_equal(trellis.sizes, [m.bit_count() for m in masks])
    assert trellis.words.shape == (trellis.n_clusters, n_words(n))
    assert trellis.offsets[0] == trellis.offsets[n] == 0
    assert trellis.offsets[-1] == trellis.n_splits
    assert (np.diff(trellis.offsets[n:]) > 0).all()
    splits = listed_splits(trellis)
    assert all(P == L | R and L & R == 0 and lowest(L) < lowest(R) for P, L, R in splits)
    keys = list(zip(trellis.parent.tolist(), trellis.left.tolist(), strict=True))
    assert keys == sorted(set(keys))
    assert set(masks) == {masks[-1], *itertools.chain(*splits)}


def assert_same(one, other):
    assert one.labels == other.labels
    assert one.is_closed == other.is_closed
    for name in ("words", "offsets", "left", "right"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))


# What is in it.


@given(sample=samples)
def test_an_observed_trellis_holds_the_hierarchies_whose_splits_were_all_seen(sample):
    trellis = SparseTrellis.from_hierarchies(sample)
    assert_well_made(trellis)
    seen = frozenset().union(*map(as_splits, sample))
    assert {(left, right) for _, left, right in listed_splits(trellis)} == seen
    n = trellis.n_leaves
    inside = [h for h in hierarchies_over((1 << n) - 1) if h <= seen]
    assert trellis.count == len(inside)
    assert trellis.sparsity == Fraction(len(inside), len(hierarchies_over((1 << n) - 1)))
    for h in hierarchies_over((1 << n) - 1)[:: 1 + n**2]:
        assert trellis.holds(as_hierarchy(h, n)) == (h <= seen)
    assert all(trellis.holds(h) for h in sample)
    assert not trellis.is_closed


@given(sample=samples)
def test_a_closed_trellis_holds_the_hierarchies_whose_clusters_were_all_seen(sample):
    trellis = SparseTrellis.from_hierarchies(sample, closed=True)
    assert_well_made(trellis)
    n = trellis.n_leaves
    family = frozenset().union(*(clusters_of(as_splits(h), n) for h in sample))
    assert set(trellis.masks) == family
    inside = [h for h in hierarchies_over((1 << n) - 1) if clusters_of(h, n) <= family]
    assert trellis.count == len(inside)
    for h in hierarchies_over((1 << n) - 1)[:: 1 + n**2]:
        assert trellis.holds(as_hierarchy(h, n)) == (clusters_of(h, n) <= family)
    assert trellis.is_closed


@given(sample=samples)
def test_closing_keeps_the_clusters_and_every_split(sample):
    seen = SparseTrellis.from_hierarchies(sample)
    closed = seen.closed()
    assert_same(closed, SparseTrellis.from_hierarchies(sample, closed=True))
    assert closed.masks == seen.masks
    assert set(listed_splits(closed)) >= set(listed_splits(seen))
    assert closed.count >= seen.count
    assert closed.closed() is closed


@given(family=families)
def test_a_trellis_of_clusters_keeps_those_that_some_hierarchy_has(family):
    n, masks, seed = family
    masks |= clusters_of(as_splits(some_hierarchies(n, 1, seed)[0]), n) if seed % 4 else set()
    every = masks | {1 << leaf for leaf in range(n)} | {(1 << n) - 1}
    inside = [clusters_of(h, n) for h in hierarchies_over((1 << n) - 1) if clusters_of(h, n) <= every]
    make = lambda: SparseTrellis.from_clusters([members(m) for m in masks], [str(i) for i in range(n)])  # noqa: E731
    if not inside:
        with pytest.raises(ValueError, match="no hierarchy can be made of these clusters"):
            make()
        return
    trellis = make()
    assert_well_made(trellis)
    used = frozenset().union(*inside)
    assert set(trellis.masks) == used
    assert set(listed_splits(trellis)) == {
        (P, L, R) for P in used if P & (P - 1) for L, R in splits_of(P) if {L, R} <= used
    }
    assert trellis.count == len(inside)


@given(family=families)
def test_extending_is_the_closed_trellis_of_all_clusters(family):
    n, masks, seed = family
    start = SparseTrellis.from_hierarchies(some_hierarchies(n, 2, seed))
    extended = start.extended(masks)
    both = [members(m) for m in {*start.masks, *masks}]
    assert_same(extended, SparseTrellis.from_clusters(both, start.labels))
    assert set(extended.masks) >= set(start.masks)


@given(samples, st.integers(0, 2**16), st.booleans())
def test_orders_lay_hierarchies_over_each_other_by_rank(sample, seed, closed):
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(h.n_leaves) for h in sample]
    made = SparseTrellis.from_hierarchies(iter(sample), closed=closed, orders=iter(orders))
    named = [
        Hierarchy.from_parents(h.parents, [str(rank) for rank in np.argsort(order)])
        for h, order in zip(sample, orders, strict=True)
    ]
    twin = SparseTrellis.from_hierarchies(named, closed=closed).aligned_to(made.labels)
    assert made.labels == tuple(map(str, range(sample[0].n_leaves)))
    assert_same(made, twin)


def test_there_is_one_order_for_each_hierarchy():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="2 hierarchies and 1 orders"):
        SparseTrellis.from_hierarchies([h, h], orders=[[0, 1, 2]])


@pytest.mark.parametrize("mask", [0, -1, 8, 9])
def test_masks_of_other_leaves_are_refused(mask):
    trellis = SparseTrellis.from_hierarchies([Hierarchy.from_newick("((a,b),c);")])
    with pytest.raises(ValueError, match=f"bit mask {mask} is no cluster of 3 leaves"):
        trellis.extended([3, mask])


@pytest.mark.parametrize("n", [2, 3, 4, 5, 6])
def test_all_clusters_make_the_full_trellis(n):
    trellis = SparseTrellis.from_clusters([members(m) for m in range(1, 1 << n)], [str(i) for i in range(n)])
    assert trellis.n_clusters == 2**n - 1
    assert trellis.n_splits == (3**n - 2 ** (n + 1) + 1) // 2
    assert trellis.count == len(hierarchies_over((1 << n) - 1))
    assert trellis.sparsity == 1


@given(n=st.integers(2, 40), seed=st.integers(0, 2**16), closed=st.booleans())
def test_one_hierarchy_is_one_path(n, seed, closed):
    h = some_hierarchies(n, 1, seed)[0]
    trellis = SparseTrellis.from_hierarchies([h], closed=closed)
    assert trellis.count == 1
    assert trellis.n_clusters == 2 * n - 1
    assert trellis.n_splits == n - 1
    assert trellis.sparsity == Fraction(1, math.prod(range(2 * n - 3, 0, -2)))
    assert trellis.hierarchy_of(np.arange(n - 1)) == h
    np.testing.assert_array_equal(np.sort(trellis.find_hierarchy(h)), np.arange(n - 1))


@given(sample=samples, closed=st.booleans(), data=st.data())
def test_duplicates_and_the_order_of_hierarchies_do_not_matter(sample, closed, data):
    once = SparseTrellis.from_hierarchies(sample, closed=closed)
    again = data.draw(st.permutations([*sample, *sample[:2]]))
    assert_same(SparseTrellis.from_hierarchies(iter(again), closed=closed), once)


@given(sample=samples)
def test_every_hierarchy_is_found_and_made_again_from_its_splits(sample):
    trellis = SparseTrellis.from_hierarchies(sample)
    for h in sample:
        found = trellis.find_hierarchy(h)
        assert found.shape == (trellis.n_leaves - 1,)
        made = trellis.hierarchy_of(found)
        assert made == h
        assert made.labels == trellis.labels


# The names of the leaves.


def scattered(hierarchy, order):
    """Another hierarchy of the same shape: leaf i becomes leaf order[i]."""
    names = [str(i) for i in range(hierarchy.n_leaves)]
    return Hierarchy.from_parents(hierarchy.parents, [names[i] for i in order]).aligned_to(names)


def renamed(hierarchy, rng):
    """The same hierarchy with its leaves numbered in another order."""
    return hierarchy.aligned_to([hierarchy.labels[i] for i in rng.permutation(hierarchy.n_leaves)])


@given(sample=samples, seed=st.integers(0, 100), closed=st.booleans())
def test_leaves_may_be_numbered_differently_in_every_hierarchy(sample, seed, closed):
    rng = np.random.default_rng(seed)
    mixed = [renamed(h, rng) for h in sample]
    trellis = SparseTrellis.from_hierarchies(mixed, closed=closed)
    assert trellis.labels == mixed[0].labels
    assert_well_made(trellis)
    assert_same(trellis.aligned_to(sample[0].labels), SparseTrellis.from_hierarchies(sample, closed=closed))
    assert all(trellis.holds(h) for h in sample)


@pytest.mark.parametrize("n", [5, 63, 64, 65, 130])
@pytest.mark.parametrize("closed", [False, True])
def test_aligning_renumbers_the_leaves_and_nothing_else(n, closed):
    sample = some_hierarchies(n, 4, seed=n)
    trellis = SparseTrellis.from_hierarchies(sample, closed=closed)
    rng = np.random.default_rng(n)
    moved = trellis.aligned_to(tuple(str(i) for i in rng.permutation(n)))
    assert_well_made(moved)
    assert (moved.count, moved.n_splits, moved.is_closed) == (trellis.count, trellis.n_splits, closed)
    assert all(moved.holds(h) for h in sample)
    named = lambda t: {frozenset(t.labels[i] for i in t.members(c)) for c in range(t.n_clusters)}  # noqa: E731
    assert named(moved) == named(trellis)
    assert_same(moved.aligned_to(trellis.labels), trellis)
    assert trellis.aligned_to(trellis.labels) is trellis


def test_other_labels_are_refused():
    trellis = SparseTrellis.from_hierarchies([Hierarchy.from_newick("((a,b),c);")])
    with pytest.raises(ValueError, match="labels do not match"):
        trellis.aligned_to(("a", "b", "d"))
    with pytest.raises(ValueError, match="labels do not match"):
        trellis.holds(Hierarchy.from_newick("((a,b),d);"))
    with pytest.raises(ValueError, match="labels do not match"):
        SparseTrellis.from_hierarchies([Hierarchy.from_newick("((a,b),c);"), Hierarchy.from_newick("((a,b),d);")])


def test_clusters_go_by_labels_and_by_numbers():
    trellis = SparseTrellis.from_clusters([["bee", "cat"], [0, "bee", 2]], labels=["ant", "bee", "cat", "dog"])
    assert trellis.labels == ("ant", "bee", "cat", "dog")
    assert trellis.members(trellis.find(["cat", "bee"])) == (1, 2)
    assert trellis.find([1, 2]) == trellis.find_mask(0b110)
    assert trellis.find(["ant", "dog"]) == trellis.find([]) == -1
    assert trellis.find(["dog"]) == 3
    assert trellis.find(range(4)) == trellis.n_clusters - 1
    with pytest.raises(ValueError, match="no leaf is called 'eel'"):
        trellis.find(["eel"])


# Small, large, wrong.


@pytest.mark.parametrize("closed", [False, True])
def test_one_leaf_is_one_hierarchy(closed):
    only = Hierarchy.from_nested("a")
    trellis = SparseTrellis.from_hierarchies([only, only], closed=closed)
    assert (trellis.n_leaves, trellis.n_clusters, trellis.n_splits, trellis.count) == (1, 1, 0, 1)
    assert trellis.holds(only)
    assert trellis.sparsity == 1


def test_one_leaf_and_no_clusters_are_one_hierarchy():
    trellis = SparseTrellis.from_clusters([], ["a"])
    assert (trellis.n_leaves, trellis.n_clusters, trellis.n_splits, trellis.count) == (1, 1, 0, 1)
    assert trellis.sparsity == 1


def test_two_and_three_leaves():
    two = SparseTrellis.from_clusters([], ["a", "b"])
    assert (two.n_clusters, two.n_splits, two.count, two.sparsity) == (3, 1, 1, 1)
    three = [Hierarchy.from_newick(text) for text in ["((a,b),c);", "((a,c),b);"]]
    trellis = SparseTrellis.from_hierarchies(three)
    assert (trellis.n_clusters, trellis.n_splits, trellis.count, trellis.sparsity) == (6, 4, 2, Fraction(2, 3))


@pytest.mark.parametrize("make", [caterpillar, balanced])
def test_deep_and_flat_hierarchies_of_two_hundred_leaves(make):
    h = make(200)
    trellis = SparseTrellis.from_hierarchies([h])
    assert_well_made(trellis)
    assert trellis.count == 1
    assert trellis.holds(h)
    assert trellis.hierarchy_of(trellis.find_hierarchy(h)) == h
    assert trellis.closed().count == 1
    both = SparseTrellis.from_hierarchies([caterpillar(200), balanced(200)])
    assert both.holds(caterpillar(200))
    assert both.holds(balanced(200))


def slow_closing(masks, n):
    """All splits of a family between clusters that are in some hierarchy, by definition, over Python integers."""
    family = sorted(masks, key=int.bit_count)
    some = {P: [(L, P ^ L) for L in family if L != P and L & P == L and L & lowest(P)] for P in family}
    some = {P: [(L, R) for L, R in splits if R in some] for P, splits in some.items()}
    complete: set[int] = {1 << leaf for leaf in range(n)}
    for P in family:
        complete |= {P} if any({L, R} <= complete for L, R in some[P]) else set()
    used = {(1 << n) - 1}
    for P in reversed(family):
        used |= {part for s in some[P] if P in used and set(s) <= complete for part in s}
    return {(P, L, R) for P in used for L, R in some[P] if {L, R} <= used}


@pytest.mark.parametrize("n", WORD_EDGES)
def test_closing_across_words_matches_the_definition(n):
    rng = np.random.default_rng(n)
    order = rng.permutation(n)
    sample = [scattered(h, order) for h in some_hierarchies(n, 6, n)]
    trellis = SparseTrellis.from_hierarchies(sample)
    stray = {mask_of(np.flatnonzero(rng.random(n) < 0.5).tolist()) for _ in range(50)} - {0}
    extended = trellis.extended(stray)
    assert set(listed_splits(extended)) == slow_closing({*trellis.masks, *stray}, n)
    assert set(listed_splits(trellis)) == {(L | R, L, R) for h in sample for L, R in as_splits(h)}
    assert_well_made(extended)


def test_batches_and_slices_change_nothing(monkeypatch):
    sample = some_hierarchies(9, 40, seed=3)
    usual = [SparseTrellis.from_hierarchies(sample, closed=closed) for closed in (False, True)]
    weights = np.arange(40.0)
    seen = observe(sample, weights)
    monkeypatch.setattr(observed, "_AT_A_TIME", 50)
    monkeypatch.setattr(closing, "_PAIRS", 7)
    for closed in (False, True):
        assert_same(SparseTrellis.from_hierarchies(iter(sample), closed=closed), usual[closed])
    for mine, theirs in zip(observe(iter(sample), weights)[1:], seen[1:], strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_it_never_changes_and_travels():
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(70, 5, seed=1))
    for twin in (pickle.loads(pickle.dumps(trellis)), copy.deepcopy(trellis)):
        assert_same(twin, trellis)
        assert twin.count == trellis.count
    for array in (trellis.words, trellis.offsets, trellis.left, trellis.right, trellis.sizes, trellis.parent):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
    with pytest.raises(AttributeError, match="a SparseTrellis never changes"):
        trellis.is_closed = True


def test_it_says_what_it_is():
    h = Hierarchy.from_newick("(((a,b),c),(d,e));")
    trellis = SparseTrellis.from_hierarchies([h])
    assert repr(trellis) == "SparseTrellis(<5 leaves, 9 clusters, 4 splits, observed splits>)"
    assert repr(trellis.closed()) == "SparseTrellis(<5 leaves, 9 clusters, 4 splits, closed>)"
    with pytest.raises(TypeError, match="made by SparseTrellis"):
        SparseTrellis()


@pytest.mark.parametrize("closed", [False, True])
def test_wrong_hierarchies_are_named(closed):
    good, bad = Hierarchy.from_newick("((a,b),(c,d));"), Hierarchy.from_newick("((a,b),c,d);")
    with pytest.raises(ValueError, match="no hierarchy was given"):
        SparseTrellis.from_hierarchies([], closed=closed)
    with pytest.raises(ValueError, match="hierarchy 2 is not binary"):
        SparseTrellis.from_hierarchies([good, good, bad, good], closed=closed)
    with pytest.raises(TypeError, match="number 1 is a str"):
        SparseTrellis.from_hierarchies([good, "((a,b),(c,d));"], closed=closed)
    with pytest.raises(ValueError, match="not binary"):
        SparseTrellis.from_hierarchies([good], closed=closed).holds(bad)


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (["a", "a", "b"], ValueError, "distinct"),
        ([1, 2, 3], TypeError, "strings"),
        ([], ValueError, "leaf|leaves|label"),
    ],
    ids=["two alike", "numbers", "none"],
)
def test_labels_of_clusters_are_checked(labels, error, message):
    with pytest.raises(error, match=message):
        SparseTrellis.from_clusters([], labels)


def test_wrong_clusters_are_named():
    with pytest.raises(ValueError, match="no leaf is called 'z'"):
        SparseTrellis.from_clusters([["a", "z"]], ["a", "b"])
    with pytest.raises(ValueError, match="leaf 2 does not exist"):
        SparseTrellis.from_clusters([[0, 2]], ["a", "b"])
    with pytest.raises(ValueError, match="no hierarchy can be made"):
        SparseTrellis.from_clusters([["a", "b"]], list("abcd"))


@given(sample=samples, seed=st.integers(0, 99))
def test_observed_splits_carry_the_weight_of_the_hierarchies_that_have_them(sample, seed):
    weights = np.random.default_rng(seed).integers(0, 5, len(sample)) + np.eye(1, len(sample))[0]
    seen = observe(sample, weights)
    total: Counter[tuple[int, int]] = Counter()
    for h, weight in zip(sample, weights, strict=True):
        total.update(dict.fromkeys(as_splits(h), weight))
    masks = from_words(seen.words)
    found = {
        (masks[left], masks[right]): weight
        for left, right, weight in zip(seen.left, seen.right, seen.weight, strict=True)
    }
    assert found == {split: total[split] for h in sample for split in as_splits(h)}
    assert observe(sample).weight.sum() == len(sample) * (seen.words[-1, 0].item().bit_count() - 1)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights has shape \(1,\); expected one for each of the 2 hierarchies"),
        ([[1.0, 2.0]], r"weights has shape \(1, 2\)"),
        ([1.0, -1.0], "not negative"),
        ([1.0, np.nan], "finite"),
        ([np.inf, 1.0], "finite"),
        ([0.0, 0.0], "some of them positive"),
    ],
)
def test_wrong_weights_are_refused(weights, message):
    with pytest.raises(ValueError, match=message):
        observe(some_hierarchies(4, 2, seed=0), weights)


@pytest.mark.parametrize("n", [4, 7, 70])
def test_splits_are_found_by_parent_and_left_part(n):
    trellis = SparseTrellis.from_hierarchies(some_hierarchies(n, 6, seed=n))
    known = {pair: s for s, pair in enumerate(zip(trellis.parent.tolist(), trellis.left.tolist(), strict=True))}
    pairs = np.array([*known, *np.random.default_rng(0).integers(-1, trellis.n_clusters, (300, 2))])
    found = trellis.find_splits(*pairs.T.copy())
    assert found.tolist() == [known.get(tuple(pair), -1) for pair in pairs.tolist()]


def test_all_splits_drop_what_no_hierarchy_has():
    words = as_words([1, 2, 4, 8, 0b0011, 0b0110, 0b0101, 0b0111, 0b1111], 4)
    kept, parent, left, right = all_splits(words[by_size(words)], 4)
    masks = [from_words(words[by_size(words)])[i] for i in kept]
    splits = [(masks[a], masks[b], masks[c]) for a, b, c in zip(parent, left, right, strict=True)]
    assert set(splits) == {(3, 1, 2), (5, 1, 4), (6, 2, 4), (7, 1, 6), (7, 3, 4), (7, 5, 2), (15, 7, 8)}
    words = as_words([1, 2, 4, 8, 0b0011, 0b1100, 0b0110, 0b1111], 4)  # {1, 2} has no place
    kept, parent, left, right = all_splits(words[by_size(words)], 4)
    assert len(kept) == 7
    assert len(parent) == 3
