"""Similarities of points and of distances, and what is made of them: centred ones, distances, linkages."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import cdist, squareform

from palmette.array_types import Floats
from palmette.checks import check_choice, check_matrix, check_points, check_positive
from palmette.hierarchy import Hierarchy
from palmette.labels import labels_of
from palmette.similarity.missing import with_gaps
from palmette.similarity.shared_columns import shared_cosines, shared_distances, unit_of

__all__ = [
    "KINDS",
    "centred",
    "distances",
    "likeness",
    "linkages",
    "mean_similarity",
    "median_distance",
    "of_distances",
    "of_points",
    "standardised",
    "to_distances",
]

KINDS = ("rbf", "linear", "cosine", "correlation")  #: the similarities that have a name

_OF_DISTANCES = ("rbf", "linear")


def of_points(
    points: npt.ArrayLike,
    kind: str = "rbf",
    bandwidth: float | None = None,
    *,
    missing: str = "refuse",
    labels: Sequence[str] | None = None,
) -> Floats:
    """(n, n) similarities of the rows of (n, d) points; 1 for a row and itself.

    `kind` is one of `KINDS`; `bandwidth` is the h of "rbf". A row without a direction has no cosine, and one with the
    same value in every column no correlation: that raises. `missing`, one of `WAYS`, says what to do about NaN. With
    "pairwise" two rows must share as many columns as tell anything: one for distances, two for a cosine, three for a
    correlation; `overlaps` counts them, and `labels` are what a message calls rows.

    >>> of_points([[0.0], [1.0]]).round(4).tolist()
    [[1.0, 0.6065], [0.6065, 1.0]]
    >>> of_points([[1, 2, 3, np.nan], [2, 4, 5, 1]], "correlation", missing="pairwise").round(4).tolist()
    [[1.0, 0.982], [0.982, 1.0]]
    """
    check_choice("similarity", kind, KINDS)
    rows = with_gaps(points, missing)
    if kind in _OF_DISTANCES:
        return of_distances(distances(rows, missing=missing, labels=labels), kind, bandwidth)
    if np.isnan(rows).any():
        return shared_cosines(rows, centred=kind == "correlation", labels=labels)
    directions = _directions(rows, kind, labels)
    similarity = np.clip(directions @ directions.T, -1.0, 1.0)
    np.fill_diagonal(similarity, 1.0)
    return np.asarray(similarity)


def of_distances(between: npt.ArrayLike, kind: str = "rbf", bandwidth: float | None = None) -> Floats:
    """(n, n) similarities of (n, n) distances, "rbf" or "linear"; 1 on the diagonal.

    >>> of_distances([[0, 1, 4], [1, 0, 5], [4, 5, 0]], "linear").round(1).tolist()
    [[1.0, 0.8, 0.2], [0.8, 1.0, 0.0], [0.2, 0.0, 1.0]]
    """
    if kind in KINDS and kind not in _OF_DISTANCES:
        raise ValueError(f"similarity {kind} needs the points themselves; of distances it is rbf or linear")
    check_choice("similarity", kind, _OF_DISTANCES)
    apart = _check_distances(between)
    if kind == "linear":
        largest = apart.max()
        return 1.0 - apart / (largest if largest > 0.0 else 1.0)
    if bandwidth is not None:
        check_positive("bandwidth", bandwidth, ", or None for the median distance")
    width = median_distance(apart) if bandwidth is None else float(bandwidth)
    with np.errstate(over="ignore", under="ignore"):  # far apart, in units of the bandwidth, is a similarity of 0
        return np.asarray(np.exp(-0.5 * np.square(apart / width)))


def distances(points: npt.ArrayLike, *, missing: str = "refuse", labels: Sequence[str] | None = None) -> Floats:
    """(n, n): Euclidean distances of the rows of (n, d) points; `missing` and `labels` as for `of_points`.

    >>> distances([[0.0, 0.0], [3.0, 4.0]]).tolist()
    [[0.0, 5.0], [5.0, 0.0]]
    """
    rows = with_gaps(points, missing)
    if np.isnan(rows).any():
        return shared_distances(rows, labels)
    unit = unit_of(rows)
    return np.asarray(cdist(rows / unit, rows / unit) * unit)


def median_distance(between: npt.ArrayLike) -> float:
    """The median of the (n, n) distances of pairs of rows that differ; 1 if none do.

    >>> median_distance([[0, 1, 4], [1, 0, 5], [4, 5, 0]])
    4.0
    """
    pairs = _pairs(_check_distances(between))
    pairs = pairs[pairs > 0.0]
    return float(np.median(pairs)) if len(pairs) else 1.0


def standardised(points: npt.ArrayLike) -> Floats:
    """Columns with mean 0 and variance 1, missing entries (NaN) left out of both; a constant column becomes 0.

    >>> standardised([[1.0, 5.0], [3.0, 5.0]]).round(6).tolist()
    [[-1.0, 0.0], [1.0, 0.0]]
    """
    rows = check_points(points, missing=True)
    known = ~np.isnan(rows)
    count = np.maximum(known.sum(axis=0), 1)
    scale = np.max(np.abs(np.where(known, rows, 0.0)), axis=0, initial=0.0)
    scaled = rows / np.where(scale > 0.0, scale, 1.0)  # so that squares do not overflow
    moved = scaled - np.where(known, scaled, 0.0).sum(axis=0) / count
    spread = np.sqrt(np.square(np.where(known, moved, 0.0)).sum(axis=0) / count)
    constant = spread <= 1e-12
    return np.where(known & constant, 0.0, moved / np.where(constant, 1.0, spread))


def centred(similarity: npt.ArrayLike, centre: float | None = None) -> Floats:
    """Similarities minus `centre`, or minus their mean over pairs: some pairs attract then, and others repel.

    >>> centred([[0, 3, 1], [3, 0, 2], [1, 2, 0]])[0].tolist()
    [-2.0, 1.0, -1.0]
    """
    matrix = np.asarray(similarity, dtype=np.float64)
    return matrix - (mean_similarity(matrix) if centre is None else centre)


def mean_similarity(similarity: npt.ArrayLike) -> float:
    """The mean over pairs of different leaves; 0 if there are none.

    >>> mean_similarity([[0, 3, 1], [3, 0, 2], [1, 2, 0]])
    2.0
    """
    pairs = _pairs(np.asarray(similarity, dtype=np.float64))
    return float(pairs.mean()) if len(pairs) else 0.0


def to_distances(similarity: npt.ArrayLike) -> Floats:
    """(n, n): the largest similarity of a pair minus each one; 0 on the diagonal.

    >>> to_distances([[0.0, 0.9, 0.1], [0.9, 0.0, 0.2], [0.1, 0.2, 0.0]]).round(1)[2].tolist()
    [0.8, 0.7, 0.0]
    """
    matrix = check_matrix(similarity, "similarity")
    apart = _pairs(matrix).max(initial=-np.inf) - matrix if len(matrix) > 1 else np.zeros_like(matrix)
    np.fill_diagonal(apart, 0.0)
    return np.asarray(apart)


def likeness(points: npt.ArrayLike, *, filled: bool = False) -> Floats:
    """(n, n): minus the Euclidean distances of rows, for the `linkages` of points whose model has no similarities.

    With `filled`, columns are standardised first, and 0, their mean, stands in for what is missing (NaN).

    >>> likeness([[0.0], [2.0], [np.nan]], filled=True).tolist()
    [[-0.0, -2.0, -1.0], [-2.0, -0.0, -1.0], [-1.0, -1.0, -0.0]]
    """
    return -distances(np.nan_to_num(standardised(points), nan=0.0) if filled else points)


def linkages(similarity: npt.ArrayLike, labels: Sequence[str] | None = None) -> list[Hierarchy]:
    """The hierarchies of average and of complete linkage: good ones to begin with, at any number of leaves.

    Only differences of similarities matter, so that minus a matrix of distances will do.

    >>> linkages([[0, 3, 1], [3, 0, 2], [1, 2, 0]], ["a", "b", "c"])[0]
    Hierarchy.from_newick('(c,(a,b));')
    """
    apart, labels = to_distances(similarity), labels_of(similarity, labels)
    if len(apart) == 1:
        return [Hierarchy.from_linkage(np.empty((0, 4)), labels)]
    pairs = squareform(apart, checks=False)
    return [Hierarchy.from_linkage(linkage(pairs, method), labels) for method in ("average", "complete")]


def _pairs(matrix: Floats) -> Floats:
    return np.asarray(matrix[np.triu_indices(len(matrix), 1)])


def _directions(rows: Floats, kind: str, labels: Sequence[str] | None) -> Floats:
    # Rows of length 1, around their means for a correlation; divided first, so that no square overflows.
    largest = np.abs(rows).max(axis=1, initial=0.0)
    rows = rows / np.where(largest > 0.0, largest, 1.0)[:, None]
    if kind == "correlation":
        rows = rows - rows.sum(axis=1, keepdims=True) / max(rows.shape[1], 1)
    lengths = np.linalg.norm(rows, axis=1)
    flat = np.flatnonzero(lengths <= 1e-12)
    if len(flat) and len(rows) > 1:
        what = "has the same value in every column" if kind == "correlation" else "is zero in every column"
        which = f"{flat[0]} (of 0 to {len(rows) - 1})" if labels is None else repr(labels[flat[0]])
        raise ValueError(f"row {which} {what}: no {kind} with others; try similarity rbf")
    return np.asarray(rows / np.where(lengths > 0.0, lengths, 1.0)[:, None])


def _check_distances(between: npt.ArrayLike) -> Floats:
    apart = check_matrix(between, "distances")
    if apart.min() < 0.0:
        i, j = np.unravel_index(np.argmin(apart), apart.shape)
        raise ValueError(f"distances hold {apart[i, j]:g} at row {i}, column {j}; they must be at least 0")
    return apart
