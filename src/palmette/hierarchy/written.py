"""A hierarchy written down: Newick, linkage, nested tuples, a graph, a picture.

All are methods, also the graph, so that whoever has a hierarchy finds its forms in one place; NetworkX is imported when
it is asked for. `palmette.interop.networkx` has the way back, which needs a graph and no hierarchy.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.drawing.places import Outline
from palmette.drawing.svg import outline_svg
from palmette.formats.linkage import linkage_rows
from palmette.formats.newick import NewickTree, newick_text
from palmette.hierarchy.rooted_tree import RootedTree, Support

if TYPE_CHECKING:
    import networkx


class WrittenTree(RootedTree):
    """What a `Hierarchy` can be written as."""

    def to_newick(
        self, support: Support | None = None, *, branch_lengths: bool = True, digits: int | None = None
    ) -> str:
        """Newick text, with branch lengths where there are any and support as the names of inner nodes.

        `support` is a mapping from cluster to number or an array with one number per node; the
        hierarchy's own support is written when it is left out. `from_newick` reads back an equal hierarchy, with the
        same lengths and support, unless all numbers are rounded to so many significant `digits`.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a:1,b:2):0.5,'it''s');").to_newick({frozenset({0, 1}): 0.75})
        "((a:1,b:2)0.75:0.5,'it''s');"
        """
        shown = self if support is None else self.with_support(support)
        lengths = self.branch_lengths if branch_lengths else None
        places = None if digits is None else check_integer("digits", digits, 1)
        return newick_text(NewickTree(self.labels, self.links, lengths, shown.support), places)

    def to_linkage(self) -> Floats:
        """A SciPy linkage matrix, shape (n − 1, 4), rows by rising height; raises unless binary.

        SciPy needs distances that are at least 0 and never fall towards the root, so each merge is
        written with max(0, the largest height of an inner node at or below it), which changes nothing where
        heights already rise. For n = 1 there are no rows, and SciPy accepts no such matrix.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a:1,b:1):2,c:3);").to_linkage()
        array([[0., 1., 1., 2.],
               [3., 2., 3., 3.]])
        """
        return linkage_rows(self.children, self.cut_order[::-1], self._rising_heights, self.sizes)

    def to_nested(self) -> Any:
        """Nested tuples of labels, which `from_nested` reads; a single leaf is its bare label.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c);").to_nested()
        (('a', 'b'), 'c')
        """
        offsets, nodes = self.child_offsets.tolist(), self.child_nodes.tolist()
        made: list[Any] = list(self.labels)
        for node in range(self.n_leaves, self.n_nodes):
            made.append(tuple(made[child] for child in nodes[offsets[node] : offsets[node + 1]]))
        return made[-1]

    def to_networkx(self) -> "networkx.DiGraph":
        """A `networkx.DiGraph` with an edge from every node to each of its children, first child first.

        Nodes are the hierarchy's numbers. Every node has `height` and `size`, leaves have `label`, and inner nodes have
        `support` where there is one. Edges have `length` where there are branch lengths. The graph knows its `root`.

        >>> from palmette.hierarchy import Hierarchy
        >>> graph = Hierarchy.from_newick("((a,b),c);").to_networkx()
        >>> sorted(graph.successors(graph.graph["root"]))
        [2, 3]
        """
        try:
            import networkx
        except ImportError:
            raise ImportError("to_networkx needs NetworkX, which is not installed: pip install networkx") from None
        graph = networkx.DiGraph(root=self.n_nodes - 1)
        for node, (height, size) in enumerate(zip(self.heights.tolist(), self.sizes.tolist(), strict=True)):
            graph.add_node(node, height=height, size=size)
        for leaf, label in enumerate(self.labels):
            graph.nodes[leaf]["label"] = label
        for node, value in _known(self.support):
            graph.nodes[node]["support"] = value
        graph.add_edges_from(zip(self.parents[self.child_nodes].tolist(), self.child_nodes.tolist(), strict=True))
        for node, value in _known(self.branch_lengths):
            if node < self.n_nodes - 1:
                graph.edges[int(self.parents[node]), node]["length"] = value
        return graph

    def to_svg(self, support: Support | None = None, *, width: int = 640, max_rows: int = 200) -> str:
        """An SVG picture, `width` pixels wide, of the hierarchy with its heights, labels and support.

        Of a hierarchy with more than `max_rows` leaves the highest merges are drawn; the clusters below them
        become triangles that say how many leaves they hold. Labels are escaped.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c);").to_svg().startswith("<svg ")
        True
        """
        shown = self if support is None else self.with_support(support)
        return outline_svg(self.outline, shown.support, width, max_rows)

    @property
    def outline(self) -> Outline:
        """What a picture of the hierarchy is made of, for `palmette.drawing`."""
        return Outline(self.labels, self.links, self.heights, self.leaf_order, self.intervals, self.cut_order)

    def in_card(self) -> str:
        """A small picture, for what a notebook shows of an answer that holds the hierarchy."""
        return self.to_svg(width=480, max_rows=40)

    def _repr_svg_(self) -> str:
        return self.to_svg()


def _known(values: Floats | None) -> Iterator[tuple[int, float]]:
    # The nodes that have a number, and their numbers.
    if values is not None:
        for node in np.flatnonzero(~np.isnan(values)).tolist():
            yield node, float(values[node])
