"""``palmette coalescent``: hierarchies with times, for tables with gaps."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli.asking.imputation import IMPUTED, CellUnits, filled, placed
from palmette.cli.notes import note, progress
from palmette.cli.options import (
    draws_option,
    input_options,
    output_options,
    probability_options,
    stack,
    standardise_option,
)
from palmette.cli.reading.problem import Problem, load
from palmette.cli.telling.answers import HierarchyAnswers, check_answers, with_support
from palmette.cli.telling.files import Files, check_file, write_rows
from palmette.cli.telling.results import judged
from palmette.cli.telling.sampled import EstimatedAnswers
from palmette.cli.telling.text import cluster_text
from palmette.defaults import DEFAULTS
from palmette.errors import InfiniteDensity

__all__ = ["coalescent"]

_PROCESSES = {"brownian": "Brownian motion", "sites": "categorical sites"}

_FEWEST, _MOST = DEFAULTS.n_particles, DEFAULTS.most_particles
_EVALUATIONS = 4e8  # of pairs and columns: "prior-post" does about 4e7 a second


def _positive(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0.0 < value < np.inf:
        raise click.BadParameter(f"{text!r} is not a positive number")
    return value


_particle_options = stack(
    click.option(
        "--process",
        type=click.Choice(list(_PROCESSES)),
        default="brownian",
        show_default=True,
        help="Numbers that drift, or categories (any text) that change.",
    ),
    click.option(
        "--ages",
        metavar="COLUMN",
        help="Column of the ages of leaves, 0 for today, in units in which two lineages meet at rate 1.",
    ),
    click.option(
        "--particles",
        type=click.IntRange(1, 1_000_000),
        help=f"In all runs.  [default: what takes some ten seconds, {_FEWEST} to {_MOST:,}]",
    ),
    click.option(
        "--runs",
        type=click.IntRange(1, 1000),
        default=DEFAULTS.particle_runs,
        show_default=True,
        help="Independent ones, whose spread is part of every error.",
    ),
    click.option(
        "--proposal",
        type=click.Choice(["prior-post", "race", "post-post", "prior-prior"]),
        default=DEFAULTS.quick_proposal,
        show_default=True,
        help="How the next event is drawn.",
    ),
    click.option("--rate", type=_positive, help="Of change, for all columns; estimated unless given."),
    click.option(
        "--leaf-variance",
        type=float,
        default=DEFAULTS.leaf_variance,
        show_default=True,
        help="Of rows, in units of the rate (brownian).",
    ),
    probability_options,
    draws_option(),
)


@click.command()
@input_options
@standardise_option
@_particle_options
@click.option(
    "--impute", metavar="FILE", help="Every gap with what fills it, and how sure: .csv, .tsv, .json, .parquet."
)
@click.option("--place", metavar="FILE", help="A table of further rows with the same columns: where they join.")
@output_options("newick", "table", "nexus", "plot", "report")
def coalescent(file: str, as_json: bool, impute: str | None, place: str | None, **options: Any) -> None:
    """Hierarchies with times for the rows of FILE (.csv, .tsv, .xlsx, .parquet; - is standard input), gaps included.

    Rows are lineages that go back in time and meet, two at a time (Kingman's coalescent), while their values drift by
    Brownian motion; with --process sites, cells are categories, and each column changes by itself, all states being
    alike. Rates are estimated, that of sites by the evidence;
    histories are weighted particles (sequential Monte Carlo) of several independent runs, so probabilities are
    estimates with errors, and a verdict says whether they can be used. The history that is shown has the largest
    product of cluster probabilities among the particles. Rows may have been seen at several times: --ages names the
    column that says how long ago. Empty cells, NA, NaN and ? are missing values.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette coalescent worlds.csv --class kind
    palmette coalescent gaps.csv --class kind --particles 20000 --newick best.nwk --nexus draws.nex
    palmette coalescent gaps.csv --class kind --plot history.svg --json
    palmette coalescent letters.csv --class family --process sites
    palmette coalescent gaps.csv --class kind --impute filled.csv
    """
    check_answers(options)
    files = Files.of(options, file)
    if impute is not None:
        check_file("impute", impute)
    sites = options["process"] == "sites"
    if sites and options["leaf_variance"]:
        raise click.UsageError("--leaf-variance is of --process brownian; categories have none")
    if options["ages"] is not None and place is not None:
        raise click.UsageError("--place takes leaves of today only; leave out --ages, or --place")
    options["standardise"] &= not sites
    problem = load(file, options, "a coalescent", categories=sites, gaps="model")
    if not sites:
        problem = _without_constants(problem, options["quiet"])
    if not sites and not options["leaf_variance"]:
        remedy = "give --leaf-variance 0.01, say, or merge such rows"
        pal.coalescent.twins.refuse_twins(problem.leaves.values, problem.labels, remedy, problem.leaves.ages)
    process, rate, draws = _infer(problem, options)
    model = f"Model: Kingman's coalescent, {_PROCESSES[options['process']]}, {rate}"
    lines = [problem.described, f"{model}; log evidence about {draws.log_evidence:.4f}", f"Particles: {draws.verdict}"]
    if not draws.verdict.usable:
        note("the particles have collapsed, so that no probability is to be relied on.", options["quiet"])
    found = {"missing": problem.missing, **_found(process, draws, options)}
    if impute is not None or place is not None:
        points = problem.points()
        units = CellUnits(problem.leaves, points, sites)
        if impute is not None:
            gaps = filled(points, draws, process, units, options["seed"])
            write_rows(Path(impute), IMPUTED, gaps)
            lines.append(f"{len(gaps):,} gaps are filled in {impute}.")
        if place is not None:
            found["placed"] = placed(place, points, draws, process, units, options["seed"])
            lines += [_joining(row) for row in found["placed"]]
    _HistoryAnswers(draws, problem.leaves, files, options).tell("coalescent", file, as_json, found, lines)


def _joining(row: dict[str, Any]) -> str:
    where = cluster_text(row["joins"], 50)
    return f"{row['label']} joins {where} with probability {row['probability']:.2f}, at the age {row['age']:.3g}."


def _by_first_leaves(history: pal.Hierarchy) -> pal.Hierarchy:
    # Lineages meet in an order of chance; children are written in that of their first leaves, as in other hierarchies.
    return pal.Hierarchy.from_parents(history.parents, history.labels, history.heights)


class _HistoryAnswers(EstimatedAnswers, HierarchyAnswers):
    """Of weighted particles: there is one best history, and every probability has an error."""

    things = "Histories"
    best_title = "The most credible history"

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most credible history with support."""
        return [(with_support(_by_first_leaves(self.posterior.most_credible()), self.posterior), None)]

    def _judged(self) -> dict[str, Any]:
        verdict = self.posterior.verdict
        return {"particles": {"usable": verdict.usable, **judged(verdict)}}

    def _doubt(self) -> str | None:
        if self.posterior.verdict.usable:
            return None
        return "The particles have collapsed: do not rely on these numbers. Take more (--particles)."


def _without_constants(problem: Problem, quiet: bool) -> Problem:
    # A column with one value, or none, tells no rate.
    leaves = problem.leaves
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # of columns without entries
        spread = np.nan_to_num(np.nanmax(leaves.values, axis=0) - np.nanmin(leaves.values, axis=0))
    if len(leaves.labels) < 2 or (spread > 0.0).all():
        return problem
    names = ", ".join(repr(leaves.variables[c]) for c in np.flatnonzero(spread == 0.0))
    if not spread.any():
        raise ValueError(
            f"{leaves.table.source}: every column ({names}) has one value only, so the rows are all the same"
        )
    note(f"{names} has the same value in every row, which tells nothing, and is left out.", quiet)
    kept = np.flatnonzero(spread > 0.0).tolist()
    return replace(problem, leaves=leaves.of_columns(kept))


def _infer(problem: Problem, options: dict[str, Any]) -> tuple[Any, str, Any]:
    # The process, where its rate comes from, and the histories.
    points, ages = problem.points(), problem.leaves.ages
    shown = progress(options["quiet"])
    process, source = _process(points, problem, options, shown)
    how = {"proposal": options["proposal"], "rng": options["seed"], "labels": problem.labels, "progress": shown}
    try:
        with warnings.catch_warnings():  # the verdict says it, too
            warnings.simplefilter("ignore", UserWarning)
            size = _n_particles(points.shape, options)
            draws = pal.coalescent.smc(points, process, size, n_runs=options["runs"], leaf_ages=ages, **how)
    except InfiniteDensity:
        raise ValueError("two rows are the same, and a density is infinite; give --leaf-variance 0.01, say") from None
    return process, source, draws


def _process(points: Any, problem: Problem, options: dict[str, Any], shown: bool | None) -> tuple[Any, str]:
    rate, ages = options["rate"], problem.leaves.ages
    if options["process"] == "sites":
        process: Any = pal.coalescent.IndependentSites(1.0 if rate is None else rate, "uniform")
        if rate is None and len(points) > 2:
            found = pal.coalescent.rate_by_evidence(
                points, process, rng=options["seed"], leaf_ages=ages, progress=shown
            )
            if found.at_boundary:
                note("the evidence rises as far as the rate was tried; the data do not tell it.", options["quiet"])
            process, source = found.process, "by the evidence"
        else:
            source = "as given" if rate is not None else "of two rows, not estimated"
        return process, f"rate {float(process.rate):.3g} ({source})"
    columns = np.ones(points.shape[1])
    process = pal.coalescent.Brownian(
        columns if rate is None else rate * columns, leaf_variance=options["leaf_variance"]
    )
    if rate is None and len(points) > 2:
        process, _ = pal.coalescent.fit(points, process, labels=problem.labels, progress=shown, leaf_ages=ages)
        low, high = process.rate.min(), process.rate.max()
        return process, f"rates {low:.3g} to {high:.3g} (from the variances of columns, and a history)"
    return process, f"rate {float(process.rate[0]):.3g} ({'as given' if rate is not None else 'not estimated'})"


def _n_particles(shape: tuple[int, int], options: dict[str, Any]) -> int:
    # By the size of the table alone, so that the same command gives the same result everywhere.
    if options["particles"] is not None:
        return int(options["particles"])
    n, columns = shape
    return int(np.clip(_EVALUATIONS / (max(1, n**3 // 6) * columns), _FEWEST, _MOST))


def _found(process: Any, draws: Any, options: dict[str, Any]) -> dict[str, Any]:
    return {
        "model": {"name": options["process"], "rate": process.rate.tolist(), "leaf_variance": options["leaf_variance"]},
        "n_particles": len(draws),
        "n_effective": float(draws.n_effective.min(initial=len(draws))),
        "log_evidence": draws.log_evidence,
    }
