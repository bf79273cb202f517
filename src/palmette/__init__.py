"""Inference over whole distributions of clusterings."""

from palmette import batch, coalescent, datasets, evaluate, interop, jets, likelihoods, models, plot, search, simulate
from palmette._version import __version__
from palmette.errors import ImpossibleData, TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition
from palmette.posterior import Draws, Estimate, HierarchyPosterior, PartitionDraws, PartitionPosterior
from palmette.trellis.partition_trellis import PartitionTrellis
from palmette.trellis.sparse import SparseTrellis

__all__ = [
    "Draws",
    "Estimate",
    "Hierarchy",
    "HierarchyPosterior",
    "ImpossibleData",
    "Partition",
    "PartitionDraws",
    "PartitionPosterior",
    "PartitionTrellis",
    "SparseTrellis",
    "TrellisTooLarge",
    "__version__",
    "batch",
    "coalescent",
    "datasets",
    "evaluate",
    "interop",
    "jets",
    "likelihoods",
    "models",
    "plot",
    "search",
    "simulate",
]
