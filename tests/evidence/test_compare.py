"""With structure and without: the same data, the same scale, and words."""

from __future__ import annotations

import functools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import integrate, stats

from palmette import HierarchyPosterior, PartitionPosterior, SparseTrellis
from palmette.evidence import Comparison, average, compare, maximise
from palmette.evidence.family import Family
from palmette.evidence.maximise import best_without_structure
from palmette.likelihoods import NormalGamma
from palmette.models import (
    BetaSplitting,
    Contrasts,
    Dasgupta,
    DirichletProcess,
    HierarchicalRandomGraph,
    NormalPairs,
    PoissonPairs,
    with_prior,
)
from palmette.posterior import HierarchyMixture
from palmette.sampling import sample_hierarchies, sample_partitions
from palmette.sampling.annealed import anneal

RNG = np.random.default_rng(0)
GROUPS = np.concatenate([RNG.normal(c, 0.2, (3, 2)) for c in ([0, 0], [5, 0], [2.5, 6])])
NOISE = RNG.normal(size=(8, 3))
MINUS = "\N{MINUS SIGN}"


def tailed(x, a, v):
    return Contrasts(x, a, a * v)


@given(seed=st.integers(0, 999), a=st.sampled_from([0.3, 1.0, 8.0]), b=st.sampled_from([0.2, 1.0, 5.0]))
def test_with_one_split_there_is_nothing_to_find(seed, a, b):
    rng = np.random.default_rng(seed)
    values = np.array([[0.0, 1.0], [1.0, 0.0]])
    for model in (
        Contrasts(rng.normal(size=(2, 3)), a, b),
        HierarchicalRandomGraph(values * rng.integers(2), a, b),
        PoissonPairs(values * rng.integers(9), a, b),
        NormalPairs(values * rng.normal(), 0.3, 0.7, a, b),
        with_prior(Contrasts(rng.normal(size=(2, 3)), a, b), BetaSplitting(1.0)),
        Contrasts([[1.0, 2.0]], a, b),
    ):
        found = compare(HierarchyPosterior(model))
        assert found.log_bayes_factor == pytest.approx(0.0, abs=1e-10)
        assert found.strength == "none"


def log_integral(density, high):
    return math.log(integrate.quad(density, 0.0, high, epsabs=0.0, limit=200)[0])


def test_without_structure_one_law_is_integrated_over():
    a, b = 1.5, 0.8
    x = NOISE[:4, :2]
    squares = np.square(x - x.mean(axis=0)).sum()

    def gaussian(v):
        return (2 * math.pi * v) ** -3 * math.exp(-squares / (2 * v)) * stats.invgamma.pdf(v, a, scale=b)

    assert Contrasts(x, a, b).log_evidence_without_structure == pytest.approx(log_integral(gaussian, 99.0), abs=1e-4)
    w = np.triu(RNG.integers(2, size=(5, 5)), 1).astype(float)
    edges = w.sum()

    def edge(p):
        return p**edges * (1 - p) ** (10 - edges) * stats.beta.pdf(p, a, b)

    graph = HierarchicalRandomGraph(w + w.T, a, b)
    assert graph.log_evidence_without_structure == pytest.approx(log_integral(edge, 1.0), abs=1e-4)
    counts = np.triu(RNG.integers(4, size=(5, 5)), 1).astype(float)
    listed = counts[np.triu_indices(5, 1)]

    def rate(r):
        return math.exp(stats.poisson.logpmf(listed, r).sum()) * stats.gamma.pdf(r, a, scale=1 / b)

    poisson = PoissonPairs(counts + counts.T, a, b)
    assert poisson.log_evidence_without_structure == pytest.approx(log_integral(rate, 30.0), abs=1e-6)
    values = np.triu(RNG.normal(size=(5, 5)), 1)
    expected = NormalGamma(0.3, 0.7, a, b).log_marginal_likelihood(values[np.triu_indices(5, 1)][:, None])
    found = NormalPairs(values + values.T, 0.3, 0.7, a, b).log_evidence_without_structure
    assert found == pytest.approx(expected, abs=1e-9)


