"""What chains of hierarchies say: the verbs of a posterior, every number with its error."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.clusters import Cluster, cluster_mask, mask_of_leaves
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import masks_of_hierarchy
from palmette.hierarchy.tree_set import TreeSet, binary_trees
from palmette.labels import leaf_index, leaf_numbers
from palmette.models.split_function import SplitValues, split_values
from palmette.models.split_model import SplitModel, require_binary
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.posterior.cache import cached
from palmette.posterior.conditional_clusters import from_trees
from palmette.posterior.consensus import consensus
from palmette.posterior.distribution import SAME
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.tables import Table, likeliest
from palmette.sampling.diagnostics import standard_error
from palmette.sampling.estimates import ClusterDiagnosticsRow, Estimates, SampledClusterRow, SampledSplitRow
from palmette.sampling.hierarchies.clusters import (
    JudgedClusters,
    SeenClusters,
    find_clusters,
    judge_clusters,
    smooth_clusters,
)
from palmette.sampling.hierarchies.conditioned import conditioned
from palmette.sampling.hierarchies.pairs import expected_lca
from palmette.sampling.run import Run
from palmette.sampling.sampled import Sampled
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["SampledPosterior"]


class SampledPosterior(Sampled[SplitModel, Hierarchy, SparseTrellis]):
    """The posterior over all hierarchies of a model's leaves, estimated from chains; made by `sample_hierarchies`.

    It answers as `HierarchyPosterior` does, with an `Estimate` for a number, or a table with a column of errors. Of
    each chain the first quarter is left out. Look at `verdict` first: errors are to be believed if the chains have
    converged, and not otherwise.

    Probabilities of clusters in a hundredth of the draws or more are *smoothed*: of each draw some clusters are kept,
    chosen by chance alone, and how probable the others are given these is computed, not counted (see `tilings`). All
    else, and rarer clusters, are shares of draws.
    """

    clusterings = "hierarchies"
    _exact = HierarchyPosterior
    conditions: HierarchyConditions

    def __init__(self, run: Run[Any], model: SplitModel, conditions: HierarchyConditions, n_rungs: int) -> None:
        super().__init__(run, model, conditions)
        self.n_rungs = n_rungs
        """Temperatures that each chain runs at, side by side; 1 if it is a single one."""

    # How far to trust it.

    def cluster_diagnostics(self) -> Table[ClusterDiagnosticsRow]:
        """The clusters that are judged, of probability 0.02 to 0.98; those that chains disagree on most first."""
        trellis, (_, clusters, r_hat, sizes) = self._seen_clusters.trellis, self._judged

        def row(i: int) -> ClusterDiagnosticsRow:
            number = int(clusters[i])
            members = tuple(self.labels[leaf] for leaf in trellis.members(number))
            p, error = float(self._smoothed.values[number]), float(self._smoothed.standard_errors[number])
            return ClusterDiagnosticsRow(members, len(members), p, error, float(r_hat[i]), float(sizes[i]))

        return Table(ClusterDiagnosticsRow, row, len(clusters))

    def cluster_frequencies(self) -> Floats:
        """(chains, k): in which share of its draws each chain has the clusters of `cluster_diagnostics`."""
        return self._seen_clusters.frequency[:, self._judged.clusters]

    def cluster_indicators(self) -> npt.NDArray[np.bool_]:
        """(chains, draws, k): which draws have the clusters of `cluster_diagnostics`."""
        return self._seen_clusters.events(self._judged.clusters)

    # Hierarchies.

    @cached
    def trees(self) -> TreeSet:
        """All draws that are used, chain after chain, as trees for `write_nexus`, `from_trees` and others."""
        return binary_trees(self._rows.reshape(-1, 2 * self.n_leaves - 1), self.labels)

    @cached
    def draws(self) -> Draws:
        """All draws that are used, chain after chain; their probabilities are not known, only `log_potentials` are."""
        seen = self._seen_clusters
        rows = seen.splits_by_draw()
        return Draws(rows, np.full(len(rows), np.nan), self.labels, seen.trellis)

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Draws:
        """`size` of the draws, taken at random with replacement: not independent if the chains are not."""
        rows = self._seen_clusters.splits_by_draw()
        chosen = np.random.default_rng(rng).integers(len(rows), size=check_integer("size", size, 0))
        return Draws(rows[chosen], np.full(size, np.nan), self.labels, self._seen_clusters.trellis)

    def map(self) -> Hierarchy:
        """The most probable hierarchy that was found, with support: the best draw, cooled down further.

        `search.refine` may find a better one.
        """
        return self.support(self._found[0])

    def best(self, k: int) -> list[tuple[Hierarchy, float]]:
        """The k most probable ones that were found, with their log potentials, best first; fewer if there are fewer.

        That is `map` and then the best draws, all with support.
        """
        check_integer("k", k, 1)
        rows, values = self._seen_clusters.splits_by_draw(), self.log_potentials.reshape(-1)
        first, value = self._found
        found = {first: value}
        for i in np.argsort(-values, kind="stable"):
            if len(found) == k:
                break
            found.setdefault(self._seen_clusters.trellis.hierarchy_of(rows[i]), float(values[i]))
        return [(self.support(hierarchy), value) for hierarchy, value in found.items()]

    def consensus(self, threshold: float = DEFAULTS.consensus) -> Hierarchy:
        """The clusters of more than this probability, as one hierarchy that may be multifurcating."""
        p = self._smoothed.values
        clusters = np.flatnonzero(p > threshold)
        masks = [self._seen_clusters.trellis.masks[i] for i in clusters]
        return consensus(masks, p[clusters], self.labels, threshold)

    def centroid(self) -> Hierarchy:
        """The hierarchy with the largest expected number of clusters that also occur in a draw, of those drawn."""
        gain = self._smoothed.values[self._seen_clusters.clusters].sum(axis=2)
        chain, draw = np.unravel_index(int(np.argmax(gain)), gain.shape)
        return self.support(self._seen_clusters.trellis.hierarchy_of(self._seen_clusters.splits[chain, draw]))

    def conditional_clusters(self) -> HierarchyPosterior:
        """The distribution that the draws suggest: splits as frequent as they were, independent of each other (CCD1).

        It gives probability to hierarchies, though not to splits, that no chain came upon; see `from_trees`.
        """
        return from_trees(self.trees)

    # One given hierarchy.

    def log_potential(self, hierarchy: Hierarchy, /) -> float:
        """Σ log ψ over the splits of a binary hierarchy; −inf if it breaks a condition."""
        aligned = hierarchy.aligned_to(self.labels)
        if self.conditions and not self.conditions.admit(aligned.clusters()):
            return -np.inf
        return self.model.log_potential(hierarchy)

    def support(self, hierarchy: Hierarchy) -> Hierarchy:
        """The same hierarchy, binary or not, with the probability of each of its clusters as support."""
        return hierarchy.with_support([self._value(mask) for mask in masks_of_hierarchy(hierarchy, self.labels)])

    def support_errors(self, hierarchy: Hierarchy) -> Floats:
        """(n_nodes,): the standard errors of `support`."""
        return np.array([self._probability(mask).standard_error for mask in masks_of_hierarchy(hierarchy, self.labels)])

    def credible_level(self, hierarchy: Hierarchy, /) -> Estimate:
        """The probability of all strictly more probable hierarchies."""
        own = self.log_potential(hierarchy)
        return self._share_of(self.log_potentials > own + SAME * max(1.0, abs(own)))

    def subtree_probability(self, subtree: Hierarchy) -> Estimate:
        """The probability that `subtree`, a binary hierarchy over some of the labels, occurs as it is."""
        require_binary(subtree)
        index, found = leaf_index(self.labels), np.ones((self.n_chains, self.n_draws), dtype=bool)
        for cluster in subtree.clusters():
            leaves = leaf_numbers([subtree.labels[leaf] for leaf in cluster], index)
            found &= self._seen_clusters.occurs(mask_of_leaves(leaves))
        return self._share_of(found)

    # Clusters.

    def cluster_probability(self, cluster: Cluster) -> Estimate:
        """The probability that `cluster` (leaf indices, or labels) occurs in a hierarchy."""
        return self._probability(cluster_mask(cluster, self.labels))

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[SampledClusterRow]:
        """The clusters of at least this probability, but singletons and the root; likeliest first."""
        trellis, p = self._seen_clusters.trellis, self._smoothed.values
        found = np.flatnonzero((p >= min_probability) & (trellis.sizes >= 2) & (trellis.sizes < self.n_leaves))
        found = found[np.lexsort((trellis.sizes[found], -p[found]))]

        def row(i: int) -> SampledClusterRow:
            estimate = self._probability(trellis.masks[found[i]])
            members = tuple(self.labels[leaf] for leaf in trellis.members(int(found[i])))
            return SampledClusterRow(members, len(members), estimate.value, estimate.standard_error)

        return Table(SampledClusterRow, row, len(found))

    def split_probabilities(self, cluster: Cluster, most: int | None = None) -> Table[SampledSplitRow]:
        """The splits of `cluster` that were drawn, each with its probability given that the cluster occurs."""
        trellis, splits = self._seen_clusters.trellis, self._seen_clusters.splits
        number = trellis.find_mask(cluster_mask(cluster, self.labels))
        if number < 0:
            raise ValueError(f"the cluster {list(cluster)!r} was never drawn, so nothing is known of its splits")
        occurs = (self._seen_clusters.clusters == number).any(axis=2)
        which = np.where(self._seen_clusters.clusters == number, splits, -1).max(axis=2)
        first, last = trellis.offsets[number : number + 2].tolist()
        shares = np.bincount(which[occurs] - first, minlength=last - first) / occurs.sum()
        chosen = likeliest(shares, most)

        def row(i: int) -> SampledSplitRow:
            # A ratio of two means: its error is that of the difference, over the mean below.
            s, p = first + chosen[i], float(shares[chosen[i]])
            rest = (which == s) - p * occurs
            error = float(standard_error(rest)) / occurs.mean() if 0.0 < p < 1.0 else 0.0
            parts = (trellis.members(int(side[s])) for side in (trellis.left, trellis.right))
            left, right = (tuple(self.labels[x] for x in part) for part in parts)
            return SampledSplitRow(left, right, p, error)

        return Table(SampledSplitRow, row, len(chosen))

    def expected(self, f: SplitValues) -> Estimate:
        """E[Σ f(L, R) over the splits of a hierarchy], as `HierarchyPosterior.expected` has it."""
        values = split_values(f, self.model).split_log_potentials(self._seen_clusters.trellis)
        return self._mean(values[self._seen_clusters.splits].sum(axis=2))

    def expected_lca_size(self) -> Estimates:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        return expected_lca(self._rows, depth=False)

    def expected_lca_depth(self) -> Estimates:
        """(n, n): the expected number of clusters, but the root, that hold both i and j; on the diagonal, only i."""
        return expected_lca(self._rows, depth=True)

    # Trellises.

    def share_in(self, trellis: SparseTrellis) -> Estimate:
        """The probability that a hierarchy is made of splits of `trellis`: what a posterior on it covers."""
        own, other = self._seen_clusters.trellis, trellis.aligned_to(self.labels)
        number = other.find_words(own.words)
        there = other.find_splits(number[own.parent], number[own.left]) >= 0
        return self._share_inside(np.asarray(there[self._seen_clusters.splits].all(axis=2)))

    # What the draws say.

    @cached
    def _seen_clusters(self) -> SeenClusters:
        return find_clusters(self.trees, self.n_chains)

    @cached
    def _smoothed(self) -> Estimates:
        target = conditioned(self.model, self.conditions)
        return smooth_clusters(self._seen_clusters, self._rows, target, self._run.threads, self._run.progress)

    @cached
    def _judged(self) -> JudgedClusters:
        return judge_clusters(self._seen_clusters, self.log_potentials, self._smoothed.standard_errors)

    @cached
    def _found(self) -> tuple[Hierarchy, float]:
        # Nodes are numbered as the trellis has them, which decides how moves from there go on.
        top = int(np.argmax(self.log_potentials))
        return self._cooled_further(self._seen_clusters.trellis.hierarchy_of(self._seen_clusters.splits_by_draw()[top]))

    def _probability(self, mask: int) -> Estimate:
        if self._is_everywhere(mask):
            return Estimate(1.0, "exact")
        if (number := self._seen_clusters.find_smoothed(mask)) < 0:
            return self._share_of(self._seen_clusters.occurs(mask))
        value, error = (float(x[number]) for x in (self._smoothed.values, self._smoothed.standard_errors))
        return Estimate(value, "estimate", error)

    def _value(self, mask: int) -> float:
        # The value of `_probability` alone: the error of a share takes far longer.
        if self._is_everywhere(mask):
            return 1.0
        number = self._seen_clusters.find_smoothed(mask)
        return float(self._seen_clusters.occurs(mask).mean() if number < 0 else self._smoothed.values[number])

    def _is_everywhere(self, mask: int) -> bool:
        return mask & (mask - 1) == 0 or mask == (1 << self.n_leaves) - 1

    def __repr__(self) -> str:
        return f"SampledPosterior({self.model!r}{self.conditions.phrase()}: {self._judgement()})"

    def _repr_html_(self) -> str:
        known = self._known("_found") and self._known("_smoothed")
        best = self.model.with_heights(self.support(self._found[0])) if known else None
        conditions = ("conditions", self.conditions.phrase().strip() or None)
        return card("SampledPosterior", [*self._facts(), conditions], best)
