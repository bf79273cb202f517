"""Sequential significance of the splits of Ward's tree, after Kimes, Liu, Hayes and Marron (Biometrics, 2017).

From the root down, each cluster is asked whether it is one Gaussian. The statistic is the cluster index of its split,
the share of the sum of squares that is left within the two parts. Its null distribution is simulated: as many points
from N(0, Λ), put together by Ward's linkage anew, and the index of their last merge. Only the eigenvalues Λ of the
covariance matter, since everything is invariant to turns. They are soft-thresholded (Huang, Liu, Yuan and Marron 2015):
max(λ − τ, σ²), where σ² is the background noise, by the median absolute deviation of all entries, and τ such that the
total variance is that of the cluster. p is that of a normal law with the mean and the standard deviation of the
simulated indices. The family-wise error over the tree is α if a cluster of m of n leaves is tested at the level
α (m − 1) / (n − 1), and only if all above it were rejected: the largest p (n − 1) / (m − 1) from the root down to a
split is its adjusted p.

The paper tests clusters of ten leaves and more. Tables of the race are no larger, so here three leaves are enough.
"""

from __future__ import annotations

import numpy as np
from _linkages import Support, ward
from scipy.stats import norm

SIMULATED = 100
FEWEST = 3  # leaves: two have an index of 0, whatever they are
_CERTAIN = 0.999  # an adjusted p beyond which nothing below is tested


def split_significance(x: np.ndarray, rng: np.random.Generator) -> Support:
    """1 − adjusted p of the split that made a cluster, for the clusters of Ward's tree."""
    n, merges = len(x), ward(x)[:, :2].astype(int)
    leaves = [[leaf] for leaf in range(n)]
    for left, right in merges.tolist():
        leaves.append(leaves[left] + leaves[right])
    adjusted, found = np.zeros(2 * n - 1), Support()
    for node in range(2 * n - 2, n - 1, -1):  # from the root down
        parts, m = merges[node - n].tolist(), len(leaves[node])
        if m < FEWEST or adjusted[node] > _CERTAIN:
            continue
        p = p_value(x[leaves[node]], rng) * (n - 1) / (m - 1)
        p = min(1.0, max(float(adjusted[node]), p))
        for part in parts:
            adjusted[part] = p
            if len(leaves[part]) > 1:
                found[frozenset(leaves[part])] = 1.0 - p
    return found


def p_value(x: np.ndarray, rng: np.random.Generator) -> float:
    """How probable an index as small as that of Ward's last merge is among points of one Gaussian."""
    if not np.ptp(x, axis=0).any():
        return 1.0
    spread = np.sqrt(null_eigenvalues(x))
    null = [cluster_index(rng.normal(size=x.shape) * spread) for _ in range(SIMULATED)]
    return float(norm.cdf((cluster_index(x) - np.mean(null)) / max(np.std(null, ddof=1), 1e-12)))


def cluster_index(x: np.ndarray) -> float:
    """(SSE(L) + SSE(R)) / SSE(P) of the last merge of Ward's linkage."""
    total = np.square(x - x.mean(axis=0)).sum()
    # The height of a merge is √(2 Δ), and Δ is what the merge adds to the sum of squares.
    return float(1.0 - ward(x)[-1, 2] ** 2 / (2.0 * total))


def null_eigenvalues(x: np.ndarray) -> np.ndarray:
    """(d,): eigenvalues of the covariance of x, soft-thresholded at the background noise, the largest first."""
    centred = x - x.mean(axis=0)
    values = np.zeros(x.shape[1])
    singular = np.linalg.svd(centred, compute_uv=False)
    values[: len(singular)] = singular**2 / (len(x) - 1)
    background = (np.median(np.abs(centred - np.median(centred))) / norm.ppf(0.75)) ** 2
    return soft_thresholded(values, background)


def soft_thresholded(values: np.ndarray, background: float) -> np.ndarray:
    """max(λ − τ, σ²) with τ ≥ 0 such that the sum stays; all alike if σ² is beyond their mean.

    >>> soft_thresholded(np.array([7.0, 1.0, 0.0]), 2.0).tolist()
    [4.0, 2.0, 2.0]
    """
    floor = min(background, float(values.mean()))
    missing = np.cumsum(values) + floor * (len(values) - np.arange(1, len(values) + 1)) - values.sum()
    shifts = missing / np.arange(1, len(values) + 1)  # τ if the largest 1, 2, … are above the floor
    above = np.flatnonzero(values - shifts >= floor * (1 - 1e-12))
    shift = max(0.0, float(shifts[above[-1]])) if len(above) else 0.0
    return np.maximum(values - shift, floor)
