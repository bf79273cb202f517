"""``palmette hierarchies``: the posterior over the hierarchies of a table."""

from __future__ import annotations

from typing import Any

import click

import palmette as pal
from palmette.cli.options import answer_options, draws_option, output_options, posterior_options
from palmette.cli.reading.problem import Problem, check_temperature, load
from palmette.cli.telling import results, summary
from palmette.cli.telling.answers import check_answers
from palmette.cli.telling.exactness import Settings, infer_hierarchies, note
from palmette.cli.telling.files import Files
from palmette.cli.telling.hierarchy_answers import HierarchyAnswers
from palmette.cli.telling.text import percent
from palmette.defaults import DEFAULTS

__all__ = ["hierarchies"]

_NAMES = {
    "dasgupta": "Dasgupta's cost",
    "correlation": "hierarchical correlation clustering",
    "sum-of-squares": "sums of squares",
}


@click.command()
@posterior_options(list(_NAMES))
@click.option("--coverage", is_flag=True, help="Sparse trellis: estimate the share of the posterior that it misses.")
@answer_options
@draws_option("Exact draws")
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
    problem = load(file, options, model)
    settings = Settings.of(options)
    made, likeness, words = _model(problem, beta)
    posterior = infer_hierarchies(made, likeness, settings)
    if not (posterior.is_exact or options["coverage"]):
        note("--coverage estimates how much is not in the trellis.", settings.quiet)
    missed = _missed(posterior, settings) if options["coverage"] else None
    answers = HierarchyAnswers(posterior, problem.leaves, options)
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


def _model(problem: Problem, beta: float) -> tuple[Any, Any, str]:
    # The model, how alike leaves are (for linkages), and what is to be said of it.
    if problem.model == "sum-of-squares":
        points = problem.points()
        return pal.models.SumOfSquares(points, beta, labels=problem.labels), pal.similarity.likeness(points), ""
    if problem.model == "correlation":
        affinity, centre = problem.affinity()
        words = f" of similarities minus {centre:.4g}"
        return pal.models.Correlation(affinity, beta, labels=problem.labels), problem.similarity, words
    return pal.models.Dasgupta(problem.similarity, beta, labels=problem.labels), problem.similarity, ""


def _missed(posterior: pal.HierarchyPosterior, settings: Settings) -> pal.Estimate:
    chosen, most = posterior.trellis, DEFAULTS.max_clusters
    most = most if chosen is None else min(most, 2 * chosen.n_clusters)
    return pal.search.uncovered(posterior, rng=settings.seed, n_draws=200, max_clusters=most)


def _words(missed: pal.Estimate | None) -> list[str]:
    if missed is None:
        return []
    about = "exactly" if missed.kind == "exact" else "at least about"
    return [f"The trellis misses {about} {percent(missed.value)} of the posterior over all hierarchies."]
