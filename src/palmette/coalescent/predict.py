"""What a history says of entries that were not seen, and of rows that are not in it.

Seen from a lineage b, the rest of the history is a lineage as well. Its message, the *outside message* of b, is

    outside(b) = join(outside(parent of b), sibling of b)

because a reversible process does not mind where the root is. So the state at any point of any branch is the join of two
messages, and how likely a new row is there is one more meeting.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, specialise
from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.brownian_missing import ByColumn, Coupled
from palmette.coalescent.durations import no_root
from palmette.coalescent.joint import ages_of, evaluate_events, log_likelihood, total_log
from palmette.coalescent.particles import CoalescentDraws
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.sites import IndependentSites
from palmette.hierarchy import Hierarchy
from palmette.inputs import check_points

__all__ = ["Imputation", "Placement", "Prediction", "impute", "log_predictive_entry", "place", "predict"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]

meet: Any = None  # a process's, put in by `specialise`, as are all of these
log_z: Any = None
join: Any = None
log_root: Any = None
log_density: Any = None
climb: Any = None
find_window: Any = None
integrate: Any = None
measure: Any = None

_LOG_2 = math.log(2)
_STEP = 4 * _LOG_2  # of the coarse grid in log age
_FLOOR, _CEILING = -140 * _LOG_2, 600 * _LOG_2  # of log age, where a branch has no end of its own
_DROP = 40.0  # e^−40: what may be left out of an integral
_GOLDEN = 0.6180339887498949
_PARTS = np.array([0.0, 0.125, 0.25, 0.5, 1.0])  # of the way from the mode to where the density ends: panels
_WIDEST = 2.0  # of a panel, in log age: where lineages are certain, densities set in like e^(−1/age)
_NODES, _WEIGHTS = (np.ascontiguousarray(values) for values in np.polynomial.legendre.leggauss(12))
_FEW_NODES, _FEW_WEIGHTS = (np.ascontiguousarray(values) for values in np.polynomial.legendre.leggauss(6))
_LOG_2_PI = math.log(2 * math.pi)


@dataclass(frozen=True, eq=False)
class View:
    """Both sides of every branch: ``messages`` (2n − 1, n_message) from below, ``outside`` from above.

    The outside message of node b lies ``reach[b]`` away from b; inf for a root above which nothing is known.
    """

    ages: Floats
    messages: Floats
    outside: Floats
    reach: Floats


def view(prepared: Prepared, hierarchy: Hierarchy) -> View:
    """One pass up and one down."""
    messages = evaluate_events(prepared, hierarchy).messages
    ages, root = ages_of(hierarchy), _root_message(prepared)
    outside, reach = np.zeros_like(messages), np.full(len(ages), np.inf)
    if root is not None:
        outside[-1], reach[-1] = root, 0.0
    children = np.ascontiguousarray(hierarchy.children)
    specialise(_down, join=prepared.kind.join)(prepared.theta, children, ages, messages, outside, reach)
    return View(ages, messages, outside, reach)


def _root_message(prepared: Prepared) -> Floats | None:
    # The distribution of the root's state as a message; None if it is flat or the equilibrium.
    kind, theta = prepared.kind, prepared.theta
    if kind.log_root is no_root or (kind in (Brownian, ByColumn, Coupled) and theta[1] == 0.0):
        return None
    if kind in (Brownian, ByColumn, Coupled):
        n, variance = int(theta[0]), theta[2]
        mean, rate = theta[3 : 3 + n], theta[3 + n :]
        if kind is Coupled:
            return np.concatenate([np.ones(n), mean, variance * rate])
        return np.concatenate([np.full(1 if kind is Brownian else n, variance), mean])
    if hasattr(kind, "root_message"):
        return np.asarray(kind.root_message(theta), dtype=np.float64)
    raise TypeError(
        f"{kind.__name__} has a log_root, so that its root is a lineage of its own; give it a static method "
        "root_message(theta), too, that returns the message of that lineage"
    )


def _down(theta, children, ages, messages, outside, reach):
    n = children.shape[0] + 1
    for i in range(n - 2, -1, -1):
        node = n + i
        for side in range(2):
            b, sibling = children[i, side], children[i, 1 - side]
            up, down = ages[node] - ages[b], ages[node] - ages[sibling]
            if reach[node] == np.inf:
                outside[b] = messages[sibling]
                reach[b] = up + down
            else:
                join(theta, outside[node], reach[node], messages[sibling], down, outside[b])
                reach[b] = up


def site_tables(process: IndependentSites, messages: Floats) -> tuple[Floats, Floats]:
    """q (D, K) and M (…, D, K) of messages (…, n_message), 0 beyond the states of a site."""
    sizes = np.array([len(q) for q in process.equilibrium])
    is_state = np.arange(sizes.max()) < sizes[:, None]
    q, table = np.zeros(is_state.shape), np.zeros((len(messages), *is_state.shape))
    q[is_state] = np.concatenate([np.asarray(each) for each in process.equilibrium])
    table[:, is_state] = messages[:, len(sizes) :]
    return q, table


def _known(x: npt.ArrayLike, process: Process, name: str = "x") -> tuple[Floats, Process]:
    # x with NaN where an entry is missing, and the process with its equilibrium spelled out.
    points = check_points(x, name, missing=True)
    if not isinstance(process, Process):
        raise TypeError(f"expected a process, such as palmette.coalescent.Brownian(), not {process!r}")
    if not isinstance(process, IndependentSites):
        return points, process
    points[points == -1.0] = np.nan
    return points, with_equilibrium(points, process)


def with_equilibrium(x: npt.ArrayLike, process: IndependentSites) -> IndependentSites:
    """The same process with an empirical equilibrium made explicit: 0 for codes that do not occur at a site.

    >>> with_equilibrium([[2], [0], [2]], IndependentSites()).equilibrium
    (array([0.375, 0.   , 0.625]),)
    """
    if not isinstance(process.equilibrium, str):
        return process
    process.prepare(x)  # complains about x, if there is reason to
    tables = []
    for column in check_points(x, "x", missing=True).T:
        seen = column[column >= 0].astype(np.int64)
        counts = np.bincount(seen, minlength=1)
        weights = np.where(counts > 0, counts + 0.5, 0.0) if len(seen) else np.ones(1)
        tables.append(weights / weights.sum())
    return IndependentSites(process.rate, tables)


def weighted_histories(history: Any) -> tuple[Floats, list[Hierarchy]]:
    """Weights that add up to 1, and the histories that have any; one hierarchy has weight 1."""
    if isinstance(history, Hierarchy):
        return np.ones(1), [history]
    if not isinstance(history, CoalescentDraws):
        raise TypeError(f"expected a Hierarchy with heights or CoalescentDraws, not {history!r}")
    carried = np.flatnonzero(history.weights)
    return history.weights[carried] / history.weights[carried].sum(), [history[int(i)] for i in carried]


def _log(values: Any) -> Floats:
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(values))


def _log_normal(gap: Floats, variance: Floats) -> Floats:
    # log N(gap; 0, variance); a variance of 0 is a point.
    safe = np.where((variance > 0.0) & (variance < np.inf), variance, 1.0)
    value = -0.5 * (_LOG_2_PI + np.log(safe) + gap**2 / safe)
    return np.where(variance > 0.0, value, np.where(gap == 0.0, np.inf, -np.inf))


def _log_mean(logs: Floats, weights: Floats) -> Floats:
    # log Σ_s weight_s e^(logs_s), along the first axis.
    terms = logs + _log(weights)[:, None]
    top = terms.max(axis=0, initial=-np.inf)
    finite = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(over="ignore"):
        return np.where(np.isfinite(top), finite + _log(np.exp(terms - finite).sum(axis=0)), top)


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
    points, process = _known(x, process)
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
    points, process = _known(x, process)
    truth = _known(values, process)[0]
    if truth.shape != points.shape:
        raise ValueError(
            f"values has shape {truth.shape} but x has shape {points.shape}; give one value for each entry"
        )
    weights, histories = weighted_histories(history)
    logs = np.array([_log_entries(points, each, process, truth) for each in histories])
    return _log_mean(logs, weights)


def _log_entries(points: Floats, hierarchy: Hierarchy, process: Process, truth: Floats) -> Floats:
    entries = np.argwhere(np.isnan(points))
    at = truth[np.isnan(points)]
    told = ~np.isnan(at)
    if isinstance(process, IndependentSites):
        IndependentSites.prepare(process, truth)  # complains about codes without a probability
        (table,) = _predict(points, hierarchy, process)
        chosen = table[np.arange(len(at)), np.where(told, at, 0).astype(np.int64)]
        return np.where(told, _log(chosen), 0.0)
    if isinstance(process, Brownian):
        mean, variance = _predict(points, hierarchy, process)
        return np.where(told & (variance < np.inf), _log_normal(np.where(told, at, mean) - mean, variance), 0.0)
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
    points, process = _known(x, process)
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


@dataclass(frozen=True, eq=False)
class Placement:
    """Where new rows join a history: one row of each array for each of them, one column for each branch.

    ``clusters`` (k,) are the leaves below each branch. For one hierarchy they are in the order of its nodes, and the
    last branch is the one above the root; for draws, every cluster of any history, by size. ``probabilities`` (m, k)
    add up to 1; ``ages`` (m, k) are the mean ages of the meeting, given the branch; ``log_density`` (m,) is
    log p(new row | x, history), inf for a copy of a row where that density is infinite.
    """

    clusters: tuple[tuple[int, ...], ...]
    probabilities: Floats
    ages: Floats
    log_density: Floats


def place(x: npt.ArrayLike, history: Hierarchy | CoalescentDraws, process: Process, new: npt.ArrayLike) -> Placement:
    """p(new | x, history) = Σ_b ∫ e^(−H(t)) p(new | joins branch b at age t) dt, H(t) = ∫_0^t (lineages at age u) du.

    `new` is a row, or rows, each placed by itself; entries may be missing. One quadrature for each branch and each time
    between events, right to about 1e-10: O(n²) for one row. Over `CoalescentDraws` the mixture, in which histories
    count by their weight times their density of the new row. A process of your own that has a ``log_root`` needs a
    static method ``root_message(theta)`` as well, which returns the distribution of the root's state as a message.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 2.0])
    >>> found = place([[0.0], [0.2], [3.0]], history, Brownian(), [[2.8]])
    >>> found.clusters[found.probabilities[0].argmax()], round(float(found.probabilities[0].max()), 3)
    ((2,), 0.943)
    """
    points, process = _known(x, process)
    rows = _known(np.atleast_2d(np.asarray(new, dtype=np.float64)), process, "new")[0]
    if rows.shape[1] != points.shape[1]:
        raise ValueError(f"new has {rows.shape[1]} columns but x has {points.shape[1]}; give the same columns")
    weights, histories = weighted_histories(history)
    found = [[_place(points, each, process, row) for each in histories] for row in rows]
    logs, ages = (np.array([[each[k] for each in row] for row in found]) for k in range(2))
    return _mixed(weights, logs, ages, *_clusters_of(histories))


def _clusters_of(histories: Sequence[Hierarchy]) -> tuple[tuple[tuple[int, ...], ...], Ints]:
    # All clusters, and the number of each node's cluster among them, (S, 2n − 1).
    nodes = [[tuple(h.leaf_order[first:last].tolist()) for first, last in h.intervals] for h in histories]
    nodes = [[tuple(sorted(cluster)) for cluster in each] for each in nodes]
    if len(nodes) == 1:
        return tuple(nodes[0]), np.arange(len(nodes[0]))[None]
    clusters = sorted({cluster for each in nodes for cluster in each}, key=lambda cluster: (len(cluster), cluster))
    number = {cluster: k for k, cluster in enumerate(clusters)}
    return tuple(clusters), np.array([[number[cluster] for cluster in each] for each in nodes])


def _mixed(weights: Floats, logs: Floats, ages: Floats, clusters: Any, numbers: Ints) -> Placement:
    # logs, ages (m, S, 2n − 1)
    logs = logs + _log(weights)[:, None]
    top = logs.max(axis=(1, 2), keepdims=True)
    with np.errstate(invalid="ignore"):
        share = np.where(logs == top, 1.0, np.exp(np.where(np.isfinite(top), logs - top, -np.inf)))
    total = share.sum(axis=(1, 2))
    share /= total[:, None, None]
    probabilities, mean = np.zeros((len(logs), len(clusters))), np.zeros((len(logs), len(clusters)))
    weight = np.zeros_like(mean)
    for k in range(len(logs)):
        np.add.at(probabilities[k], numbers, share[k])
        np.add.at(mean[k], numbers, np.maximum(share[k], 1e-300) * ages[k])
        np.add.at(weight[k], numbers, np.maximum(share[k], 1e-300))
    return Placement(clusters, np.minimum(probabilities, 1.0), mean / weight, top[:, 0, 0] + np.log(total))


def _place(points: Floats, hierarchy: Hierarchy, process: Process, row: Floats) -> tuple[Floats, Floats]:
    # log ∫ and mean age on each branch, (2n − 1,).
    n = len(points)
    both = process.prepare(np.vstack([points, row]))
    old = Prepared(both.kind, both.theta, both.leaves[:n], both.n_meeting, both.log_constant)
    seen = view(old, hierarchy)
    events = np.concatenate([[0.0], np.sort(seen.ages[n:])])
    hazard = np.concatenate([[0.0], np.cumsum(np.arange(n, 1, -1) * np.diff(events))])
    logs, ages, ends = np.empty(2 * n - 1), np.empty(2 * n - 1), np.full(2 * n - 1, np.inf)
    ends[hierarchy.children] = seen.ages[n:, None]
    room = np.empty(both.n_message), np.empty(both.n_meeting)
    sides = (seen.messages, seen.outside, seen.reach, both.leaves[n])
    world = (both.theta, seen.ages, events, hazard, *sides, *room)
    _surveying(both.kind)(world, ends, logs, ages)
    return logs + _log_constant(process, points, hierarchy, old), ages


def _surveying(kind: type[Process]) -> Any:
    functions = {name: getattr(kind, name) for name in ("meet", "log_z", "join", "log_root")}
    log_density = specialise(_log_density, **functions)
    climb = specialise(_climb, log_density=log_density)
    find_window = specialise(_find_window, log_density=log_density)
    integrate = specialise(_integrate, log_density=log_density)
    found = {"log_density": log_density, "climb": climb, "find_window": find_window, "integrate": integrate}
    return specialise(_survey, log_root=kind.log_root, measure=specialise(_measure, **found))


def _log_constant(process: Process, points: Floats, hierarchy: Hierarchy, old: Prepared) -> float:
    # What the constants of the new row add. A gap in it can change how all of the data are written down.
    alone = process.prepare(points)
    if alone.kind is old.kind:
        return old.log_constant - alone.log_constant
    events = evaluate_events(old, hierarchy)
    value = total_log([old.log_constant, *events.log_z, events.log_root])
    base = log_likelihood(points, hierarchy, process)
    if not (math.isfinite(value) and math.isfinite(base)):
        raise ValueError(
            "rows of x meet at age 0, where their density is 0 or infinite; give the process a leaf_variance"
        )
    return value - base


def _log_density(world, branch, y):
    # of y, where a new row joins the branch above b at age t = base · e^y: in y, densities are smooth.
    theta, ages, events, hazard, messages, outside, reach, leaf, joined, meeting = world
    b, base, low, root = branch
    up = base * math.expm1(y) if low > 0.0 else base * math.exp(y)
    t = low + up
    if b == ages.size - 1:
        meet(theta, messages[b], leaf, meeting)
        join(theta, messages[b], up, leaf, t, joined)
        value = log_z(theta, meeting, up + t) + log_root(theta, joined) - root
    else:
        join(theta, messages[b], up, outside[b], max(reach[b] - up, 0.0), joined)
        meet(theta, joined, leaf, meeting)
        value = log_z(theta, meeting, t)
    k = np.searchsorted(events, t, side="right") - 1
    value += math.log(t) - hazard[k] - (events.size - k) * (t - events[k])
    return value if value == value else -np.inf


def _climb(world, branch, low, high):
    # The maximum between low and high by golden section.
    for _ in range(32):
        one, two = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        if log_density(world, branch, one) >= log_density(world, branch, two):
            high = two
        else:
            low = one
    return 0.5 * (low + high)


def _find_window(world, branch, values, start, h, mode, lowest):
    # Where the log density is above `lowest`: a little more than that, within the grid.
    above = np.flatnonzero(values >= lowest)
    first, last = (above[0], above[-1]) if above.size > 0 else (values.size - 1, 0)
    inner_left, inner_right = min(start + first * h, mode), max(start + last * h, mode)
    left = start + max(math.ceil((inner_left - start) / h - 1e-9) - 1, 0) * h
    right = start + min(math.floor((inner_right - start) / h + 1e-9) + 1, values.size - 1) * h
    for _ in range(8):
        middle_left, middle_right = 0.5 * (left + inner_left), 0.5 * (right + inner_right)
        if log_density(world, branch, middle_left) >= lowest:
            inner_left = middle_left
        else:
            left = middle_left
        if log_density(world, branch, middle_right) >= lowest:
            inner_right = middle_right
        else:
            right = middle_right
    return left, right


@inline
def _next_event(events, base, low, y, end):
    # The first event after y, or the end.
    k = np.searchsorted(events, base * math.exp(y) * (1.0 - 1e-12), side="right")
    for event in events[k:]:
        at = math.log1p((event - low) / low) if low > 0.0 else math.log(event / base)
        if at > y:
            return min(at, end)
    return end


def _integrate(world, branch, start, end, top):
    # ∫ and the first moment of the age between start and end, relative to the top; pieces end at events.
    total, moment, y = 0.0, 0.0, start
    while y < end:
        stop = _next_event(world[2], branch[1], branch[2], y, min(end, y + _WIDEST))
        is_short = stop - y < 0.25 * min(end - start, _WIDEST)
        nodes, weights = (_FEW_NODES, _FEW_WEIGHTS) if is_short else (_NODES, _WEIGHTS)
        for j in range(nodes.size):
            at = y + 0.5 * (stop - y) * (1.0 + nodes[j])
            mass = 0.5 * (stop - y) * weights[j] * math.exp(log_density(world, branch, at) - top)
            total += mass
            moment += mass * branch[1] * math.exp(at)
        y = stop
    return total, moment


def _measure(world, branch, start, stop):
    # log ∫ over the branch, and the mean age: the mode from a coarse grid, then panels around it.
    values = np.empty(max(math.ceil((stop - start) / _STEP), 4) + 1)
    h = (stop - start) / (values.size - 1)
    for i in range(values.size):
        values[i] = log_density(world, branch, start + i * h)
    best = np.argmax(values)
    if values[best] == -np.inf:
        return -np.inf, branch[2]
    mode = climb(world, branch, max(start, start + (best - 1) * h), min(stop, start + (best + 1) * h))
    top = log_density(world, branch, mode)
    if values[best] > top:
        mode, top = start + best * h, values[best]
    if branch[2] == 0.0 and values[0] >= top - _DROP:  # the density of a copy of a leaf
        return np.inf, 0.0
    left, right = find_window(world, branch, values, start, h, mode, top - _DROP)
    total, moment = 0.0, 0.0
    for side in (left - mode, right - mode):
        for i in range(_PARTS.size - 1):
            one, two = mode + side * _PARTS[i], mode + side * _PARTS[i + 1]
            mass, weighted = integrate(world, branch, min(one, two), max(one, two), top)
            total += mass
            moment += weighted
    return top + math.log(total), moment / total


def _survey(world, ends, logs, means):
    root = log_root(world[0], world[4][ends.size - 1])
    for b in range(ends.size):
        low, high = world[1][b], ends[b]
        logs[b], means[b] = -np.inf, low
        if high > low:
            base = low if low > 0.0 else high if high < np.inf else 1.0
            start = 0.0 if low > 0.0 else _FLOOR
            stop = math.log1p((high - low) / low) if low > 0.0 else 0.0
            if high == np.inf:
                stop = _CEILING - math.log(base)
            logs[b], means[b] = measure(world, (b, base, low, root), start, stop)
            means[b] = min(max(means[b], low), high)
