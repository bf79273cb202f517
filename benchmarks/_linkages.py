"""Clusters of linkages: those that judge, and how often each comes back when columns are drawn again."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist

Cluster = frozenset[int]
Support = dict[Cluster, float]
Linkage = Callable[[np.ndarray], np.ndarray]  # from (n, d) points to the merges of SciPy


def ward(x: np.ndarray) -> np.ndarray:
    return linkage(x, "ward")


def average(x: np.ndarray) -> np.ndarray:
    return linkage(x, "average")


def complete(x: np.ndarray) -> np.ndarray:
    return linkage(x, "complete")


def average_of_correlations(x: np.ndarray) -> np.ndarray:
    """Of 1 − r between rows less the mean of each column; r is 0 where a row is flat."""
    with np.errstate(invalid="ignore", divide="ignore"):
        apart = pdist(x - x.mean(axis=0), "correlation")
    return linkage(np.nan_to_num(apart, nan=1.0), "average")


#: The first two are those that tables of the race are ordered by.
JUDGES: dict[str, Linkage] = {
    "Ward": ward,
    "average, correlations": average_of_correlations,
    "average": average,
    "complete": complete,
}


def clusters_of(merges: np.ndarray) -> set[Cluster]:
    """All clusters but single leaves and the root."""
    n = len(merges) + 1
    nodes = [frozenset([leaf]) for leaf in range(n)]
    for left, right in merges[:-1, :2].astype(int).tolist():
        nodes.append(nodes[left] | nodes[right])
    return set(nodes[n:])


def bootstrap_proportions(x: np.ndarray, rng: np.random.Generator, method: Linkage, times: int = 200) -> Support:
    """BP of every cluster that any draw of columns has, in the tree of all columns or not."""
    d, found = x.shape[1], Counter[Cluster]()
    for _ in range(times):
        found.update(clusters_of(method(x[:, rng.integers(d, size=d)])))
    return {cluster: count / times for cluster, count in found.items()}
