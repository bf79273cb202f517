"""What every move needs: a stream of random numbers, a choice by weight, and log ψ at a temperature."""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, kernel, reduction
from palmette.array_types import Ints
from palmette.numeric import exponential, largest, unit_draw

__all__ = ["chance", "choose", "choose_another", "new_stream", "tempered"]


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


@kernel
def choose(values, count, u):
    """The index j that u ∈ [0, 1) falls upon when j has the weight exp(values[j]); the first if none has any.

    What becomes of `values` are weights.
    """
    top = largest(values, count)
    if not top > -np.inf:
        return 0
    for j in range(count):
        values[j] = exponential(values[j] - top)
    rest = u * _add(values, count)
    chosen = 0
    for j in range(count):
        if values[j] > 0.0:
            chosen = j
            rest -= values[j]
            if rest < 0.0:
                break
    return chosen


@kernel
def choose_another(values, count, now, stream):
    """Where to go from index `now`: to j ≠ now with probability w_j / max(W − w_now, W − w_j), else nowhere.

    w_j = exp(values[j]), and W is their sum. So w_now · P(now → j) is the same both ways, and a step stays where it is
    at most as often as a draw from all would. What becomes of `values` are weights.
    """
    top = largest(values, count)
    if not top > -np.inf:
        return now
    for j in range(count):
        values[j] = exponential(values[j] - top)
    here, values[now] = values[now], 0.0
    others = _add(values, count)
    rest, chosen = chance(stream) * others, now
    for j in range(count):
        if values[j] > 0.0:
            chosen = j
            rest -= values[j]
            if rest < 0.0:
                break
    values[now], values[chosen] = here, 0.0
    return chosen if chance(stream) * _add(values, count) <= others else now
