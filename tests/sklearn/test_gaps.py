"""Rows with gaps, in the ways that can be said."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn_cases import MANY, MANY_CLASSES, same, similarity

import palmette as pal
from palmette.sklearn import (
    PartitionTrellisClustering,
    TrellisClustering,
    UltrametricClustering,
)

GAPPY = MANY.repeat(4, axis=1) + np.random.default_rng(0).normal(size=(45, 8), scale=0.2)
GAPS = np.random.default_rng(1).random(GAPPY.shape) < 0.05
GAPS[:, 2:6] = False  # two columns of either coordinate are whole
GAPPY[GAPS] = np.nan


@pytest.mark.parametrize("missing", ["pairwise", "mean", "drop-columns"])
@pytest.mark.parametrize(
    "estimator",
    [
        TrellisClustering(3, sweeps=10, random_state=0),
        PartitionTrellisClustering(model="correlation", perplexity=5, beyond="sparse"),
        UltrametricClustering(3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:the loss had not settled")
@pytest.mark.usefixtures("few_sweeps")
def test_rows_with_gaps_are_clustered_in_the_way_that_is_said(estimator, missing):
    with pytest.raises(ValueError, match="NaN"):
        clone(estimator).fit(GAPPY)
    fitted = clone(estimator).set_params(missing=missing).fit(GAPPY)
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    assert same(fitted.labels_, MANY_CLASSES)
    assert fitted.score(GAPPY) > 0.5
    if missing != "pairwise":
        again = clone(estimator).fit(pal.similarity.completed(GAPPY, missing))
        np.testing.assert_array_equal(again.labels_, fitted.labels_)
        assert again.score(pal.similarity.completed(GAPPY, missing)) == fitted.score(GAPPY)


def test_pairs_with_gaps_are_those_of_similarity():
    X = GAPPY[:12]
    fitted = TrellisClustering(3, missing="pairwise", similarity="correlation").fit(X)
    expected = pal.similarity.of_points(X, "correlation", missing="pairwise")
    np.testing.assert_array_equal(fitted.posterior_.model.pairwise[0], expected - np.eye(12))
    by_rbf = TrellisClustering(3, missing="pairwise").fit(X)
    expected = pal.similarity.of_points(X, missing="pairwise")
    np.testing.assert_array_equal(by_rbf.posterior_.model.pairwise[0], expected - np.eye(12))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TrellisClustering(missing="pairwise", model="contrasts"), 'give "mean" or "drop-columns"'),
        (TrellisClustering(missing="pairwise", similarity=similarity), 'give "mean" or "drop-columns"'),
        (PartitionTrellisClustering(missing="pairwise", model="dirichlet-process"), "this model needs the rows"),
        (PartitionTrellisClustering(missing="refuse", model="dirichlet-process"), "contains NaN"),
        (UltrametricClustering(missing="median"), "missing is 'median'; give one of 'pairwise'"),
        (TrellisClustering(missing="mean", similarity="precomputed"), "contains NaN"),
    ],
)
def test_gaps_that_cannot_be_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(GAPPY)
