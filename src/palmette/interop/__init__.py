"""Hierarchies in the formats of other programs."""

from palmette.formats.tokens import NewickError
from palmette.hierarchy.text import (
    hierarchy_to_svg,
    read_newick,
    read_trees,
    write_newick,
    write_newick_file,
    write_nexus,
)
from palmette.hierarchy.tree_set import TreeSet
from palmette.interop.networkx import from_networkx, to_networkx
from palmette.interop.scipy import from_linkage, to_linkage

__all__ = [
    "NewickError",
    "TreeSet",
    "from_linkage",
    "from_networkx",
    "hierarchy_to_svg",
    "read_newick",
    "read_trees",
    "to_linkage",
    "to_networkx",
    "write_newick",
    "write_newick_file",
    "write_nexus",
]
