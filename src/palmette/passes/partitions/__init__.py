"""A model of partitions on a trellis, full or sparse."""

from palmette.models.cluster_model import PartitionModel
from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.partitions.protocol import PartitionPasses
from palmette.passes.partitions.sparse import SparsePartitionPasses
from palmette.passes.resources import Resources
from palmette.trellis import PartitionTrellis

__all__ = ["PartitionConditions", "PartitionPasses", "partition_passes"]


def partition_passes(
    model: PartitionModel,
    trellis: PartitionTrellis | None,
    conditions: PartitionConditions,
    resources: Resources | None = None,
) -> PartitionPasses:
    """The passes of a model on a partition trellis, or over all partitions; `TrellisTooLarge` if these are too many."""
    if trellis is not None:
        return SparsePartitionPasses(model, trellis, conditions, resources)
    if conditions.n_clusters is not None:
        return CountedPartitionPasses(model, conditions, resources)
    return FullPartitionPasses(model, conditions, resources)
