import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import any_text

from palmette.partition import Partition

memberships = st.lists(st.integers(-3, 3), min_size=1, max_size=12)


@st.composite
def partitions(draw):
    membership = draw(memberships)
    n = len(membership)
    return Partition(membership, draw(st.lists(any_text, min_size=n, max_size=n, unique=True)))


def test_clusters_are_numbered_by_first_appearance():
    assert Partition([5, -1, 5, 0]).membership.tolist() == [0, 1, 0, 2]


@given(memberships)
def test_leaves_share_a_cluster_exactly_when_their_numbers_agree(membership):
    found = Partition(membership).membership
    given_pairs = np.equal.outer(membership, membership)
    assert np.array_equal(np.equal.outer(found, found), given_pairs)
    firsts = [found.tolist().index(k) for k in range(found.max() + 1)]
    assert firsts == sorted(firsts)


@given(partitions())
def test_clusters_and_their_sizes_agree_with_the_membership(p):
    assert p.n_clusters == len(p.clusters()) == len(p.sizes)
    assert [len(cluster) for cluster in p.clusters()] == p.sizes.tolist()
    assert sorted(leaf for cluster in p.clusters() for leaf in cluster) == list(range(p.n_leaves))
    for number, cluster in enumerate(p.clusters()):
        assert {p.membership[leaf] for leaf in cluster} == {number}


@given(partitions())
def test_a_partition_is_rebuilt_from_its_clusters(p):
    again = Partition.from_clusters(p.clusters(), p.labels)
    named = Partition.from_clusters([{p.labels[leaf] for leaf in cluster} for cluster in p.clusters()])
    assert again == p == named
    assert np.array_equal(again.membership, p.membership)


@given(partitions(), st.randoms(use_true_random=False))
def test_partitions_are_equal_by_label_in_any_order(p, random):
    order = list(p.labels)
    random.shuffle(order)
    q = p.aligned_to(order)
    assert q.labels == tuple(order)
    assert q == p
    assert hash(q) == hash(p)
    assert q.aligned_to(p.labels).membership.tolist() == p.membership.tolist()


def test_different_partitions_differ():
    p = Partition([0, 0, 1])
    assert p != Partition([0, 1, 1])
    assert p != Partition([0, 0, 1], labels=["a", "b", "c"])
    assert p != Partition([0, 0])
    assert p != [0, 0, 1]


def test_the_hash_is_the_same_in_every_process():
    code = "from palmette.partition import Partition as P; print(hash(P([0, 0, 1], ['x', 'y', '\\ud800'])))"
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        for seed in ("1", "2")
    ]
    found = {run.stdout for run in runs}
    assert found == {f"{hash(Partition([0, 0, 1], ['x', 'y', chr(0xD800)]))}\n"}


@given(partitions())
def test_copies_and_pickles_are_equal_and_closed_for_writing(p):
    for q in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert q == p
        assert q.labels == p.labels
        assert not q.membership.flags.writeable


def test_a_partition_cannot_be_changed():
    given_array = np.array([0, 1])
    p = Partition(given_array)
    given_array[0] = 1
    assert p.membership.tolist() == [0, 1]
    with pytest.raises(ValueError, match="read-only"):
        p.membership[0] = 1
    with pytest.raises(ValueError, match="read-only"):
        p.sizes[0] = 1
    with pytest.raises(AttributeError, match="a Partition never changes"):
        p.labels = ("a", "b")
    with pytest.raises(AttributeError, match="a Partition never changes"):
        del p.labels


def test_repr_shows_small_partitions_and_counts_large_ones():
    assert repr(Partition([1, 1, 0])) == "Partition([0, 0, 1])"
    p = Partition([1, 0], labels=["it's", "b"])
    assert eval(repr(p)) == p
    assert repr(Partition(np.arange(1000) // 2)) == "Partition(<1000 leaves in 500 clusters>)"


def test_a_single_leaf_is_a_partition():
    p = Partition([9])
    assert (p.n_leaves, p.n_clusters, p.clusters()) == (1, 1, [frozenset({0})])


def test_a_large_partition_is_no_trouble():
    p = Partition(np.random.default_rng(0).integers(0, 30_000, 50_000))
    assert Partition.from_clusters(p.clusters(), p.labels) == p


@pytest.mark.parametrize("membership", [[], [[0, 1]], 3])
def test_a_membership_that_is_not_flat_is_refused(membership):
    with pytest.raises(ValueError, match="membership must be a flat array with one integer per leaf"):
        Partition(membership)


@pytest.mark.parametrize("membership", [[0.0, 1.0], [True, False], ["a", "b"], [0, None]])
def test_a_membership_without_integers_is_refused(membership):
    with pytest.raises(TypeError, match="membership must hold integers"):
        Partition(membership)


def test_ragged_membership_is_refused():
    with pytest.raises(ValueError, match="its rows differ in length"):
        Partition([[0], [1, 2]])


def test_clusters_that_overlap_are_refused():
    with pytest.raises(ValueError, match="leaf 'b' is in clusters 0 and 1"):
        Partition.from_clusters([{"a", "b"}, {"b", "c"}])


def test_leaves_in_no_cluster_are_named():
    with pytest.raises(ValueError, match=r"no cluster holds {'c'}"):
        Partition.from_clusters([{"a", "b"}], labels=["a", "b", "c"])
    with pytest.raises(ValueError, match=r"no cluster holds {'1'}"):
        Partition.from_clusters([{0}, {2}])
    with pytest.raises(ValueError, match=r"no cluster holds {'2', '3'}"):
        Partition.from_clusters([{0}, {1}], n=4)


def test_labels_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match="2 labels were given for 3 leaves"):
        Partition([0, 0, 1], labels=["a", "b"])
    with pytest.raises(ValueError, match="missing: '2'; not among them: 'x'"):
        Partition([0, 0, 1]).aligned_to(["0", "1", "x"])
