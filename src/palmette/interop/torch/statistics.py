"""Models that are linear in a matrix w, and the expectations that their derivatives are.

    log φ(x) = β · Σ_{i<j} w_ij · t_ij(x)    ⟹    ∂ log Z / ∂ w_ij = β · E[t_ij],  ∂ log Z / ∂β = Σ_{i<j} w_ij · E[t_ij]

x is a hierarchy or a partition. What t is, and how its exact expectation is asked for, is all that tells models apart.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import depths
from palmette.models import Correlation, CorrelationClusters, Dasgupta
from palmette.partition import Partition
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.partitions import PartitionPosterior

__all__ = ["LINEAR_MODELS", "LinearModel"]


def _as_counted(counts: Floats, w: Floats) -> Floats:
    return np.broadcast_to(counts, w.shape)


class LinearModel(NamedTuple):
    """t_ij of one clustering, and its expectation under the posterior; both (n, n), symmetric, 0 on the diagonal."""

    clustering: Any  #: what is clustered into: Hierarchy or Partition
    make: Any  #: the model of w and β
    infer: Any  #: the posterior of the model
    expected_counts: Callable[[Any], Floats]  #: of a posterior: what is counted for each pair
    counts: Callable[[Any], Floats]  #: of a clustering
    slopes: Callable[[Floats, Floats], Floats] = _as_counted  #: t, of the counts and w

    def posterior(self, w: Floats, beta: float, labels: Sequence[str] | None, options: dict[str, Any]) -> Any:
        """The posterior of the matrix w."""
        return self.infer(self.make(w, beta, labels=labels), **options)

    def expected(self, posterior: Any, w: Floats) -> Floats:
        """E[t]."""
        return _hollow(self.slopes(self.expected_counts(posterior), w))

    def observed(self, clustering: Any, w: Floats) -> Floats:
        """t of a clustering whose leaves are the rows of w, which may be a batch (…, n, n)."""
        return _hollow(self.slopes(self.counts(clustering), w))


def _hollow(t: Floats) -> Floats:
    return np.where(np.eye(t.shape[-1], dtype=np.bool_), 0.0, t)


def _depths_where_repelled(counts: Floats, w: Floats) -> Floats:
    # At 0 there is a kink: 0 lies between the two slopes.
    return np.where(w < 0.0, counts, np.where(w > 0.0, -1.0, 0.0))


def _lca_depths(hierarchy: Hierarchy) -> Floats:
    leaves = np.arange(hierarchy.n_leaves)
    return np.asarray(depths(hierarchy.parents, np.ones(hierarchy.n_nodes))[hierarchy.lca(leaves[:, None], leaves)])


LINEAR_MODELS: dict[str, LinearModel] = {
    "dasgupta": LinearModel(  # t = −|lca(i, j)|
        Hierarchy,
        Dasgupta,
        HierarchyPosterior,
        expected_counts=lambda posterior: -posterior.expected_lca_size(),
        counts=lambda hierarchy: -hierarchy.lca_size().astype(np.float64),
    ),
    "correlation": LinearModel(  # t = depth of lca(i, j) where w < 0, −1 where w > 0
        Hierarchy,
        Correlation,
        HierarchyPosterior,
        expected_counts=HierarchyPosterior.expected_lca_depth,
        counts=_lca_depths,
        slopes=_depths_where_repelled,
    ),
    "correlation-clusters": LinearModel(  # t = 1 where i and j are together
        Partition,
        CorrelationClusters,
        PartitionPosterior,
        expected_counts=PartitionPosterior.coclustering,
        counts=lambda partition: (partition.membership[:, None] == partition.membership).astype(np.float64),
    ),
}
