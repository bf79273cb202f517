"""Every verb of a mixture against the weighted mean of enumerations."""

from __future__ import annotations

import copy
import functools
import itertools
import math
import pickle

import numpy as np
import partition_cases
import pytest
from cases import cases
from hypothesis import assume, given
from hypothesis import strategies as st
from oracle import members
from scipy.special import logsumexp

from palmette import Hierarchy, HierarchyPosterior, ImpossibleData, PartitionPosterior, SparseTrellis
from palmette.models import Contrasts, HierarchicalRandomGraph, SplitFunction, UniformPartitions
from palmette.posterior import Estimate, HierarchyMixture, PartitionMixture
from palmette.posterior import mixture as module

KINDS = "dkft"
WEIGHTS = st.lists(st.sampled_from([0.0, -1.0, -3.5, 2.0]), min_size=1, max_size=3)


def mixed_oracle(oracles, logs):
    """An oracle whose probabilities are weighted means; its log potentials are their logarithms."""
    found = copy.copy(oracles[0])
    found.p = np.exp(np.array(logs) - logsumexp(logs)) @ [oracle.p for oracle in oracles]
    with np.errstate(divide="ignore"):
        found.log_potentials = np.log(found.p)
    found.log_z = 0.0
    return found


@st.composite
def mixtures(draw, max_leaves=5):
    n, logs = draw(st.integers(1, max_leaves)), draw(WEIGHTS)
    given = [draw(cases(n=n, kinds=KINDS)) for _ in logs]
    assume(all(case.oracle.log_z > -np.inf for case in given))
    tolerance = max(case.tolerance for case in given)
    parts = [HierarchyPosterior(case.model) for case in given]
    return HierarchyMixture(parts, logs), mixed_oracle([case.oracle for case in given], logs), tolerance


@st.composite
def partition_mixtures(draw, max_leaves=4):
    n, logs = draw(st.integers(1, max_leaves)), draw(WEIGHTS)
    given = [draw(partition_cases.partition_cases(n=n)) for _ in logs]
    assume(all(case.oracle.log_z > -np.inf for case in given))
    tolerance = max(case.tolerance for case in given)
    parts = [PartitionPosterior(case.model) for case in given]
    return PartitionMixture(parts, logs), mixed_oracle([case.oracle for case in given], logs), tolerance


def as_splits(hierarchy):
    mask = lambda cluster: sum(1 << i for i in cluster)  # noqa: E731
    return frozenset((mask(left), mask(right)) for left, right in hierarchy.splits())


def check_ranking(mixture, oracle, log_prob_of, tolerance):
    order = np.sort(oracle.p[oracle.p > 0.0])[::-1]
    best = mixture.best(4)
    assert len(best) >= min(4, len(order))  # some are too improbable for an exponential
    for (x, log_prob), expected in zip(best, order, strict=False):
        assert math.exp(log_prob) == pytest.approx(expected, abs=1e-9 + 10 * tolerance)
        assert mixture.log_prob(x) == pytest.approx(log_prob, abs=1e-9 + 10 * tolerance)
        assert math.exp(log_prob_of(x)) == pytest.approx(math.exp(log_prob), abs=1e-9 + 100 * tolerance)
    assert mixture.map() == best[0][0]
    assert mixture.rank(best[0][0]).kind == "exact"
    assert float(mixture.rank(best[0][0])) == 1.0


