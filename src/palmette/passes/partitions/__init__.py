"""A model of partitions on a trellis, full or sparse."""

from typing import Any

from palmette.models.cluster_model import PartitionModel
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.partitions.protocol import PartitionPasses
from palmette.passes.partitions.sparse import SparsePartitionPasses
from palmette.trellis import PartitionTrellis

__all__ = ["PartitionConditions", "PartitionPasses", "partition_passes"]


def partition_passes(
    model: PartitionModel, trellis: PartitionTrellis | None, conditions: PartitionConditions, **options: Any
) -> PartitionPasses:
    """The passes of a model on a partition trellis, or over all partitions; `TrellisTooLarge` if these are too many."""
    if trellis is not None:
        return SparsePartitionPasses(model, trellis, conditions, **options)
    if conditions.n_clusters is not None:
        return CountedPartitionPasses(model, conditions, **options)
    return FullPartitionPasses(model, conditions, **options)
