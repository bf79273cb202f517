"""Trellises: which clusters, and which splits or partitions of them, are summed over. They hold no data."""

from palmette.trellis.hierarchies.sparse import SparseTrellis
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["PartitionTrellis", "SomeTrellis", "SparseTrellis"]

SomeTrellis = SparseTrellis | PartitionTrellis
