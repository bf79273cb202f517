"""Coalescents the slow way: dense multivariate normals, sums over all inner states, and greedy search pair by pair.

Nothing here is compiled, and nothing uses the package's processes: only plain formulas, to be checked by reading.
"""

from __future__ import annotations

import functools
import itertools
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar

from palmette.hierarchy import Hierarchy


def random_history(n: int, seed: int) -> Hierarchy:
    """A draw from the n-coalescent."""
    rng = np.random.default_rng(seed)
    lineages, children, ages, age = list(range(n)), [], [], 0.0
    for m in range(n, 1, -1):
        age += rng.exponential(2 / (m * (m - 1)))
        i, j = sorted(rng.choice(m, 2, replace=False))
        children.append((lineages[i], lineages[j]))
        lineages = [x for k, x in enumerate(lineages) if k not in (i, j)] + [2 * n - m]
        ages.append(age)
    return Hierarchy.from_merges(np.array(children, dtype=np.int64).reshape(-1, 2), heights=ages)


def history_from(merges: list[list[float]]) -> Hierarchy:
    """The history of [left, right, time] rows with times ≤ 0."""
    children = np.array([[left, right] for left, right, _ in merges], dtype=np.int64)
    return Hierarchy.from_merges(children, heights=[-time for *_, time in merges])


def shared_ages(h: Hierarchy) -> np.ndarray:
    """(n, n): how long the paths from the root to leaves i and j are one; on the diagonal, all the way to the leaf."""
    total = np.full((h.n_leaves, h.n_leaves), 0.0)
    for (i, j), age in itertools.chain(
        (((i, i), h.heights[i]) for i in range(h.n_leaves)),
        (
            ((i, j), h.heights[h.n_leaves + k])
            for k, (left, right) in enumerate(h.splits())
            for i, j in [*itertools.product(left, right), *itertools.product(right, left)]
        ),
    ):
        total[i, j] = h.heights[-1] - age
    return total


def dense_log_likelihood(x: np.ndarray, h: Hierarchy, rate: np.ndarray, root: Any, leaf_variance: float) -> float:
    """log density of the observed entries as one multivariate normal; root is None (flat) or (mean, κ)."""
    n, n_columns = x.shape
    together = shared_ages(h) + leaf_variance * np.eye(n) + (0.0 if root is None else root[1])
    known = ~np.isnan(x.reshape(-1))
    values = x.reshape(-1)[known]
    if not len(values):
        return 0.0
    covariance = np.kron(together, rate)[np.ix_(known, known)]
    log_det = float(np.linalg.slogdet(covariance)[1])
    if root is not None:
        gap = values - np.tile(np.broadcast_to(root[0], n_columns), n)[known]
        return -0.5 * (len(values) * math.log(2 * math.pi) + log_det + gap @ np.linalg.solve(covariance, gap))
    design = np.tile(np.eye(n_columns), (n, 1))[known]
    design = design[:, design.any(axis=0)]
    # The root's own variance is confounded with its location; any multiple of 1 1' leaves the contrasts alone.
    weighted = np.linalg.solve(covariance, design)
    information = design.T @ weighted
    location = np.linalg.solve(information, weighted.T @ values)
    gap = values - design @ location
    n_free = len(values) - design.shape[1]
    quadratic = gap @ np.linalg.solve(covariance, gap)
    return float(-0.5 * (n_free * math.log(2 * math.pi) + log_det + np.linalg.slogdet(information)[1] + quadratic))


def sites_log_likelihood(x: np.ndarray, h: Hierarchy, rates: np.ndarray, equilibrium: list[list[float]]) -> float:
    """Σ over sites of the log of the sum over the states of all inner nodes and missing leaves."""
    return sum(_one_site(x[:, d], h, float(rates[d]), np.array(equilibrium[d])) for d in range(x.shape[1]))


def _one_site(states: np.ndarray, h: Hierarchy, rate: float, q: np.ndarray) -> float:
    choices = [range(len(q)) if v >= h.n_leaves or states[v] < 0 else [int(states[v])] for v in range(h.n_nodes)]
    total = 0.0
    for assignment in itertools.product(*choices):
        p = q[assignment[-1]]
        for v in range(h.n_nodes - 1):
            kept = math.exp(-rate * (h.heights[h.parents[v]] - h.heights[v]))
            above, here = assignment[h.parents[v]], assignment[v]
            p *= kept * (above == here) + (1 - kept) * q[here]
        total += p
    return math.log(total)