@given(found=mixtures())
def test_clusters_and_pairs_are_weighted_means(found):
    mixture, oracle, tolerance = found
    tolerance = 1e-9 + 100 * tolerance
    mu = [0.0] + [oracle.cluster_probability(mask) for mask in range(1, 1 << oracle.n)]
    np.testing.assert_allclose(mixture.cluster_probability_array(), mu, atol=tolerance)
    for i, j in itertools.combinations(range(oracle.n), 2):
        assert mixture.expected_lca_size()[i, j] == pytest.approx(oracle.lca_size(i, j), abs=tolerance)
        pair = 1 << i | 1 << j
        depths = [sum(c & pair == pair for c in clusters) - 1 for clusters in oracle.clusters]
        assert mixture.expected_lca_depth()[i, j] == pytest.approx(oracle.p @ depths, abs=tolerance)
    ways = [sum(c.bit_count() - 1 for c in clusters) for clusters in oracle.clusters]
    of_size = lambda left, right: np.bitwise_count(left | right) - 1.0  # noqa: E731
    assert mixture.expected(of_size) == pytest.approx(oracle.p @ ways, abs=tolerance)
    centroid = mixture.centroid()
    own = frozenset(sum(1 << i for i in cluster) for cluster in centroid.clusters())
    best = max(oracle.expected_correct(clusters) for clusters in oracle.clusters)
    assert oracle.expected_correct(own) == pytest.approx(best, abs=tolerance)
    for cluster, support in zip(centroid.clusters(), centroid.support, strict=True):
        assert support == pytest.approx(mu[sum(1 << i for i in cluster)], abs=tolerance)


@given(found=mixtures(max_leaves=4), data=st.data())
def test_splits_subtrees_and_conditions_are_those_of_the_whole(found, data):
    mixture, oracle, tolerance = found
    tolerance = 1e-8 + 1000 * tolerance
    mask = data.draw(st.sampled_from([m for m in range(1, 1 << oracle.n) if oracle.cluster_probability(m) > 1e-3]))
    rows = mixture.split_probabilities(members(mask))
    for row in rows:
        split = tuple(sum(1 << int(label) for label in side) for side in (row.left, row.right))
        assert row.probability == pytest.approx(oracle.split_probability(split), abs=tolerance)
    assert sum(row.probability for row in rows) == pytest.approx(float(mask & (mask - 1) > 0), abs=tolerance)
    whole = data.draw(st.sampled_from(oracle.hierarchies))
    if whole:
        named = Hierarchy.from_splits([(members(left), members(right)) for left, right in whole], mixture.labels)
        assert mixture.subtree_probability(named) == pytest.approx(oracle.subtree_probability(whole), abs=tolerance)
        assert math.exp(mixture.log_prob(named)) == pytest.approx(oracle.subtree_probability(whole), abs=tolerance)
    given = mixture.condition(require=[members(mask)])
    log_chance = given.log_partition - mixture.log_partition
    assert math.exp(log_chance) == pytest.approx(oracle.cluster_probability(mask), abs=tolerance)
    has = np.array([mask in clusters for clusters in oracle.clusters])
    other = data.draw(st.integers(1, oracle.root))
    both = oracle.p[has & [other in clusters for clusters in oracle.clusters]].sum() / oracle.p[has].sum()
    assert given.cluster_probability(members(other)) == pytest.approx(both, abs=1e3 * tolerance)


@given(found=mixtures())
def test_the_best_are_the_best_of_all(found):
    mixture, oracle, tolerance = found
    check_ranking(mixture, oracle, lambda x: oracle.log_potential(as_splits(x)), tolerance)


@given(found=partition_mixtures())
def test_partitions_are_mixed_likewise(found):
    mixture, oracle, tolerance = found
    check_ranking(
        mixture, oracle, lambda x: oracle.log_potential(partition_cases.as_clusters(x)), max(tolerance, 1e-10)
    )
    tolerance = 1e-9 + 100 * tolerance
    np.testing.assert_allclose(mixture.cluster_probability_array(), oracle.cluster_probabilities(), atol=tolerance)
    np.testing.assert_allclose(mixture.coclustering(), oracle.coclusterings(), atol=tolerance)
    counts = [oracle.n_clusters_probability(k) for k in range(oracle.n + 1)]
    np.testing.assert_allclose(mixture.n_clusters_probabilities(), counts, atol=tolerance)
    for row in mixture.split_probabilities(range(oracle.n)):
        sides = (partition_cases.as_mask(side, mixture.labels) for side in (row.left, row.right))
        assert row.probability == pytest.approx(oracle.split_probability(*sides), abs=tolerance)
    consensus = partition_cases.as_clusters(mixture.consensus())
    assert oracle.binder_gain(consensus) == pytest.approx(oracle.best_binder_gain(), abs=tolerance)
    if counts[1] > 0.0:
        given = mixture.condition(n_clusters=1)
        assert math.exp(given.log_partition - mixture.log_partition) == pytest.approx(counts[1], abs=tolerance)


