"""Rooted trees as NetworkX graphs: an edge from every node to each of its children."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.links import Links

if TYPE_CHECKING:
    import networkx

__all__ = ["GraphTree", "read_graph", "tree_graph"]


class GraphTree(NamedTuple):
    """What a graph says of a rooted tree; leaves come first, the other nodes in the order of the graph."""

    parents: list[int]  # −1 at the root
    labels: list[str]
    heights: list[float] | None
    lengths: list[float]  # NaN for none
    support: list[float]


def tree_graph(
    links: Links, labels: tuple[str, ...], heights: Floats, sizes: Ints, lengths: Floats | None, support: Floats | None
) -> "networkx.DiGraph":
    """The graph of a tree, first child first; see `palmette.interop.to_networkx` for the attributes."""
    try:
        import networkx
    except ImportError:
        raise ImportError("to_networkx needs NetworkX, which is not installed: pip install networkx") from None
    graph = networkx.DiGraph(root=len(links.parents) - 1)
    for node, (height, size) in enumerate(zip(heights.tolist(), sizes.tolist(), strict=True)):
        graph.add_node(node, height=height, size=size)
    for leaf, label in enumerate(labels):
        graph.nodes[leaf]["label"] = label
    if support is not None:
        for node in np.flatnonzero(~np.isnan(support)).tolist():
            graph.nodes[node]["support"] = float(support[node])
    parents, children = links.parents, links.child_nodes
    graph.add_edges_from(zip(parents[children].tolist(), children.tolist(), strict=True))
    if lengths is not None:
        for child in children[~np.isnan(lengths[children])].tolist():
            graph.edges[int(parents[child]), child]["length"] = float(lengths[child])
    return graph


def read_graph(graph: "networkx.DiGraph") -> GraphTree:
    """The tree of a directed graph; see `palmette.interop.from_networkx`."""
    nodes = sorted(graph.nodes, key=lambda node: graph.out_degree(node) > 0) if _is_directed(graph) else []
    _check_rooted(graph, nodes)
    leaves = [node for node in nodes if graph.out_degree(node) == 0]
    number = {node: i for i, node in enumerate(nodes)}
    above = {child: parent for parent, child in graph.edges}
    heights, support = ([graph.nodes[node].get(name, np.nan) for node in nodes] for name in ("height", "support"))
    return GraphTree(
        [number[above[node]] if node in above else -1 for node in nodes],
        [str(graph.nodes[leaf].get("label", leaf)) for leaf in leaves],
        None if np.isnan(heights).any() else heights,
        [graph.edges[above[node], node].get("length", np.nan) if node in above else np.nan for node in nodes],
        support,
    )


def _is_directed(graph: Any) -> bool:
    if not hasattr(graph, "is_directed") or not graph.is_directed():
        raise TypeError(
            f"expected a networkx.DiGraph, from parents to children, not {type(graph).__name__}; "
            "networkx.bfs_tree(graph, root) directs a tree away from its root"
        )
    return True


def _check_rooted(graph: Any, nodes: list[Any]) -> None:
    several = [node for node in nodes if graph.in_degree(node) > 1]
    if several:
        raise ValueError(f"node {several[0]!r} has {graph.in_degree(several[0])} parents; in a hierarchy it has one")
    roots = [node for node in nodes if graph.in_degree(node) == 0]
    if len(roots) != 1:
        raise ValueError(f"the graph has {len(roots)} roots (nodes without a parent); a hierarchy has one")
