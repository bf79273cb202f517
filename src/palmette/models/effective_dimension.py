"""How many of the columns of a table count, if they hang together."""

from __future__ import annotations

from typing import Literal

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_positive

__all__ = ["Dimension", "dimension_of", "effective_dimension"]

Dimension = float | Literal["effective"] | None

_LEAST = 1e-12  # of a sum of squared cosines


def dimension_of(x: Floats, given: Dimension) -> float:
    """The number of columns of x (None), the effective one, or the number that is given."""
    if given is None:
        return float(x.shape[1])
    if given != "effective":
        return check_positive("dimension", given, ', "effective" or None')
    return effective_dimension(x)


def effective_dimension(x: Floats) -> float:
    """1 / mean cos² of the angles between any two contrasts of Ward's hierarchy, between 1 and the number of columns.

    It is d if d columns vary alike and independently, and less if they do not. Groups that are far apart do not make it
    less, as they would the rank of a covariance.

    >>> round(effective_dimension(np.array([[0.0, 0.0], [1.0, 1.0], [3.0, 3.0], [7.0, 7.0]])), 6)
    1.0
    """
    if x.shape[1] < 2 or len(x) < 3:
        return float(x.shape[1])
    directions = _directions(x)
    m = len(directions)
    squared_cosines = np.square(directions @ directions.T).sum() - m  # one of each with itself
    return float(np.clip(m * (m - 1) / max(squared_cosines, _LEAST), 1.0, x.shape[1])) if m > 1 else 1.0


def _directions(x: Floats) -> Floats:
    # (m, d): the contrasts of Ward's hierarchy, each of length one; those of equal points have none.
    from scipy.cluster.hierarchy import linkage

    n = len(x)
    sums, sizes = np.concatenate([x, np.empty((n - 1, x.shape[1]))]), np.ones(2 * n - 1)
    merges = linkage(x - x.mean(axis=0), "ward")[:, :2].astype(np.int64)
    for parent, (left, right) in enumerate(merges, start=n):
        sums[parent], sizes[parent] = sums[left] + sums[right], sizes[left] + sizes[right]
    means = sums / sizes[:, None]
    gaps = means[merges[:, 0]] - means[merges[:, 1]]
    lengths = np.sqrt(np.square(gaps).sum(axis=1))
    found: Floats = gaps[lengths > 0.0] / lengths[lengths > 0.0, None]
    return found
