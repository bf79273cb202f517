"""How far t_cut may lie above the heaviest particle.

No particle is heavier than t_cut, so the likelihood is 0 below the heaviest one. Above it falls, as histories with a
lighter parent drop out, by so many nats for each unit of mass² and each jet. Such a parameter is known to 1/N and not
to 1/√N, and has no curvature. But its likelihood, made a density, has as much below t_cut as it should: where particles
end is a location, and for a location all cuts are alike beforehand.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from palmette.array_types import Floats

__all__ = ["upper_end"]

_POINTS = 12
_MOST_TRIES = 12


def upper_end(fall: Callable[[float], float], apart: float, level: float) -> float:
    """The x with ∫₀ˣ e^{−fall} = level · ∫₀^∞ e^{−fall}; `fall` grows from 0, about by 1 in every `apart`.

    >>> round(upper_end(lambda x: 2.0 * x, 5.0, 0.95), 3)  # log 20 / 2
    1.498
    """
    wanted = -math.log(1.0 - level)
    low, high, width = 0.0, math.inf, wanted * apart
    for _ in range(_MOST_TRIES):
        depth = fall(width)
        if wanted <= depth <= 3.0 * wanted:
            break
        low, high = (width, high) if depth < wanted else (low, width)
        factor = min(max(1.5 * wanted / max(depth, 1e-3), 0.25), 4.0)
        width = 0.5 * (low + high) if low > 0.0 and high < math.inf else factor * width
    else:
        width = high if high < math.inf else width  # a wall: all that is before it
    at = width * np.linspace(0.0, 1.0, _POINTS + 1)
    return _quantile(at, -np.array([0.0, *map(fall, at[1:].tolist())]), level)


def _quantile(at: Floats, logs: Floats, level: float) -> float:
    # Of a density whose logarithm is made of straight lines, the last of which goes on; it may fall to 0 at once.
    is_wall = logs[-1] == -math.inf
    if is_wall:
        last = int(np.argmin(logs > -math.inf))
        at, logs = at[: last + 1], np.append(logs[:last], logs[last - 1])
    fine = np.linspace(0.0, at[-1], 100 * _POINTS + 1)
    density = np.exp(np.interp(fine, at, logs))
    below = np.concatenate([[0.0], np.cumsum(0.5 * (density[1:] + density[:-1]) * np.diff(fine))])
    slope = (logs[-2] - logs[-1]) / (at[-1] - at[-2])
    beyond = density[-1] / slope if slope > 0.0 and not is_wall else 0.0
    wanted = level * (below[-1] + beyond)
    if wanted <= below[-1]:
        return float(np.interp(wanted, below, fine))
    return float(at[-1] + math.log(beyond / (below[-1] + beyond - wanted)) / slope)
