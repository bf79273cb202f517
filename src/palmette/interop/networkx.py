"""NetworkX: rooted trees as directed graphs, both ways."""

from typing import TYPE_CHECKING

from palmette.formats.graph import read_graph
from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    import networkx

__all__ = ["from_networkx", "to_networkx"]


def to_networkx(hierarchy: Hierarchy) -> "networkx.DiGraph":
    """An edge from every node to each of its children, first child first; nodes are the hierarchy's numbers.

    Every node has `height` and `size`, leaves have `label`, and inner nodes have `support` where there is
    one. Edges have `length` where the hierarchy has branch lengths. The graph knows its `root`.

    >>> graph = to_networkx(Hierarchy.from_newick("((a,b),c);"))
    >>> sorted(graph.successors(graph.graph["root"]))
    [2, 3]
    """
    return hierarchy.to_networkx()


def from_networkx(graph: "networkx.DiGraph") -> Hierarchy:
    """The hierarchy of a rooted tree: a directed graph with an edge from every node to each of its children.

    A leaf is called by its attribute `label`, or else by the node itself. `height` is taken if every node has one,
    `support` of nodes and `length` of edges wherever they are.

    >>> import networkx
    >>> from_networkx(networkx.DiGraph([("root", "x"), ("root", "c"), ("x", "a"), ("x", "b")]))
    Hierarchy.from_newick('(c,(a,b));')
    """
    parents, labels, heights, lengths, support = read_graph(graph)
    return Hierarchy.from_parents(parents, labels, heights, branch_lengths=lengths, support=support)
