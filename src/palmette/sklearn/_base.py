"""What the clusterers share: checks of the rows, fitted attributes, tables, distances and scores."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClusterMixin, TransformerMixin, clone
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.utils import check_array, check_random_state
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted, validate_data

from palmette.array_types import Floats, Ints
from palmette.checks import check_choice, check_integer
from palmette.hierarchy import Hierarchy
from palmette.labels import check_labels, labels_of
from palmette.partition import Partition
from palmette.posterior.tables import Table
from palmette.similarity import WAYS, completed, distances

__all__ = ["Clusterer", "HierarchyClusterer", "moments"]


class Clusterer(ClusterMixin, TransformerMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """Rows of X are the leaves. Subclasses say how to `_cluster` them, and what `_distances` are."""

    n_clusters: Any
    progress: bool | None
    random_state: Any

    _counts: ClassVar[bool] = False  # whether it finds a number of clusters itself, if n_clusters is None

    def _keep(self, given: dict[str, Any]) -> None:
        # Every parameter as it was given, under its own name: what scikit-learn asks of an __init__.
        for name in self._get_param_names():
            setattr(self, name, given[name])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._takes_gaps
        return tags

    @property
    def _takes_gaps(self) -> bool:
        return getattr(self, "missing", None) not in (None, "refuse")

    @property
    def _only_compares(self) -> bool:
        """Whether rows are seen by how far apart they are only, so that they may have gaps."""
        return False

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster the rows of X: (n, d), NaN where an entry is missing and the model knows gaps; (n, n) if precomputed.

        `y` is not used, but by the loss "closest+triplet" of `UltrametricClustering`: a class for each row, or −1.
        """
        points = self._completed(self._checked(X, missing=self._takes_gaps))
        self.partition_ = self._cluster(points, self._check_n_clusters(len(points)), y)
        self.labels_ = np.array(self.partition_.membership)
        self.n_clusters_ = self.partition_.n_clusters
        return self

    @abstractmethod
    def _cluster(self, points: Floats, k: Any, y: Any) -> Partition:
        """The flat clusters, k of them if k is not None; sets what else is fitted."""

    def fit_predict(self, X: Any, y: Any = None) -> Ints:
        """(n,): the cluster of each row, ``fit(X, y).labels_``."""
        return self.fit(X, y).labels_

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """(n, n): how far apart any two rows are in what was fitted; a data frame after `set_output`.

        There is no `transform`: rows that were not clustered have no place among those that were.
        """
        return self.fit(X, y)._distances()

    def get_feature_names_out(self, input_features: Any = None) -> npt.NDArray[np.object_]:
        """The columns of `fit_transform`: the labels of the leaves."""
        check_is_fitted(self)
        return np.asarray(self._leaf_labels, dtype=object)

    def score(self, X: Any, y: Any = None) -> float:
        """How well these parameters cluster the rows of X; larger is better.

        The rows are clustered anew, with everything that `fit` learned about scales and priors. With classes `y`: the
        adjusted Rand index of the flat clusters. Without: the log evidence per row of a Dirichlet process and of a
        coalescent, and the silhouette coefficient of the flat clusters of all else: costs have no evidence, and that of
        "shares" and "contrasts" is largest at what is found anew for these rows.
        """
        check_is_fitted(self)
        validate_data(self, X, reset=False, skip_check_array=True)
        again = self._learned().fit(X)
        if y is not None:
            return float(adjusted_rand_score(y, again.labels_))
        return again._own_score(X)

    @property
    def cluster_probabilities_(self) -> Any:
        """Clusters with a probability of at least 0.01: a palmette table, or a data frame after `set_output`."""
        posterior = getattr(self, "posterior_", None)
        if posterior is None:
            raise AttributeError(f"this {type(self).__name__} has no posterior_, so it has no cluster_probabilities_")
        return _as_configured(posterior.cluster_probabilities(), self)

    def _checked(self, X: Any, *, missing: bool = False) -> Floats:
        # The rows as numbers; n_features_in_ and the names of leaves and columns are set on the way.
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)  # of an earlier fit, perhaps with parameters under which it is not set again
        finite = "allow-nan" if missing else True
        points: Floats = validate_data(self, X, dtype=np.float64, ensure_all_finite=finite)
        self._leaf_labels = check_labels(labels_of(X, None), len(points))
        return points

    def _completed(self, points: Floats) -> Floats:
        # The rows as `missing` makes them: with gaps, if they are to be compared pair by pair, or the model knows them.
        missing = getattr(self, "missing", None)
        if missing is None:
            return points
        check_choice("missing", missing, WAYS, ", or None")
        if missing != "pairwise":
            return completed(points, missing)
        if np.isnan(points).any() and not self._only_compares:
            raise ValueError(
                'missing is "pairwise", which is for similarities and distances of rows; this model needs the rows '
                'themselves: give "mean" or "drop-columns"'
            )
        return points

    def _check_n_clusters(self, n: int) -> int | None:
        if self.n_clusters is None and self._counts:
            return None
        k = check_integer("n_clusters", self.n_clusters, 1)
        if k > n:
            raise ValueError(f"n_clusters is {k}, but n_samples={n}; give at most one cluster per row")
        return k

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def _learned(self) -> Self:
        """The same parameters, with what depends on the scale of the data as it was fitted; not fitted itself."""
        return clone(self)  # type: ignore[no-any-return]

    @abstractmethod
    def _distances(self) -> Floats:
        """What `fit_transform` returns."""

    def _own_score(self, X: Any) -> float:
        rows = self._rows(X)
        if np.isnan(rows).any():
            return self._silhouette(distances(rows, missing="pairwise"), metric="precomputed")
        return self._silhouette(rows)

    def _rows(self, X: Any) -> Floats:
        # As `fit` sees them.
        finite = "allow-nan" if self._takes_gaps else True
        return self._completed(check_array(X, dtype=np.float64, ensure_all_finite=finite))

    def _silhouette(self, values: Floats, metric: str = "euclidean") -> float:
        # One cluster, or only single rows, have nothing to be told apart from: 0, as for a row on a border.
        if not 1 < self.n_clusters_ < len(self.labels_):
            return 0.0
        return float(silhouette_score(values, self.labels_, metric=metric))


