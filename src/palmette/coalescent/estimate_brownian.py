"""The rate Λ of Brownian motion from data: the sample covariance, or given a history, its independent contrasts.

Given a history, Brownian motion has independent contrasts u = (ŷ_l − ŷ_r)/√(v_l + v_r + s) ~ N(0, Λ), one for each
event, whose scatter S = Σ u uᵀ gives Λ in closed form.

**Its scale needs care.** Multiply Λ by k and all ages by 1/k: the likelihood stays, and the prior rises. So a best
history and the best rate for it chase each other for ever. `estimate_scale` averages over durations instead.
"""

from __future__ import annotations

from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from palmette._jit import kernel
from palmette.array_types import Floats
from palmette.checks import check_choice, check_integer, check_points
from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.c_functions import log_integral, meet
from palmette.coalescent.draws import CoalescentDraws, weighted_histories
from palmette.coalescent.joint import ages_of, ages_since_leaves, evaluate_events
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.priors import InverseGamma, InverseWishart, Prior
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy

__all__ = ["by_moments", "estimate_rate", "estimate_scale", "estimate_shape", "sample_covariance"]

Shape = Literal["scalar", "diagonal", "full"]  # by the number of axes of a rate

_STEP = 1e-4  # in log scale, of a central difference


def sample_covariance(
    x: npt.ArrayLike,
    shape: Shape = "diagonal",
    leaf_variance: float = DEFAULTS.leaf_variance,
    leaf_ages: npt.ArrayLike | None = None,
) -> Any:
    """The covariance of the rows of x, over 1 + leaf_variance: an unbiased estimate of Λ, whatever the history was.

    Two lineages meet after a time of mean 1, so E (x_i − x_j)(x_i − x_j)ᵀ = 2 (1 + leaf_variance) Λ. It is noisy, since
    there is one history. Leaves of ages a_i and a_j are |a_i − a_j| further apart, so with `leaf_ages` half the mean of
    that joins the 1. A number for "scalar", (D,) for "diagonal", (D, D) for "full", which takes complete data only.

    >>> sample_covariance([[0.0, 1.0], [2.0, float("nan")], [4.0, 3.0]])
    array([4., 2.])
    """
    points = check_points(x, "x", missing=True)
    check_choice("shape", shape, get_args(Shape))
    counts = (~np.isnan(points)).sum(axis=0)
    if shape == "full":
        _check_complete(points)
    if not (counts > 1).any() or (shape != "scalar" and (counts < 2).any()):
        raise ValueError(f"column {int(np.argmin(counts))} of x has fewer than 2 entries and no variance; drop it")
    lengths = 1 + leaf_variance + _half_gaps(points, check_leaf_ages(leaf_ages, len(points)))
    centred = np.nan_to_num(points - np.nansum(points, axis=0) / np.maximum(counts, 1)) / np.sqrt(lengths)
    if shape == "full":
        return centred.T @ centred / (len(points) - 1)
    scatter, degrees = (centred**2).sum(axis=0), np.maximum(counts - 1, 0)
    return float(scatter.sum() / degrees.sum()) if shape == "scalar" else scatter / degrees


def _half_gaps(points: Floats, leaf_ages: Floats) -> Floats:
    # (D,): half the mean of |a_i − a_j| over the pairs of rows that have a column; of k sorted ages Σ (2i − k − 1) a_i.
    found = np.zeros(points.shape[1])
    for d in range(len(found)) if leaf_ages.any() else ():
        ages = np.sort(leaf_ages[~np.isnan(points[:, d])])
        k = len(ages)
        found[d] = (2 * np.arange(1, k + 1) - k - 1) @ ages / max(k * (k - 1), 1)
    return found


