"""A number that says how far it is to be trusted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

__all__ = ["Estimate"]


@dataclass(frozen=True)
class Estimate:
    """A value, and its kind: exact, a lower bound, or an estimate with a standard error.

    >>> Estimate(0.25, "estimate", 0.01)
    Estimate(0.25 ± 0.01)
    >>> float(Estimate(3, "bound"))
    3.0
    >>> f"{Estimate(0.25, 'estimate', 0.01):.3f}"
    '0.250 ± 0.010'
    """

    value: float
    kind: Literal["exact", "bound", "estimate"]
    standard_error: float = 0.0

    def __float__(self) -> float:
        return float(self.value)

    def __format__(self, spec: str) -> str:
        if not spec:
            return str(self)
        text = format(float(self.value), spec)
        match self.kind:
            case "exact":
                return text
            case "bound":
                return f"at least {text}"
            case "estimate":
                return f"{text} ± {format(float(self.standard_error), spec)}"

    def __repr__(self) -> str:
        match self.kind:
            case "exact":
                return f"Estimate({self.value:.6g}, exact)"
            case "bound":
                return f"Estimate(at least {self.value:.6g})"
            case "estimate":
                return f"Estimate({self.value:.6g} ± {self.standard_error:.2g})"
