"""Hierarchies in the formats of other programs."""

from palmette.formats.tokens import NewickError
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_files import read_trees, write_newick_file, write_nexus
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

# What `Hierarchy` can be made from and written as, by functions.
from_linkage, read_newick = Hierarchy.from_linkage, Hierarchy.from_newick
hierarchy_to_svg, to_linkage, write_newick = Hierarchy.to_svg, Hierarchy.to_linkage, Hierarchy.to_newick
