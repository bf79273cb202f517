"""One problem of a batch as the tables that recursions walk over.

Problem i has the leaves offsets[i] … offsets[i + 1] − 1. Its tables lie in work arrays that the next one uses anew.
"""

from __future__ import annotations

from palmette._jit import inline, maker
from palmette.models.c_functions import SplitTable, feature_loader, features_of, scores_of, subset_scores_of
from palmette.models.features import blocks_of, fill_subset_features
from palmette.models.split_model import SplitModel

__all__ = ["addresses_of", "largest_of", "matrices_of", "problem_table", "theta_of"]


def addresses_of(model: SplitModel) -> tuple[int, int, int]:
    """The addresses of `features`, `subsets` and `splits`, which kernels of batches take."""
    return features_of(model), subset_scores_of(model.score, feature_loader(model.n_features)), scores_of(model)


@inline
def largest_of(offsets, most, first, last):
    """The leaves of the largest of some problems, but those of more than `most`; at least 1."""
    largest = 1
    for i in range(first, last):
        n = offsets[i + 1] - offsets[i]
        if n <= most:
            largest = max(largest, n)
    return largest


@maker
def theta_of(theta, i):
    """The parameters of problem i: those of all, if there is one row."""
    return theta[i if theta.shape[0] > 1 else 0]


@maker
def matrices_of(pair_offsets, pairwise, p, n, i):
    """The p matrices of problem i, which has n leaves."""
    return pairwise[pair_offsets[i] : pair_offsets[i + 1]].reshape(p, n, n)


@maker
def problem_table(addresses, theta, offsets, additive, pair_offsets, pairwise, p, k, i, work):
    """log ψ of all splits of problem i; `work` has room for k·2^n numbers."""
    n = offsets[i + 1] - offsets[i]
    own, matrices = theta_of(theta, i), matrices_of(pair_offsets, pairwise, p, n, i)
    table = work[: k << n].reshape(k, 1 << n)
    leaves = additive[offsets[i] : offsets[i + 1]]
    fill_subset_features(addresses[0], own, leaves, matrices, k, 0, blocks_of(n), table)
    return SplitTable(addresses[1], own, table)
