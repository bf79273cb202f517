"""Anytime improvement of one hierarchy: regraft until nothing gains, then kick and repair, round after round.

Rounds follow each other in *lines*. A line that has not gained for some rounds has ended. It is then fused with the
best hierarchy and with lines that ended before: all their clusters make a sparse trellis, and the MAP of that takes the
best from each. If this is better than all of them, the line goes on from it. If not, a new line begins at the best
hierarchy, after many of its parts have been displaced.
"""

from __future__ import annotations

import itertools
import math
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import closing
from typing import NamedTuple

import numpy as np

from palmette.checks import check_seconds, is_whole, seed_of
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_model
from palmette.models.split_model import HierarchyModel, require_binary
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.posterior.distribution import SAME
from palmette.progress import Progress
from palmette.regrafts import regrafts_of
from palmette.regrafts.tree_state import WORK, total
from palmette.search.found import Found
from palmette.search.refine_moves import advance, keep_better, queue_all, round_agenda
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["FEW_ROUNDS", "LocalOptimum", "local_optima", "refine"]

FEW_ROUNDS = 2  # where refining is not what was asked for, but where something else begins
_PATIENCE = 3  # rounds without a gain that end a line
_DISPLACED = (0.1, 0.3, 0.6)  # parts displaced, for each leaf, where a new line begins; lines take turns
_REMEMBERED = 4  # lines that ended before
_MOST_CLOSED = 500  # leaves; with more, splits are only those of the hierarchies themselves


def refine(
    model: HierarchyModel,
    hierarchy: Hierarchy,
    *,
    seconds: float | None = DEFAULTS.refining_seconds,
    rng: np.random.Generator | int | None = None,
    rounds: int | None = None,
    progress: bool | None = None,
) -> Found:
    """A hierarchy of larger log potential, found by moving sub-hierarchies about; never a worse one.

    The first round regrafts every part of the hierarchy where it gains most, until no regraft gains anything. Every
    further round makes 100 small random changes, repairs each in the same way, and keeps what is not worse. When that
    has brought nothing for three rounds, a round begins with a large change of the best hierarchy so far, to see where
    another line leads; what several lines arrive at is fused through a sparse trellis. The search stops after `rounds`
    rounds or after `seconds`, whatever comes first. Nothing is proved about what could still be gained.

    The random numbers of a round depend on the seed and on its number only. With ``seconds=None`` the same seed and
    `rounds` give the same hierarchy. With a time limit the search is the same, but how far it gets depends on the
    machine: it stops inside a round, with the best so far. Time to compile is not counted.

    `hierarchy` is any binary one on the model's labels, also one of log potential −inf: splits that the model forbids
    go first. If nothing better is found, it comes back as it is. A `SplitFunction` may have 63 leaves, and is some
    hundred times slower than a `SplitModel`.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.random.default_rng(0).random((30, 2)))
    >>> start = pal.search.greedy(model)
    >>> found = pal.search.refine(model, start.hierarchy, rounds=2, seconds=None, rng=0)
    >>> found.log_potential > start.log_potential
    True
    """
    require_model(model, "hierarchies", all_known=True)
    if not isinstance(hierarchy, Hierarchy):
        raise TypeError(f"expected the hierarchy to start from, such as that of search.greedy, not {hierarchy!r}")
    require_binary(hierarchy)
    _check_end(seconds, rounds)
    given = Found(hierarchy, model.log_potential(hierarchy))
    if model.n_leaves < 3:
        return given
    seed = seed_of(rng)
    search = _Search(model, hierarchy)
    with closing(Progress(f"refining, n = {model.n_leaves}", seconds or rounds or 1.0, progress)) as bar:
        *_, best = search.start, *local_optima(search, seed, _Clock(seconds, rounds, bar))
    # Compared by the model itself: what the search adds up on its way is rounded in another order.
    return Found(best.hierarchy, best.log_potential) if best.log_potential > given.log_potential else given


class LocalOptimum(NamedTuple):
    """A hierarchy that a round arrived at."""

    hierarchy: Hierarchy
    log_potential: float
    forbidden: int  #: how many of its splits the model forbids

    def gains_on(self, other: LocalOptimum) -> bool:
        """Whether it is better by more than rounding."""
        same = math.isclose(self.log_potential, other.log_potential, rel_tol=SAME) and self.log_potential > -math.inf
        return _rank(self) > _rank(other) and not same


def _rank(optimum: LocalOptimum) -> tuple[float, int]:
    # Of two that are impossible the one with fewer forbidden splits is better.
    return optimum.log_potential, -optimum.forbidden


