import re
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.hierarchy import Hierarchy


@pytest.mark.parametrize(
    ("children", "message"),
    [
        ([[0, 1], [2, 4]], "row 1 of children is [2, 4], but it makes node 4 and may only join nodes 0 to 3"),
        ([[0, 3], [1, 2]], "row 0 of children is [0, 3], but it makes node 3 and may only join nodes 0 to 2"),
        ([[0, -1], [1, 2]], "row 0 of children is [0, -1]"),
        ([[0, 1], [1, 2]], "node 1 is merged 2 times (rows [0, 1]); merge each node once"),
        ([[0, 0], [1, 2]], "node 0 is merged 2 times (rows [0])"),
        ([0, 1], "children must have shape (n - 1, 2), one row per merge, not (2,)"),
        ([[0, 1, 2]], "children must have shape (n - 1, 2), one row per merge, not (1, 3)"),
        ([[0, 1], [2]], "children must be a rectangular array of integers"),
    ],
)
def test_merges_that_make_no_tree_are_refused(children, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Hierarchy.from_merges(children)


def test_merges_must_be_integers():
    with pytest.raises(TypeError, match="children must hold integers, not float64"):
        Hierarchy.from_merges([[0.0, 1.0]])


@pytest.mark.parametrize(
    ("parents", "message"),
    [
        ([], "at least one node"),
        ([[2, 2, -1]], "flat array with at least one node, not of shape (1, 3)"),
        ([2, 2, 5], "the parent of node 2 is 5; give a node 0 to 2, or -1 (root)"),
        ([2, -2, -1], "the parent of node 1 is -2"),
        ([2, -1, -1], "2 nodes have parent -1 [1, 2]; exactly one, the root, must have it"),
        ([3, 3, 3, 3], "0 nodes have parent -1 []"),
        ([1, -1, 1], "node 2 has no children but comes late; number the 2 leaves 0 to 1"),
        ([2, 2, 3, -1], "node 3 has one child; leave it out"),
        ([4, 4, 5, 5, 5, 4, -1], "node 6 has no children but comes late"),
        ([4, 4, 6, 6, 5, 4, -1], "node 5 has one child"),
        ([6, 6, 4, 5, 5, 4, -1], "node 4 is its own ancestor"),
    ],
)
def test_parents_that_make_no_tree_are_refused(parents, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Hierarchy.from_parents(parents)


@pytest.mark.parametrize(
    ("heights", "message"),
    [
        ([1.0], "heights has shape (1,); give one number per node (5) or one per inner node (2)"),
        ([[1.0, 2.0]], "heights has shape (1, 2)"),
        ([1.0, np.nan], "heights must be finite, but entry 1 is nan"),
        ([np.inf, 1.0], "heights must be finite, but entry 0 is inf"),
        ([1.7e308, 1.0], "heights must not exceed half the float range"),
    ],
)
def test_heights_that_cannot_be_are_refused(heights, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Hierarchy.from_merges([[0, 1], [3, 2]], heights=heights)


def test_numbers_per_node_must_be_numbers():
    with pytest.raises(TypeError, match="heights must be a flat array of numbers"):
        Hierarchy.from_merges([[0, 1]], heights=["high"])
    with pytest.raises(ValueError, match=r"support has shape \(1,\); give one number per node \(3\)"):
        Hierarchy.from_parents([2, 2, -1], support=[0.5])
    with pytest.raises(ValueError, match=r"support must be finite, or NaN .* but entry 2 is inf"):
        Hierarchy.from_parents([2, 2, -1], support=[0, 0, np.inf])
    with pytest.raises(ValueError, match="branch_lengths add up to more than a float can hold"):
        Hierarchy.from_parents([2, 2, -1], branch_lengths=[1e308, 1e308, np.nan])


@pytest.mark.parametrize(
    ("nested", "labels", "error", "message"),
    [
        ((), None, ValueError, "a tuple with 0 entries was found after 0 leaves"),
        ((0, (1,)), None, ValueError, "a tuple with 1 entries was found after 2 leaves"),
        ((0, 0), None, ValueError, "leaf '0' occurs twice"),
        (("a", "a"), None, ValueError, "leaf 'a' occurs twice"),
        ((0, 2), None, ValueError, "leaves {'1'} do not occur; every leaf must occur once"),
        (("a", "b"), ["a", "b", "c"], ValueError, "leaves {'c'} do not occur"),
        ((0, "a"), None, ValueError, "by number (0) and by label ('a')"),
        ((0, 1.5), None, TypeError, "a leaf is given by its number or its label, not by 1.5"),
        ((0, True), None, TypeError, "not by True"),
        (("a", "x"), ["a", "b"], ValueError, "no leaf is called 'x'"),
        ((0, 2), ["a", "b"], ValueError, "leaf 2 does not exist"),
        (None, None, TypeError, "a leaf is given by its number or its label"),
    ],
)
def test_nested_tuples_that_make_no_tree_are_refused(nested, labels, error, message):
    with pytest.raises(error, match=re.escape(message)):
        Hierarchy.from_nested(nested, labels)


def test_numbers_and_labels_mix_when_labels_are_given():
    assert Hierarchy.from_nested((("b", 0), 2), ["a", "b", "c"]).to_newick() == "((b,a),c);"


def test_crossing_clusters_are_both_named():
    message = re.escape("clusters {'a', 'b'} and {'b', 'c'} cross")
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_clusters([{"a", "b"}, {"b", "c"}])
    message = re.escape("clusters {'2', '3'} and {'0', '1', '2'} cross")
    with pytest.raises(ValueError, match=message):
        Hierarchy.from_clusters([{0, 1, 2}, {2, 3}], n=6)


@given(st.sets(st.frozensets(st.integers(0, 5), min_size=1), max_size=6))
def test_clusters_cross_exactly_when_they_are_refused(clusters):
    crossing = any(a & b and not a <= b and not b <= a for a, b in combinations(clusters, 2))
    if crossing:
        with pytest.raises(ValueError, match="cross"):
            Hierarchy.from_clusters(clusters, n=6)
    else:
        trivial = {frozenset({leaf}) for leaf in range(6)} | {frozenset(range(6))}
        assert set(Hierarchy.from_clusters(clusters, n=6).clusters()) == clusters | trivial


@pytest.mark.parametrize(
    ("clusters", "options", "error", "message"),
    [
        ([set()], {"n": 3}, ValueError, "cluster 0 is empty"),
        ([{5}], {"n": 3}, ValueError, "leaf 5 does not exist; the leaves are 0 to 2"),
        (["ab"], {"n": 3}, TypeError, "a cluster must be a collection of leaf numbers or labels, not 'ab'"),
        ([], {}, ValueError, "no leaf is mentioned"),
        ([], {"n": 0}, ValueError, "there are no leaves"),
        ([{0, 1}], {"labels": ["a"], "n": 2}, ValueError, "1 labels were given for 2 leaves"),
    ],
)
def test_clusters_that_cannot_be_are_refused(clusters, options, error, message):
    with pytest.raises(error, match=message):
        Hierarchy.from_clusters(clusters, **options)


@pytest.mark.parametrize(
    ("splits", "message"),
    [
        ([({0}, {1}), ({0, 1}, {2}, {3})], "split 1 has 3 sides; a split is a pair of clusters"),
        ([({0, 1}, {1, 2})], "must not overlap, but {'1'} is on both sides of split 0"),
        ([({0, 1}, {2})], "no split is given for cluster {'0', '1'}"),
        ([({0}, {1}), ({2}, {3})], "no split is given for cluster {'0', '1', '2', '3'}"),
        ([({0}, {1, 2}), ({0, 1}, {2}), ({0}, {1})], "cluster {'0', '1', '2'} is split twice"),
        ([({0, 1}, {2, 3}), ({0}, {1}), ({2}, {3}), ({0}, {2})], "cross"),
        ([(set(), {0})], "cluster 0 is empty"),
        ([], "no leaf is mentioned"),
    ],
)
def test_splits_that_make_no_binary_hierarchy_are_refused(splits, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        Hierarchy.from_splits(splits)


def test_what_needs_a_binary_hierarchy_says_which_node_is_not():
    h = Hierarchy.from_newick("((a,b),c,d);")
    assert not h.is_binary
    for call in (lambda: h.children, h.splits, h.to_linkage):
        with pytest.raises(ValueError, match="needs a binary hierarchy, but node 5 has 3 children"):
            call()


def test_find_refuses_an_empty_cluster():
    with pytest.raises(ValueError, match="the cluster is empty"):
        Hierarchy.from_newick("(a,b);").find([])
