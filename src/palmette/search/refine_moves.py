"""The moves of `refine`: parts worth a survey are regrafted where they gain most; kicks make new ones worth it.

A sub-hierarchy below a cluster can be improved without looking at anything else, so a kick happens inside one cluster:
a few of its parts go to places drawn at random, then everything near them is regrafted where that is best. What comes
out is kept unless it is worse. Clusters of all sizes take their turns; small ones cost little.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import step
from palmette.array_types import Ints
from palmette.regrafts.compiled import CompiledRegrafts, refresh, survey
from palmette.regrafts.protocol import Regrafts, best_position
from palmette.regrafts.tree_state import (
    PLACE,
    POSITIONS,
    WORK,
    Tree,
    Walk,
    ancestor_of_size,
    copy_tree,
    leaf_of_rank,
    regraft,
    total,
)
from palmette.sampling.chance import chance, new_stream

__all__ = ["Agenda", "advance", "keep_better", "queue_all", "round_agenda"]

_KICKS = 100  # in a round
_SMALLEST = 6.0  # leaves in the cluster that a kick happens in
_WIDER = 3.0  # how much larger the cluster is in which its consequences are looked for
_MOST_PARTS = 5  # that one kick displaces

# What is to be done next: how many parts wait, how many have been moved since the last kick; kicks left, parts that the
# present kick has still to displace, a leaf of the cluster that it happens in, and the size of this cluster.
_WAITING, _MOVED, _KICKS_LEFT, _PARTS_LEFT, _LEAF, _WINDOW = range(6)


class Agenda(NamedTuple):
    """What a search has still to do; `plan` has an entry for each of the constants above."""

    parts: Ints  # (m,): the first plan[_WAITING] are worth a survey
    waits: npt.NDArray[np.bool_]  # (m,): whether a node is one of these
    plan: Ints
    stream: Ints  # seed, number of the round, how many random numbers have been drawn


def round_agenda(m: int, seed: int, number: int, *, displaced: int = 0) -> Agenda:
    """All there is to do in a round of a hierarchy of m nodes: in round 0 all parts wait, later there are kicks.

    Before everything else, so many parts of the whole hierarchy are displaced.
    """
    plan = np.array([0, 0, _KICKS if number else 0, displaced, 0, m])
    agenda = Agenda(np.arange(m), np.zeros(m, dtype=bool), plan, new_stream(seed, number))
    if number == 0:
        queue_all(agenda)
    return agenda


def queue_all(agenda: Agenda) -> None:
    """Let all parts wait."""
    agenda.parts[:], agenda.waits[:] = np.arange(len(agenda.parts)), True
    agenda.plan[_WAITING], agenda.plan[_MOVED] = len(agenda.parts), 0


@step
def keep_better(tree, kept):
    """Make both trees the same as the better one: fewer forbidden splits, then the larger log potential."""
    impossible, finite = total(tree.log_psi)
    kept_impossible, kept_finite = total(kept.log_psi)
    if impossible < kept_impossible or (impossible == kept_impossible and finite >= kept_finite):
        copy_tree(tree, kept)
    else:
        copy_tree(kept, tree)


@step
def _take(agenda):
    # One of those that wait, at random.
    plan, parts = agenda.plan, agenda.parts
    i = int(chance(agenda.stream) * plan[_WAITING])
    plan[_WAITING] -= 1
    taken = parts[i]
    parts[i] = parts[plan[_WAITING]]
    agenda.waits[taken] = False
    return taken


@step
def _add_near(parent, child, v, agenda):
    # The children of v and of the two clusters above it: what a change at v may have made worth moving.
    n = (parent.size + 1) // 2
    for _ in range(3):
        for c in range(2 if v >= n else 0):
            part = child[v, c]
            if not agenda.waits[part]:
                agenda.waits[part] = True
                agenda.parts[agenda.plan[_WAITING]] = part
                agenda.plan[_WAITING] += 1
        if parent[v] < 0:
            break
        v = parent[v]


@step
def _note_move(parent, child, moved, sibling, agenda):
    agenda.plan[_MOVED] += 1
    if agenda.plan[_MOVED] < 20 * parent.size:  # rounding could let two moves undo each other for ever
        _add_near(parent, child, parent[moved], agenda)
        if parent[sibling] >= 0:
            _add_near(parent, child, parent[sibling], agenda)


@step
def _random_part(parent, child, size, top, stream):
    # A leaf below `top`, or one of its ancestors short of it.
    part = leaf_of_rank(child, size, top, int(chance(stream) * size[top]))
    depth, v = 0, part
    while parent[v] != top:
        v = parent[v]
        depth += 1
    for _ in range(int(chance(stream) * (depth + 1))):
        part = parent[part]
    return part


@step
def _plan_kick(parent, size, agenda):
    # A cluster, small and large ones alike, and how many of its parts to displace: 1, 2, 3, … with 1/2, 1/4, 1/8, …
    n = (size.size + 1) // 2
    plan, stream = agenda.plan, agenda.stream
    least = _SMALLEST * (n / _SMALLEST) ** chance(stream) if n > _SMALLEST else float(n)
    plan[_LEAF] = int(chance(stream) * n)
    plan[_WINDOW] = size[ancestor_of_size(parent, size, plan[_LEAF], least)]
    plan[_KICKS_LEFT] -= 1
    plan[_MOVED] = 0
    plan[_PARTS_LEFT] = 1
    while plan[_PARTS_LEFT] < _MOST_PARTS and chance(stream) < 0.5:
        plan[_PARTS_LEFT] += 1


@step
def _random_position(walk, stream):
    # Any but the present one.
    r, place = walk.counts[POSITIONS], walk.counts[PLACE]
    return (place + 1 + int(chance(stream) * (r - 1))) % r


@step
def _next_part(tree, kept, agenda):
    # What is to be surveyed next: a part, the cluster that it stays below, and whether it is displaced and not put
    # where it is best; −1 if all is done. When nothing is left to repair, the next kick is given to the better one of
    # `tree` and `kept`.
    parent, child, size, plan = tree.parent, tree.child, tree.size, agenda.plan
    while True:
        if plan[_WAITING] == 0 and plan[_PARTS_LEFT] == 0:
            keep_better(tree, kept)
            if plan[_KICKS_LEFT] == 0:
                return -1, -1, False
            _plan_kick(parent, size, agenda)
        if plan[_PARTS_LEFT] > 0:
            plan[_PARTS_LEFT] -= 1
            top = ancestor_of_size(parent, size, plan[_LEAF], plan[_WINDOW])
            return _random_part(parent, child, size, top, agenda.stream), top, True
        moved = _take(agenda)
        if parent[moved] >= 0:
            return moved, ancestor_of_size(parent, size, parent[moved], _WIDER * plan[_WINDOW]), False


@step
def _move(tree, walk, agenda, moved, displaces):
    # Regraft the surveyed part; whether it is elsewhere now.
    target = _random_position(walk, agenda.stream) if displaces else best_position(walk)
    if target == walk.counts[PLACE]:
        return False
    regraft(tree.parent, tree.child, moved, target, walk)
    _note_move(tree.parent, tree.child, moved, walk.node[walk.counts[PLACE]], agenda)
    return True


@step
def _advance_compiled(data, tree, kept, walk, agenda, effort):
    while walk.counts[WORK] < effort:
        moved, top, displaces = _next_part(tree, kept, agenda)
        if moved < 0:
            return True
        survey(data, tree, walk, moved, top)
        if _move(tree, walk, agenda, moved, displaces):
            refresh(data, tree, walk, moved)
    return False


def advance(regrafts: Regrafts, tree: Tree, kept: Tree, walk: Walk, agenda: Agenda, effort: int) -> bool:
    """One survey after the other, until all is done (True) or the walk has done so much work (False)."""
    if isinstance(regrafts, CompiledRegrafts):
        return bool(_advance_compiled(regrafts.data, tree, kept, walk, agenda, effort))
    while walk.counts[WORK] < effort:
        moved, top, displaces = _next_part(tree, kept, agenda)
        if moved < 0:
            return True
        regrafts.survey(regrafts.data, tree, walk, moved, top)
        if _move(tree, walk, agenda, moved, displaces):
            regrafts.refresh(regrafts.data, tree, walk, moved)
    return False
