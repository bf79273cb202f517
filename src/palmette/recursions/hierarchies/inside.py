"""The inside pass and the maximum for any model, in log space, over a `SplitTable`, from which log ψ is read.

    Z(P) = Σ ψ(L, R) Z(L) Z(R)        M(P) = max ψ(L, R) M(L) M(R)        leaves: 1

Tables hold logarithms, by mask. `allowed` is a table of flags, or empty if every cluster may occur. A few leaves are
one serial call. Of more, whole levels are filled by blocks of the four clusters that differ in leaves 0 and 1, which
share what they load: nine splits for eight loads.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel, maker
from palmette.clusters import lowest_leaf
from palmette.models.c_functions import BLOCK, PARENT, TILE, score_block, score_subsets
from palmette.numeric import accumulate, exponential, largest
from palmette.recursions.hierarchies.tiles import read_or_score_tile, score_tile
from palmette.recursions.subsets import ZERO, next_subset, tabulate_subsets, tiles_of

__all__ = [
    "count_clusters",
    "log_psi_of_splits",
    "max_blocks",
    "solve",
    "split_terms",
    "sum_blocks",
]

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@inline
def _is_allowed(allowed, mask):
    return allowed.size == 0 or allowed[mask] != 0


@inline
def _with_term(reference, total, x):
    # (r, t) with t e^r = what it was + e^x. NaN stays.
    if x == -np.inf:
        return reference, total
    if x > reference:
        return x, total * exponential(reference - x) + 1.0
    return reference, total + exponential(x - reference)


@inline
def _logarithm_of(reference, total):
    # log(t e^r)
    return -np.inf if total == 0.0 else reference + math.log(total)


@inline
def _larger(x, y):
    return y if y > x else x


# Blocks.


@inline
def _add_parts(V, P, first, others, count, tile):
    # V of both parts to the scores of a block.
    for j in range(count):
        A = first | others[j]
        B = P ^ A
        a, a1, a2, a3 = V[A], V[A | _ONE], V[A | _TWO], V[A | _THREE]
        b, b1, b2, b3 = V[B], V[B | _ONE], V[B | _TWO], V[B | _THREE]
        tile[j] += a + b
        tile[count + j] += a1 + b
        tile[2 * count + j] += a + b1
        tile[3 * count + j] += a2 + b
        tile[4 * count + j] += a + b2
        tile[5 * count + j] += a3 + b
        tile[6 * count + j] += a + b3
        tile[7 * count + j] += a1 + b2
        tile[8 * count + j] += a2 + b1


@inline
def _best_parts(V, P, first, others, count, tile, best):
    # The largest of these sums for each cluster of the block; in registers, in place of a second walk.
    s0, s1, s2, s3 = best[0], best[1], best[2], best[3]
    for j in range(count):
        A = first | others[j]
        B = P ^ A
        a, a1, a2, a3 = V[A], V[A | _ONE], V[A | _TWO], V[A | _THREE]
        b, b1, b2, b3 = V[B], V[B | _ONE], V[B | _TWO], V[B | _THREE]
        s0 = _larger(s0, tile[j] + (a + b))
        s1 = _larger(s1, _larger(tile[count + j] + (a1 + b), tile[2 * count + j] + (a + b1)))
        s2 = _larger(s2, _larger(tile[3 * count + j] + (a2 + b), tile[4 * count + j] + (a + b2)))
        x = _larger(tile[5 * count + j] + (a3 + b), tile[6 * count + j] + (a + b3))
        y = _larger(tile[7 * count + j] + (a1 + b2), tile[8 * count + j] + (a2 + b1))
        s3 = _larger(s3, _larger(x, y))
    best[0], best[1], best[2], best[3] = s0, s1, s2, s3


@maker
def _lows():
    lows = np.empty(3, np.uint64)
    lows[0], lows[1], lows[2] = _ONE, _TWO, _THREE
    return lows


@inline
def _score_rest(data, V, P, lows, first, count, tile):
    # Splits of a cluster of a block that have all but leaves 0 and 1 on one side; they need lower ones of this block.
    score_subsets(data, P, PARENT, ZERO, lows[first : first + count], count, tile)
    for j in range(count):
        low = lows[first + j]
        tile[j] += V[low] + V[P ^ low]


@kernel
def sum_blocks(block, data, allowed, blocks, Z):
    """Z[4H], Z[4H+1], Z[4H+2], Z[4H+3] for the listed H > 0; those of all H' ⊊ H must be known, and Z[0:4]."""
    others, tile = np.empty(BLOCK, np.uint64), np.empty(9 * BLOCK)
    lows = _lows()
    r, t = np.empty(4), np.empty(4)
    for i in range(blocks.size):
        P = np.uint64(blocks[i]) << _TWO
        lowest = lowest_leaf(P)
        for q in range(4):
            r[q], t[q] = -np.inf, 0.0
        count, rest = tabulate_subsets(P ^ lowest, others)
        high = ZERO
        for _ in range(tiles_of(rest)):
            first = lowest | high
            m = count - 1 if high == rest else count  # P itself is no part
            score_block(block, data, P, first, others, m, tile)
            _add_parts(Z, P, first, others, m, tile)
            r[0], t[0] = accumulate(tile, m, largest(tile, m), r[0], t[0])
            one, two, both = tile[m:], tile[3 * m :], tile[5 * m :]
            r[1], t[1] = accumulate(one, 2 * m, largest(one, 2 * m), r[1], t[1])
            r[2], t[2] = accumulate(two, 2 * m, largest(two, 2 * m), r[2], t[2])
            r[3], t[3] = accumulate(both, 4 * m, largest(both, 4 * m), r[3], t[3])
            high = next_subset(high, rest)
        if lowest != P:
            Z[P] = _logarithm_of(r[0], t[0]) if _is_allowed(allowed, P) else -np.inf
        for q in range(1, 4):
            own = P | np.uint64(q)
            first, m = (q - 1, 1) if q < 3 else (0, 3)
            _score_rest(data, Z, own, lows, first, m, tile)
            for j in range(m):
                r[q], t[q] = _with_term(r[q], t[q], tile[j])
            Z[own] = _logarithm_of(r[q], t[q]) if _is_allowed(allowed, own) else -np.inf


