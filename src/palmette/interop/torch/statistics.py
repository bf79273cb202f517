"""Models that are linear in a matrix w, and the expectations that their derivatives are.

    log φ(x) = β · Σ_{i<j} w_ij · t_ij(x)    ⟹    ∂ log Z / ∂ w_ij = β · E[t_ij],  ∂ log Z / ∂β = Σ_{i<j} w_ij · E[t_ij]

x is a hierarchy or a partition. What t is, and how its exact expectation is asked for, is all that tells models apart.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.models import Correlation, CorrelationClusters, Dasgupta
from palmette.partition import Partition
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.partitions import PartitionPosterior

__all__ = ["LINEAR_MODELS", "LinearModel"]


class LinearModel(ABC):
    """t_ij of one clustering, and its expectation under the posterior; both (n, n), symmetric, 0 on the diagonal."""

    clustering: ClassVar[Any]  #: what is clustered into: Hierarchy or Partition
    _model: ClassVar[Any]
    _posterior: ClassVar[Any] = HierarchyPosterior

    def posterior(self, w: Floats, beta: float, labels: Sequence[str] | None, options: dict[str, Any]) -> Any:
        """The posterior of the matrix w."""
        return self._posterior(self._model(w, beta, labels=labels), **options)

    def expected(self, posterior: Any, w: Floats) -> Floats:
        """E[t]."""
        return _hollow(self._slopes(self._expected(posterior), w))

    def observed(self, clustering: Any, w: Floats) -> Floats:
        """t of a clustering whose leaves are the rows of w, which may be a batch (…, n, n)."""
        return _hollow(self._slopes(self._observed(clustering), w))

    def _slopes(self, counts: Floats, w: Floats) -> Floats:
        # t, of what is counted for each pair.
        return np.broadcast_to(counts, w.shape)

    @abstractmethod
    def _expected(self, posterior: Any) -> Floats: ...
    @abstractmethod
    def _observed(self, clustering: Any) -> Floats: ...


class _Dasgupta(LinearModel):
    # t = −|lca(i, j)|
    clustering = Hierarchy
    _model = Dasgupta

    def _expected(self, posterior: HierarchyPosterior) -> Floats:
        return -posterior.expected_lca_size()

    def _observed(self, clustering: Hierarchy) -> Floats:
        return -clustering.lca_size().astype(np.float64)


class _Correlation(LinearModel):
    # t = depth of lca(i, j) where w < 0, −1 where w > 0. At 0 there is a kink: 0 lies between the two slopes.
    clustering = Hierarchy
    _model = Correlation

    def _slopes(self, counts: Floats, w: Floats) -> Floats:
        return np.where(w < 0.0, counts, np.where(w > 0.0, -1.0, 0.0))

    def _expected(self, posterior: HierarchyPosterior) -> Floats:
        return posterior.expected_lca_depth()

    def _observed(self, clustering: Hierarchy) -> Floats:
        depths = np.zeros(clustering.n_nodes)
        for node in range(clustering.n_nodes - 2, -1, -1):
            depths[node] = depths[clustering.parents[node]] + 1.0
        leaves = np.arange(clustering.n_leaves)
        return np.asarray(depths[clustering.lca(leaves[:, None], leaves)])


class _CorrelationClusters(LinearModel):
    # t = 1 where i and j are together
    clustering = Partition
    _model = CorrelationClusters
    _posterior = PartitionPosterior

    def _expected(self, posterior: PartitionPosterior) -> Floats:
        return posterior.coclustering()

    def _observed(self, clustering: Partition) -> Floats:
        return np.asarray(clustering.membership[:, None] == clustering.membership, dtype=np.float64)


def _hollow(t: Floats) -> Floats:
    return np.where(np.eye(t.shape[-1], dtype=np.bool_), 0.0, t)


LINEAR_MODELS: dict[str, LinearModel] = {
    "dasgupta": _Dasgupta(),
    "correlation": _Correlation(),
    "correlation-clusters": _CorrelationClusters(),
}
