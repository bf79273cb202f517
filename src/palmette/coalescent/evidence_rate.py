"""The rate of a process by the evidence: λ̂ = argmax log p(x | λ), summed over histories and not given one of them.

Given one history the scale of a rate cannot be found, since times stretch to fit it; but the prior of histories has a
scale of its own, so p(x | λ) has a maximum. It is estimated by particles, for factors 2^k of the rate that is given,
with the same random numbers at each, and the maximum is that of a parabola in log λ through the five around the best.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.coalescent.sites import IndependentSites
from palmette.coalescent.smc import smc
from palmette.defaults import DEFAULTS
from palmette.progress import purpose

__all__ = ["RateByEvidence", "rate_by_evidence"]

_FACTOR, _FARTHEST = 2.0, 10  # steps of the search, and how many of them to either side


class RateByEvidence(NamedTuple):
    """What `rate_by_evidence` returns."""

    process: IndependentSites
    """With the rates that were found."""
    rates: Floats
    """(k,): mean rates that were tried, increasing."""
    log_evidences: Floats
    """(k,): estimates of log p(x) for them."""
    at_boundary: bool
    """Whether the evidence still rose where the search ended: then the rate is not determined by the data."""


def rate_by_evidence(
    x: npt.ArrayLike,
    process: IndependentSites,
    n_particles: int = DEFAULTS.rate_particles,
    *,
    proposal: str = DEFAULTS.quick_proposal,
    rng: int = 0,
    leaf_ages: npt.ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> RateByEvidence:
    """The process with its rate, or all of its rates by one factor, at the largest estimated evidence.

    Equilibria stay as they are, and must not be "empirical". With few particles the evidence is noisy, but far less so
    than it changes with the rate; `rates` and `log_evidences` show it. `leaf_ages` as in `smc`.

    >>> import palmette as pal
    >>> truth = pal.coalescent.IndependentSites(0.3, [[0.5, 0.5]] * 30)
    >>> x = pal.simulate.coalescent(8, truth, n_columns=30, rng=1).x
    >>> found = rate_by_evidence(x, pal.coalescent.IndependentSites(1.0, "uniform"))
    >>> bool(0.15 < found.process.rate < 0.6)
    True
    """
    if not isinstance(process, IndependentSites):
        raise TypeError(f"expected IndependentSites, not {process!r}; of Brownian motion the rate is that of `fit`")
    if isinstance(process.equilibrium, str) and process.equilibrium == "empirical":
        raise ValueError(
            'the equilibrium is "empirical", which has seen the data and makes large rates look good; '
            'give "uniform", or the probabilities'
        )
    check_integer("n_particles", n_particles, 1)
    options = {"proposal": proposal, "rng": rng, "leaf_ages": leaf_ages, "threads": threads, "progress": progress}

    def tried(step: int) -> float:
        with purpose(f"rate {float(process.rate.mean()) * _FACTOR**step:.3g}"), warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a collapse: evidence is all that is wanted
            return smc(x, _scaled(process, _FACTOR**step), n_particles, **options).log_evidence  # type: ignore[arg-type]

    found = {step: tried(step) for step in (-1, 0, 1)}
    while True:
        best = max(found, key=lambda step: found[step])
        missing = [step for step in range(best - 2, best + 3) if step not in found and abs(step) <= _FARTHEST]
        if not missing:
            break
        for step in missing:
            found[step] = tried(step)
    steps = np.array(sorted(found))
    values = np.array([found[step] for step in steps.tolist()])
    peak = _peak(steps, values, best)
    rates = float(process.rate.mean()) * _FACTOR ** steps.astype(np.float64)
    return RateByEvidence(_scaled(process, _FACTOR**peak), rates, values, abs(best) == _FARTHEST)


def _scaled(process: IndependentSites, factor: float) -> IndependentSites:
    return IndependentSites(process.rate * factor, process.equilibrium)


def _peak(steps: npt.NDArray[np.integer], values: Floats, best: int) -> float:
    # Of the parabola through the five around the best, by least squares; the best itself if that is no maximum.
    near = (np.abs(steps - best) <= 2) & np.isfinite(values)
    if near.sum() < 3:
        return float(best)
    curve, slope, _ = np.polyfit(steps[near] - best, values[near] - values[near].max(), 2)
    return best + float(np.clip(-slope / (2 * curve), -1.0, 1.0)) if curve < 0 else float(best)
