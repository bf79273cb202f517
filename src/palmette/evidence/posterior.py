"""A posterior for any number of leaves that needs no parameters: averaged over them, or with the best of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from palmette import search
from palmette.budget import Budget
from palmette.checks import check_integer, check_seconds
from palmette.defaults import DEFAULTS
from palmette.evidence.average import average
from palmette.evidence.shares import averaged, chosen
from palmette.evidence.tuned import tuned
from palmette.models import VarianceShares, with_prior
from palmette.models.effective_dimension import Dimension
from palmette.models.split_model import HierarchyModel
from palmette.models.variance_shares import leaves_law_open
from palmette.models.with_prior import without_prior
from palmette.posterior import HierarchyMixture, HierarchyPosterior
from palmette.posterior.kinds import fits_in_memory
from palmette.progress import phases
from palmette.sampling import SampledPosterior

__all__ = ["posterior"]

_FINDING = 1 / 5  # of the time, for the parameters


@phases()
def posterior(
    model: HierarchyModel | npt.ArrayLike,
    *,
    dimension: Dimension = "effective",
    labels: Sequence[str] | None = None,
    averaged_leaves: int = DEFAULTS.averaged_leaves,
    exact_leaves: int | None = None,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
    **options: Any,
) -> HierarchyMixture | HierarchyPosterior | SampledPosterior:
    """The posterior over all hierarchies of some points, or of a model whose parameters are left open.

    Points, an (n, d) array, are seen by `VarianceShares` of this `dimension`: as noise, as clusters that differ by
    degrees, and as groups with noise inside; of sixteen dimensions or more for up to half also as profiles (see
    `VarianceShares`). Up to `averaged_leaves` leaves these are weighed by their evidence, and `log_evidence` is the log
    Bayes factor of all but noise against noise. Beyond, the one that explains random sets of ten rows or Ward's
    hierarchy best is taken, and the posterior is that of `palmette.search.posterior`, to which `options` go: exact up
    to `exact_leaves`, sampled if there are more. Hierarchies have the Yule law beforehand. `VarianceShares` as a model
    are left open in the same way, under the prior they have. Columns on different scales are to be standardised before
    (`palmette.similarity.standardised`), as the command line does.

    Another model is averaged over its parameters by `average`, in its `parameter_ranges`, and beyond as many leaves has
    those of `tuned`. A model without parameters goes to `palmette.search.posterior` at once. What is sampled takes
    `seconds` in all, a fifth of them at most for the parameters, or as long as so many `sweeps` take.

    >>> import palmette as pal
    >>> x = [[0.0, 0.1], [0.2, 0.0], [0.1, 0.3], [4.0, 4.1], [4.2, 4.0], [8.0, 0.0], [8.1, 0.2]]
    >>> post = pal.evidence.posterior(x)
    >>> round(post.cluster_probability([0, 1, 2]), 2)
    1.0
    >>> print(pal.evidence.compare(post))
    These data very strongly prefer a hierarchy: log Bayes factor +8.87.
    """
    if not isinstance(model, HierarchyModel):
        model = with_prior(VarianceShares(model, dimension=dimension, labels=labels), "yule")
    elif labels is not None or dimension != "effective":
        raise TypeError(f"dimension and labels go with points; {model!r} has its own")
    ranges = model.parameter_ranges
    most = model.exact_leaves if exact_leaves is None else check_integer("exact_leaves", exact_leaves, 0)
    most = most if fits_in_memory(model, options.get("max_memory")) else 0
    generator = np.random.default_rng(rng)
    check_seconds(seconds)
    budget = Budget(seconds if sweeps is None else None)
    limits: dict[str, Any] = {"exact_leaves": most, "rng": generator, "progress": progress}
    shares, prior = without_prior(model)
    if leaves_law_open(shares) and model.n_leaves > 2:
        if model.n_leaves <= min(most, check_integer("averaged_leaves", averaged_leaves, 0)):
            return averaged(shares, prior, progress)
        model = chosen(shares, prior)
    elif ranges and model.n_leaves > 2:
        if model.n_leaves <= min(most, check_integer("averaged_leaves", averaged_leaves, 0)):
            start: dict[str, Any] = dict(model.free_parameters)
            return cast(HierarchyMixture, average(model.with_parameters, within=ranges, progress=progress, **start))
        some = None if model.n_leaves <= most else budget.share(_FINDING).seconds
        model = tuned(model, seconds=some, **limits)
    limits |= {"seconds": budget.seconds, "sweeps": sweeps}
    made: HierarchyPosterior | SampledPosterior = search.posterior(model, **limits, **options)
    return made
