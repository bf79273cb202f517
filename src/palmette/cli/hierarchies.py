"""``palmette hierarchies``: the posterior over the hierarchies of a table."""

from __future__ import annotations

from typing import Any

import click

import palmette as pal
from palmette.cli import results, summary
from palmette.cli.answers import HierarchyAnswers, check_answers
from palmette.cli.exactness import Settings, infer_hierarchies, note
from palmette.cli.options import (
    answer_options,
    input_options,
    matrix_options,
    output_options,
    similarity_options,
    standardise_option,
    temperature_options,
    trellis_options,
)
from palmette.cli.outputs import Files
from palmette.cli.problem import Problem, check_temperature, load
from palmette.cli.text import percent

__all__ = ["hierarchies"]

_NAMES = {
    "dasgupta": "Dasgupta's cost",
    "correlation": "hierarchical correlation clustering",
    "sum-of-squares": "sums of squares",
}


@click.command()
@input_options
@matrix_options
@click.option("--model", type=click.Choice(list(_NAMES)), default="dasgupta", show_default=True)
@temperature_options
@standardise_option
@similarity_options
@trellis_options
@click.option("--coverage", is_flag=True, help="Sparse trellis: estimate the share of the posterior that it misses.")
@answer_options
@click.option(
    "--draws", type=click.IntRange(0, 1_000_000), help="Exact draws, for --json (default 0) and --nexus (default 1000)."
)
@output_options("newick", "table", "nexus", "plot", "report")
def hierarchies(file: str, model: str, as_json: bool, **options: Any) -> None:
    """The posterior over the hierarchies of the rows of FILE (.csv, .tsv, .parquet; - reads standard input).

    Every hierarchy gets a probability from a model; what is printed are sums over all of them, exactly, up to some
    twenty leaves. Beyond, they are over a sparse trellis: many hierarchies around good ones.

    \b
    dasgupta         similar leaves should part late, in small clusters
    correlation      similarity minus its mean: attraction should not be cut, repulsion not be kept
    sum-of-squares   clusters should be tight around their means

    Examples (`palmette demo --data` writes the files):

    \b
    palmette hierarchies worlds.csv --class kind --model sum-of-squares --perplexity 20
    palmette hierarchies languages.csv --precomputed similarity --class family --beta 4 --report languages.html
    palmette hierarchies worlds.csv --class kind --newick best.nwk --table clusters.csv --plot tree.png --json
    """
    check_answers(options)
    files = Files.of(options, file)
    beta = check_temperature(options["beta"], options["perplexity"])
    problem = load(file, options)
    made, words = _model(problem, model, beta)
    settings = Settings.of(options)
    posterior = infer_hierarchies(made, _likeness(problem, model), settings)
    if not (posterior.is_exact or options["coverage"]):
        note("--coverage estimates how much is not in the trellis.", settings.quiet)
    missed = _missed(posterior, settings) if options["coverage"] else None
    answers = HierarchyAnswers(posterior, problem.leaves.classes, problem.leaves.table.raw, options)
    answers.write(files, f"Hierarchies of {problem.leaves.table.source}")
    found_beta = posterior.model.beta  # type: ignore[attr-defined]
    if as_json:
        answers.echo(
            results.heading("hierarchies", file, problem.leaves),
            {"model": {"name": model, "beta": found_beta}, "missed": None if missed is None else vars(missed)},
        )
        return
    about = f"Model: {_NAMES[model]}{words}, β = {found_beta:.6g}"
    answers.say([problem.described, about, summary.in_numbers(posterior, "hierarchies"), *_words(missed)])
    summary.say_files(files.written)


def _model(problem: Problem, name: str, beta: float) -> tuple[Any, str]:
    # The model, and what is to be said of it.
    if name == "sum-of-squares":
        return pal.models.SumOfSquares(problem.points(name), beta, labels=problem.labels), ""
    if name == "correlation":
        affinity, centre = problem.affinity(name)
        return pal.models.Correlation(affinity, beta, labels=problem.labels), f" of similarities minus {centre:.4g}"
    return pal.models.Dasgupta(problem.similarity(name), beta, labels=problem.labels), ""


def _likeness(problem: Problem, name: str) -> Any:
    return -problem.distances(name) if name == "sum-of-squares" else problem.similarity(name)


def _missed(posterior: pal.HierarchyPosterior, settings: Settings) -> pal.Estimate:
    chosen = posterior.trellis
    most = 20_000 if chosen is None else min(20_000, 2 * chosen.n_clusters)
    return pal.search.uncovered(posterior, rng=settings.seed, n_draws=200, max_clusters=most)


def _words(missed: pal.Estimate | None) -> list[str]:
    if missed is None:
        return []
    about = "exactly" if missed.kind == "exact" else "at least about"
    return [f"The trellis misses {about} {percent(missed.value)} of the posterior over all hierarchies."]
