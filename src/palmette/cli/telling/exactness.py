"""All clusterings if they can be summed over, and drawn or chosen ones if they are too many: said on stderr."""

from __future__ import annotations

from typing import Any

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.notes import note
from palmette.progress import be_quiet

__all__ = ["infer_hierarchies", "infer_partitions", "progress"]


def progress(quiet: bool) -> bool | None:
    """A bar if stderr is a terminal, none if all is to be quiet; nor a word on compilations then."""
    be_quiet(quiet)
    return False if quiet else None


def infer_hierarchies(
    model: Any, likeness: Floats, options: dict[str, Any], *, by_evidence: bool = False
) -> pal.HierarchyPosterior | pal.posterior.HierarchyMixture | pal.sampling.SampledPosterior:
    """The posterior over all hierarchies, sampled, or over those of a trellis that is grown around good ones.

    With the parameters of the model or, `by_evidence`, those that the data want, or with all of them.
    """
    instead = _chains(options) if options["beyond"] == "sampled" else "a sparse trellis of chosen clusters"
    posterior: Any = _infer(model, likeness, options, instead, by_evidence=by_evidence)
    if isinstance(posterior, pal.sampling.SampledPosterior | pal.posterior.HierarchyMixture):
        return posterior
    if posterior.trellis is not None:
        note(
            f"the sparse trellis has {posterior.trellis.n_clusters:,} clusters. Probabilities are given that the "
            "hierarchy is in it, and log Z is a lower bound.",
            options["quiet"],
        )
    found: pal.HierarchyPosterior = posterior
    return found


def infer_partitions(
    model: Any, likeness: Floats, options: dict[str, Any], n_clusters: int | None = None
) -> pal.PartitionPosterior | pal.sampling.SampledPartitions:
    """The posterior over all partitions, sampled, or over those into clusters of a few good hierarchies."""
    posterior: Any = _infer(model, likeness, options, _instead(options, n_clusters), n_clusters=n_clusters)
    if isinstance(posterior, pal.sampling.SampledPartitions):
        return posterior
    if (trellis := posterior.trellis) is not None:
        source = "a few good hierarchies" if trellis.hierarchy is None else "one good hierarchy"
        note(
            f"the trellis has {trellis.n_clusters:,} clusters, those of {source}. Probabilities are given that the "
            "partition is made of them, and too sure of themselves where the hierarchies are in doubt.",
            options["quiet"],
        )
    found: pal.PartitionPosterior = posterior
    return found


def _chains(options: dict[str, Any]) -> str:
    limit = f"{options['seconds']:g} seconds" if options["sweeps"] is None else f"{options['sweeps']:,} sweeps"
    return f"Markov chains for {limit} at most"


def _instead(options: dict[str, Any], n_clusters: int | None) -> str:
    # What partitions that are too many are replaced by; chains are over all of them, at the β that is given.
    chosen = "partitions into chosen clusters"
    if options["beyond"] == "sparse":
        return chosen
    given = {"--perplexity": options["perplexity"], "--clusters": n_clusters}
    name = next((name for name, value in given.items() if value is not None), None)
    return _chains(options) if name is None else f"{chosen}, since with {name} they are not sampled"


def _infer(
    model: Any, likeness: Floats, options: dict[str, Any], instead: str, *, by_evidence: bool = False, **more: Any
) -> Any:
    # Says why if it is not over everything: before the work begins if that is known by then.
    n, most = model.n_leaves, options["exact_leaves"] or model.exact_leaves
    if n > most:
        reason = f"{n:,} leaves are more than the {most} up to which everything is summed over"
        note(f"{reason}; going on with {instead}.", options["quiet"])
    given = pal.similarity.linkages(likeness, model.labels)
    names = ("max_memory", "perplexity", "beyond", "seconds", "sweeps")
    limits = {"exact_leaves": most, **{name: options[name] for name in names}}
    shown = progress(options["quiet"])
    infer: Any = pal.evidence.posterior if by_evidence else pal.search.posterior
    posterior = infer(model, hierarchies=given, rng=options["seed"], progress=shown, **limits, **more)
    if n <= most and not posterior.is_exact:
        note(f"{_too_large(model, options['max_memory'])}; going on with {instead}.", options["quiet"])
    return posterior


def _too_large(model: Any, max_memory: int | None) -> str:
    from palmette.posterior.kinds import posterior_of

    try:
        posterior_of(model, max_memory=max_memory)
    except pal.TrellisTooLarge as error:
        return str(error).partition(". ")[0]
    return "all tables of the full trellis together need more memory than is allowed"
