"""The posterior over hierarchies: a model times a trellis, and the questions it answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator

import numpy as np

from palmette.array_types import Floats
from palmette.clusters import Cluster, mask_of_leaves
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import hierarchy_of_masks
from palmette.labels import leaf_index, leaf_numbers
from palmette.models.base import require_model
from palmette.models.split_function import SplitValues, split_values
from palmette.models.split_model import HierarchyModel, require_binary
from palmette.passes.hierarchies import HierarchyConditions, HierarchyPasses, Outside, hierarchy_passes
from palmette.passes.hierarchies.protocol import Normalised, Splits, SplitShares
from palmette.passes.resources import Resources
from palmette.posterior.base import Posterior
from palmette.posterior.best_hierarchies import BestHierarchies
from palmette.posterior.cache import cached
from palmette.posterior.hierarchy_verbs import HierarchyVerbs
from palmette.trellis import SparseTrellis

__all__ = ["HierarchyPosterior"]


class HierarchyPosterior(
    Posterior[Hierarchy, HierarchyModel, SparseTrellis, HierarchyConditions, HierarchyPasses], HierarchyVerbs
):
    """p(H) = φ(H) / Z over all binary hierarchies H of the model's leaves, exactly.

    φ(H) = Π ψ(L, R) over the splits of H. With a `SparseTrellis` the sum is over the hierarchies in it, of any number
    of leaves: log Z is then a lower bound of that of all hierarchies, and every answer is given that the hierarchy is
    in the trellis. Tables are computed when first needed and kept; `clear` frees them, pickling drops them.
    `max_memory` is in bytes (default: three quarters of the machine's), `threads` None means all processors,
    `progress` None means a bar on stderr if that is a terminal.

    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [5.0]], labels=["a", "b", "c"]))
    >>> post.map()
    Hierarchy.from_newick('((a,b),c);')
    >>> round(post.cluster_probability(["a", "b"]), 4)
    0.9994
    """

    def __init__(
        self,
        model: HierarchyModel,
        *,
        trellis: SparseTrellis | None = None,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        require_model(model, "hierarchies", "a model, such as palmette.models.Dasgupta(similarity)")
        resources = Resources(max_memory, threads, progress)
        super().__init__(model, _aligned(trellis, model.labels), HierarchyConditions(model.labels), resources)

    def _make_passes(self) -> HierarchyPasses:
        return hierarchy_passes(self._model, self._trellis, self._conditions, self._resources)

    # One number each.

    @cached
    def log_partition(self) -> float:
        """log Z = log Σ_H φ(H); −inf if every hierarchy is impossible."""
        return float(self._inside[self.passes.root])

    @cached
    def entropy(self) -> float:
        """−Σ p(H) log p(H), in nats; exp of it is the effective number of hierarchies."""
        if not self._known("_occurrence"):
            return max(0.0, self.passes.entropy_alone(self._possible))
        mu, entropy = self._occurrence
        return max(0.0, self.passes.entropy(self._possible, mu) if entropy is None else entropy)

    # Hierarchies.

    def map(self) -> Hierarchy:
        """The most probable hierarchy; ties go to the lowest mask, the same way every time.

        Its `support`, as that of `best`, are the probabilities of its clusters, if these were asked for before or take
        milliseconds: up to 12 leaves, or 300,000 splits of a sparse trellis. ``post.support(post.map())`` has them
        always, for as much time as the MAP itself.
        """
        self._require_possible()  # by sums: a log ψ that is NaN shows in them, and maxima pass over it
        return self._shown(self._best)

    # One given hierarchy.

    def log_potential(self, hierarchy: Hierarchy, /) -> float:
        """Σ log ψ over the splits of a binary hierarchy; −inf if it breaks a condition or is not in the trellis."""
        if not self.admits(hierarchy) or (self._trellis is not None and not self._trellis.holds(hierarchy)):
            return -np.inf
        return self._model.log_potential(hierarchy)

    def admits(self, hierarchy: Hierarchy) -> bool:
        """Whether a hierarchy meets the conditions."""
        aligned = hierarchy.aligned_to(self.labels)
        return not self._conditions or self._conditions.admit(aligned.clusters())

    def subtree_probability(self, subtree: Hierarchy) -> float:
        """The probability that `subtree`, a binary hierarchy over some of the labels, occurs as it is.

        μ(S)·φ(subtree)/Z(S), where S is the cluster of its leaves.
        """
        require_binary(subtree)
        index = leaf_index(self.labels)
        clusters = [leaf_numbers([subtree.labels[leaf] for leaf in cluster], index) for cluster in subtree.clusters()]
        masks = [mask_of_leaves(cluster) for cluster in clusters]
        root = self.passes.number(masks[-1])
        if root < 0 or self._possible[root] == -np.inf or not self._conditions.admit(clusters):
            return 0.0
        left, right = ([masks[child] for child in column] for column in subtree.children.T)
        log_potential = float(self.passes.log_psi_of(left, right).sum())
        return float(self._outside[root]) * math.exp(min(0.0, log_potential - self._possible[root]))

    # Pairs of leaves.

    def expected_lca_size(self) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        return self.passes.expected_lca_sizes(self._possible, self._outside)

    def expected(self, f: SplitValues) -> float:
        """E[Σ f(L, R) over the splits of a hierarchy]: one more pass, exactly.

        `f` is a function of two arrays of bit masks, as `palmette.models.SplitFunction` takes it, or a model of the
        same leaves, whose log ψ is taken for f. Of a 0/1 function it is the expected number of such splits.

        >>> import numpy as np, palmette as pal
        >>> is_even = lambda left, right: np.bitwise_count(left) == np.bitwise_count(right)
        >>> round(pal.HierarchyPosterior(pal.models.Uniform(4)).expected(is_even), 4)  # 12/15 · 1 + 3/15 · 3
        1.4
        """
        return self.passes.expected(self._possible, self._outside, split_values(f, self._model))

    def link_probabilities(self) -> Floats:
        """(n, n): the probability that i and j are joined, given what is known of all pairs; 0 on the diagonal.

        E over hierarchies of (E + a)/(N + a + b) at the split that parts the two, for a `HierarchicalRandomGraph`: the
        posterior predictive of a missing pair. For counts and similarities it is the expected value of the pair.
        """
        values = self._model.predictions
        if values is None:
            raise TypeError(
                f"{type(self._model).__name__} does not say what a pair of leaves is expected to be; "
                "HierarchicalRandomGraph, PoissonPairs and NormalPairs do"
            )
        return self.passes.expected_at_parting(self._possible, self._outside, values)

    # Other posteriors.

    def kl(self, other: HierarchyPosterior) -> float:
        """KL(self ‖ other) = Σ_H p(H) log(p(H)/q(H)), in nats; +inf if `other` forbids what occurs here.

        Between two samples of trees that is nearly always so: see `smoothed` and `evaluate.agreement`. What is rarer
        than any float64 does not occur.
        """
        if not isinstance(other, HierarchyPosterior):
            raise TypeError(f"expected another HierarchyPosterior, not {other!r}")
        if other.labels != self.labels:
            raise ValueError(
                "the two posteriors have different leaves; make both models with the same labels, in the same order"
            )
        self._require_possible()
        found = self._tempered_kl(other)
        return self.divergence(Normalised(other.passes, other._possible)) if found is None else max(0.0, found)

    def divergence(self, other: SplitShares) -> float:
        """KL(self ‖ other) in nats from what need not be a posterior, over the same labels: see `smoothed`.

        All that is asked of it is the probability of a split given its parent.
        """
        found = self.passes.divergence(self._possible, self._outside, other)
        return 0.0 if found < 0.0 else found  # rounding

    def _tempered_kl(self, other: HierarchyPosterior) -> float | None:
        # If they differ in β alone, the other's log φ is r times this one's, and KL = log Z' − r log Z − (1 − r) H.
        # None if not, or if so little is left of the difference that a walk over all splits has more digits.
        ratio = self._model.beta_ratio(other._model)
        if ratio is None or self._trellis is not other._trellis or self._conditions != other._conditions:
            return None
        terms = (other.log_partition, -ratio * self.log_partition, -(1.0 - ratio) * self.entropy)
        error = 4 * np.finfo(float).eps * sum(map(abs, terms)) + 1e-10 * abs(1.0 - ratio)  # of an entropy
        return sum(terms) if error < 1e-9 * sum(terms) else None

    def condition(self, require: Iterable[Cluster] = (), forbid: Iterable[Cluster] = ()) -> HierarchyPosterior:
        """The posterior given that every cluster in `require` occurs and none in `forbid`; conditions add up.

        log P(conditions) = conditioned.log_partition − self.log_partition, also where the probability underflows.
        """
        return self._with(self._model, self._trellis, self._conditions.and_also(require, forbid))

    def on(self, trellis: SparseTrellis | None) -> HierarchyPosterior:
        """The same model under the same conditions on another trellis; None is the full one."""
        return self._with(self._model, _aligned(trellis, self.labels), self._conditions)

    @cached
    def _occurrence(self) -> Outside:
        return self.passes.outside(self._possible)

    @cached
    def _outside(self) -> Floats:
        return self._occurrence.mu

    @cached
    def _best(self) -> Hierarchy:
        return self._make(self.passes.best_masks(self._maximum))

    # What the common verbs need.

    def _split_shares(self, cluster: int) -> Splits | None:
        Z = self._possible
        if Z[cluster] == -np.inf:
            return None
        left, right, values = self.passes.splits(cluster, Z)
        return left, right, np.minimum(np.exp(values - Z[cluster]), 1.0)

    def _ranked(self, limit: int) -> Iterator[tuple[float, list[int]]]:
        return iter(BestHierarchies(self.passes, self._maximum, limit))

    def _make(self, clusters: list[int]) -> Hierarchy:
        return hierarchy_of_masks(clusters, self.labels)


def _aligned(trellis: SparseTrellis | None, labels: tuple[str, ...]) -> SparseTrellis | None:
    if trellis is not None and not isinstance(trellis, SparseTrellis):
        raise TypeError(f"trellis must be a SparseTrellis or None, not {trellis!r}")
    return None if trellis is None else trellis.aligned_to(labels)