def estimate_rate(
    x: npt.ArrayLike,
    history: Hierarchy | CoalescentDraws,
    process: Brownian,
    *,
    shape: Shape | None = None,
    prior: Prior | None = None,
) -> Brownian:
    """The process with Λ at its maximum given the history: of the likelihood S/N, with a prior of the posterior.

    N is the number of contrasts, n − 1, and one more with a Gaussian root. For a full Λ and an inverse Wishart prior
    the maximum is (Ψ + S)/(ν + N + D + 1); for variances with an inverse gamma prior, (b + S_dd/2)/(a + N_d/2 + 1).
    `shape` is that of the process unless given. Missing entries need "diagonal" or "scalar". Over `CoalescentDraws`, S
    is the weighted mean, which makes this a step of the EM algorithm. Identical rows that meet at age 0 say nothing.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 1.0])
    >>> estimate_rate([[0.0], [1.0], [2.0]], history, Brownian()).rate.round(6)  # (1²/1 + 1.5²/1.75)/2
    np.float64(1.142857)
    """
    _check_brownian(process)
    shape = shape or get_args(Shape)[process.rate.ndim]
    check_choice("shape", shape, get_args(Shape))
    wanted = InverseWishart if shape == "full" else InverseGamma
    if prior is not None and not isinstance(prior, wanted):
        raise TypeError(f"the prior of a {shape} rate is {wanted.__name__}, not {prior!r}")
    points = check_points(x, "x", missing=True)
    weights, histories = weighted_histories(history)
    parts = [_scatter(points, each, process, shape) for each in histories]
    scatter = np.tensordot(weights, [part[0] for part in parts], axes=1)
    count = np.tensordot(weights, [part[1] for part in parts], axes=1)
    maximum = _likeliest if prior is None else prior.maximum
    return process.with_rate(maximum(scatter, count))


def estimate_shape(points: Floats, hierarchy: Hierarchy, process: Brownian, prior: Prior | None) -> Brownian:
    """The same from one history, with the trace of Λ as it was."""
    found = estimate_rate(points, hierarchy, process, prior=prior)
    return found.with_rate(found.rate * (_trace(process) / _trace(found)))


def _trace(process: Brownian) -> float:
    return float(np.trace(process.rate) if process.rate.ndim == 2 else process.rate.sum())


def by_moments(points: Floats, process: Brownian, leaf_ages: npt.ArrayLike | None) -> Brownian:
    """Λ scaled so that the variances of columns with at least two entries add up to what they are."""
    told = (~np.isnan(points)).sum(axis=0) > 1
    rate, _ = process.on_columns(points.shape[1])
    if not told.any():
        return process
    variances = sample_covariance(points[:, told], "diagonal", process.leaf_variance, leaf_ages)
    factor = float(variances.sum() / (np.diag(rate) if rate.ndim == 2 else rate)[told].sum())
    return process.with_rate(process.rate * factor) if factor > 0 else process


def _likeliest(scatter: Floats, count: Floats) -> Floats:
    values = np.linalg.eigvalsh(scatter) if scatter.ndim == 2 else np.atleast_1d(scatter)
    if not values.min() > len(values) * 1e-15 * values.max():
        what = f"{len(scatter)} columns" if scatter.ndim == 2 else "each variance"
        raise ValueError(
            f"the contrasts of the history do not tell a rate for {what}: there are too few of them, or a column is "
            "constant or missing; give a prior, or a simpler shape"
        )
    return np.asarray(scatter / count)


def _scatter(points: Floats, hierarchy: Hierarchy, process: Brownian, shape: Shape) -> tuple[Floats, Floats]:
    # S and the number of contrasts, in the shape of the rate.
    contrasts = _contrasts(points, hierarchy, process, shape)
    if shape == "full":
        return contrasts.T @ contrasts, np.asarray(float((~np.isnan(contrasts[:, 0])).sum()))
    squares, counts = np.nansum(contrasts**2, axis=0), (~np.isnan(contrasts)).sum(axis=0).astype(np.float64)
    return (squares, counts) if shape == "diagonal" else (squares.sum(), counts.sum())


