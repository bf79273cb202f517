"""Nested tuples, parents, clusters, splits, merges and pickles give back the hierarchy that they came from."""

import copy
import pickle

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import (
    any_text,
    hierarchies,
)

from palmette.hierarchy import Hierarchy


@given(hierarchies(labels=any_text))
def test_nested_tuples_round_trip(h):
    again = Hierarchy.from_nested(h.to_nested())
    assert again == h
    assert again.to_nested() == h.to_nested()
    assert Hierarchy.from_nested(h.to_nested(), h.labels).labels == h.labels


@given(hierarchies(labels=any_text))
def test_parents_round_trip(h):
    again = Hierarchy.from_parents(h.parents, h.labels)
    assert again == h
    assert np.array_equal(again.parents, h.parents)


@given(hierarchies(labels=any_text, heights=True), st.randoms(use_true_random=False))
def test_inner_nodes_may_be_numbered_in_any_order(h, random):
    inner = list(range(h.n_leaves, h.n_nodes))
    random.shuffle(inner)
    old = np.array([*range(h.n_leaves), *inner])  # node v of the shuffled array is node old[v]
    new = np.argsort(old)
    parents = np.where(h.parents[old] < 0, -1, new[h.parents[old]])
    again = Hierarchy.from_parents(
        parents, h.labels, h.heights[old], branch_lengths=h.heights[old], support=h.heights[old]
    )
    assert again == h
    for values in (again.heights, again.branch_lengths, again.support):
        by_cluster = dict(zip(again.clusters(), values, strict=True))
        assert by_cluster == dict(zip(h.clusters(), h.heights, strict=True))


@given(hierarchies(labels=any_text))
def test_clusters_round_trip_in_any_order_with_or_without_the_trivial_ones(h):
    clusters = h.clusters()
    assert Hierarchy.from_clusters(clusters, h.labels) == h
    assert Hierarchy.from_clusters(clusters[::-1] + clusters, h.labels) == h
    assert Hierarchy.from_clusters(clusters[h.n_leaves : -1], h.labels) == h
    named = [{h.labels[leaf] for leaf in cluster} for cluster in clusters]
    assert Hierarchy.from_clusters(named) == h


@given(hierarchies(labels=any_text, binary=True))
def test_splits_round_trip_in_any_order(h):
    assert Hierarchy.from_splits(h.splits(), h.labels) == h
    turned = [(list(right), list(left)) for left, right in h.splits()[::-1]]
    assert Hierarchy.from_splits(turned, h.labels) == h


@given(hierarchies(labels=any_text, binary=True, heights=True))
def test_merges_round_trip(h):
    again = Hierarchy.from_merges(h.children, h.labels, h.heights)
    assert again == h
    assert np.array_equal(again.children, h.children)
    assert np.array_equal(again.heights, h.heights)


@given(hierarchies(labels=any_text, heights=True))
def test_copies_and_pickles_keep_everything(h):
    h = Hierarchy.from_newick(h.to_newick(support=np.arange(h.n_nodes)))
    for again in (copy.copy(h), copy.deepcopy(h), pickle.loads(pickle.dumps(h))):
        assert again == h
        assert again.to_newick() == h.to_newick()
        assert again.labels == h.labels
        assert not again.parents.flags.writeable


def test_children_of_clusters_splits_and_parents_are_ordered_by_smallest_leaf():
    assert Hierarchy.from_clusters([{0, 3}, {1, 2}], n=5).to_newick() == "((0,3),(1,2),4);"
    assert Hierarchy.from_splits([({2}, {0}), ({1}, {0, 2})]).to_newick() == "((0,2),1);"
    assert Hierarchy.from_parents([3, 4, 3, 4, -1]).to_newick() == "((0,2),1);"


def test_children_of_nested_tuples_and_merges_keep_their_order():
    assert Hierarchy.from_nested([2, [1, 0]]).to_newick() == "(2,(1,0));"
    assert Hierarchy.from_merges([[2, 1], [0, 3]]).to_newick() == "(0,(2,1));"
