"""Posteriors: a model times a trellis, normalised, and the questions they answer."""

from palmette.posterior.conditional_clusters import ConditionalClusters, from_trees
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.hierarchy_draws import Draws
from palmette.posterior.hierarchy_mixture import HierarchyMixture
from palmette.posterior.node_ages import NodeAges, most_credible, node_ages
from palmette.posterior.partition_draws import PartitionDraws
from palmette.posterior.partition_mixture import PartitionMixture
from palmette.posterior.partitions import PartitionPosterior
from palmette.posterior.smoothed_trees import SmoothedTrees, smoothed

__all__ = [
    "ConditionalClusters",
    "Draws",
    "Estimate",
    "HierarchyMixture",
    "HierarchyPosterior",
    "NodeAges",
    "PartitionDraws",
    "PartitionMixture",
    "PartitionPosterior",
    "SmoothedTrees",
    "from_trees",
    "most_credible",
    "node_ages",
    "smoothed",
]
