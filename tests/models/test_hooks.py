"""What the passes and searches ask of a model: a person's own may answer in any of these ways."""

from __future__ import annotations

import numpy as np
import pytest
from cases import Tilted
from random_hierarchies import random_merges

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, PartitionPosterior, PartitionTrellis, SparseTrellis
from palmette.models import (
    ClusterFunction,
    Correlation,
    CorrelationClusters,
    Dasgupta,
    HierarchyModel,
    PartitionModel,
    SplitFunction,
    SumOfSquares,
    Uniform,
    UniformPartitions,
)
from palmette.models.base import Model, require_model
from palmette.models.outlook import triple_outlook


def weights(n, seed=0):
    w = np.random.default_rng(seed).normal(size=(n, n))
    return w + w.T


def unlike(left, right):
    """Any numbers that the order of the parts matters for: the lowest leaf must be in `left`."""
    return np.sin(1.0 * left) * np.cos(2.0 * right) - 0.1 * np.bitwise_count(right)


class Plain(HierarchyModel):
    """A model of hierarchies that has nothing but log ψ of listed splits."""

    def log_potentials(self, left, right):
        return unlike(np.asarray(left), np.asarray(right))


class Summed(PartitionModel):
    """A model of partitions that has nothing but log ψ of listed clusters."""

    def log_potentials(self, offsets, members):
        parts = np.split(members, offsets[1:-1])
        return np.array([np.sin(np.sum(part + 1.0)) - 0.2 * len(part) for part in parts])


def summed(masks):
    return [np.sin(sum(i + 1.0 for i in range(8) if m >> i & 1)) - 0.2 * int(m).bit_count() for m in masks.tolist()]


def hierarchy(n, seed):
    return Hierarchy.from_merges(random_merges(n, np.random.default_rng(seed)))


