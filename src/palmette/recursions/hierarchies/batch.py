"""Many small problems in one compiled call: log Z, log M, the best hierarchy and draws of each, over ragged arrays.

Problem i has the leaves offsets[i] … offsets[i + 1] − 1, hence n_i − 1 merges, which begin at row offsets[i] − i.
It is solved from start to end by one thread, in work arrays that every problem of the slice uses anew.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import called, inline, kernel
from palmette.clusters import lowest_leaf, size_of
from palmette.models.c_functions import TILE
from palmette.numeric import exponential, unit_draw
from palmette.recursions.hierarchies.batch_tables import largest_of, problem_table
from palmette.recursions.hierarchies.inside import solve
from palmette.recursions.hierarchies.outside import mean_of
from palmette.recursions.hierarchies.tiles import read_or_score_tile, score_together
from palmette.recursions.subsets import ZERO, next_subset, tabulate_subsets

__all__ = ["mean_problems", "solve_problems", "sum_problems"]


@called
def _best_split(data, known, M, P, others, tile):
    # The left part of the best split of P, found again: nothing was stored. Of equal ones the lowest mask.
    lowest = lowest_leaf(P)
    left, best = lowest, -np.inf
    count, rest = tabulate_subsets(P ^ lowest, others)
    high = ZERO
    while True:
        first = lowest | high
        m = count - 1 if high == rest else count
        read_or_score_tile(data, known, P, first, others, m, tile)
        for j in range(m):
            L = first | others[j]
            value = tile[j] + (M[L] + M[P ^ L])
            if value > best:
                left, best = L, value
        if high == rest:
            return left
        high = next_subset(high, rest)


@called
def _drawn_split(data, known, Z, P, u, others, tile):
    # The left part of a split of P with probability ψ(L, R) Z(L) Z(R) / Z(P), by a uniform number u, and its log ψ.
    lowest = lowest_leaf(P)
    left, chosen, cumulative = lowest, -np.inf, 0.0
    count, rest = tabulate_subsets(P ^ lowest, others)
    high = ZERO
    while True:
        first = lowest | high
        m = count - 1 if high == rest else count
        read_or_score_tile(data, known, P, first, others, m, tile)
        for j in range(m):
            L = first | others[j]
            share = exponential(tile[j] + ((Z[L] + Z[P ^ L]) - Z[P]))
            if share > 0.0:  # if rounding leaves the sum below u, the last possible one stays
                cumulative += share
                left, chosen = L, tile[j]
                if cumulative > u:
                    return left, chosen
        if high == rest:
            return left, chosen
        high = next_subset(high, rest)


@inline
def _name_parts(n, i, P, left, unnamed, masks, children):
    # The parts of inner node i become its children; those of two leaves or more get a number.
    for side in range(2):
        part = left if side == 0 else P ^ left
        if part & (part - np.uint64(1)):
            unnamed -= 1
            masks[unnamed] = part
            children[i, side] = n + unnamed
        else:
            children[i, side] = size_of(part - np.uint64(1))  # the number of its only leaf
    return unnamed


@inline
def _trace(data, known, M, n, masks, children, others, tile):
    # The best hierarchy. Node n + i is masks[i]; the root is numbered first, so children come before parents.
    masks[n - 2] = (1 << n) - 1
    unnamed = n - 2
    for i in range(n - 2, -1, -1):
        P = np.uint64(masks[i])
        unnamed = _name_parts(n, i, P, _best_split(data, known, M, P, others, tile), unnamed, masks, children)


@inline
def _draw(data, known, Z, n, seed, stream, draw, masks, children, others, tile):
    # A hierarchy drawn exactly; returns Σ log ψ.
    masks[n - 2] = (1 << n) - 1
    unnamed = n - 2
    total = 0.0
    for i in range(n - 2, -1, -1):
        P = np.uint64(masks[i])
        left, log_psi = _drawn_split(data, known, Z, P, unit_draw(seed, stream, draw * n + i), others, tile)
        total += log_psi
        unnamed = _name_parts(n, i, P, left, unnamed, masks, children)
    return total


@kernel
def solve_problems(
    addresses,
    listed,
    theta,
    offsets,
    additive,
    pair_offsets,
    pairwise,
    p,
    k,
    seed,
    streams,
    most,
    first,
    last,
    log_z,
    log_m,
    children,
    drawn,
    logs,
):
    """Solve the problems first … last − 1 but those of more than `most` leaves, which are left alone.

    θ is (N, m), or (1, m) if all share it; the p matrices of problem i are the entries pair_offsets[i] …
    pair_offsets[i + 1] − 1 of `pairwise`. A problem without a hierarchy of non-zero potential gets −inf, and its merges
    are left alone. Its draws depend on the seed and on streams[i] only; `drawn` are their merges, (draws, rows of
    children, 2), and `logs` their log-probabilities, (N, draws).
    """
    largest = largest_of(offsets, most, first, last)
    work, Z, M = np.empty(k << largest), np.empty(1 << largest), np.empty(1 << largest)
    masks = np.empty(largest, np.uint64)
    others, tile, log_psi = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(listed.parents.size)
    everything = np.empty(0, np.uint8)  # no flags: every cluster may occur
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n > most:
            continue
        data = problem_table(addresses, theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
        known = score_together(addresses[2], data, listed, n, log_psi)
        solve(data, known, everything, n, Z, M, others, tile)
        full = (1 << n) - 1
        log_z[i] = Z[full]
        log_m[i] = M[full]
        if n > 1 and M[full] > -np.inf:
            begin, end = offsets[i] - i, offsets[i + 1] - i - 1
            _trace(data, known, M, n, masks, children[begin:end], others, tile)
            for d in range(drawn.shape[0]):
                own = drawn[d, begin:end]
                logs[i, d] = _draw(data, known, Z, n, seed, streams[i], d, masks, own, others, tile) - Z[full]


@kernel
def sum_problems(addresses, listed, theta, offsets, additive, pair_offsets, pairwise, p, k, most, first, last, log_z):
    """log Z of the problems first … last − 1 but those of more than `most` leaves, which are left alone."""
    largest = largest_of(offsets, most, first, last)
    work, Z, nothing = np.empty(k << largest), np.empty(1 << largest), np.empty(0)
    others, tile, log_psi = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(listed.parents.size)
    everything = np.empty(0, np.uint8)
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            data = problem_table(addresses, theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
            known = score_together(addresses[2], data, listed, n, log_psi)
            solve(data, known, everything, n, Z, nothing, others, tile)
            log_z[i] = Z[(1 << n) - 1]


@kernel
def mean_problems(addresses, listed, problems, value_addresses, values, most, first, last, out):
    """E[Σ v(L, R)] of the problems first … last − 1 but those of more than `most` leaves, which are left alone.

    Both `problems` and `values` are what `Problems.arrays` gives, of the same leaves, v being log ψ of the second. NaN
    where no hierarchy is possible.
    """
    theta, offsets, additive, pair_offsets, pairwise, p, k = problems
    theta_v, offsets_v, additive_v, pair_offsets_v, pairwise_v, p_v, k_v = values
    largest = largest_of(offsets, most, first, last)
    work, work_v = np.empty(k << largest), np.empty(k_v << largest)
    Z, mu, nothing = np.empty(1 << largest), np.empty(1 << largest), np.empty(0)
    others, tile, log_psi = np.empty(TILE, np.uint64), np.empty(TILE), np.empty(listed.parents.size)
    everything = np.empty(0, np.uint8)
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            data = problem_table(addresses, theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
            own = (theta_v, offsets_v, additive_v, pair_offsets_v, pairwise_v, p_v, k_v, i, work_v)
            given = problem_table(value_addresses, *own)
            known = score_together(addresses[2], data, listed, n, log_psi)
            solve(data, known, everything, n, Z, nothing, others, tile)
            out[i] = mean_of(data, given, n, Z, mu) if Z[(1 << n) - 1] > -np.inf else np.nan
