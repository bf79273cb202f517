"""One problem of a batch as the tables that recursions walk over.

Problem i has the leaves offsets[i] … offsets[i + 1] − 1. Its tables lie in work arrays that the next one uses anew.
"""

from __future__ import annotations

from typing import Any

from palmette._jit import inline, specialise_inline
from palmette.models.features import BLOCK, fill_subset_features
from palmette.models.split_model import SplitModel

__all__ = ["largest_of", "problem_tables"]

tabulate: Any = None  # a model's, put in by `specialise_inline`


@inline
def largest_of(offsets, most, first, last):
    """The leaves of the largest of some problems, but those of more than `most`; at least 1."""
    largest = 1
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            largest = max(largest, n)
    return largest


def _tables_of(theta, offsets, additive, pair_offsets, pairwise, p, k, i, work):
    n = offsets[i + 1] - offsets[i]
    own = theta[i if theta.shape[0] > 1 else 0]
    matrices = pairwise[pair_offsets[i] : pair_offsets[i + 1]].reshape(p, n, n)
    table = work[: k << n].reshape(k, 1 << n)
    low = min(n, BLOCK)
    tabulate(own, additive[offsets[i] : offsets[i + 1]], matrices, k, low, 0, 1 << (n - low), table)
    return own, table


def problem_tables(model: SplitModel) -> Any:
    """A part of kernels, (θ, offsets, additive, pair_offsets, pairwise, p, k, i, work): what log ψ of problem i reads.

    `work` has room for k·2^n numbers.
    """
    return specialise_inline(_tables_of, tabulate=fill_subset_features(model))
