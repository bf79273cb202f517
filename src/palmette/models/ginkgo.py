"""Ginkgo jets: how probable is it that a shower made this cluster of particles by that split?

A cluster has the mass² t = E² − |p|² of its summed four-momentum. A shower splits a parent of mass² t_P in
two, draws the masses² of the children from exponential laws truncated below that of the parent, and stops
where t ≤ t_cut.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.models import shower_laws as laws
from palmette.models.mass_bounds import literal_bound, ordered_bound, symmetric_bound
from palmette.models.particles import check_magnitude, check_particles, check_totals
from palmette.models.split_model import SplitModel

__all__ = ["LIKELIHOODS", "Ginkgo"]

_LOG_4PI = math.log(4 * math.pi)


class Ginkgo(SplitModel):
    """log ψ(L, R) = g(t_P, hi) + g(s, lo) − log 4π: a shower's law for the masses² of two children.

    With hi ≥ lo the masses² of the children (0 for a single leaf), s = (√t_P − √hi)², K = −log(1 − e^{−λ})::

        g(T, t) = K + log(λ/T) − λ t/T   for t > 0         g(T, 0) = K + log(1 − e^{−λ t_cut/T})

    and −inf if t_P < t_cut, or if s = 0 < lo. That is `likelihood` "ordered". Three others can be asked for:

    "density"
        the density of the momenta themselves under `palmette.simulate.ginkgo`, history given::

            ψ = ½ [f(t_L, t_R) + f(t_R, t_L)] / 4π · 4 √t_P / |p*|
            f(a, b) = (κ/t_P) e^{−λ a/t_P} · (κ/s) e^{−λ b/s},   s = (√t_P − √a)²,   κ = λ/(1 − e^{−0.999 λ})

        |p*| is the momentum of the children in the rest frame of their parent; |p*| / 4√t_P is how much of the
        space of momenta a step in (t_L, t_R, direction) takes. Single particles have t ≤ t_cut and all other
        clusters more, or ψ = 0: no particle may be heavier than t_cut. Under it probabilities are calibrated, and
        log Z may be compared between rates and cuts, as `palmette.jets.fit_shower` does; under the others it may not:
        they are no densities of the data. See "Jets" in the documentation.

    "symmetric"
        the mean over both orders of drawing the children, with true masses everywhere. A child with t ≤ t_cut
        is a leaf of the shower, λ·min(T, t_cut) takes the place of λ t_cut, and K = −log(1 − e^{−0.999 λ}).
        −inf if t_P ≤ t_cut, if a child has t ≥ 0.999 t_P, or if √t_L + √t_R > √t_P.
    "literal"
        Σ over both children of K + log λ − log t_P − λ t/t_P, with true masses; −inf if t_P = 0. It has no
        cut-off: `t_cut` may be left out, and does not enter.

    `momenta` is (n, 4): E, px, py, pz of each particle. `rate` is λ, and `root_rate` that of the split of the whole
    jet, if it is another, as it is for the simulator's preset "w"; `t_cut` is in units of E². A particle
    with E² < |p|² counts as massless, with a warning if that is more than rounding.

    >>> import palmette as pal
    >>> pal.models.Ginkgo([[5, 3, 0, 0], [5, -3, 0, 0]], rate=1.5, t_cut=16.0)
    Ginkgo(n_leaves=2, likelihood='ordered', rate=1.5, t_cut=16.0)
    """

    likelihood: ClassVar[str]

    def __new__(cls, *args: Any, likelihood: str = "ordered", **kwargs: Any) -> Ginkgo:
        """An instance of the private class that holds the compiled functions of this likelihood."""
        return super().__new__(_variant(likelihood) if cls is Ginkgo else cls)

    def __init__(
        self,
        momenta: npt.ArrayLike,
        rate: float,
        t_cut: float | None = None,
        *,
        root_rate: float | None = None,
        likelihood: str = "ordered",
        labels: Sequence[str] | None = None,
    ) -> None:
        self.rate = check_magnitude("rate", rate)
        self.root_rate = self.rate if root_rate is None else check_magnitude("root_rate", root_rate)
        self.t_cut = None if t_cut is None else check_magnitude("t_cut", t_cut)
        particles = check_particles(momenta)
        check_totals(particles, np.array([0, len(particles)]))
        super().__init__(len(particles), theta=self._parameters(), additive=particles, labels=labels)

    @property
    def momenta(self) -> Floats:
        """(n, 4): E, px, py, pz of each particle."""
        return self.additive

    def __repr__(self) -> str:
        rates = f"rate={self.rate}" + ("" if self.root_rate == self.rate else f", root_rate={self.root_rate}")
        return f"Ginkgo(n_leaves={self.n_leaves}, likelihood={self.likelihood!r}, {rates}, t_cut={self.t_cut})"

    def _parameters(self) -> list[float]:
        raise TypeError("a Ginkgo is made by Ginkgo(momenta, rate, t_cut, likelihood=…)")

    def _cut(self) -> float:
        if self.t_cut is None:
            raise ValueError(f"the likelihood {self.likelihood!r} needs t_cut, the mass² at which showers stop")
        return self.t_cut


class _Ordered(Ginkgo):
    likelihood = "ordered"
    n_features = 4
    features = staticmethod(laws.ordered_features)
    score = staticmethod(laws.ordered_score)
    bound = staticmethod(ordered_bound)

    def _parameters(self) -> list[float]:
        return [*self._own(self.rate), *self._own(self.root_rate)]

    def _own(self, rate: float) -> list[float]:
        # Of the splits of this rate: those of the root follow those of the others, from `laws.ROOT` on.
        t_cut, log_rate = self._cut(), math.log(rate)
        leaves = 2 * laws.log_norm(rate) - _LOG_4PI
        return [rate, rate * t_cut, log_rate, leaves, t_cut, leaves + 2 * log_rate]


class _Symmetric(Ginkgo):
    likelihood = "symmetric"
    n_features = 6
    features = staticmethod(laws.symmetric_features)
    score = staticmethod(laws.symmetric_score)
    bound = staticmethod(symmetric_bound)

    def _parameters(self) -> list[float]:
        rates = [self.rate, self.root_rate]
        return [*rates, *(2 * laws.log_norm(laws.TOP * rate) - _LOG_4PI - math.log(2) for rate in rates), self._cut()]


class _Density(_Symmetric):
    likelihood = "density"
    n_features = 5
    features = staticmethod(laws.density_features)
    score = staticmethod(laws.density_score)

    def _parameters(self) -> list[float]:
        rates = [self.rate, self.root_rate]
        # ½ / 4π · 4 √t_P / |p*| is 1/π · t_P / √(phase space), and t_P cancels.
        shared = [2 * (laws.log_norm(laws.TOP * rate) + math.log(rate)) - math.log(math.pi) for rate in rates]
        return [*rates, *shared, self._cut()]


class _Literal(Ginkgo):
    likelihood = "literal"
    n_features = 3
    features = staticmethod(laws.literal_features)
    score = staticmethod(laws.literal_score)
    bound = staticmethod(literal_bound)

    def _parameters(self) -> list[float]:
        rates = [self.rate, self.root_rate]
        return [*rates, *(2 * (laws.log_norm(rate) + math.log(rate)) for rate in rates)]


_VARIANTS = {variant.likelihood: variant for variant in (_Ordered, _Symmetric, _Density, _Literal)}
LIKELIHOODS = tuple(_VARIANTS)


def _variant(likelihood: str) -> type[Ginkgo]:
    if not isinstance(likelihood, str) or likelihood not in _VARIANTS:
        raise ValueError(f"likelihood is {likelihood!r}; choose one of {', '.join(map(repr, LIKELIHOODS))}")
    return _VARIANTS[likelihood]
