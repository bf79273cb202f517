"""The clusters of many hierarchies: which draws have them, how probable those are that are not rare, and who agrees."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Indices, Ints
from palmette.hierarchy.tree_set import TreeSet
from palmette.labels import describe_cluster
from palmette.models.split_model import SplitModel
from palmette.sampling.estimates import Estimates
from palmette.sampling.hierarchies.smoothing import smoothed
from palmette.sampling.verdict import LEAST_SHARE, Verdict, judge
from palmette.trellis.hierarchies.observed import observe
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["JudgedClusters", "SeenClusters", "find_clusters", "judge_clusters", "smooth_clusters"]

_MOST = 2000  # clusters that are judged


class SeenClusters(NamedTuple):
    """The draws in terms of a trellis of all that they are made of."""

    trellis: SparseTrellis
    splits: Ints  # (chains, draws, n − 1)
    clusters: Ints  # (chains, draws, n − 1)
    frequency: Floats  # (chains, clusters of the trellis)
    share: Floats  # (clusters of the trellis,): of all draws

    def splits_by_draw(self) -> Ints:
        """(draws, n − 1): the splits of all draws, chain after chain."""
        n_chains, n_draws, width = self.splits.shape
        return self.splits.reshape(n_chains * n_draws, width)

    def events(self, clusters: Ints) -> npt.NDArray[np.bool_]:
        """(chains, draws, k): which draws have these clusters of the trellis."""
        column = np.full(self.trellis.n_clusters, -1)
        column[clusters] = np.arange(len(clusters))
        events = np.zeros((*self.clusters.shape[:2], len(clusters) + 1), dtype=bool)  # the last for all others
        np.put_along_axis(events, column[self.clusters], True, axis=2)
        return events[:, :, :-1]

    def occurs(self, mask: int) -> npt.NDArray[np.bool_]:
        """(chains, draws): whether the cluster is there."""
        number = self.trellis.find_mask(mask)
        if 0 <= number < self.trellis.n_leaves:
            return np.ones(self.clusters.shape[:2], dtype=bool)
        return np.asarray((self.clusters == number).any(axis=2))

    def find_smoothed(self, mask: int) -> int:
        """The number of the cluster, −1 if it is too rare to be smoothed."""
        number = self.trellis.find_mask(mask)
        return number if number >= 0 and self.share[number] >= LEAST_SHARE else -1


class JudgedClusters(NamedTuple):
    """What chains say about themselves, and the clusters that tell."""

    verdict: Verdict
    clusters: Ints  # those that are neither too rare nor too common, the one with the largest R̂ first
    r_hat: Floats
    effective_size: Floats


def find_clusters(trees: TreeSet, n_chains: int) -> SeenClusters:
    """All clusters and splits of the draws of some chains, which are given chain after chain."""
    seen = observe(trees)
    trellis = SparseTrellis.from_observed(seen)
    n, n_draws = trellis.n_leaves, len(trees) // n_chains
    splits = seen.splits.reshape(n_chains, n_draws, n - 1)
    clusters = trellis.parent[splits]
    m = trellis.n_clusters
    frequency = np.stack([np.bincount(chain.reshape(-1), minlength=m) for chain in clusters]) / n_draws
    frequency[:, :n] = 1.0
    return SeenClusters(trellis, splits, clusters, frequency, np.asarray(frequency.mean(axis=0)))


def smooth_clusters(
    seen: SeenClusters, rows: Indices, model: SplitModel, threads: int | None, progress: bool | None
) -> Estimates:
    """The probability of every cluster of the trellis, from what was seen in (chains, draws, 2n − 1) parents.

    Those that are rarer than a hundredth are as often as they were drawn, and have NaN as an error.
    """
    trellis, p = seen.trellis, seen.share.copy()
    errors = np.where(p < LEAST_SHARE, np.nan, 0.0)
    chosen = np.flatnonzero((p >= LEAST_SHARE) & (trellis.sizes >= 2) & (trellis.sizes < trellis.n_leaves))
    if len(chosen):
        n_without = (1.0 - p[chosen]) * rows.shape[0] * rows.shape[1]
        p[chosen], errors[chosen] = smoothed(model, rows, trellis.words[chosen], n_without, threads, progress)
    return Estimates(p, errors)


def judge_clusters(seen: SeenClusters, log_potentials: Floats, errors: Floats) -> JudgedClusters:
    """Whether chains agree on log φ, on how far draws are from the best one, and on clusters that are not rare.

    `errors` are those of every cluster of the trellis, as `smooth_clusters` has them.
    """
    trellis, chosen = seen.trellis, np.flatnonzero((seen.share >= LEAST_SHARE) & (seen.share < 1.0))
    chosen = chosen[np.argsort(np.abs(seen.share[chosen] - 0.5), kind="stable")][:_MOST]
    top = np.unravel_index(int(np.argmax(log_potentials)), log_potentials.shape)
    best = np.zeros(trellis.n_clusters, dtype=bool)
    best[seen.clusters[top]] = True
    distance = (~best[seen.clusters]).sum(axis=2).astype(np.float64)
    values = {"log φ": log_potentials, "the distance from the best hierarchy": distance}
    names = [describe_cluster(trellis.members(int(i)), trellis.labels) for i in chosen]
    frequency = seen.frequency[:, trellis.n_leaves :]
    verdict, figures = judge(values, seen.events(chosen), frequency, names, errors[chosen])
    order = figures.worst_first()
    return JudgedClusters(verdict, chosen[order], figures.r_hat[order], figures.effective_size[order])
