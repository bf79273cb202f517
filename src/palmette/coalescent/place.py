"""Where a new row joins a history: one integral over the age of the meeting for each branch.

The state at any point of a branch is the join of the messages from below and from outside (see `BothSides`), so how
likely the new row is there is one more meeting. Integrals are in log age, in pieces that end at events.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel, maker
from palmette.array_types import Floats, Ints
from palmette.coalescent.c_functions import agree, join, log_root
from palmette.coalescent.draws import CoalescentDraws, weighted_histories
from palmette.coalescent.joint import ages_since_leaves, both_sides, evaluate_events, log_likelihood, total_log
from palmette.coalescent.process import Prepared, Process, known_rows
from palmette.hierarchy import Hierarchy

__all__ = ["Placement", "place"]

_LOG_2 = math.log(2)
_STEP = 4 * _LOG_2  # of the coarse grid in log age
_FLOOR, _CEILING = -140 * _LOG_2, 600 * _LOG_2  # of log age, where a branch has no end of its own
_DROP = 40.0  # e^−40: what may be left out of an integral
_GOLDEN = 0.6180339887498949
_PARTS = np.array([0.0, 0.125, 0.25, 0.5, 1.0])  # of the way from the mode to where the density ends: panels
_WIDEST = 2.0  # of a panel, in log age: where lineages are certain, densities set in like e^(−1/age)
_NODES, _WEIGHTS = (np.ascontiguousarray(values) for values in np.polynomial.legendre.leggauss(12))
_FEW_NODES, _FEW_WEIGHTS = (np.ascontiguousarray(values) for values in np.polynomial.legendre.leggauss(6))


@dataclass(frozen=True, eq=False)
class Placement:
    """Where new rows join a history: one row of each array for each of them, one column for each branch.

    ``clusters`` (k,) are the leaves below each branch. For one hierarchy they are in the order of its nodes, and the
    last branch is the one above the root; for draws, every cluster of any history, by size. ``probabilities`` (m, k)
    add up to 1; ``ages`` (m, k) are the mean ages of the meeting, given the branch; ``log_density`` (m,) is
    log p(new row | x, history), inf for a copy of a row where that density is infinite. ``labels`` (n,) are the names
    of the leaves, and `named_clusters` the clusters by them.
    """

    clusters: tuple[tuple[int, ...], ...]
    probabilities: Floats
    ages: Floats
    log_density: Floats
    labels: tuple[str, ...] = ()

    @property
    def named_clusters(self) -> tuple[tuple[str, ...], ...]:
        """(k,): the labels of the leaves below each branch."""
        return tuple(tuple(self.labels[leaf] for leaf in cluster) for cluster in self.clusters)


def place(x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process, new: npt.ArrayLike) -> Placement:
    """p(new | x, history) = Σ_b ∫ e^(−H(t)) p(new | joins branch b at age t) dt, H(t) = ∫_0^t (lineages at age u) du.

    `new` is a row, or rows, each placed by itself; entries may be missing. One quadrature for each branch and each time
    between events, right to about 1e-10: O(n²) for one row. Over `CoalescentDraws` the mixture, in which histories
    count by their weight times their density of the new row. All leaves are of one age, the new one too. A process of
    your own that has a ``log_root`` needs a static method ``root_message(theta)`` as well, which returns the
    distribution of the root's state as a message.

    >>> from palmette.coalescent import Brownian
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 2.0])
    >>> found = place([[0.0], [0.2], [3.0]], history, Brownian(), [[2.8]])
    >>> found.clusters[found.probabilities[0].argmax()], round(float(found.probabilities[0].max()), 3)
    ((2,), 0.943)
    >>> found.named_clusters[2]
    ('2',)
    """
    points, process = known_rows(x, process)
    rows = np.atleast_2d(np.asarray(new, dtype=np.float64))
    if rows.shape[1] != points.shape[1]:
        raise ValueError(f"new has {rows.shape[1]} columns but x has {points.shape[1]}; give the same columns")
    rows, _ = known_rows(rows, process, "new")
    weights, histories = weighted_histories(history)
    found = [[_place(points, each, process, row) for each in histories] for row in rows]
    logs, ages = (np.array([[each[k] for each in row] for row in found]) for k in range(2))
    return replace(_mixed(weights, logs, ages, *_clusters_of(histories)), labels=history.labels)


def _clusters_of(histories: Sequence[Hierarchy]) -> tuple[tuple[tuple[int, ...], ...], Ints]:
    # All clusters, and the number of each node's cluster among them, (S, 2n − 1).
    nodes = [[tuple(np.sort(h.leaves_below(node)).tolist()) for node in range(h.n_nodes)] for h in histories]
    if len(nodes) == 1:
        return tuple(nodes[0]), np.arange(len(nodes[0]))[None]
    clusters = sorted({cluster for each in nodes for cluster in each}, key=lambda cluster: (len(cluster), cluster))
    number = {cluster: k for k, cluster in enumerate(clusters)}
    return tuple(clusters), np.array([[number[cluster] for cluster in each] for each in nodes])


def _mixed(weights: Floats, logs: Floats, ages: Floats, clusters: Any, numbers: Ints) -> Placement:
    # logs, ages (m, S, 2n − 1)
    logs = logs + np.log(weights)[:, None]
    top = logs.max(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore"):
        share = np.where(logs == top, 1.0, np.exp(np.where(np.isfinite(top), logs - top, -np.inf)))
    total = share.sum(axis=(1, 2))
    share /= total[:, None, None]
    weight = np.maximum(share, 1e-300)
    probabilities, mean, weights = (
        np.array([np.bincount(numbers.ravel(), each.ravel(), len(clusters)) for each in parts])
        for parts in (share, weight * ages, weight)
    )
    return Placement(clusters, np.minimum(probabilities, 1.0), mean / weights, top[:, 0, 0] + np.log(total))


def _place(points: Floats, hierarchy: Hierarchy, process: Process, row: Floats) -> tuple[Floats, Floats]:
    # log ∫ and mean age on each branch, (2n − 1,).
    n, (since, young) = len(points), ages_since_leaves(hierarchy, "place")
    both = process.prepare(np.vstack([points, row]))
    old = Prepared(both.kind, both.theta, both.leaves[:n], both.n_meeting, both.log_constant)
    seen = both_sides(old, hierarchy)
    events = np.concatenate([[0.0], np.sort(since[n:])])
    hazard = np.concatenate([[0.0], np.cumsum(np.arange(n, 1, -1) * np.diff(events))])
    logs, ages, ends = np.empty(2 * n - 1), np.empty(2 * n - 1), np.full(2 * n - 1, np.inf)
    ends[hierarchy.children] = since[n:, None]
    room = np.empty(both.n_message), np.empty(both.n_meeting), np.empty(1), np.zeros(1, dtype=np.int64)
    sides = (seen.messages, seen.outside, seen.reach, both.leaves[n])
    world = (both.compiled("agree", "join", "log_root"), since, events, hazard, *sides, *room)
    _survey(world, ends, logs, ages)
    return logs + _log_constant(process, points, hierarchy, old), ages + young


def _log_constant(process: Process, points: Floats, hierarchy: Hierarchy, old: Prepared) -> float:
    # What the constants of the new row add. A gap in it can change how all of the data are written down.
    alone = process.prepare(points)
    if alone.kind is old.kind:
        return old.log_constant - alone.log_constant
    events = evaluate_events(old, hierarchy)
    value = total_log([old.log_constant, *events.log_z, events.log_root])
    base = log_likelihood(points, hierarchy, process)
    if not (math.isfinite(value) and math.isfinite(base)):
        raise ValueError(
            "rows of x meet at age 0, where their density is 0 or infinite; give the process a leaf_variance"
        )
    return value - base


@maker
def _log_density(world, branch, y):
    # of y, where a new row joins the branch above b at age t = base · e^y: in y, densities are smooth.
    process, ages, events, hazard, messages, outside, reach, leaf, joined, meeting, value, only = world
    b, base, low, root = branch
    up = base * math.expm1(y) if low > 0.0 else base * math.exp(y)
    t = low + up
    if b == ages.size - 1:
        value[0] = up + t
        agree(process, messages, b, leaf, only, 0, 1, meeting, value, 0)
        join(process, messages, b, up, leaf, 0, t, joined, 0)
        value[0] += log_root(process, joined, 0) - root
    else:
        join(process, messages, b, up, outside, b, max(reach[b] - up, 0.0), joined, 0)
        value[0] = t
        agree(process, joined, 0, leaf, only, 0, 1, meeting, value, 0)
    k = np.searchsorted(events, t, side="right") - 1
    found = value[0] + (math.log(t) - hazard[k] - (events.size - k) * (t - events[k]))
    return found if found == found else -np.inf


@maker
def _climb(world, branch, low, high):
    # The maximum between low and high by golden section. That of durations.py keeps one of two values from step to step
    # and ends at a point it has seen; this one, like the window below, ends elsewhere, and numbers would change.
    for _ in range(32):
        one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if _log_density(world, branch, one) >= _log_density(world, branch, two):
            high = two
        else:
            low = one
    return 0.5 * (low + high)


@maker
def _find_window(world, branch, values, start, h, mode, lowest):
    # Where the log density is above `lowest`: a little more than that, within the grid.
    above = np.flatnonzero(values >= lowest)
    first, last = (above[0], above[-1]) if above.size > 0 else (values.size - 1, 0)
    inner_left, inner_right = min(start + first * h, mode), max(start + last * h, mode)
    left = start + max(math.ceil((inner_left - start) / h - 1e-9) - 1, 0) * h
    right = start + min(math.floor((inner_right - start) / h + 1e-9) + 1, values.size - 1) * h
    for _ in range(8):
        middle_left, middle_right = 0.5 * (left + inner_left), 0.5 * (right + inner_right)
        if _log_density(world, branch, middle_left) >= lowest:
            inner_left = middle_left
        else:
            left = middle_left
        if _log_density(world, branch, middle_right) >= lowest:
            inner_right = middle_right
        else:
            right = middle_right
    return left, right


@maker
def _next_event(events, base, low, y, end):
    # The first event after y, or the end.
    k = np.searchsorted(events, base * math.exp(y) * (1.0 - 1e-12), side="right")
    for event in events[k:]:
        at = math.log1p((event - low) / low) if low > 0.0 else math.log(event / base)
        if at > y:
            return min(at, end)
    return end


@maker
def _integrate(world, branch, start, end, top):
    # ∫ and the first moment of the age between start and end, relative to the top; pieces end at events.
    total, moment, y = 0.0, 0.0, start
    while y < end:
        stop = _next_event(world[2], branch[1], branch[2], y, min(end, y + _WIDEST))
        is_short = stop - y < 0.25 * min(end - start, _WIDEST)
        nodes, weights = (_FEW_NODES, _FEW_WEIGHTS) if is_short else (_NODES, _WEIGHTS)
        for j in range(nodes.size):
            at = y + 0.5 * (stop - y) * (1.0 + nodes[j])
            mass = 0.5 * (stop - y) * weights[j] * math.exp(_log_density(world, branch, at) - top)
            total += mass
            moment += mass * branch[1] * math.exp(at)
        y = stop
    return total, moment


@maker
def _measure(world, branch, start, stop):
    # log ∫ over the branch, and the mean age: the mode from a coarse grid, then panels around it.
    values = np.empty(max(math.ceil((stop - start) / _STEP), 4) + 1)
    h = (stop - start) / (values.size - 1)
    for i in range(values.size):
        values[i] = _log_density(world, branch, start + i * h)
    best = np.argmax(values)
    if values[best] == -np.inf:
        return -np.inf, branch[2]
    mode = _climb(world, branch, max(start, start + (best - 1) * h), min(stop, start + (best + 1) * h))
    top = _log_density(world, branch, mode)
    if values[best] > top:
        mode, top = start + best * h, values[best]
    if branch[2] == 0.0 and values[0] >= top - _DROP:  # the density of a copy of a leaf
        return np.inf, 0.0
    left, right = _find_window(world, branch, values, start, h, mode, top - _DROP)
    total, moment = 0.0, 0.0
    for side in (left - mode, right - mode):
        for i in range(_PARTS.size - 1):
            one, two = mode + side * _PARTS[i], mode + side * _PARTS[i + 1]
            mass, weighted = _integrate(world, branch, min(one, two), max(one, two), top)
            total += mass
            moment += weighted
    return top + math.log(total), moment / total


@kernel
def _survey(world, ends, logs, means):
    root = log_root(world[0], world[4], ends.size - 1)
    for b in range(ends.size):
        low, high = world[1][b], ends[b]
        logs[b], means[b] = -np.inf, low
        if high > low:
            base = low if low > 0.0 else high if high < np.inf else 1.0
            start = 0.0 if low > 0.0 else _FLOOR
            stop = math.log1p((high - low) / low) if low > 0.0 else 0.0
            if high == np.inf:
                stop = _CEILING - math.log(base)
            logs[b], means[b] = _measure(world, (b, base, low, root), start, stop)
            means[b] = min(max(means[b], low), high)
