"""Losses: what an ultrametric should be like."""

from palmette.ultrametric.losses.base import Loss, WeightedSum
from palmette.ultrametric.losses.dasgupta import Dasgupta
from palmette.ultrametric.losses.edge_means import Closest, ClusterSize
from palmette.ultrametric.losses.named import NAMED, mean_weight, named_loss
from palmette.ultrametric.losses.triplet import Triplet

__all__ = [
    "NAMED",
    "Closest",
    "ClusterSize",
    "Dasgupta",
    "Loss",
    "Triplet",
    "WeightedSum",
    "mean_weight",
    "named_loss",
]
