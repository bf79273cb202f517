"""Whether some chains can be believed: what they say about themselves, and a plain word."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.sampling.diagnostics import (
    effective_size,
    indicator_error,
    is_open,
    rank_effective_size,
    rank_r_hat,
    split_frequency_deviation,
    split_r_hat,
)

__all__ = ["LEAST_SHARE", "EventFigures", "Verdict", "judge"]

LEAST_SHARE = 0.01  # of draws: clusters that are rarer are not judged

_LEAST_SIZE = 100.0  # effective draws of anything that is judged
_LARGEST_ERROR = 0.02 / 3
_MOST_NAMED = 3


@dataclass(frozen=True)
class Verdict:
    """What several chains say about themselves.

    R̂ compares the spread between halves of chains with that within; it falls to 1. Everything that matters is judged:
    log φ, a topological distance, and every event (a cluster occurs; two leaves share one) of probability 0.02 to 0.98.
    """

    largest_r_hat: ClassVar[float] = 1.02
    """R̂ up to which chains are said to agree."""

    n_chains: int
    n_draws: int
    """Draws of each chain that are used."""
    r_hat: float
    """The largest."""
    effective_size: float
    """The smallest."""
    standard_error: float
    """The largest, of the probability of an event."""
    deviation: float
    """Average standard deviation of split frequencies between chains."""
    disagreements: tuple[str, ...]
    """The events that chains disagree on most, in words."""

    @property
    def agree(self) -> bool:
        """Whether the chains agree, and are long enough for their errors to be believed."""
        return self.r_hat <= self.largest_r_hat and self.effective_size >= _LEAST_SIZE

    @property
    def converged(self) -> bool:
        """Whether the chains agree, and every probability is known to within 0.02: three of its standard errors."""
        return self.agree and self.standard_error <= _LARGEST_ERROR

    def __str__(self) -> str:
        figures = (
            f"{self.n_chains} chains of {self.n_draws:,} draws: R̂ {self.r_hat:.3f}, effective draws "
            f"{self.effective_size:,.0f} or more, errors of {self.standard_error:.2g} or less"
        )
        if self.converged:
            return f"converged; {figures}"
        if self.agree:
            return f"chains agree, but errors are still large: run longer for more digits. {figures}"
        if self.disagreements and self.r_hat > self.largest_r_hat:
            return f"not converged: chains disagree on {', '.join(self.disagreements)}; run longer. {figures}"
        return f"not converged: run longer. {figures}"


class EventFigures(NamedTuple):
    """What chains say about each of k events, (k,) each."""

    is_open: npt.NDArray[np.bool_]
    """Whether it is neither too rare nor too common to be judged."""
    r_hat: Floats
    effective_size: Floats
    standard_error: Floats
    """Of its probability."""

    def worst_first(self) -> Ints:
        """Which events are judged, that with the largest R̂ first."""
        judged = np.flatnonzero(self.is_open)
        return judged[np.argsort(-self.r_hat[judged], kind="stable")]


def judge(
    values: dict[str, Floats],
    events: npt.NDArray[np.bool_],
    frequencies: Floats,
    names: list[str],
    errors: Floats | None = None,
) -> tuple[Verdict, EventFigures]:
    """The verdict on chains, and what it says about every event.

    `values` are (chains, draws) numbers by name, such as log φ; `events` (chains, draws, k) what happened in a draw;
    `frequencies` (chains, m) how often each of all clusters occurred; `names` what the events are called; `errors` the
    standard errors of their probabilities, if these are better known than by how often they happened.
    """
    n_chains, n_draws = next(iter(values.values())).shape
    numbers = np.stack(list(values.values()), axis=2)
    r_hat, size = np.asarray(rank_r_hat(numbers)), np.asarray(rank_effective_size(numbers))
    shares = events.mean(axis=(0, 1))
    judged = is_open(shares)
    event_r_hat, event_size = np.asarray(split_r_hat(events)), np.asarray(effective_size(events))
    open_sizes = event_size[judged]
    if errors is None:
        least = float(np.median(open_sizes)) if len(open_sizes) else float(size.min())
        errors = indicator_error(shares, event_size, n_chains * n_draws, least)
    figures = EventFigures(judged, event_r_hat, event_size, errors)
    worst = figures.worst_first()[:_MOST_NAMED]
    worst = worst[event_r_hat[worst] > Verdict.largest_r_hat]
    lonely = [name for name, value in zip(values, r_hat, strict=True) if value > Verdict.largest_r_hat]
    verdict = Verdict(
        n_chains=n_chains,
        n_draws=n_draws,
        r_hat=float(max(r_hat.max(), event_r_hat[judged].max(initial=1.0))),
        effective_size=float(min(size.min(), open_sizes.min(initial=np.inf))),
        standard_error=float(errors.max(initial=0.0)),
        deviation=split_frequency_deviation(frequencies) if n_chains > 1 else 0.0,
        disagreements=tuple([names[i] for i in worst] or lonely),
    )
    return verdict, figures
