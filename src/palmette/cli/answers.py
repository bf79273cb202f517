"""A posterior over hierarchies, told to a person, to a program and to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import click

import palmette as pal
from palmette.cli import results, summary
from palmette.cli._group import COMMAND_LINE
from palmette.cli.outputs import Files, with_support

__all__ = ["NEXUS_DRAWS", "HierarchyAnswers", "check_answers", "write_report"]

NEXUS_DRAWS = 1000  #: written by --nexus unless --draws says how many


def command_line() -> str:
    """What was typed."""
    return str(click.get_current_context().meta.get(COMMAND_LINE, "palmette"))


def check_answers(options: dict[str, Any]) -> None:
    """Refuse probabilities that are none."""
    least, threshold = options["min_probability"], options["threshold"]
    if not 0.0 <= least <= 1.0:
        raise click.BadParameter(f"{least} is not a probability, 0 to 1", param_hint="--min-probability")
    if not 0.0 <= threshold < 1.0:
        raise click.BadParameter(f"{threshold} is not a probability below 1", param_hint="--threshold")


def write_report(
    files: Files, posterior: Any, title: str, classes: Sequence[str] | None, raw: bytes, options: dict[str, Any]
) -> None:
    """The page, if it is wanted; it says what was typed, and what data it is about."""
    if files.report is not None:
        pal.report.write(
            posterior,
            files.report,
            title=title,
            classes=classes,
            seed=options["seed"],
            command=command_line(),
            data=raw,
            min_probability=options["min_probability"],
        )


@dataclass(frozen=True)
class HierarchyAnswers:
    """The questions that every posterior over hierarchies is asked."""

    posterior: pal.HierarchyPosterior
    classes: Sequence[str] | None
    raw: bytes
    options: dict[str, Any]  # best, draws, seed, min_probability, threshold

    @cached_property
    def best(self) -> list[tuple[pal.Hierarchy, float]]:
        """The most probable hierarchies with support, and their log-probabilities."""
        return [(with_support(h, self.posterior), p) for h, p in self.posterior.best(self.options["best"])]

    @cached_property
    def clusters(self) -> Any:
        """The table of clusters."""
        return self.posterior.cluster_probabilities(self.options["min_probability"])

    def draws(self, default: int = 0) -> Any:
        """As many as were asked for."""
        wanted = self.options["draws"]
        return self.posterior.sample(default if wanted is None else wanted, rng=self.options["seed"])

    def write(self, files: Files, title: str) -> None:
        """All files that are wanted."""
        files.write_newick(self.best[0][0])
        files.write_table(("members", "size", "probability"), self.clusters)
        if files.nexus is not None:
            files.write_nexus(self.draws(NEXUS_DRAWS))
        if files.plot is not None:
            files.write_plot(pal.plot.dendrogram(self.best[0][0], classes=self.classes))
        write_report(files, self.posterior, title, self.classes, self.raw, self.options)

    def echo(self, head: dict[str, Any], extra: dict[str, Any]) -> None:
        """The JSON."""
        posterior = self.posterior
        result = {**head, **results.numbers(posterior), **extra, "seed": self.options["seed"]}
        result["count"] = posterior.count if posterior.count < 2**63 else None
        result["best"] = results.ranked(self.best)
        consensus = posterior.consensus(self.options["threshold"])
        result["consensus"] = {"threshold": self.options["threshold"], **results.hierarchy(consensus)}
        result["clusters"] = results.clusters_of(self.clusters)
        if self.options["draws"]:
            draws = self.draws()
            result["draws"] = results.ranked(zip(draws, draws.log_probs.tolist(), strict=True))
        results.echo(result)

    def say(self, lines: Sequence[str]) -> None:
        """The summary, after these lines."""
        summary.facts(*lines)
        best, threshold = self.best[0][0], self.options["threshold"]
        summary.say_hierarchy(
            "The most probable hierarchy; numbers are the probabilities of clusters", best, self.classes
        )
        agreed = self.posterior.consensus(threshold)
        if agreed != best:
            summary.say_hierarchy(
                f"The consensus: what is more probable than {threshold:g}", with_support(agreed, self.posterior), None
            )
        summary.say_clusters(
            f"Clusters with a probability of at least {self.options['min_probability']:g}", self.clusters
        )
        summary.say_alternatives("The best hierarchies", self.best)
