"""The best of the flat cuts of one hierarchy: a bridge from any hierarchical clustering to a model of partitions."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_model
from palmette.models.cluster_model import PartitionModel
from palmette.search.found import FoundPartition
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["best_cut"]


def best_cut(model: PartitionModel, hierarchy: Hierarchy) -> FoundPartition:
    """argmax log potential over `hierarchy.cut(k)`, k = 1 … n, in linear time; among equals the fewest clusters.

    Cuts undo the highest merges first, so only n partitions compete. The best of *all* partitions into clusters of the
    hierarchy is ``PartitionPosterior(model, trellis=PartitionTrellis.from_hierarchy(hierarchy)).map()``.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.CorrelationClusters([[0, 2, -1], [2, 0, -1], [-1, -1, 0]])
    >>> found = best_cut(model, pal.Hierarchy.from_nested(((0, 1), 2)))
    >>> found.partition, found.log_potential
    (Partition([0, 0, 1]), 2.0)
    """
    require_model(model, "partitions")
    if not isinstance(hierarchy, Hierarchy):
        raise TypeError(f"expected a Hierarchy to cut, not {hierarchy!r}")
    hierarchy = hierarchy.aligned_to(model.labels)
    log_psi = model.cluster_log_potentials(PartitionTrellis.from_hierarchy(hierarchy))  # of every node, in their order
    undone = hierarchy.cut_order
    # Impossible clusters are counted, not added: −inf does not go away.
    impossible = log_psi == -np.inf
    totals = _running(hierarchy, np.where(impossible, 0.0, log_psi), undone)
    best = int(np.argmax(np.where(_running(hierarchy, impossible.astype(np.float64), undone) > 0.0, -np.inf, totals)))
    partition = hierarchy.cut(int(hierarchy.cut_counts[best]))
    return FoundPartition(partition, model.log_potential(partition), hierarchy=hierarchy)


def _running(hierarchy: Hierarchy, values: Floats, undone: npt.NDArray[np.integer]) -> Floats:
    # Σ over the clusters when the first i nodes are undone; added up from the leaves, so that a huge value at the root
    # does not swallow the digits of all cuts below it.
    n = hierarchy.n_leaves
    below = np.zeros(hierarchy.n_nodes)
    below[n:] = np.add.reduceat(values[hierarchy.child_nodes], hierarchy.child_offsets[n:-1]) if n > 1 else 0.0
    steps = (values - below)[undone[::-1]]
    return np.asarray(np.concatenate([[values[:n].sum()], values[:n].sum() + np.cumsum(steps)])[::-1])
