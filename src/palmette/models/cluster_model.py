"""Models of partitions: log ψ of a cluster from its features."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.models.base import FeatureModel, Model
from palmette.models.evaluate import member_log_potentials
from palmette.partition import Partition

__all__ = ["ClusterModel", "PartitionModel"]


class PartitionModel(Model):
    """log ψ(C) for every cluster C of the leaves; a partition has the sum over its clusters."""

    def log_potential(self, partition: Partition) -> float:
        """Σ log ψ over the clusters of a partition on the same labels (any number of leaves)."""
        membership = partition.aligned_to(self.labels).membership
        offsets = np.concatenate([[0], np.cumsum(np.bincount(membership))])
        return float(self.log_potentials(offsets, np.argsort(membership, kind="stable")).sum())

    def log_potentials(self, offsets: Ints, members: Ints) -> Floats:
        """(m,): log ψ of m listed clusters; the leaves of cluster i are members[offsets[i] : offsets[i + 1]]."""
        raise TypeError(f"{type(self).__name__} does not say how to score a cluster")


class ClusterModel(FeatureModel, PartitionModel):
    """log ψ(C) = score(θ, features(C)).

    Subclass it, set `n_features`, write `features` and `score` as static methods, and hand the data to
    `super().__init__`; see the tutorial "A model of your own". Both are compiled for you if they are plain Python.

    ``features(theta, n, size, sums, pairs, out)``
        fills ``out`` (k numbers) for one cluster of ``size`` leaves out of ``n``. ``sums[c]`` is the sum of column c
        of `additive` over its members, ``pairs[c]`` the sum of matrix c of `pairwise` over its unordered pairs.
    ``score(theta, cluster)``
        log ψ from a tuple of k numbers; −inf for an impossible cluster; never NaN.
    """

    _kind = "ClusterModel"
    _signatures = {  # noqa: RUF012 – declared a ClassVar where it comes from
        "features": "theta, n, size, sums, pairs, out",
        "score": "theta, cluster",
    }

    def log_potentials(self, offsets: Ints, members: Ints) -> Floats:
        """(m,): log ψ of m listed clusters; O(size) each, O(size²) with pair sums."""
        return member_log_potentials(self, offsets, members)
