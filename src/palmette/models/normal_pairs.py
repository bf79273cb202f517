"""Similarities of pairs: each split has a mean and a variance of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import check_finite_total, check_number, check_positive
from palmette.models.pair_data import Pairs, most_across, read_pairs
from palmette.models.split_model import SplitModel
from palmette.numeric import LOG_2_PI, logarithm

__all__ = ["NormalPairs"]

_TABLE = 4  # where the table in θ begins
_LOST = 1e-12  # of the sum of squares; what differs by less has no digits left


@inline
def _features(theta, n, size, sums, pairs, out):
    out[0] = pairs[0]
    out[1] = pairs[2] if pairs.size > 2 else 0.5 * size * (size - 1)
    out[2] = pairs[1]


@inline
def _score(theta, parent, left, right):
    # θ: pseudo_count, shape, rate, mean; then what depends on N alone. Values are from the mean on.
    total, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    squares = parent[2] - left[2] - right[2]
    spread = max(squares - total * total / (theta[0] + known), 0.0)
    return theta[_TABLE + int(known)] - (theta[1] + 0.5 * known) * logarithm(theta[2] + 0.5 * spread)


@inline
def _prediction(theta, parent, left, right):
    total, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    return theta[3] + total / (theta[0] + known)


class NormalPairs(SplitModel):
    """log ψ(L, R) = log m(w across): the N known similarities across are normal, with parameters of their own.

    μ | λ ~ N(mean, 1/(pseudo_count · λ)), λ ~ Gamma(shape, rate) are integrated out, as in `likelihoods.NormalGamma`:
    with S = Σ (w − mean), Q = Σ (w − mean)² over the pairs across, k = pseudo_count + N and r = rate + ½ (Q − S²/k),

        m = (2π)^(−N/2) · (pseudo_count / k)^½ · rate^shape / r^(shape + N/2) · Γ(shape + N/2) / Γ(shape).

    Every pair is explained at the smallest common cluster of its leaves, so this is a likelihood, and `log_evidence` of
    the posterior is log p(similarities). `link_probabilities()` of the posterior are expected similarities. Pairs are
    taken to be independent given the hierarchy, which distances between points are not; for points take `Contrasts`.

    `similarity` is a symmetric (n, n) array, whose diagonal is not used, a SciPy sparse matrix, or a `networkx.Graph`
    with weights; a pair that is NaN, or True in `missing`, is not known. Unless given, `mean` is the mean of the known
    pairs and `rate` is shape times half their variance: of which half is then expected within a split, half between
    splits. Greedy agglomeration joins where similarities are large.

    >>> import palmette as pal
    >>> w = [[0, 5.0, 1.0, 1.2], [5.0, 0, 1.1, 0.9], [1.0, 1.1, 0, 5.1], [1.2, 0.9, 5.1, 0]]
    >>> pal.HierarchyPosterior(pal.models.NormalPairs(w)).map()
    Hierarchy.from_newick('((0,1),(2,3));')
    """

    n_features = 3
    features = staticmethod(_features)
    score = staticmethod(_score)
    merge_score = staticmethod(_prediction)
    prediction = staticmethod(_prediction)
    may_forbid = False
    log_density_offset = 0.0

    def __init__(
        self,
        similarity: Pairs,
        mean: float | None = None,
        pseudo_count: float = 1.0,
        shape: float = 1.0,
        rate: float | None = None,
        *,
        missing: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        data = read_pairs(similarity, "similarity", missing, labels, loops=True)
        listed = data.known_values
        self._mean = (float(listed.mean()) if len(listed) else 0.0) if mean is None else check_number("mean", mean)
        self._pseudo_count, self._shape = check_positive("pseudo_count", pseudo_count), check_positive("shape", shape)
        values = data.known * (data.values - self._mean)
        with np.errstate(over="ignore"):
            total = float(np.square(values).sum())
            check_finite_total(1.0, total, "similarity")
        half = float(np.square(listed - listed.mean()).mean()) / 2 if len(listed) else 0.0
        self._rate = (self._shape * half or 1.0) if rate is None else check_positive("rate", rate)
        if self._rate < _LOST * total:
            raise ValueError(
                f"rate is {self._rate:g}, and the sum of squares is {total:g}: spreads as small as that are lost in "
                f"the rounding of such sums; give a rate of at least {_LOST * total:g}"
            )
        self._listed = listed - self._mean
        pairwise = [values, np.square(values), *data.n_known]
        super().__init__(len(values), theta=self._law(len(values)), pairwise=pairwise, labels=data.labels)

    def _law(self, n: int) -> Floats:
        k, shape, rate = self._pseudo_count, self._shape, self._rate
        return np.concatenate([[k, shape, rate, self._mean], self._constants(np.arange(most_across(n) + 1))])

    def _constants(self, known: npt.NDArray[np.integer]) -> Floats:
        # What depends on the number of pairs alone.
        k, shape, rate = self._pseudo_count, self._shape, self._rate
        gammas = gammaln(shape + known / 2) - math.lgamma(shape) + shape * math.log(rate)
        return gammas + 0.5 * np.log(k / (k + known)) - known / 2 * LOG_2_PI  # type: ignore[no-any-return]

    @property
    def free_parameters(self) -> dict[str, float]:
        """All but the mean, which may be negative, as they are."""
        return {"pseudo_count": self._pseudo_count, "shape": self._shape, "rate": self._rate}

    @property
    def log_evidence_without_structure(self) -> float:  # type: ignore[override]
        """log p(similarities) with one mean and one variance for all pairs."""
        known, total = len(self._listed), float(self._listed.sum())
        spread = float(np.square(self._listed).sum()) - total**2 / (self._pseudo_count + known)
        constant = float(self._constants(np.array([known]))[0])
        return constant - (self._shape + 0.5 * known) * math.log(self._rate + 0.5 * max(spread, 0.0))

    @property
    def mean(self) -> float:
        """Where the means of splits lie."""
        return self._mean

    @property
    def pseudo_count(self) -> float:
        """The variance within a split over that of means between splits."""
        return self._pseudo_count

    @property
    def shape(self) -> float:
        """The shape of the law of precisions."""
        return self._shape

    @property
    def rate(self) -> float:
        """The rate of the law of precisions: variances within a split are about rate / shape."""
        return self._rate
