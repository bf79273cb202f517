"""What chains can move in: models of compiled functions."""

from __future__ import annotations

from typing import Literal

from palmette.models.base import Model, require_model

__all__ = ["require_compiled"]

_KINDS = {"hierarchies": "SplitModel", "partitions": "ClusterModel"}


def require_compiled(model: Model, clusterings: Literal["hierarchies", "partitions"], done: str) -> None:
    """Refuse what is no model of these clusterings, and one that cannot be `done`, sampled or annealed."""
    require_model(model, clusterings, all_known=True)
    if not model.is_compiled:
        kind = _KINDS[clusterings]
        raise TypeError(f"{model!r} cannot be {done}: its moves need a model of compiled functions, a {kind}")
