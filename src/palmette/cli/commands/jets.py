"""``palmette jets simulate | infer | compare | fit``."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

import palmette as pal
from palmette.cli.notes import progress
from palmette.cli.options import stack
from palmette.cli.telling.results import finite
from palmette.defaults import DEFAULTS
from palmette.progress import Progress

__all__ = ["jets"]

_AT_A_TIME = 8192  # jets simulated at a time
_SEARCHES = ("greedy", "beam", "kt", "cambridge", "antikt")

_PARENTS = "no history of theirs has all parents above t_cut"
_IMPOSSIBLE = {  # what a law forbids, likelihood by likelihood
    "ordered": _PARENTS,
    "symmetric": f"{_PARENTS} and masses that a shower can make",
    "density": f"a particle is heavier than t_cut, or {_PARENTS} and masses that a shower can make",
    "literal": "all histories have a parent of mass 0",
}


@click.group()
def jets() -> None:
    """Particle jets: simulate them, infer their histories, compare what algorithms find, fit the law."""


_quiet_option = click.option("--quiet", is_flag=True, help="No progress bar.")
_seed_option = click.option("--seed", type=click.IntRange(0), default=0, show_default=True)
_law_options = stack(
    click.option("--rate", type=float, help="λ of the splits; a simulated file knows it."),
    click.option("--t-cut", type=float, help="Mass² at which showers stop; a simulated file knows it."),
    click.option("--root-rate", type=float, help="λ of the first split, if it is another; a simulated file knows it."),
    click.option(
        "--likelihood",
        type=click.Choice(list(_IMPOSSIBLE)),
        default="ordered",
        show_default=True,
    ),
    click.option(
        "--max-leaves",
        type=int,
        default=DEFAULTS.jet_leaves,
        show_default=True,
        help="Larger jets get no log Z and no MAP.",
    ),
    click.option(
        "--exact-leaves", type=int, default=DEFAULTS.batch_leaves, show_default=True, help="Larger jets: see --beyond."
    ),
    click.option(
        "--sweeps", type=int, default=DEFAULTS.batch_sweeps, show_default=True, help="Of the chains of a sampled jet."
    ),
    click.option(
        "--beyond",
        type=click.Choice(["sampled", "sparse"]),
        default=DEFAULTS.beyond,
        show_default=True,
        help="Larger jets than --exact-leaves: by chains, or on a sparse trellis.",
    ),
    click.option(
        "--geometry", type=click.Choice(["pp", "ee"]), default="pp", show_default=True, help="Of kt and its kin."
    ),
    click.option("--by", multiple=True, help="Column that names the jet of a particle (CSV); may be repeated."),
    click.option("--workers", type=click.IntRange(1), help="Processes to work in; this one unless given."),
    click.option("--dask", metavar="ADDRESS", help="Address of a Dask scheduler to work on."),
    click.option("--overwrite", is_flag=True, help="Replace what another run left in the folder."),
    _quiet_option,
)


@jets.command()
@click.argument("count", type=click.IntRange(0))
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--preset", type=click.Choice(["qcd", "w"]), default="qcd", show_default=True)
@click.option("--mass", type=float, help="Of the jet; that of the preset unless given.")
@click.option("--momentum", type=float, help="Of the jet, along (1, 1, 1).")
@click.option("--rate", type=float)
@click.option("--root-rate", type=float)
@click.option("--t-cut", type=float)
@click.option("--min-leaves", type=int)
@click.option("--max-leaves", type=int)
@_seed_option
@_quiet_option
def simulate(count: int, path: Path, seed: int, quiet: bool, **law: Any) -> None:
    """Simulate COUNT Ginkgo jets into PATH, a .parquet or .csv file; true histories are kept in Parquet.

    \b
    palmette jets simulate 5000 jets.parquet --min-leaves 5 --max-leaves 10
    """
    bar = Progress("simulating", count, progress(quiet), unit="jets")
    with pal.jets.Writer(path) as writer:
        for first in range(0, max(count, 1), _AT_A_TIME):
            part = pal.simulate.ginkgo(min(_AT_A_TIME, count - first), first=first, rng=seed, **law)
            writer.write(part)
            bar.advance(len(part))
    bar.close()
    click.echo(f"{count:,} jets in {path}")


@jets.command(name="infer")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.argument("folder", type=click.Path(path_type=Path))
@_law_options
@click.option("--search", "searches", type=click.Choice(_SEARCHES), multiple=True, help="May be repeated.")
@click.option("--draws", type=click.IntRange(0), default=0, show_default=True, help="Draws of each history.")
@_seed_option
@click.option("--json", "as_json", is_flag=True, help="The summary as JSON.")
def infer_command(path: Path, folder: Path, draws: int, as_json: bool, **options: Any) -> None:
    """Infer the jets of PATH (.parquet, .csv, .tsv) into FOLDER: one Parquet part after another, and a manifest.

    A run that was stopped goes on where it stopped, if the same command is given again.

    \b
    palmette jets infer jets.parquet results --draws 10 --search greedy --search beam
    """
    results = _run(path, folder, n_draws=draws, **options)
    counts = _counts(results)
    if as_json:
        click.echo(json.dumps({"folder": str(folder), **counts}))
        return
    told = {"sampled": "were sampled, not summed over", "sparse": "were summed over on a sparse trellis"}
    sampled = "".join(f"; {counts[kind]:,} {words}" for kind, words in told.items() if counts[kind])
    parts = len(results.parts)
    click.echo(f"{counts['jets']:,} jets in {parts} parts in {folder}; {counts['errors']:,} have errors{sampled}")
    if counts["impossible"]:
        click.echo(f"  {counts['impossible']:,} are impossible (log Z = −inf): {_IMPOSSIBLE[options['likelihood']]}")
    for error, number in counts["first_errors"].items():
        click.echo(f"  {number:,} × {error}")


@jets.command(name="compare")
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@_law_options
@click.option("--folder", type=click.Path(path_type=Path), help="Keep the table of all jets here.")
@click.option("--search", "searches", type=click.Choice(_SEARCHES), multiple=True, help="All of them unless given.")
@click.option("--json", "as_json", is_flag=True, help="The table as JSON.")
def compare_command(path: Path, folder: Path | None, as_json: bool, searches: tuple[str, ...], **options: Any) -> None:
    """Compare the histories that searches find with the most probable ones, and with the truth if it is known.

    PATH is a file of jets, or the folder of a finished `infer`.

    \b
    palmette jets compare jets.parquet --search greedy --search kt
    """
    from palmette.batch.run import MANIFEST

    if path.is_dir() and (path / MANIFEST).exists():
        results = pal.batch.Results(path)
    else:
        results = _run(path, folder, searches=searches or _SEARCHES, seed=0, n_draws=0, **options)
    table = pal.jets.compare(results)
    if as_json:
        click.echo(json.dumps([finite(row._asdict()) for row in table]))
        return
    click.echo(_as_text(list(table)))


class _RootRate(click.ParamType):  # type: ignore[type-arg]
    name = "FLOAT|fit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return value if value == "fit" else click.FLOAT.convert(value, param, ctx)


@jets.command()
@click.argument("path", type=click.Path(path_type=Path, exists=True))
@click.option("--t-cut", type=float, help="Mass² at which showers stop; looked for unless given.")
@click.option("--root-rate", type=_RootRate(), help="λ of the first split, if it is another; fit: look for it.")
@click.option("--min-leaves", type=int, help="Jets were selected: fewer particles were not kept, or are left out here.")
@click.option("--max-leaves", type=int, help="The same for more particles.")
@click.option("--drop-impossible", is_flag=True, help="Leave out jets that no rate allows.")
@click.option("--level", type=float, default=0.95, show_default=True, help="Probability of the intervals.")
@click.option("--by", multiple=True, help="Column that names the jet of a particle (CSV); may be repeated.")
@click.option("--json", "as_json", is_flag=True, help="The fit as JSON.")
@_quiet_option
def fit(path: Path, as_json: bool, quiet: bool, drop_impossible: bool, by: tuple[str, ...], **options: Any) -> None:
    """Fit the law of the shower to the jets of PATH: its rate, and t_cut, by the sum of log Z over all jets.

    The likelihood is "density", the only one that is a density of momenta. Say how jets were selected by their number
    of particles, if they were: the rate is wrong otherwise. A simulated file knows it.

    \b
    palmette jets fit jets.parquet --max-leaves 10
    """
    impossible: Any = "drop" if drop_impossible else "refuse"
    found = pal.jets.fit_shower(path, by=by or None, impossible=impossible, progress=progress(quiet), **options)
    click.echo(json.dumps(finite(_as_record(found))) if as_json else _fit_as_text(found))


def _as_record(found: pal.jets.ShowerFit) -> dict[str, Any]:
    names = ("level", "log_likelihood", "n_jets", "n_sums")
    edges = {"at_boundary": list(found.at_boundary), "leaves": list(found.leaves), "left_out": dict(found.left_out)}
    intervals = {name: [end if math.isfinite(end) else None for end in ends] for name, ends in found.intervals.items()}
    return {**found.law, "intervals": intervals, **{name: getattr(found, name) for name in names}, **edges}


def _fit_as_text(found: pal.jets.ShowerFit) -> str:
    fewest, most = found.leaves
    sizes = f"at least {fewest}" if most is None else f"{fewest} to {most}"
    kept = "any number of" if (fewest, most) == (1, None) else sizes
    lines = [f"{found.n_jets:,} jets of {kept} particles; log likelihood {found.log_likelihood:.3f}"]
    for name, (low, high) in found.intervals.items():
        remark = ", above the heaviest particle" if name == "t_cut" else ""
        remark = ", at the boundary" if name in found.at_boundary else remark
        lines.append(f"{name:<9}  {found.law[name]:.5g}  ({low:.5g} to {high:.5g}, {100 * found.level:g} %{remark})")
    return "\n".join(lines)


def _run(path: Path, folder: Path | None, **options: Any) -> Any:
    quiet, workers, dask = (options.pop(name) for name in ("quiet", "workers", "dask"))
    if workers is not None and dask is not None:
        raise click.UsageError("give --workers or --dask, not both")
    options["by"] = options["by"] or None
    given = {name: options.pop(name) for name in ("rate", "t_cut", "root_rate")}
    law = _law_of(path, options["by"])
    law |= {name: value for name, value in given.items() if value is not None}
    if "rate" not in law:
        raise click.UsageError(f"{path} does not say which law its jets follow; give --rate (and --t-cut)")
    return pal.jets.infer(path, folder, engine=workers or dask, progress=progress(quiet), **law, **options)


def _law_of(path: Path, by: Any) -> dict[str, Any]:
    # What a simulated file says of itself.
    first = next(pal.jets.stream(path, 1, by=by), None)
    return dict((first.law if first is not None else None) or {})


def _counts(results: pal.batch.Results) -> dict[str, Any]:
    errors: Counter[str] = Counter()
    kinds: Counter[str] = Counter()
    total = impossible = 0
    for part in results:
        total += part.num_rows
        kinds.update(part["kind"].drop_null().to_pylist())
        impossible += part["log_partition"].to_pylist().count(-math.inf)
        errors.update(error.partition(":")[0] for error in part["error"].drop_null().to_pylist())
    first = dict(errors.most_common(5))
    return {
        "jets": total,
        "sampled": kinds["sampled"],
        "sparse": kinds["sparse"],
        "impossible": impossible,
        "errors": errors.total(),
        "first_errors": first,
    }


def _as_text(rows: list[pal.jets.ComparisonRow]) -> str:
    heads = ("history", "jets", "behind the MAP", "impossible", "is the MAP", "true clusters", "is the truth")
    cells = [heads, *map(tuple, map(_cells, rows))]
    widths = [max(len(row[c]) for row in cells) for c in range(len(heads))]
    layout = "  ".join(f"{{:{'>' if c else '<'}{width}}}" for c, width in enumerate(widths))
    return "\n".join(layout.format(*row).rstrip() for row in cells)


def _cells(row: pal.jets.ComparisonRow) -> Iterator[str]:
    yield row.method
    yield f"{row.jets:,}"
    yield "-" if math.isnan(row.behind_map) else f"{row.behind_map:.3f} ± {row.spread:.3f}"
    yield f"{row.impossible:,}"
    for share in (row.is_map, row.true_clusters, row.is_true):
        yield "-" if math.isnan(share) else f"{share:.3f}"