RNG = np.random.default_rng(3)
POINTS = RNG.normal(size=(6, 2)) + 4.0 * (np.arange(6) % 2)[:, None]
PARTS = [HierarchyPosterior(Contrasts(POINTS, a, b)) for a, b in [(0.2, 0.05), (1.0, 0.5), (5.0, 9.0)]]


@functools.cache
def logs():
    # Not when the file is read, which every process of a run does at the same time.
    return [part.log_evidence for part in PARTS]


@pytest.fixture
def mixture():
    return HierarchyMixture(PARTS, logs(), [{"a": part.model.a} for part in PARTS])


@pytest.fixture
def small():
    """Five leaves, all of whose 105 hierarchies are soon listed."""
    parts = [HierarchyPosterior(Contrasts(POINTS[:5], part.model.a, part.model.b)) for part in PARTS]
    return HierarchyMixture(parts, [part.log_evidence for part in parts])


@pytest.mark.parametrize("on_trellis", [False, True])
def test_draws_come_from_all_parts_and_know_their_probability(mixture, on_trellis):
    if on_trellis:
        mixture = mixture.on(SparseTrellis.from_hierarchies(mixture.sample(30, rng=1)))
    draws = mixture.sample(4000, rng=2)
    for row in mixture.cluster_probabilities(0.05):
        error = 4 * math.sqrt(row.probability * (1 - row.probability) / 4000)
        assert draws.cluster_probability(row.members) == pytest.approx(row.probability, abs=error)
    for draw, log_prob in zip(draws[:50], draws.log_probs, strict=False):
        assert mixture.log_prob(draw) == pytest.approx(log_prob, abs=1e-10)
    again = mixture.sample(50, rng=2)
    assert list(again) == list(draws[:50])
    assert len(mixture.sample(0, rng=1)) == 0


def test_the_entropy_is_that_of_all_hierarchies(small):
    every = np.array([log_prob for _, log_prob in small.best(1000)])
    assert len(every) == 105 == small.count
    found = small.entropy
    assert found.kind == "estimate"
    assert found.standard_error < 0.02
    assert found.value == pytest.approx(-(np.exp(every) * every).sum(), abs=4 * found.standard_error)
    alone = HierarchyMixture(PARTS[:1], [0.0])
    assert alone.entropy.kind == "exact"
    assert alone.entropy.value == pytest.approx(PARTS[0].entropy)


def test_what_cannot_be_proved_is_said(small):
    every = small.best(1000)
    late = every[60][0]
    assert small.rank(late).value == sum(p > every[60][1] + 1e-9 for _, p in every) + 1
    assert small.rank(late, limit=10).kind == "bound"
    exact = small.credible_level(late)
    assert exact.kind == "exact"
    guess = small.credible_level(late, limit=10)
    assert guess.kind == "estimate"
    assert guess.value == pytest.approx(exact.value, abs=4 * guess.standard_error)


def test_a_trellis_whose_leaves_come_in_another_order_is_one_trellis(mixture):
    trellis = SparseTrellis.from_hierarchies(mixture.sample(5, rng=1))
    on = mixture.on(trellis.aligned_to(tuple("351042")))
    assert on.trellis is on.parts[1].trellis
    assert on.log_evidence == pytest.approx(mixture.on(trellis).log_evidence)


