"""``palmette hierarchies``: the posterior over the hierarchies of a table."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

import palmette as pal
from palmette.cli.asking.bootstrap import resampling
from palmette.cli.asking.evidence import estimated_evidence
from palmette.cli.asking.posteriors import budget_of, infer_hierarchies
from palmette.cli.notes import note, progress
from palmette.cli.options import (
    answer_options,
    beyond_options,
    bootstrap_options,
    draws_option,
    heights_options,
    output_options,
    posterior_options,
)
from palmette.cli.reading.hierarchy_models import NAMES, choose_model, only_compares
from palmette.cli.reading.problem import Problem, check_temperature, load
from palmette.cli.telling.answers import HierarchyAnswers, check_answers
from palmette.cli.telling.files import Files
from palmette.cli.telling.sampled import SampledHierarchyAnswers
from palmette.cli.telling.summary import in_numbers
from palmette.cli.telling.text import percent
from palmette.progress import phases

if TYPE_CHECKING:  # the compiler comes with it, and --help should not wait for it
    from palmette.budget import Budget
    from palmette.report.listing import Hierarchies

__all__ = ["hierarchies"]

_EVIDENCE = "shares of points, graph of a matrix of 0 and 1, dasgupta of other matrices"
_dimension = click.option(
    "--dimension",
    metavar="effective|columns|NUMBER",
    help="Shares, contrasts: how many columns count; effective: as many as vary independently.  "
    "[default: effective; contrasts: columns, if there are fewer than rows]",
)


@click.command()
@posterior_options(list(NAMES), _dimension, default=_EVIDENCE)
@beyond_options
@click.option("--coverage", is_flag=True, help="Sparse trellis: estimate the share of the posterior that it misses.")
@answer_options
@draws_option("Exact draws")
@bootstrap_options
@heights_options
@output_options("newick", "table", "nexus", "plot", "report")
@phases()
def hierarchies(file: str, model: str | None, as_json: bool, **options: Any) -> None:
    """The posterior over the hierarchies of the rows of FILE (.csv, .tsv, .xlsx, .parquet; - is standard input).

    Every hierarchy gets a probability from a model; what is printed are sums over all of them, exactly, up to some
    twenty leaves. Beyond, hierarchies are drawn by Markov chains: every probability has an error, and the first lines
    say whether the chains agree.

    Likelihoods need no temperature, find their parameters, and say first whether there is a hierarchy at all:

    \b
    shares           points: every split takes more of its cluster's variance than noise would
    contrasts        points: few splits are wide and many are narrow
    graph            a matrix of 0 and 1: every split has a probability of edges
    counts           a matrix of counts: every split has a rate
    normal-pairs     a matrix of similarities: every split has a mean and a variance

    Costs are as sharp as --beta or --perplexity makes them, which is a choice of yours:

    \b
    dasgupta         similar leaves should part late, in small clusters
    correlation      similarity minus its mean: attraction should not be cut, repulsion not be kept
    sum-of-squares   clusters should be tight around their means

    Examples (`palmette demo --data` writes the files):

    \b
    palmette hierarchies worlds.csv --class kind
    palmette hierarchies worlds.csv --class kind --model sum-of-squares --perplexity 20
    palmette hierarchies languages.csv --precomputed similarity --class family --beta 4 --report languages.html
    palmette hierarchies worlds.csv --class kind --newick best.nwk --table clusters.csv --plot tree.png --json
    palmette hierarchies worlds.csv --class kind --bootstrap 20 --quiet --table clusters.csv --plot tree.png
    """
    check_answers(options)
    files = Files.of(options, file)
    beta = check_temperature(options["beta"], options["perplexity"])
    gaps = "pairwise" if only_compares(model) else "refuse"
    problem = load(file, options, model or "shares, the model unless --model names another,", gaps=gaps)
    chosen = choose_model(problem, model, beta, options)
    budget, by_evidence = budget_of(options), not chosen.is_cost
    posterior = infer_hierarchies(chosen.model, chosen.likeness, options, budget, by_evidence=by_evidence)
    words, facts = chosen.described(posterior)
    resample = resampling(problem, chosen, posterior, options)
    extra: dict[str, Any] = {"missing": problem.missing, "model": facts}
    if posterior.kind == "chains":
        if options["coverage"]:
            note("--coverage is about sparse trellises (--beyond sparse); chains leave nothing out.", options["quiet"])
        told = [problem.described, f"Model: {words}", f"Sampled, {posterior.verdict}."]
        extra["structure"] = None
        if by_evidence and options["sweeps"] is None:  # else how long it takes is not to depend on a clock
            estimated, said = estimated_evidence(posterior, budget)
            extra["structure"] = estimated and _told(estimated)
            told.insert(0, said)
        answers = SampledHierarchyAnswers(posterior, problem.leaves, files, options, resample)
        answers.tell("hierarchies", file, as_json, extra, told)
        return
    if not (posterior.is_exact or options["coverage"]):
        note("--coverage estimates how much is not in the trellis.", options["quiet"])
    missed = _missed(posterior, options, budget) if options["coverage"] else None
    extra["missed"] = None if missed is None else vars(missed)
    compared = None if chosen.is_cost else pal.evidence.compare(posterior, at_best=None)
    extra["structure"] = compared and _told(compared)
    lines = _lines(problem, posterior, words, missed, compared)
    exact = HierarchyAnswers(posterior, problem.leaves, files, options, resample)
    exact.tell("hierarchies", file, as_json, extra, lines)


def _told(compared: pal.evidence.Comparison) -> dict[str, Any]:
    return {**asdict(compared), "log_bayes_factor": compared.log_bayes_factor}


def _missed(posterior: Hierarchies, options: dict[str, Any], budget: Budget) -> pal.Estimate:
    if posterior.kind == "averages":  # of posteriors over all hierarchies
        return pal.Estimate(0.0, "exact")
    limits = {"seconds": budget.seconds, "sweeps": options["sweeps"], "rng": options["seed"]}
    return pal.search.uncovered(posterior, progress=progress(options["quiet"]), **limits)


def _lines(
    problem: Problem,
    posterior: Hierarchies,
    model: str,
    missed: pal.Estimate | None,
    compared: pal.evidence.Comparison | None,
) -> Iterator[str]:
    if compared is not None:
        yield str(compared)
    yield problem.described
    yield f"Model: {model}"
    yield in_numbers(posterior, "hierarchies")
    if missed is not None:
        exact, error = missed.kind == "exact", percent(missed.standard_error)
        much = f"exactly {percent(missed.value)}" if exact else f"{percent(missed.value)} (± {error})"
        yield f"The trellis misses {much} of the posterior over all hierarchies."
