"""A sampled posterior over hierarchies, told to a person, to a program and to files: every number with its error."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from functools import cached_property
from typing import Any

from palmette.cli.telling import results, summary
from palmette.cli.telling.answers import HierarchyAnswers
from palmette.cli.telling.files import with_support

__all__ = ["SampledAnswers"]


class SampledAnswers(HierarchyAnswers):
    """The questions that a sampled posterior is asked. It has no log Z, so whole hierarchies have no probability."""

    best_title = "The most probable hierarchy that was drawn"
    several = None
    columns = ("members", "size", "probability", "standard_error")

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable hierarchies that were drawn, with support."""
        return [(with_support(h, self.posterior), None) for h, _ in self.posterior.best(self.options["best"])]

    def _numbers(self) -> dict[str, Any]:
        verdict = self.posterior.verdict
        judged = {**asdict(verdict), "disagreements": list(verdict.disagreements)}
        return {"exact": False, "sampled": {"converged": verdict.converged, "words": str(verdict), **judged}}

    def _own_numbers(self) -> dict[str, Any]:
        return {}

    def _listed(self) -> list[dict[str, Any]]:
        rows = results.clusters_of(self.clusters)
        return [{**row, "standard_error": own.standard_error} for row, own in zip(rows, self.clusters, strict=True)]

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        return ((hierarchy, None) for hierarchy in self.draws())

    def _say_clusters(self, title: str) -> None:
        summary.say_clusters(f"{title}; ± one standard error", self.clusters)
        if not self.posterior.verdict.converged:
            summary.facts("", "The chains do not agree: do not rely on these numbers. Run longer (--seconds).")
