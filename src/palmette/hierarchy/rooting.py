"""Another root for a tree: on the branch that parts an outgroup from all others, or in the middle of the longest path.

A tree without a root is its branches; where the text puts the first bracket says nothing. So the root is taken out (two
branches that meet there are one), the branch is found, and the root is put in the middle of it, or where the middle of
the longest path falls. Support is of branches and stays with them: a branch parts the same leaves, whatever the root.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.hierarchy.arrays import joined_length

__all__ = ["PlainTree", "at_midpoint", "by_outgroup"]


class PlainTree(NamedTuple):
    """Leaves first, children before parents, the root last; (n_nodes,) each."""

    parents: Ints
    lengths: Floats
    """Of the branch above each node, NaN for none."""
    support: Floats
    """Of each cluster, NaN for none."""


def by_outgroup(tree: PlainTree, outgroup: frozenset[int], n: int) -> PlainTree | None:
    """The root in the middle of the branch that parts these leaves from the rest; None if there is no such branch."""
    held, size = np.zeros((2, len(tree.parents)), dtype=np.int64)
    held[list(outgroup)], size[:n] = 1, 1
    for node, parent in enumerate(tree.parents[:-1].tolist()):
        held[parent] += held[node]
        size[parent] += size[node]
    apart = (held == len(outgroup)) & (size == len(outgroup)) | (held == 0) & (size == n - len(outgroup))
    found = np.flatnonzero(apart[:-1])
    return _on_branch(tree, int(found[0]), None, n) if len(found) else None


def at_midpoint(tree: PlainTree, n: int) -> PlainTree:
    """The root in the middle of the longest path between two leaves, the first of equals by the numbers of its ends."""
    parents, lengths = tree.parents.tolist(), np.nan_to_num(tree.lengths).tolist()
    deepest = [(0.0, node) for node in range(n)] + [(-np.inf, n)] * (len(parents) - n)  # below each node: how far, who
    best = (-np.inf, 0, 0, 0)  # length, ends, where the path turns
    for node, parent in enumerate(parents[:-1]):
        reach, leaf = deepest[node][0] + lengths[node], deepest[node][1]
        other, end = deepest[parent]
        if other > -np.inf:
            ends = min(leaf, end), max(leaf, end)
            best = max(best, (reach + other, -ends[0], -ends[1], parent))
        deepest[parent] = max(deepest[parent], (reach, leaf), key=lambda found: (found[0], -found[1]))
    total, one, two, _ = best
    for leaf in (-one, -two):  # up from the end that is farther from the turn, to the middle
        node, climbed = leaf, 0.0
        while node != best[3]:
            if climbed + lengths[node] >= total / 2 * (1 - 1e-12):
                return _on_branch(tree, node, min(total / 2 - climbed, lengths[node]), n)
            climbed += lengths[node]
            node = parents[node]
    return tree


def _on_branch(tree: PlainTree, below: int, up: float | None, n: int) -> PlainTree:
    # The root on the branch above a node, so far up; in the middle if that is None.
    parents, lengths, support = (array.tolist() for array in tree)
    old = len(parents) - 1
    one = other = old
    siblings = [node for node in range(old) if parents[node] == old]
    if len(siblings) == 2:  # one branch, of which the root was a point
        one, other = siblings if siblings[0] == below else siblings[::-1]
        lengths[one] = joined_length(lengths[one], lengths[other])
        support[one] = support[other] if np.isnan(support[one]) else support[one]
    return _turned(parents, lengths, support, (below, one, other), up, n)


def _turned(
    parents: list[int],
    lengths: list[float],
    support: list[float],
    ends: tuple[int, int, int],
    up: float | None,
    n: int,
) -> PlainTree:
    # ends: the node below the new root, and the two ends of the branch that the old root was on (twice the old root if
    # it is a node by itself). Neighbours are turned into children by a walk from the new root.
    below, one, other = ends
    old = len(parents) - 1
    branches: list[list[tuple[int, float, float]]] = [[] for _ in parents]
    for node, parent in enumerate(parents[:-1]):
        if one != old and parent == old:
            continue
        branches[node].append((parent, lengths[node], support[node]))
        branches[parent].append((node, lengths[node], support[node]))
    if one != old:
        branches[one].append((other, lengths[one], support[one]))
        branches[other].append((one, lengths[one], support[one]))
    above = other if below == one else parents[below]
    whole, value = next((length, value) for node, length, value in branches[below] if node == above)
    up = whole / 2 if up is None else up
    order: list[tuple[int, int, float, float]] = []  # node, its new parent, length and support; parents first
    waiting = [(below, -1, up, value, above), (above, -1, whole - up, value, below)]
    while waiting:
        node, parent, length, value, came_from = waiting.pop()
        order.append((node, parent, length, value))
        waiting += [(near, node, far, own, node) for near, far, own in branches[node] if near != came_from]
    inner = [node for node, *_ in reversed(order) if node >= n]
    number = {**{leaf: leaf for leaf in range(n)}, **{node: n + k for k, node in enumerate(inner)}, -1: n + len(inner)}
    found = np.full((3, n + len(inner) + 1), np.nan)
    found[0] = -1
    for node, parent, length, value in order:
        found[:, number[node]] = number[parent], length, value if node >= n else np.nan
    return PlainTree(found[0].astype(np.int64), found[1], found[2])
