"""Every partition alike."""

from __future__ import annotations

from collections.abc import Sequence

from palmette._jit import inline
from palmette.models.cluster_model import ClusterModel, only_feature

__all__ = ["UniformPartitions"]


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = 0.0


class UniformPartitions(ClusterModel):
    """log ψ(C) = 0: Z counts the partitions of n leaves, a Bell number.

    >>> import palmette as pal
    >>> post = pal.PartitionPosterior(pal.models.UniformPartitions(4))
    >>> post.count, round(post.cluster_probability([0, 1]), 6)  # {0, 1} is a cluster of 2 of the 15
    (15, 0.133333)
    """

    n_features = 1
    features = staticmethod(_features)
    score = staticmethod(only_feature)
    may_forbid = False

    def __init__(self, n_leaves: int, *, labels: Sequence[str] | None = None) -> None:
        super().__init__(n_leaves, labels=labels)
