"""A family of models with positive parameters, seen as posteriors at points of a box of logarithms."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_positive
from palmette.evidence.parameters import values_at
from palmette.models.base import Model, require_model
from palmette.posterior.kinds import SomePosterior, posterior_of
from palmette.trellis import SomeTrellis

__all__ = ["FORMULA_VALUES", "Family"]

FORMULA_VALUES = 400  # of a formula that are looked at: they cost nothing
_FACTOR = 100.0  # how far parameters may go from where they start, unless said otherwise


class Family:
    """``make(**θ)`` for the logarithms of θ in a box, around where they start."""

    def __init__(
        self,
        make: Callable[..., Model],
        start: Mapping[str, float],
        within: Mapping[str, tuple[float, float]] | None,
        trellis: SomeTrellis | None,
    ) -> None:
        start = start or _usual(make)
        self.make, self.trellis, self.names = make, trellis, list(start)
        begin = np.log([check_positive(name, start[name]) for name in self.names])
        self.low, self.high = _ends(self.names, begin, within or {})
        self.start = np.clip(begin, self.low, self.high)

    def values(self, x: Floats) -> dict[str, float]:
        """The parameters at a point of the box."""
        return values_at(self.names, x)

    def model(self, x: Floats) -> Model:
        """The model with the parameters at a point of the box."""
        found = self.make(**self.values(x))
        require_model(found, wanted="a model, such as palmette.models.Contrasts(points), from the family")
        return found

    def posterior(self, x: Floats) -> SomePosterior:
        """The posterior of the model with the parameters at a point of the box."""
        return posterior_of(self.model(x), trellis=self.trellis, progress=False)

    def without_structure(self) -> Callable[[Floats], float] | None:
        """log p(data) if there were nothing to find, at points of the box; None if models do not say what that is."""
        if self.model(self.start).log_evidence_without_structure is None:
            return None

        def formula(x: Floats) -> float:
            found = self.model(x).log_evidence_without_structure
            if found is None:
                raise TypeError(f"the family says how probable data without structure are, but not at {self.values(x)}")
            return float(found)

        return formula


def _usual(make: Callable[..., Model]) -> Mapping[str, float]:
    # Where the model that is made without parameters begins, for those that the family takes.
    try:
        found = getattr(make(), "free_parameters", {})
    except TypeError:  # some have to be given
        found = {}
    taken = inspect.signature(make).parameters.values()
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in taken):
        names = {parameter.name for parameter in taken}
        found = {name: value for name, value in found.items() if name in names}
    if not found:
        raise ValueError("no parameter was given to begin with; name them with a value each, such as a=1.0, b=0.1")
    return cast(Mapping[str, float], found)


def _ends(names: list[str], begin: Floats, within: Mapping[str, tuple[float, float]]) -> tuple[Floats, Floats]:
    unknown = sorted(set(within) - set(names))
    if unknown:
        raise ValueError(f"within speaks of {unknown[0]!r}; the parameters are {', '.join(map(repr, names))}")
    low, high = begin - math.log(_FACTOR), begin + math.log(_FACTOR)
    for name, ends in within.items():
        i = names.index(name)
        low[i], high[i] = (math.log(check_positive(f"an end of {name}", end)) for end in ends)
        if not low[i] < high[i]:
            raise ValueError(f"within has {ends} for {name}; give the lower end first, and a larger one")
    return low, high
