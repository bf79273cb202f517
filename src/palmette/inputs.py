"""Checks of what people hand to a model; every message names the entry at fault."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

__all__ = ["check_beta", "check_finite_total", "check_matrix", "check_points"]

Floats = npt.NDArray[np.float64]


def check_matrix(values: npt.ArrayLike, name: str) -> Floats:
    """A symmetric (n, n) matrix with a zero diagonal; whatever stood on the diagonal is not used.

    Asymmetry below 1e-9 of the largest entry, as rounding leaves it, is averaged out.
    """
    matrix = _as_floats(values, name)
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} has shape {matrix.shape}; expected a square matrix, one row and one column per leaf")
    if matrix.size == 0:
        raise ValueError(f"{name} is empty; at least one leaf is needed")
    np.fill_diagonal(matrix, 0.0)
    _check_entries(matrix, name)
    if (largest := np.abs(matrix).max()) > 1e300:
        raise ValueError(f"{name} holds entries as large as {largest:g}, whose sums overflow; divide it by a constant")
    gap = np.abs(matrix - matrix.T)
    if gap.max() > 1e-9 * np.abs(matrix).max():
        i, j = np.unravel_index(np.argmax(gap), gap.shape)
        raise ValueError(
            f"{name} is not symmetric: entry ({i}, {j}) is {matrix[i, j]:g} but ({j}, {i}) is {matrix[j, i]:g}; "
            f"symmetrise it first, e.g. (w + w.T) / 2"
        )
    return (matrix + matrix.T) / 2


def check_points(values: npt.ArrayLike, name: str = "points", *, missing: bool = False, empty: bool = False) -> Floats:
    """An (n, d) matrix of finite numbers, one row per leaf; NaN is let through if `missing`, n = 0 if `empty`."""
    points = _as_floats(values, name)
    if points.ndim != 2:
        raise ValueError(f"{name} has shape {points.shape}; expected (n, d): one row per leaf, one column per variable")
    if len(points) == 0 and not empty:
        raise ValueError(f"{name} is empty; at least one leaf is needed")
    _check_entries(points, name, missing)
    return points


def check_beta(beta: float) -> float:
    """A finite inverse temperature β ≥ 0."""
    if isinstance(beta, bool) or not isinstance(beta, int | float | np.integer | np.floating):
        raise TypeError(f"beta must be a number, not {beta!r}")
    if not 0 <= beta < np.inf:
        raise ValueError(f"beta is {beta}; the inverse temperature must be finite and at least 0")
    return float(beta)


def check_finite_total(beta: float, total: float, name: str) -> None:
    """Refuse data whose total cost leaves the range of float64: every log potential must be finite."""
    with np.errstate(over="ignore", invalid="ignore"):
        scale = np.float64(beta) * total
    if not scale < 1e300:
        raise ValueError(f"{name} is too large: costs overflow; divide {name}, or beta, by a constant")


def _as_floats(values: npt.ArrayLike, name: str) -> Floats:
    try:
        if isinstance(values, np.ma.MaskedArray):
            values = np.ma.filled(values.astype(np.float64), np.nan)  # what is masked is missing
        array = np.asarray(values)
        if array.dtype.kind not in "biufO":  # text and dates would turn into numbers, complex ones lose a part
            raise TypeError
        return np.array(array, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of real numbers, not {type(values).__name__}") from None


def _check_entries(array: Floats, name: str, missing: bool = False) -> None:
    bad = np.argwhere(np.isinf(array) if missing else ~np.isfinite(array))
    if len(bad):
        where = tuple(int(i) for i in bad[0])
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        raise ValueError(
            f"{name} holds {array[where]} at row {where[0]}, column {where[1]}{more}; entries must be finite"
            f"{', or NaN where one is missing' if missing else ''}"
        )
