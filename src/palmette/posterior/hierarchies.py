"""The posterior over hierarchies: a model times a trellis, and the questions it answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.clusters import Cluster, cluster_mask, cluster_members
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import HierarchyModel, require_binary
from palmette.posterior.base import Posterior, wrong_model
from palmette.posterior.best import LazyBest
from palmette.posterior.cache import cached
from palmette.posterior.conditions import Conditions
from palmette.posterior.consensus import check_threshold, consensus, hierarchy_of_masks
from palmette.posterior.draws import Draws
from palmette.posterior.sampling import draw_masks
from palmette.posterior.tables import ClusterRow, SplitRow, Table, cluster_table, split_table
from palmette.recursions import outside
from palmette.trellis.counting import count_hierarchies
from palmette.trellis.full import FullTrellis

__all__ = ["HierarchyPosterior"]

Floats = npt.NDArray[np.float64]

# All 2^n clusters rarer than this together hold less than 1e-15 nats of entropy.
_NEGLIGIBLE = 1e-25


class HierarchyPosterior(Posterior[Hierarchy]):
    """p(H) = φ(H) / Z over all binary hierarchies H of the model's leaves, exactly.

    φ(H) = Π ψ(L, R) over the splits of H. Tables over all 2^n clusters are computed when first needed and kept;
    `clear` frees them, pickling drops them. `max_memory` is in bytes (default: three quarters of the machine's),
    `threads` None means all processors, `progress` None means a bar on stderr if that is a terminal.

    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [1.0], [5.0]], labels=["a", "b", "c"]))
    >>> post.map()
    Hierarchy.from_newick('((a,b),c);')
    >>> round(post.cluster_probability(["a", "b"]), 4)
    0.9994
    """

    _thing = "hierarchy"
    _model: HierarchyModel

    def __init__(
        self,
        model: HierarchyModel,
        *,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        if not isinstance(model, HierarchyModel):
            raise wrong_model(model, "palmette.models.Dasgupta(similarity)")
        super().__init__(model)
        self._options: dict[str, Any] = {"max_memory": max_memory, "threads": threads, "progress": progress}
        self._conditions = Conditions(model.labels)
        FullTrellis(model, **self._options)  # says at once if it is too large

    @property
    def model(self) -> HierarchyModel:
        """What gives log ψ."""
        return self._model

    @property
    def is_exact(self) -> bool:
        """True: the full trellis holds every hierarchy."""
        return True

    @property
    def memory_needed(self) -> int:
        """Bytes that log Z and the MAP take; known before they are computed."""
        return self._trellis.memory_needed

    # One number each.

    @property
    def log_partition(self) -> float:
        """log Z = log Σ_H φ(H); −inf if every hierarchy is impossible."""
        return float(self._inside[-1])

    @cached
    def count(self) -> int:
        """The number of hierarchies of non-zero potential, as an exact integer."""
        return count_hierarchies(self._trellis)

    @cached
    def entropy(self) -> float:
        """−Σ_H p(H) log p(H), in nats; exp of it is the effective number of hierarchies."""
        kernel = self._trellis.specialised(outside.entropy_clusters)
        arguments = (self._trellis.data, self._possible)
        return max(0.0, self._trellis.expectation(kernel, arguments, self._outside, _NEGLIGIBLE))

    # Hierarchies.

    def map(self) -> Hierarchy:
        """The most probable hierarchy; ties go to the lowest mask, the same way every time."""
        self._require_possible()
        return self._make(self._trellis.best_masks(self._maximum))

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Draws:
        """`size` independent exact draws. `rng` is a seed or a generator; the same seed gives the same draws."""
        return Draws(*self._sampled(size, rng), self.labels)

    def consensus(self, threshold: float = 0.5) -> Hierarchy:
        """The clusters with probability strictly above `threshold`, as one hierarchy that may be multifurcating.

        From one half on no two can cross; below, they are added by falling probability where they fit.
        Its `support` are the probabilities.
        """
        check_threshold(threshold)
        masks = np.flatnonzero(self._outside > threshold)
        return consensus(masks, self._outside[masks], self.labels, threshold)

    def centroid(self) -> Hierarchy:
        """The binary hierarchy with the largest expected number of clusters that also occur in a draw.

        It maximises Σ μ(C) over its clusters, a maximum recursion with log ψ(L, R) := μ(L) + μ(R).
        Its `support` are the probabilities.
        """
        mu = self._outside
        gain = self._trellis.with_sums(mu)
        hierarchy = hierarchy_of_masks(gain.best_masks(gain.maximum()), self.labels)
        support = mu[hierarchy.cluster_masks()]
        return Hierarchy.from_parents(hierarchy.parents, self.labels, support=support)

    # One given hierarchy.

    def log_potential(self, hierarchy: Hierarchy, /) -> float:
        """Σ log ψ over the splits of a binary hierarchy; −inf if it breaks a condition."""
        if not self._conditions.admit(hierarchy.aligned_to(self.labels)):
            return -np.inf
        return self._model.log_potential(hierarchy)

    def subtree_probability(self, subtree: Hierarchy) -> float:
        """The probability that `subtree`, a binary hierarchy over some of the labels, occurs as it is.

        μ(S)·φ(subtree)/Z(S), where S is the cluster of its leaves.
        """
        require_binary(subtree)
        clusters = [[subtree.labels[leaf] for leaf in cluster] for cluster in subtree.clusters()]
        masks = np.array([cluster_mask(cluster, self.labels) for cluster in clusters], dtype=np.uint64)
        root = masks[-1]
        if self._possible[root] == -np.inf or not self._conditions.admit_masks(masks):
            return 0.0
        left, right = masks[subtree.children].T
        log_potential = float(self._trellis.log_psi(left | right, left, right).sum())
        return float(self._outside[root]) * math.exp(min(0.0, log_potential - self._possible[root]))

    # Clusters.

    def cluster_probability(self, cluster: Cluster) -> float:
        """The probability that `cluster` (leaf indices, or labels) occurs in a hierarchy."""
        return float(self._outside[cluster_mask(cluster, self.labels)])

    def cluster_probabilities(self, min_probability: float = 0.01) -> Table[ClusterRow]:
        """The clusters, but singletons and the root, that occur with at least this probability; likeliest first."""
        mu = self._outside
        masks = np.flatnonzero((mu >= min_probability) & (self._trellis.sizes >= 2))[:-1]
        return cluster_table(masks, mu[masks], self.labels)

    def cluster_probability_array(self) -> Floats:
        """(2^n,): the probability of every cluster, by bit mask (bit i set: leaf i belongs); a read-only view."""
        return self._outside

    def split_probabilities(self, cluster: Cluster) -> Table[SplitRow]:
        """The splits of `cluster` that compete, each with its probability given that the cluster occurs."""
        mask = cluster_mask(cluster, self.labels)
        Z = self._possible
        if Z[mask] == -np.inf:
            raise ValueError(f"the cluster {list(cluster)!r} cannot occur, so its splits have no probabilities")
        left, values = self._trellis.splits(mask, Z)
        probabilities = np.minimum(np.exp(values - Z[mask]), 1.0)
        keep = probabilities > 0.0
        one, two = left[keep].tolist(), (mask ^ left[keep].astype(np.int64)).tolist()
        sides = (lambda i: cluster_members(one[i]), lambda i: cluster_members(two[i]))
        return split_table(*sides, probabilities[keep], self.labels)

    def expected_lca_size(self) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        mu = self._outside
        # |lca| telescopes: Σ over clusters C ∋ i, j of |C| where C occurs, minus |parent of C| where it does.
        gain = self._trellis.sizes * mu - self._trellis.parent_sizes(self._possible, mu)
        out = self._trellis.pair_sums(gain)
        np.fill_diagonal(out, 1.0)
        return out

    # Other posteriors.

    def kl(self, other: HierarchyPosterior) -> float:
        """KL(self ‖ other) = Σ_H p(H) log(p(H)/q(H)), in nats; +inf if `other` forbids what occurs here."""
        if not isinstance(other, HierarchyPosterior):
            raise TypeError(f"expected another HierarchyPosterior, not {other!r}")
        if other.labels != self.labels:
            raise ValueError(
                "the two posteriors have different leaves; make both models with the same labels, in the same order"
            )
        functions = {"other_log_psi": other._trellis.potentials.log_psi}
        kernel = self._trellis.specialised(outside.divergence_clusters, **functions)
        arguments = (self._trellis.data, self._possible, other._trellis.data, other._possible)
        divergence = self._trellis.expectation(kernel, arguments, self._outside)
        return 0.0 if divergence < 0.0 else divergence  # rounding

    def condition(self, require: Iterable[Cluster] = (), forbid: Iterable[Cluster] = ()) -> HierarchyPosterior:
        """The posterior given that every cluster in `require` occurs and none in `forbid`; conditions add up.

        log P(conditions) = conditioned.log_partition − self.log_partition, also where the probability underflows.
        """
        conditioned = HierarchyPosterior(self._model, **self._options)
        conditioned._conditions = self._conditions.and_also(require, forbid)
        return conditioned

    # Tables, computed once.

    @cached
    def _trellis(self) -> FullTrellis:
        return FullTrellis(self._model, allowed=self._conditions.allowed(), **self._options)

    @cached
    def _inside(self) -> Floats:
        Z = read_only(self._trellis.inside())
        if not (np.inf > Z).all():
            raise ValueError(
                f"{type(self._model).__name__}.score returned NaN or inf; a log potential is finite or -inf"
            )
        return Z

    @property
    def _possible(self) -> Floats:
        self._require_possible()
        return self._inside

    @cached
    def _maximum(self) -> Floats:
        return read_only(self._trellis.maximum())

    @cached
    def _outside(self) -> Floats:
        return read_only(self._trellis.outside(self._possible))

    # What the common verbs need.

    def _count(self) -> int:
        return self.count

    def _ranked(self, limit: int) -> Iterator[tuple[float, list[int]]]:
        return iter(LazyBest(self._trellis, self._maximum, limit))

    def _make(self, clusters: list[int]) -> Hierarchy:
        return hierarchy_of_masks(clusters, self.labels)

    def _draw(self, size: int, seed: int) -> tuple[npt.NDArray[np.uint32], Floats]:
        return draw_masks(self._trellis, self._possible, size, seed)

    def _phrase(self) -> str:
        return self._conditions.phrase()

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._model, "options": self._options, "conditions": self._conditions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        HierarchyPosterior.__init__(self, state["model"], **state["options"])
        self._conditions = state["conditions"]

    def __repr__(self) -> str:
        return f"HierarchyPosterior({self._model!r}{self._conditions.phrase()})"
