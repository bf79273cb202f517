"""All clusterings if they can be summed over, and chosen ones if they are too many: said in notes on stderr."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

import palmette as pal
from palmette.array_types import Floats

__all__ = ["Settings", "infer_hierarchies", "infer_partitions", "note"]


_MIN_SHARE = 1e-4


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
    def search_options(self) -> dict[str, Any]:
        """What `search.posterior` is called with."""
        names = ("exact_leaves", "max_memory", "perplexity")
        shared = {name: getattr(self, name) for name in names}
        return {**shared, "min_share": _MIN_SHARE, "rng": self.seed, "progress": self.progress}

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
    posterior: pal.HierarchyPosterior = _infer(model, similarity, settings, "a sparse trellis of chosen clusters")
    if posterior.trellis is not None:
        note(
            f"the sparse trellis has {posterior.trellis.n_clusters:,} clusters. Probabilities are given that the "
            "hierarchy is in it, and log Z is a lower bound.",
            settings.quiet,
        )
    return posterior


def infer_partitions(
    model: Any, similarity: Floats, settings: Settings, n_clusters: int | None = None
) -> pal.PartitionPosterior:
    """The posterior over all partitions, or over those into clusters of a few good hierarchies."""
    posterior: pal.PartitionPosterior = _infer(
        model, similarity, settings, "partitions into chosen clusters", n_clusters=n_clusters
    )
    if (trellis := posterior.trellis) is not None:
        source = "a few good hierarchies" if trellis.hierarchy is None else "one good hierarchy"
        note(
            f"the trellis has {trellis.n_clusters:,} clusters, those of {source}. Probabilities are given that the "
            "partition is made of them, and too sure of themselves where the hierarchies are in doubt.",
            settings.quiet,
        )
    return posterior


def _infer(model: Any, similarity: Floats, settings: Settings, instead: str, **options: Any) -> Any:
    # Says why if it is not over everything: before the work begins if that is known by then.
    reason = _too_many(model.n_leaves, settings)
    if reason is not None:
        note(f"{reason}; going on with {instead}.", settings.quiet)
    given = pal.similarity.linkages(similarity, model.labels)
    posterior = pal.search.posterior(model, hierarchies=given, **settings.search_options, **options)
    if reason is None and not posterior.is_exact:
        note(f"{_too_large(model, settings)}; going on with {instead}.", settings.quiet)
    return posterior


def _too_many(n: int, settings: Settings) -> str | None:
    if n <= settings.exact_leaves:
        return None
    return f"{n:,} leaves are more than the {settings.exact_leaves} up to which everything is summed over"


def _too_large(model: Any, settings: Settings) -> str:
    kind: Any = pal.PartitionPosterior if model.clusterings == "partitions" else pal.HierarchyPosterior
    try:
        kind(model, max_memory=settings.max_memory)
    except pal.TrellisTooLarge as error:
        return str(error).partition(". ")[0]
    return "all tables of the full trellis together need more memory than is allowed"
