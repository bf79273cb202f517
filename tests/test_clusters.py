"""Bit masks of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.clusters import cluster_mask, cluster_members, cluster_sizes, lowest_leaf, size_of

masks = st.integers(0, 2**63 - 1)


@given(mask=masks | st.sampled_from([0, 1, 2**62, 2**63 - 1]))
def test_the_size_is_the_number_of_bits(mask):
    assert size_of(mask) == mask.bit_count()


@given(mask=st.integers(1, 2**64 - 1))
def test_the_lowest_leaf_is_the_lowest_bit(mask):
    assert lowest_leaf(np.uint64(mask)) == mask & -mask


@pytest.mark.parametrize("n", [0, 1, 2, 5, 13])
def test_the_sizes_of_all_clusters_are_listed_by_mask(n):
    sizes = cluster_sizes(n)
    assert sizes.dtype == np.uint8
    assert sizes.tolist() == [mask.bit_count() for mask in range(1 << n)]


@given(mask=masks)
def test_members_and_mask_are_inverse(mask):
    members = cluster_members(mask)
    assert list(members) == sorted(set(members))
    assert sum(1 << i for i in members) == mask


@given(leaves=st.sets(st.integers(0, 25), min_size=1))
def test_leaf_numbers_and_labels_name_the_same_cluster(leaves):
    labels = tuple("abcdefghijklmnopqrstuvwxyz")
    expected = sum(1 << i for i in leaves)
    assert cluster_mask(leaves, labels) == expected
    assert cluster_mask([labels[i] for i in leaves], labels) == expected
    assert cluster_mask(np.array(sorted(leaves)), labels) == expected
    assert cluster_mask((i for i in leaves), labels) == expected
    assert cluster_members(expected) == tuple(sorted(leaves))


def test_a_leaf_that_is_named_twice_counts_once():
    assert cluster_mask(["a", 0, "a"], ("a", "b")) == 1


def test_a_label_that_looks_like_a_number_is_a_label():
    assert cluster_mask(["1"], labels=("1", "0")) == 0b01
    assert cluster_mask([1], labels=("1", "0")) == 0b10


def test_a_cluster_may_have_more_leaves_than_a_machine_word_has_bits():
    assert cluster_mask(range(100), tuple(map(str, range(100)))) == 2**100 - 1


@pytest.mark.parametrize(
    ("cluster", "error", "message"),
    [
        ([], ValueError, "the cluster is empty; a cluster holds at least one leaf"),
        ([3], ValueError, "leaf 3 does not exist; the leaves are 0 to 2"),
        ([-1], ValueError, "leaf -1 does not exist"),
        (["d"], ValueError, "no leaf is called 'd'; the labels are 'a', 'b', 'c'"),
        ([1.0], TypeError, "a leaf is given by its number or its label, not by 1.0"),
        ([True], TypeError, "a leaf is given by its number or its label, not by True"),
        ([None], TypeError, "a leaf is given by its number or its label, not by None"),
        ("ab", TypeError, "a cluster must be a collection of leaf numbers or labels"),
        (3, TypeError, "a cluster must be a collection of leaf numbers or labels"),
        (None, TypeError, "a cluster must be a collection of leaf numbers or labels"),
        ({"a": 1}, TypeError, "a cluster must be a collection of leaf numbers or labels"),
    ],
)
def test_a_cluster_that_names_no_leaves_is_refused(cluster, error, message):
    with pytest.raises(error, match=message):
        cluster_mask(cluster, ("a", "b", "c"))
