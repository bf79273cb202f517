"""Many hierarchies over the same leaves, as one array."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.clusters import Cluster, cluster_mask, cluster_members
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import hierarchy_of_masks, masks_of_hierarchy
from palmette.posterior.consensus import consensus
from palmette.posterior.draws import DrawSequence
from palmette.posterior.tables import ClusterRow, Table, member_table
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["Draws"]


class Draws(DrawSequence[Hierarchy]):
    """Draws from a posterior: a sequence of hierarchies, each made when asked for, and shares for probabilities.

    `log_probs` is (size,): the exact log-probability of each draw. `masks` is (size, n − 1): the clusters of two
    leaves or more of every draw, as increasing bit masks. Draws from a sparse trellis hold `splits` in its place, the
    numbers of the trellis's splits that each draw is made of.
    """

    _things = "hierarchies"

    def __init__(
        self,
        rows: npt.NDArray[np.integer],
        log_probs: Floats,
        labels: tuple[str, ...],
        trellis: SparseTrellis | None = None,
    ) -> None:
        super().__init__(rows, log_probs, labels)
        self._trellis = trellis

    @property
    def masks(self) -> npt.NDArray[np.integer]:
        """(size, n − 1): the clusters of two leaves or more, as increasing bit masks; up to 62 leaves."""
        if self._trellis is None:
            return self._rows
        if self.n_leaves > 62:
            raise ValueError(f"bit masks hold at most 62 leaves, not {self.n_leaves}; use splits, or the hierarchies")
        return np.sort(self._trellis.words[:, 0].astype(np.int64)[self._trellis.parent[self._rows]], axis=1)

    @property
    def splits(self) -> npt.NDArray[np.integer]:
        """(size, n − 1): the splits of the sparse trellis that each draw is made of, increasing."""
        if self._trellis is None:
            raise ValueError("these draws come from the full trellis, which does not number its splits; use masks")
        return self._rows

    def _make(self, row: npt.NDArray[np.integer]) -> Hierarchy:
        return hierarchy_of_masks(row, self.labels) if self._trellis is None else self._trellis.hierarchy_of(row)

    def cluster_probability(self, cluster: Cluster) -> float:
        """The share of the draws in which `cluster` (leaf indices or labels) occurs."""
        return self._share_by_mask().get(cluster_mask(cluster, self.labels), 0.0)

    def support(self, hierarchy: Hierarchy) -> Hierarchy:
        """The same hierarchy, binary or not, with the share of the draws that have each of its clusters as support."""
        share = self._share_by_mask()
        masks = masks_of_hierarchy(hierarchy, self.labels)
        return hierarchy.with_support([share.get(mask, 0.0) for mask in masks])

    def cluster_probabilities(self, min_probability: float = DEFAULTS.min_probability) -> Table[ClusterRow]:
        """The clusters, but singletons and the root, in at least this share of the draws, most frequent first."""
        masks, shares = self._shares()
        root = (1 << self.n_leaves) - 1
        keep = [i for i, mask in enumerate(masks) if shares[i] >= min_probability and mask != root]
        sizes = np.array([masks[i].bit_count() for i in keep], dtype=np.int64)
        return member_table(lambda i: cluster_members(masks[keep[i]]), sizes, shares[keep], self.labels)

    def consensus(self, threshold: float = DEFAULTS.consensus) -> Hierarchy:
        """The hierarchy of the clusters in more than this share of the draws."""
        return consensus(*self._shares(), self.labels, threshold)

    def expected_lca_size(self) -> Floats:
        """(n, n): the mean size of the smallest cluster that holds both i and j; 1 on the diagonal."""
        self._require_some()
        return np.asarray(sum(count * found.lca_size() for found, count in self.counts()) / len(self))

    def _share_by_mask(self) -> dict[int, float]:
        masks, shares = self._shares()
        return dict.fromkeys((1 << leaf for leaf in range(self.n_leaves)), 1.0) | dict(
            zip(masks, shares.tolist(), strict=True)
        )

    def _shares(self) -> tuple[list[int], Floats]:
        # The clusters of two leaves or more that occur, as increasing masks, and in which share of the draws.
        self._require_some()
        if self._trellis is None:
            masks, counts = np.unique(self._rows, return_counts=True)
            return masks.tolist(), counts / len(self)
        clusters, counts = np.unique(self._trellis.parent[self._rows], return_counts=True)
        return [self._trellis.masks[i] for i in clusters], counts / len(self)

    def __repr__(self) -> str:
        return f"Draws({len(self)} hierarchies over {self.n_leaves} leaves)"
