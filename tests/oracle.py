"""Every hierarchy over a few leaves, listed one by one: the answer to every question, by counting.

Nothing here shares code with the package: log ψ comes from plain formulas over lists of members, hierarchies from
a plain recursion, and every answer from its definition.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Iterator

import numpy as np
from scipy.integrate import quad

Split = tuple[int, int]  # two disjoint masks; the lowest leaf is in the first
LogPsi = Callable[[tuple[int, ...], tuple[int, ...]], float]


@functools.cache
def members(mask: int) -> tuple[int, ...]:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def splits_of(mask: int) -> Iterator[Split]:
    lowest, *others = members(mask)
    for r in range(len(others)):
        for chosen in itertools.combinations(others, r):
            left = sum(1 << i for i in (lowest, *chosen))
            yield left, mask ^ left


@functools.cache
def hierarchies_over(mask: int) -> tuple[frozenset[Split], ...]:
    """All binary hierarchies over a cluster, each as the set of its splits."""
    if mask & (mask - 1) == 0:
        return (frozenset(),)
    return tuple(
        one | two | {split}
        for split in splits_of(mask)
        for one in hierarchies_over(split[0])
        for two in hierarchies_over(split[1])
    )


def clusters_of(hierarchy: frozenset[Split], n: int) -> frozenset[int]:
    return frozenset({(1 << n) - 1, *(1 << i for i in range(n)), *itertools.chain(*hierarchy)})


@functools.cache
def every_hierarchy(n: int) -> tuple[tuple[frozenset[Split], frozenset[int]], ...]:
    """All hierarchies of n leaves, each with its clusters."""
    return tuple((h, clusters_of(h, n)) for h in hierarchies_over((1 << n) - 1))


class Listed:
    """What follows from the weights of all that was listed, whatever it is."""

    log_potentials: np.ndarray
    p: np.ndarray

    @property
    def count(self) -> int:
        return int((self.log_potentials > -np.inf).sum())

    @property
    def entropy(self) -> float:
        p = self.p[self.p > 0]
        return float(-(p * np.log(p)).sum())


class Oracle(Listed):
    """The posterior over the hierarchies of n leaves for a plain function log ψ(members of L, members of R)."""

    def __init__(self, n: int, log_psi: LogPsi, admits: Callable[[frozenset[int]], bool] = lambda clusters: True):
        self.n, self.log_psi, self.root = n, log_psi, (1 << n) - 1
        self.value = functools.cache(lambda split: log_psi(members(split[0]), members(split[1])))
        admitted = [(h, clusters) for h, clusters in every_hierarchy(n) if admits(clusters)]
        self.hierarchies, self.clusters = [h for h, _ in admitted], [clusters for _, clusters in admitted]
        self.log_potentials = np.array([sum(map(self.value, h)) for h in self.hierarchies], dtype=float)
        self.log_z = self._log_sum(self.log_potentials)
        with np.errstate(invalid="ignore"):
            self.p = np.exp(self.log_potentials - self.log_z)

    @staticmethod
    def _log_sum(values: np.ndarray) -> float:
        top = values.max(initial=-np.inf)
        return top if top == -np.inf else top + np.log(np.exp(values - top).sum())

    def cluster_probability(self, mask: int) -> float:
        return float(self.p[[mask in clusters for clusters in self.clusters]].sum())

    def subtree_probability(self, splits: frozenset[Split]) -> float:
        return float(self.p[[splits <= h for h in self.hierarchies]].sum())

    def split_probability(self, split: Split) -> float:
        given = self.cluster_probability(split[0] | split[1])
        return float(self.p[[split in h for h in self.hierarchies]].sum()) / given

    def lca_size(self, i: int, j: int) -> float:
        pair = 1 << i | 1 << j
        sizes = [min(c.bit_count() for c in clusters if c & pair == pair) for clusters in self.clusters]
        return float(self.p @ np.array(sizes))

    def expected_correct(self, clusters: frozenset[int]) -> float:
        return float(sum(p * len(clusters & own) for p, own in zip(self.p, self.clusters, strict=True)))

    def log_potential(self, splits: frozenset[Split]) -> float:
        return float(self.log_potentials[self.hierarchies.index(splits)])

    def conditioned(self, require: list[int], forbid: list[int]) -> Oracle:
        return Oracle(self.n, self.log_psi, lambda c: all(m in c for m in require) and not any(m in c for m in forbid))

    def kl(self, other: Oracle) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            log_p = self.log_potentials - self.log_z
            log_q = other.log_potentials - other.log_z
            terms = np.where(self.p > 0, self.p * (log_p - log_q), 0.0)
        return float(terms.sum())


def pair_sum(matrix: np.ndarray, one: tuple[int, ...], two: tuple[int, ...] | None = None) -> float:
    pairs = itertools.combinations(one, 2) if two is None else itertools.product(one, two)
    return sum(matrix[i][j] for i, j in pairs)


def dasgupta(w: np.ndarray, beta: float) -> LogPsi:
    return lambda left, right: -beta * (len(left) + len(right)) * pair_sum(w, left, right)


def correlation(w: np.ndarray, beta: float) -> LogPsi:
    plus, minus = np.maximum(w, 0), np.minimum(w, 0)
    return lambda left, right: -beta * (pair_sum(plus, left, right) - pair_sum(minus, left) - pair_sum(minus, right))


def _sse(x: np.ndarray, cluster: tuple[int, ...]) -> float:
    rows = x[list(cluster)]
    return float(((rows - rows.mean(axis=0)) ** 2).sum())


def sum_of_squares(x: np.ndarray, beta: float) -> LogPsi:
    return lambda left, right: -beta * (_sse(x, left) + _sse(x, right))


def contrasts(x: np.ndarray, a: float, b: float) -> LogPsi:
    """The log density of the contrast of a split: Student's t in d columns, from its definition."""
    d = x.shape[1]

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        gap = x[list(left)].mean(axis=0) - x[list(right)].mean(axis=0)
        squared = len(left) * len(right) / (len(left) + len(right)) * float(gap @ gap)
        constant = math.lgamma(a + d / 2) - math.lgamma(a) - d / 2 * math.log(2 * math.pi * b)
        return constant - (a + d / 2) * math.log1p(squared / (2 * b))

    return log_psi


