"""Weighted hierarchies with times: what sequential Monte Carlo comes back with, as a posterior that can be asked."""

from __future__ import annotations

from functools import cached_property
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.posterior import Draws
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["CoalescentDraws", "weighted_histories"]


class CoalescentDraws(Draws):
    """S weighted histories: a sequence of hierarchies whose heights are ages, and shares of weight for probabilities.

    `children` (S, n − 1, 2) and `ages` (S, n − 1) are the events of each, the most recent first; `weights` (S,) add up
    to 1; `log_evidence` is an estimate of log p(x) whose exponential is unbiased; `n_effective` (n − 1,) is the
    effective number of particles after each event, before any resampling. Where `Draws` counts draws, weights count.
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
        weight = np.exp(log_weights - log_weights.max(initial=-np.inf))
        self.children, self.ages = read_only(children), read_only(ages)
        self.weights, self._log_weights = read_only(weight / weight.sum()), log_weights
        self.log_evidence = float(log_evidence)
        self.n_effective = read_only(n_effective)
        self.labels = labels

    def __len__(self) -> int:
        return len(self.weights)

    @overload
    def __getitem__(self, index: int) -> Hierarchy: ...
    @overload
    def __getitem__(self, index: slice) -> CoalescentDraws: ...
    def __getitem__(self, index: int | slice) -> Hierarchy | CoalescentDraws:
        if isinstance(index, slice):
            arrays = self.children[index], self.ages[index], self._log_weights[index]
            return CoalescentDraws(*arrays, self.log_evidence, self.n_effective, self.labels)
        i = range(len(self))[index]
        return Hierarchy.from_merges(self.children[i], self.labels, heights=self.ages[i])

    @cached_property
    def log_probs(self) -> Floats:  # type: ignore[override]  # made when asked for, as are the next
        """(S,): log of the share of the weight that the topology of each history has."""
        with np.errstate(divide="ignore"):
            return np.log(self._topology_shares)

    def map(self) -> Hierarchy:
        """The topology with the largest share of the weight, with the ages of its heaviest particle.

        Among equals, that of the heaviest particle.
        """
        return self[int(np.lexsort((-self.weights, -self._topology_shares.round(12)))[0])]

    def most_credible(self) -> Hierarchy:
        """The history whose clusters have the largest product of probabilities, the first of equals; with its ages.

        Phylogenetics calls it the tree of maximum clade credibility. Where the posterior is flat, nearly every history
        is a topology of its own, and `map` says little; this one has the clusters that many histories agree on.
        """
        clusters = self._trellis.parent[self._rows]
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
    def _trellis(self) -> SparseTrellis:  # type: ignore[override]
        return SparseTrellis.from_hierarchies(self[i] for i in range(len(self)))

    @cached_property
    def _rows(self) -> npt.NDArray[np.integer]:  # type: ignore[override]
        # (S, n − 1): the splits of the trellis that each history is made of, increasing.
        return np.sort([self._trellis.find_hierarchy(self[i]) for i in range(len(self))], axis=1).reshape(len(self), -1)

    @cached_property
    def _topology_shares(self) -> Floats:
        _, which = np.unique(self._rows, axis=0, return_inverse=True)
        return np.asarray(np.bincount(which.reshape(-1), self.weights)[which.reshape(-1)], dtype=np.float64)

    @cached_property
    def _probabilities(self) -> Floats:
        shares = np.zeros(self._trellis.n_clusters)
        shares[: self.n_leaves] = 1.0
        clusters = self._trellis.parent[self._rows]
        np.add.at(shares, clusters.reshape(-1), np.repeat(self.weights, clusters.shape[1]))
        return np.minimum(shares, 1.0)

    def _shares(self) -> tuple[list[int], Floats]:
        self._require_some()
        inner = np.arange(self.n_leaves, self._trellis.n_clusters)
        return [self._trellis.masks[i] for i in inner], self._probabilities[inner]

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
