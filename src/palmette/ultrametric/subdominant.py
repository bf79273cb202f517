"""The largest ultrametric below the weights of a graph, which is what single linkage gives."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import numpy.typing as npt

from palmette._immutable import Immutable, read_only
from palmette.array_types import Floats, Indices, Ints
from palmette.checks import check_integer
from palmette.hierarchy import Hierarchy
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.single_linkage import (
    membership_below,
    merge_tree,
    rising_order,
    single_linkage,
    where_they_meet,
)

__all__ = ["Subdominant", "check_edge_values", "is_ultrametric", "min_max_distances", "subdominant"]

_MOST_VERTICES = 20_000  # a matrix of all pairs takes 3.2 GB then


class Subdominant(Immutable):
    """u(xy) = min over paths from x to y of max w(e) over the edges e of the path, for each edge xy of a graph.

    It is made by single linkage. *Merge* i joins two clusters by the edge `tree_edges[i]` at the height `altitudes[i]`;
    merges are numbered in the order in which they happen: by rising weight, equal weights by the number of the edge.
    The *pass edge* of xy is the edge of the merge at which x and y meet, and u(xy) is its weight. So du(e)/dw(f) is 1
    if f is the pass edge of e and 0 otherwise, and only the N − 1 tree edges ever receive a gradient.

    Made by `subdominant`.
    """

    graph: Graph
    """The graph."""
    weights: Floats
    """The weights that this is the subdominant ultrametric of, shape (M,)."""
    altitudes: Floats
    """The height of each merge, never falling; shape (N − number of components,)."""
    tree_edges: Indices
    """The edge by which each merge happens; together they are a minimum spanning tree."""
    smaller_sizes: Indices
    """How many vertices the smaller of the two children of each merge has."""
    merge_of_edge: Indices
    """The number of the merge at which the two ends of each edge meet, shape (M,)."""
    links: Ints
    """(N,): what each vertex hangs from and since which merge, as `single_linkage.where_they_meet` takes it."""

    def __init__(self) -> None:
        raise TypeError("a Subdominant is made by ultrametric.subdominant(graph, weights)")

    @classmethod
    def of(cls, graph: Graph, weights: Floats) -> Subdominant:
        """`subdominant` of weights that are known to be good."""
        links, tree_edges, smaller, merges = single_linkage(
            graph.n_vertices, graph.sources, graph.targets, rising_order(weights)
        )
        made = cls.__new__(cls)
        made.__dict__.update(
            graph=graph,
            weights=weights,
            altitudes=read_only(weights[tree_edges]),
            tree_edges=read_only(tree_edges),
            smaller_sizes=read_only(smaller),
            merge_of_edge=read_only(merges),
            links=read_only(links),
        )
        return made

    @cached_property
    def values(self) -> Floats:
        """u of each edge, shape (M,)."""
        return read_only(self.altitudes[self.merge_of_edge])

    @cached_property
    def pass_edges(self) -> Indices:
        """The pass edge of each edge, shape (M,); the edges of the spanning tree are their own."""
        return read_only(self.tree_edges[self.merge_of_edge])

    @cached_property
    def _tree(self) -> tuple[Indices, Indices]:
        children, sizes = merge_tree(self.links, len(self.altitudes))
        return read_only(children), read_only(sizes)

    @property
    def children(self) -> Indices:
        """The two nodes that each merge joins: vertices are 0 … N − 1, merge i is N + i (SciPy's numbering)."""
        return self._tree[0]

    @property
    def child_sizes(self) -> Indices:
        """How many vertices each of the two children of each merge has."""
        return self._tree[1]

    @cached_property
    def sizes(self) -> Ints:
        """How many vertices there are below each merge."""
        return read_only(self.child_sizes.sum(axis=1, dtype=np.int64))

    def lca(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Indices:
        """The merge at which vertices `x` and `y` meet (arrays broadcast): −1 if they are the same, −2 if never.

        >>> subdominant(Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])).lca(0, [0, 1, 2])
        array([-1,  1,  1], dtype=int32)
        """
        first, second = np.broadcast_arrays(self._vertices(x, "x"), self._vertices(y, "y"))
        merges = np.empty(first.shape, dtype=np.int32)
        where_they_meet(self.links, first.ravel(), second.ravel(), merges.reshape(-1))
        return merges

    def distances(self, x: npt.ArrayLike, y: npt.ArrayLike) -> Floats:
        """The min-max distance of vertices `x` and `y` (arrays broadcast): 0 of one to itself, ∞ between components.

        >>> subdominant(Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])).distances(0, [0, 1, 2])
        array([0., 4., 4.])
        """
        return np.append(self.altitudes, (np.inf, 0.0))[self.lca(x, y)]

    def membership(self, k: int) -> Ints:
        """The cluster of each vertex when the last merges are undone until k clusters are left, shape (N,).

        >>> subdominant(Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])).membership(2)
        array([0, 1, 1])
        """
        n, fewest = self.graph.n_vertices, self.graph.n_components
        if not fewest <= check_integer("k", k, 1) <= n:
            raise ValueError(f"k is {k}; {n} vertices in {fewest} components make {fewest} to {n} clusters")
        membership: Ints = membership_below(self.links, n - k)
        return membership

    @cached_property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy over the vertices, with the altitudes as heights; a forest has several, see `hierarchies`."""
        if self.graph.n_components > 1:
            raise ValueError(
                f"the graph has {self.graph.n_components} components and no hierarchy over all vertices; "
                "take .hierarchies, one for each, or .membership(k)"
            )
        if self.graph.n_vertices == 1:
            return Hierarchy.from_clusters([], labels=self.graph.labels)
        return Hierarchy.from_merges(self.children, self.graph.labels, self.altitudes)

    @cached_property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """One hierarchy for each component, in the order of their first vertices."""
        if self.graph.n_components == 1:
            return (self.hierarchy,)
        component = self.membership(self.graph.n_components)
        return tuple(self._restricted(np.flatnonzero(component == c)) for c in range(self.graph.n_components))

    def scatter(self, gradient: Floats) -> Floats:
        """The gradient by the weights, shape (M,), that belongs to one by the altitudes: 0 off the spanning tree."""
        by_weights = np.zeros(self.graph.n_edges)
        by_weights[self.tree_edges] = gradient
        return by_weights

    def _restricted(self, vertices: npt.NDArray[np.intp]) -> Hierarchy:
        names = [self.graph.labels[v] for v in vertices.tolist()]
        if len(names) == 1:
            return Hierarchy.from_clusters([], labels=names)
        inside = np.isin(self.graph.sources[self.tree_edges], vertices)
        number = np.full(self.graph.n_vertices + len(self.altitudes), -1)
        number[vertices] = np.arange(len(vertices))
        number[self.graph.n_vertices + np.flatnonzero(inside)] = len(vertices) + np.arange(inside.sum())
        return Hierarchy.from_merges(number[self.children[inside]], names, self.altitudes[inside])

    def _vertices(self, vertices: npt.ArrayLike, name: str) -> Indices:
        given = np.asarray(vertices)
        if given.dtype.kind not in "iu":
            raise TypeError(f"{name} must hold the numbers of vertices, not {given.dtype}")
        low, high, last = int(given.min(initial=0)), int(given.max(initial=0)), self.graph.n_vertices - 1
        if low < 0 or high > last:
            raise ValueError(f"{name} must hold vertices 0 to {last}, not {low if low < 0 else high}")
        return given.astype(np.int32)

    def __repr__(self) -> str:
        return f"Subdominant(<{self.graph.n_vertices} vertices, {self.graph.n_edges} edges>)"


def subdominant(graph: Graph, weights: npt.ArrayLike | None = None) -> Subdominant:
    """The largest ultrametric that is nowhere above `weights`: any finite numbers, one per edge of the graph.

    The weights of the graph are taken unless others are given. About N log N in time; compiled.

    >>> graph = Graph([[0, 1], [0, 2], [1, 2], [1, 3], [1, 4], [2, 4], [3, 4]], [4, 6, 3, 7, 11, 8, 5])
    >>> u = subdominant(graph)
    >>> u.values
    array([4., 4., 3., 7., 7., 7., 5.])
    >>> u.pass_edges.tolist()
    [0, 0, 2, 3, 3, 3, 6]
    >>> u.hierarchy
    Hierarchy.from_newick('((0,(1,2)),(3,4));')
    """
    return Subdominant.of(graph, graph.weights if weights is None else check_edge_values(graph, weights, "weights"))


def is_ultrametric(graph: Graph, values: npt.ArrayLike, tolerance: float = 0.0) -> bool:
    """Whether on every cycle of the graph the largest of `values` occurs twice, and none is negative.

    It does if and only if they are their own subdominant ultrametric. Values that differ by no more than `tolerance`
    times the largest count as equal.

    >>> graph = Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6])
    >>> is_ultrametric(graph, [4, 3, 6]), is_ultrametric(graph, [4, 3, 4])
    (False, True)
    """
    given = check_edge_values(graph, values, "values")
    slack = tolerance * float(np.abs(given).max(initial=0.0))
    return bool((given >= 0).all() and (given - Subdominant.of(graph, given).values <= slack).all())


def min_max_distances(graph: Graph, weights: npt.ArrayLike | None = None) -> Floats:
    """d(x, y) = min over paths from x to y of the largest weight on the path, for all pairs, shape (N, N).

    ∞ between components, 0 on the diagonal. For graphs of up to 20,000 vertices; `Subdominant.distances` gives the
    distances of chosen pairs in any graph.

    >>> min_max_distances(Graph([[0, 1], [1, 2], [0, 2]], [4, 3, 6]))
    array([[0., 4., 4.],
           [4., 0., 3.],
           [4., 3., 0.]])
    """
    n = graph.n_vertices
    if n > _MOST_VERTICES:
        raise ValueError(
            f"all pairs of {n:,} vertices would take {8 * n * n / 1e9:,.0f} GB; "
            f"up to {_MOST_VERTICES:,} are accepted. Take subdominant(graph).distances(x, y) for chosen pairs"
        )
    found = subdominant(graph, weights)
    everyone = np.arange(n)
    return np.stack([found.distances(x, everyone) for x in range(n)])


def check_edge_values(graph: Graph, values: npt.ArrayLike, name: str) -> Floats:
    """One finite number per edge, as a new read-only array."""
    try:
        given = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be numbers, one per edge") from None
    if given.shape != (graph.n_edges,):
        raise ValueError(f"{name} has shape {given.shape}; give one number per edge, shape ({graph.n_edges},)")
    bad = np.flatnonzero(~np.isfinite(given))
    if len(bad):
        ends = graph.edges[bad[0]].tolist()
        raise ValueError(f"{name} must be finite, but that of edge {bad[0]} ({ends[0]}–{ends[1]}) is {given[bad[0]]}")
    return read_only(given)
