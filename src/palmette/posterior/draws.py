"""Many hierarchies over the same leaves, as one array of masks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.clusters import Cluster, cluster_mask
from palmette.hierarchy import Hierarchy
from palmette.posterior.consensus import consensus, hierarchy_of_masks
from palmette.posterior.tables import ClusterRow, Table, cluster_table

__all__ = ["Draws"]

Floats = npt.NDArray[np.float64]


class Draws(Sequence[Hierarchy]):
    """Draws from a posterior: a sequence of hierarchies, each made when asked for, and shares for probabilities.

    `masks` is (size, n − 1): the clusters of two leaves or more of every draw, as increasing bit masks.
    `log_probs` is (size,): the exact log-probability of each draw.
    """

    def __init__(self, masks: npt.NDArray[np.uint32], log_probs: Floats, labels: tuple[str, ...]) -> None:
        self.masks = read_only(masks)
        self.log_probs = read_only(log_probs)
        self.labels = labels

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self.masks)

    @overload
    def __getitem__(self, index: int) -> Hierarchy: ...
    @overload
    def __getitem__(self, index: slice) -> Draws: ...
    def __getitem__(self, index: int | slice) -> Hierarchy | Draws:
        if isinstance(index, slice):
            return Draws(self.masks[index], self.log_probs[index], self.labels)
        return hierarchy_of_masks(self.masks[range(len(self))[index]], self.labels)

    def counts(self) -> list[tuple[Hierarchy, int]]:
        """The different hierarchies among the draws, the most frequent first (among equals the more probable)."""
        rows, where, counts = np.unique(self.masks, axis=0, return_index=True, return_counts=True)
        order = np.lexsort((-self.log_probs[where], -counts))
        return [(hierarchy_of_masks(rows[i], self.labels), int(counts[i])) for i in order]

    def cluster_probability(self, cluster: Cluster) -> float:
        """The share of the draws in which `cluster` (leaf indices or labels) occurs."""
        mask = cluster_mask(cluster, self.labels)
        self._require_some()
        if mask.bit_count() == 1:
            return 1.0
        return float((self.masks == mask).any(axis=1).mean())

    def cluster_probabilities(self, min_probability: float = 0.01) -> Table[ClusterRow]:
        """The clusters, but singletons and the root, in at least this share of the draws, most frequent first."""
        masks, shares = self._shares()
        keep = (shares >= min_probability) & (masks != (1 << self.n_leaves) - 1)
        return cluster_table(masks[keep], shares[keep], self.labels)

    def consensus(self, threshold: float = 0.5) -> Hierarchy:
        """The hierarchy of the clusters in more than this share of the draws."""
        return consensus(*self._shares(), self.labels, threshold)

    def map(self) -> Hierarchy:
        """The most probable hierarchy among the draws."""
        self._require_some()
        return self[int(np.argmax(self.log_probs))]

    def _shares(self) -> tuple[npt.NDArray[np.uint32], Floats]:
        self._require_some()
        masks, counts = np.unique(self.masks, return_counts=True)
        return masks, counts / len(self)

    def _require_some(self) -> None:
        if len(self) == 0:
            raise ValueError("there are no draws; sample at least one")

    def __repr__(self) -> str:
        return f"Draws({len(self)} hierarchies over {self.n_leaves} leaves)"
