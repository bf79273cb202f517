"""The closest ultrametric of a small graph: dynamic programming over its connected clusters and a ladder of levels.

An ultrametric on a graph is a hierarchy of connected clusters, with altitudes that never fall towards the root; an edge
has the altitude of the cluster in which its ends meet. Let altitudes be among levels h₁ < … < h_L, and let g(C, l) be
the sum of (h_l − w)² over the edges inside C. The least cost of C with an altitude of at most h_l is

    f(C, l) = min(f(C, l − 1),  g(C, l) + min F(A, l) + F(B, l)),     F(C, l) = f(C, l) − g(C, l),

the inner minimum over the splits of C into connected A and B: a split costs one addition for each level, O(3ⁿ L) in
all. For the tree that is found, the best altitudes of all are an isotonic regression, which needs no levels.

What levels can miss is known. The altitudes of the true optimum are means of the weights that they are pooled over, so
moving each to the nearest level, at most Δ/2 away, keeps it an ultrametric and adds at most Δ²/4 for each edge. The
least cost on the levels, less that, is a lower bound.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints
from palmette.checks import check_integer
from palmette.errors import TrellisTooLarge
from palmette.ultrametric.found import FoundUltrametric
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.subdominant import subdominant

__all__ = ["ExactClosest", "closest_exact"]

_MOST_VERTICES = 14
_MOST_WORK = 2e9  # additions that a finer ladder may take: a second or two
_MOST_NUMBERS = 1 << 24  # in its table: 128 MB
_MOST_LEVELS = 1 << 14  # Δ²/4 is then below 1e-9 of the squared range of the weights
_BLOCK = 16  # levels that are worked on at a time, so that their table stays in the cache
_ROUNDING = 1e-13  # more than what rounding can add to a mean of squares of numbers in [0, 1]


@dataclass(frozen=True, eq=False)
class ExactClosest(FoundUltrametric):
    """The ultrametric with the least mean (u − w)², and a proof of how near that is to the least.

    The true least loss lies in [`lower_bound`, `loss`]. `n_levels` is the number of even levels that it took.
    """

    loss: float
    lower_bound: float
    n_levels: int

    def _facts(self) -> list[tuple[str, object]]:
        return [("loss", self.loss), ("no loss is below", self.lower_bound)]

    @property
    def best_loss(self) -> float:
        """The loss, by the name that it has in a `Fit`."""
        return self.loss

    @property
    def gap(self) -> float:
        """loss − lower_bound: the loss is not further than this above the least one."""
        return self.loss - self.lower_bound


def closest_exact(graph: Graph, *, n_levels: int = 200, tolerance: float = 1e-5) -> ExactClosest:
    """The ultrametric u on the edges of a small graph with the least loss, the mean of (u − w)².

    `n_levels` even levels are tried first, then as many as it takes until the gap between the loss and its proved
    lower bound is at most `tolerance` times the loss, unless that would take more than seconds: the result tells. A
    graph has at most 14 vertices.

    >>> found = closest_exact(Graph([(0, 1), (1, 2), (0, 2)], [1.0, 2.0, 4.0]))
    >>> found.ultrametric, found.loss
    (array([1., 3., 3.]), 0.6666666666666666)
    >>> 0 <= found.gap < 1e-5
    True
    """
    _check(graph, n_levels, tolerance)
    weights = graph.weights
    span = float(np.ptp(weights)) if len(weights) else 0.0
    if not span:  # all weights are equal
        return ExactClosest(subdominant(graph), 0.0, 0.0, n_levels)
    low = float(weights.min())
    ladder = _Ladder(graph, (weights - low) / span)
    ladder.check_levels(n_levels)
    values, loss, bound = weights, np.inf, 0.0  # the last two in units of the squared range
    while True:
        least = ladder.climb(_levels(n_levels, (weights - low) / span, (values - low) / span))
        tried = _polished(graph, ladder.merges())
        loss_tried = float(np.mean(((tried - weights) / span) ** 2))
        if not loss_tried > loss:
            values, loss = tried, loss_tried
        bound = max(bound, least / graph.n_edges - 0.25 / (n_levels - 1) ** 2 - _ROUNDING)
        if loss <= bound or loss - bound <= tolerance * loss or 2 * n_levels > ladder.affordable:
            break
        n_levels = int(max(2 * n_levels, min(ladder.affordable, _needed(tolerance * loss))))
    square = span * span
    return ExactClosest(subdominant(graph, values), square * loss, square * min(bound, loss), n_levels)


def _needed(gap: float) -> float:
    # Levels that cannot leave a larger gap; the loss may fall a little while they are used.
    return 2 + 0.51 / np.sqrt(gap) if gap else np.inf


def _check(graph: Graph, n_levels: int, tolerance: float) -> None:
    n = graph.n_vertices
    if n > _MOST_VERTICES:
        raise TrellisTooLarge(
            f"the graph has {n} vertices, and the exact closest ultrametric is found for up to {_MOST_VERTICES}, "
            f"since the work grows as 3^n; use palmette.ultrametric.fit"
        )
    check_integer("n_levels", n_levels, 2)
    if not tolerance >= 0:
        raise ValueError(f"tolerance is {tolerance!r}; give a number of at least 0, relative to the loss")


def _levels(n_levels: int, *more: Floats) -> Floats:
    """Even levels over [0, 1] and some more (weights, so that an ultrametric is its own closest one), in blocks."""
    levels = np.unique(np.concatenate([np.linspace(0, 1, n_levels), *more]))
    n_blocks = -(-len(levels) // _BLOCK)
    return np.pad(levels, (0, n_blocks * _BLOCK - len(levels)), mode="edge").reshape(n_blocks, _BLOCK)


class _Merge(NamedTuple):
    parent: int  # its number in the list, or −1
    edges: Ints  # those whose ends meet in it


class _Ladder:
    """Connected clusters in order of their masks, and F for each on a ladder of levels."""

    def __init__(self, graph: Graph, scaled: Floats) -> None:
        self.ends = np.stack((graph.sources, graph.targets), axis=1).astype(np.int64)
        neighbours = np.zeros(graph.n_vertices, dtype=np.int64)
        np.bitwise_or.at(neighbours, self.ends.ravel(), 1 << self.ends[:, ::-1].ravel())
        self.rows = np.empty(1 << graph.n_vertices, dtype=np.int32)
        _number_connected(neighbours, self.rows)
        self.clusters = np.flatnonzero(self.rows >= 0)
        self.roots = [mask for mask in self.clusters.tolist() if not _outside(neighbours, mask)]
        self.moments = np.zeros((len(self.clusters), 3))
        _sum_inside(self.ends, scaled, self.clusters, self.moments)
        self.n_splits = 0

    @property
    def affordable(self) -> float:
        """The number of levels up to which more of them are worth it; known after the first climb."""
        return float(min(_MOST_LEVELS, _MOST_WORK / max(self.n_splits, 1), _MOST_NUMBERS / len(self.clusters)))

    def check_levels(self, n_levels: int) -> None:
        """Raise if their table would be too large."""
        most = _MOST_NUMBERS // len(self.clusters)
        if n_levels > most:
            raise TrellisTooLarge(
                f"n_levels is {n_levels}, for a graph of {len(self.clusters)} connected clusters; "
                f"with these, up to {most} levels are accepted"
            )

    def climb(self, levels: Floats) -> float:
        """Fill the table for these levels, shape (blocks, _BLOCK): the least cost."""
        self.levels = levels
        self.table = np.empty((len(levels), len(self.clusters), _BLOCK))
        least = np.full(len(self.clusters), np.inf)
        for block, savings in zip(levels, self.table, strict=True):
            self.n_splits = _fill(self.clusters, self.rows, self.moments, block, savings, least)
        return float(sum(least[self.rows[root]] for root in self.roots if root & (root - 1)))

    def merges(self) -> list[_Merge]:
        """The merges of a best hierarchy (of each component), parents first."""
        found: list[_Merge] = []
        stack = [(root, self.levels.size - 1, -1) for root in self.roots]
        while stack:
            mask, top, parent = stack.pop()
            if mask & (mask - 1):
                left, level = _best_split(mask, top, self.rows, self.moments, self.levels, self.table)
                within, first = (mask >> self.ends) & 1, (left >> self.ends) & 1
                crossing = within.all(axis=1) & (first[:, 0] != first[:, 1])
                stack += [(part, level, len(found)) for part in (left, mask ^ left)]
                found.append(_Merge(parent, np.flatnonzero(crossing)))
        return found


def _outside(neighbours: Ints, mask: int) -> bool:
    # Whether an edge leads out of a cluster.
    return any(mask >> x & 1 and int(near) & ~mask for x, near in enumerate(neighbours.tolist()))


@dataclass
class _Pool:
    """Merges that share an altitude, and the pools right below it."""

    merges: list[int]
    weights: Floats
    below: list[_Pool] = field(default_factory=list)

    def __post_init__(self) -> None:
        mean = float(self.weights.mean())
        self.altitude = min(max(mean, float(self.weights.min())), float(self.weights.max()))

    def pooled(self) -> _Pool:
        """Itself, joined with those below that are higher, the highest first."""
        pool = self
        while pool.below:
            high = max(pool.below, key=lambda other: other.altitude)
            if high.altitude <= pool.altitude:
                break
            below = [other for other in pool.below if other is not high] + high.below
            pool = _Pool(pool.merges + high.merges, np.concatenate((pool.weights, high.weights)), below)
        return pool


def _polished(graph: Graph, merges: list[_Merge]) -> Floats:
    """The closest ultrametric on the edges that this tree has: isotonic regression, from the lowest merges up."""
    pools = [_Pool([number], graph.weights[merge.edges]) for number, merge in enumerate(merges)]
    values = np.empty(graph.n_edges)
    for number in range(len(merges) - 1, -1, -1):
        pool, parent = pools[number].pooled(), merges[number].parent
        for each in pool.merges:
            pools[each] = pool
        if parent >= 0:
            pools[parent].below.append(pool)
    for pool, merge in zip(pools, merges, strict=True):
        values[merge.edges] = pool.altitude
    return values


@kernel
def _number_connected(neighbours, rows):
    # Number the connected clusters, by mask; −1 for those that are not.
    n_found = 0
    rows[0] = -1
    for mask in range(1, len(rows)):
        grown, before = mask & -mask, 0
        while grown != before:
            before = grown
            for x in range(len(neighbours)):
                if grown >> x & 1:
                    grown |= neighbours[x] & mask
        rows[mask] = n_found if grown == mask else -1
        n_found += grown == mask


@kernel
def _sum_inside(ends, scaled, clusters, moments):
    # (1, w, w²) summed over the edges inside each cluster.
    for row in range(len(clusters)):
        for edge in range(len(ends)):
            if clusters[row] >> ends[edge, 0] & clusters[row] >> ends[edge, 1] & 1:
                moments[row, 0] += 1.0
                moments[row, 1] += scaled[edge]
                moments[row, 2] += scaled[edge] ** 2


@inline
def _inside(moments, row, level):
    # g: what the edges inside a cluster cost, all at one level.
    return moments[row, 2] + level * (level * moments[row, 0] - 2.0 * moments[row, 1])


@kernel
def _fill(clusters, rows, moments, levels, savings, least):
    # F on one block of levels; `least` holds f at the last level before it, and leaves with f at the last level of it.
    n_splits = 0
    best = np.empty(_BLOCK)
    for row in range(len(clusters)):
        cluster = clusters[row]
        if cluster & (cluster - 1) == 0:
            savings[row] = 0.0
            continue
        best[:] = np.inf
        rest = cluster & (cluster - 1)
        part = rest
        while part > 0:
            left, right = rows[cluster ^ part], rows[part]
            part = (part - 1) & rest
            if left >= 0 and right >= 0:
                n_splits += 1
                for level in range(_BLOCK):
                    value = savings[left, level] + savings[right, level]
                    best[level] = value if value < best[level] else best[level]
        for level in range(_BLOCK):
            inside = _inside(moments, row, levels[level])
            least[row] = min(least[row], inside + best[level])
            savings[row, level] = least[row] - inside
    return n_splits


@kernel
def _best_split(cluster, top, rows, moments, levels, table):
    # (a part, level) of the cheapest split of a cluster, its altitude not above level number `top`.
    least, best_part, best_level = np.inf, 0, 0
    rest = cluster & (cluster - 1)
    part = rest
    while part > 0:
        left, right = rows[cluster ^ part], rows[part]
        if left >= 0 and right >= 0:
            for number in range(top + 1):
                block, level = number // _BLOCK, number % _BLOCK
                cost = _inside(moments, rows[cluster], levels[block, level])
                cost += table[block, left, level] + table[block, right, level]
                if cost < least:
                    least, best_part, best_level = cost, cluster ^ part, number
        part = (part - 1) & rest
    return best_part, best_level
