"""Passes over all splits of some clusters of one size, whose log ψ is listed.

    Z(P) = Σ ψ(L, R) Z(L) Z(R)        μ(L), μ(R) += μ(P) · ψ(L, R) Z(L) Z(R) / Z(P)

`log_psi` has a row for each of the `parents`: its splits by increasing L, which has the lowest leaf. Tables are by
mask, and hold logarithms but for μ.
"""

from __future__ import annotations

import math

import numpy as np

from palmette._jit import inline, kernel
from palmette.clusters import lowest_leaf
from palmette.numeric import accumulate, exponential, largest
from palmette.recursions.subsets import ZERO, next_subset

__all__ = ["count", "entropies", "inside", "list_left_parts", "maximum", "send_down"]


@kernel
def list_left_parts(parents, out):
    """out[i, j] = L of the j-th split of the i-th cluster."""
    for i in range(parents.size):
        P = np.uint64(parents[i])
        lowest = lowest_leaf(P)
        sub = ZERO
        for j in range(out.shape[1]):
            out[i, j] = np.int64(lowest | sub)
            sub = next_subset(sub, P ^ lowest)


@inline
def _add_parts(P, log_psi, V, out):
    # out[j] = log ψ(L, R) + V(L) + V(R)
    lowest = lowest_leaf(P)
    sub = ZERO
    for j in range(out.size):
        L = lowest | sub
        out[j] = log_psi[j] + (V[L] + V[P ^ L])
        sub = next_subset(sub, P ^ lowest)


@kernel
def inside(parents, log_psi, Z):
    """Z[P] of the listed clusters; those of their parts must be known."""
    values = np.empty(log_psi.shape[1])
    for i in range(parents.size):
        P = np.uint64(parents[i])
        _add_parts(P, log_psi[i], Z, values)
        reference, total = accumulate(values, values.size, largest(values, values.size), -np.inf, 0.0)
        Z[P] = reference + math.log(total) if reference > -np.inf else -np.inf


@kernel
def maximum(parents, log_psi, M):
    """M[P] of the listed clusters; those of their parts must be known."""
    values = np.empty(log_psi.shape[1])
    for i in range(parents.size):
        P = np.uint64(parents[i])
        _add_parts(P, log_psi[i], M, values)
        M[P] = largest(values, values.size)


@kernel
def send_down(parents, log_psi, Z, weight, out):
    """out[L], out[R] += weight[P] · ψ(L, R) Z(L) Z(R) / Z(P) for all splits of the listed clusters.

    With μ for both, which may be one array, that is the outside pass.
    """
    for i in range(parents.size):
        P = np.uint64(parents[i])
        lowest = lowest_leaf(P)
        sub = ZERO
        for j in range(log_psi.shape[1]):
            L = lowest | sub
            sent = weight[P] * exponential(log_psi[i, j] + (Z[L] + Z[P ^ L]) - Z[P])
            out[L] += sent
            out[P ^ L] += sent
            sub = next_subset(sub, P ^ lowest)


@kernel
def entropies(parents, log_psi, Z, out):
    """out[i] = −Σ p log p over the splits of the i-th cluster, p = ψ(L, R) Z(L) Z(R) / Z(P)."""
    values = np.empty(log_psi.shape[1])
    for i in range(parents.size):
        P = np.uint64(parents[i])
        _add_parts(P, log_psi[i], Z, values)
        out[i] = 0.0
        for j in range(values.size):
            p = exponential(values[j] - Z[P])
            if p > 0.0:
                out[i] -= p * (values[j] - Z[P])


@kernel
def count(parents, log_psi, moduli, counts):
    """counts[c, P] = number of hierarchies over P of non-zero potential, modulo moduli[c] < 2^32 (or 2^64 if 0)."""
    for i in range(parents.size):
        P = np.uint64(parents[i])
        lowest = lowest_leaf(P)
        for c in range(moduli.size):
            total = ZERO
            sub = ZERO
            for j in range(log_psi.shape[1]):
                L = lowest | sub
                if log_psi[i, j] > -np.inf:
                    product = counts[c, L] * counts[c, P ^ L]
                    total += product % moduli[c] if moduli[c] != ZERO else product
                sub = next_subset(sub, P ^ lowest)
            counts[c, P] = total % moduli[c] if moduli[c] != ZERO else total
