"""Laws of the shape of a hierarchy, which look at sizes only.

Every cluster P is split by chance, alike for all splits of the same sizes:

    p(L, R | P) = exp(c(|P|) + g(|L|) + g(|R|)),        g(1) = 0.

The g of a cluster that is split again can be counted there. So over a hierarchy of n leaves

    log p(H) = Σ h(|P|) − g(n),        h(m) = c(m) + g(m),

a sum over clusters of something that depends on their size alone. That is all that a model has to add to log ψ.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.special import gammaln, logsumexp

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.checks import check_number

__all__ = ["BetaSplitting", "Prior", "SizeLaw", "check_prior"]

_UNIFORM, _YULE = -1.5, 0.0


class SizeLaw(NamedTuple):
    """log p(H) = Σ h[|P|] over the clusters P of two leaves or more, plus a constant."""

    h: Floats
    """(n + 1,): h by size; 0 for sizes below two."""
    log_constant: float


@dataclass(frozen=True)
class BetaSplitting:
    """p(L, R | P) ∝ Γ(beta + |L| + 1) · Γ(beta + |R| + 1): Aldous' beta-splitting family, −2 < beta ≤ ∞.

    beta = −3/2 makes all hierarchies alike ("uniform"). beta = 0 is the Yule law ("yule"), that of Kingman's coalescent
    with the times left out: p(H) = 2^(n − 1)/n! · Π 1/(|P| − 1). Larger beta prefers balanced hierarchies, at ∞ each
    leaf tosses a coin; towards −2 there are only combs. beta = −1 is what Aldous found close to phylogenies.

    >>> law = BetaSplitting(0.0).law(4)
    >>> [round(math.exp(law.h[sizes].sum() + law.log_constant), 6) for sizes in ([4, 2, 2], [4, 3, 2])]  # of 3 + 12
    [0.111111, 0.055556]
    """

    beta: float

    def __post_init__(self) -> None:
        if not check_number("beta", self.beta) > -2.0:
            raise ValueError(f"beta is {self.beta}; Aldous' family begins above -2, where all hierarchies are combs")

    def law(self, n: int) -> SizeLaw:
        """The law for n leaves; O(n²)."""
        return _law(float(self.beta), n)

    def log_totals(self, n: int) -> Floats:
        """(n + 1,): log Σ exp(Σ h) over all hierarchies of so many leaves; that of n is −`log_constant` of the law.

        >>> law = BetaSplitting(0.0)
        >>> bool(np.isclose(law.log_totals(7)[7], -law.law(7).log_constant))
        True
        """
        return _log_weights(float(self.beta), n)

    def size_probabilities(self, m: int) -> Floats:
        """(m − 1,): the chance that one part of a cluster of m leaves, told by a coin, has 1, 2, …, m − 1 of them.

        >>> BetaSplitting(0.0).size_probabilities(4)
        array([0.33333333, 0.33333333, 0.33333333])
        """
        logs = _log_sizes(_log_weights(float(self.beta), m), m)
        return np.exp(logs - logsumexp(logs))  # type: ignore[no-any-return]


def _log_weights(beta: float, n: int) -> Floats:
    # g: log Γ(beta + i + 1) but for factors c^i, which each split takes back. Products of 1 + j/(beta + 2) are left.
    g = np.zeros(n + 1)
    g[2:] = np.cumsum(np.log1p(np.arange(n - 1) / (beta + 2.0)))
    return g


def _log_sizes(g: Floats, m: int) -> Floats:
    # log of (m choose i) exp(g(i) + g(m − i)), but for m!, for all i.
    i = np.arange(1, m)
    one = g[i] - gammaln(i + 1.0)
    return one + one[::-1]  # type: ignore[no-any-return]


@functools.cache
def _law(beta: float, n: int) -> SizeLaw:
    g = _log_weights(beta, n)
    h = np.zeros(n + 1)
    for m in range(2, n + 1):
        h[m] = math.log(2.0) - math.lgamma(m + 1.0) - logsumexp(_log_sizes(g, m)) + g[m]
    return SizeLaw(read_only(h), -float(g[n]))


Prior = BetaSplitting | Literal["uniform", "yule"]


def check_prior(prior: Prior) -> BetaSplitting:
    """The member of Aldous' family that is meant.

    >>> check_prior("yule")
    BetaSplitting(beta=0.0)
    """
    if isinstance(prior, BetaSplitting):
        return prior
    known = {"uniform": _UNIFORM, "yule": _YULE}
    if not isinstance(prior, str) or prior not in known:
        raise ValueError(f"prior is {prior!r}; give 'uniform', 'yule' or a BetaSplitting(beta)")
    return BetaSplitting(known[prior])
