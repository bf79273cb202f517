"""What a person sees on stdout: a hierarchy, the clusters that can be trusted, the alternatives."""

from __future__ import annotations

import math
import shutil
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

import click

import palmette as pal
from palmette.cli.asking.bootstrap import Resampled
from palmette.cli.telling.text import bar, cluster_text, dendrogram, one_line, percent
from palmette.defaults import DEFAULTS

__all__ = [
    "facts",
    "in_numbers",
    "perplexity",
    "say_ages",
    "say_alternatives",
    "say_clusters",
    "say_clusters_of",
    "say_files",
    "say_hierarchy",
    "say_how_many",
    "say_partition",
]

_SHOWN = 12  # clusters of all
_OF_ONE = 40  # clusters of one partition


def _width() -> int:
    return min(max(shutil.get_terminal_size((100, 24)).columns, 60), 140)


def facts(*lines: str) -> None:
    """Plain lines, wrapped; names from files have no power over the terminal."""
    for line in lines:
        rows = textwrap.wrap(line, _width(), subsequent_indent="  ", break_on_hyphens=False)
        click.echo("\n".join(map(one_line, rows)))


def in_numbers(posterior: Any, things: str) -> str:
    """How many there are, log Z, and the perplexity, in words."""
    kind, bound = f"all {posterior.count:,}", ""
    if not posterior.is_exact:
        kind, bound = f"{_short(posterior.count)} chosen", " (a lower bound)"
    name = "log evidence" if posterior.kind == "averages" else "log Z"
    value = posterior.log_evidence if posterior.kind == "averages" else posterior.log_partition
    return f"{name} = {value:.4f}{bound}, over {kind} {things}; {perplexity(posterior, things)}"


def perplexity(posterior: Any, things: str) -> str:
    """The perplexity, in words."""
    return f"perplexity {_large(float(posterior.entropy))} (the effective number of {things})"


def _short(count: int) -> str:
    return (
        f"{count:,}" if count < 10**15 else f"about 10^{len(str(count)) - 1 if count < 10**4000 else '4000 and more'}"
    )


def _large(entropy: float) -> str:
    if entropy < 30:
        value = math.exp(entropy)
        return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"e^{entropy:.1f}"


def say_hierarchy(title: str, hierarchy: pal.Hierarchy, classes: Sequence[str | None] | None) -> None:
    """A hierarchy with its support."""
    click.echo(f"\n{title}")
    # Rounded, so that 0.905 reads 0.91 also where a sum has missed it by a hair.
    support = None if hierarchy.support is None else hierarchy.support.round(6).tolist()
    click.echo(dendrogram(hierarchy, support, classes=classes, width=_width()))


def say_clusters(title: str, rows: Sequence[Any], resampled: Resampled | None = None) -> None:
    """The most probable clusters, with bars, and with bootstrap support if there is any."""
    click.echo(f"\n{title}")
    for row in rows[:_SHOWN]:
        error = _error(row)
        found = None if resampled is None else resampled.of(row.members)
        figures = "" if found is None else f"  AU {found.au:.2f}  BP {found.bp:.2f}"
        members = cluster_text(row.members, _width() - 30 - len(error) - len(figures))
        click.echo(f"  {row.probability:.3f}{error}  {bar(row.probability)}{figures}  {members}")
    if len(rows) > _SHOWN:
        click.echo(f"  … and {len(rows) - _SHOWN:,} more (--table writes all of them)")
    if not rows:
        click.echo("  none is that probable; --min-probability sets the limit")


def say_ages(title: str, rows: Sequence[tuple[int, Sequence[str]]], ages: Any) -> None:
    """The ages of clusters, given as nodes and members, oldest first."""
    click.echo(f"\n{title}")
    for node, members in sorted(rows, key=lambda row: (-float(ages.median[row[0]]), row[0]))[:_SHOWN]:
        figures = f"{ages.median[node]:.4g}  [{ages.low[node]:.4g}, {ages.high[node]:.4g}]"
        click.echo(f"  {figures:<28}  {cluster_text(members, _width() - 34)}")
    if len(rows) > _SHOWN:
        click.echo(f"  … and {len(rows) - _SHOWN:,} more (--json has all of them)")


def _error(found: Any) -> str:
    # Of an estimate, or of a row of a table that has errors.
    return f" ± {found.standard_error:.3f}" if hasattr(found, "standard_error") else ""


def say_alternatives(title: str, best: Sequence[tuple[Any, float]]) -> None:
    """The best ones, each with what it has and the first has not."""
    click.echo(f"\n{title}")
    first = set(best[0][0].clusters())
    for number, (found, log_prob) in enumerate(best, start=1):
        new = [_named(found, cluster) for cluster in found.clusters() if cluster not in first]
        more = f" and {len(new) - 3} other new clusters" if len(new) > 3 else ""
        words = "the one above" if number == 1 else f"has {', '.join(new[:3])}{more}"
        line = f"  {number:>2}  {percent(math.exp(log_prob)):>8}  {words}"
        click.echo(textwrap.fill(line, _width(), subsequent_indent=" " * 16, break_on_hyphens=False))


def _named(found: Any, cluster: Iterable[int], width: int = 50) -> str:
    return cluster_text([found.labels[leaf] for leaf in sorted(cluster)], width)


def say_partition(title: str, partition: pal.Partition, posterior: Any, classes: Sequence[str | None] | None) -> None:
    """The clusters of a partition, each with its probability."""
    click.echo(f"\n{title}")
    clusters = partition.clusters_by_size()
    for cluster in clusters[:_OF_ONE]:
        kinds = sorted({one_line(own) for leaf in cluster if (own := classes[leaf])}) if classes else []
        probability = posterior.cluster_probability(cluster)
        error = _error(probability)
        named = _named(partition, cluster, _width() - 30 - len(error))
        click.echo(f"  {float(probability):.3f}{error}  {named}{'  [' + ', '.join(kinds) + ']' if kinds else ''}")
    _say_more(clusters)


def say_clusters_of(title: str, partition: pal.Partition) -> None:
    """The clusters of a partition, by size."""
    click.echo(f"\n{title}")
    clusters = partition.clusters_by_size()
    for cluster in clusters[:_OF_ONE]:
        click.echo(f"  {_named(partition, cluster, _width() - 10)}")
    _say_more(clusters)


def _say_more(clusters: Sequence[Any]) -> None:
    if len(clusters) > _OF_ONE:
        click.echo(f"  … and {len(clusters) - _OF_ONE:,} more (--membership writes all of them)")


def say_how_many(posterior: pal.PartitionPosterior | pal.sampling.SampledPartitions) -> None:
    """How many clusters there are."""
    click.echo("\nHow many clusters?")
    found = posterior.n_clusters_probabilities()
    shares, errors = found if isinstance(found, pal.sampling.Estimates) else (found, None)
    for k, probability in enumerate(shares.tolist()):
        if probability >= DEFAULTS.min_probability:
            error = "" if errors is None else f" ± {errors[k]:.3f}"
            click.echo(f"  {k:>3}  {probability:.3f}{error}  {bar(probability)}")


def say_files(written: Sequence[str]) -> None:
    """What was written."""
    if written:
        click.echo(f"\nWritten: {', '.join(written)}")
