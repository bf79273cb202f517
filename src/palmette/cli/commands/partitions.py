"""``palmette partitions``: the posterior over the flat clusterings of a table."""

from collections.abc import Iterator
from typing import Any

import click

from palmette.cli.asking.posteriors import budget_of, infer_partitions
from palmette.cli.options import answer_options, beyond_options, output_options, posterior_options
from palmette.cli.reading.partition_models import NAMES, choose_model, default_model
from palmette.cli.reading.problem import Problem, check_temperature, load
from palmette.cli.telling.answers import PartitionAnswers, check_answers
from palmette.cli.telling.files import Files
from palmette.cli.telling.sampled import SampledPartitionAnswers
from palmette.cli.telling.summary import in_numbers
from palmette.progress import phases

__all__ = ["partitions"]

_MODELS = "dirichlet-process of points, correlation of matrices"


@click.command()
@posterior_options(
    NAMES,
    click.option("--clusters", "n_clusters", type=click.IntRange(1), help="Given that there are so many clusters."),
    click.option(
        "--concentration",
        type=float,
        show_default="by the evidence",
        help="α of the Dirichlet process: the larger, the more clusters.",
    ),
    click.option(
        "--likelihood",
        type=click.Choice(["normal", "binary", "categorical"]),
        default="normal",
        show_default=True,
        help="Of the Dirichlet process: numbers, 0 and 1, or codes 0, 1, 2, …",
    ),
    click.option(
        "--within",
        type=float,
        show_default="by the evidence",
        help="normal: variance within clusters that is expected.",
    ),
    default=_MODELS,
)
@beyond_options
@answer_options
@click.option("--draws", type=click.IntRange(0, 1_000_000), default=0, show_default=True, help="Draws, for --json.")
@output_options("table", "membership", "plot", "report")
@phases()
def partitions(file: str, model: str | None, as_json: bool, **options: Any) -> None:
    """The posterior over the partitions of the rows of FILE (.csv, .tsv, .xlsx, .parquet; - is standard input).

    Every partition gets a probability from a model; what is printed are sums over all of them, exactly, up to some
    twenty leaves. Beyond, partitions are drawn by Markov chains: every probability has an error, and the first lines
    say whether the chains agree.

    \b
    dirichlet-process   points: a mixture with as many clusters as the data ask for; knows missing values
    correlation         similarity minus its mean: attraction within clusters, repulsion between them

    A Dirichlet process is a likelihood: it needs no temperature and finds its constants. Correlation clustering is a
    cost, as sharp as --beta or --perplexity makes it, which is a choice of yours.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette partitions worlds.csv --class kind --report worlds.html
    palmette partitions languages.csv --precomputed similarity --class family --beta 20
    palmette partitions worlds.csv --class kind --clusters 3 --membership groups.csv --plot together.png --json
    """
    check_answers(options)
    files = Files.of(options, file)
    beta = check_temperature(options["beta"], options["perplexity"])
    if options["perplexity"] is not None and options["n_clusters"] is not None:
        raise click.UsageError(
            "--perplexity is that of partitions into any number of clusters; with --clusters give --beta"
        )
    model = model or default_model(options["precomputed"])
    mixture = model == "dirichlet-process"
    if mixture and options["likelihood"] != "normal":
        options["standardise"] = False
    problem = load(file, options, model, gaps="model" if mixture else "pairwise")
    chosen = choose_model(problem, beta, options)
    posterior = infer_partitions(chosen.model, chosen.likeness, options, budget_of(options), free=chosen.free)
    words, facts = chosen.described(posterior)
    extra = {"missing": problem.missing, "model": facts}
    if posterior.kind == "chains":
        told = (problem.described, f"Model: {words}", f"Sampled, {posterior.verdict}.")
        sampled = SampledPartitionAnswers(posterior, problem.leaves, files, options)
        sampled.tell("partitions", file, as_json, extra, told)
        return
    lines = _lines(problem, posterior, words)
    PartitionAnswers(posterior, problem.leaves, files, options).tell("partitions", file, as_json, extra, lines)


def _lines(problem: Problem, posterior: Any, model: str) -> Iterator[str]:
    yield problem.described
    yield f"Model: {model}"
    yield in_numbers(posterior, "partitions")
