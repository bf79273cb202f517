"""Parameters of a process in turns with a history that is searched for.

**The scale is not found in turns**, for the reason in `palmette.coalescent.estimate_brownian`: `fit` takes only the
shape from the histories it finds.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer, check_points
from palmette.coalescent.brownian import Brownian
from palmette.coalescent.estimate_brownian import estimate_rate, estimate_scale, sample_covariance
from palmette.coalescent.estimate_sites import estimate_sites
from palmette.coalescent.greedy import FoundHistory, Rule, Ties, greedy
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.priors import Gamma, InverseGamma, InverseWishart
from palmette.coalescent.process import Process
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy
from palmette.labels import labels_of

__all__ = ["fit"]

Scale = Literal["moments", "em"]


def fit(
    x: npt.ArrayLike,
    process: Process,
    rule: Rule = "rate1",
    rounds: int = 3,
    scale: Scale | None = "moments",
    *,
    prior: InverseWishart | InverseGamma | Gamma | None = None,
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
    ties: Ties = "log-z",
    leaf_ages: npt.ArrayLike | None = None,
) -> tuple[Any, FoundHistory]:
    """(process, found): a greedy history and the parameters for it, in turns, and at last the history for these.

    The shape of Λ, or the ratios of the rates of sites, and the equilibria come from the histories, the scale does not:
    see the top of this module. `scale` for `Brownian` motion: "moments" sets the trace of Λ to that of the
    `sample_covariance`; "em" starts there and takes a step of `estimate_scale` in each round; None keeps the trace. A
    process with one number for Λ has no shape. The mean rate of `IndependentSites` is always kept. `rule`,
    `ties` and `leaf_ages` as in `greedy`; "em" takes leaves of one age only.

    >>> process, found = fit([[0.0, 1.0], [0.5, 5.0], [3.0, -6.0], [2.0, 1.0]], Brownian([1.0, 1.0]))
    >>> process.rate.round(3), found.hierarchy
    (array([ 2.301, 20.511]), Hierarchy.from_newick('(((0,1),3),2);'))
    """
    if scale not in (None, "moments", "em"):
        raise ValueError(f'scale is {scale!r}; give "moments", "em" or None')
    check_integer("rounds", rounds, 0)
    points, labels = check_points(x, "x", missing=True), labels_of(x, labels)
    if isinstance(process, IndependentSites):
        if scale == "em":
            raise ValueError('scale="em" is for Brownian motion; the mean rate of IndependentSites is kept')
        process = process.given(points)
    elif isinstance(process, Brownian):
        if scale == "em" and np.ptp(check_leaf_ages(leaf_ages, len(points))) > 0:
            raise ValueError('scale="em" takes leaves of one age only; with others use "moments" or None')
        process = process if scale is None else _by_moments(points, process, leaf_ages)
    else:
        raise TypeError(f"expected Brownian motion or IndependentSites, not {process!r}")
    step: Any = _next_sites if isinstance(process, IndependentSites) else _next_brownian
    for _ in range(rounds):
        found = greedy(points, process, rule, labels, progress, ties=ties, leaf_ages=leaf_ages)
        process = step(points, found.hierarchy, process, prior, scale)
    return process, greedy(points, process, rule, labels, progress, ties=ties, leaf_ages=leaf_ages)


def _next_brownian(points: Floats, hierarchy: Hierarchy, process: Any, prior: Any, scale: Scale | None) -> Brownian:
    if process.rate.ndim:
        found = estimate_rate(points, hierarchy, process, prior=prior)
        process = found.with_rate(found.rate * (_trace(process) / _trace(found)))
    return estimate_scale(points, hierarchy, process) if scale == "em" else process


def _next_sites(points: Floats, hierarchy: Hierarchy, process: Any, prior: Any, _: Scale | None) -> IndependentSites:
    update: tuple[Any, ...] = ("rate", "equilibrium") if process.rate.ndim else ("equilibrium",)
    found = estimate_sites(points, hierarchy, process, prior=prior, update=update)
    return IndependentSites(found.rate * (process.rate.mean() / found.rate.mean()), found.equilibrium)


def _trace(process: Brownian) -> float:
    return float(np.trace(process.rate) if process.rate.ndim == 2 else process.rate.sum())


def _by_moments(points: Floats, process: Brownian, leaf_ages: npt.ArrayLike | None) -> Brownian:
    # Scaled so that the variances of columns with at least two entries add up to what they are.
    told = (~np.isnan(points)).sum(axis=0) > 1
    rate, _ = process.on_columns(points.shape[1])
    if not told.any():
        return process
    variances = sample_covariance(points[:, told], "diagonal", process.leaf_variance, leaf_ages)
    factor = float(variances.sum() / (np.diag(rate) if rate.ndim == 2 else rate)[told].sum())
    return process.with_rate(process.rate * factor) if factor > 0 else process
