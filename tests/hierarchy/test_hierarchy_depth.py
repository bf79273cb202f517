"""No operation recurses or does quadratic work: a caterpillar of 20,000 leaves goes through all of them."""

import copy
import pickle

import numpy as np
import pytest
from random_hierarchies import caterpillar, random_merges

from palmette.hierarchy import Hierarchy

DEEP = 20_000


@pytest.fixture(scope="module")
def deep():
    return caterpillar(DEEP)


def test_deep_construction_from_merges(deep):
    assert deep.n_nodes == 2 * DEEP - 1
    assert deep.heights[-1] == DEEP - 1


def test_deep_construction_from_parents_in_reverse(deep):
    number = np.concatenate((np.arange(DEEP), np.arange(deep.n_nodes - 1, DEEP - 1, -1)))
    parents = np.empty(deep.n_nodes, dtype=int)
    parents[number] = np.where(deep.parents < 0, -1, number[deep.parents])
    assert Hierarchy.from_parents(parents) == deep


def test_deep_equality_and_hash(deep):
    turned = Hierarchy.from_merges(deep.children[:, ::-1])
    other = caterpillar(DEEP, [str(leaf) for leaf in [*range(2, DEEP), 0, 1]])
    assert turned == deep
    assert hash(turned) == hash(deep)
    assert other != deep


def test_deep_orders_and_intervals(deep):
    assert deep.leaf_order.tolist() == list(range(DEEP))
    assert deep.intervals[-1].tolist() == [0, DEEP]
    assert deep.find(range(1000)) == DEEP + 998


def test_deep_pairs_of_leaves(deep):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, DEEP, (2, 100_000))
    expected = np.where(i == j, i, DEEP - 1 + np.maximum(i, j))
    assert np.array_equal(deep.lca(i, j), expected)
    assert np.array_equal(deep.heights[deep.lca(i, j)], np.where(i == j, 0, np.maximum(i, j)))


@pytest.mark.parametrize("k", [1, 2, 1000, DEEP])
def test_deep_cuts(deep, k):
    assert deep.cut(k).sizes.tolist() == [DEEP - k + 1] + [1] * (k - 1)
    assert deep.cut_height(DEEP - k).n_clusters == k


def test_deep_newick(deep):
    text = deep.to_newick()
    assert text.startswith("(" * (DEEP - 1) + "0,1),2)")
    assert Hierarchy.from_newick(text) == deep


def test_deep_newick_with_support_and_lengths(deep):
    h = Hierarchy.from_parents(deep.parents, heights=deep.heights, support=deep.sizes)
    again = Hierarchy.from_newick(h.to_newick())
    assert np.array_equal(again.heights, h.heights)
    assert np.array_equal(again.support[DEEP:], h.support[DEEP:])


def test_deep_nested_tuples(deep):
    assert Hierarchy.from_nested(deep.to_nested()) == deep


def test_deep_linkage(deep):
    assert Hierarchy.from_linkage(deep.to_linkage()) == deep


def test_deep_alignment_copy_and_looks(deep):
    assert deep.aligned_to(deep.labels[::-1]) == deep
    assert copy.deepcopy(deep) == pickle.loads(pickle.dumps(deep)) == deep
    assert repr(deep) == f"Hierarchy(<{DEEP} leaves, {2 * DEEP - 1} nodes>)"
    assert len(deep._repr_svg_()) < 200_000


def test_a_star_of_many_leaves():
    h = Hierarchy.from_clusters([], n=DEEP)
    assert h.cut(DEEP).n_clusters == DEEP
    assert Hierarchy.from_newick(h.to_newick()) == h
    assert h.lca(0, DEEP - 1) == DEEP


def test_a_balanced_hierarchy_of_many_leaves():
    h = Hierarchy.from_merges(random_merges(6_000, np.random.default_rng(1)))
    assert Hierarchy.from_clusters(h.clusters(), h.labels) == h
