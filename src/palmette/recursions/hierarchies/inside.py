"""Bottom-up passes for any model, in log space, over ``log_psi(data, P, L, R)``.

    Z(P) = Σ ψ(L, R) Z(L) Z(R)        M(P) = max ψ(L, R) M(L) M(R)        leaves: 1

Tables hold logarithms, by mask. `allowed` is a table of flags, or empty if every cluster may occur. Whole levels are
filled by blocks of four clusters, which share what they load, or cluster by cluster if that lets the score be made of
vectors: see `palmette.recursions.tiles`. The rest are templates.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palmette._jit import inline, specialise, specialise_inline
from palmette.clusters import lowest_leaf
from palmette.numeric import accumulate, exponential, largest
from palmette.recursions.semirings import MAXIMUM
from palmette.recursions.subsets import TILE, ZERO, next_subset, tabulate_subsets, walking
from palmette.recursions.tiles import scores_by_vectors, stack_tile

__all__ = [
    "count_clusters",
    "inside_blocks",
    "inside_clusters",
    "log_psi_of_splits",
    "max_blocks",
    "max_clusters",
    "solve_all",
    "solve_all_inline",
    "split_terms",
    "sum_all_inline",
]

log_psi: Any = None  # the model's, put in by `specialise`
walk: Any = None  # put in by `walking`, as are all of these
score_splits: Any = None
score_tile: Any = None
scored: Any = None
value: Any = None
none: Any = None
join: Any = None
settled: Any = None
better: Any = None  # put in by `solve_all` and its kin, as is the next
keep: Any = None

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@inline
def _is_allowed(allowed, mask):
    return allowed.size == 0 or allowed[mask] != 0


@inline
def _no_sum():
    return -np.inf, 0.0


@inline
def _with_term(state, x):
    # (r, t) with t e^r = what it was + e^x. NaN stays.
    reference, total = state
    if x == -np.inf:
        return reference, total
    if x > reference:
        return x, total * exponential(reference - x) + 1.0
    return reference, total + exponential(x - reference)


@inline
def _logarithm_of(state):
    # log(t e^r)
    reference, total = state
    return -np.inf if total == 0.0 else reference + math.log(total)


@inline
def _no_maximum():
    return -np.inf


@inline
def _itself(state):
    return state


# What is done along the way: a sum (r, t) that stands for t e^r, or a maximum.
_SUM = {"none": _no_sum, "join": _with_term, "settled": _logarithm_of}
_MAXIMUM = {"none": _no_maximum, "join": MAXIMUM.add, "settled": _itself}


@inline
def _made_even(table, end):
    # Only the last tile of a walk lacks a split, P itself. It gets another one in its place, to be passed over: a whole
    # power of two is a whole number of vectors. Every walk begins with a new table.
    if end & 1:
        table[end] = table[0]
    return end + (end & 1)


def _score_tile(data, P, first, table, end, tile):
    # tile[j] = log ψ of the splits {L, R} of P, L = first | table[j]; how many these are, made even.
    count = _made_even(table, end)
    for j in range(count):
        L = first | table[j]
        tile[j] = log_psi(data, P, L, P ^ L)
    return count


def _score_splits(context, first, table, end, tile):
    # tile[j] = log ψ(L, R) + V(L) + V(R); how many these are.
    data, V, P = context
    count = score_tile(data, P, first, table, end, tile)
    for j in range(count):
        L = first | table[j]
        tile[j] += V[L] + V[P ^ L]
    if end < count:
        tile[end] = -np.inf
    return count


def _add_splits(context, first, table, begin, end, tile, state):
    count = score_splits(context, first, table, end, tile)
    return accumulate(tile, count, largest(tile, count), state[0], state[1])


def _best_split(context, first, table, begin, end, tile, state):
    return join(state, largest(tile, score_splits(context, first, table, end, tile)))


def _fill_clusters(data, allowed, masks, V):
    table = np.empty(TILE, np.uint64)
    tile = stack_tile()
    for i in range(masks.size):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        V[P] = -np.inf
        if _is_allowed(allowed, P):
            V[P] = settled(walk((data, V, P), lowest, P ^ lowest, 0, 1, table, tile, none()))


def _by_clusters(log_psi: Any, visit: Any, how: dict[str, Any]) -> Any:
    score_tile = specialise_inline(_score_tile, log_psi=log_psi)
    return walking(_fill_clusters, visit, score_splits=specialise_inline(_score_splits, score_tile=score_tile), **how)


def inside_clusters(log_psi: Any) -> Any:
    """The kernel (data, allowed, masks, Z): Z[P] for the listed clusters; those of their parts must be known."""
    return _by_clusters(log_psi, _add_splits, _SUM)


def max_clusters(log_psi: Any) -> Any:
    """The kernel (data, allowed, masks, M): M[P] for the listed clusters; those of their parts must be known."""
    return _by_clusters(log_psi, _best_split, _MAXIMUM)


def _add_block(context, first, table, begin, end, tiles, state):
    data, V, P = context
    tile0, tile1, tile2, tile3 = tiles
    s0, s1, s2, s3 = state
    P1, P2, P3 = P | _ONE, P | _TWO, P | _THREE
    count = _made_even(table, end)
    for j in range(count):
        A = first | table[j]
        B = P ^ A
        A1, A2, A3 = A | _ONE, A | _TWO, A | _THREE
        B1, B2, B3 = B | _ONE, B | _TWO, B | _THREE
        tile0[j] = value(data, V, P, A, B)
        tile1[j], tile1[count + j] = value(data, V, P1, A1, B), value(data, V, P1, A, B1)
        tile2[j], tile2[count + j] = value(data, V, P2, A2, B), value(data, V, P2, A, B2)
        tile3[j], tile3[count + j] = value(data, V, P3, A3, B), value(data, V, P3, A, B3)
        tile3[2 * count + j], tile3[3 * count + j] = value(data, V, P3, A1, B2), value(data, V, P3, A2, B1)
    if end < count:
        tile0[end] = tile1[end] = tile1[count + end] = tile2[end] = tile2[count + end] = -np.inf
        tile3[end] = tile3[count + end] = tile3[2 * count + end] = tile3[3 * count + end] = -np.inf
    s0 = accumulate(tile0, count, largest(tile0, count), s0[0], s0[1])
    s1 = accumulate(tile1, 2 * count, largest(tile1, 2 * count), s1[0], s1[1])
    s2 = accumulate(tile2, 2 * count, largest(tile2, 2 * count), s2[0], s2[1])
    s3 = accumulate(tile3, 4 * count, largest(tile3, 4 * count), s3[0], s3[1])
    return s0, s1, s2, s3


def _best_of_block(context, first, table, begin, end, tiles, state):
    # Maxima stay in registers, without tiles.
    data, V, P = context
    s0, s1, s2, s3 = state
    P1, P2, P3 = P | _ONE, P | _TWO, P | _THREE
    for j in range(end):
        A = first | table[j]
        B = P ^ A
        A1, A2, A3 = A | _ONE, A | _TWO, A | _THREE
        B1, B2, B3 = B | _ONE, B | _TWO, B | _THREE
        s0 = join(s0, value(data, V, P, A, B))
        s1 = join(s1, join(value(data, V, P1, A1, B), value(data, V, P1, A, B1)))
        s2 = join(s2, join(value(data, V, P2, A2, B), value(data, V, P2, A, B2)))
        x = join(value(data, V, P3, A3, B), value(data, V, P3, A, B3))
        y = join(value(data, V, P3, A1, B2), value(data, V, P3, A2, B1))
        s3 = join(s3, join(x, y))
    return s0, s1, s2, s3


def _fill_blocks(data, allowed, blocks, V):
    table = np.empty(TILE // 4, np.uint64)
    tiles = stack_tile(), stack_tile(), stack_tile(), stack_tile()
    for i in range(blocks.size):
        P = np.uint64(blocks[i]) << _TWO
        P1, P2, P3 = P | _ONE, P | _TWO, P | _THREE
        lowest = lowest_leaf(P)
        start = none(), none(), none(), none()
        s0, s1, s2, s3 = walk((data, V, P), lowest, P ^ lowest, 0, 1, table, tiles, start)
        # What is left has all of H on one side; it needs the lower clusters of this very block.
        if lowest != P:
            V[P] = settled(s0) if _is_allowed(allowed, P) else -np.inf
        s1 = join(s1, value(data, V, P1, _ONE, P))
        V[P1] = settled(s1) if _is_allowed(allowed, P1) else -np.inf
        s2 = join(s2, value(data, V, P2, _TWO, P))
        V[P2] = settled(s2) if _is_allowed(allowed, P2) else -np.inf
        s3 = join(s3, value(data, V, P3, _ONE, P2))
        s3 = join(s3, value(data, V, P3, _TWO, P1))
        s3 = join(s3, value(data, V, P3, _THREE, P))
        V[P3] = settled(s3) if _is_allowed(allowed, P3) else -np.inf


def _value(data, V, P, L, R):
    return log_psi(data, P, L, R) + (V[L] + V[R])


def inside_blocks(log_psi: Any) -> Any:
    """The kernel (data, allowed, blocks, Z): Z[4H], Z[4H+1], Z[4H+2], Z[4H+3] for the listed H > 0.

    Those of all H' ⊊ H must be known, and Z[0:4]. Four clusters that differ in leaves 0 and 1 share one walk over the
    splits {A, B} of H: nine values for eight loads.
    """
    return walking(_fill_blocks, _add_block, value=specialise_inline(_value, log_psi=log_psi), **_SUM)


def max_blocks(log_psi: Any) -> Any:
    """The kernel (data, allowed, blocks, M): the same for M."""
    return walking(_fill_blocks, _best_of_block, value=specialise_inline(_value, log_psi=log_psi), **_MAXIMUM)


def _solve_all(data, allowed, n, Z, M):
    # The walk is written out, since two recursions go along it.
    table = np.empty(TILE, np.uint64)
    tile = stack_tile()
    Z[0] = -np.inf
    keep(M, ZERO, -np.inf)
    for mask in range(1, 1 << n):
        P = np.uint64(mask)
        lowest = lowest_leaf(P)
        if lowest == P:
            Z[P] = 0.0
            keep(M, P, 0.0)
            continue
        sums = _no_sum()
        best = -np.inf
        if _is_allowed(allowed, P):
            count, others = tabulate_subsets(P ^ lowest, table)
            high = ZERO
            while True:
                first = lowest | high
                end = count - 1 if high == others else count
                score_tile(data, P, first, table, end, tile)
                top = -np.inf
                for j in range(end):
                    L = first | table[j]
                    R = P ^ L
                    log_potential = scored(data, P, L, R, tile, j)
                    x = log_potential + (Z[L] + Z[R])
                    tile[j] = x
                    top = x if x > top else top
                    best = better(best, log_potential, M, L, R)
                if end < count:
                    tile[end] = -np.inf  # P itself adds nothing
                sums = accumulate(tile, count, top, sums[0], sums[1])
                if high == others:
                    break
                high = next_subset(high, others)
        keep(M, P, best)
        Z[P] = _logarithm_of(sums)


@inline
def _better_split(best, log_potential, M, L, R):
    y = log_potential + (M[L] + M[R])
    return y if y > best else best


@inline
def _put(M, P, value):
    M[P] = value


@inline
def _no_better(best, log_potential, M, L, R):
    return best


@inline
def _put_nothing(M, P, value):
    pass


@inline
def _score_nothing(data, P, first, table, end, tile):
    return 0


def _scored_now(data, P, L, R, tile, j):
    return log_psi(data, P, L, R)


@inline
def _scored_before(data, P, L, R, tile, j):
    return tile[j]


_BOTH = {"better": _better_split, "keep": _put}
_SUM_ALONE = {"better": _no_better, "keep": _put_nothing}


def _scoring(log_psi: Any) -> dict[str, Any]:
    if scores_by_vectors(log_psi):
        return {"score_tile": specialise_inline(_score_tile, log_psi=log_psi), "scored": _scored_before}
    return {"score_tile": _score_nothing, "scored": specialise_inline(_scored_now, log_psi=log_psi)}


def solve_all(log_psi: Any) -> Any:
    """The kernel (data, allowed, n, Z, M): both for every cluster of n leaves, scoring each split once."""
    return specialise(_solve_all, **_scoring(log_psi), **_BOTH)


def solve_all_inline(log_psi: Any) -> Any:
    """The same as a part of other kernels."""
    return specialise_inline(_solve_all, **_scoring(log_psi), **_BOTH)


def sum_all_inline(log_psi: Any) -> Any:
    """The same for Z alone; M is left as it is, and may be empty."""
    return specialise_inline(_solve_all, **_scoring(log_psi), **_SUM_ALONE)


def split_terms(data, V, mask, left, out):
    """left[j] = L and out[j] = log ψ(L, R) + V[L] + V[R] for every split of one cluster, by increasing L."""
    P = np.uint64(mask)
    lowest = lowest_leaf(P)
    others = P ^ lowest
    sub = ZERO
    for j in range(out.size):
        L = lowest | sub
        R = P ^ L
        left[j] = L
        out[j] = log_psi(data, P, L, R) + (V[L] + V[R])
        sub = next_subset(sub, others)


def log_psi_of_splits(data, parents, lefts, rights, out):
    """out[i] = log ψ of the i-th listed split."""
    for i in range(out.size):
        out[i] = log_psi(data, parents[i], lefts[i], rights[i])


def count_clusters(data, allowed, masks, modulus, counts):
    """counts[P] = number of hierarchies over P of non-zero potential, modulo `modulus` < 2^32 (or 2^64 if it is 0)."""
    for i in range(masks.size):
        P = np.uint64(masks[i])
        total = ZERO
        if _is_allowed(allowed, P):
            lowest = lowest_leaf(P)
            others = P ^ lowest
            sub = ZERO
            while sub != others:
                L = lowest | sub
                R = P ^ L
                product = counts[L] * counts[R]
                if modulus != ZERO:
                    product %= modulus
                if product != ZERO and log_psi(data, P, L, R) > -np.inf:
                    total += product  # fewer than 2^30 splits of less than 2^32 each: no overflow
                sub = next_subset(sub, others)
        counts[P] = total % modulus if modulus != ZERO else total
