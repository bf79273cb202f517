"""Dasgupta's cost, made smooth: dissimilar vertices should meet in large clusters.

The soft size of a merge n asks, for each end x of its edge, which vertices are nearer to x than n is high:

    softsize(n) = ½ Σ over both ends x of [ ℓ(alt n) + Σ over ancestors y of x of |sibling(x, y)| · ℓ(alt n − alt y) ]

where ℓ(z) = 1 / (1 + exp(−slope · z)), and sibling(x, y) is the child of y that does not hold x. From n upwards both
ends have the same ancestors and the same siblings, so that part is walked once; at n itself ℓ is ½.

Two things make the walks fast. With E = exp(slope · alt), ℓ(a − b) = E_a / (E_a + E_b): one division, no exponential.
And merges are laid out by *heavy paths*: a merge and its larger child are neighbours in memory, so that a walk is a few
straight runs, at most log₂ N of them, though single linkage makes trees that are thousands of merges deep.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from palmette._jit import inline, kernel, reduction
from palmette.array_types import Floats
from palmette.checks import check_positive
from palmette.ultrametric.graph import Graph
from palmette.ultrametric.losses.base import Loss
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["Dasgupta"]

_WIDEST = 1200.0  # slope times range of altitudes up to which exponentials neither overflow nor vanish


@dataclass(frozen=True)
class Dasgupta(Loss):
    """mean over edges of softsize(e) / w(e), where softsize is that of the merge where the ends of e meet.

    `slope` is that of the sigmoid which counts: 5 suits weights of the order of 10, 50 weights of the order of 1.
    Weights must be positive. The soft size is a relaxation, not a count: it tends to ¾ of the size of a balanced merge.
    """

    slope: float = 5.0

    def __post_init__(self) -> None:
        check_positive("slope", self.slope)

    def check(self, graph: Graph) -> None:
        """Weights that are 0 would make the loss infinite."""
        zero = np.flatnonzero(graph.weights == 0)
        if len(zero):
            ends = graph.edges[zero[0]].tolist()
            raise ValueError(
                f"Dasgupta divides by weights, and edge {zero[0]} ({ends[0]}–{ends[1]}) has weight 0 "
                f"({len(zero)} such edges); merge identical points, or add a small constant to all weights"
            )

    def evaluate(self, fitted: Subdominant) -> tuple[float, Floats]:
        """The mean soft size over weight, and its gradient by the altitudes."""
        graph = fitted.graph
        share = np.bincount(fitted.merge_of_edge, 1.0 / graph.weights, minlength=len(fitted.altitudes))
        sizes, gradient = _walk(fitted, float(self.slope), share / max(graph.n_edges, 1))
        return float(share @ sizes / max(graph.n_edges, 1)), gradient


def _walk(fitted: Subdominant, slope: float, share: Floats) -> tuple[Floats, Floats]:
    # Soft sizes, and the gradient of Σ share · softsize by the altitudes.
    altitudes, graph = fitted.altitudes, fitted.graph
    sizes, gradient = np.empty(len(altitudes)), np.empty(len(altitudes))
    if not len(altitudes):
        return sizes, gradient
    middle = (altitudes[0] + altitudes[-1]) / 2
    narrow = slope * (altitudes[-1] - altitudes[0]) <= _WIDEST
    levels = np.exp(slope * (altitudes - middle)) if narrow else slope * altitudes
    paths = _heavy_paths(graph.n_vertices, fitted.children, fitted.child_sizes)
    ends = graph.sources[fitted.tree_edges], graph.targets[fitted.tree_edges]
    _fill_walks(graph.n_vertices, *ends, levels, narrow, share, slope, *paths, sizes, gradient)
    own, steep = _sigmoid(slope * altitudes)
    return sizes + own, gradient + share * slope * own * steep


def _sigmoid(z: Floats) -> tuple[Floats, Floats]:
    # ℓ(z) and ℓ(−z).
    small = np.exp(-np.abs(z))
    large = 1 / (1 + small)
    return np.where(z >= 0, large, small * large), np.where(z >= 0, small * large, large)


@kernel
def _heavy_paths(n, children, child_sizes):
    """Slots of the merges, in which the merges of a heavy path follow each other upwards.

    `slot_of` merge; `parent` of each node (−1 above a root) as a merge; `last` slot of the path of each slot;
    `top` merge of the path of each slot; `light` size of the smaller child, by slot; `size` of each merge.
    """
    n_merges = len(children)
    parent = np.full(n + n_merges, np.int32(-1))
    heavy = np.empty(n_merges, dtype=np.int32)
    size = np.empty(n_merges, dtype=np.int32)
    for merge in range(n_merges):
        larger = 0 if child_sizes[merge, 0] > child_sizes[merge, 1] else 1
        heavy[merge] = children[merge, larger]
        parent[children[merge, 0]] = parent[children[merge, 1]] = merge
        size[merge] = child_sizes[merge, 0] + child_sizes[merge, 1]
    slot_of = np.full(n_merges, np.int32(-1))
    last = np.empty(n_merges, dtype=np.int32)
    top = np.empty(n_merges, dtype=np.int32)
    light = np.empty(n_merges)
    begin = 0
    for head in range(n_merges - 1, -1, -1):  # the first merge of a path that comes by is its top
        if slot_of[head] >= 0:
            continue
        length = 1
        below = heavy[head]
        while below >= n:
            length += 1
            below = heavy[below - n]
        merge = head
        for slot in range(begin + length - 1, begin - 1, -1):
            slot_of[merge] = slot
            last[slot] = begin + length - 1
            top[slot] = head
            light[slot] = min(child_sizes[merge, 0], child_sizes[merge, 1])
            merge = heavy[merge] - n
        begin += length
    return slot_of, parent, last, top, light, size


@inline
def _ratio(a, b):
    share = 1.0 / (a + b)
    return a * share, b * share


@inline
def _logistic(a, b):
    small = np.exp(-abs(a - b))
    large = 1.0 / (1.0 + small)
    return (large, small * large) if a >= b else (small * large, large)


@inline
def _shares(a, b, narrow):
    # ℓ(a − b) and ℓ(b − a) from two levels.
    return _ratio(a, b) if narrow else _logistic(a, b)


@reduction
def _run(levels, narrow, light, steps, first, stop, level, factor):
    # Σ |sibling| ℓ and Σ |sibling| ℓ(1 − ℓ) over the slots of a straight run; what each gets of the gradient.
    total = slope = 0.0
    for slot in range(first, stop):
        below, above = _shares(level, levels[slot], narrow)
        part = light[slot] * below
        total += part
        slope += part * above
        steps[slot] -= factor * part * above
    return total, slope


@kernel
def _fill_walks(
    n, sources, targets, levels, narrow, share, slope, slot_of, parent, last, top, light, size, sizes, gradient
):
    # `share` is what each soft size counts for in the loss; `sizes` and `gradient` are filled.
    n_merges = len(levels)
    by_slot = np.empty(n_merges)
    steps = np.zeros(n_merges)
    for merge in range(n_merges):
        by_slot[slot_of[merge]] = levels[merge]
    for merge in range(n_merges):
        level, goal = levels[merge], slot_of[merge]
        total, steep = 0.25 * size[merge], 0.0
        for side in range(3):  # up from either end to just below the merge; then up from the merge
            node = sources[merge] if side == 0 else targets[merge] if side == 1 else n + merge
            weight = 1.0 if side == 2 else 0.5
            factor = weight * share[merge] * slope
            count = 1 if node < n else size[merge]
            sum_part = slope_part = 0.0
            at = parent[node]
            while at >= 0 and (side == 2 or at != merge):
                slot = slot_of[at]
                below, above = _shares(level, by_slot[slot], narrow)
                part = (size[at] - count) * below
                sum_part += part
                slope_part += part * above
                steps[slot] -= factor * part * above
                reached = side < 2 and goal > slot and goal <= last[slot]
                stop = goal if reached else last[slot] + 1
                rest = light, steps, slot + 1, stop, level, factor
                run_sum, run_slope = _run(by_slot, True, *rest) if narrow else _run(by_slot, False, *rest)
                sum_part += run_sum
                slope_part += run_slope
                if reached:
                    break
                count = size[top[slot]]
                at = parent[n + top[slot]]
            total += weight * sum_part
            steep += weight * slope_part
        sizes[merge] = total
        gradient[merge] = share[merge] * slope * steep
    for merge in range(n_merges):
        gradient[merge] += steps[slot_of[merge]]
