"""A posterior over partitions, told to a person, to a program and to files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import palmette as pal
from palmette.cli import results, summary
from palmette.cli.answers import write_report
from palmette.cli.columns import Leaves
from palmette.cli.outputs import Files

__all__ = ["PartitionAnswers"]


@dataclass(frozen=True)
class PartitionAnswers:
    """The questions that every posterior over partitions is asked."""

    posterior: pal.PartitionPosterior
    leaves: Leaves
    options: dict[str, Any]  # best, draws, seed, min_probability, threshold

    @cached_property
    def best(self) -> list[tuple[pal.Partition, float]]:
        """The most probable partitions and their log-probabilities."""
        return self.posterior.best(self.options["best"])

    @cached_property
    def clusters(self) -> Any:
        """The table of clusters."""
        return self.posterior.cluster_probabilities(self.options["min_probability"])

    def write(self, files: Files) -> None:
        """All files that are wanted."""
        files.write_table(("members", "size", "probability"), self.clusters)
        if files.membership is not None:
            files.write_membership(("label", "cluster"), self._membership())
        if files.plot is not None:
            files.write_plot(pal.plot.affinities_and_coclustering(self.posterior.model, self.posterior))
        title = f"Partitions of {self.leaves.table.source}"
        write_report(files, self.posterior, title, self.leaves.classes, self.leaves.table.raw, self.options)

    def _membership(self) -> list[tuple[str, int]]:
        found = self.best[0][0]
        return [(label, int(k) + 1) for label, k in zip(found.labels, found.membership, strict=True)]

    def echo(self, head: dict[str, Any], model: dict[str, Any]) -> None:
        """The JSON."""
        posterior, options = self.posterior, self.options
        result = {**head, **results.numbers(posterior), "model": model, "seed": options["seed"]}
        if model["name"] == "dirichlet-process":
            result["log_evidence"] = posterior.log_evidence
        result["best"] = results.ranked(self.best)
        agreed = posterior.consensus(options["threshold"])
        result["consensus"] = {"threshold": options["threshold"], **results.partition(agreed)}
        result["clusters"] = results.clusters_of(self.clusters)
        result["n_clusters_probabilities"] = [float(p) for p in posterior.n_clusters_probabilities()]
        if options["draws"]:
            draws = posterior.sample(options["draws"], rng=options["seed"])
            result["draws"] = results.ranked(zip(draws, draws.log_probs.tolist(), strict=True))
        results.echo(result)

    def say(self, lines: Sequence[str]) -> None:
        """The summary, after these lines."""
        summary.facts(*lines)
        classes = self.leaves.classes
        title = "The most probable partition; numbers are the probabilities of clusters"
        summary.say_partition(title, self.best[0][0], self.posterior, classes)
        agreed = self.posterior.consensus(self.options["threshold"])
        if agreed != self.best[0][0]:
            summary.say_partition("The consensus", agreed, self.posterior, classes)
        summary.say_how_many(self.posterior)
        least = self.options["min_probability"]
        summary.say_clusters(f"Clusters with a probability of at least {least:g}", self.clusters)
        summary.say_alternatives("The best partitions", self.best)
