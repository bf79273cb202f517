"""Correlation clustering: attraction inside clusters, repulsion between them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.checks import check_beta, check_finite_total, check_matrix
from palmette.labels import columns_as_rows, labels_of
from palmette.models.cluster_model import ClusterModel, only_feature
from palmette.models.tempered import Tempered

__all__ = ["CorrelationClusters"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = theta[0] * pairs[0]


class CorrelationClusters(ClusterModel, Tempered):
    """log ψ(C) = β · Σ_{i<j ∈ C} w_ij.

    `affinity` is a symmetric (n, n) matrix, positive where two leaves attract and negative where they repel; its
    diagonal is not used. The usual objective, affinities within clusters minus those across, is twice this minus
    a constant: it is the same posterior with β doubled. An affinity without negative entries puts the leaves into one
    cluster; centre it first.

    >>> import numpy as np, palmette as pal
    >>> w = np.array([[0, 2, -1], [2, 0, -1], [-1, -1, 0.0]])
    >>> pal.PartitionPosterior(pal.models.CorrelationClusters(w)).map()
    Partition([0, 0, 1])
    """

    n_features = 1
    features = staticmethod(_features)
    score = staticmethod(only_feature)
    may_forbid = False
    pairwise_holds = "similarities"
    wants_signed = True

    def __init__(self, affinity: npt.ArrayLike, beta: float = 1.0, *, labels: Sequence[str] | None = None) -> None:
        weights = check_matrix(columns_as_rows(affinity), "affinity")
        beta = check_beta(beta)
        check_finite_total(beta, float(np.abs(weights).sum()), "affinity")
        super().__init__(len(weights), theta=[beta], pairwise=[weights], labels=labels_of(affinity, labels))

    @property
    def affinity(self) -> npt.NDArray[np.float64]:
        """(n, n): the affinities w, with a zero diagonal."""
        return np.asarray(self.pairwise[0])
