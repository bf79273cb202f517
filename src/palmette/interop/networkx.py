"""NetworkX: rooted trees as directed graphs, both ways.

`to_networkx` is the method of `Hierarchy` by another name, so that both ways stand side by side, as for every library.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    import networkx

__all__ = ["from_networkx", "to_networkx"]

to_networkx = Hierarchy.to_networkx


def from_networkx(graph: "networkx.DiGraph") -> Hierarchy:
    """The hierarchy of a rooted tree: a directed graph with an edge from every node to each of its children.

    A leaf is called by its attribute `label`, or else by the node itself. `height` is taken if every node has one,
    `support` of nodes and `length` of edges wherever they are.

    >>> import networkx
    >>> from_networkx(networkx.DiGraph([("root", "x"), ("root", "c"), ("x", "a"), ("x", "b")]))
    Hierarchy.from_newick('(c,(a,b));')
    """
    nodes = _leaves_first(graph)
    leaves = [node for node in nodes if graph.out_degree(node) == 0]
    number = {node: i for i, node in enumerate(nodes)}
    above = {child: parent for parent, child in graph.edges}
    lengths = [graph.edges[above[node], node].get("length", np.nan) if node in above else np.nan for node in nodes]
    heights, support = ([graph.nodes[node].get(name, np.nan) for node in nodes] for name in ("height", "support"))
    return Hierarchy.from_parents(
        [number[above[node]] if node in above else -1 for node in nodes],
        [str(graph.nodes[leaf].get("label", leaf)) for leaf in leaves],
        None if np.isnan(heights).any() else heights,
        branch_lengths=None if np.isnan(lengths).all() else lengths,
        support=None if np.isnan(support).all() else support,
    )


def _leaves_first(graph: Any) -> list[Any]:
    if not hasattr(graph, "is_directed") or not graph.is_directed():
        raise TypeError(
            f"expected a networkx.DiGraph, from parents to children, not {type(graph).__name__}; "
            "networkx.bfs_tree(graph, root) directs a tree away from its root"
        )
    nodes = sorted(graph.nodes, key=lambda node: graph.out_degree(node) > 0)
    several = [node for node in nodes if graph.in_degree(node) > 1]
    if several:
        raise ValueError(f"node {several[0]!r} has {graph.in_degree(several[0])} parents; in a hierarchy it has one")
    roots = [node for node in nodes if graph.in_degree(node) == 0]
    if len(roots) != 1:
        raise ValueError(f"the graph has {len(roots)} roots (nodes without a parent); a hierarchy has one")
    return nodes
