import re

import numpy as np
import pytest

from palmette.labels import (
    align_labels,
    check_labels,
    describe_cluster,
    leaf_index,
    leaf_number,
    leaf_numbers,
    name_leaves,
    read_clusters,
)


def test_leaves_without_labels_are_named_by_number():
    assert check_labels(None, 3) == ("0", "1", "2")
    assert check_labels(None, 0) == ()


@pytest.mark.parametrize("name", ["", "it's", "a\nb", "<b>", "日本", "\ud800", "\0", " "])
def test_any_text_is_a_legal_label(name):
    assert check_labels([name], 1) == (name,)


def test_numpy_strings_become_plain_strings():
    names = check_labels(np.array(["a", "b"]), 2)
    assert names == ("a", "b")
    assert {type(name) for name in names} == {str}


def test_labels_may_come_from_any_ordered_iterable():
    assert check_labels(iter("ab"), 2) == check_labels({"a": 1, "b": 2}, 2) == ("a", "b")


def test_a_wrong_number_of_labels_is_refused():
    with pytest.raises(ValueError, match="2 labels were given for 3 leaves; give one label per leaf"):
        check_labels(["a", "b"], 3)


def test_a_label_given_twice_is_named_with_both_positions():
    with pytest.raises(ValueError, match="distinct, but 'b' names both leaf 1 and leaf 3"):
        check_labels(["a", "b", "c", "b"], 4)


def test_numbers_are_not_labels():
    with pytest.raises(TypeError, match="label 1 is 7 of type int; convert it with str"):
        check_labels(["a", 7], 2)
    with pytest.raises(TypeError, match="label 0 is b'a' of type bytes"):
        check_labels([b"a"], 1)


@pytest.mark.parametrize("labels", ["abc", b"abc", {"a", "b", "c"}, frozenset("abc"), 3])
def test_what_is_no_sequence_of_strings_is_refused(labels):
    with pytest.raises(TypeError, match="labels must be a sequence of strings, one per leaf, not a"):
        check_labels(labels, 3)


def test_messages_quote_only_the_start_of_a_very_long_label():
    with pytest.raises(ValueError, match="distinct") as caught:
        check_labels(["x" * 10_000] * 2, 2)
    assert len(str(caught.value)) < 300


def test_leaves_are_found_by_number_and_by_label():
    index = leaf_index(("a", "b", "1"))
    assert leaf_number(np.int64(1), index) == 1
    assert leaf_numbers(["a", 1, "1", 0], index) == {0, 1, 2}
    assert leaf_numbers((), index) == frozenset()


def test_leaves_that_do_not_exist_are_refused():
    index = leaf_index(("a", "b"))
    with pytest.raises(ValueError, match="leaf 2 does not exist; the leaves are 0 to 1"):
        leaf_number(2, index)
    with pytest.raises(ValueError, match="leaf -1 does not exist"):
        leaf_number(-1, index)
    with pytest.raises(ValueError, match="no leaf is called 'c'; the labels are 'a', 'b'"):
        leaf_number("c", index)


@pytest.mark.parametrize("member", [True, np.True_, 1.0, None, ("a",)])
def test_only_integers_and_strings_stand_for_a_leaf(member):
    with pytest.raises(TypeError, match="a leaf is given by its number or its label"):
        leaf_number(member, leaf_index(("a", "b")))


@pytest.mark.parametrize("cluster", ["ab", b"ab", {"a": 1}, 3])
def test_only_collections_of_leaves_are_clusters(cluster):
    with pytest.raises(TypeError, match="a cluster must be a collection of leaf numbers or labels"):
        leaf_numbers(cluster, leaf_index(("a", "b")))


def test_leaves_are_named_by_what_is_mentioned():
    assert name_leaves(["b", "a", "b"]) == ("b", "a")
    assert name_leaves([2, 0]) == ("0", "1", "2")
    assert name_leaves([0], n=2) == ("0", "1")
    assert name_leaves([0], labels=["x", "y"]) == ("x", "y")


def test_leaves_that_cannot_be_named_are_refused():
    with pytest.raises(ValueError, match=r"by number \(0\) and by label \('a'\)"):
        name_leaves([0, "a"])
    with pytest.raises(ValueError, match="no leaf is mentioned"):
        name_leaves([])
    with pytest.raises(ValueError, match="there are no leaves"):
        name_leaves([], n=0)
    with pytest.raises(ValueError, match="there are no leaves"):
        name_leaves([], labels=[])
    with pytest.raises(ValueError, match="leaf -3 does not exist"):
        name_leaves([-3])
    with pytest.raises(ValueError, match="1 labels were given for 2 leaves"):
        name_leaves([], labels=["a"], n=2)


def test_clusters_are_read_with_sorted_names():
    clusters, names = read_clusters([{"c", "a"}, {"b"}])
    assert names == ("a", "b", "c")
    assert clusters == [{0, 2}, {1}]


def test_an_empty_cluster_is_refused():
    with pytest.raises(ValueError, match="cluster 1 is empty"):
        read_clusters([{0}, set()])


def test_alignment_is_the_order_that_turns_one_set_of_labels_into_another():
    labels, wanted = ("a", "b", "c"), ("c", "a", "b")
    order = align_labels(labels, wanted)
    assert tuple(labels[i] for i in order) == wanted


def test_labels_that_do_not_match_are_named():
    with pytest.raises(ValueError, match=re.escape("(missing: 'b'; not among them: 'x', 'y')")):
        align_labels(("a", "b"), ["a", "x", "y"])
    with pytest.raises(ValueError, match=re.escape("(missing: 'b')")):
        align_labels(("a", "b"), ["a"])
    with pytest.raises(ValueError, match="distinct"):
        align_labels(("a", "b"), ["a", "a"])


def test_a_large_cluster_is_described_by_its_first_members():
    text = describe_cluster(range(100), check_labels(None, 100))
    assert text == "{'0', '1', '2', '3', '4', '5' and 94 more}"
