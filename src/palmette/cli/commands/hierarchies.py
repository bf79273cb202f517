"""``palmette hierarchies``: the posterior over the hierarchies of a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import click

import palmette as pal
from palmette.cli.options import answer_options, beyond_options, draws_option, output_options, posterior_options
from palmette.cli.reading.problem import Problem, check_temperature, load
from palmette.cli.telling.answers import HierarchyAnswers, check_answers
from palmette.cli.telling.exactness import infer_hierarchies, note, progress
from palmette.cli.telling.files import Files
from palmette.cli.telling.sampled import SampledAnswers
from palmette.cli.telling.summary import in_numbers
from palmette.cli.telling.text import percent

__all__ = ["hierarchies"]

_NAMES = {
    "dasgupta": "Dasgupta's cost",
    "correlation": "hierarchical correlation clustering",
    "sum-of-squares": "sums of squares",
}


@click.command()
@posterior_options(list(_NAMES))
@beyond_options
@click.option("--coverage", is_flag=True, help="Sparse trellis: estimate the share of the posterior that it misses.")
@answer_options
@draws_option("Exact draws")
@output_options("newick", "table", "nexus", "plot", "report")
def hierarchies(file: str, model: str, as_json: bool, **options: Any) -> None:
    """The posterior over the hierarchies of the rows of FILE (.csv, .tsv, .parquet; - reads standard input).

    Every hierarchy gets a probability from a model; what is printed are sums over all of them, exactly, up to some
    twenty leaves. Beyond, hierarchies are drawn by Markov chains: every probability has an error, and the first lines
    say whether the chains agree.

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
    made, likeness, words = _model(problem, beta)
    posterior = infer_hierarchies(made, likeness, options)
    found_beta = cast(pal.models.Tempered, posterior.model).beta
    words = f"{_NAMES[model]}{words}, β = {found_beta:.6g}"
    extra: dict[str, Any] = {"model": {"name": model, "beta": found_beta}}
    if isinstance(posterior, pal.sampling.SampledPosterior):
        if options["coverage"]:
            note("--coverage is about sparse trellises (--beyond sparse); chains leave nothing out.", options["quiet"])
        told = (problem.described, f"Model: {words}", f"Sampled, {posterior.verdict}.")
        SampledAnswers(posterior, problem.leaves, files, options).tell("hierarchies", file, as_json, extra, told)
        return
    if not (posterior.is_exact or options["coverage"]):
        note("--coverage estimates how much is not in the trellis.", options["quiet"])
    missed = _missed(posterior, options) if options["coverage"] else None
    extra["missed"] = None if missed is None else vars(missed)
    lines = _lines(problem, posterior, words, missed)
    HierarchyAnswers(posterior, problem.leaves, files, options).tell("hierarchies", file, as_json, extra, lines)


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


def _missed(posterior: pal.HierarchyPosterior, options: dict[str, Any]) -> pal.Estimate:
    limits = {name: options[name] for name in ("seconds", "sweeps")}
    return pal.search.uncovered(posterior, rng=options["seed"], progress=progress(options["quiet"]), **limits)


def _lines(problem: Problem, posterior: Any, model: str, missed: pal.Estimate | None) -> Iterator[str]:
    yield problem.described
    yield f"Model: {model}"
    yield in_numbers(posterior, "hierarchies")
    if missed is not None:
        exact, error = missed.kind == "exact", percent(missed.standard_error)
        much = f"exactly {percent(missed.value)}" if exact else f"{percent(missed.value)} (± {error})"
        yield f"The trellis misses {much} of the posterior over all hierarchies."
