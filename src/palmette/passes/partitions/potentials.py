"""A model of partitions on all clusters of a few leaves: the table of log ψ."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats
from palmette.models.cluster_function import ClusterFunction
from palmette.models.cluster_model import ClusterModel, PartitionModel
from palmette.models.features import subset_scores
from palmette.threads import Workers

__all__ = ["tabulate_potentials"]


_BLOCK = 10  # clusters are tabulated in blocks of 2^10
_CALL = 1 << 16  # clusters that a person's function is asked about at a time


def tabulate_potentials(model: PartitionModel, workers: Workers) -> Floats:
    """(2^n,): log ψ of every cluster, by mask; −inf for the empty set."""
    table = np.empty(1 << model.n_leaves)
    _tabulate(model, workers, table)
    table[0] = -np.inf
    return table


def _tabulate(model: PartitionModel, workers: Workers, table: Floats) -> None:
    if isinstance(model, ClusterModel):
        _tabulate_compiled(model, workers, table)
    elif isinstance(model, ClusterFunction):
        for first in range(0, len(table), _CALL):
            here = slice(max(first, 1), min(first + _CALL, len(table)))
            table[here] = model.mask_log_potentials(np.arange(here.start, here.stop, dtype=np.int64))
    else:
        raise TypeError(f"expected a ClusterModel or a ClusterFunction, not {model!r}")


def _tabulate_compiled(model: ClusterModel, workers: Workers, table: Floats) -> None:
    low = min(_BLOCK, model.n_leaves)
    kernel = subset_scores(model)
    fixed = (model.theta, model.additive, model.pairwise, model.n_features, low)
    work = np.full(len(table) >> low, 20.0 * 2**low)
    workers.run(lambda first, last: kernel(*fixed, first, last, table), work)
    if not (table[1:] < np.inf).all():
        raise ValueError(f"{type(model).__name__}.score returned NaN or inf; a log potential is finite or -inf")
