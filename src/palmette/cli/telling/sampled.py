"""Sampled posteriors, told to a person, to a program and to files: every number with its error."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar

from palmette.cli.telling import results, summary
from palmette.cli.telling.answers import Answers, HierarchyAnswers, PartitionAnswers, with_support

__all__ = ["EstimatedAnswers", "SampledHierarchyAnswers", "SampledPartitionAnswers"]


class EstimatedAnswers(Answers):
    """The questions whose answers have errors. There is no log Z, so whole clusterings have no probability."""

    several: ClassVar[str | None] = None
    columns = ("members", "size", "probability", "standard_error")

    @abstractmethod
    def _judged(self) -> dict[str, Any]:
        """What is said of how far to trust them, for programs."""

    @abstractmethod
    def _doubt(self) -> str | None:
        """What is said after the table of clusters if they are not to be trusted."""

    def _numbers(self) -> dict[str, Any]:
        return {"exact": False, **self._judged()}

    def _own_numbers(self) -> dict[str, Any]:
        return {}

    def _listed(self) -> list[dict[str, Any]]:
        return results.with_errors(self.clusters)

    def _drawn(self) -> Iterable[tuple[Any, Any]]:
        return ((found, None) for found in self.draws())

    def _say_clusters(self, title: str) -> None:
        summary.say_clusters(f"{title}; ± one standard error", self.clusters, self.resampled)
        if (doubt := self._doubt()) is not None:
            summary.facts("", doubt)


class _FromChains(EstimatedAnswers):
    """The questions that chains are asked."""

    def _judged(self) -> dict[str, Any]:
        verdict = self.posterior.verdict
        return {"sampled": {"converged": verdict.converged, "agree": verdict.agree, **results.judged(verdict)}}

    def _doubt(self) -> str | None:
        if self.posterior.verdict.agree:
            return None
        return "The chains do not agree: do not rely on these numbers. Run longer (--seconds)."


class SampledHierarchyAnswers(_FromChains, HierarchyAnswers):
    """The questions that a sampled posterior over hierarchies is asked."""

    best_title = "The most probable hierarchy that was found"

    @cached_property
    def _supported(self) -> list[tuple[Any, Any]]:
        return [(with_support(h, self.posterior), None) for h, _ in self.posterior.best(self.options["best"])]


class SampledPartitionAnswers(_FromChains, PartitionAnswers):
    """The questions that a sampled posterior over partitions is asked."""

    best_title = "The most probable partition that was drawn"

    @cached_property
    def best(self) -> list[tuple[Any, Any]]:
        """The most probable partitions that were drawn."""
        return [(partition, None) for partition, _ in self.posterior.best(self.options["best"])]

    def _own_shares(self) -> dict[str, Any]:
        values, errors = self.posterior.n_clusters_probabilities()
        return {"n_clusters_probabilities": values.tolist(), "n_clusters_errors": errors.tolist()}
