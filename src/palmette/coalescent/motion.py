"""Numbers that wander: coordinates in which Λ is the identity, and the way from the root down to the leaves."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import solve_triangular

from palmette.array_types import Floats

__all__ = ["add_from_root", "check_positive_definite", "coloured", "square_root", "whitened"]


def check_positive_definite(matrix: Floats, name: str) -> Floats:
    """The same matrix, symmetric to the last bit; one that is no covariance matrix is refused."""
    if np.abs(matrix - matrix.T).max() > 1e-9 * np.abs(matrix).max():
        raise ValueError(f"{name} is not symmetric; a covariance matrix is, so symmetrise it first, e.g. (a + a.T) / 2")
    matrix = (matrix + matrix.T) / 2
    eigenvalues = np.linalg.eigvalsh(matrix)
    if not eigenvalues[0] > len(matrix) * np.finfo(np.float64).eps * eigenvalues[-1]:
        raise ValueError(
            f"{name} is not positive definite: its eigenvalues go from {eigenvalues[0]:.3g} to {eigenvalues[-1]:.3g}; "
            "drop columns that depend on others, or add a small number to the diagonal"
        )
    return matrix


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
