"""Posteriors: a model times a trellis, normalised, and the questions they answer."""

from palmette.posterior.conditional_clusters import ConditionalClusters, from_trees
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.partition_draws import PartitionDraws
from palmette.posterior.partitions import PartitionPosterior

__all__ = [
    "ConditionalClusters",
    "Draws",
    "Estimate",
    "HierarchyPosterior",
    "PartitionDraws",
    "PartitionPosterior",
    "from_trees",
]
