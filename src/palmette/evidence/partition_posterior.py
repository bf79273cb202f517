"""A posterior over partitions of any number of leaves that needs no constants: averaged over them, or with the best."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, cast

import numpy as np

from palmette import search
from palmette.budget import Budget
from palmette.checks import check_integer, check_seconds
from palmette.defaults import DEFAULTS
from palmette.evidence.average import average
from palmette.evidence.row_sets import best_of_row_sets, summands
from palmette.models.base import require_model
from palmette.models.cluster_model import PartitionModel
from palmette.posterior import PartitionMixture, PartitionPosterior
from palmette.posterior.kinds import fits_in_memory
from palmette.sampling import SampledPartitions

__all__ = ["partition_posterior"]

_TERMS = 20_000_000  # summands of all clusters: averaging takes some fifty times as many logarithms, ten seconds


def partition_posterior(
    model: PartitionModel,
    *,
    free: Collection[str] | None = None,
    n_clusters: int | None = None,
    averaged_leaves: int = DEFAULTS.averaged_leaves,
    exact_leaves: int | None = None,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
    **options: Any,
) -> PartitionMixture | PartitionPosterior | SampledPartitions:
    """The posterior over all partitions with the constants of the model left open, or found by the data.

    Those are its `parameter_ranges`: of a `DirichletProcess` the concentration, and of a `NormalGamma` how wide its
    clusters are beside how far apart. All are left open, or those named in `free`, and the others stay as they are. Up
    to `averaged_leaves` leaves (fewer of hundreds of columns) the posterior is averaged over them by `average`. Beyond,
    they are those under which random sets of twelve rows are most probable, and the posterior is that of
    `palmette.search.posterior`, to which `options` go: exact up to `exact_leaves`, sampled if there are more, for
    `seconds` in all or so many `sweeps`. A model without such constants goes there at once. With `n_clusters` it is the
    posterior given that there are so many, which counts for the average as well.

    >>> import palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> likelihood = pal.likelihoods.NormalGamma.expecting(0.25)
    >>> model = pal.models.DirichletProcess(pal.similarity.standardised(x), 1.0, likelihood)
    >>> post = pal.evidence.partition_posterior(model)
    >>> round(post.together_probability([0, 1, 2]), 2), round(post.together_probability([3, 4, 5]), 2)
    (0.99, 0.0)
    """
    require_model(model, "partitions")
    ranges = _ranges(model, free)
    most = model.exact_leaves if exact_leaves is None else check_integer("exact_leaves", exact_leaves, 0)
    most = most if fits_in_memory(model, options.get("max_memory")) else 0
    check_seconds(seconds)
    budget, generator = Budget(seconds if sweeps is None else None), np.random.default_rng(rng)
    if ranges and model.n_leaves > 1:
        few = model.n_leaves <= min(most, check_integer("averaged_leaves", averaged_leaves, 0))
        if few and summands(model, model.n_leaves) <= _TERMS:
            start: dict[str, Any] = {name: model.free_parameters[name] for name in ranges}
            mixture = cast(PartitionMixture, average(model.with_parameters, within=ranges, progress=progress, **start))
            return mixture if n_clusters is None else mixture.condition(n_clusters=n_clusters)
        model = best_of_row_sets(model, ranges, rng=generator, progress=progress)
    options |= {"exact_leaves": most, "n_clusters": n_clusters, "seconds": budget.seconds, "sweeps": sweeps}
    made: PartitionPosterior | SampledPartitions = search.posterior(model, rng=generator, progress=progress, **options)
    return made


def _ranges(model: PartitionModel, free: Collection[str] | None) -> dict[str, tuple[float, float]]:
    known = dict(model.parameter_ranges)
    if free is None:
        return known
    unknown = sorted(set(free) - set(known))
    if unknown:
        raise ValueError(f"free has {unknown[0]!r}; {model!r} has {', '.join(map(repr, known)) or 'nothing'} to choose")
    return {name: ends for name, ends in known.items() if name in free}