def local_optima(search: _Search, seed: int, clock: _Clock) -> Iterator[LocalOptimum]:
    """The best hierarchy after each round, until the clock says stop."""
    best = current = search.start
    ended: deque[LocalOptimum] = deque(maxlen=_REMEMBERED)
    shares = itertools.cycle(_DISPLACED)
    still = 0
    while not clock.is_up():
        share = 0.0
        if still == _PATIENCE:
            fused = search.fuse([best, current, *ended])
            ended.append(current)
            share = 0.0 if fused.gains_on(best) else next(shares)
            best = current = max(best, fused, key=_rank)
            still = 0
        found = search.run(clock.rounds_done, current.hierarchy, seed, clock, displaced=share)
        still = 0 if share or found.gains_on(current) else still + 1
        current = found if share else max(found, current, key=_rank)
        best = max(best, current, key=_rank)
        clock.end_round()
        yield best


class _Clock:
    """When to stop: after so many rounds or seconds, from now on."""

    def __init__(self, seconds: float | None, rounds: int | None, bar: Progress) -> None:
        self._seconds, self._rounds, self._bar = seconds, rounds, bar
        self._begin = self._last = time.monotonic()
        self.rounds_done = 0

    def is_up(self) -> bool:
        now = time.monotonic()
        if self._seconds is not None:
            self._bar.advance(now - self._last)
        self._last = now
        late = self._seconds is not None and now - self._begin >= self._seconds
        return late or (self._rounds is not None and self.rounds_done >= self._rounds)

    def end_round(self) -> None:
        self.rounds_done += 1
        if self._seconds is None:
            self._bar.advance(1.0)


class _Search:
    """The rounds of one model, compiled when made."""

    def __init__(self, model: HierarchyModel, hierarchy: Hierarchy) -> None:
        self.model = model
        self._regrafts = regrafts_of(model)
        aligned = hierarchy.aligned_to(model.labels)
        tree, walk = self._regrafts.tree_of(aligned)
        advance(self._regrafts, tree, tree, walk, round_agenda(hierarchy.n_nodes, 0, 0), 0)
        self.start = LocalOptimum(aligned, model.log_potential(aligned), total(tree.log_psi)[0])
        self._best_of_clusters([aligned])

    def run(
        self, number: int, hierarchy: Hierarchy, seed: int, clock: _Clock, *, displaced: float = 0.0
    ) -> LocalOptimum:
        """What one round arrives at, or the part of it that there is time for.

        If parts are to be displaced first, so many for each leaf, it may be worse than what it comes from.
        """
        tree, walk = self._regrafts.tree_of(hierarchy)
        kept = tree._replace(**{name: values.copy() for name, values in tree._asdict().items()})
        before = total(kept.log_psi)
        agenda = round_agenda(hierarchy.n_nodes, seed, number, displaced=math.ceil(displaced * hierarchy.n_leaves))
        if displaced:
            kept.log_psi[:] = -np.inf  # whatever comes is better
        while not clock.is_up():
            walk.counts[WORK] = 0
            if advance(self._regrafts, tree, kept, walk, agenda, self._regrafts.effort):
                after = total(kept.log_psi)
                if number or after == before:
                    break
                before = after
                queue_all(agenda)  # what is best for one part depends on the others
        keep_better(tree, kept)
        found = Hierarchy.from_parents(kept.parent, self.model.labels)
        return LocalOptimum(found, self.model.log_potential(found), total(kept.log_psi)[0])

    def fuse(self, optima: list[LocalOptimum]) -> LocalOptimum:
        """The best hierarchy that is made of clusters of these; the best one of these if that is no better."""
        best = max(optima, key=_rank)
        different = dict.fromkeys(optimum.hierarchy for optimum in optima if optimum.log_potential > -math.inf)
        both = self._best_of_clusters(different) if len(different) > 1 else None
        if both is None:
            return best
        fused = LocalOptimum(both, self.model.log_potential(both), 0)
        return fused if fused.log_potential > best.log_potential else best

    def _best_of_clusters(self, hierarchies: Iterable[Hierarchy]) -> Hierarchy | None:
        trellis = SparseTrellis.from_hierarchies(hierarchies, closed=self.model.n_leaves <= _MOST_CLOSED)
        passes = SparseHierarchyPasses(self.model, trellis, HierarchyConditions(self.model.labels))
        M = passes.maximum()
        return trellis.hierarchy_of(passes.best_rows(M)) if M[-1] > -np.inf else None


def _check_end(seconds: float | None, rounds: int | None) -> None:
    if seconds is None and rounds is None:
        raise ValueError("refine needs an end: give seconds, rounds, or both")
    check_seconds(seconds)
    if rounds is not None and (not is_whole(rounds) or rounds < 0):
        raise ValueError(f"rounds is {rounds!r}; expected a whole number of at least 0, or None")
