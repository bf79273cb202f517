"""The posterior over hierarchies as a clusterer of scikit-learn."""

from typing import Any

import numpy as np

from palmette.array_types import Floats
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models import Contrasts, Correlation, Dasgupta, HierarchyModel, SumOfSquares, VarianceShares
from palmette.partition import Partition
from palmette.posterior import HierarchyPosterior
from palmette.sampling import SampledPosterior
from palmette.sampling.estimates import values_of
from palmette.similarity import to_distances
from palmette.sklearn._base import HierarchyClusterer
from palmette.sklearn._heights import mean_across, scatter, ward_heights
from palmette.sklearn._models import ModelClusterer

__all__ = ["TrellisClustering"]


class TrellisClustering(HierarchyClusterer, ModelClusterer):
    """The most probable hierarchy, cut into `n_clusters` of its clusters, and the posterior over all hierarchies.

    Of all ways to cut it, the flat clusters are those with the smallest sum of squared distances to their means, or for
    similarities with the smallest cost of kernel k-means.

    Up to `max_leaves` rows everything is exact. Beyond, the posterior is sampled, or over a sparse trellis that is
    grown around a few good hierarchies, and ``posterior_.is_exact`` is False; see `palmette.search.posterior`.

    Parameters
    ----------
    n_clusters
        The number of flat clusters. It has no part in the posterior.
    model
        "shares", the likelihood of the rows that foretells best which clusters come back, as `evidence.posterior` has
        it; "contrasts", another one, whose parameters are found by evidence; "sum-of-squares", a cost of the rows;
        "dasgupta" and "correlation", costs of similarities; or a function that makes a palmette model: of the (n, d)
        rows, or of the (n, n) similarities if `similarity` is given. None is "sum-of-squares", and "dasgupta" if
        anything is said of similarities (`similarity`, `gamma`, or gaps that are compared "pairwise"). Support by
        "shares" needs no temperature; flat clusters of many rows are better by a cost. Long groups that touch nowhere,
        like moons, are found by none of them; see
        `UltrametricClustering`.
    beta, perplexity
        The temperature, in one of two ways: β itself, or the effective number of hierarchies that β is solved for.
        Without either β is the model's own, which is 1 for costs with a name. The most probable of all hierarchies is
        the same at every β > 0. A likelihood has none.
    similarity
        "rbf", which is exp(−gamma · ‖x_i − x_j‖²) and what a model of similarities takes by itself, "linear", "cosine",
        "correlation" (of two rows; see `palmette.similarity`), "precomputed" (X is the (n, n) matrix), or a function
        from rows to matrix.
        For the model "correlation" those with a name get their mean subtracted.
    gamma
        Of "rbf"; None is 1 / (2 h²), with h the median distance of two rows that differ.
    missing
        What to do about NaN: "pairwise" compares two rows over the columns that both have, for models of similarities;
        "mean" puts in the mean of the column; "drop-columns" leaves columns with gaps out; None and "refuse" raise.
    max_leaves
        The largest number of rows for the full trellis. Time grows as 3^n: 16 take a tenth of a second, 19 about one.
    beyond, sweeps
        "sampled" or "sparse". Chains of so many sweeps find a good hierarchy (None: a hundred, fewer of more than 300
        rows). Support to rely on takes thousands, and ``posterior_.verdict`` says whether there were enough. With
        `perplexity` it is always "sparse".
    min_share, max_clusters
        Of the sparse trellis: see `palmette.search.grow`.
    random_state
        For chains, and for the search that they or a sparse trellis start from.
    progress
        Whether bars are drawn on stderr; None draws them on a terminal, if something takes more than a second.

    Attributes
    ----------
    labels_, n_clusters_, partition_
        The flat clusters; `labels_` are their numbers, one for each row.
    hierarchy_, children_, distances_, n_leaves_
        The most probable hierarchy, as a `palmette.Hierarchy`, and as arrays like those of AgglomerativeClustering.
        `distances_` are average linkage's for similarities (the largest similarity minus the mean across), Ward's for
        models of rows that have a name, and the expected size of the smallest common cluster for models of your own.
    posterior_
        The `palmette.HierarchyPosterior`, or the `palmette.sampling.SampledPosterior`, to be asked anything.
    cluster_probabilities_
        Its clusters with a probability of at least 0.01.
    gamma_
        What was used for `gamma`, if the similarity is "rbf".

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 3.9], [4.1, 4.4]]
    >>> clusterer = TrellisClustering(n_clusters=2, model="shares").fit(X)
    >>> clusterer.labels_
    array([0, 0, 1, 1, 1])
    >>> round(clusterer.posterior_.cluster_probability([2, 3, 4]), 2)
    1.0

    """

    _names = {  # noqa: RUF012
        "shares": VarianceShares,
        "contrasts": Contrasts,
        "dasgupta": Dasgupta,
        "correlation": Correlation,
        "sum-of-squares": SumOfSquares,
    }
    _kind = HierarchyModel

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        model: Any = None,
        beta: float | None = None,
        perplexity: float | None = None,
        similarity: Any = None,
        gamma: float | None = None,
        missing: str | None = None,
        max_leaves: int = DEFAULTS.fitted_leaves,
        beyond: str = DEFAULTS.beyond,
        sweeps: int | None = None,
        min_share: float = DEFAULTS.fitted_share,
        max_clusters: int = DEFAULTS.max_clusters,
        random_state: Any = None,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

    def _maker(self) -> Any:
        if self.model is not None:
            return super()._maker()
        compares = self.similarity is not None or self.gamma is not None or self.missing == "pairwise"
        return Dasgupta if compares else SumOfSquares

    def _cluster(self, points: Floats, k: Any, y: Any) -> Partition:
        limits = {"min_share": self.min_share, "max_clusters": self.max_clusters}
        self.posterior_: HierarchyPosterior | SampledPosterior = self._posterior(points, rng=self._seed(), **limits)
        best: Hierarchy = self.posterior_.map()
        model = self.posterior_.model
        across = mean_across(best, self._dissimilarity(model))
        heights = ward_heights(best, across) if model.pairwise_holds == "squared distances" else across
        self._set_hierarchy(Hierarchy.from_merges(best.children, best.labels, heights=heights))
        return best.cheapest_cut(scatter(best, across), k)

    def _dissimilarity(self, model: Any) -> Floats:
        # How far apart rows are in the terms of the model.
        if model.pairwise_holds == "squared distances":
            return np.asarray(model.pairwise[0])
        if model.pairwise_holds == "similarities":
            return to_distances(model.pairwise[0])
        return self._expected_sizes()

    def _distances(self) -> Floats:
        # The expected size of the smallest cluster that holds both, without the one row that is always there.
        return self._expected_sizes() - 1.0

    def _expected_sizes(self) -> Floats:
        return values_of(self.posterior_.expected_lca_size())
