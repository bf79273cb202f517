"""Partitions with their constants left open: mixtures against enumeration, and sets of rows against all of them."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from partition_oracle import PartitionOracle, dirichlet_process, log_sum, normal_gamma
from scipy.special import gammaln

from palmette import Partition, PartitionPosterior, evidence
from palmette.evidence.row_sets import best_of_row_sets
from palmette.likelihoods import BetaBernoulli, NormalGamma
from palmette.models import CorrelationClusters, DirichletProcess
from palmette.posterior import PartitionMixture
from palmette.sampling import SampledPartitions
from palmette.similarity import standardised

RNG = np.random.default_rng(7)
CENTRES = np.array([[0.0, 0, 9, 0], [9, 0, 0, 9], [0, 9, 0, 0]])
GROUP = np.repeat(np.arange(3), 4)
GROUPS = standardised(CENTRES[GROUP] + RNG.normal(scale=0.5, size=(12, 4)))
MANY = standardised(CENTRES[np.repeat(np.arange(3), 10)] + RNG.normal(scale=0.5, size=(30, 4)))


def process(x, within=0.25, **options):
    return DirichletProcess(x, 1.0, NormalGamma.expecting(within), **options)


def enumerated(x, concentration, pseudo_count):
    """The posterior by listing all partitions, and its log evidence, of columns of variance 1 in all."""
    rate = pseudo_count / (1.0 + pseudo_count)
    marginal = functools.partial(normal_gamma, pseudo_count=pseudo_count, rate=rate)
    oracle = PartitionOracle(len(x), dirichlet_process(x, concentration, marginal))
    return oracle, oracle.log_z + float(gammaln(concentration) - gammaln(concentration + len(x)))


@given(seed=st.integers(0, 2**16), n=st.integers(2, 5), d=st.integers(1, 3))
def test_a_mixture_is_the_weighted_mean_of_enumerations(seed, n, d):
    x = standardised(np.random.default_rng(seed).normal(size=(n, d)))
    post = evidence.partition_posterior(process(x), progress=False)
    assert isinstance(post, PartitionMixture)
    found = [enumerated(x, **values) for values in post.parameters]
    for part, (_, log_evidence) in zip(post.parts, found, strict=True):
        assert part.log_evidence == pytest.approx(log_evidence, abs=1e-8)
    mean = sum(weight * oracle.coclusterings() for weight, (oracle, _) in zip(post.weights, found, strict=True))
    np.testing.assert_allclose(post.coclustering(), mean, atol=1e-8)
    one = sum(w * oracle.cluster_probability(oracle.root) for w, (oracle, _) in zip(post.weights, found, strict=True))
    assert post.cluster_probability(range(n)) == pytest.approx(one, abs=1e-8)


def test_an_average_is_that_of_a_dense_grid_of_enumerations():
    x = standardised(np.array([[0.0, 0.2], [0.3, 0.0], [0.1, 0.4], [5.0, 4.0], [5.2, 4.4], [5.1, 4.1]]))
    ranges = process(x).parameter_ranges
    sides = [np.exp(np.linspace(*np.log(ends), 41)[1::2]) for ends in ranges.values()]
    grid = [enumerated(x, alpha, count) for alpha in sides[0] for count in sides[1]]
    logs = np.array([log_evidence for _, log_evidence in grid])
    keep = np.flatnonzero(logs > logs.max() - 9.0)
    weights = np.exp(logs[keep] - log_sum(logs[keep]))
    mean = sum(w * grid[i][0].coclusterings() for w, i in zip(weights, keep, strict=True))
    post = evidence.partition_posterior(process(x))
    np.testing.assert_allclose(post.coclustering(), mean, atol=0.03)
    assert post.log_evidence == pytest.approx(log_sum(logs) - math.log(len(logs)), abs=0.1)


def test_clear_groups_are_found_and_noise_is_one_cluster():
    post = evidence.partition_posterior(process(GROUPS))
    assert post.map() == Partition(GROUP)
    assert min(post.cluster_probability(np.flatnonzero(k == GROUP)) for k in range(3)) > 0.9
    for d in (1, 3, 10, 40):
        noise = standardised(np.random.default_rng(d).normal(size=(12, d)))
        post = evidence.partition_posterior(process(noise))
        assert post.map() == Partition(np.zeros(12, dtype=int))
        assert not [row for row in post.cluster_probabilities(0.8) if row.size < 12]


def test_what_is_not_free_stays_as_it_is():
    post = evidence.partition_posterior(process(GROUPS, within=0.1), free=["concentration"])
    assert {part.model.likelihood for part in post.parts} == {NormalGamma.expecting(0.1)}
    assert len({part.model.concentration for part in post.parts}) > 1
    model = process(MANY)
    found = evidence.partition_posterior(model, free=["pseudo_count"], sweeps=8, seconds=None).model
    assert found.concentration == 1.0
    assert found.likelihood != model.likelihood
    fixed = evidence.partition_posterior(model.of_rows(range(6)), free=())
    assert isinstance(fixed, PartitionPosterior)
    assert fixed.model.parameter_ranges.keys() == {"concentration", "pseudo_count"}
    with pytest.raises(ValueError, match=r"free has 'rate'.*'concentration', 'pseudo_count'"):
        evidence.partition_posterior(model, free=["rate"])


def test_it_is_averaged_has_the_best_constants_or_is_sampled():
    model = process(GROUPS)
    averaged, best = (evidence.partition_posterior(model, averaged_leaves=most) for most in (12, 11))
    assert isinstance(averaged, PartitionMixture)
    assert isinstance(best, PartitionPosterior)
    assert averaged.log_evidence < best.log_evidence  # a mean is below the maximum
    sampled = evidence.partition_posterior(model, exact_leaves=0, sweeps=40, seconds=None)
    assert isinstance(sampled, SampledPartitions)
    assert sampled.model.free_parameters == best.model.free_parameters
    assert sampled.map() == Partition(GROUP)
    assert isinstance(evidence.partition_posterior(model, max_memory=1000, sweeps=8, seconds=None), SampledPartitions)
    costs = CorrelationClusters(np.ones((4, 4)))
    assert evidence.partition_posterior(costs).model is costs


def test_a_number_of_clusters_is_known_before_the_average():
    model = process(GROUPS)
    post = evidence.partition_posterior(model, n_clusters=2)
    assert post.n_clusters_probabilities()[2] == pytest.approx(1.0)
    free = evidence.partition_posterior(model)
    share = free.n_clusters_probabilities()[2]
    assert post.log_partition - free.log_partition == pytest.approx(math.log(share), abs=1e-9)


def test_of_a_dozen_rows_the_best_constants_are_those_of_the_maximum():
    model = process(GROUPS)
    best = evidence.maximise(model.with_parameters, within=model.parameter_ranges, **model.free_parameters)
    found = best_of_row_sets(model, model.parameter_ranges)
    assert PartitionPosterior(found).log_evidence == pytest.approx(best.log_evidence, abs=0.1)


def test_of_more_rows_sets_say_about_what_all_rows_say():
    model = process(MANY[::2])
    best = evidence.maximise(model.with_parameters, within=model.parameter_ranges, **model.free_parameters)
    found = best_of_row_sets(model, model.parameter_ranges)
    assert PartitionPosterior(found).log_evidence > best.log_evidence - 1.0
    assert PartitionPosterior(found).log_evidence > PartitionPosterior(model).log_evidence
    again, other = (best_of_row_sets(model, model.parameter_ranges, rng=seed) for seed in (0, 1))
    assert again.free_parameters == found.free_parameters != other.free_parameters


def test_other_likelihoods_leave_the_concentration_open():
    bits = np.kron(np.eye(3), np.ones((3, 4)))
    post = evidence.partition_posterior(DirichletProcess(bits, 1.0, BetaBernoulli(0.5, 0.5)))
    assert list(post.parameters[0]) == ["concentration"]
    assert min(post.cluster_probability(range(k, k + 3)) for k in (0, 3, 6)) > 0.5


@pytest.mark.parametrize("x", [[[1.0]], [[0.0], [1.0]], [[2.0], [2.0], [2.0]]])
def test_few_and_equal_rows_have_a_posterior(x):
    post = evidence.partition_posterior(process(x))
    assert post.cluster_probability(range(len(x))) > 0.3


def test_rows_far_out_keep_their_digits():
    x = np.append(np.random.default_rng(0).normal(size=400), 1e3)[:, None]
    model = process(standardised(x))
    low, high = model.parameter_ranges["pseudo_count"]
    assert 1e-3 < low < high
    found = best_of_row_sets(model.with_parameters(pseudo_count=low), model.parameter_ranges)
    assert low <= found.likelihood.pseudo_count <= high


def test_a_model_that_is_none_of_some_rows_says_what_to_do():
    class Stubborn(CorrelationClusters):
        parameter_ranges = {"beta": (0.1, 10.0)}  # noqa: RUF012
        free_parameters = {"beta": 1.0}  # noqa: RUF012

    with pytest.raises(TypeError, match="write `of_rows`"):
        evidence.partition_posterior(Stubborn(np.ones((4, 4))), averaged_leaves=0)
