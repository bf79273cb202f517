"""A model of hierarchies on a trellis, full or sparse."""

from palmette.models.split_model import HierarchyModel
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.listed import ListedHierarchyPasses
from palmette.passes.hierarchies.protocol import HierarchyPasses, Outside
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.resources import Resources
from palmette.trellis import SparseTrellis

__all__ = ["HierarchyConditions", "HierarchyPasses", "Outside", "hierarchy_passes"]


def hierarchy_passes(
    model: HierarchyModel,
    trellis: SparseTrellis | None,
    conditions: HierarchyConditions,
    resources: Resources | None = None,
) -> HierarchyPasses:
    """The passes of a model on a sparse trellis, or over all hierarchies; `TrellisTooLarge` if these are too many."""
    if trellis is None:
        kind = FullHierarchyPasses if model.is_compiled else ListedHierarchyPasses
        return kind(model, conditions, resources)
    return SparseHierarchyPasses(model, trellis, conditions, resources)