ANSWERS = {
    "log potential": lambda model: model.log_potential(hierarchy(7, 3)),
    "full": lambda model: HierarchyPosterior(model).log_partition,
    "sparse": lambda model: (
        HierarchyPosterior(
            model, trellis=SparseTrellis.from_hierarchies([hierarchy(7, seed) for seed in range(4)], closed=True)
        ).log_partition
    ),
    "greedy": pal.search.greedy,
    "beam": lambda model: pal.search.beam(model, 5),
    "a_star": pal.search.a_star,
    "refine": lambda model: pal.search.refine(model, hierarchy(7, 1), rounds=1, seconds=None, rng=0),
    "grow": lambda model: (
        pal.search.grow(model, SparseTrellis.from_hierarchies([hierarchy(7, 1)]), min_share=0.05).n_clusters
    ),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_model_that_lists_log_potentials_of_splits_works_everywhere(what):
    assert ANSWERS[what](Plain(7)) == ANSWERS[what](SplitFunction(7, unlike))


def test_a_model_that_lists_log_potentials_of_clusters_works_everywhere():
    own, function = Summed(8), ClusterFunction(8, summed)
    assert PartitionPosterior(own).log_partition == pytest.approx(PartitionPosterior(function).log_partition, rel=1e-12)
    trellis = PartitionTrellis.from_hierarchy(hierarchy(8, 2))
    np.testing.assert_allclose(own.cluster_log_potentials(trellis), function.cluster_log_potentials(trellis))
    assert pal.search.greedy(own).partition == pal.search.greedy(function).partition


@pytest.mark.parametrize("n", [5, 63, 64, 130])
def test_log_potentials_of_splits_by_masks_add_up_to_that_of_a_hierarchy(n):
    h = hierarchy(n, 7)
    model = Tilted(n, theta=[0.7, 0.0], additive=weights(n)[:, :1], pairwise=[weights(n)])
    masks = [sum(1 << leaf for leaf in cluster) for cluster in h.clusters()]
    left, right = ([masks[child] for child in side] for side in h.children.T)
    assert model.log_potentials(left, right).sum() == pytest.approx(model.log_potential(h), rel=1e-9)


def test_a_model_says_what_it_is():
    assert (Uniform(2).clusterings, UniformPartitions(2).clusterings) == ("hierarchies", "partitions")
    function = SplitFunction(2, unlike)
    assert (Uniform(2).is_compiled, UniformPartitions(2).is_compiled, function.is_compiled) == (True, True, False)
    assert (Uniform(2).is_separable, Tilted(2).is_separable, function.is_separable) == (True, False, False)
    trees = pal.posterior.from_trees([hierarchy(4, 0)]).model
    assert Uniform(2).knows_all
    assert not trees.knows_all


def test_what_is_no_model_or_one_of_other_clusterings_is_refused():
    require_model(Uniform(2), "hierarchies", all_known=True)
    require_model(UniformPartitions(2))
    with pytest.raises(TypeError, match=r"^expected a model of hierarchies, such as palmette.models.Dasgupta, not 3$"):
        require_model(3, "hierarchies")
    with pytest.raises(TypeError, match=r"^expected a cake, not Model\(n_leaves=3\)$"):
        require_model(Model(3), wanted="a cake")
    with pytest.raises(TypeError, match=r"CorrelationClusters, not Uniform.*; hand that to HierarchyPosterior$"):
        require_model(Uniform(3), "partitions")
    with pytest.raises(TypeError, match=r"Dasgupta, not UniformPartitions.*; hand that to PartitionPosterior$"):
        require_model(UniformPartitions(3), "hierarchies")
    with pytest.raises(TypeError, match=r"expected a model of hierarchies.*, not ConditionalClusters\(n_leaves=4\)$"):
        require_model(pal.posterior.from_trees([hierarchy(4, 0)]).model, "hierarchies", all_known=True)


class Renamed(Dasgupta):
    """The same log ψ."""


class Own(pal.models.SplitModel):
    """Dasgupta's cost once more, as a person would write it, with the outlook of the built-in one."""

    n_features = 2
    beam_outlook = staticmethod(triple_outlook)
    never_gains = True

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = size
        out[1] = pairs[0]

    @staticmethod
    def score(theta, parent, left, right):
        return -theta[0] * parent[0] * (parent[1] - left[1] - right[1])


class Changed(Own):
    @staticmethod
    def score(theta, parent, left, right):
        return theta[0] * (parent[1] - left[1] - right[1])


def test_what_is_known_of_log_psi_goes_with_it():
    w = np.abs(weights(6))
    assert (Renamed.beam_outlook, Renamed(w).never_gains) == (triple_outlook, True)
    assert (Own.beam_outlook, Own(6, theta=[1.0], pairwise=[w]).never_gains) == (triple_outlook, True)
    assert (Changed.beam_outlook, Changed(6, theta=[1.0], pairwise=[w]).never_gains) == (None, False)
    for model in (Correlation(w), SumOfSquares(w)):
        assert model.beam_outlook is not None
        assert model.beam_score is not None
    assert CorrelationClusters(w).log_evidence_offset is None


def test_an_outlook_of_ones_own_steers_the_beam():
    w = np.abs(weights(12, seed=4))
    own = Own(12, theta=[1.0], pairwise=[w])
    assert pal.search.beam(own, 4).hierarchy == pal.search.beam(Dasgupta(w), 4).hierarchy

    def cost(left, right):
        one, two = (masks[:, None] >> np.arange(12) & 1 for masks in (left, right))
        return -(one.sum(axis=1) + two.sum(axis=1)) * ((one @ w) * two).sum(axis=1)

    without = SplitFunction(12, cost)
    assert without.log_potential(hierarchy(12, 0)) == pytest.approx(Dasgupta(w).log_potential(hierarchy(12, 0)))
    assert pal.search.beam(without, 4).hierarchy != pal.search.beam(own, 4).hierarchy


def test_other_parameters_leave_the_data_and_the_model_alone():
    model = Correlation(weights(5), beta=2.0)
    other = model.with_theta([0.5])
    assert (model.beta, other.beta) == (2.0, 0.5)
    assert other.pairwise is model.pairwise
    assert not other.theta.flags.writeable
    assert other.log_potential(hierarchy(5, 1)) == Correlation(weights(5), beta=0.5).log_potential(hierarchy(5, 1))


@pytest.mark.parametrize("theta", [[], [1.0, 2.0], [np.nan], 1.0])
def test_parameters_that_a_model_does_not_have_are_refused(theta):
    with pytest.raises(ValueError, match=r"Correlation takes finite numbers of shape \(1,\)"):
        Correlation(weights(5)).with_theta(theta)
