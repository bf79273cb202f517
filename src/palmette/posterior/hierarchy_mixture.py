"""Posteriors over hierarchies, weighted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.clusters import Cluster
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import parents_of_masks
from palmette.hierarchy.tree_set import binary_trees
from palmette.models.split_function import SplitValues
from palmette.passes.hierarchies.protocol import HierarchyPasses, Splits
from palmette.posterior.cache import cached
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.hierarchy_verbs import HierarchyVerbs
from palmette.posterior.mixture import Mixture
from palmette.trellis import SparseTrellis
from palmette.trellis.hierarchies.observed import observe

__all__ = ["HierarchyMixture"]


class HierarchyMixture(Mixture[Hierarchy, HierarchyPosterior, SparseTrellis], HierarchyVerbs):
    """p(H) = Σ w_k p_k(H), posteriors over the same hierarchies with weights w_k ∝ exp(log_weights[k]).

    It answers as `HierarchyPosterior` does, exactly where an answer is linear in the posterior. That is how
    `palmette.evidence.average` leaves parameters open: log weights are then log p(data, parameters), and `log_evidence`
    is log p(data) with none of them chosen. The entropy is an `Estimate`, and there is no KL; ask the `parts` for it.

    >>> import palmette as pal
    >>> x = [[0.0], [0.2], [5.0], [5.1]]
    >>> parts = [pal.HierarchyPosterior(pal.models.Contrasts(x, a, b=0.01)) for a in (0.3, 0.6)]
    >>> mixture = HierarchyMixture(parts, [part.log_evidence for part in parts])
    >>> [round(x.cluster_probability([0, 1]), 4) for x in (*mixture.parts, mixture)], mixture.weights.round(2)
    ([0.9331, 0.9845, 0.9469], array([0.73, 0.27]))
    """

    _part = HierarchyPosterior

    @property
    def passes(self) -> HierarchyPasses:
        """Those of the heaviest part: which clusters there are is the same for all."""
        return self._frame.passes

    def admits(self, hierarchy: Hierarchy) -> bool:
        """Whether a hierarchy meets the conditions."""
        return self._frame.admits(hierarchy)

    def subtree_probability(self, subtree: Hierarchy) -> float:
        """The probability that `subtree`, a binary hierarchy over some of the labels, occurs as it is."""
        return float(self.weights @ self._each(lambda part: part.subtree_probability(subtree)))

    def expected_lca_size(self) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        return self._mean(lambda part: part.expected_lca_size())

    def expected(self, f: SplitValues) -> float:
        """E[Σ f(L, R) over the splits of a hierarchy], exactly."""
        return float(self.weights @ self._each(lambda part: part.expected(f)))

    def link_probabilities(self) -> Floats:
        """(n, n): the probability that i and j are joined, given what is known of all pairs; 0 on the diagonal."""
        return self._mean(lambda part: part.link_probabilities())

    def condition(self, require: Iterable[Cluster] = (), forbid: Iterable[Cluster] = ()) -> HierarchyMixture:
        """The same given that every cluster in `require` occurs and none in `forbid`: parts that expected it gain."""
        require, forbid = list(require), list(forbid)
        return self._given([part.condition(require, forbid) for part in self.parts])

    def on(self, trellis: SparseTrellis | None) -> HierarchyMixture:
        """The same parts on another trellis, None is the full one; those that have more in it gain."""
        return self._given([part.on(trellis) for part in self.parts])

    @cached
    def _outside(self) -> Floats:
        return read_only(np.minimum(self._mean(lambda part: part._outside), 1.0))

    def _split_shares(self, cluster: int) -> Splits | None:
        # p(split | C) = Σ w_k μ_k(C) p_k(split | C) / Σ w_k μ_k(C).
        weights = self.weights * self._each(lambda part: float(part._outside[cluster]))
        if not weights.any():
            return None
        left, right, _ = self.passes.splits(cluster, self._outside)  # whatever the table: only the parts are wanted
        shares = self._mean(lambda part: _shares(part, cluster, len(left)), weights / weights.sum())
        return left, right, np.minimum(shares, 1.0)

    def _log_probs(self, found: list[Hierarchy]) -> Floats:
        if self.n_leaves == 1:
            return np.zeros((len(self.parts), len(found)))
        seen = observe([hierarchy.aligned_to(self.labels) for hierarchy in found])
        return self._split_log_probs(SparseTrellis.from_observed(seen), seen.splits)

    def _row_log_probs(self, rows: npt.NDArray[Any]) -> Floats:
        if self.trellis is not None:
            return self._split_log_probs(self.trellis, rows)
        if len(rows) == 0 or self.n_leaves == 1:
            return np.zeros((len(self.parts), len(rows)))
        seen = observe(binary_trees(parents_of_masks(rows), self.labels))
        return self._split_log_probs(SparseTrellis.from_observed(seen), seen.splits)

    def _split_log_probs(self, trellis: SparseTrellis, splits: Ints) -> Floats:
        sums = [part.model.split_log_potentials(trellis)[splits].sum(axis=1) for part in self.parts]
        return np.minimum(np.array(sums) - self._log_partitions[:, None], 0.0)


def _shares(part: HierarchyPosterior, cluster: int, count: int) -> Floats:
    found = part._split_shares(cluster)
    return np.zeros(count) if found is None else found[2]
