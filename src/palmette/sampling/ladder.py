"""From all clusterings alike to the posterior in small steps: how the law of log φ changes with t.

Under p_t(H) ∝ φ(H)^t the mean of log φ rises with t at the rate of its variance σ²(t). How far two laws are apart is
measured by the *length* ∫ σ dt between them: over a length of about 1 they overlap well. A few annealed chains tell σ;
with it, steps of equal length can be made, whatever the model and its scale.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.budget import Budget, now
from palmette.sampling.chance import PILOT_STARTS, PILOTS
from palmette.sampling.cooling import cooling
from palmette.sampling.tempered_moves import HARSHEST, TemperedMoves

__all__ = ["Pilot", "fewest_sweeps", "pilot"]

_CHAINS, _SWEEPS = 4, 8  # at each temperature
_COARSEST = 8  # one t of so many is looked at, if the time is short
_HARMLESS = 1e-3  # the first temperature above 0, in units of 1 / (spread of log φ at 0)


class Pilot(NamedTuple):
    """Rising t from 0 on, and the length ∫ σ dt from 0 to each, as far as some chains tell."""

    tempers: Floats
    lengths: Floats

    @property
    def sweeps(self) -> int:
        """How many sweeps it took."""
        return (len(self.tempers) - 1) * _CHAINS * _SWEEPS

    def steps(self, n_steps: int, *, first: float = 0.0, last: float = 1.0) -> Floats:
        """(n_steps + 1,): t from `first` to `last`, the same length between any two."""
        begin, end = np.interp([first, last], self.tempers, self.lengths)
        tempers = np.interp(np.linspace(begin, end, n_steps + 1), self.lengths, self.tempers)
        tempers[0], tempers[-1] = first, last
        return tempers

    def length(self, first: float = 0.0, last: float = 1.0) -> float:
        """∫ σ dt from `first` to `last`."""
        return float(np.diff(np.interp([first, last], self.tempers, self.lengths))[0])

    def temper_at(self, length: float) -> float:
        """The t from which it is so long to 1; 0 if it is not as long as that."""
        end = float(np.interp(1.0, self.tempers, self.lengths))
        return float(np.interp(max(0.0, end - length), self.lengths, self.tempers))


def fewest_sweeps(n_tempers: int = 80) -> int:
    """Sweeps of the shortest pilot, where a thorough one looks at so many t."""
    return math.ceil(n_tempers / _COARSEST) * _CHAINS * _SWEEPS


def pilot(
    moves: TemperedMoves[Any], seed: int, *, last: float = 1.0, every: int = 1, budget: Budget | None = None
) -> Pilot:
    """Anneal some chains from t = 0 to `last`, looking at the spread of log φ at every so many t on the way.

    With a `budget` that has an end it looks at as many t as there is time for, one of eight at least.
    """
    rng = np.random.default_rng([seed, PILOT_STARTS])
    states = [moves.anywhere(rng, seed, PILOTS + i) for i in range(_CHAINS)]
    tempers = cooling(moves, rng)
    if budget is not None and budget.seconds is not None:
        every = _affordable(moves, states, tempers, budget)
    tempers = tempers[::-1][::every][::-1] * last
    tempers = np.concatenate([tempers[:1] * _HARMLESS ** np.linspace(1, 0, 6)[:-1], tempers])
    spreads = [_spread(moves, states, temper) for temper in tempers.tolist()]
    tempers = np.concatenate([[0.0], tempers])
    smooth = _smoothed(np.array([spreads[0], *spreads]))
    lengths = np.concatenate([[0.0], np.cumsum(np.diff(tempers) * 0.5 * (smooth[1:] + smooth[:-1]))])
    return Pilot(tempers, lengths + 1e-12 * np.arange(len(lengths)))


def _affordable(moves: TemperedMoves[Any], states: list[Any], tempers: Floats, budget: Budget) -> int:
    # Of how many t one can be looked at, by how long a look at the first takes.
    begin = now()
    _spread(moves, states, _HARMLESS * float(tempers[0]))
    needed = len(tempers) * (now() - begin)
    return math.ceil(min(max(needed / max(budget.left, 1e-9), 1.0), _COARSEST))


def _spread(moves: TemperedMoves[Any], states: list[Any], temper: float) -> float:
    values = [[moves.run(state, moves.n_moves, temper, _mild(temper))[0] for _ in range(_SWEEPS)] for state in states]
    # Within chains and between halves: chains that have parted company do not widen the law of one.
    return float(np.sqrt(np.mean(np.var(np.array(values)[:, _SWEEPS // 4 :], axis=1, ddof=1))))


def _mild(temper: float) -> float:
    return float(HARSHEST * min(1.0, temper) ** 0.25)


def _smoothed(values: Floats) -> Floats:
    # The median of five neighbours: eight sweeps tell little.
    padded = np.pad(values, 2, mode="edge")
    return np.asarray(np.median(np.lib.stride_tricks.sliding_window_view(padded, 5), axis=1))
