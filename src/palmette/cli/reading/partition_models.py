"""From a table to a model of its partitions."""

from typing import Any

import click

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.reading.problem import Problem
from palmette.defaults import DEFAULTS

__all__ = ["NAMES", "choose_model"]

NAMES = ("correlation", "dirichlet-process")


def choose_model(problem: Problem, beta: float, options: dict[str, Any]) -> tuple[Any, Floats, str]:
    """The model that was asked for, how alike leaves are (for linkages), and what is to be said of it."""
    if problem.model == "correlation":
        affinity, centre = problem.affinity()
        made: Any = pal.models.CorrelationClusters(affinity, beta, labels=problem.labels)
        return made, problem.similarity, f"correlation clustering of similarities minus {centre:.4g}"
    if options["beta"] is not None or options["perplexity"] is not None:
        raise click.UsageError(
            "a Dirichlet process has no temperature; --concentration sets how many clusters it expects"
        )
    likelihood, concentration = _likelihood(options), options["concentration"]
    made = pal.models.DirichletProcess(problem.points(), concentration, likelihood, labels=problem.labels)
    likeness = pal.similarity.likeness(problem.leaves.values, filled=True)
    return made, likeness, f"Dirichlet process with α = {concentration:g}, {likelihood}"


def _likelihood(options: dict[str, Any]) -> Any:
    match options["likelihood"]:
        case "binary":
            return pal.likelihoods.BetaBernoulli()
        case "categorical":
            return pal.likelihoods.DirichletCategorical()
    if not 0 < options["within"] < float("inf"):
        raise click.BadParameter(f"{options['within']} is not a positive number", param_hint="--within")
    return pal.likelihoods.NormalGamma(pseudo_count=DEFAULTS.pseudo_count, rate=options["within"])
