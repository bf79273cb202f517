"""The posterior over hierarchies: a model times a trellis, and the questions it answers."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.clusters import Cluster, cluster_mask
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.models.base import Model, require_binary
from palmette.posterior.best import LazyBest
from palmette.posterior.cache import Cached, cached
from palmette.posterior.conditions import Conditions
from palmette.posterior.consensus import check_threshold, consensus, hierarchy_of_masks
from palmette.posterior.draws import Draws
from palmette.posterior.estimate import Estimate
from palmette.posterior.sampling import draw_masks
from palmette.posterior.tables import ClusterRow, SplitRow, Table, cluster_table, split_table
from palmette.recursions import outside
from palmette.trellis.counting import count_hierarchies
from palmette.trellis.full import FullTrellis

__all__ = ["HierarchyPosterior"]

Floats = npt.NDArray[np.float64]

# Two log potentials nearer than this (relative to their size) are the same number summed in another order.
_SAME = 1e-11

# All 2^n clusters rarer than this together hold less than 1e-15 nats of entropy.
_NEGLIGIBLE = 1e-25


class HierarchyPosterior(Cached):
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

    def __init__(
        self,
        model: Model,
        *,
        max_memory: int | None = None,
        threads: int | None = None,
        progress: bool | None = None,
    ) -> None:
        if not isinstance(model, Model):
            raise TypeError(f"expected a model, such as palmette.models.Dasgupta(similarity), not {model!r}")
        super().__init__()
        self._model = model
        self._options: dict[str, Any] = {"max_memory": max_memory, "threads": threads, "progress": progress}
        self._conditions = Conditions(model.labels)
        FullTrellis(model, **self._options)  # says at once if it is too large

    @property
    def model(self) -> Model:
        """What gives log ψ."""
        return self._model

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._model.n_leaves

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._model.labels

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
        return hierarchy_of_masks(self._trellis.best_masks(self._maximum), self.labels)

    def best(self, k: int) -> list[tuple[Hierarchy, float]]:
        """The k most probable hierarchies with their log-probabilities, best first; fewer if there are fewer."""
        _check_positive("k", k)
        self._require_possible()
        found = LazyBest(self._trellis, self._maximum, k)
        return [(hierarchy_of_masks(masks, self.labels), self._log_prob(value)) for value, masks in found]

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> Draws:
        """`size` independent exact draws. `rng` is a seed or a generator; the same seed gives the same draws."""
        if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
            raise ValueError(f"size is {size!r}; expected the number of draws, a whole number of at least 0")
        seed = int(np.random.default_rng(rng).integers(2**63))
        masks, log_potentials = draw_masks(self._trellis, self._possible, int(size), seed)
        return Draws(masks, np.minimum(log_potentials - self.log_partition, 0.0), self.labels)

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

    def log_potential(self, hierarchy: Hierarchy) -> float:
        """Σ log ψ over the splits of a binary hierarchy; −inf if it breaks a condition."""
        if not self._conditions.admit(hierarchy.aligned_to(self.labels)):
            return -np.inf
        return self._model.log_potential(hierarchy)

    def log_prob(self, hierarchy: Hierarchy) -> float:
        """log p(H) ≤ 0."""
        self._require_possible()
        return self._log_prob(self.log_potential(hierarchy))

    def rank(self, hierarchy: Hierarchy, limit: int = 10_000) -> Estimate:
        """1 + the number of strictly more probable hierarchies.

        Exact if it is at most `limit`, the number of hierarchies that are enumerated; else a lower bound.
        """
        better = self._better(hierarchy, limit)
        if better is None:
            return Estimate(self.count + 1, "exact")
        values, complete = better
        return Estimate(len(values) + 1, "exact" if complete else "bound")

    def credible_level(
        self,
        hierarchy: Hierarchy,
        limit: int = 10_000,
        n_draws: int = 10_000,
        rng: np.random.Generator | int | None = None,
    ) -> Estimate:
        """The probability of all strictly more probable hierarchies: H lies in every credible set of a larger level.

        Exact if there are fewer than `limit` of them; else the share among `n_draws` exact draws, with its standard
        error.
        """
        better = self._better(hierarchy, limit)
        if better is None:
            return Estimate(1.0, "exact")
        values, complete = better
        if complete:
            return Estimate(min(1.0, float(np.exp(np.array(values) - self.log_partition).sum())), "exact")
        _check_positive("n_draws", n_draws)
        draws = self.sample(n_draws, 0 if rng is None else rng)
        own = self.log_potential(hierarchy) - self.log_partition
        share = float((draws.log_probs > own + self._tolerance(own)).mean())
        # Agresti and Coull: a share of 0 or 1 among few draws is not certain.
        centre = (share * n_draws + 2) / (n_draws + 4)
        return Estimate(share, "estimate", float(np.sqrt(centre * (1 - centre) / (n_draws + 4))))

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
        return split_table(mask, left[keep], probabilities[keep], self.labels)

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

    def _require_possible(self) -> None:
        if self.log_partition == -np.inf:
            raise ImpossibleData(
                f"every hierarchy over these {self.n_leaves} leaves has probability zero under {self._model!r}"
                f"{self._conditions.phrase()}"
            )

    def _log_prob(self, log_potential: float) -> float:
        return min(0.0, log_potential - self.log_partition)

    def _tolerance(self, log_prob: float) -> float:
        return _SAME * max(1.0, abs(log_prob), abs(self.log_partition))

    def _better(self, hierarchy: Hierarchy, limit: int) -> tuple[list[float], bool] | None:
        # The log potentials of the strictly better hierarchies, and whether these are all; None: all possible ones.
        _check_positive("limit", limit)
        self._require_possible()
        own = self.log_potential(hierarchy)
        if own == -np.inf:
            return None
        threshold = own + self._tolerance(own)
        values: list[float] = []
        for value, _ in LazyBest(self._trellis, self._maximum, limit):
            if value <= threshold:
                return values, True
            values.append(value)
        return values, len(values) < limit

    def __getstate__(self) -> dict[str, Any]:
        return {"model": self._model, "options": self._options, "conditions": self._conditions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        HierarchyPosterior.__init__(self, state["model"], **state["options"])
        self._conditions = state["conditions"]

    def __repr__(self) -> str:
        return f"HierarchyPosterior({self._model!r}{self._conditions.phrase()})"


def _check_positive(name: str, value: int) -> None:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
