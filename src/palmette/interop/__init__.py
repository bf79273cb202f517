"""Hierarchies in the formats of other programs."""

from palmette.interop.networkx import from_networkx, to_networkx
from palmette.interop.newick import NewickError, read_newick, write_newick
from palmette.interop.nexus import write_nexus
from palmette.interop.scipy import from_linkage, to_linkage
from palmette.interop.svg import hierarchy_to_svg
from palmette.interop.tree_files import read_trees, write_newick_file
from palmette.interop.tree_set import TreeSet

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
