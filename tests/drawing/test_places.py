"""Where things stand in pictures."""

import numpy as np
import pytest
from hypothesis import given
from random_hierarchies import hierarchies

from palmette.drawing.classes import class_of_leaves
from palmette.drawing.places import drawn_rows, middle_places, places_across, places_down, row_name
from palmette.hierarchy import Hierarchy


@given(hierarchies(heights=True))
def test_every_leaf_has_a_row_if_there_is_room(h):
    assert drawn_rows(h.outline, h.n_leaves) == h.leaf_order.tolist()


@given(hierarchies(heights=True))
def test_rows_are_the_largest_clusters_that_fit(h):
    rows = drawn_rows(h.outline, 3)
    assert len(rows) <= 3
    assert sorted(leaf for row in rows for leaf in h.clusters()[row]) == list(range(h.n_leaves))
    assert [h.intervals[row, 0] for row in rows] == sorted(h.intervals[rows, 0])


def test_the_highest_merges_are_opened_first():
    h = Hierarchy.from_merges([[0, 1], [2, 3], [4, 5]], ["a", "b", "c", "d"], [3.0, 1.0, 4.0])
    assert drawn_rows(h.outline, 3) == [0, 1, 5]
    assert [row_name(h.outline, row) for row in (0, 5)] == ["a", "c and 1 more"]


@given(hierarchies(heights=True))
def test_a_cluster_stands_midway_between_its_first_and_its_last_child(h):
    y = places_down(h.parents, h.leaf_order.tolist(), 10, 4)
    assert [y[leaf] for leaf in h.leaf_order] == [12.0 + 4 * row for row in range(h.n_leaves)]
    for node in range(h.n_leaves, h.n_nodes):
        children = h.children_of(node)
        assert y[node] == (y[children[0]] + y[children[-1]]) / 2


def test_what_lies_below_a_row_has_no_place():
    h = Hierarchy.from_newick("((a,(b,c)),d);")
    rows = drawn_rows(h.outline, 2)
    assert rows == [5, 3]
    assert places_down(h.parents, rows, 0, 2) == {3: 3.0, 5: 1.0, 6: 2.0}


def test_rows_in_any_order_count_from_the_outermost_child():
    parents = np.array([4, 4, 4, 5, 5, -1])
    found = middle_places(parents, np.array([1.0, 9.0, 2.0, 0.0, np.nan, np.nan]))
    assert found.tolist() == [1, 9, 2, 0, 5, 2.5]


def test_equal_heights_stand_at_the_right():
    assert places_across(np.zeros(3), 2, 8) == [8.0, 8.0, 8.0]


def test_classes_come_as_a_sequence_or_by_label():
    labels = ["a", "b", "c"]
    assert class_of_leaves(None, labels) == [None, None, None]
    assert class_of_leaves({"c": 2, "a": float("nan")}, labels) == [None, None, "2"]
    assert class_of_leaves(np.array([1, 1, 0]), labels) == ["1", "1", "0"]
    assert class_of_leaves(["", " ", "x"], labels) == [None, None, "x"]
    assert class_of_leaves(np.ma.masked_equal([1, 0, 1], 0), labels) == ["1", None, "1"]
    with pytest.raises(ValueError, match="2 classes were given for 3 leaves"):
        class_of_leaves(["x", "y"], labels)
    with pytest.raises(TypeError, match="one text"):
        class_of_leaves("xxy", labels)
