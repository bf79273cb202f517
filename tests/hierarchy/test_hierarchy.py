"""What a hierarchy says of itself, and when two are equal."""

import subprocess
import sys
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import (
    any_text,
    caterpillar,
    hierarchies,
    labelled_clusters,
    slow_clusters,
    slow_heights,
    slow_order,
)

from palmette.hierarchy import Hierarchy
from palmette.partition import Partition


@given(hierarchies())
def test_children_come_before_parents_and_the_root_is_last(h):
    below_root = np.arange(h.n_nodes - 1)
    assert (h.parents[:-1] > below_root).all()
    assert (h.parents[:-1] >= h.n_leaves).all()
    assert h.parents[-1] == -1


@given(hierarchies())
def test_child_lists_and_parents_say_the_same(h):
    counts = np.diff(h.child_offsets)
    assert (counts[: h.n_leaves] == 0).all()
    assert (counts[h.n_leaves :] >= 2).all()
    assert sorted(h.child_nodes.tolist()) == list(range(h.n_nodes - 1))
    for node in range(h.n_nodes):
        children = h.child_nodes[h.child_offsets[node] : h.child_offsets[node + 1]]
        assert (h.parents[children] == node).all()
        assert h.children_of(node) == children.tolist()


@given(hierarchies(labels=any_text))
def test_clusters_match_a_recursive_reading(h):
    assert labelled_clusters(h) == slow_clusters(h.to_nested())
    assert len(h.clusters()) == h.n_nodes == len(set(h.clusters()))


@given(hierarchies(labels=any_text))
def test_the_leaf_order_is_the_reading_order(h):
    assert [h.labels[leaf] for leaf in h.leaf_order] == slow_order(h.to_nested())


@given(hierarchies())
def test_intervals_and_sizes_describe_the_clusters(h):
    for cluster, (start, stop), size in zip(h.clusters(), h.intervals, h.sizes, strict=True):
        assert cluster == set(h.leaf_order[start:stop].tolist())
        assert size == len(cluster) == stop - start


@given(hierarchies())
def test_masks_are_the_clusters_bit_by_bit(h):
    assert h.cluster_masks().tolist() == [sum(1 << leaf for leaf in cluster) for cluster in h.clusters()]


def test_masks_reach_to_62_leaves():
    assert caterpillar(63).cluster_masks()[-1] == 2**63 - 1
    with pytest.raises(ValueError, match="at most 63 leaves, and this hierarchy has 64"):
        caterpillar(64).cluster_masks()


@given(hierarchies(binary=True))
def test_splits_are_the_children_with_the_smallest_leaf_first(h):
    assert h.is_binary
    clusters = h.clusters()
    for (left, right), cluster, pair in zip(h.splits(), clusters[h.n_leaves :], h.children, strict=True):
        assert left | right == cluster
        assert {left, right} == {clusters[child] for child in pair}
        assert min(left) < min(right)


@given(hierarchies())
def test_a_cluster_is_found_at_its_node_and_others_are_not_found(h):
    clusters = h.clusters()
    for size in range(1, min(h.n_leaves, 4) + 1):
        for cluster in combinations(range(h.n_leaves), size):
            node = h.find(cluster)
            assert node == (clusters.index(frozenset(cluster)) if frozenset(cluster) in clusters else None)
    assert h.find(h.labels) == h.n_nodes - 1


def test_a_single_leaf_is_a_hierarchy():
    for h in (
        Hierarchy.from_newick("a;"),
        Hierarchy.from_nested("a"),
        Hierarchy.from_merges([], ["a"]),
        Hierarchy.from_merges(np.empty((0, 2), int), ["a"]),
        Hierarchy.from_parents([-1], ["a"]),
        Hierarchy.from_splits([], ["a"]),
        Hierarchy.from_clusters([], ["a"]),
        Hierarchy.from_clusters([{"a"}]),
        Hierarchy.from_linkage(np.empty((0, 4)), ["a"]),
    ):
        assert h == Hierarchy.from_nested("a")
        assert (h.n_leaves, h.n_nodes, h.is_binary, h.children.shape) == (1, 1, True, (0, 2))
        assert h.clusters() == [frozenset({0})]
        assert h.splits() == []
        assert h.heights.tolist() == [0.0]
        assert h.cophenetic().tolist() == [[0.0]]
        assert h.lca_size().tolist() == [[1]]
        assert h.lca(0, 0) == 0
        assert h.cut(1) == h.cut_height(-1) == Partition([0], ["a"])
        assert (h.to_newick(), h.to_nested(), h.to_linkage().shape) == ("a;", "a", (0, 4))
        assert h.aligned_to(["a"]) == h
        assert h.branch_lengths is None


