"""Pair models: enumeration, the integrals behind them, densities, predictions, and what people hand over."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.sparse
from cases import cases
from hypothesis import given
from oracle import across, members
from scipy.integrate import quad

from palmette import HierarchyPosterior, SparseTrellis
from palmette.likelihoods import BetaBernoulli
from palmette.models import Contrasts, HierarchicalRandomGraph, NormalPairs, PoissonPairs

RNG = np.random.default_rng(3)


def symmetric(upper, n):
    w = np.zeros((n, n))
    w[np.triu_indices(n, 1)] = upper
    return w + w.T


GRAPH = symmetric(RNG.random(21) < 0.4, 7)


@given(case=cases(kinds="pw"))
def test_counts_and_similarities_match_enumeration(case):
    post, oracle = HierarchyPosterior(case.model), case.oracle
    assert post.log_partition == pytest.approx(oracle.log_z, rel=1e-11, abs=case.tolerance)
    assert post.entropy == pytest.approx(oracle.entropy, abs=1e-8)
    for mask in range(1, 1 << oracle.n):
        assert post.cluster_probability(members(mask)) == pytest.approx(oracle.cluster_probability(mask), abs=1e-9)
    assert post.log_potential(post.map()) == pytest.approx(oracle.log_potentials.max(), rel=1e-11, abs=case.tolerance)


def expected_pairs(case):
    """The prediction at the split that parts two leaves, averaged over all hierarchies one by one."""
    model, oracle = case.model, case.oracle
    n, out = oracle.n, np.zeros((oracle.n, oracle.n))
    known = model.pairwise[-1] if len(model.pairwise) > (2 if isinstance(model, NormalPairs) else 1) else 1.0
    w = np.where(np.broadcast_to(known, (n, n)) > 0, model.pairwise[0], np.nan)
    for p, hierarchy in zip(oracle.p, oracle.hierarchies, strict=True):
        for left, right in ((members(one), members(two)) for one, two in hierarchy):
            values = across(w, left, right)
            if isinstance(model, HierarchicalRandomGraph):
                v = (values.sum() + model.a) / (len(values) + model.a + model.b)
            elif isinstance(model, PoissonPairs):
                v = (values.sum() + model.shape) / (len(values) + model.rate)
            else:  # the matrix holds distances from the mean
                v = model.mean + values.sum() / (len(values) + model.pseudo_count)
            for i, j in itertools.product(left, right):
                out[i, j] += p * v
                out[j, i] += p * v
    return out


@given(case=cases(kinds="hpw"))
def test_links_match_enumeration_on_full_and_sparse_trellises(case):
    post, expected = HierarchyPosterior(case.model), expected_pairs(case)
    np.testing.assert_allclose(post.link_probabilities(), expected, atol=1e-9)
    every = SparseTrellis.from_clusters([members(mask) for mask in range(1, 1 << case.oracle.n)], case.model.labels)
    np.testing.assert_allclose(post.on(every).link_probabilities(), expected, atol=1e-9)


def test_links_are_ratios_of_evidences():
    """P(edge | data) = p(data and an edge there) / p(data), on more leaves than one compiled call does."""
    w = symmetric(RNG.random(78) < 0.3, 13)
    w[2, 5] = w[5, 2] = w[0, 1] = w[1, 0] = np.nan
    post = HierarchyPosterior(HierarchicalRandomGraph(w, 0.7, 1.3))
    w[2, 5] = w[5, 2] = 1.0
    more = HierarchyPosterior(HierarchicalRandomGraph(w, 0.7, 1.3))
    expected = math.exp(more.log_evidence - post.log_evidence)
    assert post.link_probabilities()[2, 5] == pytest.approx(expected, rel=1e-10)
    given = [[0, 1, 2], [3, 4]]
    expected = more.condition(require=given).log_evidence - post.condition(require=given).log_evidence
    assert post.condition(require=given).link_probabilities()[2, 5] == pytest.approx(math.exp(expected), rel=1e-10)


def test_only_models_of_pairs_speak_of_links():
    with pytest.raises(TypeError, match="HierarchicalRandomGraph, PoissonPairs and NormalPairs do"):
        HierarchyPosterior(Contrasts([[0.0], [1.0]])).link_probabilities()


# Parameters are integrated out, and probabilities add up to one.


def test_the_probability_of_edges_is_integrated_out():
    a, b = 0.6, 2.5
    star = symmetric([1, 1, 0], 3)  # leaf 0 against the others: two edges of two; of these, no edge
    post = HierarchyPosterior(HierarchicalRandomGraph(star, a, b))

    def chance(edges, n):
        beta = math.gamma(a) * math.gamma(b) / math.gamma(a + b)
        return quad(lambda p: p ** (edges + a - 1) * (1 - p) ** (n - edges + b - 1) / beta, 0, 1)[0]

    expected = (chance(2, 2) * chance(0, 1) + 2 * chance(1, 2) * chance(1, 1)) / 3
    assert post.log_evidence == pytest.approx(math.log(expected), rel=1e-7)


def test_the_rate_of_counts_is_integrated_out():
    shape, rate = 1.7, 0.4
    x = symmetric([3, 0, 2], 3)
    post = HierarchyPosterior(PoissonPairs(x, shape, rate))

    def chance(*counts):
        def joint(r):
            prior = shape * math.log(rate) - math.lgamma(shape) + (shape - 1) * math.log(r) - rate * r
            return math.exp(prior + sum(c * math.log(r) - r - math.lgamma(c + 1) for c in counts))

        return quad(joint, 0, 60, limit=200)[0]

    expected = (chance(3, 0) * chance(2) + chance(3, 2) * chance(0) + chance(0, 2) * chance(3)) / 3
    assert post.log_evidence == pytest.approx(math.log(expected), rel=1e-7)


def test_mean_and_variance_of_similarities_are_integrated_out():
    mean, k, shape, rate = 0.3, 0.8, 2.0, 1.5
    w = symmetric([0.1, 1.2, -0.4], 3)
    mu, log_precision = np.linspace(-12, 12, 2001)[:, None], np.linspace(-9, 4, 801)[None]
    step = (mu[1, 0] - mu[0, 0]) * (log_precision[0, 1] - log_precision[0, 0])
    precision = np.exp(log_precision)

    def log_normal(x, centre, weight):
        return 0.5 * np.log(weight * precision / (2 * np.pi)) - 0.5 * weight * precision * (x - centre) ** 2

    log_prior = log_normal(mu, mean, k) + shape * math.log(rate) - math.lgamma(shape)
    log_prior = log_prior + shape * log_precision - rate * precision

    def chance(*values):
        return step * np.exp(log_prior + sum(log_normal(x, mu, 1.0) for x in values)).sum()

    x, y, z = 0.1, 1.2, -0.4
    expected = (chance(x, y) * chance(z) + chance(x, z) * chance(y) + chance(y, z) * chance(x)) / 3
    post = HierarchyPosterior(NormalPairs(w, mean, k, shape, rate))
    assert post.log_evidence == pytest.approx(math.log(expected), rel=1e-5)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_the_probabilities_of_all_graphs_add_up_to_one(n):
    graphs = itertools.product((0.0, 1.0), repeat=n * (n - 1) // 2)
    evidences = [HierarchyPosterior(HierarchicalRandomGraph(symmetric(g, n), 0.4, 1.7)).log_evidence for g in graphs]
    assert np.exp(evidences).sum() == pytest.approx(1.0, rel=1e-12)


def test_the_probabilities_of_all_counts_add_up_to_one():
    counts = itertools.product(range(9), repeat=3)  # beyond, there is next to nothing
    evidences = [HierarchyPosterior(PoissonPairs(symmetric(c, 3), 1.0, 12.0)).log_evidence for c in counts]
    assert np.exp(evidences).sum() == pytest.approx(1.0, abs=1e-8)


def test_the_density_of_a_similarity_integrates_to_one():
    density = lambda x: math.exp(HierarchyPosterior(NormalPairs([[0, x], [x, 0]], 0.5, 2.0, 3.0, 1.0)).log_evidence)  # noqa: E731
    assert quad(density, -60, 60, points=[0.5], limit=60)[0] == pytest.approx(1.0, abs=1e-5)


# What they say.


def test_the_florentine_families_have_no_hierarchy():
    """Fifteen families and twenty marriages: one probability for all pairs explains them better."""
    import networkx

    graph = networkx.florentine_families_graph()
    post = HierarchyPosterior(HierarchicalRandomGraph(graph))
    edges = networkx.to_numpy_array(graph)[np.triu_indices(15, 1)]
    assert post.log_evidence == pytest.approx(-55.867, abs=1e-3)
    assert BetaBernoulli().log_marginal_likelihood(edges[:, None]) == pytest.approx(-53.474, abs=1e-3)
    assert post.labels == tuple(graph.nodes)


def test_what_is_not_known_is_not_there():
    nothing = HierarchyPosterior(HierarchicalRandomGraph(np.full((5, 5), np.nan), 2.0, 3.0))
    assert nothing.log_evidence == pytest.approx(0.0, abs=1e-12)
    np.testing.assert_allclose(nothing.link_probabilities(), 0.4 * (1 - np.eye(5)), atol=1e-12)
    holes = RNG.random((7, 7)) < 0.2  # either entry of a pair will do
    with_nan = np.where(holes, np.nan, GRAPH)
    for other in (with_nan, np.ma.array(GRAPH, mask=holes)):
        assert_same(HierarchicalRandomGraph(other), HierarchicalRandomGraph(GRAPH, missing=holes))
    for kind in (PoissonPairs, NormalPairs):
        assert_same(kind(with_nan), kind(GRAPH, missing=holes))


def assert_same(one, two):
    first, second = (HierarchyPosterior(model) for model in (one, two))
    assert first.log_evidence == pytest.approx(second.log_evidence, rel=1e-12)
    np.testing.assert_array_equal(first.cluster_probability_array(), second.cluster_probability_array())


@pytest.mark.parametrize("kind", [HierarchicalRandomGraph, PoissonPairs, NormalPairs])
def test_graphs_and_sparse_matrices_are_as_good_as_arrays(kind):
    import networkx

    weights = GRAPH if kind is HierarchicalRandomGraph else 2 * GRAPH
    graph = networkx.from_numpy_array(weights)
    for other in (graph, scipy.sparse.csr_array(weights), scipy.sparse.coo_matrix(weights), weights.tolist()):
        assert_same(kind(other), kind(weights))
    assert kind(graph, labels=[*"abcdefg"]).labels == tuple("abcdefg")


def test_few_leaves_are_ordinary():
    for kind in (HierarchicalRandomGraph, PoissonPairs, NormalPairs):
        assert HierarchyPosterior(kind([[0.0]])).log_evidence == 0.0
        assert np.isfinite(HierarchyPosterior(kind([[0.0, 1.0], [1.0, 0.0]])).log_evidence)
        assert np.isfinite(HierarchyPosterior(kind(np.zeros((4, 4)))).log_evidence)


def test_large_counts_leave_the_table():
    x = symmetric([90_000, 3, 5], 3)
    small = HierarchyPosterior(PoissonPairs(x, 1.0, 1.0)).cluster_probability([0, 1])
    assert small == pytest.approx(1.0, abs=1e-12)
    split = lambda total, n: math.lgamma(total + 1) - (total + 1) * math.log(n + 1)  # noqa: E731
    best = split(90_000, 1) + split(8, 2) - sum(math.lgamma(c + 1) for c in (90_000, 3, 5)) - math.log(3)
    assert HierarchyPosterior(PoissonPairs(x, 1.0, 1.0)).log_evidence == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize(
    ("kind", "data", "message"),
    [
        (HierarchicalRandomGraph, 0.5 * GRAPH, "an edge is 0 or 1"),
        (HierarchicalRandomGraph, GRAPH + np.eye(7), "joins leaf 0 to itself"),
        (HierarchicalRandomGraph, np.triu(GRAPH), "not symmetric"),
        (HierarchicalRandomGraph, GRAPH[:4], "square"),
        (HierarchicalRandomGraph, np.full((2, 2), np.inf), "inf"),
        (PoissonPairs, -GRAPH, "a count is a whole number"),
        (PoissonPairs, 0.5 * GRAPH, "a count is a whole number"),
        (PoissonPairs, 1e18 * GRAPH, "a count is a whole number"),
        (NormalPairs, 1e200 * GRAPH, "too large"),
    ],
)
def test_bad_pairs_are_named(kind, data, message):
    with pytest.raises(ValueError, match=message):
        kind(data)


@pytest.mark.parametrize(
    ("kind", "edges", "message"),
    [
        ("DiGraph", [(0, 1)], "directed"),
        ("MultiGraph", [(0, 1), (0, 1)], "parallel"),
        ("Graph", [(0, 0)], "to itself"),
        ("Graph", [], "empty"),
    ],
)
def test_bad_graphs_are_named(kind, edges, message):
    import networkx

    with pytest.raises(ValueError, match=message):
        HierarchicalRandomGraph(getattr(networkx, kind)(edges))


def test_bad_parameters_are_named():
    for kind, options in (
        (HierarchicalRandomGraph, {"a": 0.0}),
        (PoissonPairs, {"rate": -1.0}),
        (NormalPairs, {"pseudo_count": math.inf}),
    ):
        with pytest.raises(ValueError, match=f"{next(iter(options))} is"):
            kind(GRAPH, **options)
    with pytest.raises(ValueError, match="lost in the rounding"):
        NormalPairs(GRAPH, rate=1e-14)
    with pytest.raises(ValueError, match="give booleans of shape"):
        HierarchicalRandomGraph(GRAPH, missing=np.zeros((7, 6), bool))
