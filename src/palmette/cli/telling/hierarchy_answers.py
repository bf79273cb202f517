"""A posterior over hierarchies, told to a person, to a program and to files."""

from __future__ import annotations

from functools import cached_property
from typing import Any, ClassVar

import palmette as pal
from palmette.cli.options import NEXUS_DRAWS
from palmette.cli.telling import summary
from palmette.cli.telling.answers import Answers
from palmette.cli.telling.files import Files, with_support

__all__ = ["HierarchyAnswers"]


class HierarchyAnswers(Answers):
    """The questions that every posterior over hierarchies is asked."""

    best_title = "The most probable hierarchy"
    several: ClassVar[str | None] = "hierarchies"

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable hierarchies with support, and their log-probabilities."""
        return [(with_support(h, self.posterior), p) for h, p in self.posterior.best(self.options["best"])]

    def _own_numbers(self) -> dict[str, Any]:
        count = self.posterior.count
        return {"count": count if count < 2**63 else None}

    def _write_own(self, files: Files) -> None:
        best = self.best[0][0]
        files.write_newick(best)
        if files.nexus is not None:
            files.write_nexus(self.draws(NEXUS_DRAWS))
        if files.plot is not None:
            files.write_plot(pal.plot.dendrogram(best, classes=self.leaves.classes))

    def _say_one(self, title: str, found: Any) -> None:
        summary.say_hierarchy(title, found, self.leaves.classes)

    def _say_consensus(self, differs: bool) -> None:
        if differs:
            title = f"The consensus: what is more probable than {self.options['threshold']:g}"
            summary.say_hierarchy(title, self.consensus, None)
