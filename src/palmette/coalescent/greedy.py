"""Greedy histories: of all pairs of lineages, the one that wants to meet first does, until one lineage is left.

A lineage lives in the slot of its lowest leaf, so when i < j meet, slot i holds the new one. Messages of any two
lineages are compared once, when the younger of them comes into being: (n − 1)² times in all.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints
from palmette.checks import check_choice
from palmette.coalescent.c_functions import best_lengths, join, meet
from palmette.coalescent.joint import evaluate_events, log_prior, total_log
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.process import Prepared, Process, check_process
from palmette.drawing.cards import card
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels, labels_of
from palmette.progress import Progress

__all__ = ["FoundHistory", "Rule", "Ties", "greedy"]

Rule = Literal["rate1", "max-prob", "min-duration"]
Ties = Literal["log-z", "order"]


_TILE = 64  # pairs whose best ages are looked for at a time


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

    def _repr_html_(self) -> str:
        facts = [("log joint density", self.log_joint), ("events put at the time of the one before", self.n_clamped)]
        return card("FoundHistory", facts, self.hierarchy)


def greedy(
    x: npt.ArrayLike,
    process: Process,
    rule: Rule = "rate1",
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
    *,
    ties: Ties = "log-z",
    leaf_ages: npt.ArrayLike | None = None,
) -> FoundHistory:
    """A history that is good, not proved best: each event is the best next one, by one of three rules.

    With F(δ) = −c δ + log Z(s0 + 2δ) of a pair, δ the time since the last event, the pair that meets next is

    - "rate1": the one whose maximum of F with c = 1 lies earliest. That time does not depend on the other lineages, so
      it is found once per pair: O(n²) in all.
    - "max-prob": the one with the largest maximum of F, c = m(m − 1)/2 with m lineages left. O(n³).
    - "min-duration": the one whose maximum of F, with the same c, has the smallest δ. O(n³).

    They meet at that maximum, or at the time of the last event if it has passed. With `ties` "log-z", the pair with the
    larger log Z there goes first among those of equal time, so that of pairs that would all meet at once those do that
    have most in common; on discrete data most events are such ties. With "order", and of pairs that are equal in that
    too, it is the one with the lowest leaf, then the one whose other lineage has the lowest leaf: by the order of rows.

    Rows that are identical meet first, at age 0. For Brownian motion without leaf variance the density there is
    infinite, and so is `log_joint`. Pairs that know nothing in common (missing entries) meet after all others,
    whatever the rule, and at the prior's mean duration 1/c: the data say nothing on them.

    "max-prob" compares densities (of real-valued data, in units of the rate), so where entries are missing, pairs that
    share different numbers of columns are hardly comparable: prefer another rule there. For the same reason ties among
    real-valued rows with missing entries are always broken by order.

    `leaf_ages` (n,) says how old leaves are, in the units of the ages of events, where they are not all of one age.
    They become the heights of the leaves, and nobody meets a leaf before its age. With leaves of several ages the rule
    is "rate1".

    Memory is n² numbers for "rate1", half of that by order, and n²/2 meetings for the others. `progress` as in
    `palmette.progress`.

    >>> import palmette.coalescent as coalescent
    >>> found = greedy([[0.0], [0.1], [2.0]], coalescent.Brownian())
    >>> found.hierarchy, found.n_evaluations
    (Hierarchy.from_newick('((0,1),2);'), 4)
    >>> found.hierarchy.heights.round(6)
    array([0.      , 0.      , 0.      , 0.004951, 0.757779])
    """
    check_choice("rule", rule, get_args(Rule))
    check_choice("ties", ties, get_args(Ties))
    check_process(process)
    prepared = process.prepare(x)
    names = check_labels(labels_of(x, labels), prepared.n_leaves)
    born = check_leaf_ages(leaf_ages, prepared.n_leaves)
    youngest = born.min()
    born -= youngest
    if rule != "rate1" and born.any():
        raise ValueError(f'rule {rule!r} takes leaves of one age only; with leaves of several ages use "rate1"')
    by_log_z = ties == "log-z" and not prepared.kind.has_units
    lineages = _Clocks(prepared, born, by_log_z) if rule == "rate1" else _Meetings(prepared, born, rule, by_log_z)
    bar = Progress("greedy history", max((prepared.n_leaves - 1) ** 2, 1), progress)
    try:
        children, ages = _agglomerate(lineages, bar)
    finally:
        bar.close()
    heights = np.concatenate([born, ages])
    hierarchy = Hierarchy.from_merges(children, names, heights=heights)
    events = evaluate_events(prepared, hierarchy)
    terms = [log_prior(hierarchy, born), *events.log_z, events.log_root, prepared.log_constant]
    if youngest > 0.0:
        hierarchy = Hierarchy.from_merges(children, names, heights=heights + youngest)
    return FoundHistory(hierarchy, total_log(terms), lineages.n_evaluations, _count_clamped(children, heights))


class _Lineages(ABC):
    """The messages and ages of the lineages that are left, by slot; a subclass knows who meets next, and when."""

    def __init__(self, prepared: Prepared, born: Floats) -> None:
        self.process, self.n = prepared.compiled("meet", "best_length", "join"), prepared.n_leaves
        self.messages, self.ages = prepared.leaves.copy(), born.copy()
        self.slots, self.n_evaluations = np.arange(self.n), 0

    def enter(self, leaf: int) -> None:
        """Compare a leaf with those after it; the last leaf comes first."""
        self.slots = np.arange(leaf, self.n)
        self._compare_all(leaf, self.slots[1:], self.n)

    def join(self, i: int, j: int, age: float) -> None:
        """Slots i < j meet at this age; slot i holds what becomes of them, slot j nothing any more."""
        _join(self.process, i, j, age, self.messages, self.ages)
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
        if age == np.inf:
            age = max(last, lineages.ages[i], lineages.ages[j]) + 2 / (n_left * (n_left - 1))
        last = max(age, last)
        children[step], ages[step] = (node[i], node[j]), last
        node[i] = n + step
        lineages.join(i, j, last)
        bar.advance(n_left - 2)
    return children, ages


def _count_clamped(children: Ints, heights: Floats) -> int:
    ages = heights[len(children) + 1 :]
    lengths = 2 * ages - heights[children].sum(axis=1)
    return int(((np.diff(ages, prepend=0.0) == 0) & (lengths > 0)).sum())


class _Clocks(_Lineages):
    """One clock of rate 1 per pair: the age at which it would meet, computed once; a slot knows its first partner.

    A clock is one number or two, compared in turn: the age and, to break ties, −log Z at that age.
    """

    def __init__(self, prepared: Prepared, born: Floats, by_log_z: bool) -> None:
        super().__init__(prepared, born)
        width = 2 if by_log_z else 1
        self._table, self._row = np.empty((self.n * (self.n - 1) // 2, width)), np.empty((self.n, width))
        self._partner, self._clock = np.full(self.n, -1), np.full((self.n, width), np.inf)

    def _compare(self, i: int, others: Ints, gone: int) -> None:
        _set_clocks(self.process, i, others, self.messages, self.ages, self._row)
        _note_change(i, gone, self.slots, self._row, self._table, self._partner, self._clock)

    def next(self, last: float) -> tuple[int, int, float]:
        i = int(_first_slot(self.slots, self._clock))
        return i, int(self._partner[i]), float(self._clock[i, 0])


class _Meetings(_Lineages):
    """The meeting of every pair, computed once; whom it brings together first is found anew for every event."""

    def __init__(self, prepared: Prepared, born: Floats, rule: Rule, by_log_z: bool) -> None:
        super().__init__(prepared, born)
        self._how = rule == "max-prob", by_log_z
        self._shared = np.empty(self.n * (self.n - 1) // 2)
        self._meetings = np.empty((len(self._shared), prepared.n_meeting))

    def _compare(self, i: int, others: Ints, gone: int) -> None:
        _set_meetings(self.process, i, others, self.messages, self._meetings, self._shared)

    def next(self, last: float) -> tuple[int, int, float]:
        rate = len(self.slots) * (len(self.slots) - 1) / 2
        known = *self._how, self._meetings, self._shared
        i, j, age = _choose(self.process, self.slots, self.ages, last, rate, *known)
        return int(i), int(j), float(age)


@inline
def _entry(i, j, n):
    # Where the pair i < j lies in a table of all pairs, row by row.
    return i * n - i * (i + 1) // 2 + j - i - 1


@kernel
def _join(process, i, j, age, messages, ages):
    message = np.empty(messages.shape[1])
    join(process, messages, i, age - ages[i], messages, j, age - ages[j], message, 0)
    for k in range(message.size):
        messages[i, k] = message[k]
    ages[i] = age


@kernel
def _set_clocks(process, i, others, messages, ages, row):
    # row[s] = the best age for i and s to meet at rate 1, inf if they know nothing in common; and −log Z there.
    meetings = np.empty((_TILE, process.n_meeting))
    rows, slots = np.empty(_TILE, np.int64), np.empty(_TILE, np.int64)
    lengths, log_zs = np.empty(_TILE), np.empty(_TILE)
    for start in range(0, others.size, _TILE):
        count = 0
        for s in others[start : start + _TILE]:
            row[s, 0] = np.inf
            if row.shape[1] > 1:
                row[s, 1] = np.inf
            if meet(process, messages, min(i, s), messages, max(i, s), meetings, count) > 0.0:
                rows[count], slots[count], lengths[count] = count, s, abs(ages[i] - ages[s])
                count += 1
        best_lengths(process, meetings, rows, count, 1.0, lengths, log_zs)
        for c in range(count):
            s = slots[c]
            # Exactly the age of the younger one for all who would meet at once: ties are by equality.
            row[s, 0] = max(ages[i], ages[s]) + 0.5 * (lengths[c] - abs(ages[i] - ages[s]))
            if not row[s, 0] >= 0.0:
                raise ValueError("best_length of the process returned NaN, or less than s0")
            if row.shape[1] > 1:
                row[s, 1] = -log_zs[c]


@kernel
def _set_meetings(process, i, others, messages, meetings, shared):
    for s in others:
        low, high = min(i, s), max(i, s)
        k = _entry(low, high, messages.shape[0])
        shared[k] = meet(process, messages, low, messages, high, meetings, k)


@kernel
def _choose(process, slots, ages, last, rate, wants_density, by_log_z, meetings, shared):
    # The best next pair by its density or by its duration, and the age at which it meets. A density has log Z in it, so
    # that only durations have ties to break.
    best_i, best_j, best, best_log_z, best_age = slots[0], slots[1], -np.inf, -np.inf, np.inf
    pairs, partners = np.empty(slots.size, np.int64), np.empty(slots.size, np.int64)
    s0s, lengths, log_zs = np.empty(slots.size), np.empty(slots.size), np.empty(slots.size)
    for a in range(slots.size - 1):
        count = 0
        for b in range(a + 1, slots.size):
            k = _entry(slots[a], slots[b], ages.size)
            if shared[k] > 0.0:
                pairs[count], partners[count] = k, slots[b]
                s0s[count] = lengths[count] = (last - ages[slots[a]]) + (last - ages[slots[b]])
                count += 1
        best_lengths(process, meetings, pairs, count, rate, lengths, log_zs)
        for c in range(count):
            delta = 0.5 * (lengths[c] - s0s[c])
            value = log_zs[c] - rate * delta if wants_density else -delta
            if value < best and best_age < np.inf:
                continue
            density = 0.0 if wants_density or not by_log_z else log_zs[c]
            if value > best or density > best_log_z or best_age == np.inf:
                best_i, best_j, best, best_log_z, best_age = slots[a], partners[c], value, density, last + delta
    return best_i, best_j, best_age


@inline
def _is_before(clocks, i, others, j):
    # By row numbers: a view of a row would count references.
    if clocks.shape[1] == 1 or clocks[i, 0] != others[j, 0]:
        return clocks[i, 0] < others[j, 0]
    return clocks[i, 1] < others[j, 1]


@inline
def _copy(clocks, i, others, j):
    clocks[i, 0] = others[j, 0]
    if clocks.shape[1] > 1:
        clocks[i, 1] = others[j, 1]


@kernel
def _find_partner(i, slots, table, partner, clock):
    # The first slot after i with the earliest clock. As in search/partners.py, but a clock may be two numbers, of which
    # the second breaks ties, and all clocks stand in a table that new ones are copied to.
    n = partner.size
    partner[i], clock[i, 0] = -1, np.inf
    for s in slots:
        if s > i:
            k = _entry(i, s, n)
            if partner[i] < 0 or _is_before(table, k, clock, i):
                partner[i] = s
                _copy(clock, i, table, k)


@kernel
def _note_change(i, j, slots, row, table, partner, clock):
    # Slot i has a new lineage whose clocks with the others are these, slot j has none any more.
    n = partner.size
    for s in slots:
        if s != i:
            _copy(table, _entry(min(s, i), max(s, i), n), row, s)
    for s in slots[:1] if j == n else slots:  # a leaf that enters changes nothing for those after it
        if s == i or partner[s] == i or partner[s] == j:
            _find_partner(s, slots, table, partner, clock)
        elif s < i and (_is_before(row, s, clock, s) or (i < partner[s] and not _is_before(clock, s, row, s))):
            partner[s] = i
            _copy(clock, s, row, s)


@kernel
def _first_slot(slots, clock):
    first = slots[0]
    for s in slots[:-1]:  # the last one has no partner
        if _is_before(clock, s, clock, first):
            first = s
    return first
