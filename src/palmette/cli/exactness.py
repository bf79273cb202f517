"""All clusterings if they can be summed over, and chosen ones if they are too many."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

import click
import numpy as np
import numpy.typing as npt
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import squareform

import palmette as pal

__all__ = ["Settings", "infer_hierarchies", "infer_partitions", "note"]

Floats = npt.NDArray[np.float64]
Posterior = TypeVar("Posterior", "pal.HierarchyPosterior", "pal.PartitionPosterior")

_MIN_SHARE = 1e-4
_MOST_CLUSTERS = 20_000
_MOST_REMAINDERS = 20_000


@dataclass(frozen=True)
class Settings:
    """How large, how loud, and at which temperature."""

    exact_leaves: int
    max_memory: int | None
    seed: int
    quiet: bool
    perplexity: float | None = None

    @classmethod
    def of(cls, options: dict[str, Any]) -> Settings:
        """Out of the options of a command."""
        return cls(**{name: value for name, value in options.items() if name in cls.__dataclass_fields__})

    @property
    def options(self) -> dict[str, Any]:
        """What a posterior is made with."""
        return {"max_memory": self.max_memory, "progress": self.progress}

    @property
    def progress(self) -> bool | None:
        """A bar if stderr is a terminal, none if all is to be quiet."""
        return False if self.quiet else None


def note(text: str, quiet: bool) -> None:
    """Say something on stderr that is not part of the result."""
    if not quiet:
        click.echo(f"Note: {text}", err=True)


def infer_hierarchies(model: Any, similarity: Floats, settings: Settings) -> pal.HierarchyPosterior:
    """The posterior over all hierarchies, or over those of a trellis that is grown around good ones."""
    reason = _too_many(model.n_leaves, settings)
    if reason is None:
        try:
            return _whole(partial(pal.HierarchyPosterior, **settings.options), model, settings)
        except pal.TrellisTooLarge as error:
            reason = _first_sentence(error)
    return _grown(model, similarity, settings, reason)


def _whole(make: Callable[[Any], Posterior], model: Any, settings: Settings) -> Posterior:
    # With the tables that every answer needs, so that it is known now whether there is memory for them.
    posterior = make(model)
    if settings.perplexity is not None:
        posterior.log_partition  # noqa: B018
        posterior = make(pal.temperature.at_perplexity(model, settings.perplexity, progress=settings.progress))
    posterior.map()
    posterior.cluster_probabilities(1.0)
    return posterior


def _grown(model: Any, similarity: Floats, settings: Settings, reason: str) -> pal.HierarchyPosterior:
    note(f"{reason}; going on with a sparse trellis of chosen clusters.", settings.quiet)
    trellis = _grow(model, pal.SparseTrellis.from_hierarchies(_good(model, similarity, settings)), settings)
    if settings.perplexity is not None:
        for _ in range(2):  # where clusters matter depends on β, and β on the clusters
            model = pal.temperature.at_perplexity(
                model, settings.perplexity, trellis=trellis, progress=settings.progress
            )
            trellis = _grow(model, trellis, settings)
        model = pal.temperature.at_perplexity(model, settings.perplexity, trellis=trellis, progress=settings.progress)
    posterior = pal.HierarchyPosterior(model, trellis=trellis, **settings.options)
    note(
        f"the sparse trellis has {trellis.n_clusters:,} clusters. Probabilities are given that the hierarchy is in it, "
        "and log Z is a lower bound.",
        settings.quiet,
    )
    return posterior


def _grow(model: Any, trellis: pal.SparseTrellis, settings: Settings) -> pal.SparseTrellis:
    return pal.search.grow(
        model, trellis, min_share=_MIN_SHARE, max_clusters=_MOST_CLUSTERS, progress=settings.progress
    )


def _good(model: Any, similarity: Floats, settings: Settings) -> list[pal.Hierarchy]:
    greedy = pal.search.greedy(model).hierarchy
    refined = pal.search.refine(
        model, greedy, seconds=None, rounds=2, rng=settings.seed, progress=settings.progress
    ).hierarchy
    return [greedy, refined, *_linkages(similarity, model.labels)]


def _linkages(similarity: Floats, labels: tuple[str, ...]) -> list[pal.Hierarchy]:
    apart = similarity.max(initial=0.0) - similarity
    np.fill_diagonal(apart, 0.0)
    between = squareform(apart, checks=False)
    return [pal.Hierarchy.from_linkage(linkage(between, method), labels) for method in ("average", "complete")]


def infer_partitions(
    model: Any, similarity: Floats, settings: Settings, n_clusters: int | None = None
) -> pal.PartitionPosterior:
    """The posterior over all partitions, or over those into clusters of a few good hierarchies."""
    make = partial(_partitions, settings.options, n_clusters)
    reason = _too_many(model.n_leaves, settings)
    if reason is None:
        try:
            return _whole(make, model, settings)
        except pal.TrellisTooLarge as error:
            reason = _first_sentence(error)
    note(f"{reason}; going on with partitions into chosen clusters.", settings.quiet)
    trellis = _partition_trellis(model, similarity)
    if settings.perplexity is not None:
        model = pal.temperature.at_perplexity(model, settings.perplexity, trellis=trellis, progress=settings.progress)
    source = "a few good hierarchies" if trellis.hierarchy is None else "one good hierarchy"
    note(
        f"the trellis has {trellis.n_clusters:,} clusters, those of {source}. Probabilities are given that the "
        "partition is made of them, and too sure of themselves where the hierarchies are in doubt.",
        settings.quiet,
    )
    return _partitions(settings.options | {"trellis": trellis}, n_clusters, model)


def _partitions(options: dict[str, Any], n_clusters: int | None, model: Any) -> pal.PartitionPosterior:
    posterior = pal.PartitionPosterior(model, **options)
    return posterior if n_clusters is None else posterior.condition(n_clusters=n_clusters)


def _partition_trellis(model: Any, similarity: Floats) -> pal.PartitionTrellis:
    # The clusters of several hierarchies if there are not too many remainders, else those of the best of them.
    greedy = pal.search.greedy(model).hierarchy
    assert greedy is not None
    several = [greedy, *_linkages(similarity, model.labels)]
    try:
        return pal.PartitionTrellis.from_hierarchies(several, max_remainders=_MOST_REMAINDERS)
    except pal.TrellisTooLarge:
        single = [pal.PartitionTrellis.from_hierarchy(hierarchy) for hierarchy in several]
        return max(single, key=lambda trellis: pal.PartitionPosterior(model, trellis=trellis).log_partition)


def _first_sentence(error: Exception) -> str:
    return str(error).partition(". ")[0]


def _too_many(n: int, settings: Settings) -> str | None:
    if n <= settings.exact_leaves:
        return None
    return f"{n:,} leaves are more than the {settings.exact_leaves} up to which everything is summed over"
