"""What a model of partitions says of every pair of leaves by itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_matrix
from palmette.labels import align_labels
from palmette.models.cluster_model import PartitionModel

__all__ = ["pair_log_potentials"]


def pair_log_potentials(model: PartitionModel | npt.ArrayLike, labels: Sequence[str]) -> Floats:
    """(n, n): log ψ({i, j}) − log ψ({i}) − log ψ({j}), the log odds of a pair without other leaves; diagonal 0.

    Leaves are in the order of `labels`. For correlation clustering this is β w_ij. A matrix is taken as it is.

    >>> from palmette.models import CorrelationClusters
    >>> pair_log_potentials(CorrelationClusters([[0, 0.5], [0.5, 0]], beta=4), ["0", "1"])
    array([[0., 2.],
           [2., 0.]])
    """
    n = len(labels)
    if not isinstance(model, PartitionModel):
        matrix = check_matrix(model, "affinity")
        if len(matrix) != n:
            raise ValueError(f"affinity is for {len(matrix)} leaves, the posterior for {n}; give both for the same")
        return matrix
    order = align_labels(model.labels, labels)
    i, j = np.triu_indices(n, 1)
    single = model.log_potentials(np.arange(n + 1), order)
    pair = model.log_potentials(2 * np.arange(len(i) + 1), np.column_stack([order[i], order[j]]).reshape(-1))
    out = np.zeros((n, n))
    with np.errstate(invalid="ignore"):
        out[i, j] = out[j, i] = pair - single[i] - single[j]
    return out
