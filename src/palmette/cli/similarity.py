"""How alike leaves are: similarities made of points or of distances.

- rbf: exp(−d² / (2 h²)), with h the median of the distances between two leaves unless it is given
- linear: 1 − d / (largest d)
- cosine: x·y / (‖x‖ ‖y‖)
- correlation: that of Pearson, between rows
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import cdist

__all__ = ["centred", "distances", "similarity_of_distances", "similarity_of_points", "standardised"]

Floats = npt.NDArray[np.float64]


def standardised(points: Floats) -> Floats:
    """Columns with mean 0 and variance 1, missing entries left out of both; a constant column becomes 0.

    >>> standardised(np.array([[1.0, 5.0], [3.0, 5.0]])).round(6).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    known = ~np.isnan(points)
    count = np.maximum(known.sum(axis=0), 1)
    scale = np.max(np.abs(np.where(known, points, 0.0)), axis=0, initial=0.0)
    scaled = points / np.where(scale > 0.0, scale, 1.0)  # so that squares do not overflow
    moved = scaled - np.where(known, scaled, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.square(np.where(known, moved, 0.0)).sum(axis=0) / count)
    constant = spread <= 1e-12
    return np.where(known & constant, 0.0, moved / np.where(constant, 1.0, spread))


def distances(points: Floats) -> Floats:
    """(n, n): Euclidean distances."""
    return np.asarray(cdist(points, points))


def similarity_of_points(points: Floats, kind: str, bandwidth: float | None = None) -> Floats:
    """(n, n) similarities of the rows of (n, d) points; 1 for a row and itself.

    >>> similarity_of_points(np.array([[0.0], [1.0]]), "rbf").round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    """
    if kind in ("rbf", "linear"):
        return similarity_of_distances(distances(points), kind, bandwidth)
    rows = points - points.mean(axis=1, keepdims=True) if kind == "correlation" else points
    lengths = np.linalg.norm(rows, axis=1)
    flat = np.flatnonzero(lengths <= 1e-12 * np.abs(points).max(initial=1.0))
    if len(flat) and len(points) > 1:
        what = "has the same value in every column" if kind == "correlation" else "is zero in every column"
        raise ValueError(f"row {flat[0] + 1} {what}, so it has no {kind} with others; try --similarity rbf")
    unit = rows / np.where(lengths > 0.0, lengths, 1.0)[:, None]
    return np.clip(unit @ unit.T, -1.0, 1.0)


def similarity_of_distances(between: Floats, kind: str, bandwidth: float | None = None) -> Floats:
    """(n, n) similarities of (n, n) distances, "rbf" or "linear"."""
    if kind not in ("rbf", "linear"):
        raise ValueError(f"--similarity {kind} needs the points themselves; of distances it is rbf or linear")
    off_diagonal = between[np.triu_indices(len(between), 1)]
    if kind == "linear":
        largest = off_diagonal.max(initial=0.0)
        return 1.0 - between / largest if largest > 0.0 else np.ones_like(between)
    width = float(np.median(off_diagonal)) if bandwidth is None and len(off_diagonal) else bandwidth
    if not width:
        width = float(off_diagonal.max(initial=0.0)) or 1.0  # more than half of the pairs are the same
    return np.asarray(np.exp(-0.5 * np.square(between / width)))


def centred(similarity: Floats, centre: float | None) -> tuple[Floats, float]:
    """Similarities minus `centre`, or minus their mean over pairs if it is None; and what was taken off."""
    pairs = similarity[np.triu_indices(len(similarity), 1)]
    if centre is None:
        centre = float(pairs.mean()) if len(pairs) else 0.0
    return similarity - centre, centre
