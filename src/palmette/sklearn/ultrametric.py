"""Ultrametrics fitted by gradient descent as a clusterer of scikit-learn."""

from typing import Any, Self

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from palmette.array_types import Floats
from palmette.checks import check_choice
from palmette.defaults import DEFAULTS
from palmette.partition import Partition
from palmette.similarity import distances
from palmette.sklearn._base import HierarchyClusterer
from palmette.ultrametric import Closest, Graph, Loss, Triplet, fit
from palmette.ultrametric.losses import NAMED, mean_weight, named_loss

__all__ = ["UltrametricClustering"]

_SUPERVISED = "closest+triplet"


class UltrametricClustering(HierarchyClusterer):
    """The ultrametric on a graph of nearest neighbours with the smallest loss that gradient descent finds, cut.

    Parameters
    ----------
    n_clusters
        The number of flat clusters.
    loss
        "closest+size": near the distances of neighbours, and without small clusters at large heights. "closest": the
        first alone; the largest merges are then those of outliers, and a cut splits off a few rows.
        "closest+triplet": and rows of one class in `y` meet before those of two. "dasgupta": Dasgupta's cost, made
        smooth; rows must differ. Or a `palmette.ultrametric.Loss`.
    n_neighbors
        Of each row, for the graph, which also holds a minimum spanning tree.
    missing
        What to do about NaN: "pairwise" makes the graph of distances over the columns that both rows have; "mean" puts
        in the mean of the column; "drop-columns" leaves columns with gaps out; None and "refuse" raise.
    margin
        Of "closest+triplet", in units of the mean distance of neighbours.
    start
        Where the descent begins: "weights", "average" (average linkage), or both, of which the better is kept.
    max_iter, learning_rate, tol
        Of the descent, which is over when the loss falls by less than the share `tol`; see `palmette.ultrametric.fit`.
    progress
        Whether a bar is drawn on stderr; None draws one on a terminal, if it takes more than a second.

    Attributes
    ----------
    labels_, n_clusters_, partition_
        The flat clusters; `labels_` are their numbers, one for each row.
    hierarchy_, children_, distances_, n_leaves_
        The hierarchy; `distances_` are the fitted ones.
    loss_, n_iter_
        The loss that was reached, and after how many evaluations the descent ended.

    Examples
    --------
    >>> X = [[0.0, 0.1], [0.2, 0.0], [4.0, 4.1], [4.2, 3.9], [4.1, 4.4]]
    >>> UltrametricClustering(n_clusters=2, n_neighbors=2).fit_predict(X)
    array([0, 0, 1, 1, 1])

    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        loss: Any = DEFAULTS.fitted_loss,
        n_neighbors: int = DEFAULTS.neighbours,
        missing: str | None = None,
        margin: float = 1.0,
        start: Any = DEFAULTS.start,
        max_iter: int = DEFAULTS.iterations,
        learning_rate: float = DEFAULTS.learning_rate,
        tol: float = DEFAULTS.fitted_tolerance,
        progress: bool | None = None,
    ) -> None:
        self._keep(locals())

    @property
    def _only_compares(self) -> bool:
        return True

    def _cluster(self, points: Floats, k: Any, y: Any) -> Partition:
        graph = self._graph(points)
        options: dict[str, Any] = {
            "iterations": self.max_iter,
            "learning_rate": self.learning_rate,
            "tolerance": self.tol,
        }
        found = fit(graph, self._make_loss(graph, y), start=self.start, progress=self.progress, **options)
        self.loss_ = found.best_loss
        self.n_iter_ = found.iterations
        self._set_hierarchy(found.hierarchy)
        return self.hierarchy_.cut(k)

    def _graph(self, points: Floats) -> Graph:
        names = self._leaf_labels
        if not np.isnan(points).any():
            return Graph.from_points(points, self.n_neighbors, labels=names)
        between = distances(points, missing="pairwise", labels=names)
        return Graph.from_distances(between, self.n_neighbors, labels=names)

    def _make_loss(self, graph: Graph, y: Any) -> Loss:
        if isinstance(self.loss, Loss):
            return self.loss
        check_choice("loss", self.loss, tuple(sorted([*NAMED, _SUPERVISED])), ", or a palmette.ultrametric.Loss")
        if self.loss != _SUPERVISED:
            return named_loss(self.loss, graph)
        return Closest() + Triplet(_classes(y, graph.n_vertices), margin=self.margin * mean_weight(graph))

    def _learned(self) -> Self:
        # Classes must not help to find the clusters that are compared with them.
        again = super()._learned()
        is_supervised = isinstance(self.loss, str) and self.loss == _SUPERVISED
        return again.set_params(loss="closest") if is_supervised else again


def _classes(y: Any, n: int) -> Any:
    if y is None:
        raise ValueError('the loss "closest+triplet" needs y: one class for each row, −1 where it is not known')
    classes = column_or_1d(y)
    check_consistent_length(np.empty(n), classes)
    return classes
