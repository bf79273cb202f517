"""Clusterings drawn alike from all there are: where everything begins that is to depend on nothing."""

from __future__ import annotations

import numpy as np
from scipy.special import gammaln, logsumexp

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition

__all__ = ["any_hierarchy", "any_partition", "log_bell_number"]


def any_hierarchy(n: int, labels: tuple[str, ...], rng: np.random.Generator) -> Hierarchy:
    """One of the (2n − 3)!! binary hierarchies, each alike: leaf after leaf goes onto any branch, or above the root."""
    parents = [-1] * max(1, 2 * n - 1)
    root = 0
    nodes = [0]
    for leaf in range(1, n):
        at, new = nodes[int(rng.integers(len(nodes)))], n + leaf - 1
        if at == root:
            root = new
        parents[new], parents[at], parents[leaf] = parents[at], new, new
        nodes += [leaf, new]
    return Hierarchy.from_parents(parents, labels)


def any_partition(n: int, labels: tuple[str, ...], rng: np.random.Generator) -> Partition:
    """One of the B(n) partitions, each alike (Stam 1983).

    Each leaf goes into any of k boxes, of which some stay empty, where k has probability k^n / (k! e B(n)): a partition
    into m clusters comes up with probability Σ_k 1 / ((k − m)! e B(n)) = 1 / B(n).
    """
    weights = _box_weights(n)
    chances = np.exp(weights - weights.max())
    k = 1 + int(rng.choice(len(weights), p=chances / chances.sum()))
    return Partition(rng.integers(k, size=n), labels)


def log_bell_number(n: int) -> float:
    """log B(n) = log Σ_k k^n / (k! e), over k ≥ 1 (Dobiński).

    >>> round(float(np.exp(log_bell_number(6))), 9)
    203.0
    """
    return float(logsumexp(_box_weights(n)) - 1.0)


def _box_weights(n: int) -> Floats:
    # log k^n / k! for k = 1, 2, …; beyond twice the leaves, and some more, nothing is left of it.
    k = np.arange(1, 2 * n + 40)
    return np.asarray(n * np.log(k) - gammaln(k + 1))