def test_two_leaves_are_a_hierarchy():
    h = Hierarchy.from_merges([[1, 0]])
    assert h.to_newick() == "(1,0);"
    assert h.splits() == [({0}, {1})]
    assert h.cut(2) == Partition([0, 1])


@given(hierarchies(labels=any_text), st.randoms(use_true_random=False))
def test_equality_ignores_leaf_numbers_child_order_and_heights(h, random):
    names = list(h.labels)
    random.shuffle(names)
    moved = h.aligned_to(names)

    def shuffled(nested):
        if not isinstance(nested, tuple):
            return nested
        return tuple(random.sample([shuffled(child) for child in nested], len(nested)))

    turned = Hierarchy.from_nested(shuffled(h.to_nested()))
    raised = Hierarchy.from_parents(h.parents, h.labels, np.arange(h.n_nodes))
    assert h == moved == turned == raised
    assert len({hash(h), hash(moved), hash(turned), hash(raised)}) == 1


@given(hierarchies(max_leaves=5), hierarchies(max_leaves=5))
def test_hierarchies_are_equal_exactly_when_their_labelled_clusters_are(one, two):
    same = labelled_clusters(one) == labelled_clusters(two)
    assert (one == two) is same
    assert (hash(one) == hash(two)) is same


def test_all_binary_hierarchies_of_five_leaves_differ_and_have_different_hashes():
    def every(leaves):
        if len(leaves) == 1:
            return [leaves[0]]
        first, rest = leaves[0], leaves[1:]
        return [
            (left, right)
            for size in range(len(rest))
            for others in combinations(rest, size)
            for left in every((first, *others))
            for right in every(tuple(leaf for leaf in rest if leaf not in others))
        ]

    found = [Hierarchy.from_nested(nested, list("abcde")) for nested in every((0, 1, 2, 3, 4))]
    assert len(found) == len(set(found)) == len({hash(h) for h in found}) == 105


def test_other_labels_and_other_kinds_are_not_equal():
    h = Hierarchy.from_newick("((a,b),c);")
    assert h != Hierarchy.from_newick("((a,b),d);")
    assert h != Hierarchy.from_newick("(a,b,c);")
    assert h != Hierarchy.from_newick("((a,b),(c,d));")
    assert h != "((a,b),c);"


def test_the_hash_is_the_same_in_every_process():
    code = "from palmette.hierarchy import Hierarchy as H; print(hash(H.from_newick('((a,b),c,d);')))"
    command = [sys.executable, "-c", code]
    runs = [
        subprocess.run(command, env={"PYTHONHASHSEED": seed}, capture_output=True, text=True, check=True)
        for seed in ("1", "2")
    ]
    assert {run.stdout for run in runs} == {f"{hash(Hierarchy.from_newick('(d,(b,a),c);'))}\n"}


def test_heavy_packages_are_not_imported_with_the_hierarchy():
    heavy = "{'scipy.cluster', 'networkx', 'matplotlib'}"
    code = f"import sys, palmette.hierarchy, palmette.interop; print({heavy} & sys.modules.keys())"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout == "set()\n"


@given(hierarchies(labels=any_text))
def test_heights_without_lengths_count_levels(h):
    expected = slow_heights(h.to_nested())
    found = {
        frozenset(h.labels[leaf] for leaf in cluster): height
        for cluster, height in zip(h.clusters(), h.heights, strict=True)
    }
    assert found == expected
    assert h.branch_lengths is None