@dataclass
class Lineage:
    """What is known of a lineage: (variance, mean) of each column, or a vector over states for each site, or None."""

    node: int
    lowest: int
    age: float
    columns: list[Any]


class SlowBrownian:
    """Diagonal Brownian motion, column by column, densities in units of the rate."""

    def __init__(self, rate: np.ndarray, leaf_variance: float = 0.0) -> None:
        self.rate, self.leaf_variance = rate, leaf_variance

    def leaf(self, row: np.ndarray) -> list[Any]:
        white = row / np.sqrt(self.rate)
        return [None if np.isnan(value) else (self.leaf_variance, float(value)) for value in white]

    def log_z(self, left: list[Any], right: list[Any], s: np.ndarray) -> np.ndarray:
        total = np.zeros_like(s)
        for a, b in zip(left, right, strict=True):
            if a is not None and b is not None:
                variance = a[0] + b[0] + s
                with np.errstate(divide="ignore", invalid="ignore"):
                    term = -0.5 * (np.log(2 * np.pi * variance) + (a[1] - b[1]) ** 2 / variance)
                total = total + np.where(variance > 0, term, np.inf if a[1] == b[1] else -np.inf)
        return total

    def join(self, left: list[Any], l_left: float, right: list[Any], l_right: float) -> list[Any]:
        joined = []
        for a, b in zip(left, right, strict=True):
            if a is None or b is None:
                known, length = (b, l_right) if a is None else (a, l_left)
                joined.append(None if known is None else (known[0] + length, known[1]))
                continue
            p, q = a[0] + l_left, b[0] + l_right
            joined.append((p * q / (p + q), (q * a[1] + p * b[1]) / (p + q)) if p + q > 0 else (0.0, a[1]))
        return joined


class SlowSites:
    """Independent sites, one vector of states each."""

    def __init__(self, rate: np.ndarray, equilibrium: list[np.ndarray]) -> None:
        self.rate, self.equilibrium = rate, equilibrium

    def leaf(self, row: np.ndarray) -> list[Any]:
        tables = zip(row, self.equilibrium, strict=True)
        return [None if value < 0 else (np.arange(len(q)) == value) / q for value, q in tables]

    def log_z(self, left: list[Any], right: list[Any], s: np.ndarray) -> np.ndarray:
        total = np.zeros_like(s)
        for a, b, rate, q in zip(left, right, self.rate, self.equilibrium, strict=True):
            if a is not None and b is not None:
                with np.errstate(divide="ignore"):
                    total = total + np.log(1 - np.exp(-rate * s) * (1 - (q * a * b).sum()))
        return total

    def join(self, left: list[Any], l_left: float, right: list[Any], l_right: float) -> list[Any]:
        joined: list[Any] = []
        for a, b, rate, q in zip(left, right, self.rate, self.equilibrium, strict=True):
            if a is None and b is None:
                joined.append(None)
                continue
            up = [
                1.0 if m is None else 1 - math.exp(-rate * length) * (1 - m)
                for m, length in ((a, l_left), (b, l_right))
            ]
            product = up[0] * up[1]
            joined.append(product / (q * product).sum())
        return joined


def slow_best_length(log_z: Any, s0: float, rate: float) -> tuple[float, float]:
    """(s, value) of the largest −rate (s − s0)/2 + log Z(s) over s ≥ s0: a dense grid, refined around its best."""

    def value(s: Any) -> Any:
        return log_z(np.asarray(s)) - rate * (np.asarray(s) - s0) / 2

    grid = s0 + np.concatenate([[0.0], np.geomspace(1e-9, 1e5, 1500)])
    values = value(grid)
    at = int(np.argmax(values))
    if at == 0 or values[at] == np.inf:
        return grid[at], float(values[at])
    low, high = grid[at - 1], grid[min(at + 1, len(grid) - 1)]
    found = minimize_scalar(lambda s: -float(value(s)), bounds=(low, high), method="bounded", options={"xatol": 1e-13})
    return float(found.x), -float(found.fun)


def slow_hazard(born: Any, events: Any, until: float) -> float:
    """∫ m(m − 1)/2 du up to an age, m the number of leaves that are there minus that of events that have been."""
    edges = sorted({age for age in (*born, *events, until) if age <= until})
    total = 0.0
    for low, high in itertools.pairwise(edges):
        m = sum(age <= low for age in born) - sum(age <= low for age in events)
        total += m * (m - 1) / 2 * (high - low)
    return total


