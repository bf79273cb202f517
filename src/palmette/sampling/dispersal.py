"""Where chains begin, of many places where they could: far apart, so that one that finds another answer is among them.

Where there are two answers, a start comes to either by chance: of four chains all begin at the same one in one run of
eight, and then agree. Of sixteen starts all are at the same one in one run of 32,768, and chains take those that are
farthest apart.
"""

from __future__ import annotations

from palmette.array_types import Ints

__all__ = ["far_apart", "n_candidates", "n_starts"]

_CANDIDATES = 16
_MOST_WORK = 500_000  # Σ n² over all of them: some seconds of one processor


def n_candidates(n_leaves: int) -> int:
    """How many starts are made to choose from: 16, and fewer from 177 leaves on."""
    return min(_CANDIDATES, _MOST_WORK // n_leaves**2)


def n_starts(n_leaves: int, n_chains: int, n_given: int) -> int:
    """How many starts are made for some chains: more than these if one of several that are not given can be chosen.

    >>> n_starts(100, 6, 1), n_starts(100, 6, 6), n_starts(100, 1, 0)
    (16, 6, 1)
    """
    return n_chains if n_chains == 1 or n_given >= n_chains else max(n_chains, n_candidates(n_leaves))


def far_apart(gaps: Ints, count: int, n_given: int = 0) -> list[int]:
    """Which of m starts to take: the first `n_given`, at least one, then always the one farthest from those taken.

    `gaps` (m, m) says how far two of them are apart. Of several that are as far, it is the first.

    >>> import numpy as np
    >>> far_apart(np.abs(np.subtract.outer([3, 4, 9, 0], [3, 4, 9, 0])), 3)
    [0, 2, 3]
    """
    chosen = list(range(max(1, n_given)))[:count]
    while len(chosen) < count:
        nearest = gaps[chosen].min(axis=0)
        nearest[chosen] = -1
        chosen.append(int(nearest.argmax()))
    return chosen
