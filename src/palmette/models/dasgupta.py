"""Dasgupta's cost: similar leaves should part late, in small clusters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette._jit import inline
from palmette.checks import check_beta, check_finite_total, check_matrix
from palmette.labels import columns_as_rows, labels_of
from palmette.models.bounds import dasgupta_bound
from palmette.models.outlook import triple_outlook
from palmette.models.split_model import SeparableModel
from palmette.models.tempered import Tempered

__all__ = ["Dasgupta", "average_affinity"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = -theta[0] * size * pairs[0]
    out[1] = pairs[0]
    out[2] = theta[0] * size
    out[3] = size


@inline
def average_affinity(theta, parent, left, right):
    """w(L, R) / (|L|·|R|): average linkage; of features (…, pair sum, …, size)."""
    return (parent[1] - left[1] - right[1]) / (left[3] * right[3])


class Dasgupta(SeparableModel, Tempered):
    """log ψ(L, R) = −β · |L ∪ R| · Σ_{i∈L, j∈R} w_ij.

    `similarity` is a symmetric (n, n) matrix w; its diagonal is not used. Larger β trusts the cost more: β = 0 is the
    uniform law, β → ∞ the cheapest hierarchy. Greedy agglomeration merges the most similar pair on average.

    >>> import numpy as np, palmette as pal
    >>> w = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])
    >>> pal.models.Dasgupta(w).log_potential(pal.Hierarchy.from_nested(((0, 1), 2)))  # −(3·2 + 2·3)
    -12.0
    """

    n_features = 4
    pairwise_holds = "similarities"
    features = staticmethod(_features)
    merge_score = staticmethod(average_affinity)
    bound = staticmethod(dasgupta_bound)
    beam_outlook = staticmethod(triple_outlook)

    @property
    def never_gains(self) -> bool:
        """Whether no similarity is negative."""
        return bool(self.pairwise.min() >= 0.0)

    def __init__(self, similarity: npt.ArrayLike, beta: float = 1.0, *, labels: Sequence[str] | None = None) -> None:
        weights = check_matrix(columns_as_rows(similarity), "similarity")
        beta = check_beta(beta)
        check_finite_total(beta * len(weights), float(np.abs(weights).sum()), "similarity")
        super().__init__(len(weights), theta=[beta], pairwise=[weights], labels=labels_of(similarity, labels))