def dirichlet_multinomial(states: Any, rate: float, law: Any) -> float:
    """Σ over histories of one site: Γ(α) / Γ(α + n) Π Γ(α q_k + n_k) / Γ(α q_k), α = 2 λ."""
    alpha, counts = 2.0 * rate, np.bincount(states, minlength=len(law))
    terms = [math.lgamma(alpha * q + n) - math.lgamma(alpha * q) for q, n in zip(law, counts, strict=True)]
    return math.lgamma(alpha) - math.lgamma(alpha + len(states)) + sum(terms)


def slow_evidence_of_three(x: np.ndarray, process: Any, born: Any, n_nodes: int = 60) -> tuple[float, np.ndarray]:
    """(log p(x) without constants of leaves, the share of each first pair): quadrature over the ages of two events."""
    rows, shares = [process.leaf(row) for row in x], []
    for i, j, k in [(0, 1, 2), (0, 2, 1), (1, 2, 0)]:
        share = 0.0
        start = max(born[i], born[j])
        for first, weight in _nodes(start, born[k], n_nodes):
            near = process.log_z(rows[i], rows[j], np.asarray(2 * first - born[i] - born[j]))
            joined = process.join(rows[i], first - born[i], rows[j], first - born[j])
            seconds, weights = np.array(_nodes(max(first, born[k]), 0.0, n_nodes)).T
            far = process.log_z(joined, rows[k], 2 * seconds - first - born[k])
            prior = [slow_hazard(born, [first], second) for second in seconds]
            share += weight * float(weights @ np.exp(near + far - prior))
        shares.append(share)
    return math.log(sum(shares)), np.array(shares) / sum(shares)


def _nodes(start: float, kink: float, n_nodes: int) -> list[tuple[float, float]]:
    # Gauss and Legendre's in the logarithm of the time since the start, to the kink and from there on.
    u, w = _leggauss(n_nodes)
    ends = [(start, math.log(kink - start)), (kink, 4.0)] if kink > start else [(start, 4.0)]
    found = []
    for low, high in ends:
        half = 0.5 * (high + 20.0)
        times = np.exp(half * (u + 1.0) - 20.0)
        found += list(zip(low + times, half * w * times, strict=True))
    return found


_leggauss = functools.cache(np.polynomial.legendre.leggauss)


def slow_greedy(
    x: np.ndarray, process: Any, rule: str, by_log_z: bool = True, born: Any = None
) -> tuple[list[tuple[int, int]], list[float]]:
    """(children, ages): every pair looked at anew for every event; lineages are sorted by their lowest leaf."""
    n = len(x)
    born = np.zeros(n) if born is None else born
    lineages = [Lineage(i, i, float(born[i]), process.leaf(row)) for i, row in enumerate(x)]
    children: list[tuple[int, int]] = []
    ages: list[float] = []
    last = 0.0
    while len(lineages) > 1:
        m = len(lineages)
        options = []
        for a, b in itertools.combinations(sorted(lineages, key=lambda one: one.lowest), 2):
            rank, density, age = _next_event(process, rule, a, b, last, m * (m - 1) / 2)
            options.append(((rank, -density if by_log_z else 0.0), age, a, b))
        _, age, a, b = min(options, key=lambda option: option[0])  # of equal ones the first
        last = max(last, age)
        columns = process.join(a.columns, last - a.age, b.columns, last - b.age)
        lineages = [one for one in lineages if one not in (a, b)]
        lineages.append(Lineage(n + len(ages), min(a.lowest, b.lowest), last, columns))
        children.append((a.node, b.node))
        ages.append(last)
    return children, ages


def _next_event(
    process: Any, rule: str, a: Lineage, b: Lineage, last: float, rate: float
) -> tuple[float, float, float]:
    # (rank, log Z, age): the lowest rank goes first.
    if not any(p is not None and q is not None for p, q in zip(a.columns, b.columns, strict=True)):
        return np.inf, 0.0, max(last, a.age, b.age) + 1 / rate

    def log_z(s: np.ndarray) -> np.ndarray:
        return process.log_z(a.columns, b.columns, s)

    if rule == "rate1":
        s, _ = slow_best_length(log_z, abs(a.age - b.age), 1.0)
        age = max(a.age, b.age) + (s - abs(a.age - b.age)) / 2
        return age, float(log_z(np.asarray(s))), age
    s0 = 2 * last - a.age - b.age
    s, value = slow_best_length(log_z, s0, rate)
    delta = (s - s0) / 2
    if rule == "max-prob":
        return -value, 0.0, last + delta
    return delta, float(log_z(np.asarray(s))), last + delta
