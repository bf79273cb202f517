"""log ψ of the splits of a cluster, a tile at a time; of few leaves those of all clusters in one call.

A C function costs as much to call as three or four scores. Clusters of few leaves have few splits, so a problem of up
to `LISTED_LEAVES` leaves has them all scored at once, from a list that is the same for all such problems: splits are
sorted by their parent, so the list of fewer leaves is the beginning of that of more.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from palmette._jit import inline, maker
from palmette.array_types import Floats, Ints
from palmette.clusters import left_parts
from palmette.models.c_functions import PARENT, score_columns, score_subsets

__all__ = [
    "LISTED_LEAVES",
    "NOTHING_KNOWN",
    "Known",
    "ListedSplits",
    "listed_splits",
    "read_or_score_tile",
    "score_tile",
    "score_together",
]

LISTED_LEAVES = 8


class ListedSplits(NamedTuple):
    """All splits of all clusters of a few leaves, by parent and by increasing left part."""

    starts: Ints  # by mask: where the splits of a cluster begin
    parents: Ints
    lefts: Ints
    rights: Ints


class Known(NamedTuple):
    """log ψ of the splits that were scored together; none if there are too many leaves."""

    starts: Ints
    log_psi: Floats


#: Where none were.
NOTHING_KNOWN = Known(np.empty(0, np.int64), np.empty(0))


@functools.cache
def listed_splits() -> ListedSplits:
    """Those of `LISTED_LEAVES` leaves."""
    lefts = [left_parts(mask).astype(np.int64) for mask in range(1 << LISTED_LEAVES)]
    lengths = np.array([len(part) for part in lefts])
    parents, left = np.repeat(np.arange(len(lefts)), lengths), np.concatenate(lefts)
    return ListedSplits(np.append(0, np.cumsum(lengths)), parents, left, parents ^ left)


@maker
def score_together(splits, data, listed, n, log_psi):
    """log ψ of all splits of n leaves, by the address of `splits`, into `log_psi`."""
    count = listed.starts[1 << n] if n <= LISTED_LEAVES else 0
    score_columns(splits, data, listed.parents, listed.lefts, listed.rights, count, log_psi)
    return Known(listed.starts, log_psi[:count])


@inline
def score_tile(data, P, first, others, count, tile):
    """tile[j] = log ψ of the splits {L, P ^ L}, L = first | others[j], for j < count."""
    # The last tile of a walk lacks a split, P itself. It gets another one in its place: a whole power of two is a whole
    # number of vectors. Every walk begins with a new table.
    if count & 1:
        others[count] = others[0]
    score_subsets(data, P, PARENT, first, others, count + (count & 1), tile)


@inline
def read_or_score_tile(data, known, P, first, others, count, tile):
    """The same, from what is known if anything is: of few leaves all splits of a cluster are one tile."""
    if known.log_psi.size > 0:
        begin = known.starts[P]
        for j in range(count):
            tile[j] = known.log_psi[begin + j]
    else:
        score_tile(data, P, first, others, count, tile)