def _contrasts(points: Floats, hierarchy: Hierarchy, process: Brownian, shape: Shape) -> Floats:
    # (events, D): (ŷ_l − ŷ_r)/√(v_l + v_r + s), NaN where the two do not both know of a column.
    n_columns = points.shape[1]
    if shape == "full":
        _check_complete(points)
    messages = evaluate_events(process.with_rate(1.0).prepare(points), hierarchy).messages
    variance = np.broadcast_to(messages[:, :-n_columns], (len(messages), n_columns))
    ages, mean = ages_of(hierarchy), messages[:, -n_columns:]
    left, right = hierarchy.children.T
    length = 2 * ages[hierarchy.n_leaves :] - ages[left] - ages[right]
    gaps, totals = mean[left] - mean[right], variance[left] + variance[right] + length[:, None]
    if isinstance(process.root, Gaussian):
        gaps = np.vstack([gaps, mean[-1] - process.root.mean])
        totals = np.vstack([totals, variance[-1] + process.root.variance])
    if ((totals == 0.0) & (gaps != 0.0)).any():
        raise ValueError("lineages that differ meet at distance 0, so the data are impossible given the history")
    found = np.where((totals > 0.0) & (totals < np.inf), gaps / np.sqrt(np.where(totals > 0.0, totals, 1.0)), np.nan)
    return found[~np.isnan(found).all(axis=1)] if shape == "full" else found


def estimate_scale(x: npt.ArrayLike, hierarchy: Hierarchy, process: Brownian, rounds: int = 1) -> Brownian:
    """The process with k Λ for Λ: the duration of each event is averaged over, given those before it, at rate C(m, 2).

    One step is k = Σ E⟨1/(v_l + v_r + s)⟩ / N, with E the squared distance of the two lineages in units of Λ, and ⟨·⟩
    under e^(−cδ) Z(s0 + 2δ). So a history whose durations are the best ones for a wrong scale can still tell that it is
    wrong. Events of identical lineages are left out where they have no variance; so is the root.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 1.0])
    >>> estimate_scale([[0.0], [1.0], [2.0]], history, Brownian(), rounds=20).rate.round(3)
    np.float64(1.812)
    """
    _check_brownian(process)
    points = check_points(x, "x", missing=True)
    for _ in range(check_integer("rounds", rounds, 0)):
        near = [process.with_rate(process.rate * np.exp(h)) for h in (-_STEP, _STEP)]
        (low, shared), (high, _) = (_log_events(points, hierarchy, each) for each in near)
        used = np.isfinite(low) & np.isfinite(high) & (shared > 0)
        if not used.any():
            return process
        slope = (high[used] - low[used]).sum() / (2 * _STEP)  # of Σ log ∫ e^(−cδ) e^(−E/2kS) … dδ in log k: Σ E⟨1/S⟩/2
        process = process.with_rate(process.rate * max(2 * slope / shared[used].sum(), 1e-300))
    return process


def _log_events(points: Floats, hierarchy: Hierarchy, process: Brownian) -> tuple[Floats, Floats]:
    # log ∫ e^(−cδ) Z(s0 + 2δ) dδ of every event, and how many entries the two lineages share.
    ages, _ = ages_since_leaves(hierarchy, "estimate_scale")
    prepared, n = process.prepare(points), hierarchy.n_leaves
    messages = evaluate_events(prepared, hierarchy).messages
    order = np.argsort(ages[n:], kind="stable")
    before, rates = np.zeros(n - 1), np.empty(n - 1)
    before[order[1:]] = ages[n:][order[:-1]]
    rates[order] = np.arange(n, 1, -1) * np.arange(n - 1, 0, -1) / 2
    s0 = np.maximum(2 * before - ages[hierarchy.children].sum(axis=1), 0.0)
    logs, shared = np.empty(n - 1), np.empty(n - 1)
    children = np.ascontiguousarray(hierarchy.children)
    _integrals(prepared.compiled("meet", "log_integral"), children, messages, s0, rates, logs, shared)
    return logs, shared


@kernel
def _integrals(process, children, messages, s0, rates, logs, shared):
    meeting = np.empty(process.n_meeting)
    for i in range(logs.size):
        shared[i] = meet(process, messages, children[i, 0], messages, children[i, 1], meeting, 0)
        logs[i] = log_integral(process, meeting, 0, s0[i], rates[i])


def _check_brownian(process: Any) -> None:
    if not isinstance(process, Brownian):
        raise TypeError(f"expected Brownian motion, not {process!r}; for sites there is estimate_sites")


def _check_complete(points: Floats) -> None:
    if np.isnan(points).any():
        i, d = np.argwhere(np.isnan(points))[0]
        raise ValueError(f'x misses row {i}, column {d}; a full rate needs complete data: impute, or use "diagonal"')
