"""log Z of many small problems, and nothing else, over the ragged arrays of `batch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import specialise
from palmette.models.features import feature_log_psi
from palmette.models.split_model import SplitModel
from palmette.recursions.hierarchies.batch_tables import largest_of, problem_tables
from palmette.recursions.hierarchies.inside import sum_all_inline

__all__ = ["sum_kernel"]

tables_of: Any = None  # a model's, put in by `specialise`, as is the sum
sum_all: Any = None


def _sum_problems(theta, offsets, additive, pair_offsets, pairwise, p, k, most, first, last, log_z):
    largest = largest_of(offsets, most, first, last)
    work, Z, nothing = np.empty(k << largest), np.empty(1 << largest), np.empty(0)
    everything = np.empty(0, np.uint8)  # no flags: every cluster may occur
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            data = tables_of(theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
            sum_all(data, everything, n, Z, nothing)
            log_z[i] = Z[(1 << n) - 1]


def sum_kernel(model: SplitModel) -> Any:
    """The kernel (θ, offsets, additive, pair_offsets, pairwise, p, k, most, first, last, log Z) for a model.

    It sums over the hierarchies of the problems first … last − 1 but those of more than `most` leaves, which are left
    alone; the arrays are those of `batch_kernel`.
    """
    sum_all = sum_all_inline(feature_log_psi(model))
    return specialise(_sum_problems, tables_of=problem_tables(model), sum_all=sum_all)
