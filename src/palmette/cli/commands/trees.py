"""``palmette trees``: a file of trees as a distribution."""

from collections.abc import Iterator
from io import BytesIO
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli.options import answer_options, draws_option, memory_option, output_options
from palmette.cli.reading.columns import Leaves
from palmette.cli.reading.tables import TextTable, read_bytes, read_table
from palmette.cli.telling.answers import HierarchyAnswers, check_answers
from palmette.cli.telling.exactness import progress
from palmette.cli.telling.files import Files
from palmette.cli.telling.summary import perplexity

__all__ = ["trees"]


@click.command()
@click.argument("file")
@click.option(
    "--burn-in", type=float, default=0.0, show_default=True, help="Trees to skip: a number, or a share below 1."
)
@click.option("--closed", is_flag=True, help="All hierarchies made of clusters that were seen (CCD0).")
@click.option("--classes", "class_file", metavar="FILE", help="Table whose first two columns are labels and classes.")
@memory_option
@answer_options
@draws_option("Exact draws")
@output_options("newick", "table", "nexus", "plot", "report")
def trees(file: str, as_json: bool, **options: Any) -> None:
    """The trees of FILE (Newick or Nexus, may end in .gz; - reads standard input) as a distribution.

    A sample of trees, from MCMC or a bootstrap, becomes a conditional cluster distribution: each split of a cluster has
    the frequency that it has among the trees with this cluster. It knows hierarchies that are in no sample but are put
    together from what is. It is as good as the sample.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette trees posterior.nex
    palmette trees posterior.nex --burn-in 0.1 --newick map.nwk --table clusters.csv --report trees.html
    palmette trees posterior.nex --closed --threshold 0.8 --json
    """
    check_answers(options)
    files = Files.of(options, file)
    raw = read_bytes(file)
    sample, weights = _after_burn_in(_read(file, raw), options["burn_in"])
    limits = {"max_memory": options["max_memory"], "progress": progress(options["quiet"])}
    posterior = pal.posterior.from_trees(sample, weights=weights, closed=options["closed"], **limits)
    leaves = _leaves(file, raw, posterior.labels, options["class_file"])
    extra = {"model": {"name": "conditional-clusters", "closed": options["closed"]}, "n_trees": len(sample)}
    lines = _lines(f"{len(sample):,} trees over {posterior.n_leaves} leaves from {leaves.table.source}", posterior)
    HierarchyAnswers(posterior, leaves, files, options).tell("trees", file, as_json, extra, lines)


def _lines(there: str, posterior: Any) -> Iterator[str]:
    mixed = f"{posterior.count:,} hierarchies can be put together from them"
    yield f"{there}; {mixed}; {perplexity(posterior, 'hierarchies')}"
    yield "Probabilities are those of the sample, and as good as it is."


def _read(file: str, raw: bytes) -> Any:
    if file.lower().endswith(".gz"):
        return pal.interop.read_trees(file)
    stream = BytesIO(raw)
    stream.name = "standard input" if file == "-" else file
    return pal.interop.read_trees(stream)


def _after_burn_in(sample: Any, burn_in: float) -> tuple[Any, Any]:
    # The trees that are left, and their weights.
    n = len(sample)
    if not 0 <= burn_in < np.inf:
        raise click.BadParameter(f"{burn_in} is neither a share nor a number of trees", param_hint="--burn-in")
    skipped = int(burn_in * n) if burn_in < 1 else int(burn_in)
    if skipped >= n:
        raise click.BadParameter(f"{skipped:,} of {n:,} trees would be skipped; none is left", param_hint="--burn-in")
    if skipped == 0:
        return sample, sample.weights
    return [sample[i] for i in range(skipped, n)], sample.weights[skipped:]


def _leaves(file: str, raw: bytes, labels: tuple[str, ...], class_file: str | None) -> Leaves:
    table = TextTable("standard input" if file == "-" else file, None, [[label] for label in labels], [], raw)
    classes = None if class_file is None else _classes(class_file, labels)
    return Leaves(labels, classes, np.empty((len(labels), 0)), (), True, table)


def _classes(file: str, labels: tuple[str, ...]) -> tuple[str, ...]:
    table = read_table(file)
    if table.n_columns < 2:
        raise ValueError(f"{file} has one column; labels and classes are two")
    found = {row[0].strip(): row[1].strip() for row in table.rows}
    missing = [label for label in labels if label not in found]
    if missing:
        raise ValueError(f"{file} has no class for the leaf {missing[0]!r}")
    return tuple(found[label] for label in labels)
