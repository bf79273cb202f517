"""``palmette trees``: a file of trees as a distribution."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from io import BytesIO
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli.notes import progress
from palmette.cli.options import answer_options, draws_option, memory_option, output_options
from palmette.cli.reading.cells import class_in
from palmette.cli.reading.columns import Leaves
from palmette.cli.reading.tables import TextTable, read_table
from palmette.cli.reading.unpacking import read_bytes, unpacked
from palmette.cli.telling import summary
from palmette.cli.telling.answers import HierarchyAnswers, check_answers
from palmette.cli.telling.files import Files
from palmette.cli.telling.summary import perplexity

__all__ = ["trees"]


@click.command()
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option(
    "--burn-in", type=float, default=0.0, show_default=True, help="Trees of each file to skip: a number, or a share."
)
@click.option("--thin", type=click.IntRange(1), default=1, show_default=True, help="Every so many trees one is taken.")
@click.option("--closed", is_flag=True, help="All hierarchies made of clusters that were seen (CCD0).")
@click.option("--outgroup", metavar="LEAF", multiple=True, help="Root the trees by it; may be repeated: all together.")
@click.option("--midpoint", is_flag=True, help="Root the trees in the middle of their longest path.")
@click.option("--rooted", is_flag=True, help="Take the roots as they are written, whatever [&U] says.")
@click.option("--classes", "class_file", metavar="FILE", help="Table whose first two columns are labels and classes.")
@memory_option
@answer_options
@draws_option("Exact draws")
@output_options("newick", "table", "nexus", "plot", "report")
def trees(files: tuple[str, ...], as_json: bool, **options: Any) -> None:
    """The trees of one FILE or more (Newick or Nexus, may end in .gz; - reads standard input) as a distribution.

    A sample of trees, from MCMC or a bootstrap, becomes a conditional cluster distribution: each split of a cluster has
    the frequency that it has among the trees with this cluster. It knows hierarchies that are in no sample but are put
    together from what is. It is as good as the sample. Several files are several runs, of which all trees count; how
    far they agree is said (of one file, its two halves). Ages come from branch lengths, if every tree has them.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette trees posterior.nex
    palmette trees posterior.nex --burn-in 0.1 --newick map.nwk --table clusters.csv --report trees.html
    palmette trees posterior.nex --closed --threshold 0.8 --json
    palmette trees posterior.nex --burn-in 0.25 --thin 2 --plot best.svg
    palmette trees posterior.nex --outgroup Welsh
    """
    check_answers(options)
    outputs = Files.of(options, *files)
    raw = [read_bytes(file) for file in files]
    runs = [_rooted(_chosen(_read(file, data), file, options), options) for file, data in zip(files, raw, strict=True)]
    sample = pal.interop.TreeSet.joined(runs)
    limits = {"max_memory": options["max_memory"], "progress": progress(options["quiet"])}
    posterior = pal.posterior.from_trees(sample, closed=options["closed"], **limits)
    source = ", ".join("standard input" if file == "-" else file for file in files)
    leaves = _leaves(source, b"".join(raw), posterior.labels, options["class_file"])
    agreed = _agreement(runs, sample)
    extra = {"model": {"name": "conditional-clusters", "closed": options["closed"]}, "n_trees": len(sample)}
    extra["agreement"] = None if agreed is None else {**agreed._asdict(), "cluster": list(agreed.cluster)}
    lines = _lines(
        f"{len(sample):,} trees over {posterior.n_leaves} leaves from {source}", posterior, agreed, len(runs)
    )
    answers = _TreeAnswers(posterior, leaves, outputs, options, sample=sample)
    answers.tell("trees", files[0] if len(files) == 1 else source, as_json, extra, lines)


@dataclass(frozen=True, eq=False)
class _TreeAnswers(HierarchyAnswers):
    """Of a sample of trees: the best has the ages of its clusters, if the trees have branch lengths."""

    sample: pal.interop.TreeSet = field(kw_only=True)

    @cached_property
    def ages(self) -> Any:
        """Of the best hierarchy; None if there are none."""
        lengths, ends = self.sample.branch_lengths, self.sample.offsets[1:] - 1
        if lengths is None or self.sample.n_leaves < 2 or np.isnan(np.delete(lengths, ends)).any():
            return None
        return pal.posterior.node_ages(self.sample, self._supported[0][0])

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable hierarchies with support, the first with its ages."""
        found = self._supported
        return found if self.ages is None else [(self.ages.hierarchy, found[0][1]), *found[1:]]

    def _own_numbers(self) -> dict[str, Any]:
        if self.ages is None:
            return super()._own_numbers()
        columns = ("median", "mean", "low", "high")
        rows = [
            {"members": list(cluster)} | {name: float(getattr(self.ages, name)[node]) for name in columns}
            for node, cluster in enumerate(self.ages.hierarchy.named_clusters())
            if len(cluster) > 1
        ]
        return {**super()._own_numbers(), "ages": rows}

    def _plotted(self, best: Any) -> Any:
        intervals = None if self.ages is None else self.ages.intervals
        return pal.plot.dendrogram(best, classes=self.leaves.classes, intervals=intervals)

    def _say_clusters(self, title: str) -> None:
        super()._say_clusters(title)
        if self.ages is not None:
            clusters = enumerate(self.ages.hierarchy.named_clusters())
            rows = [(node, list(cluster)) for node, cluster in clusters if len(cluster) > 1]
            summary.say_ages("Ages of the clusters above: median, and 95 % of the trees that have it", rows, self.ages)