def test_given_heights_are_kept_and_give_branch_lengths():
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
    assert h.heights.tolist() == [0, 0, 0, 0.5, 2.0]
    assert h.branch_lengths[:-1].tolist() == [0.5, 0.5, 2.0, 1.5]
    assert np.isnan(h.branch_lengths[-1])
    assert Hierarchy.from_newick(h.to_newick()).heights.tolist() == h.heights.tolist()


def test_heights_may_be_given_for_every_node_and_need_not_rise():
    h = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[1, 2, 3, 7, 5])
    assert h.heights.tolist() == [1, 2, 3, 7, 5]
    assert h.branch_lengths[:-1].tolist() == [6, 5, 2, -2]


def test_branch_lengths_give_heights_above_the_farthest_leaf():
    h = Hierarchy.from_newick("((a:1,b:2):1,c:1):9;")
    assert h.heights.tolist() == [1, 0, 2, 2, 3]


def test_missing_lengths_count_as_zero_and_a_length_of_the_root_alone_as_none():
    assert Hierarchy.from_newick("((a:1,b),c:2);").heights.tolist() == [1, 2, 0, 2, 2]
    assert Hierarchy.from_newick("((a,b),c):2;").heights.tolist() == [0, 0, 0, 1, 2]


@given(hierarchies(heights=True))
def test_the_lowest_common_ancestor_is_the_smallest_cluster_with_both(h):
    clusters = h.clusters()
    first, second = np.indices((h.n_leaves, h.n_leaves))
    nodes = h.lca(first, second)
    for i in range(h.n_leaves):
        for j in range(h.n_leaves):
            smallest = min((c for c in clusters if {i, j} <= c), key=len)
            node = h.lca(i, j)
            assert clusters[node] == smallest
            assert node == nodes[i, j]
            assert node == h.lca(h.labels[i], h.labels[j])
    assert np.array_equal(h.cophenetic(), h.heights[nodes])
    assert np.array_equal(h.lca_size(), h.sizes[nodes])


def test_lca_of_many_pairs_broadcasts():
    h = Hierarchy.from_newick("((a,b),(c,d));")
    assert h.lca([0, 1, 2, 3], 0).tolist() == [0, 4, 6, 6]
    assert h.lca([], []).tolist() == []


def test_lca_refuses_what_is_no_leaf():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="leaf 3 does not exist; the leaves are 0 to 2"):
        h.lca(0, 3)
    with pytest.raises(ValueError, match="leaf -1 does not exist"):
        h.lca([0, -1], [0, 0])
    with pytest.raises(ValueError, match="no leaf is called 'x'"):
        h.lca("a", "x")
    with pytest.raises(TypeError, match="leaves must hold integers, not float64"):
        h.lca([0.5], [1.0])


@given(hierarchies(labels=any_text, heights=True), st.randoms(use_true_random=False))
def test_alignment_moves_leaves_with_all_that_belongs_to_them(h, random):
    names = list(h.labels)
    random.shuffle(names)
    h = Hierarchy.from_newick(h.to_newick(support=np.arange(h.n_nodes)))
    moved = h.aligned_to(names)
    assert moved.labels == tuple(names)
    assert moved == h
    assert moved.to_newick() == h.to_newick()
    assert labelled_clusters(moved) == labelled_clusters(h)
    assert moved.aligned_to(h.labels).parents.tolist() == h.parents.tolist()


@given(hierarchies(labels=any_text, heights=True), st.randoms(use_true_random=False))
def test_ranks_are_names_in_the_given_order(h, random):
    order = list(range(h.n_leaves))
    random.shuffle(order)
    ranked = h.ranked(order)
    assert ranked.labels == tuple(map(str, range(h.n_leaves)))
    names = {leaf: str(rank) for rank, leaf in enumerate(order)}
    assert labelled_clusters(ranked) == {frozenset(names[leaf] for leaf in cluster) for cluster in h.clusters()}
    np.testing.assert_array_equal(ranked.heights, h.heights[[*order, *range(h.n_leaves, h.n_nodes)]])


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [1, 2, 3], [[0, 1, 2]], [], [0.5, 1, 2]])
def test_an_order_names_every_leaf_once(order):
    with pytest.raises(ValueError, match="each of the numbers 0 to 2 once"):
        Hierarchy.from_newick("((a,b),c);").ranked(order)


