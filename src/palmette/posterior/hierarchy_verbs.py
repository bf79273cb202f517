"""Answers about hierarchies that follow from how probable clusters, and the splits of one cluster, are."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.clusters import Cluster, cluster_mask, cluster_members
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import hierarchy_of_masks, masks_of_hierarchy
from palmette.passes.hierarchies.protocol import HierarchyPasses, Splits
from palmette.posterior.consensus import check_threshold, consensus
from palmette.posterior.distribution import Distribution
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.tables import ClusterRow, SplitRow, Table, likeliest, member_table, split_table
from palmette.trellis.counting import n_splits

__all__ = ["HierarchyVerbs"]


class HierarchyVerbs(Distribution[Hierarchy]):
    """The verbs of a distribution over hierarchies that knows μ(C), and p(L, R | C) of one cluster C at a time."""

    clusterings = "hierarchies"
    _thing = "hierarchy"

    @property
    @abstractmethod
    def model(self) -> Any:
        """What gives log ψ."""

    @property
    @abstractmethod
    def passes(self) -> HierarchyPasses:
        """Which clusters and splits there are, by their numbers."""

    @property
    @abstractmethod
    def _outside(self) -> Floats:
        """μ, the probability that each cluster occurs, by its number in the passes."""

    @abstractmethod
    def _split_shares(self, cluster: int) -> Splits | None:
        """The parts of all splits of a cluster, and p(L, R | C); None if the cluster cannot occur."""

    # Hierarchies.

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Draws:
        """`size` independent exact draws. `rng` is a seed or a generator; the same seed gives the same draws."""
        return Draws(*self._sampled(size, rng), self.labels, self.passes.trellis)

    def consensus(self, threshold: float = DEFAULTS.consensus) -> Hierarchy:
        """The clusters with probability strictly above `threshold`, as one hierarchy that may be multifurcating.

        From one half on no two can cross; below, they are added by falling probability where they fit.
        Its `support` are the probabilities.
        """
        check_threshold(threshold)
        clusters = np.flatnonzero(self._outside > threshold)
        return consensus(self._masks(clusters), self._outside[clusters], self.labels, threshold)

    def centroid(self) -> Hierarchy:
        """The binary hierarchy with the largest expected number of clusters that also occur in a draw.

        It maximises Σ μ(C) over its clusters, a maximum recursion with log ψ(L, R) := μ(L) + μ(R).
        Its `support` are the probabilities.
        """
        mu = self._outside
        gain = self.passes.with_sums(mu)
        return self.support(hierarchy_of_masks(gain.best_masks(gain.maximum()), self.labels))

    # Clusters.

    def support(self, hierarchy: Hierarchy) -> Hierarchy:
        """The same hierarchy, binary or not, with the probability of each of its clusters as its `support`."""
        masks = masks_of_hierarchy(hierarchy, self.labels)
        numbers = np.array([self.passes.number(mask) for mask in masks])
        return hierarchy.with_support(np.where(numbers >= 0, self._outside[numbers], 0.0))

    def cluster_probability(self, cluster: Cluster) -> float:
        """The probability that `cluster` (leaf indices, or labels) occurs in a hierarchy."""
        found = self.passes.number(cluster_mask(cluster, self.labels))
        return float(self._outside[found]) if found >= 0 else 0.0

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[ClusterRow]:
        """The clusters, but singletons and the root, that occur with at least this probability; likeliest first."""
        mu = self._outside
        sizes = self.passes.sizes
        found = np.flatnonzero((mu >= min_probability) & (sizes >= 2) & (sizes < self.n_leaves))
        masks = self._masks(found)
        return member_table(lambda i: cluster_members(masks[i]), sizes[found], mu[found], self.labels)

    def cluster_probability_array(self) -> Floats:
        """(2^n,): the probability of every cluster, by bit mask (bit i set: leaf i belongs); a read-only view."""
        if self.passes.trellis is not None:
            raise TypeError("cluster_probability_array is by bit mask, for the full trellis; ask cluster_probabilities")
        return self._outside

    def split_probabilities(self, cluster: Cluster, most: int | None = None) -> Table[SplitRow]:
        """The splits of `cluster` that compete, each with its probability given that the cluster occurs.

        Likeliest first; `most` of them, or all.
        """
        found = self.passes.number(cluster_mask(cluster, self.labels))
        shares = None if found < 0 else self._split_shares(found)
        if shares is None:
            raise ValueError(f"the cluster {list(cluster)!r} cannot occur, so its splits have no probabilities")
        left, right, probabilities = shares
        keep = np.flatnonzero(probabilities > 0.0)
        keep = keep[likeliest(probabilities[keep], most)]
        sides = [self._masks(side[keep]) for side in (left, right)]
        parts = [lambda i, side=side: cluster_members(side[i]) for side in sides]
        return split_table(parts[0], parts[1], probabilities[keep], self.labels)

    def expected_lca_depth(self) -> Floats:
        """(n, n): the expected number of clusters, but the root, that hold both i and j; on the diagonal, that hold i.

        That is how many steps below the root the two part, and how deep a leaf is.
        """
        below_root = self._outside.copy()
        below_root[self.passes.root] = 0.0
        return self.passes.pair_sums(below_root)

    def _shown(self, x: Hierarchy) -> Hierarchy:
        # With support, unless that would take time that nobody asked to spend.
        trellis = self.passes.trellis
        count = n_splits(self.n_leaves) if trellis is None else trellis.n_splits
        return self.support(x) if self._known("_outside") or count <= DEFAULTS.support_splits else x

    def _pictured(self, x: Hierarchy) -> Hierarchy:
        found: Hierarchy = self.model.with_heights(self._shown(x))
        return found

    def _masks(self, clusters: npt.NDArray[np.integer]) -> list[int]:
        return [self.passes.mask_of(int(cluster)) for cluster in clusters]
