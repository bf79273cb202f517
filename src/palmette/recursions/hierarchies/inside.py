"""Bottom-up passes for any model, in log space, over ``log_psi(data, P, L, R)``: templates but `inside_clusters`.

    Z(P) = Σ ψ(L, R) Z(L) Z(R)        M(P) = max ψ(L, R) M(L) M(R)        leaves: 1

Tables hold logarithms, by mask. `allowed` is a table of flags, or empty if every cluster may occur.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from palmette._jit import inline
from palmette.clusters import lowest_leaf
from palmette.numeric import accumulate, largest
from palmette.recursions.subsets import TILE, ZERO, next_subset, tabulate_subsets, walking

__all__ = [
    "count_clusters",
    "inside_blocks",
    "inside_clusters",
    "listed_log_psi",
    "max_blocks",
    "solve_all",
    "split_values",
]

log_psi: Any = None  # the model's, put in by `specialise`
walk: Any = None  # put in by `walking`

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)


@inline
def _is_allowed(allowed, mask):
    return allowed.size == 0 or allowed[mask] != 0


@inline
def _logarithm_of(reference, total):
    # log(total e^reference)
    return reference + math.log(total) if reference > -np.inf else -np.inf


def _add_splits(context, first, table, begin, end, tile, state):
    # (r, t) with t e^r = Σ ψ(L, R) Z(L) Z(R) so far.
    data, Z, P = context
    for j in range(end):
        L = first | table[j]
        R = P ^ L
        tile[j] = log_psi(data, P, L, R) + (Z[L] + Z[R])
    return accumulate(tile, end, largest(tile, end), state[0], state[1]) if end > 0 else state


def _inside_clusters(data, allowed, masks, Z):
    table = np.empty(TILE, np.uint64)
    tile = np.empty(TILE)
    for i in range(masks.size):
        P = np.uint64(masks[i])
        Z[P] = -np.inf
        if _is_allowed(allowed, P):
            lowest = lowest_leaf(P)
            reference, total = walk((data, Z, P), lowest, P ^ lowest, 0, 1, table, tile, (-np.inf, 0.0))
            Z[P] = _logarithm_of(reference, total)


def inside_clusters(log_psi: Any) -> Any:
    """The kernel (data, allowed, masks, Z): Z[P] for the listed clusters; those of their parts must be known."""
    return walking(_inside_clusters, _add_splits, log_psi=log_psi)


def inside_blocks(data, allowed, blocks, Z):
    """Z[4H], Z[4H+1], Z[4H+2], Z[4H+3] for the listed H > 0; those of all H' ⊊ H must be known, and Z[0:4].

    Four clusters that differ in leaves 0 and 1 share one walk over the splits {A, B} of H: nine values for eight loads.
    """

    def value(P, L, R):
        return log_psi(data, P, L, R) + (Z[L] + Z[R])

    tile0, tile1, tile2, tile3 = np.empty(TILE), np.empty(TILE), np.empty(TILE), np.empty(TILE)
    for i in range(blocks.size):
        H = np.uint64(blocks[i])
        P = H << _TWO
        P1, P2, P3 = P | _ONE, P | _TWO, P | _THREE
        lowest = lowest_leaf(H)
        others = H ^ lowest
        r0 = r1 = r2 = r3 = -np.inf
        t0 = t1 = t2 = t3 = 0.0
        sub = ZERO
        while sub != others:
            j = 0
            while sub != others and j < TILE // 4:
                A = (lowest | sub) << _TWO
                B = P ^ A
                A1, A2, A3 = A | _ONE, A | _TWO, A | _THREE
                B1, B2, B3 = B | _ONE, B | _TWO, B | _THREE
                tile0[j] = value(P, A, B)
                tile1[2 * j], tile1[2 * j + 1] = value(P1, A1, B), value(P1, A, B1)
                tile2[2 * j], tile2[2 * j + 1] = value(P2, A2, B), value(P2, A, B2)
                tile3[4 * j], tile3[4 * j + 1] = value(P3, A3, B), value(P3, A, B3)
                tile3[4 * j + 2], tile3[4 * j + 3] = value(P3, A1, B2), value(P3, A2, B1)
                j += 1
                sub = next_subset(sub, others)
            r0, t0 = accumulate(tile0, j, largest(tile0, j), r0, t0)
            r1, t1 = accumulate(tile1, 2 * j, largest(tile1, 2 * j), r1, t1)
            r2, t2 = accumulate(tile2, 2 * j, largest(tile2, 2 * j), r2, t2)
            r3, t3 = accumulate(tile3, 4 * j, largest(tile3, 4 * j), r3, t3)
        # What is left has all of H on one side; it needs the lower clusters of this very block.
        if others != ZERO:
            Z[P] = _logarithm_of(r0, t0) if _is_allowed(allowed, P) else -np.inf
        tile1[0] = value(P1, _ONE, P)
        r1, t1 = accumulate(tile1, 1, tile1[0], r1, t1)
        Z[P1] = _logarithm_of(r1, t1) if _is_allowed(allowed, P1) else -np.inf
        tile2[0] = value(P2, _TWO, P)
        r2, t2 = accumulate(tile2, 1, tile2[0], r2, t2)
        Z[P2] = _logarithm_of(r2, t2) if _is_allowed(allowed, P2) else -np.inf
        tile3[0], tile3[1], tile3[2] = value(P3, _ONE, P2), value(P3, _TWO, P1), value(P3, _THREE, P)
        r3, t3 = accumulate(tile3, 3, largest(tile3, 3), r3, t3)
        Z[P3] = _logarithm_of(r3, t3) if _is_allowed(allowed, P3) else -np.inf


def max_blocks(data, allowed, blocks, M):
    """M[4H], M[4H+1], M[4H+2], M[4H+3] for the listed H > 0; those of all H' ⊊ H must be known, and M[0:4].

    The walk of `inside_blocks`, which needs tiles; maxima stay in registers without them.
    """

    def value(P, L, R):
        return log_psi(data, P, L, R) + (M[L] + M[R])

    for i in range(blocks.size):
        H = np.uint64(blocks[i])
        P = H << _TWO
        P1, P2, P3 = P | _ONE, P | _TWO, P | _THREE
        lowest = lowest_leaf(H)
        others = H ^ lowest
        m0 = m1 = m2 = m3 = -np.inf
        sub = ZERO
        while sub != others:
            A = (lowest | sub) << _TWO
            B = P ^ A
            A1, A2, A3 = A | _ONE, A | _TWO, A | _THREE
            B1, B2, B3 = B | _ONE, B | _TWO, B | _THREE
            m0 = max(m0, value(P, A, B))
            m1 = max(m1, max(value(P1, A1, B), value(P1, A, B1)))
            m2 = max(m2, max(value(P2, A2, B), value(P2, A, B2)))
            m3 = max(m3, max(value(P3, A3, B), value(P3, A, B3)))
            m3 = max(m3, max(value(P3, A1, B2), value(P3, A2, B1)))
            sub = next_subset(sub, others)
        # What is left has all of H on one side; it needs the lower clusters of this very block.
        if others != ZERO:
            M[P] = m0 if _is_allowed(allowed, P) else -np.inf
        m1 = max(m1, value(P1, _ONE, P))
        M[P1] = m1 if _is_allowed(allowed, P1) else -np.inf
        m2 = max(m2, value(P2, _TWO, P))
        M[P2] = m2 if _is_allowed(allowed, P2) else -np.inf
        m3 = max(m3, max(value(P3, _ONE, P2), value(P3, _TWO, P1)))
        m3 = max(m3, value(P3, _THREE, P))
        M[P3] = m3 if _is_allowed(allowed, P3) else -np.inf


def solve_all(data, allowed, n, Z, M):
    """Both tables for every cluster of n leaves, scoring each split once; for small problems.

    The walk is written out: two recursions go along it, and a whole power of two of values is a whole number of
    vectors.
    """
    table = np.empty(TILE, np.uint64)
    tile = np.empty(TILE)
    Z[0] = M[0] = -np.inf
    for mask in range(1, 1 << n):
        P = np.uint64(mask)
        lowest = lowest_leaf(P)
        if lowest == P:
            Z[P] = M[P] = 0.0
            continue
        reference = best = -np.inf
        total = 0.0
        if _is_allowed(allowed, P):
            count, others = tabulate_subsets(P ^ lowest, table)
            high = ZERO
            while True:
                size = count - 1 if high == others else count
                top = -np.inf
                for j in range(size):
                    L = lowest | high | table[j]
                    R = P ^ L
                    log_potential = log_psi(data, P, L, R)
                    x = log_potential + (Z[L] + Z[R])
                    tile[j] = x
                    y = log_potential + (M[L] + M[R])
                    top = x if x > top else top
                    best = y if y > best else best
                if size < count:
                    tile[size] = -np.inf  # P itself adds nothing
                reference, total = accumulate(tile, count, top, reference, total)
                if high == others:
                    break
                high = next_subset(high, others)
        M[P] = best
        Z[P] = _logarithm_of(reference, total)


def split_values(data, V, mask, left, out):
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


def listed_log_psi(data, parents, lefts, rights, out):
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