def test_missing_pairs_are_not_there():
    w = np.array([[0, 1, np.nan], [1, 0, 0], [np.nan, 0, 0]])
    assert HierarchicalRandomGraph(w).log_evidence_without_structure == pytest.approx(math.log(1 / 6))  # ∫ p (1 − p)


def test_one_cluster_is_all_points_together():
    likelihood = NormalGamma(pseudo_count=0.1)
    found = compare(PartitionPosterior(DirichletProcess(GROUPS, 2.0, likelihood)))
    assert found.log_evidence_without_structure == pytest.approx(likelihood.log_marginal_likelihood(GROUPS))
    assert str(found).startswith("These data very strongly prefer several clusters: log Bayes factor +")


def test_the_families_of_florence_have_no_hierarchy():
    import networkx

    found = compare(HierarchyPosterior(HierarchicalRandomGraph(networkx.florentine_families_graph())))
    assert found.log_evidence_without_structure == pytest.approx(-53.47, abs=0.01)
    assert str(found) == f"These data prefer no hierarchy: log Bayes factor {MINUS}2.39."
    assert found.prefers_structure is False
    assert found.probability == pytest.approx(1 / (1 + math.exp(2.394)), abs=1e-3)


@pytest.mark.filterwarnings("ignore:the evidence still grows")
@pytest.mark.parametrize("x", [GROUPS, NOISE], ids=["groups", "noise"])
def test_averages_and_maxima_treat_both_alike(x):
    family, start = functools.partial(tailed, x), {"a": 0.5, "v": 0.2}
    found = compare(average(family, **start))
    assert (found.log_bayes_factor > 1.0) is (x is GROUPS)
    grid = [np.exp(math.log(value) + math.log(100) * (np.arange(60) - 29.5) / 30) for value in start.values()]
    logs = np.array([family(a, v).log_evidence_without_structure for a in grid[0] for v in grid[1]])
    mean = math.log(np.exp(logs - logs.max()).mean()) + logs.max()
    assert found.log_evidence_without_structure == pytest.approx(mean, abs=0.1)
    at_best = compare(maximise(family, **start))
    assert at_best.log_evidence_without_structure == pytest.approx(logs.max(), abs=0.1)
    assert at_best.log_bayes_factor > -0.05  # as a → ∞ the model is its own opponent


@pytest.mark.parametrize(
    ("factor", "strength", "words"),
    [
        (0.9, "none", "do not tell a hierarchy from no hierarchy: log Bayes factor +0.90."),
        (-0.9, "none", f"do not tell a hierarchy from no hierarchy: log Bayes factor {MINUS}0.90."),
        (1.0, "positive", "prefer a hierarchy: log Bayes factor +1.00."),
        (-3.2, "strong", f"strongly prefer no hierarchy: log Bayes factor {MINUS}3.20."),
        (50.0, "very strong", "very strongly prefer a hierarchy: log Bayes factor +50.00."),
    ],
)
def test_words_follow_the_thresholds(factor, strength, words):
    found = Comparison(factor - 7.0, -7.0)
    assert found.strength == strength
    assert str(found) == f"These data {words}"


def test_what_is_left_out_makes_it_a_bound():
    post = HierarchyPosterior(Contrasts(GROUPS))
    on = compare(post.on(SparseTrellis.from_hierarchies([post.map()])))
    assert on.is_bound
    assert "factor at least " in str(on)
    assert compare(post.condition(require=[[0, 1, 2]])).is_bound
    partitions = PartitionPosterior(DirichletProcess(GROUPS[:6], 1.0, NormalGamma(pseudo_count=0.1)))
    assert compare(partitions.condition(n_clusters=2)).is_bound
    assert not compare(partitions).is_bound


@pytest.mark.filterwarnings("ignore:the evidence still grows")
def test_the_evidence_of_an_optimum_on_a_sparse_trellis_is_a_bound():
    model = Contrasts(GROUPS)
    few = SparseTrellis.from_hierarchies([HierarchyPosterior(model).map()])
    for trellis in (few, None):
        best = maximise(model.with_parameters, a=model.a, b=model.b, trellis=trellis, most=4)
        assert best.is_exact is (trellis is None)
        assert compare(best).is_bound is (trellis is not None)
        assert ("factor at least " in str(compare(best))) is (trellis is not None)