@kernel
def max_blocks(block, data, allowed, blocks, M):
    """The same for M."""
    others, tile = np.empty(BLOCK, np.uint64), np.empty(9 * BLOCK)
    lows = _lows()
    best = np.empty(4)
    for i in range(blocks.size):
        P = np.uint64(blocks[i]) << _TWO
        lowest = lowest_leaf(P)
        for q in range(4):
            best[q] = -np.inf
        count, rest = tabulate_subsets(P ^ lowest, others)
        high = ZERO
        for _ in range(tiles_of(rest)):
            first = lowest | high
            m = count - 1 if high == rest else count
            score_block(block, data, P, first, others, m, tile)
            _best_parts(M, P, first, others, m, tile, best)
            high = next_subset(high, rest)
        if lowest != P:
            M[P] = best[0] if _is_allowed(allowed, P) else -np.inf
        for q in range(1, 4):
            own = P | np.uint64(q)
            first, m = (q - 1, 1) if q < 3 else (0, 3)
            _score_rest(data, M, own, lows, first, m, tile)
            best[q] = _larger(best[q], largest(tile, m))
            M[own] = best[q] if _is_allowed(allowed, own) else -np.inf


# One serial call.


@kernel
def solve(data, known, allowed, n, Z, M, others, tile):
    """Z and M of every cluster of n leaves, each split being scored once; M is left alone if it is empty.

    Unless splits are `known` already, see `score_together`.
    """
    has_maximum = M.size > 0
    Z[0] = -np.inf
    if has_maximum:
        M[0] = -np.inf
    for mask in range(1, 1 << n):
        P = np.uint64(mask)
        lowest = lowest_leaf(P)
        reference, total, best = -np.inf, 0.0, -np.inf
        if lowest == P:
            total, reference, best = 1.0, 0.0, 0.0
        elif _is_allowed(allowed, P):
            count, rest = tabulate_subsets(P ^ lowest, others)
            high = ZERO
            for _ in range(tiles_of(rest)):
                first = lowest | high
                m = count - 1 if high == rest else count
                read_or_score_tile(data, known, P, first, others, m, tile)
                if has_maximum:
                    for j in range(m):
                        L = first | others[j]
                        best = _larger(best, tile[j] + (M[L] + M[P ^ L]))
                for j in range(m):
                    L = first | others[j]
                    tile[j] += Z[L] + Z[P ^ L]
                if m < count:
                    tile[m] = -np.inf  # P itself adds nothing
                reference, total = accumulate(tile, count, largest(tile, count), reference, total)
                high = next_subset(high, rest)
        Z[P] = _logarithm_of(reference, total)
        if has_maximum:
            M[P] = best


# Splits that are listed.


@kernel
def split_terms(data, V, mask, left, out):
    """left[j] = L and out[j] = log ψ(L, R) + V[L] + V[R] for every split of one cluster, by increasing L."""
    P = np.uint64(mask)
    lowest = lowest_leaf(P)
    others, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    count, rest = tabulate_subsets(P ^ lowest, others)
    high, at = ZERO, 0
    for _ in range(tiles_of(rest)):
        first = lowest | high
        m = count - 1 if high == rest else count
        score_tile(data, P, first, others, m, tile)
        for j in range(m):
            L = first | others[j]
            left[at] = L
            out[at] = tile[j] + (V[L] + V[P ^ L])
            at += 1
        high = next_subset(high, rest)


@kernel
def log_psi_of_splits(data, parents, lefts, out):
    """out[i] = log ψ of the i-th listed split."""
    other, one = np.empty(1, np.uint64), np.empty(1)
    for i in range(out.size):
        other[0] = lefts[i]
        score_subsets(data, np.uint64(parents[i]), PARENT, ZERO, other, 1, one)
        out[i] = one[0]


@kernel
def count_clusters(data, allowed, masks, modulus, counts):
    """counts[P] = number of hierarchies over P of non-zero potential, modulo `modulus` < 2^32 (or 2^64 if it is 0)."""
    others, tile = np.empty(TILE, np.uint64), np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        total = ZERO
        if _is_allowed(allowed, P):
            lowest = lowest_leaf(P)
            count, rest = tabulate_subsets(P ^ lowest, others)
            high = ZERO
            for _ in range(tiles_of(rest)):
                first = lowest | high
                m = count - 1 if high == rest else count
                score_tile(data, P, first, others, m, tile)
                for j in range(m):
                    L = first | others[j]
                    product = counts[L] * counts[P ^ L]
                    if modulus != ZERO:
                        product %= modulus
                    if tile[j] > -np.inf:
                        total += product  # fewer than 2^30 splits of less than 2^32 each: no overflow
                high = next_subset(high, rest)
        counts[P] = total % modulus if modulus != ZERO else total
