"""What `Hierarchy` can be made from and written as, by functions."""

from collections.abc import Iterable

from numpy.typing import ArrayLike

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.rooted_tree import Support

__all__ = ["from_linkage", "hierarchy_to_svg", "read_newick", "to_linkage", "write_newick"]


def read_newick(text: str) -> Hierarchy:
    """`Hierarchy.from_newick` as a function."""
    return Hierarchy.from_newick(text)


def write_newick(hierarchy: Hierarchy, support: Support | None = None, *, branch_lengths: bool = True) -> str:
    """`Hierarchy.to_newick` as a function."""
    return hierarchy.to_newick(support, branch_lengths=branch_lengths)


def from_linkage(Z: ArrayLike, labels: Iterable[str] | None = None) -> Hierarchy:
    """`Hierarchy.from_linkage` as a function."""
    return Hierarchy.from_linkage(Z, labels)


def to_linkage(hierarchy: Hierarchy) -> Floats:
    """`Hierarchy.to_linkage` as a function."""
    return hierarchy.to_linkage()


def hierarchy_to_svg(
    hierarchy: Hierarchy, support: Support | None = None, *, width: int = 640, max_rows: int = 200
) -> str:
    """`Hierarchy.to_svg` as a function."""
    return hierarchy.to_svg(support, width=width, max_rows=max_rows)
