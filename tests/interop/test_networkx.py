import sys

import numpy as np
import pytest
from hypothesis import given
from random_hierarchies import any_text, caterpillar, hierarchies

from palmette.hierarchy import Hierarchy
from palmette.interop.networkx import from_networkx, to_networkx


@pytest.fixture(scope="module")
def networkx():
    import networkx

    return networkx


@given(hierarchies(labels=any_text, heights=True))
def test_the_graph_has_the_nodes_edges_and_numbers_of_the_hierarchy(networkx, h):
    graph = to_networkx(h)
    assert networkx.is_arborescence(graph)
    assert list(graph.nodes) == list(range(h.n_nodes))
    assert graph.graph["root"] == h.n_nodes - 1
    for node in range(h.n_nodes - 1):
        assert list(graph.predecessors(node)) == [h.parents[node]]
        assert graph.edges[int(h.parents[node]), node]["length"] == h.branch_lengths[node]
    assert [graph.nodes[node]["height"] for node in graph] == h.heights.tolist()
    assert [graph.nodes[node]["size"] for node in graph] == h.sizes.tolist()
    assert [graph.nodes[leaf]["label"] for leaf in range(h.n_leaves)] == list(h.labels)


def test_children_keep_their_order():
    h = Hierarchy.from_newick("(c,((b,d),a));")
    graph = h.to_networkx()
    for node in range(h.n_leaves, h.n_nodes):
        children = h.child_nodes[h.child_offsets[node] : h.child_offsets[node + 1]]
        assert list(graph.successors(node)) == children.tolist()


def test_support_and_lengths_are_there_only_where_they_are_known(networkx):
    graph = to_networkx(Hierarchy.from_newick("((a:1,b)0.9,(c,d));"))
    assert networkx.get_node_attributes(graph, "support") == {4: 0.9}
    assert networkx.get_edge_attributes(graph, "length") == {(4, 0): 1.0}


def test_numbers_are_plain_python_numbers():
    graph = to_networkx(Hierarchy.from_merges([[0, 1]], heights=[np.float64(2)]))
    assert type(graph.nodes[2]["height"]) is float
    assert type(graph.nodes[2]["size"]) is int
    assert type(graph.edges[2, 0]["length"]) is float


def test_a_deep_hierarchy_becomes_a_graph():
    graph = to_networkx(caterpillar(50_000))
    assert graph.number_of_edges() == 99_998


def test_a_missing_package_names_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(ImportError, match="pip install networkx"):
        Hierarchy.from_newick("(a,b);").to_networkx()


@given(hierarchies(labels=any_text, heights=True))
def test_a_graph_becomes_the_hierarchy_again(h):
    again = from_networkx(to_networkx(h))
    assert again == h
    assert again.labels == h.labels
    assert again.heights.tolist() == h.heights.tolist()
    assert again.leaf_order.tolist() == h.leaf_order.tolist()


def test_support_and_lengths_are_read_where_they_are():
    h = Hierarchy.from_newick("((a:1,b)0.9,(c,d));")
    again = from_networkx(to_networkx(h))
    np.testing.assert_array_equal(again.support, h.support)
    np.testing.assert_array_equal(again.branch_lengths, h.branch_lengths)


def test_nodes_may_be_anything_in_any_order(networkx):
    graph = networkx.DiGraph([((), "x"), ((), 7), ("x", 3.5), ("x", frozenset("q"))])
    graph.nodes[frozenset("q")]["label"] = "q"
    assert from_networkx(graph) == Hierarchy.from_newick("((3.5,q),7);")
    one = networkx.DiGraph()
    one.add_node("alone")
    assert from_networkx(one).labels == ("alone",)


@pytest.mark.parametrize(
    ("edges", "problem"),
    [
        ([(0, 1), (0, 2), (3, 2)], "node 2 has 2 parents; in a hierarchy it has one"),
        ([(0, 1), (0, 2), (3, 4), (3, 5)], "2 roots"),
        ([(0, 1), (1, 0)], "0 roots"),
        ([(0, 1), (0, 2), (3, 4), (4, 3)], "cycle|root|leaves|child"),
        ([(0, 1), (1, 2), (1, 3)], "child"),
    ],
)
def test_what_is_no_rooted_tree_is_refused(networkx, edges, problem):
    with pytest.raises(ValueError, match=problem):
        from_networkx(networkx.DiGraph(edges))


def test_an_undirected_graph_is_refused(networkx):
    with pytest.raises(TypeError, match=r"not Graph; networkx\.bfs_tree\(graph, root\)"):
        from_networkx(networkx.Graph([(0, 1)]))
    with pytest.raises(TypeError, match="not int"):
        from_networkx(3)
