"""How much of the posterior over all hierarchies a sparse trellis misses: the share of draws that are not in it."""

from __future__ import annotations

import math
import warnings

import numpy as np

from palmette.defaults import DEFAULTS
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.sampling import sample_hierarchies
from palmette.sampling.run import check_end

__all__ = ["uncovered"]


def uncovered(
    posterior: HierarchyPosterior,
    *,
    seconds: float | None = DEFAULTS.covering_seconds,
    sweeps: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
) -> Estimate:
    """The share of the posterior over *all* hierarchies that a posterior's sparse trellis does not hold.

    0 for a full trellis. Up to 22 leaves (20 of a model that is not separable, 18 of a `SplitFunction`) it is exact, by
    the full one. Beyond, hierarchies are drawn from all by Markov chains, under the conditions of `posterior`; the
    answer is the share of draws that are not in the trellis, with a standard error. Chains run for `seconds`, or for
    `sweeps` whatever the clock says; they stop before that when every cluster's probability is known to half a percent.
    If they do not agree, a `UserWarning` says so, and the error is no smaller than the spread between chains.

    With chains of your own, ask `SampledPosterior.share_in`, and `log_partition_by` for log Z over all hierarchies.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares([[0.0], [0.1], [1.0], [1.3], [4.0]])
    >>> trellis = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy])
    >>> pal.search.uncovered(pal.HierarchyPosterior(model, trellis=trellis)).kind
    'exact'
    """
    if not isinstance(posterior, HierarchyPosterior):
        raise TypeError(f"expected a HierarchyPosterior, not {posterior!r}")
    check_end(seconds, sweeps, DEFAULTS.precision)
    trellis, model = posterior.trellis, posterior.model
    if trellis is None or not model.knows_all:
        return Estimate(0.0, "exact")  # a table on a trellis gives nothing to what is outside
    most = model.exact_leaves
    if model.n_leaves <= most:
        gap = posterior.log_partition - posterior.on(None).log_partition
        return Estimate(max(0.0, -math.expm1(gap)), "exact")
    if not model.is_compiled:
        raise TypeError(
            f"what a trellis of {model.n_leaves} leaves misses is estimated by chains, which cannot move on {model!r}: "
            f"write it as a CompiledSplitFunction, or compare with a full trellis, of up to {most} leaves"
        )
    sampled = sample_hierarchies(
        model,
        seconds=seconds if sweeps is None else None,
        sweeps=sweeps,
        require=posterior.conditions.required,
        forbid=posterior.conditions.forbidden,
        rng=rng,
        progress=progress,
    )
    if not sampled.verdict.agree:
        warnings.warn(f"the share that is missed is a rough guess. Chains: {sampled.verdict}", stacklevel=2)
    inside = sampled.share_in(trellis)
    return Estimate(1.0 - inside.value, "estimate", inside.standard_error)
