"""What a loss is, and sums of losses."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["Loss", "WeightedSum"]


class Loss(ABC):
    """A function of an ultrametric on a graph, and its gradient by the heights of the merges.

    A loss of your own says both in `evaluate`; `check` may refuse graphs that it is not made for. Losses add up, and
    a number times a loss is a loss: ``Closest() + 10 * ClusterSize(top=10)``.
    """

    reach: float = 0.0
    """A height that the loss asks for by itself, such as a margin, in the unit of weights; steps are made for it."""

    @abstractmethod
    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The loss, and its gradient by ``fitted.altitudes``: one number for each merge.

        Whatever depends on the heights through the order of merges alone (sizes, who meets where) is constant.
        """

    def check(self, graph: Graph) -> None:  # noqa: B027  (most losses take any graph)
        """Raise ValueError if this loss cannot be taken on `graph`; `fit` asks once, before it begins."""

    def __add__(self, other: Any) -> WeightedSum:
        if not isinstance(other, Loss):
            return NotImplemented
        return WeightedSum(*_terms(self), *_terms(other))

    def __mul__(self, factor: Any) -> WeightedSum:
        if isinstance(factor, bool) or not isinstance(factor, int | float | np.number):
            return NotImplemented
        if not (np.isfinite(factor) and factor >= 0):
            raise ValueError(f"a loss is multiplied by a finite number of at least 0, not by {factor}")
        return WeightedSum(*((float(factor) * weight, loss) for weight, loss in _terms(self)))

    __rmul__ = __mul__


class WeightedSum(Loss):
    """Σ weight · loss over `terms`; what `+` and `*` make of losses."""

    def __init__(self, *terms: tuple[float, Loss]) -> None:
        self.terms = terms
        self.reach = max((loss.reach for weight, loss in terms if weight > 0), default=0.0)

    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The sum of the losses, and of their gradients."""
        total, gradient = 0.0, np.zeros(len(fitted.altitudes))
        for weight, loss in self.terms:
            value, by_altitudes = loss.evaluate(fitted)
            total += weight * value
            gradient += weight * by_altitudes
        return total, gradient

    def check(self, graph: Graph) -> None:
        """Raise ValueError if one of the losses does."""
        for _, loss in self.terms:
            loss.check(graph)

    def __repr__(self) -> str:
        return " + ".join(f"{loss}" if weight == 1 else f"{weight:g} * {loss}" for weight, loss in self.terms)


def _terms(loss: Loss) -> tuple[tuple[float, Loss], ...]:
    return loss.terms if isinstance(loss, WeightedSum) else ((1.0, loss),)
