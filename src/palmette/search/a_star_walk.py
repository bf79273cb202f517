"""The walk of `a_star`: clusters with a value that only falls, and heaps of their splits. It needs no model.

Clusters that have come up are numbered, and found by mask in a hash table; number 0 stands for any single leaf. The
splits of an open cluster lie in one stretch of long arrays, as a heap. The search is a walk along a path of clusters
from the root: down to one that is not settled, and back up when a value fell. It stops where a cluster is to be opened.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints, Words
from palmette.clusters import size_of
from palmette.hashing import mix
from palmette.recursions.subsets import ZERO

__all__ = [
    "CLUSTERS",
    "CROWDED",
    "DEPTH",
    "DONE",
    "FULL",
    "IS_OPENING",
    "MORE",
    "OF_CLUSTERS",
    "OF_HASHING",
    "OF_SPLITS",
    "OPENED",
    "SPLITS",
    "SUBSET",
    "TO_OPEN",
    "WASTE",
    "State",
    "add_split",
    "advance",
    "begin",
    "compact",
    "end",
    "enter",
    "find_number",
    "first_state",
    "joined",
    "number",
    "rehash",
    "room_for_split",
]

_INF = math.inf
_CLOSED = -1  # in `State.first`: the splits are not listed
_ONE = np.uint64(1)

DONE, MORE, TO_OPEN, FULL, CROWDED = range(5)  # why a call came back: FULL of splits, CROWDED with clusters
CLUSTERS, SPLITS, OPENED, LISTED, DEPTH, WASTE, SUBSET, IS_OPENING = range(8)  # what `State.numbers` counts

# The arrays of `State` that have an entry for each cluster, twice as many for hashing, and one for each split.
OF_CLUSTERS = {"mask": "u8", "upper": "f8", "lower": "f8", "choice": "u8", "first": "i8", "n_splits": "i8"}
OF_CLUSTERS |= {"settled": "?", "opened": "i8"}
OF_HASHING = {"keys": "u8", "number_of": "i8"}
OF_SPLITS = {"left": "u8", "log_psi": "f8", "total": "f8"}


class State(NamedTuple):
    """All that a search has come to know."""

    keys: Words  #: the hash table: a mask, or 0
    number_of: Ints
    mask: Words  #: of each cluster, by number, as are the following
    upper: Floats  #: no hierarchy over it has a larger log potential
    lower: Floats  #: log potential of one that we have
    choice: Words  #: the left part of its first split; 0 if there is none
    first: Ints  #: its first split, or −1 if it is not open
    n_splits: Ints  #: how many of its splits are still in question
    settled: npt.NDArray[np.bool_]
    opened: Ints  #: clusters in the order in which they were opened, which is that of their splits
    left: Words  #: of each split, as are the following
    log_psi: Floats
    total: Floats  #: log ψ + values of both parts, when last looked at
    path: Ints  #: clusters from the root to where the search is
    floor: Floats  #: a cluster on the path is part of the best partial hierarchy while its value is no less
    numbers: Ints


def first_state(n: int) -> State:
    """Room for some clusters and splits. The leaf, number 0, is there and settled; the root will be number 1."""
    room = {1 << 10: OF_CLUSTERS, 1 << 11: OF_HASHING, 1 << 12: OF_SPLITS}
    arrays = {name: np.zeros(m, dtype) for m, dtypes in room.items() for name, dtype in dtypes.items()}
    arrays |= {"path": np.ones(n, np.int64), "floor": np.full(n, -_INF), "numbers": np.zeros(8, np.int64)}
    arrays["numbers"][CLUSTERS], arrays["settled"][:] = 1, True
    return State(**arrays)


@inline
def joined(log_psi, one, two):
    """log ψ + values of both parts; −inf if one of them is, whatever the others are."""
    return -_INF if min(log_psi, one, two) == -_INF else log_psi + one + two


@inline
def _swap(left, log_psi, total, i, j):
    left[i], left[j] = left[j], left[i]
    log_psi[i], log_psi[j] = log_psi[j], log_psi[i]
    total[i], total[j] = total[j], total[i]


@inline
def _is_before(left, total, i, j):
    return total[i] > total[j] or (total[i] == total[j] and left[i] < left[j])


@inline
def _sink(left, log_psi, total, first, count, place):
    # Split number `place` of the heap from `first` on goes down to where it belongs.
    while 2 * place + 1 < count:
        child = 2 * place + 1
        if child + 1 < count and _is_before(left, total, first + child + 1, first + child):
            child += 1
        if not _is_before(left, total, first + child, first + place):
            return
        _swap(left, log_psi, total, first + child, first + place)
        place = child


@inline
def _find(keys, mask):
    # Where a mask is in the hash table, or where it would go. It holds the masks themselves: `palmette.hashing` would
    # look each one up by its number, in a second array, and this is where the search spends its time.
    last = np.uint64(keys.size - 1)
    at = mix(ZERO, mask) & last
    while keys[at] != ZERO and keys[at] != mask:
        at = (at + _ONE) & last
    return at


@inline
def number(keys, number_of, mask):
    """The number of a cluster: 0 for a leaf, −1 for one that has not come up."""
    if mask & (mask - _ONE) == ZERO:
        return 0
    at = _find(keys, mask)
    return number_of[at] if keys[at] != ZERO else -1


@kernel
def find_number(state, mask):
    """`number`, for Python."""
    return number(state.keys, state.number_of, mask)


@inline
def enter(state, mask, upper):
    """Number a cluster, unless it has a number."""
    at = _find(state.keys, mask)
    if state.keys[at] == ZERO and mask & (mask - _ONE) != ZERO:
        c = state.numbers[CLUSTERS]
        state.numbers[CLUSTERS] += 1
        state.keys[at], state.number_of[at] = mask, c
        state.mask[c], state.upper[c], state.lower[c], state.choice[c] = mask, upper, -_INF, ZERO
        state.first[c], state.n_splits[c], state.settled[c] = _CLOSED, 0, False


@kernel
def begin(state, c):
    """The splits of a cluster are listed from here on."""
    numbers = state.numbers
    state.first[c] = numbers[SPLITS]
    state.opened[numbers[LISTED]] = c
    numbers[LISTED] += 1
    numbers[OPENED] += 1
    numbers[SUBSET], numbers[IS_OPENING] = 0, 1


@inline
def room_for_split(state):
    """DONE if there is room for one more split and its parts, or else the reason."""
    if state.numbers[SPLITS] == state.left.size:
        return FULL
    return CROWDED if state.numbers[CLUSTERS] + 2 > state.mask.size else DONE


@inline
def add_split(state, c, left, log_psi, one, two):
    """List a split of a cluster, given the values of its parts."""
    enter(state, left, one)
    enter(state, state.mask[c] ^ left, two)
    i = state.numbers[SPLITS]
    state.left[i], state.log_psi[i], state.total[i] = left, log_psi, joined(log_psi, one, two)
    state.numbers[SPLITS] += 1
    state.n_splits[c] += 1


@kernel
def end(state, c):
    """All splits of the cluster are listed."""
    state.numbers[IS_OPENING] = 0
    half = state.n_splits[c] // 2
    for i in range(half):
        _sink(state.left, state.log_psi, state.total, state.first[c], state.n_splits[c], half - 1 - i)


@inline
def _revise(state, c):
    # Look at the top split until its total stands: that is the value of the cluster.
    left, log_psi, total = state.left, state.log_psi, state.total
    keys, number_of, upper = state.keys, state.number_of, state.upper
    first, count, mask = state.first[c], state.n_splits[c], state.mask[c]
    while count > 0:
        one, two = number(keys, number_of, left[first]), number(keys, number_of, mask ^ left[first])
        now = joined(log_psi[first], upper[one], upper[two])
        if now >= total[first]:
            break
        total[first] = now
        if now == -_INF:
            count -= 1
            _swap(left, log_psi, total, first, first + count)
        _sink(left, log_psi, total, first, count, 0)
    state.numbers[WASTE] += state.n_splits[c] - count
    state.n_splits[c] = count
    upper[c] = min(upper[c], total[first]) if count > 0 else -_INF


@inline
def _settle(state, c):
    state.settled[c] = True
    state.numbers[WASTE] += state.n_splits[c]
    state.n_splits[c] = 0


@inline
def _next_cluster(state, c):
    # The smaller part of the top split that is not settled; 0 if both are, and then the split is taken.
    first = state.first[c]
    left, right = state.left[first], state.mask[c] ^ state.left[first]
    one, two = number(state.keys, state.number_of, left), number(state.keys, state.number_of, right)
    if not state.settled[one] and (state.settled[two] or size_of(left) <= size_of(right)):
        return one
    if not state.settled[two]:
        return two
    low = joined(state.log_psi[first], state.lower[one], state.lower[two])
    if low > state.lower[c]:
        state.lower[c], state.choice[c] = low, left
    _settle(state, c)
    return 0


@inline
def _floor(state, c, below, floor):
    # How far the value of a part may fall before another split of c is better, or another cluster than c.
    first = state.first[c]
    for i in range(1, min(3, state.n_splits[c])):
        floor = max(floor, state.total[first + i])
    fall = state.total[first] - floor
    return state.upper[below] - fall if fall < _INF else -_INF


@kernel
def advance(state, tolerance, budget):
    """Walk until the root is settled (DONE), a cluster is to be opened (TO_OPEN), or the budget is spent (MORE)."""
    numbers = state.numbers
    for _ in range(budget):
        depth = numbers[DEPTH]
        c = state.path[depth]
        if state.settled[c]:
            if depth == 0:
                return DONE
            numbers[DEPTH] -= 1
        elif state.first[c] == _CLOSED or numbers[IS_OPENING]:
            return TO_OPEN
        else:
            _revise(state, c)
            if state.n_splits[c] == 0 or state.upper[c] <= state.lower[c] + tolerance:
                _settle(state, c)
            elif state.upper[c] < state.floor[depth]:
                numbers[DEPTH] -= 1
            else:
                below = _next_cluster(state, c)
                if below > 0:
                    state.path[depth + 1] = below
                    state.floor[depth + 1] = _floor(state, c, below, state.floor[depth])
                    numbers[DEPTH] += 1
    return MORE


@kernel
def compact(state):
    """Splits of settled clusters go; the others move together, in the same order."""
    numbers = state.numbers
    to, kept = 0, 0
    for x in range(numbers[LISTED]):
        c = state.opened[x]
        if not state.settled[c]:
            first = state.first[c]
            state.first[c] = to
            for i in range(first, first + state.n_splits[c]):
                state.left[to], state.log_psi[to], state.total[to] = state.left[i], state.log_psi[i], state.total[i]
                to += 1
            state.opened[kept] = c
            kept += 1
    numbers[SPLITS], numbers[LISTED], numbers[WASTE] = to, kept, 0


@kernel
def rehash(state):
    """Fill an empty hash table."""
    for c in range(1, state.numbers[CLUSTERS]):
        at = _find(state.keys, state.mask[c])
        state.keys[at], state.number_of[at] = state.mask[c], c
