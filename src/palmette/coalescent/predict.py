"""What a history says of entries that were not seen: their distributions, densities of what was held out, and draws."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.brownian_missing import Coupled
from palmette.coalescent.joint import ages_of, evaluate_events, log_likelihood, total_log
from palmette.coalescent.particles import CoalescentDraws
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.sites import IndependentSites
from palmette.coalescent.view import (
    View,
    known_rows,
    log_mean,
    log_normal,
    safe_log,
    site_tables,
    view,
    weighted_histories,
)
from palmette.hierarchy import Hierarchy

__all__ = ["Imputation", "Prediction", "impute", "log_predictive_entry", "predict"]


@dataclass(frozen=True, eq=False)
class Prediction:
    """One distribution for each missing entry, in the order of rows, then columns.

    ``entries`` (k, 2): row and column of each. Real-valued data: ``mean`` and ``variance`` (k,); where nothing is known
    (a column without entries, a flat root) the variance is inf, and the mean 0. Sites: ``probabilities`` (k, states),
    by code, 0 beyond the states of a site.
    """

    entries: Ints
    mean: Floats | None = None
    variance: Floats | None = None
    probabilities: Floats | None = None


def predict(x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process) -> Prediction:
    """p(entry | all that was seen, history) for every missing entry by itself; over draws, the mixture.

    x has NaN (or −1 for sites) where an entry is missing. The process is `Brownian`, whose leaf variance counts, or
    `IndependentSites`.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
    >>> found = predict([[1.0, 0.0], [float("nan"), 0.5], [3.0, 1.0]], history, Brownian())
    >>> found.entries.tolist(), found.mean.round(6), found.variance.round(6)
    ([[1, 0]], array([1.25]), array([0.9375]))
    """
    points, process = known_rows(x, process)
    entries = np.argwhere(np.isnan(points))
    weights, histories = weighted_histories(history)
    parts = [_predict(points, each, process) for each in histories]
    if isinstance(process, IndependentSites):
        return Prediction(entries, probabilities=np.tensordot(weights, [part[0] for part in parts], axes=1))
    means, variances = (np.array(values) for values in zip(*parts, strict=True))
    mean = weights @ means
    return Prediction(entries, mean, weights @ (variances + (means - mean) ** 2))


def log_predictive_entry(
    x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process, values: npt.ArrayLike
) -> Floats:
    """log p(entry = its value | all that was seen, history), (k,), for every missing entry of x by itself.

    `values` has the shape of x and holds what was held out; where it is missing, too, the answer is 0. So it is where a
    flat root leaves an entry without a distribution: the first entry of a column adds nothing to the likelihood. For
    processes other than `Brownian` and `IndependentSites` it is the ratio of two likelihoods, entry by entry.

    >>> history = Hierarchy.from_merges([[0, 1]], heights=[0.5])
    >>> log_predictive_entry([[1.0], [float("nan")]], history, Brownian(), [[1.0], [2.0]]).round(6)  # log N(2; 1, 1)
    array([-1.418939])
    """
    points, process = known_rows(x, process)
    truth = known_rows(values, process)[0]
    if truth.shape != points.shape:
        raise ValueError(
            f"values has shape {truth.shape} but x has shape {points.shape}; give one value for each entry"
        )
    weights, histories = weighted_histories(history)
    logs = np.array([_log_entries(points, each, process, truth) for each in histories])
    return log_mean(logs, weights)


def _log_entries(points: Floats, hierarchy: Hierarchy, process: Process, truth: Floats) -> Floats:
    entries = np.argwhere(np.isnan(points))
    at = truth[np.isnan(points)]
    told = ~np.isnan(at)
    if isinstance(process, IndependentSites):
        IndependentSites.prepare(process, truth)  # complains about codes without a probability
        (table,) = _predict(points, hierarchy, process)
        chosen = table[np.arange(len(at)), np.where(told, at, 0).astype(np.int64)]
        return np.where(told, safe_log(chosen), 0.0)
    if isinstance(process, Brownian):
        mean, variance = _predict(points, hierarchy, process)
        return np.where(told & (variance < np.inf), log_normal(np.where(told, at, mean) - mean, variance), 0.0)
    base, found = log_likelihood(points, hierarchy, process), np.zeros(len(at))
    for k in np.flatnonzero(told):
        more = points.copy()
        more[tuple(entries[k])] = at[k]
        found[k] = total_log([log_likelihood(more, hierarchy, process), -base])
    return found


def _predict(points: Floats, hierarchy: Hierarchy, process: Process) -> tuple[Floats, ...]:
    # (mean, variance) or (probabilities,) of the missing entries.
    if isinstance(process, IndependentSites):
        return (_site_probabilities(points, hierarchy, process),)
    if not isinstance(process, Brownian):
        raise TypeError(
            f"{type(process).__name__} does not say what its messages mean for a single entry; predictions need "
            "Brownian or IndependentSites (log_predictive_entry and place take any process)"
        )
    prepared = process.prepare(points)
    seen = view(prepared, hierarchy)
    rate, _ = process._on_columns(points.shape[1])
    if prepared.kind is Coupled:
        mean, variance = _condition(np.isnan(points), prepared, seen, process.leaf_variance)
        return (np.sqrt(np.diag(rate)) * mean)[np.isnan(points)], (np.diag(rate) * variance)[np.isnan(points)]
    rows, columns = np.nonzero(np.isnan(points))
    if not len(rows):
        return np.zeros(0), np.zeros(0)
    variance = rate[columns] * (seen.outside[rows, columns] + seen.reach[rows] + process.leaf_variance)
    mean = np.sqrt(rate[columns]) * seen.outside[rows, points.shape[1] + columns]
    return np.where(variance < np.inf, mean, 0.0), variance


def _condition(is_missing: Any, prepared: Prepared, seen: View, leaf_variance: float) -> tuple[Floats, Floats]:
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


def _site_probabilities(points: Floats, hierarchy: Hierarchy, process: IndependentSites) -> Floats:
    prepared = process.prepare(points)
    seen = view(prepared, hierarchy)
    rows, columns = np.nonzero(np.isnan(points))
    q, outside = site_tables(process, seen.outside[rows])
    copied = np.exp(-np.broadcast_to(process.rate, points.shape[1])[columns] * seen.reach[rows])[:, None]
    found = q[columns] * (1.0 - copied + copied * outside[np.arange(len(rows)), columns])
    return np.asarray(found / found.sum(axis=1, keepdims=True))


@dataclass(frozen=True, eq=False)
class Imputation:
    """``values`` (n, D): x with the mean, or the likeliest state, put in for what is missing.

    ``spread`` (n, D) is the standard deviation of what was put in, or the probability that a state is another one; 0
    where x has an entry. ``draws`` (size, n, D): x with draws put in, all that is missing at once.
    """

    values: Floats
    spread: Floats
    draws: Floats


def impute(
    x: npt.ArrayLike,
    history: Hierarchy | CoalescentDraws,
    process: Process,
    rng: np.random.Generator | int | None = None,
    size: int = 0,
) -> Imputation:
    """x without gaps: the posterior mean (sites: the likeliest state, the lowest among equals), and `size` draws.

    Over `CoalescentDraws`, the spread counts what the histories disagree on, and every draw has a history of its own.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 2.0])
    >>> found = impute([[1], [-1], [0]], history, IndependentSites(1.0, [[0.5, 0.5]]))
    >>> found.values.tolist(), found.spread.round(6).tolist()
    ([[1.0], [1.0], [0.0]], [[0.0], [0.092326], [0.0]])
    """
    points, process = known_rows(x, process)
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ValueError(f"size is {size!r}; expected a number of draws, 0 or more")
    found = predict(points, history, process)
    values, spread, is_missing = points.copy(), np.zeros_like(points), np.isnan(points)
    if found.probabilities is not None:
        values[is_missing], spread[is_missing] = found.probabilities.argmax(axis=1), 1 - found.probabilities.max(axis=1)
    elif found.variance is not None:
        _check_proper(found.entries[np.isinf(found.variance)])
        values[is_missing], spread[is_missing] = found.mean, np.sqrt(found.variance)
    generator = np.random.default_rng(rng)
    weights, histories = weighted_histories(history)
    draws = np.repeat(points[None], size, axis=0)
    chosen = generator.choice(len(weights), size, p=weights)
    for k in np.unique(chosen):
        mine = np.flatnonzero(chosen == k)
        make = _draw_states if isinstance(process, IndependentSites) else _draw_numbers
        draws[np.ix_(mine, *map(np.arange, points.shape))] = make(points, histories[k], process, len(mine), generator)
    return Imputation(values, spread, draws)


def _check_proper(improper: Ints) -> None:
    if len(improper):
        row, column = improper[0]
        raise ValueError(
            f"nothing is known of x at row {row}, column {column}: no other row has an entry there that says anything, "
            "and the root is flat; drop the column, or give the process a Gaussian root"
        )


def _draw_numbers(points: Floats, hierarchy: Hierarchy, process: Any, size: int, generator: Any) -> Floats:
    # Errors of prediction do not depend on the data, so those of simulated data are as good as any.
    is_missing = np.isnan(points)
    rate, mean = process._on_columns(points.shape[1])
    scale = np.linalg.cholesky(rate) if rate.ndim == 2 else np.diag(np.sqrt(rate))
    ages = ages_of(hierarchy)
    length = np.zeros(len(ages))
    length[hierarchy.children] = ages[hierarchy.n_leaves :, None] - ages[hierarchy.children]
    length[-1] = process.root.variance if isinstance(process.root, Gaussian) else 0.0
    length[: hierarchy.n_leaves] += process.leaf_variance
    expected = _predict(points, hierarchy, process)[0]
    draws = np.repeat(points[None], size, axis=0)
    for draw in draws:
        state = np.sqrt(length)[:, None] * (generator.standard_normal((len(ages), points.shape[1])) @ scale.T)
        state[-1] += mean
        for node in range(len(ages) - 1, hierarchy.n_leaves - 1, -1):
            state[hierarchy.children[node - hierarchy.n_leaves]] += state[node]
        simulated = state[: hierarchy.n_leaves]
        guess = _predict(np.where(is_missing, np.nan, simulated), hierarchy, process)[0]
        draw[is_missing] = expected + simulated[is_missing] - guess
    return draws


def _draw_states(points: Floats, hierarchy: Hierarchy, process: Any, size: int, generator: Any) -> Floats:
    # From the root down: copied with odds u M(parent's state) : 1 − u, else drawn from q M.
    n, n_sites = points.shape
    prepared = process.prepare(points)
    q, table = site_tables(process, evaluate_events(prepared, hierarchy).messages)
    ages, rates, sites = ages_of(hierarchy), np.broadcast_to(process.rate, n_sites), np.arange(n_sites)
    states = np.empty((len(ages), size, n_sites), dtype=np.int64)

    def redrawn(node: int) -> Ints:
        edges = np.cumsum(q * table[node], axis=1)[None]
        return np.asarray((generator.random((size, n_sites, 1)) * edges[..., -1:] >= edges[..., :-1]).sum(axis=-1))

    states[-1] = redrawn(-1)
    for node in range(len(ages) - 1, n - 1, -1):
        for child in hierarchy.children[node - n]:
            copied = np.exp(-rates * (ages[node] - ages[child]))
            weight = copied * table[child][sites, states[node]]
            is_copied = generator.random((size, n_sites)) * (weight + 1.0 - copied) < weight
            states[child] = np.where(is_copied, states[node], redrawn(child))
    return np.where(np.isnan(points), states[:n].transpose(1, 0, 2), points)
