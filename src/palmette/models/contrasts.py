"""Contrasts: points as a likelihood, in which few splits are wide and many are narrow."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping, Sequence
from typing import Self

import numpy as np
import numpy.typing as npt
from scipy.special import digamma, gammaln

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import check_points, check_positive
from palmette.hierarchy import Hierarchy
from palmette.labels import labels_of
from palmette.models.effective_dimension import Dimension, dimension_of
from palmette.models.heights import scatters
from palmette.models.pair_data import squared_distances
from palmette.models.split_model import SplitModel, require_binary
from palmette.numeric import LOG_2_PI, logarithm

__all__ = ["Contrasts"]

_TAIL = 0.5
_SHARE = 0.1
_LOST = 1e-12  # of the sum of squares; what differs by less has no digits left
_TAILS = (0.05, 100.0)  # in which a is looked for: above, variances can no longer be told from equal ones
_SCALES = (1e-5, 1e3)  # b, of the mean square of an entry; equal points would take it to 0


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = pairs[0] / size  # SSE


@inline
def _score(theta, parent, left, right):
    # θ: the constant, the exponent a + d/2, and b.
    increment = max(parent[0] - left[0] - right[0], 0.0)  # rounding may leave it below
    return theta[0] - theta[1] * logarithm(theta[2] + 0.5 * increment)


@inline
def _merge_score(theta, parent, left, right):
    return left[0] + right[0] - parent[0]


class Contrasts(SplitModel):
    """log ψ(L, R) = log Γ(a + d/2) − log Γ(a) + a log b − (d/2) log 2π − (a + d/2) log(b + Δ/2), a likelihood.

    Δ = SSE(P) − SSE(L) − SSE(R) is Ward's increment. It is the squared length of the contrast

        c = √(|L||R| / |P|) · (mean of L − mean of R),

    and the n − 1 contrasts of a hierarchy are the points but for their mean, turned: an orthonormal transform. Each is
    normal around 0 in d columns with a variance of its own, σ² ~ InverseGamma(a, b), which is integrated out. So the
    product over the splits is the density of the points (up to a shift of all) given the hierarchy, and `log_evidence`
    of the posterior is log p(points). There is no temperature. Heavy tails, a small `a`, say that few contrasts are
    large and many small, which is what clusters are; for a → ∞ all hierarchies are alike.

    `points` is (n, d). Unless given, a = 1/2 and b is a tenth of the mean square of an entry of a contrast,
    SSE(X) / ((n − 1) d), so that units do not matter. That is where to begin, and no more: of the constants tried,
    none find groups and leave noise alone. `palmette.evidence.posterior` is what to ask for support: it averages over
    both, or finds the best pair.

    Columns that never vary say nothing and are left out. Columns that hang together count as if they did not, which
    makes the posterior too sure: `dimension="effective"` puts 1 / mean cos² in place of d, of the angles between any
    two contrasts of Ward's hierarchy, which is d if they point anywhere alike, and less if they do not (groups that
    are far apart do not make it less, as they would the rank of a covariance); or give a number. The evidence is then
    no density, and only comparable at the same dimension. `dimension` of the model, and its repr, say what was used.

    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.Contrasts([[0.0], [0.1], [5.0], [5.1]]))
    >>> round(post.cluster_probability([0, 1]), 4), round(post.log_evidence, 3)
    (0.4734, -8.543)
    """

    n_features = 1
    features = staticmethod(_features)
    score = staticmethod(_score)
    merge_score = staticmethod(_merge_score)
    may_forbid = False
    pairwise_holds = "squared distances"
    log_density_offset = 0.0

    def __init__(
        self,
        points: npt.ArrayLike,
        a: float | None = None,
        b: float | None = None,
        *,
        dimension: Dimension = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        x = check_points(points)
        x = x[:, (x != x[:1]).any(axis=0)]
        squared = squared_distances(x)
        self._dimension, self._is_effective = dimension_of(x, dimension), dimension == "effective"
        total = float(squared.sum()) / (2 * len(x))
        self._a = _TAIL if a is None else check_positive("a", a)
        self._b = (
            (_SHARE * _mean_square(total, len(x), self._dimension) or 1.0) if b is None else check_positive("b", b)
        )
        if self._b < _LOST * total:
            raise ValueError(
                f"b is {self._b:g}, and the sum of squares is {total:g}: contrasts as small as b are lost in the "
                f"rounding of such sums; give a b of at least {_LOST * total:g}"
            )
        self._total = total
        super().__init__(len(x), theta=self._law(self._dimension), pairwise=[squared], labels=labels_of(points, labels))

    def increments(self, hierarchy: Hierarchy) -> Floats:
        """(n − 1,): Δ = |c|² of every split of a binary hierarchy on the same labels."""
        tree = require_binary(hierarchy).aligned_to(self.labels)
        squares = scatters(tree, self.pairwise[0])
        left, right = tree.children.T
        increments: Floats = np.maximum(squares[tree.n_leaves :] - squares[left] - squares[right], 0.0)
        return increments

    @property
    def parameter_ranges(self) -> Mapping[str, tuple[float, float]]:
        """0.05 ≤ a ≤ 100, and b from 1e-5 to 1e3 times the mean square of an entry of a contrast; {} if that is 0."""
        unit = self._unit
        return {"a": _TAILS, "b": (_SCALES[0] * unit, _SCALES[1] * unit)} if unit > 0.0 else {}

    def with_parameters(self, *, a: float | None = None, b: float | None = None) -> Self:  # type: ignore[override]
        """The same points with another law of variances."""
        made = copy.copy(self)
        made._a = self.a if a is None else check_positive("a", a)
        made._b = self.b if b is None else check_positive("b", b)
        return made.with_theta(made._law(made.dimension))

    def fitted_to(self, hierarchies: Sequence[Hierarchy]) -> Self:
        """With the a and b, in their ranges, under which the contrasts of all these hierarchies are most probable."""
        unit = self._unit
        if unit == 0.0:
            return self
        increments = np.concatenate([self.increments(hierarchy) for hierarchy in hierarchies])
        a, b = _fitted(increments / unit, self.dimension, self.a, self.b / unit)
        return self.with_parameters(a=a, b=b * unit)

    @property
    def _unit(self) -> float:
        return _mean_square(self._total, self.n_leaves, self.dimension)

    def _law(self, d: float) -> list[float]:
        # Of d numbers with one variance: the constant, and what goes into (a + d/2) log(b + half the sum of squares).
        a, b = self._a, self._b
        constant = math.lgamma(a + d / 2) - math.lgamma(a) + a * math.log(b) - d / 2 * LOG_2_PI
        return [constant, a + d / 2, b]

    @property
    def free_parameters(self) -> dict[str, float]:
        """a and b, as they are: unless given, where `palmette.evidence` does well to begin."""
        return {"a": self._a, "b": self._b}

    @property
    def log_evidence_without_structure(self) -> float:  # type: ignore[override]
        """log p(points) with one σ² ~ InverseGamma(a, b) for all contrasts: one Gaussian, whatever the hierarchy.

        All contrasts together are (n − 1) d numbers whose squares add up to SSE(X).
        """
        constant, exponent, b = self._law((self.n_leaves - 1) * self._dimension)
        return constant - exponent * math.log(b + 0.5 * self._total)

    @property
    def a(self) -> float:
        """The shape of the law of variances: the smaller, the heavier the tails."""
        return self._a

    @property
    def b(self) -> float:
        """The scale of the law of variances, in squared units of the points."""
        return self._b

    @property
    def dimension(self) -> float:
        """d: how many columns count."""
        return self._dimension

    def __repr__(self) -> str:
        kind = "effective " if self._is_effective else ""
        return f"Contrasts(n_leaves={self.n_leaves}, a={self.a:g}, b={self.b:g}, {kind}dimension={self.dimension:g})"


def _fitted(increments: Floats, d: float, a: float, b: float) -> tuple[float, float]:
    # argmax of the mean of log ψ, in log a and log b.
    from scipy.optimize import minimize  # a tenth of a second, and few fit

    def loss(x: Floats) -> tuple[float, Floats]:
        a, b = np.exp(x).tolist()
        inside = b + increments / 2
        logs = math.log(b) - float(np.log(inside).mean())
        value = gammaln(a + d / 2) - gammaln(a) - d / 2 * math.log(b) + (a + d / 2) * logs
        by_a = digamma(a + d / 2) - digamma(a) + logs
        by_b = a / b - (a + d / 2) * float((1 / inside).mean())
        return -float(value), -np.array([a * by_a, b * by_b])

    bounds = np.log([_TAILS, _SCALES])
    found = minimize(loss, np.clip(np.log([a, b]), *bounds.T), jac=True, method="L-BFGS-B", bounds=bounds)
    best: tuple[float, float] = tuple(np.exp(found.x).tolist())
    return best


def _mean_square(total: float, n: int, d: float) -> float:
    # Of an entry of a contrast; 0 if there is none.
    return total / ((n - 1) * d) if total > 0.0 else 0.0
