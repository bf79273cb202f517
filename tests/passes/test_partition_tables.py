"""The table of clusters that passes of partitions have made: by masks, as formulas say, and no number that is none."""

from __future__ import annotations

import numpy as np
import pytest
from full_partition_cases import pairs_only, passes_of, random_table
from partition_cases import affinities, table_model
from partition_oracle import conditioned_table, members, pair_sum

import palmette as pal
from palmette import Partition, PartitionPosterior
from palmette.models import ClusterFunction, ClusterModel, CorrelationClusters, UniformPartitions, cluster_model
from palmette.models.cluster_model import PartitionModel


def test_clusters_are_named_by_their_masks():
    passes = passes_of(UniformPartitions(5))
    assert passes.find([0, 3]) == 0b1001
    assert passes.members(0b10110) == (1, 2, 4)
    assert passes.shared([0, 3]).tolist() == [(mask & 0b1001).bit_count() for mask in range(32)]
    assert passes.sizes.tolist() == [mask.bit_count() for mask in range(32)]


@pytest.mark.parametrize("n", [1, 4, 10, 12])
def test_a_compiled_model_is_tabulated_as_its_formula_says(n):
    w = affinities(n)
    table = passes_of(CorrelationClusters(w, 0.7)).log_psi
    assert table[0] == -np.inf
    expected = [0.7 * pair_sum(w, members(mask)) for mask in range(1, 1 << n)]
    np.testing.assert_allclose(table[1:], expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("at_a_time", [2, 8, 64])
def test_a_function_is_asked_about_every_cluster_once_some_at_a_time(at_a_time, monkeypatch):
    monkeypatch.setattr(cluster_model, "_CALL", at_a_time)
    asked = []

    def log_psi(clusters):
        assert clusters.dtype == np.int64
        assert len(clusters) <= at_a_time
        asked.extend(clusters.tolist())
        return -0.5 * clusters

    n = 5
    table = passes_of(ClusterFunction(n, log_psi)).log_psi
    assert asked == list(range(1, 32))
    assert table[1:].tolist() == [-0.5 * mask for mask in range(1, 32)]


@pytest.mark.parametrize(
    "given",
    [
        {"require": [0b11, 0b10000]},
        {"forbid": [0b1, 0b1111]},
        {"together": [0b101, 0b110]},
        {"apart": [0b11100]},
        {"require": [0b1], "forbid": [0b10], "together": [0b1100], "apart": [0b10010]},
    ],
    ids=str,
)
def test_clusters_that_break_a_condition_are_impossible(given):
    table = random_table(5, seed=6, forbidden=0.2)
    leaves = {kind: [members(mask) for mask in masks] for kind, masks in given.items()}
    found = passes_of(table_model(table), given=leaves).log_psi
    np.testing.assert_array_equal(found, conditioned_table(5, table, **given))


def test_a_model_that_scores_no_cluster_cannot_be_tabulated():
    with pytest.raises(TypeError, match="PartitionModel does not say how to score a cluster"):
        _ = PartitionPosterior(PartitionModel(3)).log_partition


class Broken(ClusterModel):
    """log ψ = θ₀ for clusters of two, else 0."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = theta[0] if size == 2 else 0.0

    @staticmethod
    def score(theta, cluster):
        return np.nan if cluster[0] > 5.0 else cluster[0] / 0.0 if cluster[0] > 0.0 else 0.0

    def __init__(self, n_leaves, value):
        super().__init__(n_leaves, theta=[value])


@pytest.mark.parametrize("value", [1.0, 10.0], ids=["inf", "nan"])
def test_a_users_model_that_returns_nan_or_inf_is_named(value):
    model = Broken(4, value)
    message = "Broken.score returned NaN or inf; a log potential is finite or -inf"
    for verb in (
        lambda: PartitionPosterior(model).log_partition,
        PartitionPosterior(model).map,
        lambda: PartitionPosterior(model).condition(n_clusters=2).count,
        lambda: model.log_potential(Partition([0, 0, 1, 1])),
        lambda: pal.search.best_cut(model, pal.Hierarchy.from_nested(((0, 1), (2, 3)))),
    ):
        with pytest.raises(ValueError, match=message):
            verb()
    assert model.log_potential(Partition([0, 0, 0, 1])) == 0.0
    assert PartitionPosterior(Broken(4, 0.0)).count == 15


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda clusters: 0.0, r"returned an array of shape \(\) for 7 clusters; expected \(7,\)"),
        (lambda clusters: np.zeros((len(clusters), 1)), r"returned an array of shape \(7, 1\) for 7 clusters"),
        (lambda clusters: [0.0] * (len(clusters) + 1), r"returned an array of shape \(8,\) for 7 clusters"),
        (
            lambda clusters: np.where(clusters == 6, np.nan, 0.0),
            "returned nan for the cluster .*1.*2.*; log potentials are finite or -inf",
        ),
        (
            lambda clusters: np.where(clusters == 5, np.inf, 0.0),
            "returned inf for the cluster .*0.*2.*; log potentials are finite or -inf",
        ),
    ],
)
def test_a_function_that_returns_what_is_no_log_potential_is_told_so(function, message):
    post = PartitionPosterior(ClusterFunction(3, function))
    for verb in (post.map, lambda: post.log_partition):
        with pytest.raises(ValueError, match=f"the cluster function {message}"):
            verb()


def test_a_function_sees_at_most_63_leaves():
    with pytest.raises(ValueError, match="64-bit masks: at most 63 leaves, not 64; write a ClusterModel"):
        ClusterFunction(64, pairs_only)
    model = ClusterFunction(63, lambda clusters: np.where(clusters > 2**62, -1.0, 2.0))
    assert model.log_potential(Partition([0] * 62 + [1])) == 4.0
    assert model.log_potential(Partition([0] * 61 + [1, 1])) == 1.0
    with pytest.raises(TypeError, match="expected a function of an array of masks, not 3"):
        ClusterFunction(3, 3)
