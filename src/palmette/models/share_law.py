"""Laws of how a split shares out the variance of its cluster."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, logsumexp

from palmette.array_types import Floats
from palmette.checks import check_choice, check_non_negative, check_number, check_positive

__all__ = ["LAWS", "GradualShares", "GroupShares", "Line", "ShareLaw", "SignalShape", "check_law"]

_FAR = 60.0  # nats below which nothing is left of a density
_NODES = 600  # of the trapezoidal rule: errors are below 1e-12


class Line(NamedTuple):
    """at + slope · (m − 2), in a cluster of m leaves."""

    at: float
    slope: float

    def of(self, m: Floats) -> Floats:
        """By size."""
        return self.at + self.slope * (m - 2)


class SignalShape(NamedTuple):
    """The density of u in a cluster of m leaves: ∝ u^(a−1) (1−u)^(b−1) / (1 + exp(K (ℓ − logit u))).

    K = h o (m − 2) and ℓ = log o, with o = 1 / (m − 2) + g the odds u / (1 − u) below which u is cut off; no g, no cut.
    """

    first: Line  #: a
    second: Line  #: b
    cut: float | None = None  #: g


class ShareLaw(ABC):
    """The density of (u, q) in a split, where SSE(P) = Δ + SSE(L) + SSE(R) is shared out over m = l + r leaves.

    u = Δ / SSE(P) is the share that the split takes, q = SSE(L) / (SSE(L) + SSE(R)) that of the one part in what is
    left, and h is half of the dimension. In isotropic noise u ~ Beta(h, h (m − 2)) and q ~ Beta(h (l − 1), h (r − 1)).
    In a signal u has the `shape` of a law, and q ~ Beta(τ h (l − 1), τ h (r − 1)) with τ = `evenness_of(h)`. In no law
    does a split take less than noise would: a split that takes less would join what is apart.
    """

    noise_level: float
    """σ²: the mean square below which a cluster is taken for noise, as a share of that of all points; 0: none is."""

    @abstractmethod
    def shape(self, h: float) -> SignalShape:
        """What the density of u looks like."""

    @abstractmethod
    def evenness_of(self, h: float) -> float:
        """τ, at most 1."""

    def half_dimension(self, d: float) -> float:
        """h, of d columns."""
        return 0.5 * d

    def log_total(self, h: float, m: Floats) -> Floats:
        """log of what `shape` adds up to, by numbers of leaves above two."""
        first, second, cut = self.shape(h)
        if cut is None:
            return np.asarray(betaln(first.of(m), second.of(m)))
        odds = cut + 1.0 / (m - 2)
        return _log_integral(first.of(m), second.of(m), h * odds * (m - 2), np.log(odds))


def _log_integral(*shapes: Floats) -> Floats:
    # log ∫ u^a (1−u)^b / (1 + e^(K (ℓ − x))) dx, x = logit u, by x = ℓ + sinh(t) / K: fine at the cut, wide beyond.
    a, b, steepness, cut = (row[:, None] for row in shapes)
    scale = np.maximum(steepness, 1.0)
    slowest = np.minimum(np.minimum(a + steepness, b), 1.0)  # as a power of the odds that the density falls with
    ends = np.arcsinh(scale * (_FAR / slowest + np.abs(cut)))
    t = ends * np.linspace(-1.0, 1.0, _NODES)
    x = cut + np.sinh(t) / scale
    logs = -a * np.logaddexp(0.0, -x) - b * np.logaddexp(0.0, x) - np.logaddexp(0.0, steepness * (cut - x))
    steps = np.log(2.0 * ends / (_NODES - 1) / scale) + np.log(np.cosh(t))
    return np.asarray(logsumexp(logs + steps, axis=1))


@dataclass(frozen=True)
class GradualShares(ShareLaw):
    """u ~ Beta(h (1 + g (m − 2)), κ h (m − 2)): every split takes 1 + g (m − 2) times what it does in noise.

    For clusters that differ by degrees, as most do that are not made up.
    """

    excess: float
    """g."""
    within: float = 1.0
    """κ: below 1, what is left within the parts is less certain than in noise."""
    evenness: float = 1.0
    """τ: below 1, parts may be of unequal spread."""
    power: float = 1.0
    """The dimension d counts for d^power: the more there are, the less each of them is one more."""

    noise_level = 0.0

    def __post_init__(self) -> None:
        check_non_negative("excess", self.excess)
        for name, value in (("within", self.within), ("evenness", self.evenness), ("power", self.power)):
            if not check_positive(name, value) <= 1.0:
                raise ValueError(f"{name} is {value:g}; give a number above 0, and at most 1")

    def half_dimension(self, d: float) -> float:
        """h, of d columns."""
        return 0.5 * float(d**self.power) if d > 0.0 else 0.0

    def shape(self, h: float) -> SignalShape:
        """A Beta law of which nothing is cut off."""
        return SignalShape(Line(h, h * self.excess), Line(0.0, self.within * h))

    def evenness_of(self, h: float) -> float:
        """τ, whatever the dimension."""
        return self.evenness


@dataclass(frozen=True)
class GroupShares(ShareLaw):
    """u ~ Beta(4, 1), less what noise could do: a split takes most of what there is, or its cluster is noise.

    For groups that are apart, with nothing but noise inside. What is below 1.3 times the odds u / (1 − u) of noise, and
    that for every leaf more, is cut off, as steeply as noise falls: there a split would join what is apart. Parts may
    be of any spread, q ~ Beta(0.2 (l − 1), 0.2 (r − 1)), whatever the dimension.
    """

    noise_level: float = 0.12
    first: float = 4.0
    second: float = 1.0
    excess: float = 0.3
    """Where the law is cut off: at the odds (1 + excess (m − 2)) / (m − 2)."""
    spread: float = 0.2

    def __post_init__(self) -> None:
        for name in ("first", "second", "excess", "spread"):
            check_positive(name, getattr(self, name))
        if not 0.0 < check_number("noise_level", self.noise_level) <= 1.0:
            raise ValueError(
                f"noise_level is {self.noise_level!r}; give a share of the mean square, above 0, at most 1"
            )

    def shape(self, h: float) -> SignalShape:
        """A Beta law that is cut off below."""
        return SignalShape(Line(self.first, 0.0), Line(self.second, 0.0), self.excess)

    def evenness_of(self, h: float) -> float:
        """`spread` in terms of h."""
        return min(1.0, self.spread / h)


#: Laws by name. "gradual": every split takes somewhat more than noise. "slight": the same, but less so, and with all of
#: the dimension; its evidence tells such tables from noise. "groups": groups with noise inside. "noise": what all are
#: relative to, log ψ = 0. The constants of the first are those that best foretold, on draws from real tables that were
#: set aside for it, which clusters of one half of the columns are found again in the other (docs/replication.md).
LAWS: dict[str, ShareLaw] = {
    "gradual": GradualShares(0.08, within=0.6, evenness=0.1, power=0.85),
    "slight": GradualShares(0.05, within=0.8, evenness=0.4),
    "groups": GroupShares(),
    "noise": GradualShares(0.0),
}


def check_law(law: ShareLaw | str) -> ShareLaw:
    """The law that is meant.

    >>> check_law("slight")
    GradualShares(excess=0.05, within=0.8, evenness=0.4, power=1.0)
    """
    if isinstance(law, ShareLaw):
        return law
    check_choice("law", law, LAWS, " or a ShareLaw")
    return LAWS[law]
