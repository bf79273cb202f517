"""Coalescent histories as a clusterer of scikit-learn."""

from typing import Any, Self

import numpy as np

from palmette.array_types import Floats
from palmette.coalescent import Brownian, IndependentSites, flat_clusters, greedy, smc
from palmette.coalescent.process import Process
from palmette.defaults import DEFAULTS
from palmette.partition import Partition
from palmette.sklearn._base import HierarchyClusterer, moments

__all__ = ["CoalescentClustering"]


class CoalescentClustering(HierarchyClusterer):
    """A hierarchy with times: one greedy history, or weighted draws from the posterior over histories.

    Parameters
    ----------
    n_clusters
        The number of flat clusters. None cuts where the data stop saying that two lineages belong together, which with
        many columns that are not independent may be nowhere.
    process
        What wanders along the branches: "brownian" (real numbers, with one rate for all columns, the mean of their
        variances: rows count as they are, as in k-means), "sites" (categories 0, 1, …, −1 if missing), or a
        `palmette.coalescent.Process`.
    leaf_variance
        Of "brownian", in units of its rate: the noise on each row. Without any, equal rows have infinite density.
    n_particles
        None: a greedy history, no posterior. A number: sequential Monte Carlo with so many particles.
    rule, proposal
        How the next event is chosen: `palmette.coalescent.greedy` and `palmette.coalescent.smc` explain.
    threshold
        With ``n_clusters=None``: the log ratio above which a cluster is one. The higher, the more clusters.
    random_state
        For the particles; a greedy history needs none.
    progress
        Whether a bar is drawn on stderr; None draws one on a terminal, if it takes more than a second.

    Attributes
    ----------
    labels_, n_clusters_, partition_
        The flat clusters; `labels_` are their numbers, one for each row.
    hierarchy_, children_, distances_, n_leaves_
        The history, the most credible one if there are particles; `distances_` are the ages of its events.
    process_
        The process, with its parameters.
    posterior_, cluster_probabilities_, log_evidence_
        With particles only: the `CoalescentDraws`, their clusters with a share of at least 0.01 of the weight, and the
        estimate of log p(X).
    log_joint_
        Without particles only: log p(X, history).

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.2, float("nan")], [4.0, 4.1], [4.2, 3.9], [4.1, 4.4]]
    >>> CoalescentClustering().fit_predict(X)
    array([0, 0, 1, 1, 1])

    """

    _counts = True

    def __init__(
        self,
        n_clusters: int | None = None,
        *,
        process: Any = "brownian",
        leaf_variance: float = DEFAULTS.fitted_leaf_variance,
        n_particles: int | None = None,
        rule: Any = "rate1",
        proposal: str = DEFAULTS.fitted_proposal,
        threshold: float = 0.0,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def _takes_gaps(self) -> bool:
        return True

    def _cluster(self, points: Floats, k: Any, y: Any) -> Partition:
        self.process_ = self._make_process(points)
        if self.n_particles is None:
            found = greedy(points, self.process_, self.rule, self._leaf_labels, progress=self.progress)
            self.log_joint_ = found.log_joint
            self._set_hierarchy(found.hierarchy)
        else:
            options: dict[str, Any] = {"labels": self._leaf_labels, "progress": self.progress, "rng": self._seed()}
            self.posterior_ = smc(points, self.process_, self.n_particles, proposal=self.proposal, **options)
            self.log_evidence_ = self.posterior_.log_evidence
            self._set_hierarchy(self.posterior_.most_credible())
        if k is None:
            return flat_clusters(points, self.hierarchy_, self.process_, self.threshold)
        return self.hierarchy_.cut(k)

    def _make_process(self, points: Floats) -> Process:
        if isinstance(self.process, Process):
            return self.process
        if not isinstance(self.process, str) or self.process not in ("brownian", "sites"):
            raise ValueError(
                f'process is {self.process!r}; give "brownian", "sites", or a process such as '
                "palmette.coalescent.Brownian(rate=2.0)"
            )
        if self.process == "sites":
            return IndependentSites()
        variance = moments(points)[1].mean() or 1.0
        return Brownian(np.full(points.shape[1], variance), leaf_variance=self.leaf_variance)

    def _learned(self) -> Self:
        return super()._learned().set_params(process=self.process_)  # type: ignore[no-any-return]

    def _own_score(self, X: Any) -> float:
        value = self.log_joint_ if self.n_particles is None else self.log_evidence_
        return float(value) / self.n_leaves_

    def _distances(self) -> Floats:
        # The age of the common ancestor, expected where there are particles.
        draws = getattr(self, "posterior_", None)
        if draws is None:
            return super()._distances()
        weighted = zip(draws, draws.weights, strict=True)
        return np.asarray(sum(weight * history.cophenetic() for history, weight in weighted))
