"""Options that several commands share, each written once."""

import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

from palmette.defaults import DEFAULTS
from palmette.similarity import KINDS, WAYS

__all__ = [
    "NEXUS_DRAWS",
    "amount",
    "answer_options",
    "beyond_options",
    "bootstrap_options",
    "draws_option",
    "heights_options",
    "input_options",
    "matrix_option",
    "memory_option",
    "missing_option",
    "output_options",
    "posterior_options",
    "probability_options",
    "stack",
    "standardise_option",
]

Command = TypeVar("Command", bound=Callable[..., Any])
Decorator = Callable[[Command], Command]

NEXUS_DRAWS = 1000  #: written by --nexus unless --draws says how many

_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


def amount(text: str) -> int:
    """A number of bytes: 4G, 500M, 1.5GB, 64000000.

    >>> amount("1.5GB")
    1500000000
    """
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)\s*([KMGT]?)(?:i?B)?", text.strip(), re.IGNORECASE)
    if match is None or float(match[1]) <= 0:
        raise click.BadParameter(f"{text!r} is not an amount of memory; write 4G, 500M or a number of bytes")
    return int(min(float(match[1]) * _UNITS[match[2].upper()], 2**62))


memory_option = click.option(
    "--max-memory", type=amount, metavar="4G", help="No more than this; 3/4 of the machine's unless given."
)


def stack(*options: Decorator[Any]) -> Decorator[Any]:
    """Several options as one; the help lists them in this order."""

    def decorate(command: Command) -> Command:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


input_options = stack(
    click.argument("file"),
    click.option("--label", metavar="COLUMN", help="Name or number of the column of labels; the first if it is text."),
    click.option("--class", "class_column", metavar="COLUMN", help="Column of classes: shown, and seen by no model."),
    click.option("--ignore", "ignored", metavar="COLUMN", multiple=True, help="Column to leave out; may be repeated."),
    click.option(
        "--delimiter", metavar="CHARACTER", help="Between cells; by the file's name or first line if not given."
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether the first row names the columns; guessed if clear."
    ),
    click.option("--transpose", is_flag=True, help="Columns of the file are the leaves: turn it before all else."),
)
standardise_option = click.option(
    "--standardise/--no-standardise", default=True, show_default=True, help="Columns to mean 0 and variance 1 first."
)
matrix_option = click.option(
    "--precomputed", type=click.Choice(["similarity", "distance"]), help="FILE is a matrix between leaves."
)
missing_option = click.option(
    "--missing",
    type=click.Choice(WAYS),
    help="Missing values: rows are compared over the columns that both have, the mean of the column stands in, columns "
    "with gaps are left out, or none is allowed.  [default: pairwise where rows are only compared; a Dirichlet process "
    "knows gaps; else refuse]",
)
_similarity_options = stack(
    click.option(
        "--similarity",
        type=click.Choice(KINDS),
        default="rbf",
        show_default=True,
        help="How alike two rows are: exp(-d²/2h²), 1 - d/max d, cosine, Pearson's correlation.",
    ),
    click.option("--bandwidth", type=float, help="h of rbf; the median distance unless given."),
    click.option(
        "--centre",
        metavar="NUMBER|mean",
        default="mean",
        show_default=True,
        help="Correlation models: what is taken off similarities, so that some attract and others repel.",
    ),
)
_temperature_options = stack(
    click.option("--beta", type=float, help="Inverse temperature: how far the model is trusted.  [default: 1]"),
    click.option("--perplexity", type=float, help="Set β by the effective number of clusterings."),
)
_trellis_options = stack(
    memory_option,
    click.option(
        "--exact-leaves",
        type=click.IntRange(1),
        help="Up to so many leaves everything is summed over.  "
        f"[default: {DEFAULTS.separable_leaves}, or {DEFAULTS.exact_leaves} where splits cost more]",
    ),
)
beyond_options = stack(
    click.option(
        "--beyond",
        type=click.Choice(["sampled", "sparse"]),
        default=DEFAULTS.beyond,
        show_default=True,
        help="With more leaves than that: Markov chains, with errors; or a sparse trellis of chosen clusters.",
    ),
    click.option(
        "--seconds",
        type=click.FloatRange(0),
        default=DEFAULTS.seconds,
        show_default=True,
        help="How long all of that takes at most, the evidence included.",
    ),
    click.option("--sweeps", type=click.IntRange(8), help="How far chains run, whatever the clock says."),
)
probability_options = stack(
    click.option(
        "--min-probability",
        type=float,
        default=DEFAULTS.min_probability,
        show_default=True,
        help="Of clusters that are listed.",
    ),
    click.option(
        "--threshold", type=float, default=DEFAULTS.consensus, show_default=True, help="Of clusters in the consensus."
    ),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything random."),
)
answer_options = stack(
    click.option(
        "--best", type=click.IntRange(1, 100_000), default=3, show_default=True, help="How many of the best to show."
    ),
    probability_options,
)
bootstrap_options = stack(
    click.option(
        "--bootstrap",
        type=click.IntRange(2),
        metavar="DRAWS",
        help="Draw columns anew, so many times at each of ten scales: AU and BP of clusters, beside probabilities.",
    ),
    click.option(
        "--bootstrap-by",
        type=click.Choice(["map", "greedy", "average"]),
        help="How the hierarchy of drawn columns is found: the best of the model, a greedy search, average linkage.  "
        f"[default: map up to {DEFAULTS.resampled_leaves} leaves, else greedy]",
    ),
)
heights_options = stack(
    click.option("--cladogram", is_flag=True, help="Draw hierarchies by their shape alone, without heights."),
    click.option("--branch-lengths", is_flag=True, help="Write the heights that are drawn into Newick, as lengths."),
)
_json_options = (
    click.option("--json", "as_json", is_flag=True, help="The result as JSON on stdout, for programs."),
    click.option("--quiet", is_flag=True, help="No progress and no notes on stderr."),
)
_files = {
    "newick": "The best hierarchy as Newick, with support values.",
    "table": "Clusters and their probabilities: .csv, .tsv, .json or .parquet.",
    "nexus": "Draws as a Nexus file of trees.",
    "membership": "The best partition, one row per leaf: .csv, .tsv, .json or .parquet.",
    "plot": "A picture: .png, .svg or .pdf.",
    "report": "A page to read and to send: .html.",
}


def posterior_options(models: Sequence[str], *own: Decorator[Any], default: str | None = None) -> Decorator[Any]:
    """The table, the model and its temperature, options of the command's own, the trellis.

    The model is the first unless given; with `default`, it is left open, and these words say what it will be.
    """
    choice = {"default": models[0], "show_default": True} if default is None else {"show_default": default}
    model = click.option("--model", type=click.Choice(models), **choice)
    above = (input_options, matrix_option, missing_option, model, _temperature_options)
    return stack(*above, *own, standardise_option, _similarity_options, _trellis_options)


def draws_option(kind: str = "Draws") -> Decorator[Any]:
    """How many hierarchies to draw."""
    words = f"{kind}, for --json (default 0) and --nexus (default {NEXUS_DRAWS})."
    return click.option("--draws", type=click.IntRange(0, 1_000_000), help=words)


def output_options(*names: str) -> Decorator[Any]:
    """The options for files of these kinds, and those for stdout and stderr."""
    files = [click.option(f"--{name}", metavar="FILE", help=_files[name]) for name in names]
    return stack(*files, *_json_options)
