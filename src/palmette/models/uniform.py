"""Every hierarchy alike."""

from __future__ import annotations

from collections.abc import Sequence

from palmette._jit import inline
from palmette.models.bounds import uniform_bound
from palmette.models.split_model import SeparableModel

__all__ = ["Uniform"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = 0.0
    out[1] = 0.0
    out[2] = 0.0


class Uniform(SeparableModel):
    """log ψ(L, R) = 0: Z counts the (2n − 3)!! binary hierarchies over n leaves.

    >>> import palmette as pal
    >>> round(pal.HierarchyPosterior(pal.models.Uniform(5)).log_partition, 6)  # log 105
    4.65396
    """

    features = staticmethod(_features)
    bound = staticmethod(uniform_bound)
    never_gains = True

    def __init__(self, n_leaves: int, *, labels: Sequence[str] | None = None) -> None:
        super().__init__(n_leaves, labels=labels)
