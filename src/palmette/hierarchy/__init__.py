"""Hierarchies: immutable rooted trees over labelled leaves."""

from palmette.hierarchy.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet

__all__ = ["Hierarchy", "TreeSet"]
