from typing import TYPE_CHECKING

import numpy as np

from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    import networkx

__all__ = ["to_networkx"]


def to_networkx(hierarchy: Hierarchy) -> "networkx.DiGraph":
    """An edge from every node to each of its children, first child first; nodes are the hierarchy's numbers.

    Every node has `height` and `size`, leaves have `label`, and inner nodes have `support` where there is
    one. Edges have `length` where the hierarchy has branch lengths. The graph knows its `root`.

    >>> graph = to_networkx(Hierarchy.from_newick("((a,b),c);"))
    >>> sorted(graph.successors(graph.graph["root"]))
    [2, 3]
    """
    try:
        import networkx
    except ImportError:
        raise ImportError("to_networkx needs NetworkX, which is not installed: pip install networkx") from None
    graph = networkx.DiGraph(root=hierarchy.n_nodes - 1)
    for node, (height, size) in enumerate(zip(hierarchy.heights.tolist(), hierarchy.sizes.tolist(), strict=True)):
        graph.add_node(node, height=height, size=size)
    for leaf, label in enumerate(hierarchy.labels):
        graph.nodes[leaf]["label"] = label
    support = hierarchy.support
    if support is not None:
        for node in np.flatnonzero(~np.isnan(support)).tolist():
            graph.nodes[node]["support"] = float(support[node])
    children = hierarchy.child_nodes
    graph.add_edges_from(zip(hierarchy.parents[children].tolist(), children.tolist(), strict=True))
    lengths = hierarchy.branch_lengths
    if lengths is not None:
        for child in children[~np.isnan(lengths[children])].tolist():
            graph.edges[int(hierarchy.parents[child]), child]["length"] = float(lengths[child])
    return graph
