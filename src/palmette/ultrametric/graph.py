"""Graphs with weighted edges: of a list of edges, of points, of distances, of a sparse matrix, of an image."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse

from palmette._immutable import Immutable, read_only
from palmette._jit import kernel
from palmette.array_types import Floats, Indices, Ints
from palmette.checks import as_integers, check_integer, check_matrix
from palmette.defaults import DEFAULTS
from palmette.labels import check_labels, columns_as_rows, labels_of, name_leaves
from palmette.ultrametric.edge_lists import near_edges, neighbour_edges, pixel_edges, sparse_edges
from palmette.ultrametric.kd_tree import check_coordinates

__all__ = ["Graph"]

_MOST = 2**31 - 1  # vertices and edges are numbered by 32 bits
_LARGEST = 1e150  # squares of larger weights overflow
_PARTS = ("sources", "targets", "weights", "n_vertices", "n_components", "_names")  # all that a graph is


class Graph(Immutable):
    """Vertices 0 … N − 1 joined by M weighted edges; a weight is a dissimilarity, finite and at least 0.

    `edges` has shape (M, 2): the two ends of each edge, in any order. There are as many vertices as `n_vertices` says,
    or as there are labels, or as many as the largest end asks for. An edge from a vertex to itself is an error.
    Parallel edges are allowed, and each counts as an observation of its own. Weight 0 joins vertices that are the same.

    The graph must be connected unless `forest` is set: then each component has a hierarchy of its own.

    >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6], labels=["a", "b", "c"])
    >>> graph
    Graph(<3 vertices, 3 edges>)
    >>> graph.weights
    array([4., 3., 6.])
    """

    sources: Indices
    """One end of each edge, shape (M,)."""
    targets: Indices
    """The other end of each edge, shape (M,)."""
    weights: Floats
    """The dissimilarity of the two ends of each edge, shape (M,)."""
    n_vertices: int
    """The number of vertices, N."""
    n_components: int
    """The number of connected components; 1 unless a forest was asked for."""
    _names: tuple[str, ...] | None  # None until someone asks: a million names take longer than the graph

    def __init__(
        self,
        edges: npt.ArrayLike,
        weights: npt.ArrayLike,
        *,
        n_vertices: int | None = None,
        labels: Iterable[str] | None = None,
        forest: bool = False,
    ) -> None:
        ends = _check_ends(edges)
        if n_vertices is not None:
            n_vertices = check_integer("n_vertices", n_vertices, 1)
        names = None if labels is None else name_leaves((), labels, n_vertices)
        n = _count_vertices(ends, n_vertices if names is None else len(names))
        sources, targets = (np.ascontiguousarray(ends[:, side], dtype=np.int32) for side in (0, 1))
        _refuse_loops(sources, targets)
        checked = _check_weights(weights, sources, targets)
        n_components = _check_connected(sources, targets, n, forest)
        self._set(sources, targets, checked, n, n_components, names)

    def _set(self, *parts: Any) -> None:
        for name, part in zip(_PARTS, parts, strict=True):
            self.__dict__[name] = read_only(part) if isinstance(part, np.ndarray) else part

    @classmethod
    def _made(cls, *parts: Any) -> Graph:
        graph = cls.__new__(cls)
        graph._set(*parts)
        return graph

    @classmethod
    def from_points(
        cls,
        points: npt.ArrayLike,
        k: int = DEFAULTS.neighbours,
        *,
        labels: Iterable[str] | None = None,
        averaged: bool = False,
    ) -> Graph:
        """The k nearest neighbours of every point, and the edges of the Euclidean minimum spanning tree.

        `points` has shape (N, d); the weight of an edge is the distance of its ends. The spanning tree makes the graph
        connected. Each pair occurs once, i < j, in rising order.

        With `averaged`, weights are (A + Aᵀ)/2 of the matrix A that holds the distance of each point to its neighbours:
        a pair of which only one is a neighbour of the other, or that only the spanning tree joins, gets half its
        distance. The code published with Chierchia and Perret (2019) does that (and loses pairs at distance 0, which
        are kept here); it is meant for comparison.

        Time is about N log N in few dimensions and approaches N² in many. Memory is O(N (k + d)).

        >>> graph = Graph.from_points([[0.0], [1.0], [3.0], [7.0]], k=1)
        >>> graph.edges.tolist(), graph.weights.tolist()
        ([[0, 1], [1, 2], [2, 3]], [1.0, 2.0, 4.0])
        >>> Graph.from_points([[0.0], [1.0], [3.0], [7.0]], k=1, averaged=True).weights.tolist()
        [1.0, 1.0, 2.0]
        """
        checked = check_coordinates(points, "points")
        n = len(checked)
        labels = labels_of(points, labels)
        names = None if labels is None else check_labels(labels, n)
        sources, targets, weights = neighbour_edges(checked, min(check_integer("k", k, 1), n - 1), averaged)
        return cls._made(sources, targets, weights, n, 1, names)

    @classmethod
    def from_distances(
        cls, distances: npt.ArrayLike, k: int = DEFAULTS.neighbours, *, labels: Iterable[str] | None = None
    ) -> Graph:
        """The k nearest neighbours of every vertex by (N, N) distances, and the edges of a minimum spanning tree.

        What `from_points` makes of points, for those that have gaps or are not in a space: see
        `palmette.similarity.distances`. Pairs of one length are decided by (i, j). Memory and time are about N².

        >>> graph = Graph.from_distances([[0, 1, 3], [1, 0, 2], [3, 2, 0]], k=1)
        >>> graph.edges.tolist(), graph.weights.tolist()
        ([[0, 1], [1, 2]], [1.0, 2.0])
        """
        between = check_matrix(columns_as_rows(distances), "distances")
        edges, weights = near_edges(between, min(check_integer("k", k, 1), len(between) - 1))
        return cls(edges, weights, n_vertices=len(between), labels=labels_of(distances, labels))

    @classmethod
    def from_sparse(cls, matrix: Any, *, labels: Iterable[str] | None = None, forest: bool = False) -> Graph:
        """One edge for every stored entry (i, j) of a SciPy sparse matrix, (N, N); entries (i, j) and (j, i) are one.

        Zeros that are stored are edges of weight 0; what is not stored is no edge. If both (i, j) and (j, i) are stored
        they must agree.

        >>> import scipy.sparse
        >>> matrix = scipy.sparse.coo_array(([2.0, 0.0], ([0, 2], [1, 1])), shape=(3, 3))
        >>> graph = Graph.from_sparse(matrix)
        >>> graph.edges.tolist(), graph.weights.tolist()
        ([[0, 1], [1, 2]], [2.0, 0.0])
        """
        edges, weights = sparse_edges(matrix)
        return cls(edges, weights, n_vertices=matrix.shape[0], labels=labels, forest=forest)

    @classmethod
    def from_image(cls, image: npt.ArrayLike, *, diagonal: bool = False) -> Graph:
        """w = |I(p) − I(q)| for neighbouring pixels p and q: 4 neighbours, or 8 with `diagonal`.

        `image` has shape (H, W), or (H, W, channels); then | | is the Euclidean distance of the two pixels' values.
        Pixel (row, column) is vertex row · W + column.

        >>> graph = Graph.from_image(np.array([[0, 255], [255, 255]], dtype=np.uint8))
        >>> graph.edges.tolist(), graph.weights.tolist()
        ([[0, 1], [0, 2], [1, 3], [2, 3]], [255.0, 255.0, 0.0, 0.0])
        """
        sources, targets, weights, n = pixel_edges(image, diagonal)
        return cls._made(sources, targets, weights, n, 1, None)

    @property
    def n_edges(self) -> int:
        """The number of edges, M."""
        return len(self.weights)

    @property
    def edges(self) -> Ints:
        """The two ends of each edge, shape (M, 2)."""
        return np.stack((self.sources, self.targets), axis=1, dtype=np.int64)

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """The names of the vertices, which are the leaves of its hierarchies."""
        return check_labels(None, self.n_vertices) if self._names is None else self._names

    def with_weights(self, weights: npt.ArrayLike) -> Graph:
        """The same edges with other weights, shape (M,); the edges are shared, not copied.

        >>> Graph([[0, 1]], [1.0]).with_weights([2.0]).weights
        array([2.])
        """
        checked = _check_weights(weights, self.sources, self.targets)
        return self._made(self.sources, self.targets, checked, self.n_vertices, self.n_components, self._names)

    def to_sparse(self, values: npt.ArrayLike | None = None) -> Any:
        """The symmetric (N, N) matrix of the weights, or of other `values` of the edges, as a SciPy `csr_array`.

        A matrix has room for one of several parallel edges: the one with the smallest value.

        >>> Graph([[0, 1], [1, 2]], [2.0, 1.0]).to_sparse().toarray()
        array([[0., 2., 0.],
               [2., 0., 1.],
               [0., 1., 0.]])
        """
        entries = self.weights if values is None else np.asarray(values)
        if entries.shape != (self.n_edges,):
            raise ValueError(f"values has shape {entries.shape}; give one value per edge ({self.n_edges})")
        low, high = np.minimum(self.sources, self.targets), np.maximum(self.sources, self.targets)
        keys = low.astype(np.int64) * self.n_vertices + high
        order = np.lexsort((entries, keys))
        kept = order[np.diff(keys[order], prepend=-1) != 0]
        low, high, entries = low[kept], high[kept], entries[kept]
        both = (np.concatenate((entries, entries)), (np.concatenate((low, high)), np.concatenate((high, low))))
        return scipy.sparse.coo_array(both, shape=(self.n_vertices, self.n_vertices)).tocsr()

    def __reduce__(self) -> tuple[Any, ...]:
        return Graph._made, tuple(self.__dict__[name] for name in _PARTS)

    def __repr__(self) -> str:
        parts = f", {self.n_components} components" if self.n_components > 1 else ""
        return f"Graph(<{self.n_vertices} vertices, {self.n_edges} edges{parts}>)"


def _check_ends(edges: npt.ArrayLike) -> Ints:
    ends = as_integers(edges, "edges")
    if ends.size == 0 and ends.ndim < 3:
        return ends.reshape(0, 2)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"edges has shape {ends.shape}; expected (M, 2): one row per edge, its two vertices")
    if len(ends) > _MOST:
        raise ValueError(f"there are {len(ends)} edges; at most {_MOST} can be numbered")
    return ends


def _count_vertices(ends: Ints, n: int | None) -> int:
    least, largest = (int(ends.min()), int(ends.max())) if len(ends) else (0, -1)
    n = largest + 1 if n is None else n
    if least < 0 or largest >= n:
        at = int(np.flatnonzero((ends < 0).any(axis=1) | (ends >= n).any(axis=1))[0])
        accepted = f"vertices are 0 to {n - 1}" if largest >= n else "vertices are numbered from 0"
        raise ValueError(f"edge {at} joins vertices {ends[at, 0]} and {ends[at, 1]}, but {accepted}")
    if not 0 < n <= _MOST:
        advice = "give n_vertices=1, or some edges" if n == 0 else f"at most {_MOST} can be numbered"
        raise ValueError(f"the graph has {n} vertices; {advice}")
    return n


def _refuse_loops(sources: Indices, targets: Indices) -> None:
    loops = np.flatnonzero(sources == targets)
    if len(loops):
        at = int(loops[0])
        raise ValueError(
            f"edge {at} joins vertex {sources[at]} to itself{_more(loops)}; leave out edges from a vertex to itself"
        )


def _check_weights(weights: npt.ArrayLike, sources: Indices, targets: Indices) -> Floats:
    given = np.asarray(weights)
    if given.dtype.kind not in "biuf" and given.size:
        raise TypeError(f"weights must be real numbers, not {given.dtype}")
    if given.shape != sources.shape:
        raise ValueError(f"weights has shape {given.shape}; give one weight per edge ({len(sources)})")
    checked = given.astype(np.float64) + 0.0  # a copy, in which −0 is 0
    bad = np.flatnonzero(~((checked >= 0) & (checked <= _LARGEST)))
    if len(bad):
        at = int(bad[0])
        raise ValueError(
            f"edge {at} (vertices {sources[at]} and {targets[at]}) has weight {checked[at]}{_more(bad)}; "
            f"weights are dissimilarities: finite, at least 0 and at most {_LARGEST:g}"
        )
    return checked


def _more(found: npt.NDArray[np.intp]) -> str:
    return f" (and {len(found) - 1} more do so)" if len(found) > 1 else ""


def _check_connected(sources: Indices, targets: Indices, n: int, forest: bool) -> int:
    n_components, apart = _components(sources, targets, n)
    if n_components > 1 and not forest:
        raise ValueError(
            f"the graph has {n_components} components: no path leads from vertex 0 to vertex {apart}; add edges, "
            "make the graph by Graph.from_points, which adds the edges of a spanning tree, or pass forest=True"
        )
    return int(n_components)


@kernel
def _components(sources, targets, n):
    # The number of components, and the first vertex that is not in that of vertex 0 (n if there is none). SciPy's
    # connected_components takes 17 times as long on five million edges, most of it to sort them.
    parent = np.arange(n).astype(np.int32)
    count = n
    for e in range(sources.size):
        x, y = sources[e], targets[e]
        while parent[x] != parent[y]:  # the larger of the two parents is hung below the smaller (Rem's algorithm)
            if parent[x] < parent[y]:
                x, y = y, x
            above = parent[x]
            parent[x] = parent[y]
            if above == x:
                count -= 1
                break
            x = above
    apart = 1
    while apart < n and parent[apart] != apart:
        apart += 1
    return count, apart
