"""How far shares of particles are to be trusted: the spread between founders.

After resampling, particles are descendants of a few *founders*, and those of one founder have most of their past in
common: a hundred copies of one history are one history. With W_g the share of the weight of the descendants of founder
g, over all runs, and S_g that of those among them in which something is so,

    p = Σ S_g,   error² = G/(G−1) Σ (S_g − p W_g)² + 3/2 ((1−2p)/G)²,   G = 1 / Σ W_g²

G is the effective number of independent histories. The sum is the variance of Chan and Lai ("A general theory of
particle filters", 2013), which looks at one run; over several it holds the spread between them, and where each has come
down to one founder it is that spread and nothing else. The last term is that of `palmette.sampling.diagnostics`: what
all of G independent histories have could still be missing in the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse

from palmette.array_types import Floats
from palmette.sampling.diagnostics import MORE_SEEN, split_frequency_deviation

__all__ = [
    "REMEDY",
    "ParticleVerdict",
    "collapse",
    "error_of",
    "founder_errors",
    "is_collapsed",
    "judge_runs",
    "n_independent",
]

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


def n_independent(weights: Floats, founders: npt.NDArray[np.integer]) -> float:
    """G = 1 / Σ W_g²."""
    return float(1.0 / (np.bincount(founders, weights) ** 2).sum())


def founder_errors(
    weights: Floats, founders: npt.NDArray[np.integer], events: npt.NDArray[np.integer], n_events: int
) -> tuple[Floats, Floats]:
    """Shares p and their errors, (n_events,) each, of things that are so in particles: `events` (S, k) lists them."""
    shape = (int(founders.max()) + 1, n_events)
    where = (np.repeat(founders, events.shape[1]), events.reshape(-1))
    held = scipy.sparse.coo_array((np.repeat(weights, events.shape[1]), where), shape).tocsr()  # S_g of each event
    total = np.bincount(founders, weights, minlength=shape[0])  # W_g
    p = np.clip(np.asarray(held.sum(axis=0)).reshape(-1), 0.0, 1.0)
    squares = np.asarray(held.power(2).sum(axis=0)).reshape(-1)
    spread = (squares - 2 * p * (held.T @ total) + p**2 * (total**2).sum()).clip(min=0.0)
    return p, error_of(p, spread, float(1.0 / (total**2).sum()))


def error_of(p: Floats, spread: Floats | float, independent: float) -> Floats:
    """The error of shares p, of which Σ (S_g − p W_g)² is `spread`; no more than the whole range."""
    most = np.maximum(p, 1 - p)
    if independent < 1.0 + 1e-9:
        return most
    variance = spread * independent / (independent - 1.0)
    return np.minimum(np.sqrt(variance + MORE_SEEN * ((1 - 2 * p) / independent) ** 2), most)


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
        n_effective_runs=float(weight.sum() ** 2 / (weight**2).sum()),
        standard_error=float(errors.max(initial=0.0)),
        deviation=split_frequency_deviation(shares) if len(weight) > 1 else 0.0,
        disagreements=tuple(name(i) for i in worst),
    )
