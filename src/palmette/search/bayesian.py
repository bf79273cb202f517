"""Bayesian hierarchical clustering (Heller and Ghahramani 2005): merge the pair that most likely is one cluster.

With W(C) = α Γ(|C|) m(x_C), which is the weight of C under a Dirichlet process, a sub-hierarchy over C = L ∪ R carries

    w(leaf) = W(leaf),  w(C) = W(C) + w(L) w(R)         the sum over the partitions that agree with it
    d(leaf) = α,        d(C) = α Γ(|C|) + d(L) d(R)     the same before the data are seen

so that p(data | hierarchy) = w / d at the root, and W(C) : w(L) w(R) are the odds that C is one cluster. Clusters live
in slots and remember their best partner, see `palmette.search.partners`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from palmette._immutable import read_only
from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints
from palmette.checks import check_points
from palmette.drawing.cards import card
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels, labels_of
from palmette.likelihoods.base import Likelihood, checked_statistics, log_rising
from palmette.likelihoods.marginals import fill_marginals, marginals_of
from palmette.models.dirichlet_process import check_concentration
from palmette.partition import Partition
from palmette.progress import Progress
from palmette.search.partners import best_pair, find_partner, update_partners

__all__ = ["BayesianFound", "bayesian"]

_AT_ONCE = 64  # unions that a likelihood is asked about at a time, at most


@dataclass(frozen=True, eq=False)
class BayesianFound:
    """What `bayesian` comes back with; node n + k of the hierarchy is its merge k, and k + 1 is its height."""

    hierarchy: Hierarchy
    log_evidence: float
    """log p(data | hierarchy): the likelihood of all partitions that agree with the hierarchy, averaged."""
    log_evidence_bound: float
    """What these partitions contribute to the log evidence of `DirichletProcess`, which is nowhere below it."""
    log_odds: Floats
    """(n − 1,): log r/(1 − r) for the probability r that a cluster is one, and not cut below."""
    partition: Partition
    """From the root down, the first clusters with r ≥ 1/2."""
    n_evaluations: int
    """Marginal likelihoods of unions that were evaluated, (n − 1)²; those of the n leaves come on top."""

    @property
    def probabilities(self) -> Floats:
        """(n − 1,): r for each merge."""
        return np.asarray(expit(self.log_odds))

    def _repr_html_(self) -> str:
        facts = [("log evidence", self.log_evidence), ("clusters", f"{self.partition.n_clusters:,}; below, r of each")]
        leaves = np.full(self.hierarchy.n_leaves, np.nan)
        merges = self.hierarchy.with_support(np.append(leaves, self.probabilities))
        return card("BayesianFound", facts, merges, self.partition)

    def __repr__(self) -> str:
        n, k = self.partition.n_leaves, self.partition.n_clusters
        return f"BayesianFound(<{n:,} leaves in {k:,} clusters>, log_evidence={self.log_evidence:.4f})"


def bayesian(
    points: npt.ArrayLike,
    likelihood: Likelihood,
    concentration: float = 1.0,
    labels: Iterable[str] | None = None,
    progress: bool | None = None,
) -> BayesianFound:
    """r(L, R) = α Γ(n) m(x_L∪R) / w(L ∪ R), the largest merged first, again and again: (n − 1)² marginal likelihoods.

    `points` is (n, d), NaN where an entry is missing if the `likelihood` takes that; α = `concentration` is that of a
    Dirichlet process. Pairs are ranked by log odds, since r rounds to 1. Of equal pairs the one with the lowest leaf
    comes first, then the one whose other cluster has the lowest leaf. r need not fall from merge to merge, so heights
    count the merges, and the partition is read from the root down. Rows that cannot belong together (m = 0) are
    merged last. Memory is n² numbers.

    >>> import palmette as pal
    >>> x = [[0.1], [0.0], [9.0], [9.2]]
    >>> found = bayesian(x, pal.likelihoods.NormalGamma(pseudo_count=0.1, rate=0.1))
    >>> found.hierarchy, found.partition
    (Hierarchy.from_newick('((0,1),(2,3));'), Partition([0, 0, 1, 1]))
    >>> found.probabilities.round(2)
    array([0.99, 0.75, 0.  ])
    """
    x = check_points(points, missing=True)
    names = check_labels(labels_of(points, labels), len(x))
    alpha = check_concentration(concentration)
    theta, additive = checked_statistics(likelihood, x)
    state = _State(likelihood, math.log(alpha), theta, additive)
    children, log_odds = state.merge_all(progress)
    hierarchy = Hierarchy.from_merges(children, names, heights=np.arange(1.0, len(x)))
    log_weight, log_total = float(state.log_weights[0]), float(state.log_totals[0])
    return BayesianFound(
        hierarchy,
        log_weight - log_total,
        log_weight - float(log_rising([alpha], len(x))[0, -1]),
        read_only(log_odds),
        hierarchy.first_clusters(log_odds >= 0.0),
        state.n_evaluations,
    )


@inline
def _log_add(a, b):
    high, low = max(a, b), min(a, b)
    return high + math.log1p(math.exp(low - high)) if low > -np.inf else high


@kernel
def _join(i, j, sizes, sums, log_gammas, log_joined, log_weights, log_totals):
    # Slot i takes over slot j.
    sizes[i] += sizes[j]
    sums[i] += sums[j]
    log_weights[i] = _log_add(log_joined[i, j], log_weights[i] + log_weights[j])
    log_totals[i] = _log_add(log_gammas[sizes[i]], log_totals[i] + log_totals[j])


@kernel
def _weigh(marginals, theta, log_gammas, i, slots, sizes, sums, log_joined):
    # log W of the clusters in slots i and s together, for the listed s; of the one in slot i where s = i.
    room = min(slots.size, _AT_ONCE)
    size, union, log_m = np.empty(room, np.int64), np.empty((room, sums.shape[1])), np.empty(room)
    for first in range(0, slots.size, _AT_ONCE):
        count = min(slots.size - first, _AT_ONCE)
        for x in range(count):
            s = slots[first + x]
            low, high = min(i, s), max(i, s)
            for c in range(union.shape[1]):
                union[x, c] = sums[low, c] + sums[high, c] if low < high else sums[low, c]
            size[x] = sizes[low] + sizes[high] if low < high else sizes[low]
        fill_marginals(marginals, theta, size, union, count, log_m)
        for x in range(count):
            s = slots[first + x]
            log_joined[min(i, s), max(i, s)] = log_gammas[size[x]] + log_m[x]
            if not log_m[x] < np.inf:
                return False
    return True


class _State:
    # A cluster lives in the slot of its lowest leaf; slot 0 holds everything in the end.

    def __init__(self, likelihood: Likelihood, log_alpha: float, theta: Floats, additive: Floats) -> None:
        n = len(additive)
        self.theta, self.sums, self.sizes = theta, additive.copy(), np.ones(n, np.int64)
        self.log_gammas = np.array([0.0] + [log_alpha + math.lgamma(size) for size in range(1, n + 1)])
        self.log_joined, self.log_weights, self.log_totals = np.empty((n, n)), np.empty(n), np.full(n, log_alpha)
        self.n_evaluations = 0
        self._name = type(likelihood).__name__
        self._marginals = marginals_of(likelihood.log_marginal)

    def merge_all(self, progress: bool | None) -> tuple[Ints, Floats]:
        # (n − 1, 2) clusters that were joined, and the log odds of each merge.
        n = len(self.sizes)
        slots, node = np.arange(n), list(range(n))
        weights, partner, value = (self.log_joined, self.log_weights), np.empty(n, np.int64), np.empty(n)
        children, log_odds = np.empty((n - 1, 2), np.int64), np.empty(n - 1)
        with closing(Progress(f"merging, n = {n}", float((n - 1) ** 2), progress)) as bar:
            for i in range(n):
                self._weigh_pairs(i, np.arange(i, n), bar)
            self.log_weights[:] = np.diag(self.log_joined)
            for i in range(n):
                find_partner(i, slots, *weights, partner, value)
            for step in range(n - 1):
                i, j = best_pair(slots, partner, value)
                children[step], log_odds[step] = (node[i], node[j]), value[i]
                node[i] = n + step
                _join(i, j, self.sizes, self.sums, self.log_gammas, *weights, self.log_totals)
                slots = slots[slots != j]
                self._weigh_pairs(i, slots[slots != i], bar)
                row = np.ascontiguousarray(self.log_joined[:, i])
                update_partners(i, j, slots, row, *weights, partner, value)
        return children, log_odds

    def _weigh_pairs(self, i: int, slots: Ints, bar: Progress) -> None:
        data = self._marginals, self.theta, self.log_gammas
        if not _weigh(*data, i, slots, self.sizes, self.sums, self.log_joined):
            raise ValueError(f"{self._name}.log_marginal returned NaN or inf; it must be finite or -inf")
        count = int((slots != i).sum())
        self.n_evaluations += count
        bar.advance(count)
