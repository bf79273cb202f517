"""Down to the posterior, from anywhere, and farther down, to where nothing but a gain happens.

A chain under Π ψ^t that begins at t = 0 can go anywhere, and what it finds on the way to t = 1 is chance: chains that
begin so are as far apart as the posterior is wide. t rises in equal steps of log t, from 1 / σ on, σ being the spread
of log φ over all hierarchies.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.sampling.tempered_moves import HARSHEST, MILDEST, State, TemperedMoves

__all__ = ["LOOKS", "cool", "cooling", "fewer_sweeps", "quench", "rising"]

_PER_DECADE = 40  # sweeps for every factor of ten in t
LOOKS = 50  # clusterings that tell the spread of log φ
_COLDEST = 1e4
_QUENCH_SWEEPS, _FEWEST = 80, 10
_MANY = 300  # leaves; of more, sweeps take longer each


def fewer_sweeps(sweeps: int, n: int, least: int) -> int:
    """So many up to 300 leaves, and of more as many fewer as there are more of these, but not less than the `least`.

    >>> fewer_sweeps(100, 300, 8), fewer_sweeps(100, 600, 8), fewer_sweeps(100, 9000, 8)
    (100, 50, 8)
    """
    return max(least, sweeps * _MANY // max(n, _MANY))


def cooling(moves: TemperedMoves[Any], rng: np.random.Generator) -> Floats:
    """Rising t, the last one 1: a sweep at each leads from anywhere to the posterior."""
    return rising([moves.restate(moves.anywhere(rng, 0, 0))[0] for _ in range(LOOKS)], _PER_DECADE)


def rising(values: list[float], per_decade: int) -> Floats:
    """Rising t in equal steps of log t, from 1 / (the spread of some log φ) to 1, so many for every factor of ten."""
    spread = float(np.std(values))
    decades = max(0.0, math.log10(spread)) if spread > 0.0 else 0.0
    return np.logspace(-decades, 0.0, max(10, math.ceil(per_decade * decades)))


def cool(moves: TemperedMoves[State], state: State, tempers: Floats, worst: float = 0.0) -> tuple[float, int]:
    """A sweep at each t, then one where nothing impossible can happen; what `restate` gives at the end.

    What is impossible costs more and more, and always more than t times the `worst` loss that is possible.
    """
    penalties = np.geomspace(MILDEST, HARSHEST, len(tempers)) + tempers * worst
    for temper, penalty in zip(tempers.tolist(), penalties.tolist(), strict=True):
        moves.run(state, moves.n_moves, temper, penalty)
    return moves.run(state, moves.n_moves, float(tempers[-1]))


def quench(moves: TemperedMoves[State], state: State) -> Iterator[float]:
    """log φ of ever better states on the way from this one to where nothing but a gain happens.

    The state is at each of them when it is told. t rises from 1 until a move that loses anything worth mentioning is
    out of the question.
    """
    best, n = moves.restate(state)[0], moves.model.n_leaves
    sweeps = fewer_sweeps(_QUENCH_SWEEPS, n, _FEWEST) if n > 2 else 0
    for temper in np.geomspace(1.0, _COLDEST, sweeps).tolist():
        value, impossible = moves.run(state, moves.n_moves, temper)
        if value > best and not impossible:
            best = value
            yield value
