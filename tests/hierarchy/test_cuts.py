"""Cuts into k clusters, or at a height: the highest merges are undone first."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import (
    hierarchies,
)

from palmette.hierarchy import Hierarchy
from palmette.partition import Partition


@given(hierarchies(binary=True, heights=True))
def test_a_binary_hierarchy_can_be_cut_into_any_number_of_its_clusters(h):
    clusters = set(h.clusters())
    finer = h.cut(1)
    for k in range(1, h.n_leaves + 1):
        coarser, finer = finer, h.cut(k)
        assert finer.n_clusters == k
        assert set(finer.clusters()) <= clusters
        assert all(any(cluster <= other for other in coarser.clusters()) for cluster in finer.clusters())


@given(hierarchies(binary=True, heights=True))
def test_cuts_undo_the_highest_merges(h):
    heights = dict(zip(h.clusters(), h.heights, strict=True))
    merges = [cluster for cluster in h.clusters() if len(cluster) > 1]
    highest = {cluster: max(heights[c] for c in merges if c <= cluster) for cluster in merges}
    for k in range(1, h.n_leaves + 1):
        left = [highest[cluster] for cluster in h.cut(k).clusters() if len(cluster) > 1]
        gone = [highest[c] for c in merges if not any(c <= part for part in h.cut(k).clusters())]
        assert len(gone) == k - 1
        assert not left or not gone or max(left) <= min(gone)


@given(hierarchies(heights=True), st.floats(-110, 110))
def test_cut_height_keeps_the_largest_clusters_below(h, height):
    heights = dict(zip(h.clusters(), h.heights, strict=True))
    merges = [cluster for cluster in h.clusters() if len(cluster) > 1]
    low = [c for c in merges if all(heights[d] <= height for d in merges if d <= c)]
    low += [frozenset({leaf}) for leaf in range(h.n_leaves)]
    largest = [c for c in low if not any(c < d for d in low)]
    assert set(h.cut_height(height).clusters()) == set(largest)


def test_among_equal_heights_the_later_merge_is_undone_first():
    h = Hierarchy.from_newick("((a,b),(c,d));")
    assert h.cut(3) == Partition([0, 0, 1, 2], h.labels)


def test_cuts_that_a_multifurcation_skips_name_their_neighbours():
    h = Hierarchy.from_newick("(((a,b),c,d,e),f);")
    assert [h.cut(k).n_clusters for k in (1, 2, 5, 6)] == [1, 2, 5, 6]
    for k in (3, 4):
        with pytest.raises(ValueError, match=f"skip k = {k}; the nearest that exist are 2 and 5"):
            h.cut(k)


@given(hierarchies(heights=True))
def test_cuts_undo_nodes_in_the_order_that_is_said(h):
    order = h.cut_order.tolist()
    assert sorted(order) == list(range(h.n_leaves, h.n_nodes))
    assert all(order.index(h.parents[node]) < order.index(node) for node in order[1:])
    clusters, parts = h.clusters(), {h.n_nodes - 1}
    for node in order:
        assert set(h.cut(len(parts)).clusters()) == {clusters[part] for part in parts}
        parts = parts - {node} | set(np.flatnonzero(h.parents == node).tolist())
    assert parts == set(range(h.n_leaves))


def test_the_order_of_cuts_cannot_be_changed():
    h = Hierarchy.from_newick("((a,b),(c,d));")
    with pytest.raises(ValueError, match="read-only"):
        h.cut_order[0] = 4


@pytest.mark.parametrize("k", [0, -1, 4])
def test_impossible_cuts_are_refused(k):
    with pytest.raises(ValueError, match=f"cannot cut 3 leaves into {k} clusters; give 1 to 3"):
        Hierarchy.from_newick("((a,b),c);").cut(k)


def test_cuts_need_an_integer_or_a_number():
    h = Hierarchy.from_newick("((a,b),c);")
    for k in (2.0, "2", True):
        with pytest.raises(TypeError, match="k must be an integer"):
            h.cut(k)
    with pytest.raises(ValueError, match="height is NaN"):
        h.cut_height(float("nan"))
