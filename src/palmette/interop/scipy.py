"""SciPy: linkage matrices, both ways."""

from collections.abc import Iterable

from numpy.typing import ArrayLike

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy

__all__ = ["from_linkage", "to_linkage"]


def from_linkage(Z: ArrayLike, labels: Iterable[str] | None = None) -> Hierarchy:
    """Row i of Z is (child, child, height, size) of node n + i; shape (n − 1, 4).

    Heights need not rise (centroid and median linkage have inversions). The first child stays the first,
    so `leaf_order` is SciPy's `leaves_list`.

    >>> h = from_linkage([[0, 1, 0.5, 2], [2, 3, 2.0, 3]], labels=["a", "b", "c"])
    >>> h.to_newick()
    '(c:2,(a:0.5,b:0.5):1.5);'
    """
    return Hierarchy.from_linkage(Z, labels)


def to_linkage(hierarchy: Hierarchy) -> Floats:
    """Rows (child, child, height, size), shape (n − 1, 4), that SciPy accepts; the hierarchy must be binary.

    SciPy needs heights that are at least 0 and never fall towards the root. Each merge is therefore
    written with max(0, the largest height of an inner node at or below it), which changes nothing where
    heights already rise; rows are sorted by it. For n = 1 there are no rows, and SciPy accepts no such
    matrix.

    >>> to_linkage(Hierarchy.from_merges([[0, 1], [3, 2]], heights=[5.0, 2.0]))
    array([[0., 1., 5., 2.],
           [3., 2., 5., 3.]])
    """
    return hierarchy.to_linkage()
