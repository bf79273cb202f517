"""A posterior over hierarchies or partitions, told to a person, to a program and to files."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import click
import numpy as np

import palmette as pal
from palmette.cli._group import COMMAND_LINE
from palmette.cli.asking.bootstrap import Figures, Resampled
from palmette.cli.notes import note
from palmette.cli.options import NEXUS_DRAWS
from palmette.cli.reading.columns import Leaves
from palmette.cli.telling import results, summary
from palmette.cli.telling.files import Files

__all__ = ["Answers", "HierarchyAnswers", "PartitionAnswers", "check_answers", "with_support"]


def check_answers(options: dict[str, Any]) -> None:
    """Refuse probabilities that are none."""
    least, threshold = options["min_probability"], options["threshold"]
    if not 0.0 <= least <= 1.0:
        raise click.BadParameter(f"{least} is not a probability, 0 to 1", param_hint="--min-probability")
    if not 0.0 <= threshold < 1.0:
        raise click.BadParameter(f"{threshold} is not a probability below 1", param_hint="--threshold")


def with_support(hierarchy: pal.Hierarchy, posterior: Any) -> pal.Hierarchy:
    """The hierarchy with the probability of each of its clusters as support, as it is written: to six digits."""
    found: pal.Hierarchy = posterior.support(hierarchy)
    return found.with_support(np.round(np.asarray(found.support), 6))


@dataclass(frozen=True, eq=False)
class Answers(ABC):
    """The questions that every posterior is asked."""

    posterior: Any
    leaves: Leaves
    files: Files
    options: dict[str, Any]  # best, draws, seed, min_probability, threshold
    resample: Callable[[Iterable[Sequence[str]]], Resampled] | None = None  # bootstrap support, if it is wanted

    things: ClassVar[str | None] = None  # what the title of the report calls them, if not as the command
    best_title: ClassVar[str]
    several: ClassVar[str | None]  # what the best are called; None if there is only one
    columns: ClassVar[tuple[str, ...]] = ("members", "size", "probability")  # of the table of clusters

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable clusterings and their log-probabilities."""
        return list(self.posterior.best(self.options["best"]))

    @cached_property
    def consensus(self) -> Any:
        """What is more probable than the threshold."""
        return self.posterior.consensus(self.options["threshold"])

    @cached_property
    def clusters(self) -> Any:
        """The table of clusters."""
        return self.posterior.cluster_probabilities(self.options["min_probability"])

    @cached_property
    def resampled(self) -> Resampled | None:
        """The bootstrap support of the clusters that are listed, and of those of the best."""
        if self.resample is None:
            return None
        best = self.best[0][0]
        inner = [cluster for cluster in best.named_clusters() if 1 < len(cluster) < best.n_leaves]
        return self.resample([*(row.members for row in self.clusters), *inner])

    def draws(self, default: int = 0) -> Any:
        """As many as were asked for."""
        wanted = self.options["draws"]
        return self.posterior.sample(default if wanted is None else wanted, rng=self.options["seed"])

    def _write(self, command: str) -> None:
        self._write_table()
        self._write_own(self.files)
        if self.files.report is not None:
            pal.report.write(
                self._reported(),
                self.files.report,
                title=f"{self.things or command.capitalize()} of {self.leaves.table.source}",
                classes=self.leaves.classes,
                seed=self.options["seed"],
                command=str(click.get_current_context().meta.get(COMMAND_LINE, "palmette")),
                data=self.leaves.table.raw,
                min_probability=self.options["min_probability"],
                bootstrap=None if self.resampled is None else self.resampled.rows,
                heights=not self.options.get("cladogram", False),
            )

    def _write_table(self) -> None:
        if (found := self.resampled) is None:
            self.files.write_table(self.columns, self.clusters)
        elif self.files.table is not None:
            rows = [(*row, *found.of(row.members)) for row in self.clusters]
            self.files.write_table((*self.columns, *Figures._fields), rows)

    def tell(self, command: str, file: str, as_json: bool, extra: dict[str, Any], lines: Iterable[str]) -> None:
        """All files that are wanted; on stdout the JSON, with `extra` in it, or the summary, after these lines."""
        self._write(command)
        if as_json:
            self._echo(results.heading(command, file, self.leaves), extra)
        else:
            self._say(lines)

    def _echo(self, head: dict[str, Any], extra: dict[str, Any]) -> None:
        consensus = {"threshold": self.options["threshold"], **results.clustering(self.consensus)}
        result = {**head, **self._numbers(), **extra, "seed": self.options["seed"], **self._own_numbers()}
        result |= {"best": results.ranked(self.best), "consensus": consensus}
        result |= {"clusters": self._listed(), **self._own_shares()}
        if (found := self.resampled) is not None:
            result["bootstrap"] = found.facts
            result["clusters"] = [{**row, **found.of(row["members"])._asdict()} for row in result["clusters"]]
        if self.options["draws"]:
            result["draws"] = results.ranked(self._drawn())
        results.echo(result)

    def _say(self, lines: Iterable[str]) -> None:
        summary.facts(*lines, *([] if self.resampled is None else [str(self.resampled)]))
        best = self.best[0][0]
        self._say_one(f"{self.best_title}; numbers are the probabilities of clusters", best)
        self._say_consensus(self.consensus != best)
        title = f"Clusters with a probability of at least {self.options['min_probability']:g}"
        self._say_clusters(title)
        if self.several:
            summary.say_alternatives(f"The best {self.several}", self.best)
        summary.say_files(self.files.written)

    def _reported(self) -> Any:
        return self.posterior

    def _listed(self) -> list[dict[str, Any]]:
        return results.clusters_of(self.clusters)

    def _say_clusters(self, title: str) -> None:
        summary.say_clusters(title, self.clusters, self.resampled)

    def _numbers(self) -> dict[str, Any]:
        return results.numbers(self.posterior)

    def _own_numbers(self) -> dict[str, Any]:
        return {}

    def _own_shares(self) -> dict[str, Any]:
        return {}

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        draws = self.draws()
        return zip(draws, draws.log_probs.tolist(), strict=True)

    @abstractmethod
    def _write_own(self, files: Files) -> None:
        """The files that only this kind of posterior has."""

    @abstractmethod
    def _say_one(self, title: str, found: Any) -> None:
        """One clustering with the probabilities of its clusters."""

    @abstractmethod
    def _say_consensus(self, differs: bool) -> None:
        """The consensus, if it is another than the best, and what else is said before the table of clusters."""


