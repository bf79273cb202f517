"""SciPy linkage matrices; SciPy itself is not needed to read or write one."""

from collections.abc import Iterable

import numpy as np
from numpy.typing import ArrayLike, NDArray

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
    try:
        rows = np.array(Z, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError("a linkage must be an array of numbers with four columns") from None
    if rows.ndim != 2 or rows.shape[1] != 4:
        raise ValueError(f"a linkage has shape (n - 1, 4): child, child, height, size; this has {rows.shape}")
    if not np.isfinite(rows).all():
        row = int(np.argmax(~np.isfinite(rows).all(axis=1)))
        raise ValueError(f"row {row} of the linkage is {rows[row].tolist()}; all entries must be finite")
    if (rows[:, :2] % 1 != 0).any():
        row = int(np.argmax((rows[:, :2] % 1 != 0).any(axis=1)))
        raise ValueError(f"row {row} of the linkage joins {rows[row, :2].tolist()}; node numbers are whole")
    within = np.clip(rows[:, :2], -1, 2**53)  # what lies beyond cannot be cast, and is refused either way
    hierarchy = Hierarchy.from_merges(within.astype(np.int64), labels, rows[:, 2])
    wrong = hierarchy.sizes[hierarchy.n_leaves :] != rows[:, 3]
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"row {row} of the linkage says that its cluster has {rows[row, 3]:g} leaves, "
            f"but it has {hierarchy.sizes[hierarchy.n_leaves + row]}"
        )
    return hierarchy


def to_linkage(hierarchy: Hierarchy) -> NDArray[np.float64]:
    """Rows (child, child, height, size), shape (n − 1, 4), that SciPy accepts; the hierarchy must be binary.

    SciPy needs heights that are at least 0 and never fall towards the root. Each merge is therefore
    written with max(0, the largest height of an inner node at or below it), which changes nothing where
    heights already rise; rows are sorted by it. For n = 1 there are no rows, and SciPy accepts no such
    matrix.

    >>> to_linkage(Hierarchy.from_merges([[0, 1], [3, 2]], heights=[5.0, 2.0]))
    array([[0., 1., 5., 2.],
           [3., 2., 5., 3.]])
    """
    n = hierarchy.n_leaves
    pairs = hierarchy.children[hierarchy._rising - n]
    number = np.arange(hierarchy.n_nodes)
    number[hierarchy._rising] = np.arange(n, hierarchy.n_nodes)
    heights = np.maximum(hierarchy._monotone[hierarchy._rising - n], 0.0)
    return np.column_stack((number[pairs], heights, hierarchy.sizes[hierarchy._rising])).astype(np.float64)
