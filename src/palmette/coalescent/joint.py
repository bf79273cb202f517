"""log p(x, history) = log p(history) + log p(x | history), with Kingman's coalescent as the prior of histories.

A *history* is a binary hierarchy whose heights are ages: leaves at 0 or at their own ages, and an *event* at each inner
node, where two lineages meet. While m lineages are there, any two of them meet at rate 1, so the next event comes at
rate c = m(m − 1)/2.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.array_types import Floats
from palmette.coalescent.c_functions import agree, join, log_root
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.process import Prepared, Process, check_process
from palmette.hierarchy import Hierarchy

__all__ = ["BothSides", "Events", "ages_of", "ages_since_leaves", "both_sides", "branch_lengths"]
__all__ += ["evaluate_events", "log_joint", "log_likelihood", "log_prior", "log_roots", "total_log", "total_logs"]

_ROUNDING = 1e-9  # of the age of the root: what text formats and sums of branch lengths leave


def log_prior(hierarchy: Hierarchy, leaf_ages: npt.ArrayLike | None = None) -> float:
    """−Σ_i c_i δ_i: the density of the n-coalescent at this history; δ_i is the time between events, c_i = C(n−i+1, 2).

    It is a density in the durations, over histories with the order of their events, and integrates to 1 over them.

    With `leaf_ages` (n,), a lineage is there from the age of its leaf on, and the sum is over the times between events
    and arrivals. The heights of the leaves must be these ages, up to a shift of all heights.

    >>> log_prior(Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0]))  # −3 · 0.5 − 1 · 1.5
    -3.0
    >>> log_prior(Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0, 0, 1, 0.5, 2]), [0, 0, 1])  # −0.5 − 0 − 1
    -1.5
    """
    ages, n = ages_of(hierarchy), hierarchy.n_leaves
    _check_heights(ages, n, leaf_ages)
    first = ages[:n].min()
    late = ages[:n][ages[:n] > first]
    times = np.concatenate([ages[n:], late])
    change = np.repeat([-1, 1], [n - 1, len(late)])
    order = np.lexsort((-change, times))
    lineages = n - len(late) + np.cumsum(change[order]) - change[order]
    rates = lineages * (lineages - 1) / 2
    return -float(rates @ np.diff(times[order], prepend=first)) + 0.0


def log_likelihood(x: npt.ArrayLike, hierarchy: Hierarchy, process: Process) -> float:
    """log p(x | history) = Σ log Z over the events + the root's factor + constants; row i of x belongs to leaf i.

    −inf where lineages that differ meet at distance 0. inf where only identical ones do: densities have no upper bound
    there, unless the process has a leaf variance. A branch is as long as its ends differ in height, so leaves may have
    any height.

    >>> import palmette.coalescent as coalescent
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.4])
    >>> round(log_likelihood([[0.0], [0.1], [1.0]], history, coalescent.Brownian()), 6)
    -1.515984
    """
    check_process(process)
    prepared = process.prepare(x)
    events = evaluate_events(prepared, hierarchy)
    return total_log([*events.log_z, events.log_root, prepared.log_constant])


def log_joint(
    x: npt.ArrayLike, hierarchy: Hierarchy, process: Process, leaf_ages: npt.ArrayLike | None = None
) -> float:
    """log p(x, history) = `log_prior` + `log_likelihood`; leaves are at age 0, or at their `leaf_ages`.

    >>> import palmette.coalescent as coalescent
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.4])
    >>> round(log_joint([[0.0], [0.1], [1.0]], history, coalescent.Brownian()), 6)
    -2.115984
    """
    return total_log([log_prior(hierarchy, leaf_ages), log_likelihood(x, hierarchy, process)])


@dataclass(frozen=True, eq=False)
class Events:
    """What passing messages from the leaves to the root leaves behind.

    ``log_z`` (n − 1,): log Z of the event at each inner node; ``messages`` (2n − 1, n_message): of each node's lineage;
    ``log_root``: the factor of the last one.
    """

    log_z: Floats
    messages: Floats
    log_root: float


def evaluate_events(prepared: Prepared, hierarchy: Hierarchy) -> Events:
    """log Z of every event of a history, and the message of every lineage: one pass, children before parents."""
    n = prepared.n_leaves
    if hierarchy.n_leaves != n:
        raise ValueError(f"the hierarchy has {hierarchy.n_leaves} leaves but the data have {n} rows; row i is leaf i")
    ages = ages_of(hierarchy)
    messages = np.empty((2 * n - 1, prepared.n_message))
    messages[:n] = prepared.leaves
    log_zs = np.empty(n - 1)
    process = prepared.compiled("agree", "join", "log_root")
    root = _pass(process, np.ascontiguousarray(hierarchy.children), ages, messages, log_zs)
    return Events(log_zs, messages, float(root))


@kernel
def _pass(process, children, ages, messages, log_zs):
    n = children.shape[0] + 1
    meeting = np.empty(process.n_meeting)
    for i in range(n - 1):
        left, right, age = children[i, 0], children[i, 1], ages[n + i]
        l_left, l_right = age - ages[left], age - ages[right]
        log_zs[i] = l_left + l_right
        agree(process, messages, left, messages, children, 2 * i + 1, 1, meeting, log_zs, i)
        join(process, messages, left, l_left, messages, right, l_right, messages, n + i)
    return log_root(process, messages, 2 * n - 2)


def log_roots(prepared: Prepared, messages: Floats) -> Floats:
    """What the state of each of these lineages would add if it were the last one."""
    found = np.empty(len(messages))
    _root_of_each(prepared.compiled("log_root"), messages, found)
    return found


@kernel
def _root_of_each(process, messages, out):
    for v in range(out.size):
        out[v] = log_root(process, messages, v)


@dataclass(frozen=True, eq=False)
class BothSides:
    """Both sides of every branch: ``messages`` (2n − 1, n_message) from below, ``outside`` from above.

    Seen from a lineage b, the rest of the history is a lineage as well, and outside(b) = join(outside(parent of b),
    sibling of b), because a reversible process does not mind where the root is. So the state at any point of any branch
    is the join of two messages, and how likely a new row is there is one more meeting.

    The outside message of node b lies ``reach[b]`` away from b; inf for a root above which nothing is known.
    """

    messages: Floats
    outside: Floats
    reach: Floats


def both_sides(prepared: Prepared, hierarchy: Hierarchy) -> BothSides:
    """One pass up and one down."""
    messages = evaluate_events(prepared, hierarchy).messages
    ages, root = ages_of(hierarchy), prepared.kind.root_message(prepared.theta)
    outside, reach = np.zeros_like(messages), np.full(len(ages), np.inf)
    if root is not None:
        outside[-1], reach[-1] = root, 0.0
    children = np.ascontiguousarray(hierarchy.children)
    _down(prepared.compiled("join"), children, ages, messages, outside, reach)
    return BothSides(messages, outside, reach)


@kernel
def _down(process, children, ages, messages, outside, reach):
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
                join(process, outside, node, reach[node], messages, sibling, down, outside, b)
                reach[b] = up


def ages_of(hierarchy: Hierarchy) -> Floats:
    """The age of every node, (2n − 1,): the heights, checked; what is out of order by rounding is put right."""
    if not isinstance(hierarchy, Hierarchy):
        raise TypeError(f"expected a Hierarchy with heights, not {hierarchy!r}")
    n = hierarchy.n_leaves
    if not hierarchy.is_binary:
        raise ValueError("the hierarchy is not binary; in a coalescent two lineages meet at a time")
    if n == 1:
        return np.zeros(1)
    if hierarchy.branch_lengths is None:
        raise ValueError("the hierarchy has no heights; give the age of each event, e.g. from_merges(…, heights=…)")
    ages = np.array(hierarchy.heights)
    slack = _slack(ages)
    ages[:n][np.abs(ages[:n]) <= slack] = 0.0
    highest = ages[hierarchy.children].max(axis=1)
    if (ages[n:] < highest - slack).any():
        node = int(np.argmax(highest - ages[n:]))
        raise ValueError(
            f"node {n + node} has height {ages[n + node]:g}, below a child at {highest[node]:g}; ages rise to the root"
        )
    for node in range(n, 2 * n - 1):
        ages[node] = max(ages[node], *ages[hierarchy.children[node - n]])
    return ages


def ages_since_leaves(hierarchy: Hierarchy, where: str) -> tuple[Floats, float]:
    """The age of every node, (2n − 1,), counted from the leaves, and theirs; refused if they differ, for `where`."""
    ages, n = ages_of(hierarchy), hierarchy.n_leaves
    young = float(ages[:n].min())
    leaf = int(np.argmax(ages[:n]))
    if ages[leaf] - young > _slack(ages):
        raise ValueError(
            f"leaf {leaf} has height {ages[leaf]:g} and others {young:g}; {where} takes leaves of one age only"
        )
    return np.maximum(ages - young, 0.0), young


def _check_heights(ages: Floats, n: int, leaf_ages: npt.ArrayLike | None) -> None:
    if leaf_ages is None:
        if ages[:n].any():
            leaf = int(np.argmax(np.abs(ages[:n])))
            wanted = "all leaves of a coalescent are at 0 unless leaf_ages says how old they are"
            raise ValueError(f"leaf {leaf} has height {ages[leaf]:g}; {wanted}")
        return
    known = check_leaf_ages(leaf_ages, n)
    off = (ages[:n] - ages[:n].min()) - (known - known.min())
    if np.abs(off).max() > _slack(ages):
        leaf = int(np.argmax(np.abs(off)))
        raise ValueError(
            f"leaf {leaf} has height {ages[leaf]:g} but leaf_ages says {known[leaf]:g}; give the hierarchy the ages of "
            "its leaves as heights, e.g. from_merges(…, heights=[*leaf_ages, *ages])"
        )


def _slack(ages: Floats) -> float:
    return _ROUNDING * float(np.abs(ages).max())


def branch_lengths(hierarchy: Hierarchy) -> Floats:
    """The time from every node to its parent, (2n − 1,); 0 above the root."""
    ages = ages_of(hierarchy)
    lengths = np.zeros(len(ages))
    lengths[hierarchy.children] = ages[hierarchy.n_leaves :, None] - ages[hierarchy.children]
    return lengths


def total_log(terms: Any) -> float:
    """Σ terms, where −inf wins over inf: e^(−1/s) falls faster than any power of 1/s rises.

    >>> total_log([1.0, np.inf, -np.inf])
    -inf
    """
    return float(total_logs(terms, axis=None))


def total_logs(terms: Any, axis: int | None) -> Floats:
    """The same along an axis."""
    values = np.asarray(terms, dtype=np.float64)
    with np.errstate(invalid="ignore"):
        return np.where((values == -np.inf).any(axis=axis), -np.inf, values.sum(axis=axis))
