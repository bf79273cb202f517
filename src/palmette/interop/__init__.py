"""Hierarchies in the formats of other programs."""

from palmette.drawing.svg import hierarchy_to_svg
from palmette.formats.linkage import from_linkage, to_linkage
from palmette.formats.newick import NewickError, read_newick, write_newick
from palmette.formats.nexus import write_nexus
from palmette.formats.tree_files import read_trees, write_newick_file
from palmette.hierarchy.tree_set import TreeSet
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
