"""Partitions as paths: states, what can be chosen in each, and where that leads; how many there are, and how long."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import kernel
from palmette.array_types import Indices, Ints
from palmette.errors import TrellisTooLarge

__all__ = ["Paths", "count_paths", "frozen_paths", "layered", "longest_paths", "no_paths"]

_LARGEST_TABLE = 10**8  # states × clusters still to take
_FITS_64_BITS = 2.0**63  # of which rounding takes nothing that matters


class Paths(NamedTuple):
    """State s offers choices offsets[s] ≤ i < offsets[s + 1]: take choice_cluster[i], go on at choice_next[i] > s.

    State 0 is the start, where all leaves remain; the last state is the end, where none does.
    """

    offsets: Ints  # (n_states + 1,)
    choice_cluster: Ints  # (n_choices,)
    choice_next: Ints  # (n_choices,)


def frozen_paths(offsets: Ints, cluster: Ints | Indices, following: Ints) -> Paths:
    """The paths of these arrays, which nobody can write to any more."""
    return Paths(*(read_only(np.ascontiguousarray(x, dtype=np.int64)) for x in (offsets, cluster, following)))


def no_paths() -> Paths:
    """Two states and no choices: there is no partition."""
    return frozen_paths(np.zeros(3, np.int64), np.empty(0, np.int64), np.empty(0, np.int64))


@kernel
def longest_paths(offsets, following, length):
    """length[s]: the largest number of clusters from s to the end, −1 if the end cannot be reached."""
    end = offsets.size - 2
    length[end] = 0
    for k in range(end):
        s = end - 1 - k
        most = -1
        for i in range(offsets[s], offsets[s + 1]):
            if length[following[i]] >= 0:
                most = max(most, 1 + length[following[i]])
        length[s] = most


def layered(offsets: Ints, cluster: Ints, following: Ints, k: int) -> Paths:
    """The paths that take exactly k clusters: states are (state, number of clusters still to take).

    The numbers of the clusters stay. Without such a path there are two states and no choices.

    >>> whole_or_singletons = np.array([0, 2, 3, 3]), np.array([2, 0, 1]), np.array([2, 1, 2])
    >>> layered(*whole_or_singletons, k=2).choice_cluster
    array([0, 1])
    """
    n_states = len(offsets) - 1
    if n_states * (k + 1) > _LARGEST_TABLE:
        raise TrellisTooLarge(
            f"paths of exactly {k:,} clusters need a table of {n_states:,} remainders × {k + 1:,}; at most "
            f"{_LARGEST_TABLE:,} entries are possible. Ask for fewer clusters, or give a smaller trellis"
        )
    number = np.zeros((n_states, max(k, 0) + 1), dtype=np.int32)
    n_layered, n_choices = _number_layers(offsets, following, number)
    if n_layered == 0:
        return no_paths()
    if n_choices > _LARGEST_TABLE:
        raise TrellisTooLarge(
            f"paths of exactly {k:,} clusters need {n_choices:,} choices; at most {_LARGEST_TABLE:,} are possible. "
            f"Ask for fewer clusters, or give a smaller trellis"
        )
    new = np.zeros(n_layered + 1, np.int64), np.empty(n_choices, np.int64), np.empty(n_choices, np.int64)
    _fill_layers(offsets, cluster, following, number, *new)
    return frozen_paths(*new)


@kernel
def _number_layers(offsets, following, number):
    """number[s, j]: of the state "s, and j clusters to take", −1 if it is on no path from (0, k) to (end, 0).

    Returns how many states and choices there are. `number` has shape (n_states, k + 1), and is all zeros at first.
    """
    end, k = offsets.size - 2, number.shape[1] - 1
    number[end, 0] = 1
    for r in range(end):
        s = end - 1 - r
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                number[s, j + 1] |= number[following[i], j]
    number[0, k] *= 2  # 1: can finish; 2: can finish and be reached
    for s in range(end):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                if number[s, j + 1] == 2 and number[following[i], j] == 1:
                    number[following[i], j] = 2
    states, choices = 0, 0
    for s in range(end):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                choices += number[s, j + 1] == 2 and number[following[i], j] == 2
    for s in range(end + 1):
        for j in range(k + 1):
            reached = number[s, j] == 2
            number[s, j] = states if reached else -1
            states += reached
    return states, choices


@kernel
def _fill_layers(offsets, cluster, following, number, new_offsets, new_cluster, new_next):
    """The choices between the states that `_number_layers` found."""
    choices = 0
    for s in range(number.shape[0]):
        for j in range(number.shape[1]):
            if number[s, j] < 0:
                continue
            for i in range(offsets[s], offsets[s + 1]):
                if number[following[i], j - 1] >= 0:
                    new_cluster[choices] = cluster[i]
                    new_next[choices] = number[following[i], j - 1]
                    choices += 1
            new_offsets[number[s, j] + 1] = choices


@kernel
def _count(offsets, cluster, following, possible, counts, about):
    # Numbers of paths modulo 2^64, and as floating-point numbers, which tell whether that is enough.
    end = offsets.size - 2
    counts[end] = about[end] = 1
    for k in range(end):
        s = end - 1 - k
        counts[s] = about[s] = 0
        for i in range(offsets[s], offsets[s + 1]):
            if possible[cluster[i]]:
                counts[s] += counts[following[i]]
                about[s] += about[following[i]]


def count_paths(offsets: Ints, cluster: Ints, following: Ints, possible: npt.NDArray[np.bool_]) -> int:
    """The exact number of paths all of whose clusters are possible.

    >>> count_paths(np.array([0, 2, 3, 3]), np.array([2, 0, 1]), np.array([2, 1, 2]), np.ones(3, dtype=bool))
    2
    """
    counts, about = np.empty(len(offsets) - 1, dtype=np.uint64), np.empty(len(offsets) - 1)
    _count(offsets, cluster, following, possible, counts, about)
    return int(counts[0]) if about[0] < _FITS_64_BITS else _count_large(offsets, cluster, following, possible)


def _count_large(offsets: Ints, cluster: Ints, following: Ints, possible: npt.NDArray[np.bool_]) -> int:
    # Integers of any length. A state's number is dropped at the lowest state that leads there: nobody needs it after.
    n_states = len(offsets) - 1
    kept = possible[cluster]
    state = np.repeat(np.arange(n_states), np.diff(offsets))[kept]
    onward = following[kept]
    lowest = np.full(n_states, -1)
    lowest[onward[::-1]] = state[::-1]  # the last one written stays
    starts = np.searchsorted(state, np.arange(n_states + 1)).tolist()
    ahead, needed_until = onward.tolist(), lowest.tolist()
    counts = [0] * n_states
    counts[-1] = 1
    for s in range(n_states - 2, -1, -1):
        choices = ahead[starts[s] : starts[s + 1]]
        if s == 0 or needed_until[s] >= 0:
            counts[s] = sum([counts[x] for x in choices])
        for x in choices:
            if needed_until[x] == s:
                counts[x] = 0
    return counts[0]
