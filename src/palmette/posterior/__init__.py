"""Posteriors: a model times a trellis, normalised, and the questions they answer."""

from palmette.posterior.conditional_clusters import ConditionalClusters, from_trees
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.hierarchy_mixture import HierarchyMixture
from palmette.posterior.partition_draws import PartitionDraws
from palmette.posterior.partition_mixture import PartitionMixture
from palmette.posterior.partitions import PartitionPosterior

__all__ = [
    "ConditionalClusters",
    "Draws",
    "Estimate",
    "HierarchyMixture",
    "HierarchyPosterior",
    "PartitionDraws",
    "PartitionMixture",
    "PartitionPosterior",
    "from_trees",
]
