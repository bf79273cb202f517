"""Sums over clusters: those that hold a group, and those of a draw."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.labels import align_labels
from palmette.passes.partitions.full import FullPartitionPasses
from palmette.passes.partitions.sparse import SparsePartitionPasses

__all__ = ["expected_sum", "log_psi_elsewhere", "superset_sums"]


_FITTED = 500  # leaves: for more, the least squares of `expected_sum` take too long


def superset_sums(probabilities: Floats) -> Floats:
    """(2^n,): Σ P(C) over C ⊇ G, the probability that G is together, for every group G; n additions each.

    >>> superset_sums(np.array([0.0, 0.5, 0.5, 0.5]))
    array([1. , 1. , 1. , 0.5])
    """
    out = probabilities.copy()
    step = 1
    while step < len(out):
        pairs = out.reshape(-1, 2, step)
        pairs[:, 0] += pairs[:, 1]
        step *= 2
    out[0] = out[1 << np.arange(len(out).bit_length() - 1)] = 1.0  # nobody is apart in a group of none or one
    return np.minimum(out, 1.0, out=out)


def log_psi_elsewhere(
    trellis: FullPartitionPasses | SparsePartitionPasses,
    wanted: npt.NDArray[np.bool_],
    other: FullPartitionPasses | SparsePartitionPasses,
) -> Floats:
    """log ψ that `other` gives to the wanted clusters of `trellis`, by label; −inf where it does not have them."""
    order = align_labels(other.model.labels, trellis.model.labels)  # our leaf i is its leaf order[i]
    out = np.full(len(wanted), -np.inf)
    if isinstance(trellis, FullPartitionPasses) and isinstance(other, FullPartitionPasses):
        masks = np.flatnonzero(wanted)
        theirs = np.zeros_like(masks)
        for leaf, place in enumerate(order):
            theirs |= ((masks >> leaf) & 1) << place
        out[masks] = other.log_psi[theirs]
        return out
    for cluster in np.flatnonzero(wanted):
        found = other.find(order[list(trellis.members(int(cluster)))].tolist())
        if found >= 0:
            out[cluster] = other.log_psi[found]
    return out


def expected_sum(
    trellis: FullPartitionPasses | SparsePartitionPasses,
    probabilities: Floats,
    values: Floats,
    together: Callable[[], Floats],
) -> tuple[float, float]:
    """E Σ values[C] over the clusters C of a draw, in two parts: a sum over leaves, and what is left.

    Every leaf i is in one cluster, so Σ_i a_i = E Σ_C a(C) with a(C) = Σ_{i∈C} a_i, whatever a. With the a that fits
    the values best the second part is of the size of their differences. Where the values are large and nearly cancel
    against log Z, as in an entropy, log Z minus the first part is as exact as log Z, and nothing else is large.
    `together` gives the matrix P(i ~ j).
    """
    some = probabilities > 0.0
    weighted = np.zeros(len(values))
    weighted[some] = probabilities[some] * values[some]
    if not np.isfinite(weighted).all():
        return -np.inf, 0.0
    if trellis.n <= _FITTED:
        share = np.asarray(np.linalg.lstsq(together(), trellis.leaf_sums(weighted), rcond=1e-9)[0], dtype=np.float64)
    else:
        share = trellis.leaf_sums(weighted / np.maximum(trellis.sizes, 1))
    gaps = values[some] - trellis.cluster_sums(share)[some]
    return float(share.sum()), float(np.dot(probabilities[some], gaps))
