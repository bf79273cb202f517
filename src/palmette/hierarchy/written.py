"""A hierarchy written down: Newick, linkage, nested tuples, a graph, a picture."""

from typing import TYPE_CHECKING, Any

from palmette.array_types import Floats
from palmette.drawing.places import Outline
from palmette.drawing.svg import outline_svg
from palmette.formats.graph import tree_graph
from palmette.formats.linkage import linkage_rows
from palmette.formats.newick import NewickTree, newick_text
from palmette.hierarchy.links import nested_from_links
from palmette.hierarchy.rooted_tree import RootedTree
from palmette.hierarchy.support import Support, support_by_node

if TYPE_CHECKING:
    import networkx


class WrittenTree(RootedTree):
    """What a `Hierarchy` can be written as."""

    def to_newick(self, support: Support | None = None, *, branch_lengths: bool = True) -> str:
        """Newick text, with branch lengths where there are any and support as the names of inner nodes.

        `support` is a mapping from cluster to number or an array with one number per node; the
        hierarchy's own support is written when it is left out.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a:1,b:2):0.5,'it''s');").to_newick({frozenset({0, 1}): 0.75})
        "((a:1,b:2)0.75:0.5,'it''s');"
        """
        lengths = self.branch_lengths if branch_lengths else None
        return newick_text(NewickTree(self.labels, self.links, lengths, support_by_node(self, support)))

    def to_linkage(self) -> Floats:
        """A SciPy linkage matrix, shape (n − 1, 4), rows by rising height; raises unless binary.

        SciPy needs distances that are at least 0 and never fall towards the root, so each merge is
        written with the largest height at or below it, and at least 0.

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
        return nested_from_links(self.links, self.labels)

    def to_networkx(self) -> "networkx.DiGraph":
        """A `networkx.DiGraph` with an edge from each node to each of its children."""
        return tree_graph(self.links, self.labels, self.heights, self.sizes, self.branch_lengths, self.support)

    def to_svg(self, support: Support | None = None, *, width: int = 640, max_rows: int = 200) -> str:
        """An SVG picture, `width` pixels wide; beyond `max_rows` leaves the lowest clusters become triangles.

        >>> from palmette.hierarchy import Hierarchy
        >>> Hierarchy.from_newick("((a,b),c);").to_svg().startswith("<svg ")
        True
        """
        return outline_svg(self.outline, support_by_node(self, support), width, max_rows)

    @property
    def outline(self) -> Outline:
        """What a picture of the hierarchy is made of, for `palmette.drawing`."""
        return Outline(self.labels, self.links, self.heights, self.leaf_order, self.intervals, self.cut_order)

    def _repr_svg_(self) -> str:
        return self.to_svg()