class HierarchyAnswers(Answers):
    """The questions that every posterior over hierarchies is asked."""

    best_title = "The most probable hierarchy"
    several: ClassVar[str | None] = "hierarchies"

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable hierarchies with support, as they are written, and their log-probabilities."""
        return [(self._written(hierarchy), value) for hierarchy, value in self._supported]

    @cached_property
    def consensus(self) -> pal.Hierarchy:
        """What is more probable than the threshold, as it is written."""
        return self._written(self.posterior.consensus(self.options["threshold"]))

    def _written(self, hierarchy: pal.Hierarchy) -> pal.Hierarchy:
        return self._scaled(hierarchy) if self.options.get("branch_lengths", False) else hierarchy

    def _scaled(self, hierarchy: pal.Hierarchy) -> pal.Hierarchy:
        # With the heights that the model has; particles have their own, and no model.
        model = getattr(self.posterior, "model", None)
        return hierarchy if model is None else model.with_heights(hierarchy)

    @cached_property
    def _supported(self) -> list[tuple[Any, Any]]:
        return [(with_support(h, self.posterior), p) for h, p in self.posterior.best(self.options["best"])]

    def _own_numbers(self) -> dict[str, Any]:
        count = self.posterior.count
        return {"count": count if count < 2**63 else None}

    def _write_own(self, files: Files) -> None:
        best = self.best[0][0]
        if self.options.get("branch_lengths", False) and best.branch_lengths is None:
            words = "the model has no heights for this hierarchy, so there are no branch lengths to write."
            note(words, self.options["quiet"])
        files.write_newick(best)
        files.write_nexus(lambda: self.draws(NEXUS_DRAWS))
        files.write_plot(lambda: self._plotted(best))

    def _plotted(self, best: pal.Hierarchy) -> Any:
        rows = None if self.resampled is None else self.resampled.rows
        heights = not self.options.get("cladogram", False)
        return pal.plot.dendrogram(self._scaled(best), classes=self.leaves.classes, bootstrap=rows, heights=heights)

    def _say_one(self, title: str, found: Any) -> None:
        summary.say_hierarchy(title, found, self.leaves.classes)

    def _say_consensus(self, differs: bool) -> None:
        if differs:
            title = f"The consensus: what is more probable than {self.options['threshold']:g}"
            summary.say_hierarchy(title, self.consensus, None)


class PartitionAnswers(Answers):
    """The questions that every posterior over partitions is asked."""

    best_title = "The most probable partition"
    several: ClassVar[str | None] = "partitions"

    def _own_numbers(self) -> dict[str, Any]:
        has_evidence = self.posterior.model.log_evidence_offset is not None
        return {"log_evidence": self.posterior.log_evidence} if has_evidence else {}

    def _own_shares(self) -> dict[str, Any]:
        return {"n_clusters_probabilities": [float(p) for p in self.posterior.n_clusters_probabilities()]}

    def _write_own(self, files: Files) -> None:
        files.write_membership(self.best[0][0])
        files.write_plot(lambda: pal.plot.affinities_and_coclustering(self.posterior.model, self.posterior))

    def _say_one(self, title: str, found: Any) -> None:
        summary.say_partition(title, found, self.posterior, self.leaves.classes)

    def _say_consensus(self, differs: bool) -> None:
        if differs:
            self._say_one("The consensus", self.consensus)
        summary.say_how_many(self.posterior)
