"""`PartitionTrellisClustering`: the posterior of a model of partitions, and more leaves than it takes."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn_cases import FEW, FEW_CLASSES, MANY, same

import palmette as pal
from palmette.sklearn import (
    PartitionTrellisClustering,
)


def test_the_number_of_clusters_is_left_to_the_data_or_conditioned_on():
    free = PartitionTrellisClustering(model="dirichlet-process").fit(FEW)
    assert free.partition_ == free.posterior_.map()
    assert same(free.labels_, FEW_CLASSES)
    five = PartitionTrellisClustering(5, model="dirichlet-process").fit(FEW)
    assert five.n_clusters_ == 5
    assert five.posterior_.log_partition < free.posterior_.log_partition


@pytest.mark.parametrize("model", ["correlation", "dirichlet-process"])
def test_beyond_max_leaves_the_family_is_that_of_a_few_hierarchies(model, monkeypatch):
    fitted = PartitionTrellisClustering(model=model, beyond="sparse").fit(MANY)
    alone = pal.PartitionTrellis.from_hierarchy(pal.search.greedy(fitted.posterior_.model).hierarchy)
    bound = pal.PartitionPosterior(fitted.posterior_.model, trellis=alone).log_partition
    assert not fitted.posterior_.is_exact
    assert fitted.posterior_.log_partition >= bound
    monkeypatch.setattr("palmette.search.posteriors._MOST_REMAINDERS", 3)  # the best of them alone
    assert fitted.posterior_.log_partition >= clone(fitted).fit(MANY).posterior_.log_partition >= bound
    below = PartitionTrellisClustering(model=model, max_leaves=5, beyond="sparse").fit(FEW).posterior_
    assert below.log_partition <= PartitionTrellisClustering(model=model).fit(FEW).posterior_.log_partition + 1e-9


def test_beyond_max_leaves_partitions_are_sampled():
    fitted = PartitionTrellisClustering(model="dirichlet-process", random_state=0).fit(MANY)
    assert isinstance(fitted.posterior_, pal.sampling.SampledPartitions)
    sparse = PartitionTrellisClustering(model="dirichlet-process", beyond="sparse").fit(MANY)
    model = fitted.posterior_.model
    assert model.log_potential(fitted.partition_) >= model.log_potential(sparse.partition_) - 1e-9
    assert 0.0 < fitted.score(MANY) - sparse.score(MANY) < 1.0  # which is a bound from below
    assert fitted.fit_transform(MANY).shape == (len(MANY), len(MANY))
    assert not PartitionTrellisClustering(3, model="dirichlet-process").fit(MANY).posterior_.is_exact
    again = PartitionTrellisClustering(model="dirichlet-process", random_state=0).fit(MANY)
    assert (again.labels_ == fitted.labels_).all()


def test_mixtures_take_missing_entries_and_a_likelihood():
    X = FEW.copy()
    X[3, 0] = np.nan
    likelihood = pal.likelihoods.NormalGamma(pseudo_count=0.05, rate=0.3)
    fitted = PartitionTrellisClustering(model="dirichlet-process", concentration=0.5, likelihood=likelihood).fit(X)
    expected = pal.PartitionPosterior(pal.models.DirichletProcess(X, 0.5, likelihood))
    assert fitted.posterior_.log_evidence == expected.log_evidence
    assert fitted.score(X) == expected.log_evidence / 12
    with pytest.raises(ValueError, match="NaN"):
        PartitionTrellisClustering(model="correlation").fit(X)


def test_what_was_learned_scores_new_rows():
    fitted = PartitionTrellisClustering(model="dirichlet-process").fit(FEW)
    new = FEW[::2] + 0.1
    expected = pal.PartitionPosterior(pal.models.DirichletProcess(new, 1.0, fitted.likelihood_))
    assert fitted.score(new) == pytest.approx(expected.log_evidence / 6)
