"""Models of partitions: log ψ of a cluster from its features."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from palmette._jit import inline, inline_with
from palmette.array_types import Floats, Ints
from palmette.labels import align_labels
from palmette.links import offsets_of
from palmette.models.base import FeatureModel, Model
from palmette.models.evaluate import member_log_potentials, node_log_potentials, require_log_potentials
from palmette.models.features import tabulate_scores
from palmette.partition import Partition
from palmette.threads import Workers

if TYPE_CHECKING:
    from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["ClusterModel", "PartitionModel", "only_feature"]

_CALL = 1 << 16  # clusters that a person's function is asked about at a time


@inline
def only_feature(theta: Floats, cluster: Any) -> float:
    """The score of a model whose one feature is log ψ itself."""
    return cluster[0]  # type: ignore[no-any-return]


class PartitionModel(Model):
    """log ψ(C) for every cluster C of the leaves; a partition has the sum over its clusters.

    A subclass of its own needs `log_potentials`; everything else is made of it. `ClusterModel` and `ClusterFunction`
    have done that.
    """

    clusterings = "partitions"

    def log_potential(self, partition: Partition) -> float:
        """Σ log ψ over the clusters of a partition on the same labels (any number of leaves)."""
        membership = partition.aligned_to(self.labels).membership
        offsets = offsets_of(np.bincount(membership))
        return float(self.log_potentials(offsets, np.argsort(membership, kind="stable")).sum())

    def log_potentials(self, offsets: Ints, members: Ints) -> Floats:
        """(m,): log ψ of m listed clusters; the leaves of cluster i are members[offsets[i] : offsets[i + 1]]."""
        raise TypeError(f"{type(self).__name__} does not say how to score a cluster")

    def of_rows(self, rows: Sequence[int] | Ints) -> Self:
        """The same model of some of the leaves, by number, for `palmette.evidence`: whatever the others are."""
        raise TypeError(f"{type(self).__name__} does not say what it is of some of its leaves; write `of_rows`")

    def mask_log_potentials(self, masks: Ints) -> Floats:
        """(m,): log ψ of m clusters by their bit masks; at most 63 leaves."""
        belongs = (masks[:, None] >> np.arange(self.n_leaves) & 1).astype(bool)
        offsets = offsets_of(belongs.sum(axis=1))
        return self.log_potentials(offsets, np.nonzero(belongs)[1])

    def merge_scores(self, left: Ints, right: Ints) -> Floats:
        """(k,): what `search.greedy` maximises, for k pairs of clusters: log ψ(L ∪ R) − log ψ(L) − log ψ(R)."""
        joined, *apart = (self.mask_log_potentials(masks) for masks in (left | right, left, right))
        with np.errstate(invalid="ignore"):
            return np.where(joined > -np.inf, joined - (apart[0] + apart[1]), -np.inf)

    def cluster_log_potentials(self, trellis: PartitionTrellis) -> Floats:
        """(n_clusters,): log ψ of all clusters of a trellis on the same labels, which may come in another order."""
        number = np.argsort(align_labels(trellis.labels, self.labels))
        values = np.empty(trellis.n_clusters)
        for here, offsets, members in trellis.listings():
            values[here] = self.log_potentials(offsets, number[members])
        return values

    def tabulate_clusters(self, workers: Workers, table: Floats) -> None:
        """table[C] = log ψ(C) for all 2^n clusters, by mask; table[∅] is left alone."""
        for first in range(0, len(table), _CALL):
            here = slice(max(first, 1), min(first + _CALL, len(table)))
            table[here] = self.mask_log_potentials(np.arange(here.start, here.stop, dtype=np.int64))


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

    @property
    def compiled_merge_score(self) -> Any:
        """The compiled (θ, parent, left, right) → log ψ(L ∪ R) − log ψ(L) − log ψ(R), for `search.greedy`."""
        return _gain(self.score)

    def cluster_log_potentials(self, trellis: PartitionTrellis) -> Floats:
        """(n_clusters,): log ψ of all clusters of a trellis; of one hierarchy in linear time, but for pair sums."""
        if trellis.hierarchy is None:
            return super().cluster_log_potentials(trellis)
        if trellis.labels == self.labels:
            return node_log_potentials(self, trellis.hierarchy)
        values = node_log_potentials(self, trellis.hierarchy.aligned_to(self.labels))
        order = np.argsort(align_labels(trellis.labels, self.labels))
        return np.concatenate((values[order], values[self.n_leaves :]))

    def tabulate_clusters(self, workers: Workers, table: Floats) -> None:
        """table[C] = log ψ(C) for all 2^n clusters, by mask; table[∅] is left alone."""
        tabulate_scores(self, workers, table)
        require_log_potentials(self, table[1:])


@functools.cache
def _gain(score: Any) -> Any:
    @inline_with(score)
    def gain(theta, parent, left, right):
        joined, apart = score(theta, parent), score(theta, left) + score(theta, right)
        return joined - apart if joined > -np.inf else -np.inf

    return gain
