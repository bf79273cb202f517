"""Which posterior belongs to a model."""

from __future__ import annotations

from typing import Any

from palmette.errors import TrellisTooLarge
from palmette.models.base import Model
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.partitions import PartitionPosterior
from palmette.trellis import SomeTrellis

__all__ = ["SomePosterior", "fits_in_memory", "posterior_of"]

SomePosterior = HierarchyPosterior | PartitionPosterior


def posterior_of(model: Model, *, trellis: SomeTrellis | None = None, **options: Any) -> SomePosterior:
    """The posterior over what it is a model of, hierarchies or partitions."""
    kind: Any = HierarchyPosterior if model.clusterings == "hierarchies" else PartitionPosterior
    made: SomePosterior = kind(model, trellis=trellis, **options)
    return made


def fits_in_memory(model: Model, max_memory: int | None = None) -> bool:
    """Whether there is memory for log Z and the MAP on the full trellis."""
    try:
        posterior_of(model, max_memory=max_memory)
    except TrellisTooLarge:
        return False
    return True
