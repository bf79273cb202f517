"""The posterior over partitions as a clusterer of scikit-learn."""

import math
from typing import Any, Self

import numpy as np

from palmette.array_types import Floats
from palmette.defaults import DEFAULTS
from palmette.likelihoods import NormalGamma
from palmette.models import CorrelationClusters, DirichletProcess, PartitionModel
from palmette.partition import Partition
from palmette.posterior import PartitionPosterior
from palmette.sampling import SampledPartitions
from palmette.sampling.estimates import values_of
from palmette.sklearn._base import moments
from palmette.sklearn._models import ModelClusterer

__all__ = ["PartitionTrellisClustering"]


class PartitionTrellisClustering(ModelClusterer):
    """The most probable partition, into as many clusters as the data ask for or into `n_clusters`, and the posterior.

    Up to `max_leaves` rows everything is exact. Beyond, the posterior is sampled, or over the partitions into clusters
    of a few good hierarchies, and then too sure of itself wherever these agree; ``posterior_.is_exact`` is False. See
    `palmette.search.posterior`.

    Parameters
    ----------
    n_clusters
        The number of clusters, which the posterior is then conditioned on; None leaves it to the data.
    model
        "dirichlet-process" (a mixture, with an evidence; entries may be missing), "correlation" (of affinities), or a
        function that makes a palmette model of partitions: of the (n, d) rows, or of the (n, n) similarities if
        `similarity` is given.
    beta, perplexity, similarity, gamma
        As for `TrellisClustering`; a Dirichlet process has none of them.
    missing
        As for `TrellisClustering`; None leaves gaps to a Dirichlet process, which sums over them, and else raises.
    concentration
        α of the Dirichlet process: the larger, the more clusters.
    likelihood
        One of `palmette.likelihoods`. None is a NormalGamma that expects clusters around the mean of each column, each
        with a tenth of its variance.
    max_leaves
        The largest number of rows for the full trellis.
    beyond, sweeps
        "sampled" or "sparse". Chains of so many sweeps find a good partition (None: a hundred, fewer of more than 300
        rows). Probabilities to rely on take more, and ``posterior_.verdict`` says whether there were enough. With
        `perplexity` or `n_clusters` it is always "sparse".
    random_state
        For chains.
    progress
        Whether bars are drawn on stderr; None draws them on a terminal, if something takes more than a second.

    Attributes
    ----------
    labels_, n_clusters_, partition_
        The most probable partition; `labels_` are the numbers of its clusters, one for each row.
    posterior_
        The `palmette.PartitionPosterior`, or the `palmette.sampling.SampledPartitions`, to be asked anything.
    cluster_probabilities_
        Its clusters with a probability of at least 0.01.
    gamma_, likelihood_
        What was used for `gamma` and `likelihood`.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 3.9], [4.1, 4.4]]
    >>> clusterer = PartitionTrellisClustering().fit(X)
    >>> clusterer.labels_, round(clusterer.posterior_.together_probability([0, 1]), 2)
    (array([0, 0, 1, 1, 1]), 0.95)

    """

    _names = {"correlation": CorrelationClusters, "dirichlet-process": DirichletProcess}  # noqa: RUF012
    _kind = PartitionModel
    _counts = True

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        model: Any = "dirichlet-process",
        beta: float | None = None,
        perplexity: float | None = None,
        similarity: Any = None,
        gamma: float | None = None,
        missing: str | None = None,
        concentration: float = 1.0,
        likelihood: Any = None,
        max_leaves: int = DEFAULTS.fitted_leaves,
        beyond: str = DEFAULTS.beyond,
        sweeps: int | None = None,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def _takes_gaps(self) -> bool:
        return super()._takes_gaps or (self._is_mixture and self.missing is None)

    @property
    def _is_mixture(self) -> bool:
        made = self._names.get(self.model) if isinstance(self.model, str) else self.model
        return made is self._names["dirichlet-process"]

    def _cluster(self, points: Floats, k: Any, y: Any) -> Partition:
        posterior: PartitionPosterior | SampledPartitions = self._posterior(points, n_clusters=k, rng=self._seed())
        self.posterior_ = posterior
        return posterior.map()

    def _options(self, maker: Any, points: Floats) -> dict[str, Any]:
        options = super()._options(maker, points)
        if not self._is_mixture:
            return options
        self.likelihood_ = _default_likelihood(points) if self.likelihood is None else self.likelihood
        return {"concentration": self.concentration, "likelihood": self.likelihood_, **options}

    def _learned(self) -> Self:
        return super()._learned().set_params(likelihood=getattr(self, "likelihood_", None))  # type: ignore[no-any-return]

    def _own_score(self, X: Any) -> float:
        if not self._is_mixture:
            return super()._own_score(X)
        fitted: PartitionPosterior | SampledPartitions = self.posterior_
        if isinstance(fitted, PartitionPosterior):
            return float(fitted.log_evidence) / fitted.n_leaves
        # Chosen clusters have an exact sum, and draws tell which share of the whole it is.
        sparse = self._posterior(self._rows(X), beyond="sparse")
        share = max(float(fitted.share_in(sparse.trellis)), 1.0 / fitted.log_potentials.size)
        return (float(sparse.log_evidence) - math.log(share)) / fitted.n_leaves

    def _distances(self) -> Floats:
        return 1.0 - values_of(self.posterior_.coclustering())


def _default_likelihood(points: Floats) -> NormalGamma:
    means, variances = moments(points)
    variances = np.where(variances > 0.0, variances, 1.0)
    return NormalGamma(
        mean=means.tolist(),
        pseudo_count=DEFAULTS.pseudo_count,
        shape=1.0,
        rate=(DEFAULTS.fitted_within * variances).tolist(),
    )
