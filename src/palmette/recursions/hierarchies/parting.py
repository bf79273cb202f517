"""Expected values of splits by their parts, over ``log_psi(data, P, L, R)`` and ``value(value_data, P, L, R)``.

    F(C) = E[v at the split that C is a part of; C occurs]

The walk is that of `gather_clusters` in `recursions.hierarchies.outside`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette.recursions.hierarchies.outside import add_weighted
from palmette.recursions.subsets import TILE, ZERO, walking

__all__ = ["gather_values"]

log_psi: Any = None  # the model's, put in by `walking`, as are the value and the walk
value: Any = None
walk: Any = None


def _gather_tile(context, first, table, begin, end, log_p, state):
    data, value_data, Z, log_weight, values, C = context
    for j in range(begin, end):
        R = first | table[j]
        P = C | R
        log_p[j - begin] = log_psi(data, P, C, R) + ((Z[C] + Z[R]) + log_weight[P])
        values[j - begin] = value(value_data, P, C, R)
    return state + add_weighted(log_p, values, end - begin)


def _gather_values(data, value_data, Z, log_weight, masks, out):
    table = np.empty(TILE, np.uint64)
    tile, values = np.empty(TILE), np.empty(TILE)
    full = np.uint64(out.size - 1)
    for i in range(masks.size):
        C = np.uint64(masks[i])
        context = (data, value_data, Z, log_weight, values, C)
        out[C] = walk(context, ZERO, full ^ C, 1, 0, table, tile, 0.0)  # R = ∅ is no split


def gather_values(log_psi: Any, value: Any) -> Any:
    """The kernel (data, value_data, Z, log_weight, masks, out), for the listed C, of

    out[C] = Σ_R v(C, R) exp(log ψ(C, R) + Z(C) + Z(R) + log_weight(C ∪ R)),   R disjoint from C.
    """
    return walking(_gather_values, _gather_tile, log_psi=log_psi, value=value)
