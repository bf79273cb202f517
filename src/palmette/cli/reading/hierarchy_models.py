"""From a table to a model of its hierarchies: one with evidence unless another is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.reading.problem import Problem

__all__ = ["NAMES", "ChosenModel", "choose_model", "make_model", "only_compares"]

NAMES = {
    "shares": "shares of variance of points",
    "contrasts": "contrasts of points",
    "graph": "hierarchical random graph",
    "counts": "counts of pairs",
    "normal-pairs": "normal similarities of pairs",
    "dasgupta": "Dasgupta's cost",
    "correlation": "hierarchical correlation clustering",
    "sum-of-squares": "sums of squares",
}
_PAIRS = {"graph": "HierarchicalRandomGraph", "counts": "PoissonPairs", "normal-pairs": "NormalPairs"}
_OF_POINTS = {"shares": "VarianceShares", "contrasts": "Contrasts"}  # with a dimension
_CLASSES = (
    _PAIRS
    | _OF_POINTS
    | {
        "dasgupta": "Dasgupta",
        "correlation": "Correlation",
        "sum-of-squares": "SumOfSquares",
    }
)


def only_compares(name: str | None) -> bool:
    """Whether the model of this name sees rows by how alike two are only."""
    return name is not None and _class(name).pairwise_holds == "similarities"


def _is_cost(name: str) -> bool:
    return bool(_class(name).is_tempered)


def _class(name: str) -> Any:
    return getattr(pal.models, _CLASSES[name])


@dataclass(frozen=True, eq=False)
class ChosenModel:
    """A model, how alike its leaves are (for linkages), and what is to be said of it."""

    name: str  #: as --model has it
    model: Any
    likeness: Floats
    words: str = ""
    facts: dict[str, Any] = field(default_factory=dict)  #: for programs

    @property
    def is_cost(self) -> bool:
        """Whether it has a temperature, which somebody has to choose."""
        return bool(self.model.is_tempered)

    def described(self, posterior: Any) -> tuple[str, dict[str, Any]]:
        """What is said of it and told to programs, once there is a posterior: with the parameters of that."""
        model, words = posterior.model, NAMES[self.name] + self.words
        if self.name == "shares":
            told, more = _told_of_shares(posterior)
            return f"{words}, {told}", {"name": self.name, **self.facts, **more}
        names = ("beta",) if self.is_cost else tuple(model.parameter_ranges)
        values = {name: float(getattr(model, name)) for name in names}
        facts = {"name": self.name, **self.facts, **values}
        if posterior.kind == "averages":
            ends = {name: [end([part[name] for part in posterior.parameters]) for end in (min, max)] for name in names}
            shown = [f"{name} from {low:.3g} to {high:.3g}" for name, (low, high) in ends.items()]
            return f"{words}, averaged over {' and '.join(shown)}", {**facts, "averaged_over": ends}
        shown = [f"{'β' if name == 'beta' else name} = {value:.6g}" for name, value in values.items()]
        return ", ".join([words, *shown]), facts


def choose_model(problem: Problem, name: str | None, beta: float, options: dict[str, Any]) -> ChosenModel:
    """The model that was asked for; else shares of variance of points, a random graph of a 0/1 matrix, or a cost."""
    name = _default(problem) if name is None else name
    given = [option for option in ("beta", "perplexity") if options[option] is not None]
    if given and not _is_cost(name):
        *costs, last = filter(_is_cost, NAMES)
        raise click.UsageError(
            f"--{given[0]} is for models that are costs; {name} is a likelihood and needs no temperature. "
            f"Leave it out, or add --model {', '.join(costs)} or {last}"
        )
    if not only_compares(name):
        _refuse_similarities(name)
    if name not in _OF_POINTS and options["dimension"] is not None:
        raise click.UsageError(f"--dimension is for --model {' and --model '.join(_OF_POINTS)}, not for {name}")
    return make_model(problem, name, beta, options)


def make_model(problem: Problem, name: str, beta: float, options: dict[str, Any]) -> ChosenModel:
    """The model of this name of the numbers of a problem, which may be drawn from those of a file."""
    labels = problem.labels
    if name in _OF_POINTS:
        return _of_points(problem, name, options["dimension"])
    if name == "sum-of-squares":
        points = problem.points()
        return ChosenModel(name, pal.models.SumOfSquares(points, beta, labels=labels), pal.similarity.likeness(points))
    if name in _PAIRS:
        matrix = _pairs(problem, name)
        return ChosenModel(name, getattr(pal.models, _PAIRS[name])(matrix, labels=labels), matrix)
    if name == "correlation":
        affinity, centre = problem.affinity()
        model = pal.models.Correlation(affinity, beta, labels=labels)
        return ChosenModel(name, model, problem.similarity, f" of similarities minus {centre:.4g}")
    return ChosenModel(name, pal.models.Dasgupta(problem.similarity, beta, labels=labels), problem.similarity)


def _default(problem: Problem) -> str:
    if problem.precomputed is None:
        return "shares"
    values = problem.leaves.values
    apart = values[~np.eye(len(values), dtype=bool)]
    is_graph = problem.precomputed == "similarity" and bool(np.isin(apart, (0.0, 1.0)).all())
    return "graph" if is_graph else "dasgupta"


def _refuse_similarities(name: str) -> None:
    source = click.get_current_context().get_parameter_source
    for option in ("similarity", "bandwidth", "centre"):
        if source(option) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(
                f"--{option} says how similarities are made; {name} does not use any. Add --model dasgupta or "
                "--model correlation, or leave it out"
            )


def _of_points(problem: Problem, name: str, dimension: str | None) -> ChosenModel:
    points = problem.points()
    n, columns = points.shape
    usual = "columns" if name == "contrasts" and columns < n else "effective"
    made = _class(name)(points, dimension=_dimension(dimension or usual), labels=problem.labels)
    used = f" in {columns} {'column' if columns == 1 else 'columns'}"
    if made.dimension != columns:
        used += f", which count as {made.dimension:.4g}"
    facts = {"dimension": made.dimension, "columns": columns}
    model = pal.models.with_prior(made, "yule") if name == "shares" else made
    return ChosenModel(name, model, pal.similarity.likeness(points), used, facts)


def _told_of_shares(posterior: Any) -> tuple[str, dict[str, Any]]:
    # How the table is seen: what each way to see it weighs, or the one that was chosen.
    if posterior.kind == "averages":
        weights = pal.evidence.weights_of_readings(posterior)
        shown = ", ".join(f"{name} {weight:.2f}" for name, weight in weights.items())
        return f"averaged: {shown}", {"weights": weights}
    model = posterior.model.model  # without the prior
    level = model.law.noise_level
    if model.law == pal.models.LAWS["noise"]:
        name, words = "noise", "all of it noise"
    elif level > 0.0:
        name, words = "groups", f"groups above a noise level of {level:g}"
    else:
        name, words = "degrees", "clusters that differ by degrees"
    return words, {"law": name, "noise_level": level, "profiles": model.profiles}


def _dimension(text: str) -> Any:
    if text in ("effective", "columns"):
        return text if text == "effective" else None
    try:
        value = float(text)
    except ValueError:
        value = np.nan
    if not 0 < value < np.inf:
        raise click.BadParameter(f"{text!r} is not effective, columns or a positive number", param_hint="--dimension")
    return value


def _pairs(problem: Problem, name: str) -> Floats:
    if problem.precomputed != "similarity":
        raise click.UsageError(f"{name} is a model of pairs of leaves: give a matrix, with --precomputed similarity")
    return problem.leaves.values
