"""What a parameter `similarity` stands for: a name, a function of all rows, or that X is the matrix itself."""

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_choice, check_matrix, check_positive
from palmette.similarity import KINDS, of_points

__all__ = ["bandwidth_of", "gamma_of", "similarity_of"]


def similarity_of(
    points: Floats, kind: Any, bandwidth: float | None = None, labels: Sequence[str] | None = None
) -> Floats:
    """(n, n): the similarity of any two rows, 0 on the diagonal, where no model looks; of those with gaps pair by pair.

    >>> similarity_of(np.array([[0.0], [1.0]]), "rbf").round(3)
    array([[0.   , 0.607],
           [0.607, 0.   ]])
    """
    if callable(kind):
        return check_matrix(kind(points), "the similarity that was returned")
    if isinstance(kind, str) and kind == "precomputed":
        return check_matrix(points, "the precomputed similarity")
    check_choice("similarity", kind, (*KINDS, "precomputed"), ", or a function from (n, d) to (n, n)")
    return check_matrix(of_points(points, kind, bandwidth, missing="pairwise", labels=labels), "similarity")


def gamma_of(bandwidth: float) -> float:
    """gamma = 1 / (2 h²), as scikit-learn counts.

    >>> gamma_of(2.0)
    0.125
    """
    return float(np.clip(0.5 / bandwidth / bandwidth, sys.float_info.min, sys.float_info.max))


def bandwidth_of(gamma: Any) -> float:
    """h = √(1 / (2 gamma)), if gamma is a positive number.

    >>> bandwidth_of(0.125)
    2.0
    """
    checked = check_positive("gamma", gamma, ", or None for one that suits the rows")
    return float(np.sqrt(0.5) / np.sqrt(checked))
