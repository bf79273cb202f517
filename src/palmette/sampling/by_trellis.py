"""log Z over all hierarchies, from its exact part: what a sparse trellis sums, and how often draws are in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior

if TYPE_CHECKING:
    from palmette.sampling.sampled_hierarchies import SampledPosterior

__all__ = ["log_partition_by"]

_CLEAR = 3.0  # standard errors from 0 of a probability whose logarithm is taken


def log_partition_by(sampled: SampledPosterior, sparse: HierarchyPosterior) -> Estimate:
    """log Z = log Z′ − log P, with log Z′ on the trellis of `sparse`, P the share of draws in it; error(P) / P."""
    _check_same(sampled, sparse)
    if sparse.trellis is None:
        return Estimate(sparse.log_partition, "exact")
    inside = sampled.share_in(sparse.trellis)
    if inside.value < _CLEAR * inside.standard_error:
        raise ValueError(
            f"{inside.value:.2g} ± {inside.standard_error:.2g} of the posterior is in the trellis, too little to tell "
            "log Z by; take a larger trellis (search.grow with a smaller min_share), longer chains, or log_partition"
        )
    value = sparse.log_partition - math.log(inside.value)
    return Estimate(value, "estimate", inside.standard_error / inside.value)


def _check_same(sampled: SampledPosterior, sparse: HierarchyPosterior) -> None:
    if not isinstance(sparse, HierarchyPosterior):
        raise TypeError(f"expected a HierarchyPosterior, not {sparse!r}")
    if sparse.conditions != sampled.conditions:
        raise ValueError("the two posteriors have different leaves or conditions; make both with the same")
    best = int(np.argmax(sampled.log_potentials))
    value = float(sampled.log_potentials.max())
    other = sparse.model.log_potential(sampled.trees[best]) if sparse.model.knows_all else -math.inf
    if not math.isclose(other, value, rel_tol=1e-9, abs_tol=1e-6):
        raise ValueError(f"the chains are of {sampled.model!r}, the trellis of {sparse.model!r}; take the same model")
