"""Independent sites: along a branch of length l each site is redrawn from q with probability 1 − e^(−λl), else copied.

The message of a lineage is, for each site, a vector M over the states with q·M = 1; with u = e^(−λs) and
k = Σ q M_l M_r,

    Z(s) = 1 − u + u k,      M = m_l m_r / Z,  m = 1 − e^(−λl) + e^(−λl) M.

A leaf in state x has M = e_x/q_x and the constant q_x; a missing entry has M = 1 and the constant 1.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import inline, reduction
from palmette.array_types import Floats, Ints
from palmette.checks import check_choice, check_distribution, check_points
from palmette.coalescent.priors import Prior
from palmette.coalescent.process import Prepared, Process
from palmette.coalescent.site_entries import draw_states, predict_states
from palmette.coalescent.walks import walk_states
from palmette.hierarchy import Hierarchy
from palmette.links import offsets_of
from palmette.numeric import exponential

__all__ = ["IndependentSites"]

_SMALLEST = 1e-100  # of the probability of a state that was seen: its inverse is squared


class IndependentSites(Process):
    """P(y → z in time l) = e^(−λl) [y = z] + (1 − e^(−λl)) q_z, for each site by itself: categorical data.

    `rate` is λ, one number or one per site. `equilibrium` is a list of probability vectors q, one per site (they may
    differ in length), or "empirical": the states that occur at a site, each counted half a time more than it does, or
    "uniform": these states alike, of which there are two at least. Empirical ones have seen the data; where rates are
    compared by evidence they make large ones look good, since rows that are alike need no history then.
    Data are integer codes 0, 1, …; −1 or NaN is a missing entry.

    The log likelihood counts the constants of the leaves, Σ log q_x, so it can be compared between equilibria.

    >>> import palmette.coalescent as coalescent
    >>> from palmette.hierarchy import Hierarchy
    >>> pair = Hierarchy.from_merges([[0, 1]], heights=[100.0])
    >>> process = IndependentSites(1.0, [[0.25, 0.75]])
    >>> round(coalescent.log_likelihood([[0], [1]], pair, process), 6)  # log(1/4 · 3/4): nothing is left of the tie
    -1.673976
    """

    missing_code = -1.0
    predict_entries, draw_entries, walk = predict_states, draw_states, walk_states

    def __init__(
        self,
        rate: npt.ArrayLike = 1.0,
        equilibrium: Sequence[npt.ArrayLike] | Literal["empirical", "uniform"] = "empirical",
    ) -> None:
        self.rate = _check_rate(rate)
        self.equilibrium = _check_equilibrium(equilibrium)
        if not isinstance(self.equilibrium, str) and self.rate.ndim and len(self.rate) != len(self.equilibrium):
            raise ValueError(
                f"there are {len(self.rate)} rates but {len(self.equilibrium)} equilibria; give one of each per site"
            )

    def __repr__(self) -> str:
        q = self.equilibrium
        return f"IndependentSites(rate={self.rate.tolist()}, equilibrium={q if isinstance(q, str) else len(q)!r})"

    def prepare(self, x: npt.ArrayLike) -> Prepared:
        """The rows of x, (n, D) codes with −1 or NaN where missing, as messages."""
        codes = _check_codes(x)
        states, equilibrium = self._on_sites(codes)
        rates = np.broadcast_to(self.rate, codes.shape[1])
        starts = offsets_of([len(q) for q in equilibrium])
        known = states >= 0
        tables = [
            np.where(known[:, [d]], (states[:, [d]] == np.arange(len(q))) / np.where(q > 0, q, 1.0), 1.0)
            for d, q in enumerate(equilibrium)
        ]
        seen = [np.log(q[states[known[:, d], d]]).sum() for d, q in enumerate(equilibrium)]
        is_common = bool((rates == rates[0]).all())
        theta = np.concatenate([[len(rates), is_common], rates, starts, *equilibrium])
        return Prepared(IndependentSites, theta, np.hstack([known, *tables]), len(rates), float(np.sum(seen)))

    def given(self, x: npt.ArrayLike) -> IndependentSites:
        """The same process with equilibria that are numbers: 0 for codes that do not occur at a site.

        >>> IndependentSites().given([[2], [0], [2]]).equilibrium
        (array([0.375, 0.   , 0.625]),)
        >>> IndependentSites(1.0, "uniform").given([[2, 0], [0, 0], [2, 0]]).equilibrium
        (array([0.5, 0. , 0.5]), array([0.5, 0.5]))
        """
        codes = _check_codes(x)
        self._on_sites(codes)  # complains about x, if there is reason to
        if not isinstance(self.equilibrium, str):
            return self
        law = _LAWS[self.equilibrium]
        tables = []
        for column in codes.T:
            seen = np.unique(column[column >= 0])
            _, q = law(column)
            at = np.concatenate([seen, np.setdiff1d([0, 1], seen)])[: len(q)]  # states beyond those seen have low codes
            table = np.zeros(int(at.max()) + 1)
            table[at] = q
            tables.append(table)
        return IndependentSites(self.rate, tables)

    def first_guess(self, points: Floats, scale: str | None, leaf_ages: npt.ArrayLike | None) -> IndependentSites:
        """The same process with equilibria that are numbers."""
        if scale == "em":
            raise ValueError('scale="em" is for Brownian motion; the mean rate of IndependentSites is kept')
        return self.given(points)

    def refitted(
        self, points: Floats, hierarchy: Hierarchy, prior: Prior | None, scale: str | None
    ) -> IndependentSites:
        """Equilibria, and where sites have rates of their own the ratios of these, given a history."""
        from palmette.coalescent.estimate_sites import BOTH, estimate_sites

        update = BOTH if self.rate.ndim else BOTH[1:]
        found = estimate_sites(points, hierarchy, self, prior=prior, update=update)
        return IndependentSites(found.rate * (self.rate.mean() / found.rate.mean()), found.equilibrium)

    def _on_sites(self, codes: Ints) -> tuple[Ints, list[Floats]]:
        # Numbers of states (−1: missing), and q of each site.
        n_sites = codes.shape[1]
        if self.rate.ndim and len(self.rate) != n_sites:
            raise ValueError(
                f"there are {len(self.rate)} rates but x has {n_sites} columns; give one, or one per column"
            )
        if isinstance(self.equilibrium, str):
            found = [_LAWS[self.equilibrium](codes[:, d]) for d in range(n_sites)]
            return np.column_stack([states for states, _ in found]), [q for _, q in found]
        if len(self.equilibrium) != n_sites:
            raise ValueError(
                f"there are {len(self.equilibrium)} equilibria but x has {n_sites} columns; give one for each"
            )
        for d, q in enumerate(self.equilibrium):
            _check_states(codes[:, d], d, q)
        return codes, list(self.equilibrium)

    @staticmethod
    def meet(theta, left, right, out):
        """k = Σ q M_l M_r of each site, exactly 1 where one of the two knows nothing."""
        n = np.int64(theta[0])
        n_shared = 0.0
        for d in range(n):
            out[d] = 1.0
            if left[d] > 0.0 and right[d] > 0.0:
                n_shared += 1.0
                total = 0.0
                for j in range(np.int64(theta[2 + n + d]), np.int64(theta[3 + n + d])):
                    total += theta[3 + 2 * n + j] * left[n + j] * right[n + j]
                out[d] = total
        return n_shared

    @staticmethod
    def log_z(theta, meeting, s):
        """Σ log(1 − u + u k): a sum of two terms that are not negative, so nothing cancels."""
        value, product = 0.0, 1.0
        copied = exponential(-theta[2] * s)
        redrawn = _redrawn(theta[2] * s, copied)
        for d in range(meeting.size):
            if theta[1] == 0.0:
                copied = exponential(-theta[2 + d] * s)
                redrawn = _redrawn(theta[2 + d] * s, copied)
            product *= redrawn + copied * meeting[d]
            if not 1e-150 < product < 1e150:  # one logarithm for many factors
                if not product > 0.0:
                    return -np.inf
                value += math.log(product)
                product = 1.0
        return value + math.log(product)

    @staticmethod
    def slopes(theta, meeting, s):
        """Σ λ u g/Z and −Σ λ² u g/Z² with g = 1 − k; inf and −inf where Z is 0."""
        if theta[1] == 0.0:
            return _separate_slopes(theta, meeting, s)
        copied = exponential(-theta[2] * s)
        first, second = _common_slopes(meeting, copied, _redrawn(theta[2] * s, copied))
        return theta[2] * first, -theta[2] * theta[2] * second

    @staticmethod
    def longest(theta, meeting, rate):
        """2 D₊/c, with D₊ the number of sites at which the two disagree (k < 1)."""
        count = 0.0
        for d in range(meeting.size):
            if meeting[d] < 1.0:
                count += 1.0
        return 2.0 * count / rate

    @staticmethod
    def join(theta, left, l_left, right, l_right, out):
        """m_l m_r/Z at each site."""
        n = np.int64(theta[0])
        for d in range(n):
            out[d] = left[d] + right[d]
            copied_left, redrawn_left = math.exp(-theta[2 + d] * l_left), -math.expm1(-theta[2 + d] * l_left)
            copied_right, redrawn_right = math.exp(-theta[2 + d] * l_right), -math.expm1(-theta[2 + d] * l_right)
            low, high = np.int64(theta[2 + n + d]), np.int64(theta[3 + n + d])
            total = 0.0
            for j in range(low, high):
                product = (redrawn_left + copied_left * left[n + j]) * (redrawn_right + copied_right * right[n + j])
                out[n + j] = product
                total += theta[3 + 2 * n + j] * product
            for j in range(low, high):
                out[n + j] = out[n + j] / total if total > 0.0 else 1.0


@inline
def _redrawn(t, copied):
    # 1 − e^−t to all digits, without a call.
    small = t * (1.0 - t / 2 * (1.0 - t / 3 * (1.0 - t / 4 * (1.0 - t / 5 * (1.0 - t / 6)))))
    return small if t < 0.01 else 1.0 - copied


@reduction
def _common_slopes(meeting, copied, redrawn):
    first, second = 0.0, 0.0
    for d in range(meeting.size):
        inverse = 1.0 / (redrawn + copied * meeting[d])
        term = copied * (1.0 - meeting[d]) * inverse
        first += term
        second += term * inverse
    return first, second


@reduction
def _separate_slopes(theta, meeting, s):
    first, second = 0.0, 0.0
    for d in range(meeting.size):
        rate = theta[2 + d]
        copied = exponential(-rate * s)
        factor = rate / (_redrawn(rate * s, copied) + copied * meeting[d])
        term = copied * (1.0 - meeting[d]) * factor
        first += term
        second -= term * factor
    return first, second


def _check_rate(value: Any) -> Floats:
    try:
        rate = np.array(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"rate must be a number, or one per site, not {value!r}") from None
    if rate.ndim > 1 or rate.size == 0:
        raise ValueError(f"rate has shape {rate.shape}; give one number, or one per site")
    if not ((rate > 0) & (rate < np.inf)).all():
        raise ValueError(f"rate is {rate.tolist()}; rates of change must be positive and finite")
    return read_only(rate)


def _check_equilibrium(value: Any) -> tuple[Floats, ...] | Literal["empirical", "uniform"]:
    if isinstance(value, str):
        check_choice("equilibrium", value, ("empirical", "uniform"), ", or a list of probability vectors")
        return "empirical" if value == "empirical" else "uniform"
    vectors = tuple(read_only(check_distribution(q, f"the equilibrium of site {d}")) for d, q in enumerate(value))
    if not vectors:
        raise ValueError("equilibrium is empty; give one probability vector per site")
    return vectors


def _check_codes(x: npt.ArrayLike) -> Ints:
    points = check_points(x, "x", missing=True, columns=True)
    codes = np.where(np.isnan(points), -1.0, points)
    bad = np.argwhere((codes != np.floor(codes)) | (codes < -1) | (codes > 2**31))
    if len(bad):
        i, d = bad[0]
        raise ValueError(
            f"x holds {points[i, d]:g} at row {i}, column {d}; states are integer codes 0, 1, …, "
            "and -1 or NaN where one is missing"
        )
    return codes.astype(np.int64)


def _check_states(codes: Ints, site: int, q: Floats) -> None:
    for bad, why in (
        (codes >= len(q), f"the equilibrium has only {len(q)} states, so codes go up to {len(q) - 1}"),
        ((codes >= 0) & (q[np.minimum(codes, len(q) - 1)] < _SMALLEST), "its equilibrium probability is 0"),
    ):
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            raise ValueError(f"x holds state {codes[row]} at row {row}, column {site}, but {why}")


def _empirical(codes: Ints) -> tuple[Ints, Floats]:
    # Numbers of the states that occur, in the order of their codes, and their smoothed frequencies.
    seen, states, counts = np.unique(codes[codes >= 0], return_inverse=True, return_counts=True)
    numbers = np.full(len(codes), -1)
    numbers[codes >= 0] = states
    weights = counts + 0.5 if len(seen) else np.ones(1)
    return numbers, weights / weights.sum()


def _uniform(codes: Ints) -> tuple[Ints, Floats]:
    # The same with all states alike, and two of them at least.
    numbers, weights = _empirical(codes)
    n_states = max(2, len(weights))
    return numbers, np.full(n_states, 1.0 / n_states)


_LAWS = {"empirical": _empirical, "uniform": _uniform}