def test_what_was_tuned_is_compared_with_the_opponent_at_its_best_and_what_was_averaged_is_not():
    post = HierarchyPosterior(Contrasts(GROUPS[:6]))
    assert compare(post, at_best=None) == compare(post, at_best=True) != compare(post)
    links = np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    graph = HierarchyPosterior(HierarchicalRandomGraph(links))  # has no ranges
    assert compare(graph, at_best=None) == compare(graph)
    process = PartitionPosterior(DirichletProcess(GROUPS[:6], 1.0, NormalGamma.expecting(0.25)))
    assert compare(process, at_best=None) == compare(process, at_best=True) != compare(process)
    mixture = HierarchyMixture([post], [post.log_evidence], without_structure=post.log_evidence_without_structure)
    assert compare(mixture, at_best=None) == compare(mixture) == compare(post)


def test_a_family_that_says_so_here_but_not_there_is_named():
    def family(a):
        model = Contrasts(GROUPS[:4], a)
        return model if a < 2.0 else with_prior(Dasgupta(np.ones((4, 4))), "uniform")

    with pytest.raises(TypeError, match=r"but not at \{'a': "):
        best_without_structure(Family(family, {"a": 1.0}, None, None), 0.02)


def test_models_that_do_not_say_are_named():
    with pytest.raises(TypeError, match="Dasgupta does not say how probable"):
        compare(HierarchyPosterior(Dasgupta(np.ones((3, 3)))))
    mixture = HierarchyMixture([HierarchyPosterior(Contrasts(GROUPS))], [0.0])
    with pytest.raises(TypeError, match="nobody said"):
        compare(mixture)
    with pytest.raises(TypeError, match="expected a posterior"):
        compare(3.0)

    class Other(Contrasts):
        """Another score: what was known of Contrasts is not known of it."""

        @staticmethod
        def score(theta, parent, left, right):
            return -1.0

    assert Other(GROUPS).log_evidence_without_structure is None


@pytest.mark.slow
def test_a_sampled_posterior_is_compared_with_an_error():
    model = Contrasts(np.random.default_rng(0).normal(size=(9, 2)))
    sampled = sample_hierarchies(model, seconds=None, sweeps=20)
    found, exact = compare(sampled), compare(HierarchyPosterior(model))
    assert 0.0 < found.standard_error < 1.0
    assert abs(found.log_bayes_factor - exact.log_bayes_factor) < 5 * found.standard_error
    assert "±" in str(found)


def test_sampled_partitions_are_compared_with_an_error(monkeypatch):
    monkeypatch.setattr("palmette.sampling.sampled.anneal", functools.partial(anneal, steps=100))
    model = DirichletProcess(GROUPS[:6], 1.0, NormalGamma(pseudo_count=0.1))
    sampled, exact = sample_partitions(model, seconds=None, sweeps=20), PartitionPosterior(model)
    assert sampled.log_evidence_without_structure == exact.log_evidence_without_structure
    found, known = compare(sampled), compare(exact)
    assert found.clusterings == "partitions"
    assert not found.is_bound
    assert 0.0 < found.standard_error < 1.0
    assert abs(found.log_bayes_factor - known.log_bayes_factor) < 5 * found.standard_error


def test_sampled_hierarchies_have_an_evidence(monkeypatch):
    monkeypatch.setattr("palmette.sampling.sampled.anneal", functools.partial(anneal, steps=100))
    model = Contrasts(GROUPS[:6])
    sampled, exact = sample_hierarchies(model, seconds=None, sweeps=20), HierarchyPosterior(model)
    assert abs(float(sampled.log_evidence) - exact.log_evidence) < 5 * sampled.log_evidence.standard_error
    assert compare(sampled).log_evidence == float(sampled.log_evidence)
    assert compare(sampled).log_evidence_without_structure == exact.log_evidence_without_structure
    cost = sample_hierarchies(Dasgupta(np.ones((4, 4))), seconds=None, sweeps=20)
    with pytest.raises(TypeError, match="Those with an evidence are VarianceShares"):
        cost.log_evidence  # noqa: B018
    with pytest.raises(TypeError, match="those that do are VarianceShares"):
        compare(cost)
