"""Weighted hierarchies with times: what sequential Monte Carlo comes back with, as a posterior that can be asked."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, ClassVar, Literal, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints, Numbers
from palmette.clusters import Cluster, cluster_mask
from palmette.coalescent.founders import error_of, founder_errors, n_independent
from palmette.coalescent.process import Process
from palmette.coalescent.verdict import ParticleVerdict, judge_runs
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import named
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import binary_trees
from palmette.labels import describe_cluster
from palmette.models.base import Clusterings
from palmette.posterior import Draws
from palmette.posterior.estimate import Estimate
from palmette.posterior.node_ages import largest_product
from palmette.posterior.tables import Table
from palmette.sampling.estimates import SampledClusterRow
from palmette.trellis.hierarchies.observed import Observed, observe
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["CoalescentDraws", "weighted_histories"]


class CoalescentDraws(Draws):
    """S weighted histories: a sequence of hierarchies whose heights are ages, and shares of weight for probabilities.

    `children` (S, n − 1, 2) and `ages` (S, n − 1) are the events of each, the most recent first; `weights` (S,) add up
    to 1; `log_evidence` is an estimate of log p(x) whose exponential is unbiased; `n_effective` (n − 1,) is the
    effective number of particles after each event, before any resampling, added up over the runs. Where `Draws` counts
    draws, weights count, and probabilities have errors.

    `runs` (S,) says which of several independent runs each belongs to, and `founders` (S,) from which particle after
    the first event it descends: histories with one founder are not independent, and `n_independent` is how many are,
    effectively. `leaf_ages` (n,) are the heights of the leaves.
    """

    is_exact = False
    _of_runs: ParticleVerdict | None = None  # on the runs that these were resampled from
    clusterings: ClassVar[Clusterings] = "hierarchies"
    kind: ClassVar[Literal["particles"]] = "particles"

    def __init__(
        self,
        children: Ints,
        ages: Floats,
        log_weights: Floats,
        log_evidence: float,
        n_effective: Floats,  # (n − 1,) in all, or (runs, n − 1)
        labels: tuple[str, ...],
        runs: Numbers | None = None,
        founders: Numbers | None = None,
        process: Process | None = None,
        leaf_ages: Floats | None = None,
    ) -> None:
        top = max(float(log_weights.max(initial=-np.inf)), np.finfo(np.float64).min)
        weight = np.exp(log_weights - top)
        if len(weight) and not weight.any():  # a run that died out
            weight[:] = 1.0
        self.children, self.ages = read_only(children), read_only(ages)
        self.weights, self._log_weights = read_only(weight / weight.sum()), log_weights
        self.log_evidence = float(log_evidence)
        self._n_effective = np.atleast_2d(n_effective)
        self.labels = labels
        self.runs = read_only(np.zeros(len(weight), dtype=np.int64) if runs is None else runs)
        self.founders = read_only(np.arange(len(weight)) if founders is None else founders)
        self.process = process
        """What wanders along the branches, as far as it is known."""
        self.leaf_ages = read_only(np.zeros(len(labels)) if leaf_ages is None else leaf_ages)

    def __len__(self) -> int:
        return len(self.weights)

    @overload
    def __getitem__(self, index: int) -> Hierarchy: ...
    @overload
    def __getitem__(self, index: slice) -> CoalescentDraws: ...
    def __getitem__(self, index: int | slice) -> Hierarchy | CoalescentDraws:
        if isinstance(index, slice):
            return self._some(index, self._log_weights[index], self.log_evidence, self._n_effective, self.runs[index])
        i = range(len(self))[index]
        heights = np.concatenate([self.leaf_ages, self.ages[i]])
        return Hierarchy.from_merges(self.children[i], self.labels, heights=heights)

    def _some(
        self, where: Any, log_weights: Floats, log_evidence: float, n_effective: Floats, runs: Numbers | None
    ) -> CoalescentDraws:
        # The histories at these places, of which the rest is as it was.
        known = log_weights, log_evidence, n_effective, self.labels, runs, self.founders[where]
        made = CoalescentDraws(self.children[where], self.ages[where], *known, self.process, self.leaf_ages)
        made._of_runs = self._of_runs
        return made

    @cached_property
    def n_effective(self) -> Floats:
        """(n − 1,): the effective number of particles after each event, before any resampling, of all runs."""
        return read_only(self._n_effective.sum(axis=0))

    @cached_property
    def n_independent(self) -> float:
        """The effective number of histories that do not descend from each other's founder, from 1 to S."""
        return n_independent(self.weights, self.founders)

    @cached_property
    def run_log_evidences(self) -> Floats:
        """(n_runs,): the estimate of log p(x) of each run by itself."""
        _, of = np.unique(self.runs, return_inverse=True)
        top = float(self._log_weights.max())
        with np.errstate(divide="ignore"):
            return np.log(np.bincount(of, np.exp(self._log_weights - top)) / np.bincount(of)) + top

    def by_run(self) -> list[CoalescentDraws]:
        """Each run by itself, with its own evidence and effective numbers."""
        found = []
        for run, log_evidence in zip(np.unique(self.runs), self.run_log_evidences.tolist(), strict=True):
            own = self.runs == run
            n_effective = self._n_effective[[run]] if len(self._n_effective) > 1 else self._n_effective
            found.append(self._some(own, self._log_weights[own], log_evidence, n_effective, self.runs[own]))
        return found

    @cached_property
    def verdict(self) -> ParticleVerdict:
        """Whether the runs agree and hold enough independent histories, in figures and, as a string, in words."""
        self._require_some()
        inner = slice(self.n_leaves, self._trellis.n_clusters - 1)
        if self._of_runs is not None:
            own = replace(self._of_runs, n_particles=len(self), n_independent=self.n_independent)
            return replace(own, standard_error=float(self._errors[inner].max(initial=0.0)))
        figures = self.run_log_evidences, self._run_shares[:, inner], self._errors[inner]
        name = lambda i: describe_cluster(self._trellis.members(self.n_leaves + i), self.labels)  # noqa: E731
        return judge_runs(*figures, len(self), self.n_independent, name)

    def cluster_probability(self, cluster: Cluster) -> Estimate:  # type: ignore[override]  # here with an error
        """The share of the weight of the histories in which `cluster` (leaf indices or labels) occurs."""
        self._require_some()
        mask = cluster_mask(cluster, self.labels)
        if mask.bit_count() in (1, self.n_leaves):
            return Estimate(1.0, "exact")
        at = self._trellis.find_mask(mask)
        if at < 0:
            return Estimate(0.0, "estimate", float(error_of(np.zeros(1), 0.0, self.n_independent)[0]))
        return Estimate(float(self._probabilities[at]), "estimate", float(self._errors[at]))

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[SampledClusterRow]:  # type: ignore[override]
        """The clusters, but singletons and the root, of at least this share of the weight, heaviest first."""
        self._require_some()
        inner = np.arange(self.n_leaves, self._trellis.n_clusters - 1)
        found = inner[self._probabilities[inner] >= min_probability]
        found = found[np.lexsort((self._trellis.sizes[found], -self._probabilities[found]))]

        def row(i: int) -> SampledClusterRow:
            at = int(found[i])
            members = tuple(self.labels[leaf] for leaf in self._trellis.members(at))
            return SampledClusterRow(members, len(members), float(self._probabilities[at]), float(self._errors[at]))

        return Table(SampledClusterRow, row, len(found))

    def shares(self) -> list[tuple[Hierarchy, float]]:
        """The different topologies, each with its share of the weight, heaviest first."""
        _, where = np.unique(self._rows, axis=0, return_index=True)
        shares = self._topology_shares[where]
        return [(self._make(self._rows[where[i]]), float(shares[i])) for i in np.argsort(-shares, kind="stable")]

    def expected_lca_size(self) -> Floats:
        """(n, n): the expected size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        self._require_some()
        return np.asarray(sum(share * found.lca_size() for found, share in self.shares()))

    @cached_property
    def log_probs(self) -> Floats:  # type: ignore[override]  # made when asked for, as are the next
        """(S,): log of the share of the weight that the topology of each history has."""
        with np.errstate(divide="ignore"):
            return np.log(self._topology_shares)

    def map(self) -> Hierarchy:
        """The topology with the largest share of the weight, with the ages of its heaviest particle.

        Among equals, that of the heaviest particle. Its `support` are the probabilities of its clusters.
        """
        return self.support(self[int(np.lexsort((-self.weights, -self._topology_shares.round(12)))[0])])

    def most_credible(self) -> Hierarchy:
        """The history whose clusters have the largest product of probabilities, the first of equals; with its ages.

        Phylogenetics calls it the tree of maximum clade credibility. Where the posterior is flat, nearly every history
        is a topology of its own, and `map` says little; this one has the clusters that many histories agree on. Its
        `support` are the probabilities of its clusters.
        """
        return self.support(self[largest_product(self._probabilities, self._clusters)])

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> list[Hierarchy]:
        """`size` of the histories, drawn by weight, with repetition."""
        chosen = np.random.default_rng(rng).choice(len(self), size, p=self.weights)
        return [self[int(i)] for i in chosen]

    def resampled(self, size: int, rng: np.random.Generator | int | None = None) -> CoalescentDraws:
        """`size` of the histories, drawn by weight, with repetition, and of equal weight: fewer, for what is costly.

        They are one run. What the runs that they come from say of each other stays in the verdict.
        """
        chosen = np.sort(np.random.default_rng(rng).choice(len(self), size, p=self.weights))
        found = self._some(chosen, np.full(size, self.log_evidence), self.log_evidence, self.n_effective[None], None)
        found._of_runs = self._of_runs or self.verdict  # and not the runs: the few should not keep the many
        return found

    def expectation(self, values: npt.ArrayLike) -> Any:
        """Σ weight · value, for one value or array per history."""
        given = np.asarray(values, dtype=np.float64)
        if given.ndim == 0 or len(given) != len(self):
            raise ValueError(f"values has shape {given.shape}; expected one entry for each of {len(self)} histories")
        return np.tensordot(self.weights, given, axes=1)

    @cached_property
    def _observed(self) -> Observed:
        # All histories at once, without a `Hierarchy` of each.
        S, n = len(self), self.n_leaves
        parents = np.full((S, 2 * n - 1), -1, dtype=np.int32)
        parents[np.arange(S)[:, None], self.children.reshape(S, 2 * n - 2)] = np.repeat(np.arange(n, 2 * n - 1), 2)
        return observe(binary_trees(parents, self.labels, self.weights))

    @cached_property
    def _trellis(self) -> SparseTrellis:  # type: ignore[override]
        return SparseTrellis.from_observed(self._observed)

    @cached_property
    def _rows(self) -> Numbers:  # type: ignore[override]
        # (S, n − 1): the splits of the trellis that each history is made of, increasing.
        return np.sort(self._observed.splits, axis=1)

    @cached_property
    def _topology_shares(self) -> Floats:
        _, which = np.unique(self._rows, axis=0, return_inverse=True)
        return np.asarray(np.bincount(which.reshape(-1), self.weights)[which.reshape(-1)], dtype=np.float64)

    @cached_property
    def _clusters(self) -> Numbers:
        # (S, n − 1): the clusters of two leaves or more of each history.
        clusters: Numbers = self._trellis.parent[self._rows]
        return clusters

    @cached_property
    def _estimates(self) -> tuple[Floats, Floats]:
        # (n_clusters,) each: shares of the weight, and their errors.
        shares, errors = founder_errors(self.weights, self.founders, self._clusters, self._trellis.n_clusters)
        known = np.r_[0 : self.n_leaves, self._trellis.n_clusters - 1]  # in every hierarchy
        shares[known], errors[known] = 1.0, 0.0
        return shares, errors

    @property
    def _probabilities(self) -> Floats:
        return self._estimates[0]

    @property
    def _errors(self) -> Floats:
        return self._estimates[1]

    @cached_property
    def _run_shares(self) -> Floats:
        # (n_runs, n_clusters): of the weight within each run.
        found = []
        for run in self.by_run():
            clusters, weights = self._clusters[self.runs == run.runs[0]], run.weights
            of_each = np.repeat(weights, clusters.shape[1])
            found.append(np.bincount(clusters.reshape(-1), of_each, minlength=self._trellis.n_clusters))
        return np.minimum(found, 1.0)

    def _shares(self) -> tuple[list[int], Floats]:
        self._require_some()
        inner = np.arange(self.n_leaves, self._trellis.n_clusters)
        return [self._trellis.masks[i] for i in inner], self._probabilities[inner]

    def _facts(self) -> Iterator[tuple[str, object]]:
        runs = len(np.unique(self.runs))
        yield "histories", f"{len(self):,} in {runs} run{'s' if runs > 1 else ''}"
        yield "leaves", f"{self.n_leaves:,}: {named(self.labels)}"
        yield "log evidence", self.log_evidence
        yield "verdict", self.verdict if "verdict" in vars(self) else None
        if len(self):
            yield "independent histories", f"{self.n_independent:,.1f}; below, the heaviest one"

    def _pictured(self) -> Hierarchy | None:
        return self[int(np.argmax(self.weights))] if len(self) else None

    def __repr__(self) -> str:
        words = f"{len(self)} histories over {self.n_leaves} leaves, log evidence {self.log_evidence:.2f}"
        return f"CoalescentDraws({words})"


def weighted_histories(history: Any) -> tuple[Floats, list[Hierarchy]]:
    """Weights that add up to 1, and the histories that have any; one hierarchy has weight 1."""
    if isinstance(history, Hierarchy):
        return np.ones(1), [history]
    if not isinstance(history, CoalescentDraws):
        raise TypeError(f"expected a Hierarchy with heights or CoalescentDraws, not {history!r}")
    carried = np.flatnonzero(history.weights)
    return history.weights[carried] / history.weights[carried].sum(), [history[int(i)] for i in carried]
