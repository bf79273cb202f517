"""Hierarchies from the bit masks of their clusters, and back."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.clusters import cluster_members
from palmette.hierarchy.arrays import cluster_bits
from palmette.hierarchy.hierarchy import Hierarchy
from palmette.labels import align_labels

__all__ = ["hierarchy_of_masks", "masks_of_hierarchy", "parents_of_masks"]


def masks_of_hierarchy(hierarchy: Hierarchy, labels: tuple[str, ...]) -> list[int]:
    """The bit mask of every node of a hierarchy, with its leaves numbered as in `labels`.

    >>> masks_of_hierarchy(Hierarchy.from_newick("((a,b),c);"), ("c", "b", "a"))
    [4, 2, 1, 6, 7]
    """
    return cluster_bits(hierarchy.parents, align_labels(labels, hierarchy.labels).tolist())


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


def parents_of_masks(rows: npt.NDArray[np.integer]) -> npt.NDArray[np.int32]:
    """(T, 2n − 1) parents of T binary hierarchies, from the increasing (T, n − 1) masks of their inner nodes.

    >>> parents_of_masks(np.array([[0b011, 0b111]]))
    array([[ 3,  3,  4,  4, -1]], dtype=int32)
    """
    n = rows.shape[1] + 1
    parents = np.full((len(rows), 2 * n - 1), -1, dtype=np.int32)
    for node in range(2 * n - 2):  # the parent is the next mask that holds the node
        inner = max(0, node - n + 1)
        mask = rows[:, inner - 1, None] if node >= n else 1 << node
        parents[:, node] = n + inner + np.argmax(rows[:, inner:] & mask == mask, axis=1)
    return parents
