"""A posterior over partitions, told to a person, to a program and to files."""

from __future__ import annotations

from typing import Any, ClassVar

import palmette as pal
from palmette.cli.telling import summary
from palmette.cli.telling.answers import Answers
from palmette.cli.telling.files import Files

__all__ = ["PartitionAnswers"]


class PartitionAnswers(Answers):
    """The questions that every posterior over partitions is asked."""

    best_title = "The most probable partition"
    several: ClassVar[str | None] = "partitions"

    def _own_numbers(self) -> dict[str, Any]:
        is_mixture = isinstance(self.posterior.model, pal.models.DirichletProcess)
        return {"log_evidence": self.posterior.log_evidence} if is_mixture else {}

    def _own_shares(self) -> dict[str, Any]:
        return {"n_clusters_probabilities": [float(p) for p in self.posterior.n_clusters_probabilities()]}

    def _write_own(self, files: Files) -> None:
        files.write_membership(self.best[0][0])
        if files.plot is not None:
            files.write_plot(pal.plot.affinities_and_coclustering(self.posterior.model, self.posterior))

    def _say_one(self, title: str, found: Any) -> None:
        summary.say_partition(title, found, self.posterior, self.leaves.classes)

    def _say_consensus(self, differs: bool) -> None:
        if differs:
            self._say_one("The consensus", self.consensus)
        summary.say_how_many(self.posterior)
