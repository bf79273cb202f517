"""All clusterings if they can be summed over, and drawn or chosen ones if they are too many: said on stderr."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import palmette as pal
from palmette.array_types import Floats
from palmette.cli.notes import note, progress

if TYPE_CHECKING:  # the compiler comes with them, and --help should not wait for it
    from palmette.budget import Budget
    from palmette.models import HierarchyModel, PartitionModel
    from palmette.report.listing import Hierarchies, Partitions
    from palmette.sampling import SampledPartitions, SampledPosterior

__all__ = ["budget_of", "infer_hierarchies", "infer_partitions"]

_FOR_EVIDENCE = 1 / 5  # of the time


def budget_of(options: dict[str, Any]) -> Budget:
    """What --seconds allows for, from now on; without end if --sweeps says how far chains run."""
    from palmette.budget import Budget  # it hears of compilations, and --help should not wait for the compiler

    return Budget(options["seconds"] if options["sweeps"] is None else None)


def infer_hierarchies(
    model: HierarchyModel, likeness: Floats, options: dict[str, Any], budget: Budget, *, by_evidence: bool = False
) -> Hierarchies | SampledPosterior:
    """The posterior over all hierarchies, sampled, or over those of a trellis that is grown around good ones.

    With the parameters of the model or, `by_evidence`, those that the data want, or with all of them; a fifth of the
    budget is then left for the evidence.
    """
    infer: Any = pal.search.posterior
    if by_evidence:
        infer, budget = pal.evidence.posterior, budget.share(1.0 - _FOR_EVIDENCE)
    posterior: Hierarchies | SampledPosterior = _infer(infer, model, likeness, options, budget)
    if posterior.kind == "sums" and posterior.trellis is not None:
        note(
            f"the sparse trellis has {posterior.trellis.n_clusters:,} clusters. Probabilities are given that the "
            "hierarchy is in it, and log Z is a lower bound.",
            options["quiet"],
        )
    return posterior


def infer_partitions(
    model: PartitionModel,
    likeness: Floats,
    options: dict[str, Any],
    budget: Budget,
    *,
    free: tuple[str, ...] | None = None,
) -> Partitions | SampledPartitions:
    """The posterior over all partitions, sampled, or over those into clusters of a few good hierarchies.

    With the constants that the data want, or with all of them, for those that are `free`; None: it has none.
    """
    infer: Any = pal.search.posterior if free is None else partial(pal.evidence.partition_posterior, free=free)
    more = {"n_clusters": options["n_clusters"]}
    posterior: Partitions | SampledPartitions = _infer(infer, model, likeness, options, budget, **more)
    if posterior.kind == "sums" and (trellis := posterior.trellis) is not None:
        source = "a few good hierarchies" if trellis.hierarchy is None else "one good hierarchy"
        note(
            f"the trellis has {trellis.n_clusters:,} clusters, those of {source}. Probabilities are given that the "
            "partition is made of them, and too sure of themselves where the hierarchies are in doubt.",
            options["quiet"],
        )
    return posterior


def _instead(model: HierarchyModel | PartitionModel, options: dict[str, Any], n_clusters: int | None = None) -> str:
    # What clusterings that are too many are replaced by.
    given = {"perplexity": options["perplexity"], "n_clusters": n_clusters}
    way = pal.search.posteriors.way_beyond(model, options["beyond"], **given)
    if way == "sampled":
        limit = f"{options['seconds']:g} seconds" if options["sweeps"] is None else f"{options['sweeps']:,} sweeps"
        return f"Markov chains for {limit} at most"
    of_partitions = model.clusterings == "partitions"
    chosen = "partitions into chosen clusters" if of_partitions else "a sparse trellis of chosen clusters"
    if way == options["beyond"]:
        return chosen
    named = {"--perplexity": options["perplexity"], "--clusters": n_clusters}
    reasons = [name for name, value in named.items() if value is not None]
    return f"{chosen}, since with {reasons[0]} they are not sampled" if reasons else chosen


def _infer(
    infer: Any,
    model: HierarchyModel | PartitionModel,
    likeness: Floats,
    options: dict[str, Any],
    budget: Budget,
    **more: Any,
) -> Any:
    # Says why if it is not over everything: before the work begins if that is known by then.
    n, most = model.n_leaves, options["exact_leaves"] or model.exact_leaves
    instead = _instead(model, options, **more)
    if n > most:
        reason = f"{n:,} leaves are more than the {most} up to which everything is summed over"
        note(f"{reason}; going on with {instead}.", options["quiet"])
    given = pal.similarity.linkages(likeness, model.labels)
    names = ("max_memory", "perplexity", "beyond", "sweeps")
    limits = {"exact_leaves": most, "seconds": budget.seconds, **{name: options[name] for name in names}}
    shown = progress(options["quiet"])
    posterior = infer(model, hierarchies=given, rng=options["seed"], progress=shown, **limits, **more)
    if n <= most and not posterior.is_exact:
        note(f"{_too_large(model, options['max_memory'])}; going on with {instead}.", options["quiet"])
    return posterior


def _too_large(model: HierarchyModel | PartitionModel, max_memory: int | None) -> str:
    from palmette.posterior.kinds import posterior_of

    try:
        posterior_of(model, max_memory=max_memory)
    except pal.TrellisTooLarge as error:
        return str(error).partition(". ")[0]
    return "all tables of the full trellis together need more memory than is allowed"
