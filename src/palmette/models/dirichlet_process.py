"""Mixtures under a Dirichlet process: rows of data in clusters of unknown number."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette._jit import inline_with, is_ours
from palmette.array_types import Floats
from palmette.checks import check_number, check_points
from palmette.labels import labels_of
from palmette.likelihoods.base import Likelihood, checked_statistics, log_rising
from palmette.models.cluster_model import ClusterModel, only_feature
from palmette.partition import Partition

__all__ = ["DirichletProcess", "check_concentration"]

_CONCENTRATIONS = (0.01, 3.0)  # of a dozen rows: one cluster, as good as always, to five


@functools.cache
def _features(log_marginal: Any) -> Any:
    @inline_with(log_marginal)
    def features(theta, n, size, sums, pairs, out):
        out[0] = theta[0] + math.lgamma(size) + log_marginal(theta[1:], size, sums)

    return features


class DirichletProcess(ClusterModel):
    """log ψ(C) = log α + log Γ(|C|) + log m(x_C): a mixture with as many clusters as the data ask for.

    m is the marginal likelihood of the rows of a cluster (see `palmette.likelihoods`), α = `concentration`. Together
    with the constant Γ(α) / Γ(α + n), the first two terms are the Chinese restaurant process: the larger α, the more
    clusters; about α · log(1 + n/α) of them are expected before the data are seen. The evidence, which is the
    probability (density) of the data under the model, is Z · Γ(α) / Γ(α + n).

    `palmette.evidence.partition_posterior` leaves α and what the likelihood has to choose open.

    `points` is (n, d), with NaN where an entry is missing if the likelihood takes that.

    >>> import palmette as pal
    >>> x = [[0.1], [0.0], [9.0]]
    >>> m = pal.models.DirichletProcess(x, concentration=1.0, likelihood=pal.likelihoods.NormalGamma(pseudo_count=0.1))
    >>> p = pal.Partition([0, 0, 1])
    >>> round(m.log_prior(p), 6)  # 1/1 · 1/2 · 1/3
    -1.791759
    >>> m.log_potential(p) > m.log_potential(pal.Partition([0, 0, 0]))
    True
    """

    n_features = 1
    score = staticmethod(only_feature)
    may_forbid = False

    def __init__(
        self,
        points: npt.ArrayLike,
        concentration: float,
        likelihood: Likelihood,
        *,
        labels: Sequence[str] | None = None,
    ) -> None:
        x = check_points(points, missing=True)
        self._points = read_only(x.copy())
        self._concentration = check_concentration(concentration)
        self._likelihood = likelihood
        theta, additive = checked_statistics(likelihood, x)
        self._compile()
        theta = np.concatenate([[math.log(self._concentration)], theta])
        super().__init__(len(x), theta=theta, additive=additive, labels=labels_of(points, labels))

    def _compile(self) -> None:
        # For this instance only: the features of the class hang on its likelihood. A user's one may forbid clusters.
        log_marginal = self._likelihood.log_marginal
        vars(self)["features"] = _features(log_marginal)
        vars(self)["may_forbid"] = not is_ours(log_marginal)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "features"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        read_only(self._points)
        self._compile()

    @property
    def concentration(self) -> float:
        """α: the larger, the more clusters."""
        return self._concentration

    @property
    def likelihood(self) -> Likelihood:
        """What gives m(x_C)."""
        return self._likelihood

    @property
    def log_evidence_offset(self) -> float:  # type: ignore[override]
        """log Γ(α) − log Γ(α + n): what is added to log Z to give the log evidence."""
        return -float(log_rising([self._concentration], self.n_leaves)[0, -1])

    @property
    def points(self) -> Floats:
        """(n, d): the rows, NaN where an entry is missing."""
        return self._points

    @property
    def free_parameters(self) -> dict[str, float]:
        """The concentration and those of the likelihood, as they are."""
        return {"concentration": self._concentration, **self._likelihood.free_parameters}

    @property
    def parameter_ranges(self) -> Mapping[str, tuple[float, float]]:
        """0.01 ≤ concentration ≤ 3, and what the likelihood says of these points."""
        return {"concentration": _CONCENTRATIONS, **self._likelihood.parameter_ranges(self._points)}

    def with_parameters(self, *, concentration: float | None = None, **values: float) -> Self:
        """The same points with another concentration, or other `free_parameters` of the likelihood."""
        alpha = self._concentration if concentration is None else concentration
        return type(self)(self._points, alpha, self._likelihood.with_parameters(**values), labels=self.labels)

    def of_rows(self, rows: Sequence[int] | npt.NDArray[np.integer]) -> Self:
        """The same process of some of the rows, by number: what it says of them, whatever the others are.

        >>> import palmette as pal
        >>> m = pal.models.DirichletProcess([[0.1], [0.0], [9.0]], 1.0, pal.likelihoods.NormalGamma())
        >>> m.of_rows([0, 2]).points.tolist()
        [[0.1], [9.0]]
        """
        chosen = np.asarray(rows)
        labels = [self.labels[row] for row in chosen]
        return type(self)(self._points[chosen], self._concentration, self._likelihood, labels=labels)

    @property
    def log_evidence_without_structure(self) -> float:  # type: ignore[override]
        """log m(x) of all points: one cluster."""
        n = self.n_leaves
        whole = float(self.log_potentials(np.array([0, n]), np.arange(n))[0])
        return whole - math.log(self._concentration) - math.lgamma(n)

    def log_prior(self, partition: Partition) -> float:
        """Log-probability of a partition on the same labels before the data are seen: the Chinese restaurant process.

        log [ α^K · Π_C Γ(|C|) · Γ(α) / Γ(α + n) ] for K clusters C.
        """
        sizes = partition.aligned_to(self.labels).sizes
        log_weights = len(sizes) * math.log(self._concentration) + sum(math.lgamma(size) for size in sizes)
        return min(log_weights + self.log_evidence_offset, 0.0)


def check_concentration(concentration: float) -> float:
    """A positive α."""
    if not 0 < check_number("concentration", concentration) < np.inf:
        raise ValueError(f"concentration is {concentration}; it must be positive and finite")
    return float(concentration)
