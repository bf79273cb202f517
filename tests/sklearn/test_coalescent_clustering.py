"""`CoalescentClustering`: a greedy history, particles, gaps and categories."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn_cases import FEW, FEW_CLASSES, same

from palmette import coalescent
from palmette.sklearn import (
    CoalescentClustering,
)


def test_a_greedy_history_and_its_flat_clusters():
    fitted = CoalescentClustering().fit(FEW)
    process = coalescent.Brownian(np.full(2, FEW.var(axis=0, ddof=1).mean()), leaf_variance=0.1)
    expected = coalescent.greedy(FEW, process)
    assert fitted.hierarchy_ == expected.hierarchy
    assert fitted.log_joint_ == pytest.approx(expected.log_joint)
    np.testing.assert_allclose(fitted.distances_, np.sort(expected.hierarchy.heights[12:]))
    assert fitted.partition_ == coalescent.flat_clusters(FEW, expected.hierarchy, process)
    assert fitted.score(FEW) == pytest.approx(expected.log_joint / 12)
    assert not hasattr(fitted, "cluster_probabilities_")


@pytest.mark.filterwarnings("ignore:of 30 particles")
def test_particles_make_a_posterior():
    fitted = CoalescentClustering(n_particles=30, random_state=3).fit(FEW)
    again = CoalescentClustering(n_particles=30, random_state=3).fit(FEW)
    assert fitted.log_evidence_ == again.log_evidence_
    best = fitted.cluster_probabilities_[0]
    assert best.probability == float(fitted.posterior_.cluster_probability(best.members)) > 0.5
    ages = clone(fitted).fit_transform(FEW)
    np.testing.assert_allclose(ages, fitted.posterior_.expectation([h.cophenetic() for h in fitted.posterior_]))
    fitted.set_params(n_particles=None).fit(FEW)
    assert not hasattr(fitted, "posterior_")


def test_missing_entries_and_categories():
    X = FEW.copy()
    X[0, 0] = X[5, 1] = np.nan
    assert same(CoalescentClustering(3).fit_predict(X), FEW_CLASSES)
    codes = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 4, axis=0)
    assert CoalescentClustering(2, process="sites").fit_predict(codes).tolist() == [0] * 4 + [1] * 4
    process = coalescent.Brownian(rate=2.0, leaf_variance=0.1)
    assert CoalescentClustering(process=process).fit(FEW).process_ is process
