"""A posterior for any number of leaves that needs no parameters: averaged over them, or with the best of them."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from palmette import search
from palmette.budget import Budget
from palmette.checks import check_integer, check_seconds
from palmette.defaults import DEFAULTS
from palmette.errors import TrellisTooLarge
from palmette.evidence.average import average
from palmette.evidence.tuned import tuned
from palmette.models.split_model import HierarchyModel
from palmette.posterior import HierarchyMixture, HierarchyPosterior
from palmette.progress import phases
from palmette.sampling import SampledPosterior

__all__ = ["posterior"]

_FINDING = 1 / 5  # of the time, for the parameters


@phases()
def posterior(
    model: HierarchyModel,
    *,
    averaged_leaves: int = DEFAULTS.averaged_leaves,
    exact_leaves: int | None = None,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
    **options: Any,
) -> HierarchyMixture | HierarchyPosterior | SampledPosterior:
    """The posterior over all hierarchies with the model's parameters left open, or found by the data.

    Up to `averaged_leaves` leaves it is averaged over the parameters by `average`, in the model's `parameter_ranges`.
    Beyond, they are those of `tuned`, and the posterior is that of `palmette.search.posterior`, to which `options` go:
    exact up to `exact_leaves`, sampled if there are more. A model without parameters goes there at once. What is
    sampled takes `seconds` in all, a fifth of them at most for the parameters, or as long as so many `sweeps` take.

    >>> import palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> post = pal.evidence.posterior(pal.models.Contrasts(x))
    >>> round(post.cluster_probability([0, 1, 2]), 2)
    1.0
    >>> print(pal.evidence.compare(post))
    These data very strongly prefer a hierarchy: log Bayes factor +6.60.
    """
    ranges = model.parameter_ranges
    most = model.exact_leaves if exact_leaves is None else check_integer("exact_leaves", exact_leaves, 0)
    most = most if _fits(model, options.get("max_memory")) else 0
    generator = np.random.default_rng(rng)
    check_seconds(seconds)
    budget = Budget(seconds if sweeps is None else None)
    limits: dict[str, Any] = {"exact_leaves": most, "rng": generator, "progress": progress}
    if ranges and model.n_leaves > 2:
        if model.n_leaves <= min(most, check_integer("averaged_leaves", averaged_leaves, 0)):
            start: dict[str, Any] = dict(model.free_parameters)
            return cast(HierarchyMixture, average(model.with_parameters, within=ranges, progress=progress, **start))
        some = None if model.n_leaves <= most else budget.share(_FINDING).seconds
        model = tuned(model, seconds=some, **limits)
    limits |= {"seconds": budget.seconds, "sweeps": sweeps}
    made: HierarchyPosterior | SampledPosterior = search.posterior(model, **limits, **options)
    return made


def _fits(model: HierarchyModel, max_memory: int | None) -> bool:
    try:
        HierarchyPosterior(model, max_memory=max_memory)
    except TrellisTooLarge:
        return False
    return True
