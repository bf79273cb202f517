"""From a table to a model of its partitions: a Dirichlet process of points unless another is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.notes import note
from palmette.cli.reading.problem import Problem
from palmette.defaults import DEFAULTS

__all__ = ["NAMES", "ChosenPartitions", "choose_model", "default_model"]

NAMES = ("dirichlet-process", "correlation")
_SHOWN = {"concentration": "α", "within": "variance within clusters"}
_OF = {"normal": "", "binary": " of 0 and 1", "categorical": " of codes"}
_LARGEST_CODE = 9  # that a note is about, if all cells are whole


@dataclass(frozen=True, eq=False)
class ChosenPartitions:
    """A model, how alike its leaves are (for linkages), and what of it the evidence is to choose."""

    name: str  #: as --model has it
    model: Any
    likeness: Floats
    words: str
    free: tuple[str, ...] | None = None  #: None: there is no evidence that could
    facts: dict[str, Any] = field(default_factory=dict)  #: for programs

    def described(self, posterior: Any) -> tuple[str, dict[str, Any]]:
        """What is said of it and told to programs, once there is a posterior: with the constants of that."""
        if self.free is None:
            beta = float(posterior.model.beta)
            return f"{self.words}, β = {beta:.6g}", {"name": self.name, "beta": beta}
        values = _constants(posterior.model)
        facts: dict[str, Any] = {"name": self.name, "beta": None, **self.facts, **values}
        ends: dict[str, list[float]] = {}
        if posterior.kind == "averages":
            made = [_constants(part.model) for part in posterior.parts]
            several = {name: sorted(one[name] for one in made) for name in values}
            ends = {name: [found[0], found[-1]] for name, found in several.items() if found[0] < found[-1]}
            facts["averaged_over"] = ends
        how = ", averaged" if ends else ", by the evidence" if self.free else ""
        shown = [f"{_SHOWN[name]} {_figures(values[name], ends.get(name))}" for name in values]
        return f"{', '.join([self.words, *shown])}{how}", facts


def _figures(value: float, ends: list[float] | None) -> str:
    return f"= {value:.4g}" if ends is None else f"from {ends[0]:.3g} to {ends[1]:.3g}"


def _constants(model: Any) -> dict[str, float]:
    # As the options have them. The normal likelihood is made here, with a shape of 1, so that its rate is a variance.
    found = {"concentration": float(model.concentration)}
    rate = getattr(model.likelihood, "rate", None)
    return found if rate is None else {**found, "within": float(rate)}


def default_model(precomputed: str | None) -> str:
    """The model that is taken if none is named: a likelihood where there are points to have one."""
    return "dirichlet-process" if precomputed is None else "correlation"


def choose_model(problem: Problem, beta: float, options: dict[str, Any]) -> ChosenPartitions:
    """The model that was asked for."""
    if problem.model == "correlation":
        _refuse(("concentration", "within"), "of a Dirichlet process; correlation clustering has none of it")
        affinity, centre = problem.affinity()
        made = pal.models.CorrelationClusters(affinity, beta, labels=problem.labels)
        words = f"correlation clustering of similarities minus {centre:.4g}"
        return ChosenPartitions("correlation", made, problem.similarity, words)
    instead = "Leave it out, or add --model correlation"
    _refuse(("beta", "perplexity"), f"a temperature, and a Dirichlet process has none. {instead}")
    _refuse(("similarity", "bandwidth", "centre"), f"about similarities, and a Dirichlet process has none. {instead}")
    return _process(problem, options)


def _refuse(names: Sequence[str], words: str) -> None:
    source = click.get_current_context().get_parameter_source
    for name in names:
        if source(name) is click.core.ParameterSource.COMMANDLINE:
            raise click.UsageError(f"--{name} is {words}")


def _process(problem: Problem, options: dict[str, Any]) -> ChosenPartitions:
    kind, alpha = options["likelihood"], options["concentration"]
    points = problem.points()
    free = ["concentration"] if alpha is None else []
    likelihood: pal.likelihoods.Likelihood
    if kind == "normal":
        points = _varying(points)
        likelihood, is_open = _normal(points, options["within"])
        free += ["pseudo_count"] if is_open else []
        _say_if_codes(problem, options)
    else:
        _refuse(("within",), f"of --likelihood normal; {kind} has none")
        likelihood = pal.likelihoods.BetaBernoulli() if kind == "binary" else pal.likelihoods.DirichletCategorical()
    made = pal.models.DirichletProcess(points, 1.0 if alpha is None else alpha, likelihood, labels=problem.labels)
    known = tuple(name for name in free if name in made.parameter_ranges)
    likeness = pal.similarity.likeness(problem.leaves.values, filled=True)
    words = f"Dirichlet process{_OF[kind]}"
    return ChosenPartitions("dirichlet-process", made, likeness, words, known, {"likelihood": kind})


def _normal(points: Floats, within: float | None) -> tuple[pal.likelihoods.NormalGamma, bool]:
    # Around the mean of each column, and how wide clusters are is left open unless it is given.
    variances = np.nanvar(points, axis=0)
    mean = np.nanmean(points, axis=0).tolist()
    if within is None:
        variance = float(variances.mean()) or 1.0
        return pal.likelihoods.NormalGamma.expecting(DEFAULTS.within, variance=variance, mean=mean), True
    if not 0 < within < float("inf"):
        raise click.BadParameter(f"{within} is not a positive number", param_hint="--within")
    return pal.likelihoods.NormalGamma(mean, DEFAULTS.pseudo_count, rate=within), False


def _varying(points: Floats) -> Floats:
    # A column that never varies would say that all rows are in one cluster.
    with np.errstate(invalid="ignore"):
        varies = np.nanmax(points, axis=0, initial=-np.inf) > np.nanmin(points, axis=0, initial=np.inf)
    return points[:, varies] if varies.any() else points


def _say_if_codes(problem: Problem, options: dict[str, Any]) -> None:
    source = click.get_current_context().get_parameter_source("likelihood")
    values = problem.leaves.values[~np.isnan(problem.leaves.values)]
    if source is click.core.ParameterSource.COMMANDLINE or not np.isin(values, np.arange(_LARGEST_CODE + 1)).all():
        return
    if values.max() + 1 >= len(problem.labels):  # as many codes as rows: hardly
        return
    is_binary = bool((values <= 1).all())
    cells, way = ("0 or 1", "binary") if is_binary else (f"whole numbers up to {values.max():g}", "categorical")
    also = "" if is_binary else ", if they are codes"
    note(f"all cells are {cells}, and are read as measurements; --likelihood {way}{also}.", options["quiet"])
