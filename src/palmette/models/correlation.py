"""Hierarchical correlation clustering: attraction should not be cut, repulsion should not be kept."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.checks import check_beta, check_finite_total, check_matrix
from palmette.labels import columns_as_rows, labels_of
from palmette.models.bounds import correlation_bound
from palmette.models.dasgupta import average_affinity
from palmette.models.outlook import minus_cluster_cost, neighbour_outlook
from palmette.models.split_model import SeparableModel
from palmette.models.tempered import Tempered

__all__ = ["Correlation"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = -theta[0] * pairs[1]
    out[1] = pairs[0]
    out[2] = theta[0]
    out[3] = size


class Correlation(SeparableModel, Tempered):
    """log ψ(L, R) = −β · [ w⁺(L, R) − w⁻(L) − w⁻(R) ].

    w⁺(L, R) is the sum of the positive affinities across the split, w⁻(S) ≤ 0 the sum of the negative ones inside S.
    `affinity` is a symmetric (n, n) matrix; its diagonal is not used.

    Know what it says: over a hierarchy it telescopes to −β · (all positive affinities + Σ over negative pairs of
    |w_ij| · depth of their lowest common ancestor). Positive affinities never change which hierarchy is better,
    ties are common, and an affinity without negative entries gives the uniform posterior. Centre the affinity first.

    >>> import numpy as np, palmette as pal
    >>> w = np.array([[0, 2, -1], [2, 0, -1], [-1, -1, 0.0]])
    >>> m = pal.models.Correlation(w)
    >>> m.log_potential(pal.Hierarchy.from_nested(((0, 1), 2))), m.log_potential(pal.Hierarchy.from_nested((0, (1, 2))))
    (-2.0, -3.0)
    """

    n_features = 4
    pairwise_holds = "similarities"
    wants_signed = True
    features = staticmethod(_features)
    merge_score = staticmethod(average_affinity)
    bound = staticmethod(correlation_bound)
    never_gains = True
    beam_score = staticmethod(minus_cluster_cost)
    beam_outlook = staticmethod(neighbour_outlook)

    def __init__(self, affinity: npt.ArrayLike, beta: float = 1.0, *, labels: Sequence[str] | None = None) -> None:
        weights = check_matrix(columns_as_rows(affinity), "affinity")
        beta = check_beta(beta)
        check_finite_total(beta * len(weights), float(np.abs(weights).sum()), "affinity")
        pairwise = [weights, np.maximum(weights, 0.0)]
        super().__init__(len(weights), theta=[beta], pairwise=pairwise, labels=labels_of(affinity, labels))
