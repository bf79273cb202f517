"""What a history says of entries that were not seen: their distributions, densities of what was held out, and draws."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.checks import check_integer
from palmette.coalescent.draws import CoalescentDraws, weighted_histories
from palmette.coalescent.joint import log_likelihood, total_log
from palmette.coalescent.prediction import Prediction
from palmette.coalescent.process import Process, defines, known_rows
from palmette.hierarchy import Hierarchy

__all__ = ["Imputation", "impute", "log_predictive_entry", "predict"]


def predict(x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process) -> Prediction:
    """p(entry | all that was seen, history) for every missing entry by itself; over draws, the mixture.

    x has NaN (or −1 for sites) where an entry is missing. The process is `Brownian`, whose leaf variance counts, or
    `IndependentSites`, or one of your own that has ``predict_entries``.

    >>> from palmette.coalescent import Brownian
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.5, 2.0])
    >>> found = predict([[1.0, 0.0], [float("nan"), 0.5], [3.0, 1.0]], history, Brownian())
    >>> found.entries.tolist(), found.mean.round(6), found.variance.round(6)
    ([[1, 0]], array([1.25]), array([0.9375]))
    """
    points, process = known_rows(x, process)
    weights, histories = weighted_histories(history)
    return Prediction.mixed(weights, [process.predict_entries(points, each) for each in histories])


def log_predictive_entry(
    x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process, values: npt.ArrayLike
) -> Floats:
    """log p(entry = its value | all that was seen, history), (k,), for every missing entry of x by itself.

    `values` has the shape of x and holds what was held out; where it is missing, too, the answer is 0. So it is where a
    flat root leaves an entry without a distribution: the first entry of a column adds nothing to the likelihood. For
    processes without ``predict_entries`` it is the ratio of two likelihoods, entry by entry.

    >>> from palmette.coalescent import Brownian
    >>> history = Hierarchy.from_merges([[0, 1]], heights=[0.5])
    >>> log_predictive_entry([[1.0], [float("nan")]], history, Brownian(), [[1.0], [2.0]]).round(6)  # log N(2; 1, 1)
    array([-1.418939])
    """
    points, process = known_rows(x, process)
    if (shape := np.shape(values)) != points.shape:
        raise ValueError(f"values has shape {shape} but x has shape {points.shape}; give one value for each entry")
    truth, _ = known_rows(values, process, "values")
    weights, histories = weighted_histories(history)
    logs = np.array([_log_entries(points, each, process, truth) for each in histories])
    return _log_mean(logs, weights)


def _log_mean(logs: Floats, weights: Floats) -> Floats:
    # log Σ_s weight_s e^(logs_s), along the first axis; weights are positive.
    terms = logs + np.log(weights)[:, None]
    top = terms.max(axis=0, initial=-np.inf)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore", divide="ignore"):
        return np.asarray(np.where(np.isfinite(top), finite + np.log(np.exp(terms - finite).sum(axis=0)), top))


def _log_entries(points: Floats, hierarchy: Hierarchy, process: Process, truth: Floats) -> Floats:
    values = truth[np.isnan(points)]
    if defines(type(process), "predict_entries"):
        return process.predict_entries(points, hierarchy).log_density(values)
    entries, found = np.argwhere(np.isnan(points)), np.zeros(len(values))
    base = log_likelihood(points, hierarchy, process)
    for k in np.flatnonzero(~np.isnan(values)):
        more = points.copy()
        more[tuple(entries[k])] = values[k]
        found[k] = total_log([log_likelihood(more, hierarchy, process), -base])
    return found


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

    >>> from palmette.coalescent import IndependentSites
    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 2.0])
    >>> found = impute([[1], [-1], [0]], history, IndependentSites(1.0, [[0.5, 0.5]]))
    >>> found.values.tolist(), found.spread.round(6).tolist()
    ([[1.0], [1.0], [0.0]], [[0.0], [0.092326], [0.0]])
    """
    points, process = known_rows(x, process)
    check_integer("size", size, 0)
    found = predict(points, history, process)
    if found.variance is not None:
        _check_proper(found.entries[np.isinf(found.variance)])
    values, spread, is_missing = points.copy(), np.zeros_like(points), np.isnan(points)
    values[is_missing], spread[is_missing] = found.guess()
    generator = np.random.default_rng(rng)
    weights, histories = weighted_histories(history)
    draws = np.repeat(points[None], size, axis=0)
    chosen = generator.choice(len(weights), size, p=weights)
    for k in np.unique(chosen):
        mine = np.flatnonzero(chosen == k)
        draws[mine] = process.draw_entries(points, histories[k], len(mine), generator)
    return Imputation(values, spread, draws)


def _check_proper(improper: Ints) -> None:
    if len(improper):
        row, column = improper[0]
        raise ValueError(
            f"nothing is known of x at row {row}, column {column}: no other row has an entry there that says anything, "
            "and the root is flat; drop the column, or give the process a Gaussian root"
        )
