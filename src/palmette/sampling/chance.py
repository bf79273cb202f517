"""What every move needs: a stream of random numbers, a choice by weight, and log ψ at a temperature."""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, reduction, step
from palmette.array_types import Ints
from palmette.numeric import exponential, largest, unit_draw

__all__ = [
    "ANNEALED",
    "CHAINS",
    "COOLING",
    "EXCHANGES",
    "PILOTS",
    "PILOT_STARTS",
    "QUENCHES",
    "TRIES",
    "chance",
    "choose",
    "choose_another",
    "new_stream",
    "tempered",
]


# Random numbers go by a seed and a number. A chain has its own, from 0 on; what else draws any has numbers far above,
# so that no move draws what another one has drawn. Where things begin is drawn from NumPy's generators, by seed and
# number as well: of one seed, run i of an annealing and chain i of some that are cooled begin at the same hierarchy.
CHAINS = 2**20  # of numbers for each chain, from so many on: the rungs of its starts
TRIES = 2**14  # of these for each of several starts of a chain
COOLING, PILOT_STARTS = 2**32, 2**33  # of NumPy's generators: what tells the spread of log φ, and where pilots begin
PILOTS, EXCHANGES, ANNEALED, QUENCHES = 2**40, 2**41, 2**42, 2**43  # from so many on, by chain or by run


def new_stream(seed: int, chain: int) -> Ints:
    """(3,): seed, number of the chain, how many random numbers it has drawn. All there is to go on from."""
    return np.array([seed, chain, 0], dtype=np.int64)


@inline
def chance(stream):
    """The next number of a stream, uniform in [0, 1)."""
    stream[2] += 1
    return unit_draw(stream[0], stream[1], stream[2])


@inline
def tempered(log_psi, temper, penalty):
    """t log ψ; minus the penalty for a split that is impossible. NaN stays NaN."""
    return -penalty if log_psi == -np.inf else temper * log_psi


@reduction
def _add(weights, count):
    total = 0.0
    for j in range(count):
        total += weights[j]
    return total


@inline
def _weigh(values, count):
    # Logarithms become weights; whether any is above 0.
    top = largest(values, count)
    if not top > -np.inf:
        return False
    for j in range(count):
        values[j] = exponential(values[j] - top)
    return True


@inline
def _pick(weights, count, rest, chosen):
    # The index that `rest`, of the sum of all weights, falls upon; `chosen` if none is above 0.
    for j in range(count):
        if weights[j] > 0.0:
            chosen = j
            rest -= weights[j]
            if rest < 0.0:
                break
    return chosen


@step
def choose(values, count, u):
    """The index j that u ∈ [0, 1) falls upon when j has the weight exp(values[j]); the first if none has any.

    What becomes of `values` are weights.
    """
    if not _weigh(values, count):
        return 0
    return _pick(values, count, u * _add(values, count), 0)


@step
def choose_another(values, count, now, stream):
    """Where to go from index `now`: to j ≠ now with probability w_j / max(W − w_now, W − w_j), else nowhere.

    w_j = exp(values[j]), and W is their sum. So w_now · P(now → j) is the same both ways, and a step stays where it is
    at most as often as a draw from all would. What becomes of `values` are weights.
    """
    if not _weigh(values, count):
        return now
    here, values[now] = values[now], 0.0
    others = _add(values, count)
    chosen = _pick(values, count, chance(stream) * others, now)
    values[now], values[chosen] = here, 0.0
    return chosen if chance(stream) * _add(values, count) <= others else now