def test_what_no_part_allows_comes_after_more_than_any_part_has():
    # One part has (1,2) only, the other (0,2) only; (0,1) comes third.
    def only(inner, left, right):
        return np.where(np.isin(left | right, [inner, 7]), 0.0, -np.inf)

    parts = [HierarchyPosterior(SplitFunction(3, functools.partial(only, inner))) for inner in (6, 5)]
    impossible = Hierarchy.from_nested(((0, 1), 2))
    assert HierarchyMixture(parts, [0.0, 0.0]).rank(impossible).kind == "bound"
    assert HierarchyMixture(parts[:1], [0.0]).rank(impossible) == parts[0].rank(impossible) == Estimate(2, "exact")


def test_parts_are_in_order_and_evidence_adds_up(mixture):
    assert list(mixture.weights) == sorted(mixture.weights, reverse=True)
    assert [values["a"] for values in mixture.parameters] == [part.model.a for part in mixture.parts]
    assert mixture.model is mixture.parts[0].model
    assert mixture.log_evidence == pytest.approx(logsumexp(logs()))
    assert repr(mixture) == "HierarchyMixture(3 posteriors of Contrasts, a = 0.2 to 5)"
    again = pickle.loads(pickle.dumps(mixture))
    assert again.cluster_probability([0, 2]) == mixture.cluster_probability([0, 2])
    mixture.clear()
    assert mixture.cluster_probability([0, 2]) == again.cluster_probability([0, 2])


def test_little_memory_changes_nothing(mixture, monkeypatch):
    expected = mixture.cluster_probability_array()
    monkeypatch.setattr(module, "_TABLES", 1e12)
    frugal = HierarchyMixture(PARTS, logs())
    assert not frugal._keeps
    np.testing.assert_array_equal(frugal.cluster_probability_array(), expected)
    assert frugal.best(3) == mixture.best(3)


def test_links_are_weighted_means():
    w = np.kron(np.eye(2), np.ones((3, 3))) - np.eye(6)
    parts = [HierarchyPosterior(HierarchicalRandomGraph(w, a, 1.0)) for a in (0.5, 2.0)]
    mean = 0.25 * parts[0].link_probabilities() + 0.75 * parts[1].link_probabilities()
    found = HierarchyMixture(parts, np.log([0.25, 0.75])).link_probabilities()
    np.testing.assert_allclose(found, mean, atol=1e-12)


def test_parts_must_fit_together():
    other = HierarchyPosterior(Contrasts(POINTS, labels=list("abcdef")))
    with pytest.raises(ValueError, match="different leaves"):
        HierarchyMixture([PARTS[0], other], [0.0, 0.0])
    with pytest.raises(ValueError, match="different conditions"):
        HierarchyMixture([PARTS[0], PARTS[1].condition(require=[[0, 1]])], [0.0, 0.0])
    with pytest.raises(TypeError, match="at least one HierarchyPosterior"):
        HierarchyMixture([PartitionPosterior(UniformPartitions(6))], [0.0])
    with pytest.raises(ValueError, match="give one of each"):
        HierarchyMixture(PARTS, [0.0])
    for bad in ([0.0, math.nan, 0.0], [-math.inf] * 3):
        with pytest.raises(ValueError, match="log weights are"):
            HierarchyMixture(PARTS, bad)
    with pytest.raises(TypeError, match="does not say what a pair"):
        HierarchyMixture(PARTS, logs()).link_probabilities()
    with pytest.raises(TypeError, match="expected another HierarchyPosterior"):
        PARTS[0].kl(HierarchyMixture(PARTS, logs()))


def test_what_cannot_be_has_no_mixture(mixture):
    with pytest.raises(ImpossibleData):
        mixture.condition(require=[[0, 1], [1, 2]])
    some = HierarchyMixture(PARTS, [logs()[0], -math.inf, logs()[2]])
    assert len(some.parts) == 2
    with pytest.raises(ValueError, match="cannot occur"):
        mixture.condition(forbid=[[0, 1]]).split_probabilities([0, 1])
