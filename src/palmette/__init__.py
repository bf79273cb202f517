"""Inference over whole distributions of clusterings."""

from palmette import batch, datasets, models, search, simulate
from palmette._version import __version__
from palmette.errors import ImpossibleData, TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition
from palmette.posterior import Draws, Estimate, HierarchyPosterior

__all__ = [
    "Draws",
    "Estimate",
    "Hierarchy",
    "HierarchyPosterior",
    "ImpossibleData",
    "Partition",
    "TrellisTooLarge",
    "__version__",
    "batch",
    "datasets",
    "models",
    "search",
    "simulate",
]
