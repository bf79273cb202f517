"""Which posterior belongs to a model."""

from __future__ import annotations

from typing import Any

from palmette.models.base import Model
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.partitions import PartitionPosterior
from palmette.trellis import SomeTrellis

__all__ = ["SomePosterior", "posterior_of"]

SomePosterior = HierarchyPosterior | PartitionPosterior


def posterior_of(model: Model, *, trellis: SomeTrellis | None = None, **options: Any) -> SomePosterior:
    """The posterior over what it is a model of, hierarchies or partitions."""
    kind: Any = HierarchyPosterior if model.clusterings == "hierarchies" else PartitionPosterior
    made: SomePosterior = kind(model, trellis=trellis, **options)
    return made
