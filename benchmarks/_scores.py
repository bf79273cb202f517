"""How good supports are when a judge has the clusters or has not: squared errors, log scores, shares that are right."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
from _linkages import Cluster, Support

LEVELS = (0.5, 0.8, 0.9, 0.95)
CLIPPED = 1e-3  # the least support, and the least doubt, that a log score knows
NAMED = 0.01  # a support from which on a cluster counts for the log scores of all rivals


def squared_error(support: Support, truth: set[Cluster]) -> float:
    """Σ (p − is it true)² over all clusters but single leaves and the root: n − 2 for naming none.

    >>> squared_error({frozenset([0, 1]): 0.5}, {frozenset([0, 1]), frozenset([2, 3])})
    1.25
    """
    return float(sum((support.get(cluster, 0.0) - (cluster in truth)) ** 2 for cluster in truth | support.keys()))


def asked_about(supports: Iterable[Support], truth: set[Cluster]) -> set[Cluster]:
    """The clusters of the log score: the judge's, and all that any of the rivals gives more than 0.01."""
    return truth.union(*({cluster for cluster, p in support.items() if p > NAMED} for support in supports))


def log_score(support: Support, truth: set[Cluster], clusters: set[Cluster]) -> float:
    """−Σ log of what was given to what is the case, every p taken to be at least 0.001 and at most 0.999."""
    given = np.clip([support.get(cluster, 0.0) for cluster in clusters], CLIPPED, 1.0 - CLIPPED)
    is_true = np.array([cluster in truth for cluster in clusters])
    return float(-np.log(np.where(is_true, given, 1.0 - given)).sum())


def counts_above(support: Support, truth: set[Cluster]) -> list[tuple[int, int]]:
    """For each of the levels, how many clusters have at least as much support, and how many of these are true."""
    above = [[cluster for cluster, p in support.items() if p >= level] for level in LEVELS]
    return [(len(clusters), sum(cluster in truth for cluster in clusters)) for clusters in above]


def mean_and_error(values: Iterable[float]) -> tuple[float, float]:
    """The mean over draws, and its standard error."""
    given = np.array(list(values), dtype=np.float64)
    return float(given.mean()), float(given.std(ddof=1) / np.sqrt(len(given))) if len(given) > 1 else float("nan")


def ratio_and_error(parts: Iterable[float], wholes: Iterable[float]) -> tuple[float, float]:
    """Σ part / Σ whole over draws, and its standard error: that of the mean of part − ratio · whole.

    >>> ratio_and_error([1, 1], [2, 2])
    (0.5, 0.0)
    """
    part, whole = np.array(list(parts), dtype=np.float64), np.array(list(wholes), dtype=np.float64)
    if not whole.sum():
        return float("nan"), float("nan")
    ratio, n = part.sum() / whole.sum(), len(part)
    spread = np.sqrt(np.square(part - ratio * whole).sum() * n / (n - 1)) if n > 1 else float("nan")
    return float(ratio), float(spread / whole.sum())
