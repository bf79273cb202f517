"""Parameters of a process from data: given a history, or in turns with one that is searched for.

Given a history, Brownian motion has independent contrasts u = (ŷ_l − ŷ_r)/√(v_l + v_r + s) ~ N(0, Λ), one for each
event, whose scatter S = Σ u uᵀ gives Λ in closed form. For independent sites, an expected number of redraws on each
branch gives rates and equilibria, by the EM algorithm.

**The scale is not found in turns.** Multiply Λ by k and all ages by 1/k: the likelihood stays, and the prior rises. So
a best history and the best rate for it chase each other for ever, and `fit` takes only the shape from them.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from palmette._jit import specialise
from palmette.array_types import Floats
from palmette.checks import check_points
from palmette.coalescent.brownian import Brownian, Gaussian
from palmette.coalescent.greedy import FoundHistory, Rule, greedy
from palmette.coalescent.joint import ages_of, evaluate_events
from palmette.coalescent.particles import CoalescentDraws
from palmette.coalescent.process import Process
from palmette.coalescent.sites import IndependentSites
from palmette.coalescent.view import site_tables, view, weighted_histories, with_equilibrium
from palmette.hierarchy import Hierarchy

__all__ = ["Gamma", "InverseGamma", "InverseWishart"]
__all__ += ["estimate_rate", "estimate_scale", "estimate_sites", "fit", "sample_covariance"]

Shape = Literal["scalar", "diagonal", "full"]
Scale = Literal["moments", "em"]

meet: Any = None  # a process's, put in by `specialise`, as is this
log_integral: Any = None

_SHAPES: tuple[Shape, ...] = ("scalar", "diagonal", "full")  # by the number of axes of a rate
_STEP = 1e-4  # in log scale, of a central difference
_LEAST, _MOST = 1e-12, 1e12  # of a rate of change: the likelihood can rise for ever towards 0 or inf


@dataclass(frozen=True)
class InverseWishart:
    """p(Λ) ∝ |Λ|^(−(ν + D + 1)/2) e^(−tr(Ψ Λ⁻¹)/2): Ψ = `scale`, a (D, D) matrix or a number times the identity."""

    scale: Any
    degrees: float

    def __post_init__(self) -> None:
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim not in (0, 2) or not np.isfinite(scale).all():
            raise ValueError(f"scale has shape {scale.shape}; give a positive number or a (D, D) matrix")
        if not self.degrees > 0:
            raise ValueError(f"degrees is {self.degrees}; it must be positive")


@dataclass(frozen=True)
class InverseGamma:
    """p(λ) ∝ λ^(−a − 1) e^(−b/λ): a = `shape`, b = `scale`, of each variance."""

    shape: float
    scale: float

    def __post_init__(self) -> None:
        if not (self.shape > 0 and self.scale > 0):
            raise ValueError(f"InverseGamma({self.shape}, {self.scale}): both must be positive")


@dataclass(frozen=True)
class Gamma:
    """p(λ) ∝ λ^(a − 1) e^(−bλ): a = `shape` ≥ 1, b = `rate`, of each rate of change."""

    shape: float
    rate: float

    def __post_init__(self) -> None:
        if not (self.shape >= 1 and self.rate >= 0):
            raise ValueError(f"Gamma({self.shape}, {self.rate}): the shape must be at least 1, the rate at least 0")


def sample_covariance(x: npt.ArrayLike, shape: Shape = "diagonal", leaf_variance: float = 0.0) -> Any:
    """The covariance of the rows of x, over 1 + leaf_variance: an unbiased estimate of Λ, whatever the history was.

    Two lineages meet after a time of mean 1, so E (x_i − x_j)(x_i − x_j)ᵀ = 2 (1 + leaf_variance) Λ. It is noisy, since
    there is one history. A number for "scalar", (D,) for "diagonal", (D, D) for "full", which takes complete data only.

    >>> sample_covariance([[0.0, 1.0], [2.0, float("nan")], [4.0, 3.0]])
    array([4., 2.])
    """
    points = check_points(x, "x", missing=True)
    _check_shape(shape)
    counts = (~np.isnan(points)).sum(axis=0)
    if shape == "full":
        _check_complete(points)
    if not (counts > 1).any() or (shape != "scalar" and (counts < 2).any()):
        raise ValueError(f"column {int(np.argmin(counts))} of x has fewer than 2 entries and no variance; drop it")
    centred = np.nan_to_num(points - np.nansum(points, axis=0) / np.maximum(counts, 1)) / np.sqrt(1 + leaf_variance)
    if shape == "full":
        return centred.T @ centred / (len(points) - 1)
    scatter, degrees = (centred**2).sum(axis=0), np.maximum(counts - 1, 0)
    return float(scatter.sum() / degrees.sum()) if shape == "scalar" else scatter / degrees


def estimate_rate(
    x: npt.ArrayLike,
    history: Hierarchy | CoalescentDraws,
    process: Brownian,
    *,
    shape: Shape | None = None,
    prior: InverseWishart | InverseGamma | None = None,
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
    shape = shape or _SHAPES[process.rate.ndim]
    _check_shape(shape)
    wanted = InverseWishart if shape == "full" else InverseGamma
    if prior is not None and not isinstance(prior, wanted):
        raise TypeError(f"the prior of a {shape} rate is {wanted.__name__}, not {prior!r}")
    points = check_points(x, "x", missing=True)
    weights, histories = weighted_histories(history)
    parts = [_scatter(points, each, process, shape) for each in histories]
    scatter = np.tensordot(weights, [part[0] for part in parts], axes=1)
    count = np.tensordot(weights, [part[1] for part in parts], axes=1)
    return Brownian(_maximum(scatter, count, prior), process.root, process.leaf_variance)


def _maximum(scatter: Floats, count: Floats, prior: Any) -> Floats:
    if isinstance(prior, InverseWishart):
        n = len(scatter)
        own = np.asarray(prior.scale, dtype=np.float64)
        if own.ndim == 2 and own.shape != scatter.shape:
            raise ValueError(f"the scale of the prior has shape {own.shape} but x has {n} columns")
        return np.asarray((scatter + (own if own.ndim else own * np.eye(n))) / (prior.degrees + count + n + 1))
    if isinstance(prior, InverseGamma):
        return np.asarray((prior.scale + scatter / 2) / (prior.shape + count / 2 + 1))
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
    unit = Brownian(1.0, process.root, process.leaf_variance)
    messages = evaluate_events(unit.prepare(points), hierarchy).messages
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
    for _ in range(_check_rounds(rounds)):
        near = [_scaled(process, np.exp(h)) for h in (-_STEP, _STEP)]
        (low, shared), (high, _) = (_log_events(points, hierarchy, each) for each in near)
        used = np.isfinite(low) & np.isfinite(high) & (shared > 0)
        if not used.any():
            return process
        slope = (high[used] - low[used]).sum() / (2 * _STEP)  # of Σ log ∫ e^(−cδ) e^(−E/2kS) … dδ in log k: Σ E⟨1/S⟩/2
        process = _scaled(process, max(2 * slope / shared[used].sum(), 1e-300))
    return process


def _log_events(points: Floats, hierarchy: Hierarchy, process: Brownian) -> tuple[Floats, Floats]:
    # log ∫ e^(−cδ) Z(s0 + 2δ) dδ of every event, and how many entries the two lineages share.
    prepared, n = process.prepare(points), hierarchy.n_leaves
    messages, ages = evaluate_events(prepared, hierarchy).messages, ages_of(hierarchy)
    order = np.argsort(ages[n:], kind="stable")
    before, rates = np.zeros(n - 1), np.empty(n - 1)
    before[order[1:]] = ages[n:][order[:-1]]
    rates[order] = np.arange(n, 1, -1) * np.arange(n - 1, 0, -1) / 2
    s0 = np.maximum(2 * before - ages[hierarchy.children].sum(axis=1), 0.0)
    logs, shared = np.empty(n - 1), np.empty(n - 1)
    run = specialise(_integrals, meet=prepared.kind.meet, log_integral=prepared.kind.log_integral)
    children = np.ascontiguousarray(hierarchy.children)
    run(prepared.theta, children, messages, s0, rates, np.empty(prepared.n_meeting), logs, shared)
    return logs, shared


def _integrals(theta, children, messages, s0, rates, meeting, logs, shared):
    for i in range(logs.size):
        shared[i] = meet(theta, messages[children[i, 0]], messages[children[i, 1]], meeting)
        logs[i] = log_integral(theta, meeting, s0[i], rates[i])


def _scaled(process: Brownian, factor: float) -> Brownian:
    return Brownian(process.rate * factor, process.root, process.leaf_variance)


def estimate_sites(
    x: npt.ArrayLike,
    history: Hierarchy | CoalescentDraws,
    process: IndependentSites,
    *,
    rounds: int = 10,
    pseudo_count: float = 0.5,
    prior: Gamma | None = None,
    update: Collection[Literal["rate", "equilibrium"]] = ("rate", "equilibrium"),
) -> IndependentSites:
    """The process after `rounds` of EM given the history: each raises the likelihood, with priors the posterior.

    With Z_b = Z of the two sides of branch b, of length l_b, the expected number of redraws to state k on it is
    (1 − e^(−λ l_b)) q_k M_b(k)/Z_b, and

        q_k ← (Σ_b redraws to k + q_k M_root(k) + pseudo_count) / their sum,
        λ ← (Σ_b λ l_b/Z_b + a − 1) / (Σ_b l_b + b).

    A process with one rate gets one, pooled over the sites; one with a rate per site, one each. `pseudo_count` is for
    each state that is possible. Sites without entries stay as they are, but for priors. Draws count by weight.

    >>> history = Hierarchy.from_merges([[0, 1], [3, 2]], heights=[0.1, 0.9])
    >>> found = estimate_sites([[0], [0], [1]], history, IndependentSites(1.0, [[0.5, 0.5]]), rounds=1, pseudo_count=0)
    >>> found.rate.round(6), found.equilibrium[0].round(6)
    (np.float64(1.152551), array([0.520093, 0.479907]))
    """
    if not isinstance(process, IndependentSites):
        raise TypeError(f"expected IndependentSites, not {process!r}")
    if unknown := set(update) - {"rate", "equilibrium"}:
        raise ValueError(f'update holds {sorted(unknown)}; give "rate", "equilibrium" or both')
    if not 0 <= pseudo_count < np.inf:
        raise ValueError(f"pseudo_count is {pseudo_count}; it must be finite and at least 0")
    points = check_points(x, "x", missing=True)
    process = with_equilibrium(points, process)
    weights, histories = weighted_histories(history)
    for _ in range(_check_rounds(rounds)):
        parts = [_expected_redraws(points, each, process) for each in histories]
        redraws, ratios, length = (np.tensordot(weights, [part[k] for part in parts], axes=1) for k in range(3))
        equilibrium: Any = process.equilibrium
        if "equilibrium" in update:
            tables = [table[: len(q)] + pseudo_count * (q > 0) for table, q in zip(redraws, equilibrium, strict=True)]
            equilibrium = [table / table.sum() for table in tables]
        rate = _update_rate(process.rate, ratios, float(length), prior) if "rate" in update else process.rate
        process = IndependentSites(rate, equilibrium)
    return process


def _update_rate(rate: Floats, ratios: Floats, length: float, prior: Gamma | None) -> Floats:
    # ratios (D,): Σ_b λ l_b/Z_b.
    total, below = (ratios, length) if rate.ndim else (ratios.sum(), length * len(ratios))
    if prior is not None:
        total, below = total + prior.shape - 1, below + prior.rate
    return np.clip(total / below, _LEAST, _MOST) if below > 0 else rate


def _expected_redraws(points: Floats, hierarchy: Hierarchy, process: IndependentSites) -> tuple[Floats, Floats, float]:
    # Expected draws of each state (D, K), the root's among them; Σ_b λ l_b/Z_b (D,); and Σ_b l_b.
    seen, n = view(process.prepare(points), hierarchy), hierarchy.n_leaves
    rates = np.broadcast_to(process.rate, points.shape[1])
    (q, below), (_, above) = (site_tables(process, messages) for messages in (seen.messages, seen.outside))
    length, reach = np.zeros(2 * n - 1), seen.reach[:-1, None]
    length[hierarchy.children] = seen.ages[n:, None] - seen.ages[hierarchy.children]
    length = length[:-1, None]
    agreement = (q * below[:-1] * above[:-1]).sum(axis=-1)
    z = -np.expm1(-rates * reach) + np.exp(-rates * reach) * agreement
    if not (z > 0.0).all():
        raise ValueError("states that differ meet at distance 0, so the data are impossible given the history")
    redrawn = -np.expm1(-rates * length) / z
    redraws = q * (np.einsum("bd,bdk->dk", redrawn, below[:-1]) + below[-1])
    return redraws, (rates * length / z).sum(axis=0), float(length.sum())


def fit(
    x: npt.ArrayLike,
    process: Process,
    rule: Rule = "rate1",
    rounds: int = 3,
    scale: Scale | None = "moments",
    *,
    prior: InverseWishart | InverseGamma | Gamma | None = None,
    labels: Sequence[str] | None = None,
    progress: bool | None = None,
) -> tuple[Any, FoundHistory]:
    """(process, found): a greedy history and the parameters for it, in turns, and at last the history for these.

    The shape of Λ, or the ratios of the rates of sites, and the equilibria come from the histories, the scale does not:
    see the top of this module. `scale` for `Brownian` motion: "moments" sets the trace of Λ to that of the
    `sample_covariance`; "em" starts there and takes a step of `estimate_scale` in each round; None keeps the trace. A
    process with one number for Λ has no shape. The mean rate of `IndependentSites` is always kept.

    >>> process, found = fit([[0.0, 1.0], [0.5, 5.0], [3.0, -6.0], [2.0, 1.0]], Brownian([1.0, 1.0]))
    >>> process.rate.round(3), found.hierarchy
    (array([ 2.301, 20.511]), Hierarchy.from_newick('(((0,1),3),2);'))
    """
    if scale not in (None, "moments", "em"):
        raise ValueError(f'scale is {scale!r}; give "moments", "em" or None')
    _check_rounds(rounds)
    points = check_points(x, "x", missing=True)
    if isinstance(process, IndependentSites):
        if scale == "em":
            raise ValueError('scale="em" is for Brownian motion; the mean rate of IndependentSites is kept')
        process = with_equilibrium(points, process)
    elif isinstance(process, Brownian):
        process = process if scale is None else _by_moments(points, process)
    else:
        raise TypeError(f"expected Brownian motion or IndependentSites, not {process!r}")
    step: Any = _next_sites if isinstance(process, IndependentSites) else _next_brownian
    for _ in range(rounds):
        found = greedy(points, process, rule, labels, progress)
        process = step(points, found.hierarchy, process, prior, scale)
    return process, greedy(points, process, rule, labels, progress)


def _next_brownian(points: Floats, hierarchy: Hierarchy, process: Any, prior: Any, scale: Scale | None) -> Brownian:
    if process.rate.ndim:
        found = estimate_rate(points, hierarchy, process, prior=prior)
        process = _scaled(found, _trace(process) / _trace(found))
    return estimate_scale(points, hierarchy, process) if scale == "em" else process


def _next_sites(points: Floats, hierarchy: Hierarchy, process: Any, prior: Any, _: Scale | None) -> IndependentSites:
    update: tuple[Any, ...] = ("rate", "equilibrium") if process.rate.ndim else ("equilibrium",)
    found = estimate_sites(points, hierarchy, process, prior=prior, update=update)
    return IndependentSites(found.rate * (process.rate.mean() / found.rate.mean()), found.equilibrium)


def _trace(process: Brownian) -> float:
    return float(np.trace(process.rate) if process.rate.ndim == 2 else process.rate.sum())


def _by_moments(points: Floats, process: Brownian) -> Brownian:
    # Scaled so that the variances of columns with at least two entries add up to what they are.
    told = (~np.isnan(points)).sum(axis=0) > 1
    rate, _ = process._on_columns(points.shape[1])
    if not told.any():
        return process
    variances = sample_covariance(points[:, told], "diagonal", process.leaf_variance)
    factor = float(variances.sum() / (np.diag(rate) if rate.ndim == 2 else rate)[told].sum())
    return _scaled(process, factor) if factor > 0 else process


def _check_brownian(process: Any) -> None:
    if not isinstance(process, Brownian):
        raise TypeError(f"expected Brownian motion, not {process!r}; for sites there is estimate_sites")


def _check_shape(shape: Any) -> None:
    if shape not in _SHAPES:
        raise ValueError(f"shape is {shape!r}; give one of {', '.join(map(repr, _SHAPES))}")


def _check_complete(points: Floats) -> None:
    if np.isnan(points).any():
        i, d = np.argwhere(np.isnan(points))[0]
        raise ValueError(f'x misses row {i}, column {d}; a full rate needs complete data: impute, or use "diagonal"')


def _check_rounds(rounds: Any) -> int:
    if isinstance(rounds, bool) or not isinstance(rounds, int | np.integer) or rounds < 0:
        raise ValueError(f"rounds is {rounds!r}; expected a whole number, 0 or more")
    return int(rounds)
