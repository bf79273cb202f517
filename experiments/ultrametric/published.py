"""The published optimiser, as a recipe: what it does to a loss, step by step, with our losses and single linkage.

v₀ is the subdominant ultrametric of w; w̃ = log(1 + exp v) or max(v, 0); v moves by Adam with AMSGrad, steps 0.1; the
best iterate counts. It stops after 500 iterations, or when the mean losses of two windows of 30 differ by less than
0.5 % of the way from the highest loss. With max(v, 0) the traces of the published code come out to ten digits; with
the other, where equal weights are told apart by rounding, to a few per cent.
"""

from __future__ import annotations

import numpy as np
from common import Floats

from palmette.ultrametric import Graph, Loss, subdominant

FIRST, SECOND, TINY = 0.9, 0.999, 1e-8
WINDOW, SHARE, FLAT = 30, 0.005, 1e-5


def published(graph: Graph, loss: Loss, projection: str, iterations: int = 500, step: float = 0.1) -> Floats:
    """(iterations,): the loss of every iterate, without early stop; `projection` is "softplus" or "relu"."""
    v = subdominant(graph).values.copy()
    mean, square, largest = np.zeros((3, len(v)))
    history = np.empty(iterations)
    for t in range(1, iterations + 1):
        here = subdominant(graph, np.logaddexp(0, v) if projection == "softplus" else np.maximum(v, 0))
        history[t - 1], by_altitudes = loss.evaluate(here)
        slope = here.scatter(by_altitudes) * (1 / (1 + np.exp(-v)) if projection == "softplus" else v > 0)
        mean = FIRST * mean + (1 - FIRST) * slope
        square = SECOND * square + (1 - SECOND) * slope**2
        largest = np.maximum(largest, square)
        v -= step / (1 - FIRST**t) * mean / (np.sqrt(largest / (1 - SECOND**t)) + TINY)
    return history


def stop_of(history: Floats) -> int:
    """After how many iterations the published rule stops."""
    for n in range(2 * WINDOW, len(history) + 1):
        before, now = history[n - 2 * WINDOW : n - WINDOW].mean(), history[n - WINDOW : n].mean()
        fallen = abs(history[:n].max() - now)
        if fallen >= FLAT and abs(before - now) < SHARE * fallen:
            return n
    return len(history)
