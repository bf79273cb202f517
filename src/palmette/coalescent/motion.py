"""Numbers that wander: coordinates in which Λ is the identity, and the way from the root down to the leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from palmette.array_types import Floats

__all__ = ["add_from_root", "coloured", "square_root", "whitened"]


def square_root(rate: Floats) -> Floats:
    """L with L Lᵀ = Λ: square roots of a diagonal, (D,) or a number, or the lower triangle of Cholesky, (D, D)."""
    return np.asarray(np.linalg.cholesky(rate) if rate.ndim == 2 else np.sqrt(rate), dtype=np.float64)


def whitened(points: Floats, root: Floats) -> Floats:
    """L⁻¹ x for each row x."""
    if root.ndim < 2:
        return points / root
    return np.asarray(solve_triangular(root, points.T, lower=True).T)


def coloured(white: Floats, root: Floats) -> Floats:
    """L z for each row z."""
    return white @ root.T if root.ndim == 2 else white * root


def add_from_root(states: Floats, parents: Sequence[int]) -> Floats:
    """Each row becomes its sum with all above it, in place; parents come after children, and the root is the last."""
    for v in range(len(parents) - 2, -1, -1):
        states[v] += states[parents[v]]
    return states