class HierarchyClusterer(Clusterer):
    """A `Clusterer` whose answer is a hierarchy with heights."""

    def _set_hierarchy(self, hierarchy: Hierarchy) -> None:
        linkage = hierarchy.to_linkage()
        # Made of the linkage again, so that nodes are numbered as in children_.
        self.hierarchy_ = Hierarchy.from_linkage(linkage, hierarchy.labels)
        self.children_ = linkage[:, :2].astype(np.int64)
        self.distances_ = linkage[:, 2]
        self.n_leaves_ = hierarchy.n_leaves

    def _distances(self) -> Floats:
        return self.hierarchy_.cophenetic()


def moments(points: Floats) -> tuple[Floats, Floats]:
    """(means, variances), (d,) each, of what is not NaN; the variance is 0 where a column says nothing on it.

    >>> moments(np.array([[1.0, 5.0], [3.0, np.nan]]))
    (array([2., 5.]), array([2., 0.]))
    """
    counts = (~np.isnan(points)).sum(axis=0)
    means = np.nansum(points, axis=0) / np.maximum(counts, 1)
    variances = np.nansum((points - means) ** 2, axis=0) / np.maximum(counts - 1, 1)
    return means, variances


def _as_configured(table: Table[Any], estimator: Clusterer) -> Any:
    kind = _get_output_config("transform", estimator)["dense"]
    if kind == "pandas":
        return table.to_pandas()
    if kind == "polars":
        import polars

        rows = [[list(cell) if isinstance(cell, tuple) else cell for cell in row] for row in table]
        return polars.DataFrame(rows, schema=list(table.columns), orient="row")
    return table
