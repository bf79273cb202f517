from __future__ import annotations

import pickle

import numpy as np
import pytest
import ultrametric_oracle as oracle
from golden import read
from hypothesis import given

from palmette import Hierarchy
from palmette.ultrametric import Graph, is_ultrametric, min_max_distances, subdominant

TRIANGLE = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6], labels=["a", "b", "c"])


@pytest.mark.parametrize("case", read("ultrametric").cases)
def test_golden_values_and_pass_edges(case):
    found = subdominant(Graph(case["edges"], case["weights"]), case["point"])
    assert found.values.tolist() == case["values"]
    assert found.pass_edges.tolist() == case["pass_edges"]
    assert found.tree_edges.tolist() == case["tree_edges"]
    assert found.smaller_sizes.tolist() == found.child_sizes.min(axis=1).tolist() == case["smaller"]


@given(oracle.graphs())
def test_is_the_min_max_distance(case):
    graph, weights = case
    d = oracle.min_max(graph, weights)
    found = subdominant(graph, weights)
    np.testing.assert_array_equal(found.values, d[graph.sources, graph.targets])
    np.testing.assert_array_equal(min_max_distances(graph, weights), d)
    assert is_ultrametric(graph, found.values)
    assert is_ultrametric(graph, weights) == bool((found.values == weights).all())


@given(oracle.graphs())
def test_merges_are_those_of_single_linkage(case):
    graph, weights = case
    found = subdominant(graph, weights)
    merges = oracle.single_linkage(graph, weights)
    assert found.tree_edges.tolist() == [edge for _, _, edge in merges]
    members = [frozenset({v}) for v in range(graph.n_vertices)] + [cluster for cluster, _, _ in merges]
    for i, (_, parts, _) in enumerate(merges):
        assert {members[c] for c in found.children[i]} == set(parts)
        assert [len(members[c]) for c in found.children[i]] == found.child_sizes[i].tolist()
    assert found.sizes.tolist() == [len(cluster) for cluster, _, _ in merges]
    assert set(found.hierarchy.clusters()) >= {cluster for cluster, _, _ in merges}


@given(oracle.graphs())
def test_every_cut_joins_what_the_first_merges_joined(case):
    graph, weights = case
    found = subdominant(graph, weights)
    for k in range(1, graph.n_vertices + 1):
        membership = found.membership(k)
        np.testing.assert_array_equal(np.unique(membership), np.arange(k))
        apart = found.lca(*np.indices((graph.n_vertices, graph.n_vertices))) >= graph.n_vertices - k
        np.testing.assert_array_equal(membership[:, None] != membership[None, :], apart)


def test_depth_is_no_concern():
    n = 200_000
    chain = Graph(np.stack((np.arange(n - 1), np.arange(1, n)), axis=1), np.arange(1.0, n))
    found = subdominant(chain)
    assert found.values[-1] == n - 1
    assert found.distances(0, n - 1) == n - 1
    assert found.membership(2).sum() == 1


def test_hierarchy_has_the_names_and_heights():
    assert subdominant(TRIANGLE).hierarchy == Hierarchy.from_newick("(a,(b,c));")
    assert subdominant(TRIANGLE).hierarchy.heights.tolist() == [0, 0, 0, 3, 4]


def test_one_vertex():
    alone = Graph([], [], n_vertices=1, labels=["a"])
    found = subdominant(alone)
    assert found.values.shape == (0,)
    assert found.hierarchy.n_leaves == 1
    assert found.membership(1).tolist() == [0]
    assert is_ultrametric(alone, [])
    assert min_max_distances(alone).tolist() == [[0.0]]


def test_a_forest_has_a_hierarchy_for_each_component():
    forest = Graph([[0, 2], [1, 3], [3, 4]], [1, 2, 3], n_vertices=6, labels=list("abcdef"), forest=True)
    found = subdominant(forest)
    assert [h.to_newick(branch_lengths=False) for h in found.hierarchies] == ["(a,c);", "(e,(b,d));", "f;"]
    assert found.membership(3).tolist() == [0, 1, 0, 1, 1, 2]
    assert found.membership(4).tolist() == [0, 1, 0, 1, 2, 3]
    assert found.distances(0, 1) == np.inf
    assert found.lca(0, 1) == -2
    assert min_max_distances(forest)[0].tolist() == [0, np.inf, 1, np.inf, np.inf, np.inf]
    with pytest.raises(ValueError, match="3 components"):
        _ = found.hierarchy
    with pytest.raises(ValueError, match="make 3 to 6 clusters"):
        found.membership(2)


def test_parallel_edges_whole_numbers_and_negative_weights():
    double = Graph([[0, 1], [1, 0]], [3, 2])
    assert subdominant(double).values.tolist() == [2.0, 2.0]
    assert subdominant(double, [-1, 5]).values.tolist() == [-1.0, -1.0]
    assert not is_ultrametric(double, [-1, -1])


def test_tolerance_of_the_check():
    assert not is_ultrametric(TRIANGLE, [4.0, 3.0, 4.0 + 1e-9])
    assert is_ultrametric(TRIANGLE, [4.0, 3.0, 4.0 + 1e-9], tolerance=1e-8)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: subdominant(TRIANGLE, [1, 2]), ValueError, r"shape \(2,\).*shape \(3,\)"),
        (lambda: subdominant(TRIANGLE, [1, np.nan, 2]), ValueError, r"edge 1 \(1–2\) is nan"),
        (lambda: subdominant(TRIANGLE, [1, np.inf, 2]), ValueError, "must be finite"),
        (lambda: subdominant(TRIANGLE, ["x", "y", "z"]), TypeError, "one per edge"),
        (lambda: subdominant(TRIANGLE).lca(0, 3), ValueError, "vertices 0 to 2, not 3"),
        (lambda: subdominant(TRIANGLE).lca(0.5, 1), TypeError, "numbers of vertices"),
        (lambda: subdominant(TRIANGLE).membership(4), ValueError, "1 to 3 clusters"),
        (lambda: subdominant(TRIANGLE).membership(1.5), TypeError, "k must be an integer"),
        (lambda: min_max_distances(Graph([[0, 1]], [1], n_vertices=50_000, forest=True)), ValueError, "20 GB"),
    ],
)
def test_errors(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_never_changes_and_travels():
    found = subdominant(TRIANGLE)
    with pytest.raises(AttributeError, match="never changes"):
        found.weights = None
    assert pickle.loads(pickle.dumps(found)).values.tolist() == found.values.tolist()
    assert repr(found) == "Subdominant(<3 vertices, 3 edges>)"