def test_labels_that_do_not_match_are_named():
    h = Hierarchy.from_newick("((a,b),c);")
    with pytest.raises(ValueError, match="missing: 'b'; not among them: 'x'"):
        h.aligned_to(["a", "x", "c"])
    with pytest.raises(ValueError, match=r"missing: 'c'\)"):
        h.aligned_to(["a", "b"])


def test_a_hierarchy_cannot_be_changed():
    merges = np.array([[0, 1], [3, 2]])
    h = Hierarchy.from_merges(merges, heights=[1, 2])
    merges[0] = 7
    assert h.children.tolist() == [[0, 1], [3, 2]]
    fields = "parents child_offsets child_nodes children heights branch_lengths sizes leaf_order intervals"
    for name in fields.split():
        with pytest.raises(ValueError, match="read-only"):
            getattr(h, name)[0] = 0
    with pytest.raises(AttributeError, match="cannot set 'labels': a Hierarchy never changes"):
        h.labels = ("a", "b", "c")
    with pytest.raises(AttributeError, match="cannot delete 'labels'"):
        del h.labels
    with pytest.raises(AttributeError):
        h.heights = None


def test_arrays_given_by_the_caller_stay_open_for_writing():
    parents, heights = np.array([2, 2, -1]), np.array([0.0, 0.0, 1.0])
    Hierarchy.from_parents(parents, heights=heights, support=heights, branch_lengths=heights)
    assert parents.flags.writeable
    assert heights.flags.writeable


def test_there_is_no_bare_constructor():
    with pytest.raises(TypeError, match=r"made by Hierarchy\.from_newick"):
        Hierarchy()


def test_repr_shows_small_hierarchies_and_counts_large_ones():
    h = Hierarchy.from_newick("(('a\nb',it):1,c);")
    assert repr(h) == "Hierarchy.from_newick(\"(('a\\nb',it),c);\")"
    assert eval(repr(h)) == h
    assert repr(caterpillar(100)) == "Hierarchy(<100 leaves, 199 nodes>)"
    assert len(repr(Hierarchy.from_nested(("x" * 1000, "y")))) < 100


@given(hierarchies(heights=True))
def test_support_is_given_by_node_or_by_cluster_and_nothing_else_changes(h):
    values = np.arange(h.n_nodes) / h.n_nodes
    by_node = h.with_support(values)
    by_cluster = h.with_support(dict(zip(h.clusters(), values, strict=True)))
    assert np.array_equal(by_node.support, values)
    assert np.array_equal(by_cluster.support, values)
    assert by_node == h
    assert np.array_equal(by_node.heights, h.heights)
    assert np.array_equal(by_node.leaf_order, h.leaf_order)
    assert by_node.to_newick() == h.to_newick(values)


def test_support_of_other_clusters_is_passed_over():
    h = Hierarchy.from_newick("((a,b)0.5,c);")
    assert h.with_support({frozenset({1, 2}): 0.9}).support is None
    with pytest.raises(ValueError, match="support has shape"):
        h.with_support([1.0, 2.0])


def test_a_hierarchy_and_a_partition_are_never_equal():
    assert Hierarchy.from_newick("(a,b);") != Partition([0, 0], ["a", "b"])
    assert Partition([0, 0], ["a", "b"]) != Hierarchy.from_newick("(a,b);")


def test_other_heights_replace_lengths_and_leave_the_rest():
    h = Hierarchy.from_newick("((a:1,b:1)0.9:2,c,d:4);")
    by_node, by_inner = h.with_heights([0.5, 0, 0, 0, 2, 3]), h.with_heights([2, 3])
    assert by_node.to_newick() == "((a:1.5,b:2)0.9:1,c:3,d:3);"
    assert by_inner.to_newick() == "((a:2,b:2)0.9:1,c:3,d:3);"
    bare = h.with_heights(None)
    assert bare == h
    assert (bare.branch_lengths, bare.heights.tolist()) == (None, [0, 0, 0, 0, 1, 2])
    with pytest.raises(ValueError, match="give one number per node"):
        h.with_heights([1.0])
