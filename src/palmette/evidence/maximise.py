"""The parameters of a family of models under which the data are most probable."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from palmette.array_types import Floats
from palmette.checks import check_integer, check_positive
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card, html_table
from palmette.evidence.climbing import climb
from palmette.evidence.family import FORMULA_VALUES, Family
from palmette.evidence.parameters import edges_at, log_errors
from palmette.models.base import Model
from palmette.trellis import SomeTrellis

__all__ = ["Optimum", "best_without_structure", "maximise"]


@dataclass(frozen=True, eq=False)
class Optimum:
    """Where the evidence is largest, and how sharply."""

    model: Model
    """The model with these parameters."""
    values: Mapping[str, float]
    """The parameters."""
    log_evidence: float
    """log p(data) there."""
    curvature: Floats
    """(k, k): −∂² log evidence / ∂ log θ_i ∂ log θ_j, in the order of `values`."""
    log_evidence_without_structure: float | None
    """log p(data) if there were nothing to find, largest within the same ends; None if the model has no such thing."""
    at_boundary: tuple[str, ...]
    """The parameters that would go further if they could."""
    n_posteriors: int
    """How many posteriors it took."""
    is_exact: bool = True
    """Whether the sums are over everything: on the full trellis they are. If not, the evidence is a lower bound."""

    @property
    def errors(self) -> dict[str, float]:
        """The standard deviation of the logarithm of each parameter, if its posterior is about normal; inf if flat."""
        names = list(self.values)
        return dict(zip(names, log_errors(self.curvature, names, self.at_boundary).tolist(), strict=True))

    def _repr_html_(self) -> str:
        facts = [("log evidence", self.log_evidence), ("without structure", self.log_evidence_without_structure)]
        facts += [("posteriors that it took", self.n_posteriors)]
        errors = self.errors
        rows = [
            [name, f"{value:.4g}", f"{errors[name]:.2g}", "at the boundary" if name in self.at_boundary else ""]
            for name, value in self.values.items()
        ]
        return card("Optimum", facts, html_table(["parameter", "value", "error of its logarithm", ""], rows))

    def __repr__(self) -> str:
        words = ", ".join(f"{name}={value:.4g}" for name, value in self.values.items())
        edge = f", at the boundary: {', '.join(self.at_boundary)}" if self.at_boundary else ""
        return f"Optimum({words}, log_evidence={self.log_evidence:.4f}, n_posteriors={self.n_posteriors}{edge})"


def maximise(
    family: Callable[..., Model],
    /,
    *,
    within: Mapping[str, tuple[float, float]] | None = None,
    tolerance: float = DEFAULTS.evidence_tolerance,
    most: int = 100,
    trellis: SomeTrellis | None = None,
    **start: float,
) -> Optimum:
    """argmax over θ of log p(data | θ), for a family that makes a model of parameters: ``family(**θ)``.

    All parameters are positive numbers, and are looked for by their logarithms, from `start` on and up to a hundred
    times more or less, or `within` two ends each. Without a start ``family()`` is asked for its `free_parameters`. (A
    parameter that may be negative can be written as a positive one and a constant.) A surface through all that is known
    is climbed, so two parameters take about sixteen posteriors, and 25 along a flat ridge; it ends where less than
    `tolerance` nats seem to be left to gain, or soon after `most` posteriors. The maximum is a local one. If it lies at
    a boundary a warning says so: for `Contrasts` and a large `a`, that all variances are alike, and nothing supported.

    >>> import functools, palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> pal.evidence.maximise(functools.partial(pal.models.Contrasts, x), a=0.5, b=0.1)
    Optimum(a=0.2742, b=0.006393, log_evidence=-22.2664, n_posteriors=11)
    """
    members = Family(family, start, within, trellis)
    check_positive("tolerance", tolerance)
    summit = climb(
        lambda x: members.posterior(x).log_evidence,
        members.start,
        members.low,
        members.high,
        tolerance=tolerance,
        most=check_integer("most", most, 1),
    )
    edges = edges_at(members.names, summit.x, members.low, members.high)
    if edges:
        warnings.warn(
            f"the evidence still grows where {' and '.join(edges)} cannot go further; widen `within`, or take "
            "it that this end is what the data want",
            stacklevel=2,
        )
    values = members.values(summit.x)
    without = best_without_structure(members, tolerance)
    model = members.model(summit.x)
    return Optimum(model, values, summit.value, -summit.hessian, without, edges, summit.n_values, trellis is None)


def best_without_structure(members: Family, tolerance: float) -> float | None:
    """The largest log evidence of the same data without structure; None if models do not say what that is."""
    formula = members.without_structure()
    if formula is None:
        return None
    return climb(formula, members.start, members.low, members.high, tolerance=tolerance, most=FORMULA_VALUES).value
