"""Greedy histories: of all pairs of lineages, the one that wants to meet first does, until one lineage is left.

A lineage lives in the slot of its lowest leaf, so when i < j meet, slot i holds the new one. Messages of any two
lineages are compared once, when the younger of them comes into being: (n − 1)² times in all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel, specialise
from palmette.array_types import Floats, Ints
from palmette.checks import check_choice
from palmette.coalescent.joint import evaluate_events, log_prior, total_log
from palmette.coalescent.process import Prepared, Process
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels, labels_of
from palmette.progress import Progress

__all__ = ["FoundHistory", "Rule", "greedy"]

Rule = Literal["rate1", "max-prob", "min-duration"]

meet = log_z = join = best_length = cast(Any, None)  # a process's, put in by `specialise`


@dataclass(frozen=True)
class FoundHistory:
    """A history and its log joint density.

    ``hierarchy`` has the ages of the events as heights. ``n_evaluations`` says how often two messages were compared,
    ``n_clamped`` how many events were put at the time of the event before them because their own best time had passed.
    """

    hierarchy: Hierarchy
    log_joint: float
    n_evaluations: int
    n_clamped: int


def greedy(
    x: npt.ArrayLike,
    process: Process,
    rule: Rule = "rate1",
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
) -> FoundHistory:
    """A history that is good, not proved best: each event is the best next one, by one of three rules.

    With F(δ) = −c δ + log Z(s0 + 2δ) of a pair, δ the time since the last event, the pair that meets next is

    - "rate1": the one whose maximum of F with c = 1 lies earliest. That time does not depend on the other lineages, so
      it is found once per pair: O(n²) in all.
    - "max-prob": the one with the largest maximum of F, c = m(m − 1)/2 with m lineages left. O(n³).
    - "min-duration": the one whose maximum of F, with the same c, has the smallest δ. O(n³).

    They meet at that maximum, or at the time of the last event if it has passed. Of equal pairs the one with the lowest
    leaf comes first, then the one whose other lineage has the lowest leaf.

    Rows that are identical meet first, at age 0. For Brownian motion without leaf variance the density there is
    infinite, and so is `log_joint`. Pairs that know nothing in common (missing entries) meet after all others,
    whatever the rule, and at the prior's mean duration 1/c: the data say nothing on them.

    "max-prob" compares densities (of real-valued data, in units of the rate), so where entries are missing, pairs that
    share different numbers of columns are hardly comparable: prefer another rule there.

    Memory is n²/2 numbers for "rate1", and n²/2 meetings for the others. `progress` as in `palmette.progress`.

    >>> import palmette.coalescent as coalescent
    >>> found = greedy([[0.0], [0.1], [2.0]], coalescent.Brownian())
    >>> found.hierarchy, found.n_evaluations
    (Hierarchy.from_newick('((0,1),2);'), 4)
    >>> found.hierarchy.heights.round(6)
    array([0.      , 0.      , 0.      , 0.004951, 0.757779])
    """
    check_choice("rule", rule, get_args(Rule))
    prepared = process.prepare(x)
    names = check_labels(labels_of(x, labels), prepared.n_leaves)
    lineages = _Clocks(prepared) if rule == "rate1" else _Meetings(prepared, rule)
    bar = Progress("greedy history", max((prepared.n_leaves - 1) ** 2, 1), progress)
    try:
        children, ages = _agglomerate(lineages, bar)
    finally:
        bar.close()
    hierarchy = Hierarchy.from_merges(children, names, heights=ages)
    events = evaluate_events(prepared, hierarchy)
    terms = [log_prior(hierarchy), *events.log_z, events.log_root, prepared.log_constant]
    return FoundHistory(hierarchy, total_log(terms), lineages.n_evaluations, _count_clamped(children, ages))


class _Lineages(ABC):
    """The messages and ages of the lineages that are left, by slot; a subclass knows who meets next, and when."""

    def __init__(self, prepared: Prepared) -> None:
        self.theta, self.n_meeting, self.n = prepared.theta, prepared.n_meeting, prepared.n_leaves
        self.messages, self.ages = prepared.leaves.copy(), np.zeros(self.n)
        self.slots, self.n_evaluations = np.arange(self.n), 0
        self._join = specialise(_join, join=prepared.kind.join)

    def enter(self, leaf: int) -> None:
        """Compare a leaf with those after it; the last leaf comes first."""
        self.slots = np.arange(leaf, self.n)
        self._compare_all(leaf, self.slots[1:], self.n)

    def join(self, i: int, j: int, age: float) -> None:
        """Slots i < j meet at this age; slot i holds what becomes of them, slot j nothing any more."""
        self._join(self.theta, i, j, age, self.messages, self.ages)
        self.slots = self.slots[self.slots != j]
        self._compare_all(i, self.slots[self.slots != i], j)

    def _compare_all(self, i: int, others: Ints, gone: int) -> None:
        self._compare(i, others, gone)
        self.n_evaluations += len(others)

    @abstractmethod
    def _compare(self, i: int, others: Ints, gone: int) -> None:
        """Slot i has a new lineage, and the slot that is gone has none."""

    @abstractmethod
    def next(self, last: float) -> tuple[int, int, float]:
        """The slots i < j of the pair that meets next, and the age at which it does; inf if the data do not say."""


def _agglomerate(lineages: _Lineages, bar: Progress) -> tuple[Ints, Floats]:
    n = lineages.n
    for leaf in range(n - 2, -1, -1):
        lineages.enter(leaf)
        bar.advance(n - 1 - leaf)
    node = np.arange(n)
    children, ages = np.empty((n - 1, 2), dtype=np.int64), np.empty(n - 1)
    last = 0.0
    for step in range(n - 1):
        i, j, age = lineages.next(last)
        n_left = n - step
        last = max(age, last) if age < np.inf else last + 2 / (n_left * (n_left - 1))
        children[step], ages[step] = (node[i], node[j]), last
        node[i] = n + step
        lineages.join(i, j, last)
        bar.advance(n_left - 2)
    return children, ages


def _count_clamped(children: Ints, ages: Floats) -> int:
    born = np.concatenate([np.zeros(len(ages) + 1), ages])
    lengths = 2 * ages - born[children].sum(axis=1)
    return int(((np.diff(ages, prepend=0.0) == 0) & (lengths > 0)).sum())


class _Clocks(_Lineages):
    """One clock of rate 1 per pair: the age at which it would meet, computed once; a slot knows its first partner."""

    def __init__(self, prepared: Prepared) -> None:
        super().__init__(prepared)
        self._table, self._row = np.empty(self.n * (self.n - 1) // 2), np.empty(self.n)
        self._partner, self._value = np.full(self.n, -1), np.full(self.n, np.inf)
        self._set = specialise(_set_clocks, meet=prepared.kind.meet, best_length=prepared.kind.best_length)

    def _compare(self, i: int, others: Ints, gone: int) -> None:
        self._set(self.theta, i, others, self.messages, self.ages, self.n_meeting, self._row)
        _note_change(i, gone, self.slots, self._row, self._table, self._partner, self._value)

    def next(self, last: float) -> tuple[int, int, float]:
        i = int(_first_slot(self.slots, self._value))
        return i, int(self._partner[i]), float(self._value[i])


class _Meetings(_Lineages):
    """The meeting of every pair, computed once; whom it brings together first is found anew for every event."""

    def __init__(self, prepared: Prepared, rule: Rule) -> None:
        super().__init__(prepared)
        self._wants_density = rule == "max-prob"
        self._shared = np.empty(self.n * (self.n - 1) // 2)
        self._meetings = np.empty((len(self._shared), self.n_meeting))
        self._set = specialise(_set_meetings, meet=prepared.kind.meet)
        self._choose = specialise(_choose, best_length=prepared.kind.best_length, log_z=prepared.kind.log_z)

    def _compare(self, i: int, others: Ints, gone: int) -> None:
        self._set(self.theta, i, others, self.messages, self._meetings, self._shared)

    def next(self, last: float) -> tuple[int, int, float]:
        rate = len(self.slots) * (len(self.slots) - 1) / 2
        known = self._wants_density, self._meetings, self._shared
        i, j, age = self._choose(self.theta, self.slots, self.ages, last, rate, *known)
        return int(i), int(j), float(age)


@inline
def _entry(i, j, n):
    # Where the pair i < j lies in a table of all pairs, row by row.
    return i * n - i * (i + 1) // 2 + j - i - 1


def _join(theta, i, j, age, messages, ages):
    message = np.empty(messages.shape[1])
    join(theta, messages[i], age - ages[i], messages[j], age - ages[j], message)
    messages[i] = message
    ages[i] = age


def _set_clocks(theta, i, others, messages, ages, n_meeting, row):
    # row[s] = the best age for i and s to meet at rate 1, inf if they know nothing in common.
    meeting = np.empty(n_meeting)
    for s in others:
        low, high = min(i, s), max(i, s)
        row[s] = np.inf
        if meet(theta, messages[low], messages[high], meeting) > 0.0:
            length = best_length(theta, meeting, abs(ages[low] - ages[high]), 1.0)
            row[s] = 0.5 * (length + ages[low] + ages[high])
            if not row[s] >= 0.0:
                raise ValueError("best_length of the process returned NaN, or less than s0")


def _set_meetings(theta, i, others, messages, meetings, shared):
    for s in others:
        low, high = min(i, s), max(i, s)
        k = _entry(low, high, messages.shape[0])
        shared[k] = meet(theta, messages[low], messages[high], meetings[k])


def _choose(theta, slots, ages, last, rate, wants_density, meetings, shared):
    # The best next pair by its density or by its duration, and the age at which it meets.
    best_i, best_j, best, best_age = slots[0], slots[1], -np.inf, np.inf
    for a in range(slots.size - 1):
        for b in range(a + 1, slots.size):
            k = _entry(slots[a], slots[b], ages.size)
            if not shared[k] > 0.0:
                continue
            s0 = (last - ages[slots[a]]) + (last - ages[slots[b]])
            length = best_length(theta, meetings[k], s0, rate)
            delta = 0.5 * (length - s0)
            value = log_z(theta, meetings[k], length) - rate * delta if wants_density else -delta
            if value > best or best_age == np.inf:
                best_i, best_j, best, best_age = slots[a], slots[b], value, last + delta
    return best_i, best_j, best_age


@kernel
def _find_partner(i, slots, table, partner, value):
    # The first slot after i with the earliest age.
    n = partner.size
    partner[i], value[i] = -1, np.inf
    for s in slots:
        if s > i:
            age = table[_entry(i, s, n)]
            if partner[i] < 0 or age < value[i]:
                partner[i], value[i] = s, age


@kernel
def _note_change(i, j, slots, row, table, partner, value):
    # Slot i has a new lineage that would meet the others at these ages, slot j has none any more.
    n = partner.size
    for s in slots:
        if s != i:
            table[_entry(min(s, i), max(s, i), n)] = row[s]
    for s in slots[:1] if j == n else slots:  # a leaf that enters changes nothing for those after it
        if s == i or partner[s] == i or partner[s] == j:
            _find_partner(s, slots, table, partner, value)
        elif s < i and (row[s] < value[s] or (row[s] == value[s] and i < partner[s])):
            partner[s], value[s] = i, row[s]


@kernel
def _first_slot(slots, value):
    first = slots[0]
    for s in slots[:-1]:  # the last one has no partner
        if value[s] < value[first]:
            first = s
    return first
