"""A proved lower bound on the closest ultrametric of any graph, by linear programs (SciPy's HiGHS).

An ultrametric is a nested family of multicuts: at height t, x_t(e) = 1 if u(e) > t, and on every cycle with one such
edge there is another. So

    Σ (u − w)² = Σ w² + ∫₀^∞ Σ_e 2 (t − w(e)) x_t(e) dt ≥ Σ w² + ∫₀^{max w} V(t) dt,

where V(t) is the least that Σ 2 (t − w) x can be for 0 ≤ x ≤ 1 with the cycle inequalities x(e) ≤ Σ x(rest of a cycle).
Two things are given away: that multicuts are nested, and that they are whole. V is a minimum of linear functions of t,
so it is concave and lies above its chords: the trapezoid rule over any heights is a lower bound as well, not only an
approximation. Cycle inequalities are added where they are violated, found by shortest paths; a program that is stopped
early bounds from below, too.
"""

from __future__ import annotations

import time

import numpy as np
from common import Floats, Ints
from scipy.optimize import linprog
from scipy.sparse import csr_array
from scipy.sparse.csgraph import dijkstra

from palmette.ultrametric import Graph

_VIOLATED = 1e-6
_SHORT = 1e-12  # a length instead of 0, which sparse matrices take for no edge


class Cycles:
    """Cycle inequalities x(e) − Σ x(path) ≤ 0 that were met so far; they hold at every height."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self._seen: set[tuple[int, ...]] = set()
        number = np.arange(graph.n_edges)
        both = (np.concatenate((graph.sources, graph.targets)), np.concatenate((graph.targets, graph.sources)))
        self._number = csr_array((np.tile(number, 2) + 1, both), shape=(graph.n_vertices,) * 2)

    def matrix(self) -> csr_array | None:
        """One row for each inequality."""
        if not self._seen:
            return None
        rows = list(self._seen)
        sizes = np.array([len(row) for row in rows])
        values = np.full(sizes.sum(), -1.0)
        values[np.cumsum(sizes) - sizes] = 1.0
        where = (np.repeat(np.arange(len(rows)), sizes), np.concatenate(rows))
        return csr_array((values, where), shape=(len(rows), self.graph.n_edges))

    def add_violated(self, x: Floats, wanted: Ints) -> int:
        """Add, for each of the edges that want to be cut, the shortest way around it if that is too short."""
        sources, targets = self.graph.sources, self.graph.targets
        lengths = self._number.copy().astype(np.float64)
        lengths.data = np.maximum(x[self._number.data - 1], _SHORT)
        before = len(self._seen)
        asked = wanted[x[wanted] > _VIOLATED]
        for source in np.unique(sources[asked]):
            reach, previous = dijkstra(lengths, indices=source, return_predecessors=True, limit=1.0)
            for edge in asked[sources[asked] == source]:
                if reach[targets[edge]] < x[edge] - _VIOLATED:
                    self._seen.add((int(edge), *self._path(previous, int(source), int(targets[edge]))))
        return len(self._seen) - before

    def _path(self, previous: Ints, source: int, target: int) -> list[int]:
        path = []
        while target != source:
            path.append(int(self._number[previous[target], target]) - 1)
            target = int(previous[target])
        return sorted(path)


def least_cut(cycles: Cycles, costs: Floats, rounds: int) -> float:
    """min Σ costs · x over 0 ≤ x ≤ 1 with the cycle inequalities that so many rounds find: a lower bound."""
    wanted = np.flatnonzero(costs < 0)
    value = float(costs[wanted].sum())
    for _ in range(rounds):
        matrix = cycles.matrix()
        bounds = None if matrix is None else np.zeros(matrix.shape[0])
        found = linprog(costs, A_ub=matrix, b_ub=bounds, bounds=(0, 1), method="highs")
        value = float(found.fun)
        if not cycles.add_violated(found.x, wanted):
            break
    return value


def closest_bound(graph: Graph, levels: int, rounds: int, seconds: float = np.inf) -> float:
    """A lower bound on mean (u − w)² over all ultrametrics u: so many heights, half of them at quantiles of w.

    Heights that are not reached in so many seconds of processor time count for what they cost without any cycle.
    """
    w, begin = graph.weights, time.process_time()
    shares = np.linspace(0, 1, levels // 2)
    heights = np.unique(np.concatenate((w.max() * shares, np.quantile(w, shares))))
    values = np.empty(len(heights))
    for number, height in enumerate(heights):
        in_time = time.process_time() - begin < seconds
        values[number] = least_cut(Cycles(graph), 2 * (height - w), rounds if in_time else 0)
    return float(np.sum(w**2) + np.trapezoid(values, heights)) / graph.n_edges
