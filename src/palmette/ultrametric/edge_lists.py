"""Edges and weights of points, of distances, of a sparse matrix and of an image."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse
from scipy.sparse.csgraph import minimum_spanning_tree

from palmette.array_types import Floats, Indices, Ints
from palmette.ultrametric.kd_tree import Boxes, check_coordinates, pair_distances
from palmette.ultrametric.spanning import join_boxes

__all__ = ["near_edges", "neighbour_edges", "pixel_edges", "sparse_edges"]

_ROUNDING = 1e-9  # entries (i, j) and (j, i) that differ by less, relative to their size, are the same


def neighbour_edges(points: Floats, k: int, averaged: bool) -> tuple[Indices, Indices, Floats]:
    """Sources, targets and weights: the k < N nearest neighbours of each point, and the Euclidean spanning tree.

    >>> neighbour_edges(np.array([[0.0], [1.0], [3.0]]), 1, False)
    (array([0, 1], dtype=int32), array([1, 2], dtype=int32), array([1., 2.]))
    """
    n = len(points)
    boxes = Boxes.of(points)
    neighbours, squares = boxes.nearest(k)
    first, second = join_boxes(boxes, neighbours, squares)
    tree = first.astype(np.int64) * n + second
    own, others = boxes.order[:, None].astype(np.int64), boxes.order[neighbours]
    keys, counts = np.unique(np.minimum(own, others) * n + np.maximum(own, others), return_counts=True)
    missing = np.sort(np.setdiff1d(tree, keys, assume_unique=True))
    at = np.searchsorted(keys, missing)
    keys, counts = np.insert(keys, at, missing), np.insert(counts, at, 1)
    sources, targets = (ends.astype(np.int32) for ends in np.divmod(keys, n))
    weights = pair_distances(points, sources, targets)
    return sources, targets, weights * (counts / 2) if averaged else weights


def near_edges(between: Floats, k: int) -> tuple[Ints, Floats]:
    """Edges (M, 2) and weights of (N, N) distances: the k < N nearest of each vertex, and a minimum spanning tree.

    >>> near_edges(np.array([[0.0, 1.0, 3.0], [1.0, 0.0, 2.0], [3.0, 2.0, 0.0]]), 1)
    (array([[0, 1],
           [1, 2]]), array([1., 2.]))
    """
    n = len(between)
    first, second = np.triu_indices(n, 1)
    # In place of distances their ranks, which differ: pairs of one length are decided by (i, j).
    rank = np.empty(len(first))
    rank[np.argsort(between[first, second], kind="stable")] = np.arange(1.0, len(first) + 1)
    ranks = np.zeros((n, n))
    ranks[first, second] = rank
    chosen = minimum_spanning_tree(ranks).toarray() > 0.0
    ranks += ranks.T
    chosen[np.arange(n)[:, None], np.argsort(ranks, axis=1)[:, 1 : k + 1]] = True
    ends = np.argwhere(np.triu(chosen | chosen.T, 1))
    return ends, between[ends[:, 0], ends[:, 1]]


def sparse_edges(matrix: Any) -> tuple[Ints, Floats]:
    """Edges (M, 2) and weights of the stored entries of a sparse matrix; (i, j) and (j, i) are one edge.

    >>> sparse_edges(scipy.sparse.coo_array(([2.0], ([1], [0])), shape=(2, 2)))
    (array([[0, 1]]), array([2.]))
    """
    _check_sparse(matrix)
    entries = matrix.tocsr().tocoo()  # entries stored twice are added up, as SciPy means them
    rows, columns = entries.row.astype(np.int64), entries.col.astype(np.int64)
    weights = entries.data.astype(np.float64)
    loops = np.flatnonzero((rows == columns) & (weights != 0))
    if len(loops):
        at = int(loops[0])
        raise ValueError(
            f"entry ({rows[at]}, {rows[at]}) of the matrix is {weights[at]:g} and joins vertex {rows[at]} to itself; "
            "set the diagonal to 0"
        )
    apart = rows != columns
    keys, weights = _fold(rows[apart], columns[apart], weights[apart], matrix.shape[0])
    return np.stack(np.divmod(keys, matrix.shape[0]), axis=1), weights


def _check_sparse(matrix: Any) -> None:
    if not scipy.sparse.issparse(matrix):
        raise TypeError(
            f"expected a SciPy sparse matrix, not {type(matrix).__name__}; scipy.sparse.csr_array(matrix) makes one, "
            "in which zeros are no edges"
        )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or matrix.shape[0] == 0:
        raise ValueError(f"the matrix has shape {matrix.shape}; expected (N, N), one row and one column per vertex")
    if matrix.dtype.kind not in "biuf":
        raise TypeError(f"the matrix must hold real numbers, not {matrix.dtype}")


def _fold(rows: Ints, columns: Ints, weights: Floats, n: int) -> tuple[Ints, Floats]:
    # One entry for (i, j) and (j, i), with key i · n + j, i < j; rounding is averaged out.
    keys = np.minimum(rows, columns) * n + np.maximum(rows, columns)
    order = np.lexsort((rows, keys))
    keys, weights = keys[order], weights[order]
    first = np.flatnonzero(np.diff(keys, prepend=-1))
    last = np.append(first, len(keys))[1:] - 1
    upper, lower = weights[first], weights[last]
    with np.errstate(invalid="ignore"):  # infinite ones are refused later, with NaN
        unequal = np.flatnonzero(np.abs(upper - lower) > _ROUNDING * np.maximum(np.abs(upper), np.abs(lower)))
    if len(unequal):
        at = unequal[0]
        i, j = divmod(int(keys[first[at]]), n)
        raise ValueError(
            f"entries ({i}, {j}) and ({j}, {i}) of the matrix differ: {upper[at]:g} and {lower[at]:g}; keep one of the "
            "two, e.g. scipy.sparse.triu(matrix), or symmetrise it, e.g. matrix.maximum(matrix.T)"
        )
    return keys[first], (upper + lower) / 2


def pixel_edges(image: npt.ArrayLike, diagonal: bool) -> tuple[Indices, Indices, Floats, int]:
    """Sources, targets and weights of neighbouring pixels of an (H, W) or (H, W, channels) image, and H · W.

    >>> pixel_edges([[1.0, 3.0]], False)
    (array([0], dtype=int32), array([1], dtype=int32), array([2.]), 2)
    """
    given = np.asarray(image)
    if given.ndim not in (2, 3) or given.size == 0:
        raise ValueError(f"the image has shape {given.shape}; expected (H, W) or (H, W, channels)")
    height, width = given.shape[:2]
    pixels = check_coordinates(given.reshape(height * width, -1), "the image, one row per pixel,")
    sources, targets = _grid(height, width, diagonal)
    return sources, targets, pair_distances(pixels, sources, targets), height * width


def _grid(height: int, width: int, diagonal: bool) -> tuple[Indices, Indices]:
    # Edges to the right and down (and down to either side), by rising source and target.
    steps = [(0, 1), (1, -1), (1, 0), (1, 1)] if diagonal else [(0, 1), (1, 0)]
    is_edge = np.zeros((height, width, len(steps)), dtype=bool)
    for s, (down, right) in enumerate(steps):
        is_edge[: height - down, max(0, -right) : width - max(0, right), s] = True
    numbers = np.arange(height * width, dtype=np.int32).reshape(height, width, 1)
    jumps = np.array([down * width + right for down, right in steps], dtype=np.int32)
    return np.broadcast_to(numbers, is_edge.shape)[is_edge], (numbers + jumps)[is_edge]
