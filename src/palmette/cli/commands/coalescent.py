"""``palmette coalescent``: hierarchies with times, for tables with gaps."""

from collections.abc import Iterable
from functools import cached_property
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli.options import (
    draws_option,
    input_options,
    output_options,
    probability_options,
    stack,
    standardise_option,
)
from palmette.cli.reading.problem import load
from palmette.cli.telling.answers import HierarchyAnswers, check_answers
from palmette.cli.telling.exactness import progress
from palmette.cli.telling.files import Files, with_support

__all__ = ["coalescent"]

_PROCESSES = {"brownian": "Brownian motion", "sites": "categorical sites"}

_particle_options = stack(
    click.option(
        "--process",
        type=click.Choice(list(_PROCESSES)),
        default="brownian",
        show_default=True,
        help="Numbers that drift, or categories (any text) that change.",
    ),
    click.option("--particles", type=click.IntRange(1, 1_000_000), default=200, show_default=True),
    click.option(
        "--proposal",
        type=click.Choice(["race", "post-post", "prior-post", "prior-prior"]),
        default="race",
        show_default=True,
        help="How the next event is drawn.",
    ),
    click.option(
        "--leaf-variance", type=float, default=0.0, show_default=True, help="Of rows, in units of the rate (brownian)."
    ),
    probability_options,
    draws_option(),
)


@click.command()
@input_options
@standardise_option
@_particle_options
@output_options("newick", "table", "nexus", "plot", "report")
def coalescent(file: str, as_json: bool, **options: Any) -> None:
    """Hierarchies with times for the rows of FILE (.csv, .tsv, .parquet; - reads standard input), gaps included.

    Rows are lineages that go back in time and meet, two at a time (Kingman's coalescent), while their values drift by
    Brownian motion; with --process sites, cells are categories, and each column changes by itself. Rates are estimated;
    histories are weighted particles (sequential Monte Carlo), so probabilities are estimates, and the effective number
    of particles says how good. The history that is shown has the largest product of cluster probabilities among the
    particles. Empty cells, NA, NaN and ? are missing values.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette coalescent worlds.csv --class kind
    palmette coalescent gaps.csv --class kind --particles 500 --newick best.nwk --nexus draws.nex
    palmette coalescent gaps.csv --class kind --plot history.svg --json
    palmette coalescent letters.csv --class family --process sites
    """
    check_answers(options)
    files = Files.of(options, file)
    sites = options["process"] == "sites"
    if sites and options["leaf_variance"]:
        raise click.UsageError("--leaf-variance is of --process brownian; categories have none")
    options["standardise"] &= not sites
    problem = load(file, options, "a coalescent", categories=sites)
    process, draws = _infer(problem.points(missing=True), problem.labels, options)
    model = f"Model: Kingman's coalescent, {_PROCESSES[options['process']]}"
    sizes = f"{len(draws):,} particles, at the least {_least_effective(draws):.1f} of them effective"
    lines = [problem.described, f"{model}; {sizes}", f"log evidence about {draws.log_evidence:.4f}"]
    answers = _HistoryAnswers(draws, problem.leaves, files, options)
    answers.tell("coalescent", file, as_json, _found(process, draws, options), lines)


class _HistoryAnswers(HierarchyAnswers):
    """Of weighted particles: there is one best history, and log-probabilities are not known."""

    things = "Histories"
    best_title = "The most credible history"
    several = None

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most credible history with support."""
        return [(with_support(self.posterior.most_credible(), self.posterior), None)]

    def _reported(self) -> Any:
        # The particles' conditional cluster distribution: the closest thing that can be asked everything.
        draws = self.posterior
        return pal.posterior.from_trees([draws[i] for i in range(len(draws))], weights=draws.weights)

    def _numbers(self) -> dict[str, Any]:
        return {"exact": False}

    def _own_numbers(self) -> dict[str, Any]:
        return {}

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        return ((history, None) for history in self.draws())


def _infer(points: Any, labels: tuple[str, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    shown = progress(options["quiet"])
    process: Any = pal.coalescent.IndependentSites()
    if options["process"] == "brownian":
        process = pal.coalescent.Brownian(np.ones(points.shape[1]), leaf_variance=options["leaf_variance"])
    if len(points) > 2:
        process, _ = pal.coalescent.fit(points, process, labels=labels, progress=shown)
    try:
        how = {"proposal": options["proposal"], "rng": options["seed"], "labels": labels, "progress": shown}
        draws = pal.coalescent.smc(points, process, options["particles"], **how)
    except ValueError as problem:
        if "leaf_variance" not in str(problem):
            raise
        raise ValueError("two rows are the same, and a density is infinite; give --leaf-variance 0.01, say") from None
    return process, draws


def _least_effective(draws: Any) -> float:
    return float(draws.n_effective.min(initial=len(draws)))


def _found(process: Any, draws: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": {"name": options["process"], "rate": process.rate.tolist(), "leaf_variance": options["leaf_variance"]},
        "n_particles": len(draws),
        "n_effective": _least_effective(draws),
        "log_evidence": draws.log_evidence,
    }
