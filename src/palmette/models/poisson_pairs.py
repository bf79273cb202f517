"""Counts of pairs: each split has a rate of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import gammaln

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import check_positive
from palmette.models.pair_data import Pairs, most_across, pair_counts, read_pairs, require_entries
from palmette.models.split_model import SplitModel

__all__ = ["PoissonPairs"]

_TABLES = 5  # where the tables in θ begin
_TABULATED = 1 << 15  # of larger sums log Γ is computed, so that its table stays small
_LARGEST = 2.0**52  # sums of counts are exact


@inline
def _score(theta, parent, left, right):
    # θ: shape, rate, the constant, how many log(N + rate) there are, how many log Γ(shape + S); then these.
    total, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    shape = theta[0] + total
    log_gamma = theta[_TABLES + int(theta[3] + total)] if total < theta[4] else math.lgamma(shape)
    return theta[2] + log_gamma - shape * theta[_TABLES + int(known)]


@inline
def _prediction(theta, parent, left, right):
    total, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    return (total + theta[0]) / (known + theta[1])


class PoissonPairs(SplitModel):
    """log ψ(L, R) = log Γ(S + shape) − log Γ(shape) + shape log rate − (S + shape) log(N + rate), a likelihood.

    S is the sum of the N known counts across. Every pair is explained at the smallest common cluster of its leaves,
    whose split has a Poisson rate of its own, λ ~ Gamma(shape, rate), which is integrated out. −Σ log x! over all pairs
    is the same for all hierarchies, and part of `log_evidence` = log p(counts). `link_probabilities()` of the posterior
    are expected counts.

    `counts` are whole numbers of at least 0: an (n, n) array, a SciPy sparse matrix, or a `networkx.Graph` with
    weights; a pair that is NaN, or True in `missing`, is not known. Unless given, `rate` is shape / (mean count): rates
    are expected to be about the mean. Greedy agglomeration joins where counts are large.

    >>> import palmette as pal
    >>> post = pal.HierarchyPosterior(pal.models.PoissonPairs([[0, 9, 1], [9, 0, 0], [1, 0, 0]]))
    >>> round(post.log_evidence, 4), round(post.cluster_probability([0, 1]), 4)
    (-7.729, 0.9352)
    """

    n_features = 2
    features = staticmethod(pair_counts)
    score = staticmethod(_score)
    merge_score = staticmethod(_prediction)
    prediction = staticmethod(_prediction)
    may_forbid = False

    def __init__(
        self,
        counts: Pairs,
        shape: float = 1.0,
        rate: float | None = None,
        *,
        missing: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        data = read_pairs(counts, "counts", missing, labels, loops=False)
        bad = (data.values < 0.0) | (data.values != np.floor(data.values)) | (data.values > _LARGEST / data.values.size)
        require_entries(data, "counts", bad, "a count is a whole number of at least 0, whose sums are exact")
        listed = data.known_values
        self._shape = check_positive("shape", shape)
        mean = float(listed.mean()) if listed.any() else 1.0
        self._rate = self._shape / mean if rate is None else check_positive("rate", rate)
        self._log_factorials = float(gammaln(listed + 1.0).sum())
        self._listed = listed
        pairwise = [data.values, *data.n_known]
        theta = self._law(len(data.values), float(listed.sum()))
        super().__init__(len(data.values), theta=theta, pairwise=pairwise, labels=data.labels)

    def _law(self, n: int, total: float) -> Floats:
        shape, rate = self._shape, self._rate
        constant = shape * math.log(rate) - math.lgamma(shape)
        logs = np.log(np.arange(most_across(n) + 1) + rate)
        log_gammas = gammaln(np.arange(min(total + 1, _TABULATED)) + shape)
        return np.concatenate([[shape, rate, constant, len(logs), len(log_gammas)], logs, log_gammas])

    @property
    def log_density_offset(self) -> float:  # type: ignore[override]
        """−Σ log x! over the known pairs."""
        return -self._log_factorials

    @property
    def free_parameters(self) -> dict[str, float]:
        """shape and rate, as they are."""
        return {"shape": self._shape, "rate": self._rate}

    @property
    def log_evidence_without_structure(self) -> float:  # type: ignore[override]
        """log p(counts) with one λ ~ Gamma(shape, rate) for all pairs."""
        shape, rate, total = self._shape, self._rate, float(self._listed.sum())
        constant = math.lgamma(shape + total) - math.lgamma(shape) + shape * math.log(rate) - self._log_factorials
        return constant - (shape + total) * math.log(rate + len(self._listed))

    @property
    def shape(self) -> float:
        """The shape of the law of rates."""
        return self._shape

    @property
    def rate(self) -> float:
        """The rate of the law of rates: they are about shape / rate."""
        return self._rate
