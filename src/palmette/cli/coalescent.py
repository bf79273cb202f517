"""``palmette coalescent``: hierarchies with times, for tables with gaps."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

import palmette as pal
from palmette.cli import results, summary
from palmette.cli.answers import NEXUS_DRAWS, check_answers, write_report
from palmette.cli.columns import Leaves
from palmette.cli.options import input_options, output_options, stack, standardise_option
from palmette.cli.outputs import Files, with_support
from palmette.cli.problem import load

__all__ = ["coalescent"]

_PROCESSES = {"brownian": "Brownian motion", "sites": "categorical sites"}

_particle_options = stack(
    click.option(
        "--process",
        type=click.Choice(list(_PROCESSES)),
        default="brownian",
        show_default=True,
        help="Numbers that drift, or categories (any text) that change.",
    ),
    click.option("--particles", type=click.IntRange(1, 1_000_000), default=200, show_default=True),
    click.option(
        "--proposal",
        type=click.Choice(["race", "post-post", "prior-post", "prior-prior"]),
        default="race",
        show_default=True,
        help="How the next event is drawn.",
    ),
    click.option(
        "--leaf-variance",
        type=float,
        default=0.0,
        show_default=True,
        help="Of rows, in units of the rate (brownian).",
    ),
    click.option("--min-probability", type=float, default=0.01, show_default=True, help="Of clusters that are listed."),
    click.option("--threshold", type=float, default=0.5, show_default=True, help="Of clusters in the consensus."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of everything random."),
    click.option(
        "--draws", type=click.IntRange(0, 1_000_000), help="Draws, for --json (default 0) and --nexus (default 1000)."
    ),
)


@click.command()
@input_options
@standardise_option
@_particle_options
@output_options("newick", "table", "nexus", "plot", "report")
def coalescent(file: str, as_json: bool, **options: Any) -> None:
    """Hierarchies with times for the rows of FILE (.csv, .tsv, .parquet; - reads standard input), gaps included.

    Rows are lineages that go back in time and meet, two at a time (Kingman's coalescent), while their values drift by
    Brownian motion; with --process sites, cells are categories, and each column changes by itself. Rates are estimated;
    histories are weighted particles (sequential Monte Carlo), so probabilities are estimates, and the effective number
    of particles says how good. The history that is shown has the largest product of cluster probabilities among the
    particles. Empty cells, NA, NaN and ? are missing values.

    Examples (`palmette demo --data` writes the files):

    \b
    palmette coalescent worlds.csv --class kind
    palmette coalescent gaps.csv --class kind --particles 500 --newick best.nwk --nexus draws.nex
    palmette coalescent gaps.csv --class kind --plot history.svg --json
    palmette coalescent letters.csv --class family --process sites
    """
    check_answers(options)
    files = Files.of(options, file)
    sites = options["process"] == "sites"
    if sites and options["leaf_variance"]:
        raise click.UsageError("--leaf-variance is of --process brownian; categories have none")
    options["standardise"] &= not sites
    problem = load(file, options, categories=sites)
    points = problem.points("a coalescent", missing=True)
    process, draws = _infer(points, problem.labels, options)
    best = with_support(draws.most_credible(), draws)
    clusters = draws.cluster_probabilities(options["min_probability"])
    _write(files, draws, best, clusters, problem.leaves, options)
    if as_json:
        results.echo(_result(file, problem.leaves, process, draws, best, clusters, options))
        return
    summary.facts(
        problem.described,
        f"Model: Kingman's coalescent, {_PROCESSES[options['process']]}; {len(draws):,} particles, at the least "
        f"{_least_effective(draws):.1f} of them effective",
        f"log evidence about {draws.log_evidence:.4f}",
    )
    title = "The most credible history; numbers are the probabilities of clusters"
    summary.say_hierarchy(title, best, problem.leaves.classes)
    agreed = draws.consensus(options["threshold"])
    if agreed != best:
        summary.say_hierarchy(f"The consensus: what is more probable than {options['threshold']:g}", agreed, None)
    summary.say_clusters(f"Clusters with a probability of at least {options['min_probability']:g}", clusters)
    summary.say_files(files.written)


def _infer(points: Any, labels: tuple[str, ...], options: dict[str, Any]) -> tuple[Any, Any]:
    progress = False if options["quiet"] else None
    process: Any = pal.coalescent.IndependentSites()
    if options["process"] == "brownian":
        process = pal.coalescent.Brownian(np.ones(points.shape[1]), leaf_variance=options["leaf_variance"])
    if len(points) > 2:
        process, _ = pal.coalescent.fit(points, process, labels=labels, progress=progress)
    try:
        draws = pal.coalescent.smc(
            points,
            process,
            options["particles"],
            proposal=options["proposal"],
            rng=options["seed"],
            labels=labels,
            progress=progress,
        )
    except ValueError as problem:
        if "leaf_variance" not in str(problem):
            raise
        raise ValueError("two rows are the same, and a density is infinite; give --leaf-variance 0.01, say") from None
    return process, draws


def _least_effective(draws: Any) -> float:
    return float(draws.n_effective.min(initial=len(draws)))


def _write(files: Files, draws: Any, best: Any, clusters: Any, leaves: Leaves, options: dict[str, Any]) -> None:
    files.write_newick(best)
    files.write_table(("members", "size", "probability"), clusters)
    if files.nexus is not None:
        wanted = NEXUS_DRAWS if options["draws"] is None else options["draws"]
        files.write_nexus(draws.sample(wanted, rng=options["seed"]))
    if files.plot is not None:
        files.write_plot(pal.plot.dendrogram(best, classes=leaves.classes))
    if files.report is not None:
        # The particles' conditional cluster distribution: the closest thing that can be asked everything.
        posterior = pal.posterior.from_trees([draws[i] for i in range(len(draws))], weights=draws.weights)
        title = f"Histories of {leaves.table.source}"
        write_report(files, posterior, title, leaves.classes, leaves.table.raw, options)


def _result(
    file: str, leaves: Leaves, process: Any, draws: Any, best: Any, clusters: Any, options: dict[str, Any]
) -> dict[str, Any]:
    result = {
        **results.heading("coalescent", file, leaves),
        "exact": False,
        "model": {"name": options["process"], "rate": process.rate.tolist(), "leaf_variance": options["leaf_variance"]},
        "n_particles": len(draws),
        "n_effective": _least_effective(draws),
        "log_evidence": draws.log_evidence,
        "seed": options["seed"],
        "best": [results.hierarchy(best)],
        "consensus": {
            "threshold": options["threshold"],
            **results.hierarchy(draws.consensus(options["threshold"])),
        },
        "clusters": results.clusters_of(clusters),
    }
    if options["draws"]:
        result["draws"] = [results.hierarchy(h) for h in draws.sample(options["draws"], rng=options["seed"])]
    return result
