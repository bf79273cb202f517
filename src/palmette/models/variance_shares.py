"""Shares of variance: points as a likelihood, in which every split takes a share of the variance of its own cluster."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Self, TypeGuard, cast

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from palmette._immutable import read_only
from palmette._jit import inline
from palmette.array_types import Floats, Ints
from palmette.checks import check_points, check_share
from palmette.hierarchy import Hierarchy
from palmette.labels import labels_of
from palmette.models.effective_dimension import Dimension, dimension_of
from palmette.models.evaluate import trellis_sums
from palmette.models.pair_data import squared_distances
from palmette.models.profiles import profiles_of
from palmette.models.share_law import LAWS, ShareLaw, check_law
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.numeric import exponential, logarithm
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["VarianceShares", "leaves_law_open"]

_LEVELS = (0.002, 0.9)  # between which a noise level is looked for
_TRIED = 12  # levels, and on how many hierarchies, where draws are to choose one
_COMPARED = 50
_PROFILE_DIMENSIONS = 16
_LOST = 1e-12  # of the sum of squares of all points; what is less has no digits left

# θ begins with these; then come, by size of a cluster, the constant of u, K ℓ, and log Γ(h k) / Γ(τ h k), k = m − 1.
# Exponents of Δ, of SSE(L) + SSE(R), and K are lines: their value at m = 2, and how it changes with each leaf more.
_H, _LEVEL, _TOTAL, _UNEVEN, _TAKEN, _WITHIN, _CUT, _TABLES = 0, 1, 2, 3, 4, 6, 8, 10


@inline
def _log_one_plus_exp(y):
    return max(y, 0.0) + logarithm(1.0 + exponential(-abs(y)))


@inline
def _features(theta, n, size, sums, pairs, out):
    m, stride = int(size), (theta.size - _TABLES) // 3
    squares, own = pairs[0] / size, theta[_H] * (size - 1)
    log_squares = logarithm(max(squares, _LOST * theta[_TOTAL])) if m > 1 else 0.0
    out[0] = squares
    # What this cluster adds to the law of q as a part, and then, as the whole: log ψ but for what is of both parts.
    out[1] = theta[_TABLES + 2 * stride + m] - theta[_UNEVEN] * own * log_squares if m > 1 else 0.0
    out[2] = out[4] = 0.0
    out[3] = size - 2
    out[5] = -np.inf
    if m > 2 and squares > _LOST * theta[_TOTAL]:
        taken = theta[_TAKEN] + theta[_TAKEN + 1] * (size - 2)
        within = theta[_WITHIN] + theta[_WITHIN + 1] * (size - 2) - theta[_UNEVEN] * theta[_H] * (size - 2)
        out[2] = theta[_TABLES + m] - theta[_TABLES + 2 * stride + m - 1] - (taken + within) * log_squares
        out[4] = theta[_TABLES + stride + m]
        if theta[_LEVEL] > 0.0:  # the log odds that all of it is noise
            odds = own * (logarithm(theta[_LEVEL] * theta[_TOTAL] * (size - 1) / (n - 1)) - log_squares)
            out[5] = odds - out[2]
            out[2] -= _log_one_plus_exp(odds)


@inline
def _logs(theta, parent, left, right):
    least = _LOST * theta[_TOTAL]
    within = left[0] + right[0]
    return logarithm(max(within, least)), logarithm(max(parent[0] - within, least))


@inline
def _beta_part(theta, parent, left, right, log_within, log_taken):
    more = parent[3]
    taken = (theta[_TAKEN] + theta[_TAKEN + 1] * more) * log_taken
    return left[1] + right[1] + taken + (theta[_WITHIN] + theta[_WITHIN + 1] * more) * log_within


@inline
def _shared(theta, parent, value):
    # Two leaves share out nothing, nor do equal ones.
    return parent[2] + (0.0 if parent[3] < 1.0 or parent[0] <= _LOST * theta[_TOTAL] else value)


@inline
def _lean_score(theta, parent, left, right):
    log_within, log_taken = _logs(theta, parent, left, right)
    return _shared(theta, parent, _beta_part(theta, parent, left, right, log_within, log_taken))


@inline
def _score(theta, parent, left, right):
    more = parent[3]
    log_within, log_taken = _logs(theta, parent, left, right)
    value = _beta_part(theta, parent, left, right, log_within, log_taken)
    if theta[_CUT + 1] > 0.0:
        steepness = theta[_CUT] + theta[_CUT + 1] * more
        value -= _log_one_plus_exp(parent[4] + steepness * (log_within - log_taken))
    if theta[_LEVEL] > 0.0:
        noise = parent[5]
        value = max(value, noise) + logarithm(1.0 + exponential(-abs(value - noise)))
    return _shared(theta, parent, value)


@inline
def _merge_score(theta, parent, left, right):
    return left[0] + right[0] - parent[0]


class VarianceShares(SplitModel):
    """log ψ(L, R) = log [(1 − π) · signal(u, q) / noise(u, q) + π], a likelihood relative to that of noise.

    A split takes a share of the sum of squares of its own cluster: SSE(P) = Δ + SSE(L) + SSE(R), with

        u = Δ / SSE(P),    q = SSE(L) / (SSE(L) + SSE(R)).

    In isotropic noise of d = 2h dimensions these are Beta(h, h (m − 2)) and Beta(h (l − 1), h (r − 1)) for clusters of
    l, r and m = l + r leaves, whatever the hierarchy, and the directions of the contrasts are uniform. So Π ψ is the
    density of the points given the hierarchy over that of noise with the same total: units, shifts and turns of the
    points do not matter, there is no temperature, and `log_evidence` is the log Bayes factor against noise.

    The signal is a `ShareLaw`: "gradual", "slight", "groups", "noise", or one of your own. In none of them a split
    takes less than noise would. So nothing is gained by joining the outer two of three groups on a line, which is what
    `Contrasts` do, to which a wide split below a narrow one costs nothing.

    If a law has a noise level σ², a cluster P is noise with odds π : (1 − π) = (σ² / its mean square)^(h (m − 1)), both
    as shares of the mean square of all: far above that level it is to be split by the signal, below it nothing more is
    asked. Else π = 0. Equal points have no variance to share out, and log ψ = 0 among them.

    `points` is (n, d). Columns that never vary say nothing. `dimension` is the effective one unless given, since
    columns nearly always hang together, or None for their number; see `Contrasts`. A law may count only a part of it.
    With `profiles` = w, squared distances are 1 − w times those of the points and w times those of their profiles, each
    as shares of their sum. Profiles are rows less the mean of all rows, then less their own mean, in units of their own
    spread: 1 − r of the correlation r is such a distance. Turns of the points do matter then. None is 0, unless
    `palmette.evidence` finds a better one.

    All hierarchies are alike beforehand; `with_prior` changes that. To ask for support, take
    `palmette.evidence.posterior(points)`, which leaves the law, the noise level and the distances open.

    >>> import palmette as pal
    >>> line = [[0.0], [0.3], [0.1], [5.0], [5.2], [5.3], [10.0], [10.3], [9.8]]
    >>> post = pal.HierarchyPosterior(pal.models.VarianceShares(line, "groups"))
    >>> [round(post.cluster_probability(c), 2) for c in ([0, 1, 2], [3, 4, 5], [6, 7, 8], [0, 1, 2, 6, 7, 8])]
    [0.98, 0.96, 0.98, 0.0]
    """

    n_features = 6
    constant_feature = 2
    features = staticmethod(_features)
    score = staticmethod(_score)
    merge_score = staticmethod(_merge_score)
    may_forbid = False
    pairwise_holds = "squared distances"
    log_density_offset = 0.0
    log_evidence_without_structure = 0.0

    def __init__(
        self,
        points: npt.ArrayLike,
        law: ShareLaw | str = "gradual",
        *,
        dimension: Dimension = "effective",
        profiles: float | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        x = check_points(points)
        x = x[:, (x != x[:1]).any(axis=0)]
        share = 0.0 if profiles is None else check_share("profiles", profiles)
        squared, d = squared_distances(x), dimension_of(x, dimension)
        rows = profiles_of(x) if share > 0.0 and x.size else x[:0]
        if rows.any():
            squared = _mixed(squared, squared_distances(rows), share)
            d += share * (dimension_of(rows, dimension) - d)
        self._law, self._dimension, self._profiles = check_law(law), d, share
        self._asked = (x, dimension) if profiles is None else None
        self._take(squared, labels_of(points, labels))

    def _take(self, squared: Floats, labels: Sequence[str] | None) -> None:
        self._total = float(squared.sum()) / (2 * len(squared))
        super().__init__(len(squared), theta=self._vector(len(squared)), pairwise=[squared], labels=labels)

    def _vector(self, n: int) -> Floats:
        law = self._law
        h = law.half_dimension(self._dimension) or 0.5  # if nothing varies it is not asked for
        tau, (first, second, cut) = law.evenness_of(h), law.shape(h)
        steepness = (0.0, 0.0) if cut is None else (h, h * cut)
        exponents = [first.at - h, first.slope, second.at, second.slope - tau * h, *steepness]
        tables = np.zeros((3, n + 1))
        m = np.arange(3, n + 1, dtype=np.float64)
        if len(m):
            tables[0, 3:] = betaln(h, h * (m - 2)) - law.log_total(h, m)
            tables[1, 3:] = 0.0 if cut is None else h * (1 + cut * (m - 2)) * np.log(cut + 1 / (m - 2))
        k = np.arange(1, n)
        tables[2, 2:] = gammaln(h * k) - gammaln(tau * h * k)
        return np.concatenate([[h, law.noise_level, self._total or 1.0, 1 - tau, *exponents], tables.ravel()])

    def with_law(self, law: ShareLaw | str) -> Self:
        """The same points, of the same dimension, under another law."""
        made = copy.copy(self)
        made._law = check_law(law)
        made._theta = read_only(made._vector(self.n_leaves))
        return made

    def as_profiles(self) -> Self | None:
        """The same leaves at the distances of their profiles; None if these are not open, or do not make sense.

        Level and spread of a row take two dimensions, so there have to be sixteen; and no row may be flat.
        """
        if self._asked is None:
            return None
        x, dimension = self._asked
        if self.dimension < _PROFILE_DIMENSIONS or not profiles_of(x).any(axis=1).all():
            return None
        return type(self)(x, self._law, dimension=dimension, profiles=1.0, labels=self.labels)

    def of_rows(self, rows: Sequence[int] | Ints) -> Self:
        """The model of some of the points, of the dimension that was found for all of them."""
        at = np.asarray(rows, dtype=np.int64)
        made = object.__new__(type(self))
        made._dimension, made._law, made._profiles = self._dimension, self._law, self._profiles
        made._asked = None
        made._take(self.pairwise[0][np.ix_(at, at)], [self.labels[i] for i in at.tolist()])
        return made

    def mixed_with(self, other: VarianceShares, share: float) -> Self:
        """The same leaves at distances that are the other model's for this share, each as shares of their sum."""
        made = object.__new__(type(self))
        made._law, made._asked = self._law, None
        made._dimension, made._profiles = (
            (1.0 - share) * one + share * two
            for one, two in ((self.dimension, other.dimension), (self.profiles, other.profiles))
        )
        made._take(_mixed(self.pairwise[0], other.pairwise[0], share), self.labels)
        return made

    def lean(self) -> VarianceShares:
        """The same model with a score that knows no cut and no noise level, if its law has neither; else itself.

        Of a third less work, but kernels are compiled for it: for models that are asked for long.
        """
        if self.noise_level > 0.0 or self._law.shape(1.0).cut is not None:
            return self
        made: VarianceShares = object.__new__(_LeanShares)
        vars(made).update(vars(self))
        return made

    def log_noise(self, trellis: SparseTrellis) -> Floats:
        """(n_clusters,): log π, how probable it is that a cluster is noise; 0 of one or two leaves, who share nothing.

        −inf for all others if the law has no noise level.
        """
        log_noise, more = np.zeros(trellis.n_clusters), trellis.sizes > 2
        if self.noise_level == 0.0:
            log_noise[more] = -np.inf
            return log_noise
        sizes, total = trellis.sizes[more], self._total or 1.0
        squares = np.maximum(trellis_sums(self, trellis)[1][more, 0] / sizes, _LOST * total)
        shares = squares / (sizes - 1) * (self.n_leaves - 1) / total
        log_odds = self.theta[_H] * (sizes - 1) * np.log(self.noise_level / shares)
        log_noise[more] = -np.logaddexp(0.0, -log_odds)
        return log_noise

    @property
    def law(self) -> ShareLaw:
        """How a split shares out the variance of its cluster."""
        return self._law

    @property
    def noise_level(self) -> float:
        """σ², that of the law."""
        return self._law.noise_level

    @property
    def dimension(self) -> float:
        """d: how many columns count; the law may count only some of them."""
        return self._dimension

    @property
    def profiles(self) -> float:
        """w: the share of profiles in squared distances."""
        return self._profiles

    @property
    def free_parameters(self) -> dict[str, float]:
        """The noise level, if there is one."""
        return {"noise_level": self.noise_level} if self.noise_level > 0.0 else {}

    @property
    def parameter_ranges(self) -> Mapping[str, tuple[float, float]]:
        """The noise level from 0.002 to 0.9, if there is one."""
        return {"noise_level": _LEVELS} if self.noise_level > 0.0 else {}

    def with_parameters(self, *, noise_level: float | None = None) -> Self:  # type: ignore[override]
        """The same with another noise level."""
        return self if noise_level is None else self.with_law(replace(cast(Any, self._law), noise_level=noise_level))

    def fitted_to(self, hierarchies: Sequence[Hierarchy]) -> Self:
        """With the noise level, one of twelve in its range, under which these hierarchies are most probable.

        If they are more than fifty, it is of fifty of them.
        """
        if not self.parameter_ranges:
            return self
        some = hierarchies[:: -(-len(hierarchies) // _COMPARED)]
        tried = [self.with_parameters(noise_level=level) for level in np.geomspace(*_LEVELS, _TRIED).tolist()]
        return max(tried, key=lambda model: sum(model.log_potential(hierarchy) for hierarchy in some))

    def __repr__(self) -> str:
        law = next((repr(name) for name, law in LAWS.items() if law == self._law), repr(self._law))
        profiles = f", profiles={self.profiles:.3g}" if self.profiles > 0.0 else ""
        return f"VarianceShares(n_leaves={self.n_leaves}, {law}, dimension={self.dimension:.4g}{profiles})"


class _LeanShares(VarianceShares):
    # What `lean` makes.

    features = staticmethod(_features)
    score = staticmethod(_lean_score)
    merge_score = staticmethod(_merge_score)
    constant_feature = VarianceShares.constant_feature
    log_density_offset = 0.0
    log_evidence_without_structure = 0.0

    def with_law(self, law: ShareLaw | str) -> Self:
        """The same points under another law, which may have what this score does not know."""
        made: VarianceShares = object.__new__(VarianceShares)
        vars(made).update(vars(self))
        return cast(Self, made.with_law(law))


def _mixed(squared: Floats, other: Floats, share: float) -> Floats:
    # Squared distances that add up to one.
    mixed: Floats = (1.0 - share) * squared / squared.sum() + share * other / other.sum()
    return mixed


def leaves_law_open(model: HierarchyModel) -> TypeGuard[VarianceShares]:
    """Whether `palmette.evidence.posterior` chooses its law and distances, beside parameters."""
    return isinstance(model, VarianceShares)
