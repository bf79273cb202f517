"""What a history says of numbers that were not seen: their normal distributions, and draws of them all."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from palmette.array_types import Floats
from palmette.coalescent.joint import BothSides, both_sides, branch_lengths
from palmette.coalescent.motion import add_from_root, coloured, square_root
from palmette.coalescent.prediction import Prediction
from palmette.coalescent.process import Prepared
from palmette.hierarchy import Hierarchy

if TYPE_CHECKING:
    from palmette.coalescent.brownian import Brownian

__all__ = ["draw_numbers", "predict_numbers"]


def predict_numbers(process: Brownian, points: Floats, hierarchy: Hierarchy) -> Prediction:
    """The normal distribution of each missing entry by itself, under `Brownian` motion."""
    is_missing = np.isnan(points)
    prepared, entries = process.prepare(points), np.argwhere(is_missing)
    rate, _ = process.on_columns(points.shape[1])
    seen, (rows, columns) = both_sides(prepared, hierarchy), entries.T
    if not len(entries):
        return Prediction(entries, np.zeros(0), np.zeros(0))
    if rate.ndim == 2:
        mean, variance = _condition(is_missing, prepared, seen, process.leaf_variance)
        scale, square = np.sqrt(np.diag(rate)), np.diag(rate)
        return Prediction(entries, (scale * mean)[is_missing], (square * variance)[is_missing])
    variance = rate[columns] * (seen.outside[rows, columns] + seen.reach[rows] + process.leaf_variance)
    mean = np.sqrt(rate[columns]) * seen.outside[rows, points.shape[1] + columns]
    return Prediction(entries, np.where(variance < np.inf, mean, 0.0), variance)


def _condition(is_missing: Any, prepared: Prepared, seen: BothSides, leaf_variance: float) -> tuple[Floats, Floats]:
    # Full Λ: what a row shows tells of what it does not. In units in which the diagonal of Λ is 1.
    n = is_missing.shape[1]
    points, rate = prepared.leaves[:, n : 2 * n], prepared.theta[3 + n :].reshape(n, -1)
    means, variances = np.zeros(is_missing.shape), np.full(is_missing.shape, np.inf)
    for i in np.flatnonzero(is_missing.any(axis=1)):
        known = (seen.outside[i, :n] > 0.0) & (seen.reach[i] < np.inf)
        given, wanted = known & ~is_missing[i], known & is_missing[i]
        if not wanted.any():
            continue
        centre = seen.outside[i, n : 2 * n]
        total = seen.outside[i, 2 * n :].reshape(n, n) + (seen.reach[i] + leaf_variance) * rate
        gain = total[np.ix_(wanted, given)] @ np.linalg.pinv(total[np.ix_(given, given)], hermitian=True)
        means[i, wanted] = centre[wanted] + gain @ (points[i] - centre)[given]
        taken = (gain * total[np.ix_(wanted, given)]).sum(axis=1)
        variances[i, wanted] = np.maximum(np.diag(total)[wanted] - taken, 0.0)
    return means, variances


def draw_numbers(
    process: Brownian, points: Floats, hierarchy: Hierarchy, size: int, rng: np.random.Generator
) -> Floats:
    """(size, n, D): the points, with draws of all that is missing at once.

    Errors of prediction do not depend on the data, so those of simulated data are as good as any.
    """
    is_missing = np.isnan(points)
    rate, mean = process.on_columns(points.shape[1])
    scale, parents = square_root(rate), hierarchy.parents.tolist()
    length = branch_lengths(hierarchy)
    length[-1] = process.root_variance
    length[: hierarchy.n_leaves] += process.leaf_variance
    expected = predict_numbers(process, points, hierarchy).mean
    draws = np.repeat(points[None], size, axis=0)
    for draw in draws:
        steps = np.sqrt(length)[:, None] * coloured(rng.standard_normal((len(length), points.shape[1])), scale)
        steps[-1] += mean
        simulated = add_from_root(steps, parents)[: hierarchy.n_leaves]
        guess = predict_numbers(process, np.where(is_missing, np.nan, simulated), hierarchy).mean
        draw[is_missing] = expected + simulated[is_missing] - guess
    return draws
