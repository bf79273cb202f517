"""The shower that made many jets: its rate and its cut, by the sum of log Z over all of them.

log Z of the likelihood "density" is the log density of a jet's momenta, given their sum, with the history summed out.
So Σ log Z is a log likelihood of the law. In the rates it is smooth: the maximum has a curvature, and that an error. In
t_cut it jumps: see `palmette.jets._cut`.
"""

from __future__ import annotations

import itertools
import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_choice, check_number
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card, html_table
from palmette.errors import ImpossibleData
from palmette.evidence.climbing import climb
from palmette.evidence.parameters import edges_at, log_errors, values_at
from palmette.jets._cut import upper_end
from palmette.jets._sample import Sample, left_out_text, usable
from palmette.jets.files import batches
from palmette.jets.jet import Jets, joined
from palmette.models.particles import check_magnitude
from palmette.progress import Progress

__all__ = ["ShowerFit", "fit_shower"]

_START = 1.0
_FEW = 100  # jets; as well as these can tell, the maximum is found by large steps
_UNIT = 2.5  # standard errors that small steps are measured by
_MOST_SUMS = 30  # of each of the two
_UNHEARD_OF = 10.0  # jets that should be there: that none is has a probability of e^−10


@dataclass(frozen=True, eq=False)
class ShowerFit:
    """The shower under which jets are most probable, how sharply, and of which jets that is said."""

    law: Mapping[str, float]
    """rate, root_rate and t_cut, as `palmette.models.Ginkgo` and `palmette.jets.infer` take them."""
    intervals: Mapping[str, tuple[float, float]]
    """For each parameter that was looked for, two ends that it lies between with probability `level`."""
    level: float
    curvature: Floats
    """(k, k): −∂² log L / ∂ log θ_i ∂ log θ_j for the rates that were looked for, in the order of `intervals`."""
    log_likelihood: float
    """log L: Σ log Z, less Σ log P(kept) if jets were selected."""
    at_boundary: tuple[str, ...]
    """The rates that would go further if they could."""
    leaves: tuple[int, int | None]
    """The numbers of particles that jets were selected by; None: there is no largest one."""
    n_jets: int
    """How many jets were used."""
    left_out: Mapping[str, int]
    """How many were not, and why."""
    n_sums: int
    """How many times all jets were summed over."""

    @property
    def errors(self) -> dict[str, float]:
        """The standard error of the logarithm of each rate that was looked for; inf without a peak."""
        names = [name for name in self.intervals if name != "t_cut"]
        return dict(zip(names, log_errors(self.curvature, names, self.at_boundary).tolist(), strict=True))

    def _repr_html_(self) -> str:
        facts = [("jets", f"{self.n_jets:,}"), ("log likelihood", self.log_likelihood)]
        facts += [(f"left out, {why}", f"{count:,}") for why, count in self.left_out.items() if count]
        rows = [[name, f"{self.law[name]:.4g}", *self._ends(name)] for name in self.law]
        columns = ["parameter", "value", f"{100 * self.level:g} % from", "to", ""]
        return card("ShowerFit", facts, html_table(columns, rows))

    def _ends(self, name: str) -> list[str]:
        if name not in self.intervals:
            return ["", "", "given"]
        ends = [f"{end:.4g}" for end in self.intervals[name]]
        return [*ends, "at the boundary" if name in self.at_boundary else ""]

    def __repr__(self) -> str:
        ends = [
            f"{name}={self.law[name]:.4g} ({low:.4g} to {high:.4g})" for name, (low, high) in self.intervals.items()
        ]
        edge = f", at the boundary: {', '.join(self.at_boundary)}" if self.at_boundary else ""
        return f"ShowerFit({', '.join(ends)}, level={self.level:g}, n_jets={self.n_jets}{edge})"


