"""Weighted hierarchies with times: what sequential Monte Carlo comes back with, as a posterior that can be asked."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.posterior.consensus import check_threshold, consensus
from palmette.posterior.tables import ClusterRow, Table, member_table
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["CoalescentDraws"]


class CoalescentDraws:
    """S weighted histories: a sequence of hierarchies whose heights are ages, and shares of weight for probabilities.

    `children` (S, n − 1, 2) and `ages` (S, n − 1) are the events of each, the most recent first; `weights` (S,) add up
    to 1; `log_evidence` is an estimate of log p(x) whose exponential is unbiased; `n_effective` (n − 1,) is the
    effective number of particles after each event, before any resampling.
    """

    def __init__(
        self,
        children: Ints,
        ages: Floats,
        log_weights: Floats,
        log_evidence: float,
        n_effective: Floats,
        labels: tuple[str, ...],
    ) -> None:
        weight = np.exp(log_weights - log_weights.max())
        self.children, self.ages = read_only(children), read_only(ages)
        self.weights = read_only(weight / weight.sum())
        self.log_evidence = float(log_evidence)
        self.n_effective = read_only(n_effective)
        self.labels = labels

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self.weights)

    def __getitem__(self, index: int) -> Hierarchy:
        i = range(len(self))[index]
        return Hierarchy.from_merges(self.children[i], self.labels, heights=self.ages[i])

    def cluster_probability(self, cluster: Iterable[int | str]) -> float:
        """The share of the weight of histories in which `cluster` (leaf indices or labels) occurs."""
        number = self._trellis.find(cluster)
        return float(self._probabilities[number]) if number >= 0 else 0.0

    def cluster_probabilities(self, min_probability: float = 0.01) -> Table[ClusterRow]:
        """The clusters, but single leaves and the root, with at least this share of the weight, largest first."""
        inner = np.arange(self.n_leaves, self._trellis.n_clusters - 1)
        kept = inner[self._probabilities[inner] >= min_probability]
        members = lambda i: self._trellis.members(int(kept[i]))  # noqa: E731
        return member_table(members, self._trellis.sizes[kept], self._probabilities[kept], self.labels)

    def consensus(self, threshold: float = 0.5) -> Hierarchy:
        """The hierarchy of the clusters with more than this share of the weight; its `support` are the shares."""
        check_threshold(threshold)
        inner = np.arange(self.n_leaves, self._trellis.n_clusters)
        masks = [self._trellis.masks[i] for i in inner]
        return consensus(masks, self._probabilities[inner], self.labels, threshold)

    def map(self) -> Hierarchy:
        """The topology with the largest share of the weight, with the ages of its heaviest particle.

        Among equals, that of the heaviest particle.
        """
        topologies, which = np.unique(self._splits, axis=0, return_inverse=True)
        share = np.bincount(which.reshape(-1), self.weights, minlength=len(topologies))
        own = share[which.reshape(-1)]
        best = np.lexsort((-self.weights, -own.round(12)))[0]
        return self[int(best)]

    def most_credible(self) -> Hierarchy:
        """The history whose clusters have the largest product of probabilities, the first of equals; with its ages.

        Phylogenetics calls it the tree of maximum clade credibility. Where the posterior is flat, nearly every history
        is a topology of its own, and `map` says little; this one has the clusters that many histories agree on.
        """
        clusters = self._trellis.parent[self._splits]
        return self[int(np.log(self._probabilities[clusters]).sum(axis=1).argmax())]

    def sample(self, size: int, rng: np.random.Generator | int | None = None) -> list[Hierarchy]:
        """`size` of the histories, drawn by weight, with repetition."""
        chosen = np.random.default_rng(rng).choice(len(self), size, p=self.weights)
        return [self[int(i)] for i in chosen]

    def expectation(self, values: npt.ArrayLike) -> Any:
        """Σ weight · value, for one value or array per history."""
        given = np.asarray(values, dtype=np.float64)
        if given.ndim == 0 or len(given) != len(self):
            raise ValueError(f"values has shape {given.shape}; expected one entry for each of {len(self)} histories")
        return np.tensordot(self.weights, given, axes=1)

    @cached_property
    def _trellis(self) -> SparseTrellis:
        return SparseTrellis.from_hierarchies(self[i] for i in range(len(self)))

    @cached_property
    def _splits(self) -> Ints:
        # (S, n − 1): the splits of the trellis that each history is made of, increasing.
        return np.sort([self._trellis.find_hierarchy(self[i]) for i in range(len(self))], axis=1).reshape(len(self), -1)

    @cached_property
    def _probabilities(self) -> Floats:
        shares = np.zeros(self._trellis.n_clusters)
        shares[: self.n_leaves] = 1.0
        clusters = self._trellis.parent[self._splits]
        np.add.at(shares, clusters.reshape(-1), np.repeat(self.weights, clusters.shape[1]))
        return np.minimum(shares, 1.0)

    def __repr__(self) -> str:
        words = f"{len(self)} histories over {self.n_leaves} leaves, log evidence {self.log_evidence:.2f}"
        return f"CoalescentDraws({words})"
