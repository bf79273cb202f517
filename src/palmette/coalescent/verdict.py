"""Whether runs of particles agree and hold enough independent histories: a verdict, and what to do if not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from palmette.array_types import Floats
from palmette.sampling.diagnostics import effective_number, split_frequency_deviation

__all__ = ["REMEDY", "ParticleVerdict", "collapse", "is_collapsed", "judge_runs"]

_LEAST = 20.0  # independent histories below which an error is itself a guess
_APART = 0.2  # shares of two runs that are said to disagree
_MOST_NAMED = 3
REMEDY = "take more particles, or try another proposal"


@dataclass(frozen=True)
class ParticleVerdict:
    """What several runs of particles say about themselves."""

    n_runs: int
    n_particles: int
    """Of all runs."""
    n_independent: float
    """The effective number of independent histories: of founders, by the weight of what descends from them."""
    n_effective_runs: float
    """The effective number of runs, by their evidence."""
    standard_error: float
    """The largest, of the probability of a cluster."""
    deviation: float
    """Average standard deviation of split frequencies between runs."""
    disagreements: tuple[str, ...]
    """The clusters that runs disagree on most, in words."""

    @property
    def usable(self) -> bool:
        """Whether there are enough independent histories for the errors to be believed, and not of one run only."""
        return not is_collapsed(self.n_independent) and 2 * self.n_effective_runs >= self.n_runs

    def __str__(self) -> str:
        runs = "1 run" if self.n_runs == 1 else f"{self.n_runs} runs"
        figures = (
            f"{self.n_particles:,} particles in {runs}: {self.n_independent:,.1f} of them independent, errors of "
            f"{self.standard_error:.2g} or less"
        )
        if self.usable:
            return f"usable; {figures}"
        if self.disagreements:
            return f"not usable: runs disagree on {', '.join(self.disagreements)}; {REMEDY}. {figures}"
        return f"not usable: {REMEDY}. {figures}"


def is_collapsed(n_independent: float) -> bool:
    """Whether so few independent histories are left that no probability is to be believed."""
    return n_independent < _LEAST


def collapse(n_particles: int, n_independent: float) -> str:
    """That it is so, in words."""
    return f"of {n_particles:,} particles {n_independent:.1f} are independent, too few for probabilities"


def judge_runs(
    log_evidences: Floats,
    shares: Floats,
    errors: Floats,
    n_particles: int,
    independent: float,
    name: Callable[[int], str],
) -> ParticleVerdict:
    """The verdict on runs: log evidence and `shares` of clusters (runs, k) of each, `errors` (k,) over all of them."""
    weight = np.exp(log_evidences - log_evidences.max())
    gap = np.ptp(shares, axis=0) if shares.size else np.zeros(0)
    worst = [int(i) for i in np.argsort(-gap, kind="stable")[:_MOST_NAMED] if gap[i] > _APART]
    return ParticleVerdict(
        n_runs=len(weight),
        n_particles=n_particles,
        n_independent=independent,
        n_effective_runs=effective_number(weight),
        standard_error=float(errors.max(initial=0.0)),
        deviation=split_frequency_deviation(shares) if len(weight) > 1 else 0.0,
        disagreements=tuple(name(i) for i in worst),
    )
