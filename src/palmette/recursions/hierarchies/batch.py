"""Many small problems in one compiled call: log Z, log M, the best hierarchy and draws of each, over ragged arrays.

Problem i has the leaves offsets[i] … offsets[i + 1] − 1, hence n_i − 1 merges, which begin at row offsets[i] − i.
It is solved from start to end by one thread, in work arrays that every problem of the slice uses anew.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import inline, specialise, specialise_inline
from palmette.clusters import lowest_leaf, size_of
from palmette.models.features import feature_log_psi
from palmette.models.split_model import SplitModel
from palmette.numeric import exponential, unit_draw
from palmette.recursions.hierarchies.batch_tables import largest_of, problem_tables
from palmette.recursions.hierarchies.inside import solve_all_inline
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["batch_kernel"]

log_psi: Any = None  # a model's, put in by `specialise`, as are all of these
tables_of: Any = None
solve: Any = None
trace: Any = None
draw: Any = None


def _trace(data, M, n, masks, children):
    # The best split of each cluster on the way down, found again: nothing was stored. Node n + i is masks[i].
    masks[n - 2] = (1 << n) - 1
    unnamed = n - 2  # inner nodes are numbered from the root down, so children come before parents
    for i in range(n - 2, -1, -1):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        others = P ^ lowest
        left = lowest
        best = -np.inf
        sub = ZERO
        while sub != others:
            L = lowest | sub
            value = log_psi(data, P, L, P ^ L) + (M[L] + M[P ^ L])
            if value > best:  # of equal ones the lowest mask stays
                best = value
                left = L
            sub = next_subset(sub, others)
        unnamed = _name_parts(n, i, P, left, unnamed, masks, children)


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


def _draw(data, Z, n, seed, stream, draw, masks, children):
    # A split of each cluster on the way down, with probability ψ(L, R) Z(L) Z(R) / Z(P). Returns Σ log ψ.
    masks[n - 2] = (1 << n) - 1
    unnamed = n - 2
    total = 0.0
    for i in range(n - 2, -1, -1):
        P = np.uint64(masks[i])
        lowest = lowest_leaf(P)
        others = P ^ lowest
        u = unit_draw(seed, stream, draw * n + i)
        left, chosen = lowest, -np.inf
        cumulative = 0.0
        sub = ZERO
        while sub != others and cumulative <= u:
            L = lowest | sub
            x = log_psi(data, P, L, P ^ L)
            share = exponential(x + ((Z[L] + Z[P ^ L]) - Z[P]))
            if share > 0.0:  # if rounding leaves the sum below u, the last possible one stays
                cumulative += share
                left, chosen = L, x
            sub = next_subset(sub, others)
        total += chosen
        unnamed = _name_parts(n, i, P, left, unnamed, masks, children)
    return total


def _solve_problems(
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
    largest = largest_of(offsets, most, first, last)
    work = np.empty(k << largest)
    Z = np.empty(1 << largest)
    M = np.empty(1 << largest)
    masks = np.empty(largest, np.uint64)
    everything = np.empty(0, np.uint8)  # no flags: every cluster may occur
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n > most:
            continue
        own, table = tables_of(theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
        solve((own, table), everything, n, Z, M)
        full = (1 << n) - 1
        log_z[i] = Z[full]
        log_m[i] = M[full]
        if n > 1 and M[full] > -np.inf:
            begin, end = offsets[i] - i, offsets[i + 1] - i - 1
            trace((own, table), M, n, masks, children[begin:end])
            for d in range(drawn.shape[0]):
                logs[i, d] = draw((own, table), Z, n, seed, streams[i], d, masks, drawn[d, begin:end]) - Z[full]


def batch_kernel(model: SplitModel) -> Any:
    """The kernel (θ, offsets, …, first, last, log Z, log M, children, drawn, logs) for a model.

    It solves the problems first … last − 1 but those of more than `most` leaves, which are left alone. θ is (N, m), or
    (1, m) if all share it; the p matrices of problem i are the entries pair_offsets[i] … pair_offsets[i + 1] − 1 of
    `pairwise`. A problem without a hierarchy of non-zero potential gets −inf, and its merges are left alone. Its draws
    depend on the seed and on streams[i] only; `drawn` are their merges, (draws, rows of children, 2), and `logs` their
    log-probabilities, (N, draws).
    """
    log_psi = feature_log_psi(model)
    return specialise(
        _solve_problems,
        tables_of=problem_tables(model),
        solve=solve_all_inline(log_psi),
        trace=specialise_inline(_trace, log_psi=log_psi),
        draw=specialise_inline(_draw, log_psi=log_psi),
    )