def _lines(there: str, posterior: Any, agreed: Any, n_runs: int) -> Iterator[str]:
    mixed = f"{posterior.count:,} hierarchies can be put together from them"
    yield f"{there}; {mixed}; {perplexity(posterior, 'hierarchies')}"
    yield "Probabilities are those of the sample, and as good as it is."
    if agreed is not None:
        compared = f"{n_runs} files" if n_runs > 1 else "the two halves of the file"
        words = {True: "they agree", None: "they differ somewhat", False: "they do not agree"}[agreed.agree]
        measure = "average standard deviation of split frequencies"
        yield f"Between {compared} the {measure} is {agreed.deviation:.3f}: {words}."


def _agreement(runs: list[pal.interop.TreeSet], sample: pal.interop.TreeSet) -> Any:
    if sample.n_leaves < 3:
        return None
    if len(runs) > 1:
        return pal.evaluate.agreement(runs)
    halves = [sample[: len(sample) // 2], sample[len(sample) // 2 :]]
    there = len(sample) > 3 and all(half.weights.sum() > 0 for half in halves)
    return pal.evaluate.agreement(halves) if there else None


def _read(file: str, raw: bytes) -> Any:
    name = "standard input" if file == "-" else file
    stream = BytesIO(unpacked(raw, name))
    stream.name = name
    return pal.interop.read_trees(stream)


def _chosen(sample: pal.interop.TreeSet, file: str, options: dict[str, Any]) -> pal.interop.TreeSet:
    n, burn_in = len(sample), options["burn_in"]
    if not 0 <= burn_in < np.inf:
        raise click.BadParameter(f"{burn_in} is neither a share nor a number of trees", param_hint="--burn-in")
    skipped = int(burn_in * n) if burn_in < 1 else int(burn_in)
    if skipped >= n:
        raise click.BadParameter(
            f"{skipped:,} of {n:,} trees of {file} would be skipped; none is left", param_hint="--burn-in"
        )
    return sample[skipped :: options["thin"]]


def _rooted(sample: pal.interop.TreeSet, options: dict[str, Any]) -> pal.interop.TreeSet:
    outgroup, midpoint, as_written = options["outgroup"], options["midpoint"], options["rooted"]
    if bool(outgroup) + midpoint + as_written > 1:
        raise click.UsageError("--outgroup, --midpoint and --rooted exclude each other; give one of them")
    if outgroup:
        return sample.rooted_by(outgroup)
    if midpoint:
        return sample.midpoint_rooted()
    if as_written:
        return sample.with_roots()
    if sample.n_leaves > 2 and sample.is_unrooted.any():
        first = int(sample.is_unrooted.argmax()) + 1
        raise click.UsageError(
            f"tree {first:,} has no root ([&U], or three branches at it), so its clusters are not known; say "
            "--outgroup LEAF or --midpoint, or --rooted if the root that is written is meant"
        )
    return sample


def _leaves(source: str, raw: bytes, labels: tuple[str, ...], class_file: str | None) -> Leaves:
    table = TextTable(source, None, [[label] for label in labels], [], raw)
    classes = None if class_file is None else _classes(class_file, labels)
    return Leaves(labels, classes, np.empty((len(labels), 0)), (), 0, table)


def _classes(file: str, labels: tuple[str, ...]) -> tuple[str | None, ...]:
    table = read_table(file)
    if table.n_columns < 2:
        raise ValueError(f"{file} has one column; labels and classes are two")
    found = {row[0].strip(): class_in(row[1]) for row in table.rows}
    missing = [label for label in labels if label not in found]
    if missing:
        raise ValueError(f"{file} has no class for the leaf {missing[0]!r}")
    return tuple(found[label] for label in labels)