LogShare = Callable[[int, float, float], float]  # log density of u in a cluster of so many leaves, of log u, log(1 − u)


def log_beta(log_u: float, log_rest: float, a: float, b: float) -> float:
    """The log density of Beta(a, b), of log u and log(1 − u)."""
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b) + (a - 1) * log_u + (b - 1) * log_rest


def gradual_shares(h: float, excess: float, within: float) -> LogShare:
    return lambda m, log_u, log_rest: log_beta(log_u, log_rest, h * (1 + excess * (m - 2)), within * h * (m - 2))


def group_shares(h: float, excess: float, first: float = 4.0, second: float = 1.0) -> LogShare:
    """Beta(first, second) where odds are above 1 / (m − 2) + excess; how steeply it is cut off below is as in noise."""

    def cut(m: int) -> tuple[float, float]:
        least = excess + 1 / (m - 2)
        return math.log(least), h * least * (m - 2)

    def log_cut(m: int, x: float) -> float:
        middle, steepness = cut(m)
        return float(-np.logaddexp(0.0, steepness * (middle - x)))

    @functools.cache
    def log_total(m: int) -> float:
        def density(x: float) -> float:
            return math.exp(-first * np.logaddexp(0.0, -x) - second * np.logaddexp(0.0, x) + log_cut(m, x))

        middle, steepness = cut(m)
        edges = [scale * k for scale in (1 / steepness, 1.0) for k in (-30, -5, -1, -0.2, 0, 0.2, 1, 5, 30)]
        ends = [middle + edge for edge in sorted(edges)] + [middle + 60 / second]
        return math.log(sum(quad(density, *two, epsabs=0.0, limit=200)[0] for two in itertools.pairwise(ends)))

    def log_density(m: int, log_u: float, log_rest: float) -> float:
        return (first - 1) * log_u + (second - 1) * log_rest + log_cut(m, log_u - log_rest) - log_total(m)

    return log_density


def variance_shares(
    squared: np.ndarray, h: float, log_share: LogShare, evenness: float, noise_level: float = 0.0
) -> LogPsi:
    """The density of the shares of a split over that in noise of 2h dimensions, and noise itself below its level.

    Sums of squares are known to 1e-12 of that of all.
    """
    everything = tuple(range(len(squared)))
    square = lambda cluster: pair_sum(squared, cluster) / len(cluster)  # noqa: E731
    total = square(everything)
    log = lambda value: math.log(max(value, 1e-12 * total))  # noqa: E731

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        m, whole = len(left) + len(right), square(left + right)
        if m == 2 or whole <= 1e-12 * total:
            return 0.0
        one, two = square(left), square(right)
        within, own = log(one + two), [h * (len(part) - 1) for part in (left, right)]
        u = log(whole - one - two) - log(whole), within - log(whole)
        gain = log_share(m, *u) - log_beta(*u, h, h * (m - 2))
        if min(own) > 0.0:
            q = log(one) - within, log(two) - within
            gain += log_beta(*q, evenness * own[0], evenness * own[1]) - log_beta(*q, *own)
        if noise_level == 0.0:
            return gain
        log_odds = h * (m - 1) * math.log(noise_level * total / (len(squared) - 1) / (whole / (m - 1)))
        return float(np.logaddexp(gain, log_odds) - np.logaddexp(0.0, log_odds))

    return log_psi


def across(w: np.ndarray, left: tuple[int, ...], right: tuple[int, ...]) -> np.ndarray:
    """The values that are known (not NaN) of the pairs that a split parts."""
    values = w[np.ix_(left, right)].ravel()
    return values[~np.isnan(values)]


def random_graph(w: np.ndarray, a: float, b: float) -> LogPsi:
    """One edge after the other: the chance of the next is (edges so far + a) / (pairs so far + a + b)."""

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        edges, total = 0, 0.0
        for pairs, edge in enumerate(across(w, left, right)):
            chance = (edges + a) / (pairs + a + b)
            total += math.log(chance if edge else 1 - chance)
            edges += int(edge)
        return total

    return log_psi


def poisson_pairs(w: np.ndarray, shape: float, rate: float) -> LogPsi:
    """One count x after the other, negative binomial each; without the factors 1/x!."""

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        k, r, total = shape, rate, 0.0
        for x in across(w, left, right):
            total += math.lgamma(k + x) - math.lgamma(k) + k * math.log(r / (r + 1)) - x * math.log(r + 1)
            k, r = k + x, r + 1
        return total

    return log_psi


def normal_pairs(w: np.ndarray, mean: float, pseudo_count: float, shape: float, rate: float) -> LogPsi:
    """One value after the other, Student's t each."""

    def log_psi(left: tuple[int, ...], right: tuple[int, ...]) -> float:
        m, k, a, b, total = mean, pseudo_count, shape, rate, 0.0
        for x in across(w, left, right):
            scale = 2 * b * (k + 1) / k
            total += math.lgamma(a + 0.5) - math.lgamma(a) - 0.5 * math.log(math.pi * scale)
            total -= (a + 0.5) * math.log1p((x - m) ** 2 / scale)
            b += k * (x - m) ** 2 / (2 * (k + 1))
            m, k, a = (k * m + x) / (k + 1), k + 1, a + 0.5
        return total

    return log_psi
