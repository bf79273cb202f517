"""Laws of how a split shares out the variance of its cluster."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import betaln, gammaln, logsumexp

from palmette.array_types import Floats
from palmette.checks import check_choice, check_positive

__all__ = ["LAWS", "GradualShares", "GroupShares", "ShareLaw", "SignalShapes", "check_law"]

_FAR = 60.0  # log odds beyond which nothing is left of any density
_NODES = 600  # of the trapezoidal rule: errors are below 1e-12


class SignalShapes(NamedTuple):
    """By size m of the cluster, m = 3 … n: density of u ∝ u^(a−1) (1−u)^(b−1) / (1 + exp(K (ℓ − logit u)))."""

    first: Floats  # a
    second: Floats  # b
    steepness: Floats  # K; 0: nothing is cut off
    cut: Floats  # ℓ


class ShareLaw(ABC):
    """The density of (u, q) in a split, where SSE(P) = Δ + SSE(L) + SSE(R) is shared out over m = l + r leaves.

    u = Δ / SSE(P) is the share that the split takes, q = SSE(L) / (SSE(L) + SSE(R)) that of the one part in what is
    left, and h is half of the dimension. In isotropic noise u ~ Beta(h, h (m − 2)) and q ~ Beta(h (l − 1), h (r − 1)).
    In a signal u has the `shapes` of a law, and q ~ Beta(τ h (l − 1), τ h (r − 1)) with τ = `evenness_of(h)`. In every
    law a split takes more than noise would, never less: a split that takes less would join what is apart.
    """

    noise_level: float
    """σ²: the mean square below which a cluster is taken for noise, as a share of that of all points; 0: none is."""

    @abstractmethod
    def shapes(self, h: float, m: Floats) -> SignalShapes:
        """What the density of u looks like in clusters of m leaves."""

    @abstractmethod
    def evenness_of(self, h: float) -> float:
        """τ, at most 1."""

    def half_dimension(self, d: float) -> float:
        """h, of d columns."""
        return 0.5 * d

    def tables(self, h: float, n: int) -> Floats:
        """(6, n + 1), by number of leaves: of what log (signal / noise) is made.

        Rows: the constant of u; the exponents of u and 1 − u; K; ℓ; and log Γ(h k) / Γ(τ h k), by k leaves less one.
        """
        m = np.arange(3, n + 1, dtype=np.float64)
        out = np.zeros((6, n + 1))
        if len(m):
            a, b, steepness, cut = shapes = self.shapes(h, m)
            log_total = _log_totals(shapes) if steepness.any() else betaln(a, b)
            out[:5, 3:] = betaln(h, h * (m - 2)) - log_total, a - h, b - h * (m - 2), steepness, cut
        k = np.arange(1, n + 1)
        out[5, 1:] = gammaln(h * k) - gammaln(self.evenness_of(h) * h * k)
        return out


def _log_totals(shapes: SignalShapes) -> Floats:
    # log ∫ u^a (1−u)^b / (1 + e^(K (ℓ − x))) dx, x = logit u, by x = ℓ + sinh(t) / K: fine at the cut, wide beyond.
    a, b, steepness, cut = (row[:, None] for row in shapes)
    scale = np.maximum(steepness, 1.0)
    ends = np.arcsinh(scale * (_FAR + np.abs(cut)))
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
    most: float = math.inf
    """The dimension d counts for d / (1 + d / most): however many columns there are, no more than so many count."""

    noise_level = 0.0

    def __post_init__(self) -> None:
        check_positive("excess", self.excess)
        for name, value in (("within", self.within), ("evenness", self.evenness)):
            if not check_positive(name, value) <= 1.0:
                raise ValueError(f"{name} is {value:g}; give a number above 0, and at most 1")
        if not self.most > 0.0:
            raise ValueError(f"most is {self.most!r}; give a positive number of columns, or math.inf")

    def half_dimension(self, d: float) -> float:
        """h, of d columns."""
        return 0.5 * d / (1.0 + d / self.most)

    def shapes(self, h: float, m: Floats) -> SignalShapes:
        """A Beta law of which nothing is cut off."""
        nothing = np.zeros(len(m))
        return SignalShapes(h * (1.0 + self.excess * (m - 2)), self.within * h * (m - 2), nothing, nothing)

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
        if not 0.0 < self.noise_level <= 1.0:
            raise ValueError(
                f"noise_level is {self.noise_level!r}; give a share of the mean square, above 0, at most 1"
            )

    def shapes(self, h: float, m: Floats) -> SignalShapes:
        """A Beta law that is cut off below."""
        odds, whole = 1.0 + self.excess * (m - 2), np.ones(len(m))
        return SignalShapes(self.first * whole, self.second * whole, h * odds, np.log(odds / (m - 2)))

    def evenness_of(self, h: float) -> float:
        """`spread` in terms of h."""
        return min(1.0, self.spread / h)


#: Laws by name. "gradual": every split takes somewhat more than noise. "slight": the same, but less so, and with all of
#: the dimension; its evidence tells such tables from noise. "groups": groups with noise inside. The constants of the
#: first are those that best foretold, on draws from real tables that were set aside for it, which clusters of one half
#: of the columns are found again in the other (benchmarks/replication.py).
LAWS: dict[str, ShareLaw] = {
    "gradual": GradualShares(0.1, within=0.5, evenness=0.1, most=45.0),
    "slight": GradualShares(0.05, within=0.8, evenness=0.4),
    "groups": GroupShares(),
}


def check_law(law: ShareLaw | str) -> ShareLaw:
    """The law that is meant.

    >>> check_law("slight")
    GradualShares(excess=0.05, within=0.8, evenness=0.4, most=inf)
    """
    if isinstance(law, ShareLaw):
        return law
    check_choice("law", law, LAWS, " or a ShareLaw")
    return LAWS[law]