def fit_shower(
    jets: Jets | str | os.PathLike[str] | Iterable[Jets],
    *,
    t_cut: float | None = None,
    root_rate: float | Literal["fit"] | None = None,
    min_leaves: int | None = None,
    max_leaves: int | None = None,
    likelihood: str = "density",
    impossible: Literal["refuse", "drop"] = "refuse",
    within: tuple[float, float] = (0.01, 100.0),
    level: float = 0.95,
    by: str | Sequence[str] | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> ShowerFit:
    """argmax over rate (and t_cut, and root_rate) of Σ log Z(jet): the law of the shower, with histories summed out.

    `jets` are `Jets`, a file that `palmette.jets.stream` can read, or any iterable of `Jets`; all are held in memory.
    `t_cut` is looked for unless it is given: it is the mass² of the heaviest particle, and its interval lies above.
    `root_rate` is `rate` unless it is given; "fit" looks for it as well. Rates lie `within` two ends.

    If jets were *selected* by their number of particles, say how: `min_leaves`, `max_leaves`. The likelihood is then
    that of a jet given that it was kept; without, the rate comes out wrong. Jets beyond these bounds are left out, and
    that makes nothing wrong, so `max_leaves` is also the way to do without those that take too long: the work is three
    times as much for each leaf. Simulated jets know how they were selected, unless you chose among them. A warning says
    if there should be larger or smaller jets and there are none.

    Other likelihoods than "density" are refused: they are no densities of momenta, and Σ log Z of them is largest far
    from the true rate, or at an end. Jets that are impossible under every rate are refused too, or left out with a
    warning if `impossible` is "drop". Those that are broken (a NaN, E² < |p|²) are left out, with a warning.

    >>> import palmette as pal
    >>> fit = pal.jets.fit_shower(pal.simulate.ginkgo(300, max_leaves=8, rng=1), t_cut=16.0)
    >>> fit.leaves, [round(end, 1) for end in fit.intervals["rate"]]
    ((1, 8), [1.5, 1.8])
    """
    ends = _check(likelihood, impossible, within, level)
    cut = None if t_cut is None else check_magnitude("t_cut", t_cut)
    names, fixed = ["rate"], {}
    if root_rate == "fit":
        names.append("root_rate")
    elif root_rate is not None:
        fixed["root_rate"] = check_magnitude("root_rate", root_rate)
    used, leaves, left_out = usable(joined(list(batches(jets, by))), min_leaves, max_leaves)
    sample = _possible(Sample(used, leaves, cut, threads), impossible, left_out)
    asked = _CountedLikelihood(sample, progress)
    try:
        best = _climbed(asked, len(sample.jets), names, fixed, ends)
        rates = {**fixed, **best.values}
        intervals = _intervals(best, level)
        if t_cut is None:
            intervals["t_cut"] = sample.t_cut, sample.t_cut + _reach(asked, sample, rates, best.value, level)
    finally:
        asked.bar.close()
    _warn(sample, rates, left_out, best.edges)
    law = {"rate": rates["rate"], "root_rate": rates.get("root_rate", rates["rate"]), "t_cut": sample.t_cut}
    fit = (law, intervals, level, best.curvature, best.value, best.edges, leaves)
    return ShowerFit(*fit, len(sample.jets), left_out, asked.count)


class _CountedLikelihood:
    # log L, counted and shown.

    def __init__(self, sample: Sample, progress: bool | None) -> None:
        self.count = 1  # that told what is impossible
        self.bar = Progress("fitting a shower", None, progress, unit="sums")
        self._sample = sample

    def __call__(self, rates: Mapping[str, float], t_cut: float | None = None) -> float:
        value = self._sample.log_likelihood(rates, t_cut)
        self.count += 1
        self.bar.advance(1)
        return value


class _Best(NamedTuple):
    values: dict[str, float]
    value: float
    curvature: Floats
    edges: tuple[str, ...]


def _climbed(
    asked: _CountedLikelihood, n_jets: int, names: list[str], fixed: Mapping[str, float], ends: tuple[float, float]
) -> _Best:
    # By large steps to where a few jets could not tell better, then in units of what errors all have.
    low, high = (np.full(len(names), math.log(end)) for end in ends)

    def log_likelihood(x: Floats) -> float:
        return asked({**fixed, **values_at(names, x)})

    start = np.clip(np.full(len(names), math.log(_START)), low, high)
    tolerance = DEFAULTS.evidence_tolerance * max(1.0, n_jets / _FEW)
    rough = climb(log_likelihood, start, low, high, tolerance=tolerance, most=_MOST_SUMS)
    errors = log_errors(-rough.hessian, names, edges_at(names, rough.x, low, high))
    unit = np.where(np.isfinite(errors), np.minimum(_UNIT * errors, 1.0), 1.0)
    fine = climb(
        lambda z: log_likelihood(rough.x + unit * z),
        np.zeros(len(names)),
        (low - rough.x) / unit,
        (high - rough.x) / unit,
        tolerance=DEFAULTS.evidence_tolerance,
        most=_MOST_SUMS,
    )
    x = np.clip(rough.x + unit * fine.x, low, high)
    curvature, edges = -fine.hessian / np.outer(unit, unit), edges_at(names, x, low, high)
    errors = log_errors(curvature, names, edges)
    if np.isfinite(errors).all():
        curvature = _curvature(log_likelihood, x, fine.value, np.minimum(errors, 1.0))
    return _Best(values_at(names, x), fine.value, curvature, edges)


def _curvature(f: Callable[[Floats], float], x: Floats, value: float, step: Floats) -> Floats:
    # −∂²f by differences between points one standard error apart, where an interval ends or nearly so.
    k = len(x)
    axes = np.diag(step)
    up, down = ([f(x + side * axis) for axis in axes] for side in (1, -1))
    falls = 2 * value - np.array(up) - np.array(down)
    out = np.diag(falls / step**2)
    for i, j in itertools.combinations(range(k), 2):
        both = 2 * value - f(x + axes[i] + axes[j]) - f(x - axes[i] - axes[j])
        out[i, j] = out[j, i] = (both - falls[i] - falls[j]) / (2 * step[i] * step[j])
    return out


def _intervals(best: _Best, level: float) -> dict[str, tuple[float, float]]:
    # The logarithm of a rate is about normal.
    names, out = list(best.values), {}
    for name, error in zip(names, log_errors(best.curvature, names, best.edges).tolist(), strict=True):
        factor = math.exp(NormalDist().inv_cdf(0.5 + 0.5 * level) * error) if error < math.inf else math.inf
        out[name] = best.values[name] / factor, best.values[name] * factor
    return out


def _reach(asked: _CountedLikelihood, sample: Sample, rates: Mapping[str, float], top: float, level: float) -> float:
    # How far t_cut may lie above the heaviest particle; the next ones tell how far apart they are there.
    heaviest = np.sort(sample.particles)[::-1][:11]
    apart = max(float(heaviest[0] - heaviest[-1]) / 10.0, 1e-9 * sample.t_cut)
    return upper_end(lambda width: top - asked(rates, sample.t_cut + width), apart, level)


def _possible(sample: Sample, impossible: str, left_out: dict[str, int]) -> Sample:
    bad = int(sample.is_impossible.sum())
    if bad and (impossible == "refuse" or bad == len(sample.jets)):
        raise ImpossibleData(f'{sample.why_impossible()}; give another t_cut, or leave them out with impossible="drop"')
    if bad:
        left_out["impossible under every rate"] = bad
    return sample.without_impossible() if bad else sample


def _check(likelihood: str, impossible: str, within: tuple[float, float], level: float) -> tuple[float, float]:
    if likelihood != "density":
        raise ValueError(
            f"likelihood is {likelihood!r}, which is no density of momenta, so that Σ log Z of it is largest far from "
            'the true rate; a shower is fitted with "density"'
        )
    check_choice("impossible", impossible, ("refuse", "drop"))
    if not 0.0 < check_number("level", level) < 1.0:
        raise ValueError(f"level is {level!r}; it must lie between 0 and 1")
    low, high = (check_magnitude("an end of within", end) for end in within)
    if not low < high:
        raise ValueError(f"within is {within!r}; give the lower end first, and a larger one")
    return low, high


def _warn(sample: Sample, rates: Mapping[str, float], left_out: Mapping[str, int], edges: tuple[str, ...]) -> None:
    if left_out:
        warnings.warn(f"{sum(left_out.values()):,} jets were left out{left_out_text(left_out)}", stacklevel=3)
    if edges:
        warnings.warn(
            f"the likelihood still grows where {' and '.join(edges)} cannot go further; widen `within`, or doubt that "
            "these jets follow such a law",
            stacklevel=3,
        )
    sizes, (fewest, most) = sample.jets.n_leaves, sample.leaves
    smallest, largest = int(sizes.min()), int(sizes.max())
    odds, kept = sample.size_probabilities(most or largest, rates), sample.kept(rates)
    fewer = odds[:, fewest - 1 : smallest - 1].sum(axis=1)
    more = odds[:, largest:].sum(axis=1) if most is not None else 1.0 - odds.sum(axis=1)
    _warn_of_missing(float((fewer / kept).sum()), f"fewer than {smallest}", f"min_leaves={smallest}")
    _warn_of_missing(float((more / kept).sum()), f"more than {largest}", f"max_leaves={largest}")


def _warn_of_missing(expected: float, words: str, remedy: str) -> None:
    if expected > _UNHEARD_OF:
        warnings.warn(
            f"such a shower makes about {expected:,.0f} jets of {words} particles, and there is none. If jets were "
            f"selected by their number of particles, give {remedy}; the rate is wrong otherwise",
            stacklevel=4,
        )
