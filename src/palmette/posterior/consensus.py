"""Hierarchies from clusters: of masks that nest, and of the clusters that a distribution believes in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import numpy.typing as npt

from palmette.clusters import cluster_members
from palmette.hierarchy import Hierarchy

__all__ = ["check_threshold", "consensus", "hierarchy_of_masks", "node_masks", "with_support"]


def hierarchy_of_masks(masks: Iterable[int], labels: tuple[str, ...]) -> Hierarchy:
    """The hierarchy whose clusters of two leaves or more are these nested masks and the root."""
    n = len(labels)
    node_of = list(range(n))  # the largest cluster so far that each leaf belongs to
    parents = [-1] * n
    for mask in sorted({int(mask) for mask in masks} | {(1 << n) - 1}, key=lambda m: (m.bit_count(), m)):
        if mask.bit_count() < 2:
            continue
        node = len(parents)
        parents.append(-1)
        for leaf in cluster_members(mask):
            if node_of[leaf] != node:
                parents[node_of[leaf]] = node
                node_of[leaf] = node
    return Hierarchy.from_parents(parents, labels)


def check_threshold(threshold: float) -> None:
    """Refuse what is not a probability below 1."""
    if not isinstance(threshold, int | float | np.number) or not 0.0 <= threshold < 1.0:
        raise ValueError(f"threshold is {threshold!r}; expected a probability of at least 0 and below 1")


def consensus(masks: list[int], probabilities: npt.ArrayLike, labels: tuple[str, ...], threshold: float) -> Hierarchy:
    """The hierarchy of the clusters with probability strictly above `threshold`; its support are their probabilities.

    Above one half no two of them can cross. Below, they are added by falling probability, each if it crosses none
    of those already there.
    """
    check_threshold(threshold)
    n = len(labels)
    chosen: dict[int, float] = {(1 << n) - 1: 1.0}
    # A probability of exactly the threshold may come out a few units in the last place above it.
    above = [(-p, mask.bit_count(), mask) for mask, p in zip(masks, np.asarray(probabilities), strict=True)]
    for negative, size, mask in sorted(item for item in above if -item[0] > threshold + 1e-12):
        if size >= 2 and not any(_crosses(mask, other) for other in chosen):
            chosen[mask] = -float(negative)
    hierarchy = hierarchy_of_masks(chosen, labels)
    return with_support(hierarchy, [chosen.get(mask, np.nan) for mask in node_masks(hierarchy)])


def node_masks(hierarchy: Hierarchy, numbers: Sequence[int] | None = None) -> list[int]:
    """The cluster of every node as a bit mask of any length; leaf i is bit numbers[i], or bit i."""
    leaves = range(hierarchy.n_leaves) if numbers is None else numbers
    masks = [1 << leaf for leaf in leaves] + [0] * (hierarchy.n_nodes - hierarchy.n_leaves)
    for node, parent in enumerate(hierarchy.parents[:-1].tolist()):
        masks[parent] |= masks[node]
    return masks


def with_support(hierarchy: Hierarchy, support: npt.ArrayLike) -> Hierarchy:
    """The same hierarchy, heights included, with one number per node as its support."""
    heights = hierarchy.heights if hierarchy.branch_lengths is not None else None
    return Hierarchy.from_parents(hierarchy.parents, hierarchy.labels, heights, support=support)


def _crosses(one: int, other: int) -> bool:
    shared = one & other
    return shared not in (0, one, other)
