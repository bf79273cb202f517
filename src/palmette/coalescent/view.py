"""What the rest of a history says to each of its lineages.

Seen from a lineage b, the rest of the history is a lineage as well. Its message, the *outside message* of b, is

    outside(b) = join(outside(parent of b), sibling of b)

because a reversible process does not mind where the root is. So the state at any point of any branch is the join of two
messages, and how likely a new row is there is one more meeting.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import specialise
from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.coalescent.brownian import Brownian
from palmette.coalescent.brownian_missing import ByColumn, Coupled
from palmette.coalescent.durations import no_root
from palmette.coalescent.joint import ages_of, evaluate_events
from palmette.coalescent.particles import CoalescentDraws
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy

__all__ = [
    "View",
    "known_rows",
    "log_mean",
    "log_normal",
    "safe_log",
    "site_tables",
    "view",
    "weighted_histories",
    "with_equilibrium",
]


join: Any = None  # a process's, put in by `specialise`

_LOG_2_PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class View:
    """Both sides of every branch: ``messages`` (2n − 1, n_message) from below, ``outside`` from above.

    The outside message of node b lies ``reach[b]`` away from b; inf for a root above which nothing is known.
    """

    ages: Floats
    messages: Floats
    outside: Floats
    reach: Floats


def view(prepared: Prepared, hierarchy: Hierarchy) -> View:
    """One pass up and one down."""
    messages = evaluate_events(prepared, hierarchy).messages
    ages, root = ages_of(hierarchy), _root_message(prepared)
    outside, reach = np.zeros_like(messages), np.full(len(ages), np.inf)
    if root is not None:
        outside[-1], reach[-1] = root, 0.0
    children = np.ascontiguousarray(hierarchy.children)
    specialise(_down, join=prepared.kind.join)(prepared.theta, children, ages, messages, outside, reach)
    return View(ages, messages, outside, reach)


def _root_message(prepared: Prepared) -> Floats | None:
    # The distribution of the root's state as a message; None if it is flat or the equilibrium.
    kind, theta = prepared.kind, prepared.theta
    if kind.log_root is no_root or (kind in (Brownian, ByColumn, Coupled) and theta[1] == 0.0):
        return None
    if kind in (Brownian, ByColumn, Coupled):
        n, variance = int(theta[0]), theta[2]
        mean, rate = theta[3 : 3 + n], theta[3 + n :]
        if kind is Coupled:
            return np.concatenate([np.ones(n), mean, variance * rate])
        return np.concatenate([np.full(1 if kind is Brownian else n, variance), mean])
    if hasattr(kind, "root_message"):
        return np.asarray(kind.root_message(theta), dtype=np.float64)
    raise TypeError(
        f"{kind.__name__} has a log_root, so that its root is a lineage of its own; give it a static method "
        "root_message(theta), too, that returns the message of that lineage"
    )


def _down(theta, children, ages, messages, outside, reach):
    n = children.shape[0] + 1
    for i in range(n - 2, -1, -1):
        node = n + i
        for side in range(2):
            b, sibling = children[i, side], children[i, 1 - side]
            up, down = ages[node] - ages[b], ages[node] - ages[sibling]
            if reach[node] == np.inf:
                outside[b] = messages[sibling]
                reach[b] = up + down
            else:
                join(theta, outside[node], reach[node], messages[sibling], down, outside[b])
                reach[b] = up


def site_tables(process: IndependentSites, messages: Floats) -> tuple[Floats, Floats]:
    """q (D, K) and M (…, D, K) of messages (…, n_message), 0 beyond the states of a site."""
    sizes = np.array([len(q) for q in process.equilibrium])
    is_state = np.arange(sizes.max()) < sizes[:, None]
    q, table = np.zeros(is_state.shape), np.zeros((len(messages), *is_state.shape))
    q[is_state] = np.concatenate([np.asarray(each) for each in process.equilibrium])
    table[:, is_state] = messages[:, len(sizes) :]
    return q, table


def known_rows(x: npt.ArrayLike, process: Process, name: str = "x") -> tuple[Floats, Process]:
    """x with NaN where an entry is missing, and the process with its equilibrium spelled out."""
    points = check_points(x, name, missing=True)
    if not isinstance(process, Process):
        raise TypeError(f"expected a process, such as palmette.coalescent.Brownian(), not {process!r}")
    if not isinstance(process, IndependentSites):
        return points, process
    points[points == -1.0] = np.nan
    return points, with_equilibrium(points, process)


def with_equilibrium(x: npt.ArrayLike, process: IndependentSites) -> IndependentSites:
    """The same process with an empirical equilibrium made explicit: 0 for codes that do not occur at a site.

    >>> with_equilibrium([[2], [0], [2]], IndependentSites()).equilibrium
    (array([0.375, 0.   , 0.625]),)
    """
    if not isinstance(process.equilibrium, str):
        return process
    process.prepare(x)  # complains about x, if there is reason to
    tables = []
    for column in check_points(x, "x", missing=True).T:
        seen = column[column >= 0].astype(np.int64)
        counts = np.bincount(seen, minlength=1)
        weights = np.where(counts > 0, counts + 0.5, 0.0) if len(seen) else np.ones(1)
        tables.append(weights / weights.sum())
    return IndependentSites(process.rate, tables)


def weighted_histories(history: Any) -> tuple[Floats, list[Hierarchy]]:
    """Weights that add up to 1, and the histories that have any; one hierarchy has weight 1."""
    if isinstance(history, Hierarchy):
        return np.ones(1), [history]
    if not isinstance(history, CoalescentDraws):
        raise TypeError(f"expected a Hierarchy with heights or CoalescentDraws, not {history!r}")
    carried = np.flatnonzero(history.weights)
    return history.weights[carried] / history.weights[carried].sum(), [history[int(i)] for i in carried]


def safe_log(values: Any) -> Floats:
    """The logarithm; −inf of 0, without a warning."""
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def log_normal(gap: Floats, variance: Floats) -> Floats:
    """log N(gap; 0, variance); a variance of 0 is a point."""
    safe = np.where((variance > 0.0) & (variance < np.inf), variance, 1.0)
    value = -0.5 * (_LOG_2_PI + np.log(safe) + gap**2 / safe)
    return np.where(variance > 0.0, value, np.where(gap == 0.0, np.inf, -np.inf))


def log_mean(logs: Floats, weights: Floats) -> Floats:
    """log Σ_s weight_s e^(logs_s), along the first axis."""
    terms = logs + safe_log(weights)[:, None]
    top = terms.max(axis=0, initial=-np.inf)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(top), finite + safe_log(np.exp(terms - finite).sum(axis=0)), top)
