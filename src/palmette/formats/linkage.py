"""SciPy linkage matrices; SciPy itself is not needed to read or write one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Floats, Ints

__all__ = ["Linkage", "linkage_rows", "read_linkage"]


class Linkage(NamedTuple):
    """Row by row: the two nodes that are merged, at what height, and how many leaves they are said to hold."""

    merges: Ints  # (n − 1, 2)
    heights: Floats  # (n − 1,)
    sizes: Floats

    def check_sizes(self, sizes: Ints) -> None:
        """Refuse a linkage whose clusters have other sizes than it says."""
        wrong = sizes != self.sizes
        if wrong.any():
            row = int(np.argmax(wrong))
            said = f"row {row} of the linkage says that its cluster has {self.sizes[row]:g} leaves"
            raise ValueError(f"{said}, but it has {sizes[row]}")


def read_linkage(Z: ArrayLike) -> Linkage:
    """The columns of a linkage, whose row i is (child, child, height, size) of node n + i; shape (n − 1, 4).

    >>> read_linkage([[0, 1, 0.5, 2], [2, 3, 2.0, 3]]).heights
    array([0.5, 2. ])
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
    return Linkage(within.astype(np.int64), rows[:, 2], rows[:, 3])


def linkage_rows(children: Ints, rising: Ints, heights: Floats, sizes: Ints) -> Floats:
    """Rows (child, child, height, size), shape (n − 1, 4), that SciPy accepts; for n = 1 there are none.

    Row i of `children` are those of node n + i. `rising` are the inner nodes, children before parents, by their
    `heights`, (n − 1,), which must rise towards the root; those below 0 are written as 0. `sizes` are of all nodes.

    >>> linkage_rows(np.array([[0, 1], [3, 2]]), np.array([3, 4]), np.array([-1.0, 2.0]), np.array([1, 1, 1, 2, 3]))
    array([[0., 1., 0., 2.],
           [3., 2., 2., 3.]])
    """
    n = len(children) + 1
    number = np.arange(2 * n - 1)
    number[rising] = np.arange(n, 2 * n - 1)
    merged = np.maximum(heights[rising - n], 0.0)
    return np.column_stack((number[children[rising - n]], merged, sizes[rising])).astype(np.float64)
