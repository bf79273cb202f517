"""Many trees in a few flat arrays."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Indices, Ints

__all__ = ["TreeArrays"]


class TreeArrays(NamedTuple):
    """Trees over the same leaves; `palmette.hierarchy.TreeSet`, which is made of these, says what each of them is."""

    labels: tuple[str, ...]
    offsets: Ints  # (T + 1,)
    parents: Indices  # (offsets[-1],)
    leaf_orders: Indices  # (T, n)
    branch_lengths: Floats | None  # (offsets[-1],)
    support: Floats | None  # (offsets[-1],)
    weights: Floats  # (T,)
    names: tuple[str, ...] | None
    rooted: npt.NDArray[np.int8]  # (T,)
