"""Sums of squares: every cluster should be tight around its mean."""

from __future__ import annotations

from collections.abc import Sequence

import numpy.typing as npt

from palmette._jit import inline
from palmette.checks import check_beta, check_points
from palmette.labels import labels_of
from palmette.models.bounds import sum_of_squares_bound
from palmette.models.outlook import minus_cluster_cost, neighbour_outlook
from palmette.models.pair_data import squared_distances
from palmette.models.split_model import SeparableModel
from palmette.models.tempered import Tempered

__all__ = ["SumOfSquares"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = 0.0
    out[1] = pairs[0] / size
    out[2] = -theta[0]


@inline
def _merge_score(theta, parent, left, right):
    return left[1] + right[1] - parent[1]


class SumOfSquares(SeparableModel, Tempered):
    """log ψ(L, R) = −β · [ SSE(L) + SSE(R) ], SSE(S) = Σ_{i∈S} ‖x_i − mean of S‖².

    Over a hierarchy that is −β times the sum of SSE over all clusters but the root. (Ward's increment
    SSE(P) − SSE(L) − SSE(R) telescopes to a constant, so it cannot be a log potential; it is what greedy
    agglomeration minimises here.) `points` is (n, d).

    >>> import palmette as pal
    >>> m = pal.models.SumOfSquares([[0.0], [1.0], [10.0]])
    >>> m.log_potential(pal.Hierarchy.from_nested(((0, 1), 2))), m.log_potential(pal.Hierarchy.from_nested((0, (1, 2))))
    (-0.5, -40.5)
    """

    pairwise_holds = "squared distances"
    features = staticmethod(_features)
    merge_score = staticmethod(_merge_score)
    bound = staticmethod(sum_of_squares_bound)
    never_gains = True
    beam_score = staticmethod(minus_cluster_cost)
    beam_outlook = staticmethod(neighbour_outlook)

    def __init__(self, points: npt.ArrayLike, beta: float = 1.0, *, labels: Sequence[str] | None = None) -> None:
        x = check_points(points)
        beta = check_beta(beta)
        # SSE(S) = Σ_{i<j∈S} ‖x_i − x_j‖² / |S|: one pair sum, whatever the dimension.
        super().__init__(len(x), theta=[beta], pairwise=[squared_distances(x, beta)], labels=labels_of(points, labels))
