"""`UltrametricClustering`: the fit of the same graph and loss, and a few known classes."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn_cases import FEW, MANY, MANY_CLASSES, same

from palmette import ultrametric
from palmette.sklearn import (
    UltrametricClustering,
)


def test_the_fit_is_that_of_the_same_graph_and_loss():
    fitted = UltrametricClustering(3, loss="closest", n_neighbors=4).fit(FEW)
    found = ultrametric.fit(ultrametric.Graph.from_points(FEW, 4), ultrametric.Closest())
    assert fitted.hierarchy_ == found.hierarchy
    assert (fitted.loss_, fitted.n_iter_) == (found.best_loss, len(found.history))
    np.testing.assert_array_equal(fitted.distances_, found.subdominant.altitudes)
    own = UltrametricClustering(3, loss=ultrametric.Closest(), n_neighbors=4).fit(FEW)
    assert own.loss_ == fitted.loss_


@pytest.mark.parametrize("loss", ["closest+size", "dasgupta"])
def test_other_losses(loss):
    assert same(UltrametricClustering(3, loss=loss).fit_predict(MANY), MANY_CLASSES)


def test_a_few_known_classes_help():
    rng = np.random.default_rng(0)
    line = np.concatenate([np.linspace(0, 6, 20), np.linspace(6.4, 8, 20)])
    X = (line + rng.normal(0, 0.01, 40))[:, None]
    known = np.full(40, -1)
    known[[0, 5, 12, 19]], known[[20, 25, 32, 39]] = 0, 1
    classes = np.repeat([0, 1], 20)
    estimator = UltrametricClustering(2, loss="closest+triplet")
    helped = estimator.fit_predict(X, known)
    assert adjusted_rand_score(classes, helped) >= adjusted_rand_score(classes, UltrametricClustering(2).fit_predict(X))
    assert same(helped[known >= 0], known[known >= 0])
    assert estimator.score(X, classes) == UltrametricClustering(2, loss="closest").fit(X).score(X, classes)
    with pytest.raises(ValueError, match="needs y"):
        estimator.fit(X)
