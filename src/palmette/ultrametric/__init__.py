"""Ultrametrics fitted to a graph by gradient descent."""

from palmette.ultrametric.average import AverageLinkage, average_linkage
from palmette.ultrametric.exact import ExactClosest, closest_exact
from palmette.ultrametric.fit import Fit, fit
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses import Closest, ClusterSize, Dasgupta, Loss, Triplet
from palmette.ultrametric.subdominant import Subdominant, is_ultrametric, min_max_distances, subdominant

__all__ = [
    "AverageLinkage",
    "Closest",
    "ClusterSize",
    "Dasgupta",
    "ExactClosest",
    "Fit",
    "Graph",
    "Loss",
    "Subdominant",
    "Triplet",
    "average_linkage",
    "closest_exact",
    "fit",
    "is_ultrametric",
    "min_max_distances",
    "subdominant",
]
