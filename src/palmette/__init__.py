"""Inference over whole distributions of clusterings.

Every name is imported when it is first used: ``import palmette`` itself loads neither NumPy nor the compiler.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from palmette._version import __version__

if TYPE_CHECKING:
    from palmette import (
        batch,
        coalescent,
        datasets,
        evaluate,
        evidence,
        interop,
        jets,
        likelihoods,
        models,
        plot,
        posterior,
        report,
        sampling,
        search,
        similarity,
        simulate,
        temperature,
        ultrametric,
    )
    from palmette.errors import ImpossibleData, TrellisTooLarge
    from palmette.hierarchy import Hierarchy
    from palmette.partition import Partition
    from palmette.posterior import Draws, Estimate, HierarchyPosterior, PartitionDraws, PartitionPosterior
    from palmette.trellis import PartitionTrellis, SparseTrellis

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
    "evidence",
    "interop",
    "jets",
    "likelihoods",
    "models",
    "plot",
    "posterior",
    "report",
    "sampling",
    "search",
    "similarity",
    "simulate",
    "temperature",
    "ultrametric",
]

_HOMES = {
    "Draws": "posterior",
    "Estimate": "posterior",
    "Hierarchy": "hierarchy",
    "HierarchyPosterior": "posterior",
    "ImpossibleData": "errors",
    "Partition": "partition",
    "PartitionDraws": "posterior",
    "PartitionPosterior": "posterior",
    "PartitionTrellis": "trellis",
    "SparseTrellis": "trellis",
    "TrellisTooLarge": "errors",
}


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        found = getattr(import_module(f"palmette.{_HOMES[name]}"), name)
        globals()[name] = found
        return found
    if not name.startswith("__") and find_spec(f"palmette.{name}") is not None:
        return import_module(f"palmette.{name}")
    raise AttributeError(f"module 'palmette' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
