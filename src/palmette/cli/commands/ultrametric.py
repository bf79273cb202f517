"""``palmette ultrametric``: one hierarchy with heights, fitted to distances."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli.notes import progress
from palmette.cli.options import input_options, matrix_option, missing_option, output_options, standardise_option
from palmette.cli.reading.problem import Problem, load
from palmette.cli.telling import results, summary
from palmette.cli.telling.files import Files
from palmette.defaults import DEFAULTS

__all__ = ["ultrametric"]


@click.command()
@input_options
@matrix_option
@missing_option
@standardise_option
@click.option(
    "--neighbours",
    type=click.IntRange(1),
    default=DEFAULTS.neighbours,
    show_default=True,
    help="Edges of each row's vertex.",
)
@click.option(
    "--loss",
    type=click.Choice(["closest", "closest+size", "dasgupta"]),
    default=DEFAULTS.loss,
    show_default=True,
    help="What is made small: squared differences to the distances, these plus small clusters, Dasgupta's cost.",
)
@click.option(
    "--iterations",
    type=click.IntRange(1),
    default=DEFAULTS.iterations,
    show_default=True,
    help="At most so many.",
)
@click.option("--clusters", "n_clusters", type=click.IntRange(1), help="Cut into so many, for --membership and --json.")
@output_options("newick", "table", "membership", "plot")
def ultrametric(file: str, as_json: bool, n_clusters: int | None, **options: Any) -> None:
    """Fit an ultrametric to the rows of FILE (.csv, .tsv, .xlsx, .parquet; - is standard input), by gradient descent.

    Two leaves are as far apart as the height at which they meet. Of points, the distances to the nearest neighbours
    count (and a spanning tree, so that all hang together); of a distance matrix, all. The answer is one hierarchy, the
    best that was found: it has no probabilities. Thousands of rows are no trouble.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette ultrametric worlds.csv --class kind
    palmette ultrametric worlds.csv --class kind --loss closest+size --clusters 3 --membership groups.csv
    palmette ultrametric distances.csv --precomputed distance --newick fitted.nwk --plot fitted.pdf --json
    """
    files = Files.of(options, file)
    if files.membership is not None and n_clusters is None:
        raise click.UsageError("--membership needs --clusters, the number of clusters to cut into")
    problem = load(file, options, "an ultrametric", gaps="pairwise")
    if n_clusters is not None and n_clusters > len(problem.labels):
        raise click.BadParameter(
            f"{len(problem.labels)} leaves cannot be cut into {n_clusters}", param_hint="--clusters"
        )
    with warnings.catch_warnings():  # whether the loss settled is said below
        warnings.simplefilter("ignore", UserWarning)
        graph = _graph(problem, options["neighbours"])
        fitted = pal.ultrametric.fit(
            graph,
            pal.ultrametric.losses.named_loss(options["loss"], graph),
            start=DEFAULTS.starts,
            iterations=options["iterations"],
            progress=progress(options["quiet"]),
        )
    hierarchy = fitted.hierarchy
    flat = None if n_clusters is None else hierarchy.cut(n_clusters)
    _write(files, hierarchy, flat, problem)
    if as_json:
        results.echo(_result(file, problem, fitted, flat, options["loss"]))
        return
    settled = "settled" if fitted.converged else "stopped before it settled; --iterations lets it go on"
    summary.facts(
        problem.described,
        f"Loss: {options['loss']}, {fitted.best_loss:.6g} after {fitted.iterations} steps ({settled})",
    )
    summary.say_hierarchy("The fitted hierarchy", hierarchy, problem.leaves.classes)
    if flat is not None:
        summary.say_clusters_of(f"Cut into {n_clusters}", flat)
    summary.say_files(files.written)


def _graph(problem: Problem, neighbours: int) -> Any:
    if problem.precomputed is None:
        if problem.gaps is not None and problem.gaps.way == "pairwise":
            return pal.ultrametric.Graph.from_distances(problem.distances(), neighbours, labels=problem.labels)
        return pal.ultrametric.Graph.from_points(problem.points(), neighbours, labels=problem.labels)
    between = problem.distances()
    i, j = np.triu_indices(len(between), 1)
    return pal.ultrametric.Graph(np.column_stack([i, j]), between[i, j], labels=problem.labels)


def _write(files: Files, hierarchy: pal.Hierarchy, flat: pal.Partition | None, problem: Problem) -> None:
    files.write_newick(hierarchy)
    files.write_table(("members", "size", "height"), _clusters(hierarchy))
    if flat is not None:
        files.write_membership(flat)
    files.write_plot(lambda: pal.plot.dendrogram(hierarchy, classes=problem.leaves.classes))


def _clusters(hierarchy: pal.Hierarchy) -> Iterator[tuple[tuple[str, ...], int, float]]:
    for cluster, height in zip(hierarchy.named_clusters(), hierarchy.heights.tolist(), strict=True):
        if len(cluster) > 1:
            yield cluster, len(cluster), height


def _result(file: str, problem: Problem, fitted: Any, flat: pal.Partition | None, loss: str) -> dict[str, Any]:
    clusters = [{"members": list(m), "size": size, "height": height} for m, size, height in _clusters(fitted.hierarchy)]
    return {
        **results.heading("ultrametric", file, problem.leaves),
        "missing": problem.missing,
        "exact": False,
        "model": {"name": loss},
        "loss": fitted.best_loss,
        "converged": fitted.converged,
        "n_iterations": fitted.iterations,
        "best": [results.clustering(fitted.hierarchy)],
        "clusters": clusters,
        **({} if flat is None else {"partition": results.clustering(flat)}),
    }
