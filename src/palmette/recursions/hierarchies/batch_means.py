"""E[Σ v(L, R)] over the splits of hierarchies, for many small problems, over the ragged arrays of `batch`."""

from __future__ import annotations

from typing import Any

import numpy as np

from palmette._jit import specialise
from palmette.models.features import feature_log_psi
from palmette.models.split_model import SplitModel
from palmette.recursions.hierarchies.batch_tables import largest_of, problem_tables
from palmette.recursions.hierarchies.inside import sum_all_inline
from palmette.recursions.hierarchies.outside import mean_all_inline

__all__ = ["mean_kernel"]

tables_of: Any = None  # put in by `specialise`, as are all of these
values_of: Any = None
sum_all: Any = None
mean_all: Any = None


def _mean_problems(problems, values, most, first, last, out):
    theta, offsets, additive, pair_offsets, pairwise, p, k = problems
    theta_v, offsets_v, additive_v, pair_offsets_v, pairwise_v, p_v, k_v = values
    largest = largest_of(offsets, most, first, last)
    work, work_v = np.empty(k << largest), np.empty(k_v << largest)
    Z, mu, nothing = np.empty(1 << largest), np.empty(1 << largest), np.empty(0)
    everything = np.empty(0, np.uint8)  # no flags: every cluster may occur
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            data = tables_of(theta, offsets, additive, pair_offsets, pairwise, p, k, i, work)
            given = values_of(theta_v, offsets_v, additive_v, pair_offsets_v, pairwise_v, p_v, k_v, i, work_v)
            sum_all(data, everything, n, Z, nothing)
            out[i] = mean_all(data, given, n, Z, mu) if Z[(1 << n) - 1] > -np.inf else np.nan


def mean_kernel(model: SplitModel, value: SplitModel) -> Any:
    """The kernel (problems, values, most, first, last, out); both are what `Problems.arrays` gives, of the same leaves.

    out[i] = E[Σ v(L, R)] for the problems first … last − 1 but those of more than `most` leaves, which are left alone;
    NaN where no hierarchy is possible.
    """
    log_psi, of_value = feature_log_psi(model), feature_log_psi(value)
    return specialise(
        _mean_problems,
        tables_of=problem_tables(model),
        values_of=problem_tables(value),
        sum_all=sum_all_inline(log_psi),
        mean_all=mean_all_inline(log_psi, of_value),
    )
