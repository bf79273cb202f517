"""A hierarchy that changes: one part of it is taken out and put back elsewhere, and all places are weighed at once.

`tree_state` is the hierarchy; `protocol` says what can be asked of regrafts; `compiled` and `masks` answer, each for
one kind of model.
"""

from palmette.models.base import is_compiled
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.regrafts.compiled import CompiledRegrafts
from palmette.regrafts.masks import MaskRegrafts
from palmette.regrafts.protocol import Regrafts

__all__ = ["CompiledRegrafts", "MaskRegrafts", "Regrafts", "regrafts_of"]


def regrafts_of(model: HierarchyModel) -> Regrafts:
    """The regrafts of a model, compiled if it is."""
    return CompiledRegrafts(model) if is_compiled(model, SplitModel) else MaskRegrafts(model)
