"""Hierarchies in the formats of other programs."""

from palmette.interop.networkx import to_networkx
from palmette.interop.newick import NewickError, read_newick, write_newick
from palmette.interop.scipy import from_linkage, to_linkage
from palmette.interop.svg import hierarchy_to_svg

__all__ = [
    "NewickError",
    "from_linkage",
    "hierarchy_to_svg",
    "read_newick",
    "to_linkage",
    "to_networkx",
    "write_newick",
]
