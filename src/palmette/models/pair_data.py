"""Numbers of unordered pairs of leaves: from matrices, sparse ones and graphs, with pairs that are missing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import check_finite_total, check_matrix, check_points
from palmette.labels import columns_as_rows, labels_of

__all__ = ["PairData", "Pairs", "most_across", "pair_counts", "read_pairs", "require_entries", "squared_distances"]

Pairs = Any  # an (n, n) array, a SciPy sparse matrix, or a networkx.Graph


class PairData(NamedTuple):
    """Symmetric matrices with a zero diagonal: the values, 0 where one is missing, and 1 where one is known."""

    values: Floats
    known: Floats
    labels: Sequence[str] | None

    @property
    def known_values(self) -> Floats:
        """The value of every known pair, once."""
        one, two = np.nonzero(np.triu(self.known))
        return self.values[one, two]

    @property
    def n_known(self) -> list[Floats]:
        """The matrix that counts known pairs, for `FeatureModel`; none if all are, since sizes then tell."""
        n = len(self.known)
        return [] if self.known.sum() == n * (n - 1) else [self.known]


def read_pairs(
    data: Pairs, name: str, missing: npt.ArrayLike | None, labels: Sequence[str] | None, *, loops: bool
) -> PairData:
    """Values of pairs from what people have. Where one of (i, j) and (j, i) is NaN or `missing`, the pair is missing.

    What a sparse matrix does not store, and what a graph has no edge for, is 0. Edges have the value of their attribute
    `weight`, or 1. A diagonal is refused unless `loops`; then it is not used. Nodes of a graph are the labels,
    and so is the index of a data frame.
    """
    if hasattr(data, "is_directed") and hasattr(data, "edges"):
        nodes = list(data.nodes)
        array, labels = _graph_matrix(data, nodes, name), [str(node) for node in nodes] if labels is None else labels
    else:
        labels = labels_of(data, labels)
        dense = data.toarray() if scipy.sparse.issparse(data) else columns_as_rows(data)
        array = check_points(dense, name, missing=True)
    n = len(array)
    if array.shape != (n, n):
        raise ValueError(f"{name} has shape {array.shape}; expected a square matrix, one row and one column per leaf")
    diagonal = np.flatnonzero(np.nan_to_num(np.diag(array)))
    if len(diagonal) and not loops:
        i = int(diagonal[0])
        raise ValueError(
            f"{name} joins leaf {i} to itself ({array[i, i]:g}); set the diagonal to 0, pairs have two leaves"
        )
    unknown = np.isnan(array) | _check_missing(missing, n)
    unknown |= unknown.T | np.eye(n, dtype=bool)
    return PairData(check_matrix(np.where(unknown, 0.0, array), name), (~unknown).astype(np.float64), labels)


def require_entries(data: PairData, name: str, bad: npt.NDArray[np.bool_], wanted: str) -> None:
    """Refuse the values that are `bad`, an (n, n) array; the message names the first."""
    at = np.argwhere(bad)
    if len(at):
        i, j = at[0].tolist()
        more = f" (and {len(at) // 2 - 1} more pairs)" if len(at) > 2 else ""
        raise ValueError(f"{name} holds {data.values[i, j]:g} at row {i}, column {j}{more}; {wanted}")


@inline
def pair_counts(theta, n, size, sums, pairs, out):
    """(sum of the values, number of the known ones) over the pairs of a cluster; if those are not counted, all are."""
    out[0] = pairs[0]
    out[1] = pairs[1] if pairs.size > 1 else 0.5 * size * (size - 1)


def most_across(n: int) -> int:
    """⌊n²/4⌋: the largest number of pairs across a split."""
    return n * n // 4


def squared_distances(x: Floats, factor: float = 1.0) -> Floats:
    """(n, n): ‖x_i − x_j‖² of the rows of x, if `factor` times n times their sum is a number."""
    with np.errstate(over="ignore"):
        squared = np.stack([np.square(x - row).sum(axis=1) for row in x])
        check_finite_total(factor * len(x), float(squared.sum()), "points")
    return squared


def _check_missing(missing: npt.ArrayLike | None, n: int) -> npt.NDArray[np.bool_]:
    if missing is None:
        return np.zeros((n, n), dtype=bool)
    array = np.asarray(missing)
    if array.dtype != bool or array.shape != (n, n):
        raise ValueError(
            f"missing is an array of {array.dtype} of shape {array.shape}; give booleans of shape ({n}, {n}), True "
            "where a pair is not known"
        )
    return array


def _graph_matrix(graph: Any, nodes: list[Any], name: str) -> Floats:
    if graph.is_directed():
        raise ValueError(f"{name} is a directed graph, and pairs have no direction; graph.to_undirected() drops it")
    if graph.is_multigraph():
        raise ValueError(f"{name} has parallel edges; networkx.Graph(graph) keeps one of each")
    if not nodes:
        raise ValueError(f"{name} is empty; at least one leaf is needed")
    number = {node: i for i, node in enumerate(nodes)}
    matrix = np.zeros((len(nodes), len(nodes)))
    for one, two, weight in graph.edges(data="weight", default=1.0):
        matrix[number[one], number[two]] = matrix[number[two], number[one]] = weight
    return matrix
