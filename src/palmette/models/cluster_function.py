"""Any function of a cluster as a model."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.clusters import cluster_members
from palmette.labels import describe_cluster
from palmette.models.base import checked_values, require_masks
from palmette.models.cluster_model import PartitionModel

__all__ = ["ClusterFunction"]


class ClusterFunction(PartitionModel):
    """log ψ(C) = f(C) for a black box f over an array of bit masks.

    ``f(clusters)`` gets an int64 array of masks (bit i set: leaf i belongs) and returns as many log potentials, −inf
    where a cluster is impossible. It is called with many clusters at a time, and must treat each on its own. A
    `ClusterModel` of two compiled functions is faster and is not limited to 63 leaves.

    >>> import numpy as np, palmette as pal
    >>> pairs_only = lambda clusters: np.where(np.bitwise_count(clusters) == 2, 0.0, -np.inf)
    >>> pal.PartitionPosterior(pal.models.ClusterFunction(6, pairs_only)).count
    15
    """

    def __init__(
        self, n_leaves: int, function: Callable[[Ints], npt.ArrayLike], *, labels: Sequence[str] | None = None
    ) -> None:
        super().__init__(n_leaves, labels)
        if not callable(function):
            raise TypeError(f"expected a function of an array of masks, not {function!r}")
        require_masks(self.n_leaves, "cluster")
        self._function = function

    def mask_log_potentials(self, masks: Ints) -> Floats:
        """f(masks), checked: one number per cluster, none NaN or +inf."""
        name = lambda i: describe_cluster(cluster_members(int(masks[i])), self.labels)  # noqa: E731
        return checked_values(self._function(masks), "cluster", name, len(masks))

    def log_potentials(self, offsets: Ints, members: Ints) -> Floats:
        """(m,): f of m listed clusters; the leaves of cluster i are members[offsets[i] : offsets[i + 1]]."""
        return self.mask_log_potentials(np.add.reduceat(np.int64(1) << members, offsets[:-1]))
