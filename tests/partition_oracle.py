"""Every partition of a few leaves, listed one by one: the answer to every question, by counting.

Nothing here shares code with the package: log ψ comes from plain formulas over lists of members, partitions from
a plain recursion, and every answer from its definition. `SlowTwin` is the recursion over subsets as a person would
write it, for the few problems that are too large to list; it is itself compared with the list.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from oracle import Listed
from scipy.special import gammaln

Members = tuple[int, ...]
LogPsi = Callable[[Members], float]
Clusters = frozenset[int]  # the masks of the clusters of one partition


@functools.cache
def members(mask: int) -> Members:
    return tuple(i for i in range(mask.bit_length()) if mask >> i & 1)


def mask_of(cluster: Iterable[int]) -> int:
    return sum(1 << i for i in cluster)


@functools.cache
def partitions_of(n: int) -> tuple[Clusters, ...]:
    """All partitions of n leaves: the last leaf is alone, or joins one of the clusters of the others."""
    if n == 0:
        return (frozenset(),)
    leaf = 1 << (n - 1)
    found = []
    for smaller in partitions_of(n - 1):
        found.append(smaller | {leaf})
        found += [smaller - {cluster} | {cluster | leaf} for cluster in smaller]
    return tuple(found)


def share_a_cluster(clusters: Clusters, group: int) -> bool:
    return any(cluster & group == group for cluster in clusters)


# Which of all partitions do, asked for again and again.


@functools.cache
def holding(n: int, mask: int) -> np.ndarray:
    return np.array([mask in clusters for clusters in partitions_of(n)])


@functools.cache
def sharing(n: int, group: int) -> np.ndarray:
    return np.array([share_a_cluster(clusters, group) for clusters in partitions_of(n)])


def meets(clusters: Clusters, require: Any, forbid: Any, together: Any, apart: Any, n_clusters: int | None) -> bool:
    """Whether a partition meets the conditions, each as it is defined."""
    return (
        all(mask in clusters for mask in require)
        and not any(mask in clusters for mask in forbid)
        and all(share_a_cluster(clusters, group) for group in together)
        and all((cluster & group).bit_count() <= 1 for group in apart for cluster in clusters)
        and n_clusters in (None, len(clusters))
    )


def log_sum(values: np.ndarray) -> float:
    top = values.max(initial=-np.inf)
    return float(top if top == -np.inf else top + np.log(np.exp(values - top).sum()))


class PartitionOracle(Listed):
    """The posterior over the partitions of n leaves for a plain function log ψ(members of C)."""

    def __init__(self, n: int, log_psi: LogPsi, admits: Callable[[Clusters], bool] = lambda clusters: True):
        self.n, self.log_psi, self.admits, self.root = n, log_psi, admits, (1 << n) - 1
        self.value = functools.cache(lambda mask: log_psi(members(mask)))
        self.admitted = np.array([admits(clusters) for clusters in partitions_of(n)])
        self.partitions = list(itertools.compress(partitions_of(n), self.admitted))
        self.log_potentials = np.array([sum(map(self.value, c)) for c in self.partitions], dtype=float)
        self.log_z = log_sum(self.log_potentials)
        with np.errstate(invalid="ignore"):
            self.p = np.exp(self.log_potentials - self.log_z)

    def _probability(self, holds: Callable[[Clusters], bool]) -> float:
        return float(self.p[[holds(clusters) for clusters in self.partitions]].sum())

    @property
    def best_log_probs(self) -> np.ndarray:
        """The log-probabilities of the possible partitions, best first."""
        return np.sort(self.log_potentials[self.log_potentials > -np.inf])[::-1] - self.log_z

    def log_potential(self, clusters: Clusters) -> float:
        return float(self.log_potentials[self.partitions.index(clusters)])

    def cluster_probability(self, mask: int) -> float:
        return float(self.p[holding(self.n, mask)[self.admitted]].sum())

    def cluster_probabilities(self) -> list[float]:
        return [0.0] + [self.cluster_probability(mask) for mask in range(1, self.root + 1)]

    def together_probability(self, group: int) -> float:
        return float(self.p[sharing(self.n, group)[self.admitted]].sum())

    def together_probabilities(self) -> list[float]:
        return [1.0] + [self.together_probability(group) for group in range(1, self.root + 1)]

    def coclustering(self, i: int, j: int) -> float:
        return self.together_probability(1 << i | 1 << j)

    def coclusterings(self) -> np.ndarray:
        out = np.empty((self.n, self.n))
        for i, j in itertools.combinations_with_replacement(range(self.n), 2):
            out[i, j] = out[j, i] = self.coclustering(i, j)
        return out

    def split_probability(self, left: int, right: int) -> float:
        return self._probability(lambda clusters: {left, right} <= clusters)

    def n_clusters_probability(self, k: int) -> float:
        return self._probability(lambda clusters: len(clusters) == k)

    def binder_gain(self, clusters: Clusters, threshold: float = 0.5) -> float:
        """Σ (P(i ~ j) − threshold) over the pairs that share a cluster."""
        pairs = itertools.chain(*(itertools.combinations(members(mask), 2) for mask in clusters))
        return sum(self.coclustering(i, j) - threshold for i, j in pairs)

    def best_binder_gain(self, threshold: float = 0.5) -> float:
        """The largest gain of any partition that meets the conditions, also of one that log ψ forbids."""
        gains = self.coclusterings() - threshold
        return max(sum(pair_sum(gains, members(mask)) for mask in clusters) for clusters in self.partitions)

    def conditioned(
        self,
        require: Iterable[int] = (),
        forbid: Iterable[int] = (),
        together: Iterable[int] = (),
        apart: Iterable[int] = (),
        n_clusters: int | None = None,
    ) -> PartitionOracle:
        conditions = (*map(list, (require, forbid, together, apart)), n_clusters)
        return PartitionOracle(self.n, self.log_psi, lambda c: self.admits(c) and meets(c, *conditions))

    def kl(self, other: PartitionOracle) -> float:
        theirs = dict(zip(other.partitions, other.log_potentials - other.log_z, strict=True))
        ours = zip(self.partitions, self.p, self.log_potentials - self.log_z, strict=True)
        return float(sum(p * (log_p - theirs.get(c, -np.inf)) for c, p, log_p in ours if p > 0))


class SlowTwin:
    """Tables over all subsets S of n leaves, each by the cluster C of the *lowest* leaf of S; values are logarithms.

    Z_k(S) = Σ ψ(C) Z_(k−1)(S − C), and M and the number of partitions alike; `log_psi` is an array by mask.
    """

    def __init__(self, n: int, log_psi: np.ndarray, n_clusters: int | None = None) -> None:
        size = 1 << n
        self.n, self.log_psi = n, np.array(log_psi, dtype=float)
        self.layers = np.full((size, n + 1), -np.inf)  # log Z_k(S): the partitions of S into k clusters
        self.best = np.full((size, n + 1), -np.inf)
        self.counts = np.zeros((size, n + 1), dtype=np.int64 if n <= 25 else object)  # 25 leaves: 4.6e18 partitions
        self.layers[0, 0] = self.best[0, 0] = 0.0
        self.counts[0, 0] = 1
        with np.errstate(invalid="ignore", divide="ignore"):
            for mask in range(1, size):
                self._solve(mask)
        self.choose(n_clusters)

    def choose(self, n_clusters: int | None) -> SlowTwin:
        """From now on only the partitions into this number of clusters."""
        self.chosen = slice(None) if n_clusters is None else slice(n_clusters, n_clusters + 1)
        self.log_z = log_sum(self.layers[-1, self.chosen])
        self.log_m = float(self.best[-1, self.chosen].max())
        self.count = int(self.counts[-1, self.chosen].sum())
        return self

    def _solve(self, mask: int) -> None:
        lowest = mask & -mask
        others = subsets(mask ^ lowest)
        possible = np.flatnonzero(self.log_psi[others | lowest] > -np.inf)
        if len(possible) == 0:
            return
        cluster = others[possible] | lowest
        rest, log_psi, most = mask ^ cluster, self.log_psi[cluster, None], mask.bit_count()
        self.layers[mask, 1 : most + 1] = _log_sums(log_psi + self.layers[rest, :most])
        self.best[mask, 1 : most + 1] = (log_psi + self.best[rest, :most]).max(axis=0)
        self.counts[mask, 1 : most + 1] = self.counts[rest, :most].sum(axis=0)

    def cluster_probabilities(self) -> np.ndarray:
        """(2^n,): ψ(C) Z(X − C) / Z(X), with one cluster less for X − C if their number is given."""
        rest = self.layers[np.arange(1 << self.n) ^ ((1 << self.n) - 1)]
        rest = np.hstack([np.full((len(rest), 1), -np.inf), rest[:, :-1]])  # column k: k clusters with C itself
        with np.errstate(invalid="ignore", divide="ignore"):
            out = np.exp(self.log_psi + _log_sums(rest[:, self.chosen].T) - self.log_z)
        out[0] = 0.0
        return out

    def together_probabilities(self) -> np.ndarray:
        """(2^n,): the sum of the cluster probabilities over all clusters that hold the group."""
        out = self.cluster_probabilities()
        for leaf in range(self.n):
            without, having = out.reshape(-1, 2, 1 << leaf).swapaxes(0, 1)
            without += having
        out[0] = 1.0
        return out

    def n_clusters_probabilities(self) -> np.ndarray:
        out = np.zeros(self.n + 1)
        out[self.chosen] = np.exp(self.layers[-1, self.chosen] - self.log_z)
        return out

    @property
    def entropy(self) -> float:
        mu = self.cluster_probabilities()
        return self.log_z - float((mu[mu > 0] * self.log_psi[mu > 0]).sum())


@functools.cache
def subsets(mask: int) -> np.ndarray:
    """All subsets of a mask, the empty one included."""
    if mask == 0:
        return np.zeros(1, dtype=np.int64)
    highest = 1 << mask.bit_length() - 1
    found = subsets(mask ^ highest)
    return np.concatenate([found, found | highest])


def _log_sums(terms: np.ndarray) -> np.ndarray:
    top = terms.max(axis=0)
    return np.where(top > -np.inf, top + np.log(np.exp(terms - top).sum(axis=0)), -np.inf)


def conditioned_table(
    n: int, log_psi: np.ndarray, require: Any = (), forbid: Any = (), together: Any = (), apart: Any = ()
) -> np.ndarray:
    """log ψ by mask with −inf for every cluster that no partition under these conditions holds."""
    out = np.array(log_psi, dtype=float)
    for mask in range(1, 1 << n):
        impossible = (
            mask in forbid
            or any(mask & cluster and mask != cluster for cluster in require)
            or any(mask & group not in (0, group) for group in together)
            or any((mask & group).bit_count() > 1 for group in apart)
        )
        if impossible:
            out[mask] = -np.inf
    return out


# Plain formulas.


def pair_sum(matrix: np.ndarray, cluster: Members) -> float:
    return sum(matrix[i][j] for i, j in itertools.combinations(cluster, 2))


def uniform() -> LogPsi:
    return lambda cluster: 0.0


def correlation(w: np.ndarray, beta: float) -> LogPsi:
    return lambda cluster: beta * pair_sum(w, cluster)


def restaurant(concentration: float) -> LogPsi:
    """The seats of a Chinese restaurant: α (|C| − 1)!."""
    return lambda cluster: float(np.log(concentration) + gammaln(len(cluster)))


def normal_gamma(
    x: np.ndarray, mean: float = 0.0, pseudo_count: float = 1.0, shape: float = 1.0, rate: float = 1.0
) -> float:
    """log ∫ Π N(x_i; μ, 1/λ) N(μ; mean, 1/(pseudo_count λ)) Gamma(λ; shape, rate) dμ dλ of one column."""
    m = len(x)
    counts, shapes = pseudo_count + m, shape + m / 2
    spread = ((x - x.mean()) ** 2).sum() / 2
    rates = rate + spread + pseudo_count * m * (x.mean() - mean) ** 2 / (2 * counts)
    constants = (np.log(pseudo_count) - np.log(counts) - m * np.log(2 * np.pi)) / 2
    return float(gammaln(shapes) - gammaln(shape) + shape * np.log(rate) - shapes * np.log(rates) + constants)


def beta_bernoulli(x: np.ndarray, a: float = 1.0, b: float = 1.0) -> float:
    """log ∫ Π q^x_i (1 − q)^(1 − x_i) Beta(q; a, b) dq of one column."""
    ones = x.sum()
    after = gammaln(a + ones) + gammaln(b + len(x) - ones) - gammaln(a + b + len(x))
    return float(after - gammaln(a) - gammaln(b) + gammaln(a + b))


def dirichlet_process(points: np.ndarray, concentration: float, marginal: Callable[[np.ndarray], float]) -> LogPsi:
    """log α + log (|C| − 1)! + Σ over columns of the log marginal likelihood of the cluster."""
    prior = restaurant(concentration)
    return lambda cluster: prior(cluster) + sum(marginal(column) for column in points[list(cluster)].T)


def log_psi_table(n: int, log_psi: LogPsi) -> np.ndarray:
    """(2^n,): log ψ by mask; −inf for the empty set."""
    return np.array([-np.inf, *(log_psi(members(mask)) for mask in range(1, 1 << n))])
