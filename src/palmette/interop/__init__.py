"""Hierarchies in the formats of other programs."""

from palmette.formats.tokens import NewickError
from palmette.hierarchy.tree_files import read_trees, write_newick_file, write_nexus
from palmette.hierarchy.tree_set import TreeSet
from palmette.interop.conversions import from_linkage, hierarchy_to_svg, read_newick, to_linkage, write_newick
from palmette.interop.networkx import from_networkx, to_networkx

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
