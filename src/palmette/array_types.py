"""What arrays are called in signatures."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

__all__ = ["Floats", "Indices", "Ints", "Masks", "Numbers", "Words"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Indices = npt.NDArray[np.int32]  #: where memory counts: leaves, nodes, vertices
Numbers = npt.NDArray[np.integer[Any]]  #: clusters or states, by whatever integers a trellis knows them
Masks = npt.NDArray[np.uint32]  #: clusters of at most 32 leaves as bit masks
Words = npt.NDArray[np.uint64]  #: clusters of any number of leaves, as rows of 64-bit words
