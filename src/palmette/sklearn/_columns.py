"""What a column says of its scale."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats

__all__ = ["moments"]


def moments(points: Floats) -> tuple[Floats, Floats]:
    """(means, variances), (d,) each, of what is not NaN; the variance is 1 where a column says nothing on it.

    >>> moments(np.array([[1.0, 5.0], [3.0, np.nan]]))
    (array([2., 5.]), array([2., 1.]))
    """
    counts = (~np.isnan(points)).sum(axis=0)
    means = np.nansum(points, axis=0) / np.maximum(counts, 1)
    variances = np.nansum((points - means) ** 2, axis=0) / np.maximum(counts - 1, 1)
    return means, np.where(variances > 0.0, variances, 1.0)
