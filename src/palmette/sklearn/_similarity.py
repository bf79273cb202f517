"""Rows of features as a matrix of similarities."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.metrics.pairwise import cosine_similarity, euclidean_distances

from palmette.inputs import check_matrix

__all__ = ["NAMED", "centred", "dissimilarity", "similarity_of", "typical_gamma"]

Floats = npt.NDArray[np.float64]

NAMED = ("rbf", "cosine", "correlation", "precomputed")


def similarity_of(points: Floats, kind: Any, gamma: float) -> Floats:
    """(n, n): the similarity of any two rows, by one of the names in `NAMED` or by a function of all rows.

    >>> similarity_of(np.array([[0.0], [1.0]]), "rbf", 1.0).round(3)
    array([[0.   , 0.368],
           [0.368, 0.   ]])
    """
    if callable(kind):
        return check_matrix(kind(points), "the similarity that was returned")
    if not isinstance(kind, str) or kind not in NAMED:
        choices = ", ".join(map(repr, NAMED))
        raise ValueError(f"similarity is {kind!r}; give one of {choices}, or a function from (n, d) to (n, n)")
    if kind == "precomputed":
        return check_matrix(points, "the precomputed similarity")
    if kind == "rbf":
        return check_matrix(np.exp(-gamma * euclidean_distances(points, squared=True)), "similarity")
    centre = points.mean(axis=1, keepdims=True) if kind == "correlation" else 0.0
    return check_matrix(cosine_similarity(points - centre), "similarity")


def typical_gamma(points: Floats) -> float:
    """1 / median of ‖x_i − x_j‖² over the pairs of different rows; 1 if there are none.

    >>> typical_gamma(np.array([[0.0], [2.0]]))
    0.25
    """
    squared = euclidean_distances(points, squared=True)[np.triu_indices(len(points), 1)]
    squared = squared[squared > 0.0]
    return float(1.0 / np.median(squared)) if len(squared) else 1.0


def centred(similarity: Floats) -> Floats:
    """The similarity minus its mean off the diagonal: pairs that are more alike than most attract, the others repel."""
    n = len(similarity)
    off_diagonal = ~np.eye(n, dtype=bool)
    return similarity - similarity[off_diagonal].mean() if n > 1 else similarity


def dissimilarity(similarity: Floats) -> Floats:
    """The largest similarity of a pair minus each one; 0 on the diagonal.

    >>> dissimilarity(np.array([[0.0, 0.9, 0.1], [0.9, 0.0, 0.2], [0.1, 0.2, 0.0]])).round(1)[2]
    array([0.8, 0.7, 0. ])
    """
    pairs = similarity[np.triu_indices(len(similarity), 1)]
    result = pairs.max(initial=-np.inf) - similarity if len(pairs) else np.zeros_like(similarity)
    np.fill_diagonal(result, 0.0)
    return result
