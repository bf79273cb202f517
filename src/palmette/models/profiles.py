"""Rows as profiles: which columns of a row are high and which are low, whatever its level and its spread."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats

__all__ = ["profiles_of"]

_LEAST = 1e-12  # of the largest spread of a row


def profiles_of(points: Floats) -> Floats:
    """(n, d): rows with mean 0 and mean square 1, made of points less the mean of each column; 0 where a row is flat.

    Squared distances of profiles are 2 d (1 − r), r the correlation of two rows.

    >>> profiles_of(np.array([[0.0, 2.0, 4.0], [0.0, 0.0, 0.0], [3.0, 1.0, -1.0]])).round(2).tolist()
    [[-1.22, 0.0, 1.22], [0.0, 0.0, 0.0], [1.22, 0.0, -1.22]]
    """
    x = points - points.mean(axis=0)
    x = x - x.mean(axis=1, keepdims=True)
    spread = np.sqrt(np.square(x).mean(axis=1, keepdims=True))
    found: Floats = x / np.where(spread > _LEAST * spread.max(initial=0.0), spread, np.inf)
    return found
