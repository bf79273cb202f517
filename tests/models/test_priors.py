"""Priors on shapes: they add up to one, are what they are called, and go with every model."""

from __future__ import annotations

import itertools
import math
import pickle

import numpy as np
import pytest
from cases import cases
from coalescent_oracle import sites_log_likelihood
from hypothesis import given
from hypothesis import strategies as st
from oracle import Oracle, hierarchies_over, members

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior, SparseTrellis
from palmette.models import BetaSplitting, Contrasts, Dasgupta, Uniform, UniformPartitions, with_prior
from palmette.models.with_prior import without_prior
from palmette.passes.hierarchies import HierarchyConditions
from palmette.sampling.hierarchies.conditioned import conditioned

BETAS = [-1.9, -1.5, -1.0, 0.0, 0.5, 40.0]


def split_law(beta):
    """log p(L, R | P), from Aldous' q(i): the chance that one side, told by a coin, has i leaves; then which ones."""

    def log_weight(i, j):
        return sum(math.lgamma(beta + k + 1) - math.lgamma(k + 1) for k in (i, j))

    def log_p(left, right):
        m = len(left) + len(right)
        total = math.log(sum(math.exp(log_weight(i, m - i)) for i in range(1, m)))
        return math.log(2) + log_weight(len(left), len(right)) - total - math.log(math.comb(m, len(left)))

    return log_p


@pytest.mark.parametrize("beta", [*BETAS, math.inf])
def test_priors_add_up_to_one(beta):
    """To 8 leaves, where one compiled call does it all, and beyond, by the passes of a separable model."""
    for n in (*range(1, 9), 14):
        model = with_prior(Uniform(n), BetaSplitting(beta))
        total = HierarchyPosterior(model).log_partition + BetaSplitting(beta).law(n).log_constant
        assert total == pytest.approx(0.0, abs=1e-11)


@pytest.mark.parametrize("beta", BETAS)
def test_a_prior_is_a_product_of_aldous_splits(beta):
    oracle, model = Oracle(5, split_law(beta)), with_prior(Uniform(5), BetaSplitting(beta))
    assert oracle.log_z == pytest.approx(0.0, abs=1e-12)
    for splits, log_p in zip(oracle.hierarchies, oracle.log_potentials, strict=True):
        clusters = sorted({a | b for a, b in splits}, key=int.bit_count)
        h = Hierarchy.from_clusters([members(c) for c in clusters], model.labels)
        assert model.log_prior(h) == pytest.approx(log_p, abs=1e-12)


@pytest.mark.parametrize("beta", BETAS)
def test_totals_are_sums_over_all_hierarchies_of_so_many_leaves(beta):
    law, totals = BetaSplitting(beta), BetaSplitting(beta).log_totals(6)
    h = law.law(6).h
    assert totals[:2].tolist() == [0.0, 0.0]
    for n in range(2, 7):
        oracle = Oracle(n, lambda left, right: h[len(left) + len(right)])
        assert totals[n] == pytest.approx(oracle.log_z, abs=1e-12)


def test_a_model_and_its_prior_are_told_apart():
    model, law = Contrasts([[0.0], [1.0], [3.0]]), BetaSplitting(2.0)
    assert without_prior(with_prior(model, law)) == (model, law)
    assert without_prior(with_prior(with_prior(model, "yule"), law)) == (model, law)
    assert without_prior(model) == without_prior(with_prior(model, "uniform")) == (model, "uniform")
    again = with_prior(*without_prior(with_prior(model, "yule")))
    assert HierarchyPosterior(again).log_evidence == HierarchyPosterior(with_prior(model, "yule")).log_evidence


def test_yule_is_kingmans_coalescent_without_its_times():
    """All histories, orders of n − 1 meetings of pairs, are alike: those of one hierarchy are counted."""
    n = 6
    model = with_prior(Uniform(n), "yule")
    histories = math.prod(math.comb(m, 2) for m in range(2, n + 1))
    for splits in hierarchies_over((1 << n) - 1)[::50]:
        clusters = [a | b for a, b in splits]
        orders = math.factorial(n - 1) / math.prod(c.bit_count() - 1 for c in clusters)
        h = Hierarchy.from_clusters([members(c) for c in sorted(clusters, key=int.bit_count)], model.labels)
        assert model.log_prior(h) == pytest.approx(math.log(orders / histories), rel=1e-12)


def test_uniform_is_what_there_was_before():
    model = Contrasts([[0.0], [1.0], [3.0], [7.0], [7.5]])
    assert with_prior(model, "uniform") is model
    assert with_prior(with_prior(model, "yule"), "uniform") is model
    post, same = (HierarchyPosterior(m) for m in (model, with_prior(model, BetaSplitting(-1.5))))
    assert same.log_evidence == pytest.approx(post.log_evidence, rel=1e-13)
    np.testing.assert_allclose(same.cluster_probability_array(), post.cluster_probability_array(), atol=1e-13)


@pytest.mark.parametrize("kinds", ["dkvt", pytest.param("hf", marks=pytest.mark.slow)])
@given(data=st.data(), beta=st.sampled_from([-1.0, 0.0, 6.0]))
def test_any_model_with_a_prior_matches_enumeration(kinds, data, beta):
    case = data.draw(cases(kinds=kinds))
    n, log_p = case.oracle.n, split_law(beta)
    oracle = Oracle(n, lambda left, right: case.oracle.log_psi(left, right) + log_p(left, right))
    model = with_prior(case.model, BetaSplitting(beta))
    log_constant = BetaSplitting(beta).law(n).log_constant
    post = HierarchyPosterior(model)
    if oracle.log_z == -math.inf:
        assert post.log_partition == -math.inf
        return
    assert post.log_partition + log_constant == pytest.approx(oracle.log_z, rel=1e-11, abs=case.tolerance)
    assert post.count == oracle.count
    for mask in range(1, 1 << n):
        expected = oracle.cluster_probability(mask)
        assert post.cluster_probability(members(mask)) == pytest.approx(expected, abs=1e-9 + case.tolerance)
    every = SparseTrellis.from_clusters([members(mask) for mask in range(1, 1 << n)], model.labels)
    assert post.on(every).log_partition == pytest.approx(post.log_partition, rel=1e-11, abs=case.tolerance)
    assert model.log_potential(post.map()) == pytest.approx(
        oracle.log_potentials.max() - log_constant, rel=1e-11, abs=case.tolerance
    )


def test_separable_models_stay_separable_and_keep_their_merge_score():
    w = np.random.default_rng(1).random((9, 9))
    cost = Dasgupta(w + w.T, 0.3)
    model = with_prior(cost, "yule")
    assert model.is_separable
    assert pal.search.greedy(model).hierarchy == pal.search.greedy(cost).hierarchy


def test_what_the_data_are_is_known_with_a_prior_too():
    assert with_prior(Contrasts(np.eye(3)), "yule").pairwise_holds == "squared distances"
    assert with_prior(Dasgupta(np.ones((3, 3))), "yule").pairwise_holds == "similarities"


def test_a_sample_of_trees_can_have_a_prior():
    """CCD1 of two trees: each other hierarchy of their clusters, weighed by its shape."""
    trees = [Hierarchy.from_newick(text) for text in ("(((a,b),c),d);", "((a,b),(c,d));")]
    plain = pal.posterior.from_trees(trees)
    post = HierarchyPosterior(with_prior(plain.model, "yule"), trellis=plain.trellis)
    weights = [0.5 * math.exp(post.model.log_prior(tree)) for tree in trees]
    for tree, weight in zip(trees, weights, strict=True):
        assert math.exp(post.log_prob(tree)) == pytest.approx(weight / sum(weights), abs=1e-12)


def test_the_evidence_prefers_the_prior_that_made_the_shape():
    comb, balanced = np.array([1.0, 2, 4, 8, 16, 32, 64, 128]), np.array([0, 1, 10, 11, 100, 101, 110, 111.0])
    gains = []
    for x in (comb, balanced):
        model = Contrasts(x[:, None], 0.5, 0.1)
        one, two = (HierarchyPosterior(with_prior(model, BetaSplitting(beta))).log_evidence for beta in (-1.8, 8.0))
        gains.append(two - one)
    assert gains[0] < 0.0 < gains[1]


def test_links_are_predicted_under_a_prior():
    w = np.triu(np.random.default_rng(2).random((6, 6)) < 0.5, 1)
    w = (w + w.T).astype(float)
    w[0, 1] = w[1, 0] = np.nan
    made = lambda: with_prior(pal.models.HierarchicalRandomGraph(w), "yule")  # noqa: E731
    post = HierarchyPosterior(made())
    w[0, 1] = w[1, 0] = 1.0
    expected = math.exp(HierarchyPosterior(made()).log_evidence - post.log_evidence)
    assert post.link_probabilities()[0, 1] == pytest.approx(expected, rel=1e-11)


def test_a_model_with_a_prior_is_pickled_whole():
    model = with_prior(Contrasts([[0.0], [1.0], [3.0]], labels=[*"abc"]), "yule")
    again = pickle.loads(pickle.dumps(model))
    assert (again.prior, again.labels) == (BetaSplitting(0.0), ("a", "b", "c"))
    assert HierarchyPosterior(again).log_evidence == HierarchyPosterior(model).log_evidence
    assert repr(again).endswith("BetaSplitting(beta=0.0))")


def test_a_model_may_have_any_number_of_features_and_a_prior_and_conditions_besides():
    class Many(pal.models.SplitModel):
        n_features = 12

        @staticmethod
        def features(theta, n, size, sums, pairs, out):
            for c in range(out.size):
                out[c] = (c + 1) * size

        @staticmethod
        def score(theta, parent, left, right):
            return -0.01 * left[11] * right[11] - 0.1 * parent[8]

    class Few(pal.models.SplitModel):
        n_features = 1

        @staticmethod
        def features(theta, n, size, sums, pairs, out):
            out[0] = size

        @staticmethod
        def score(theta, parent, left, right):
            return -1.44 * left[0] * right[0] - 0.9 * parent[0]

    some = HierarchyConditions(tuple(map(str, range(6)))).and_also(require=[[0, 1]])
    for change in (
        lambda model: model,
        lambda model: with_prior(model, "yule"),
        lambda model: conditioned(model, some),
    ):
        many, few = (HierarchyPosterior(change(kind(6))) for kind in (Many, Few))
        assert many.log_partition == pytest.approx(few.log_partition, abs=1e-12)
        assert many.cluster_probability([0, 1]) == pytest.approx(few.cluster_probability([0, 1]), abs=1e-12)


def test_what_is_no_prior_is_named():
    with pytest.raises(ValueError, match="'uniform', 'yule' or a BetaSplitting"):
        with_prior(Uniform(3), "flat")
    with pytest.raises(ValueError, match="begins above -2"):
        BetaSplitting(-2.0)
    with pytest.raises(TypeError, match="a model of hierarchies"):
        with_prior(UniformPartitions(3), "yule")
    with pytest.raises(TypeError, match="no temperature to set"):
        pal.temperature.at_perplexity(with_prior(Dasgupta(np.ones((4, 4))), "yule"), 2.0)
    with pytest.raises(TypeError, match="gives no probability"):
        _ = HierarchyPosterior(with_prior(Dasgupta(np.ones((4, 4))), "yule")).log_evidence


def rankings(hierarchy):
    """The orders in which the clusters of a hierarchy can come about, each child before its parent."""
    n = hierarchy.n_leaves
    inner = range(n, hierarchy.n_nodes)
    for order in itertools.permutations(inner):
        place = {node: i for i, node in enumerate(order)}
        if all(place[node] < place[int(hierarchy.parents[node])] for node in inner if hierarchy.parents[node] >= 0):
            yield order


def one_site(hierarchy, order, states, rate, law, nodes):
    """The probability of one site on a ranked hierarchy, over the durations of Kingman's coalescent by quadrature."""
    n = hierarchy.n_leaves
    t, w = np.polynomial.laguerre.laggauss(nodes)
    number = {leaf: leaf for leaf in range(n)} | {node: n + i for i, node in enumerate(order)}
    merges = np.array([[number[int(child)] for child in hierarchy.children[node - n]] for node in order])
    total = 0.0
    for at in itertools.product(range(nodes), repeat=n - 1):
        durations = [t[i] / math.comb(n - event, 2) for event, i in enumerate(at)]
        history = Hierarchy.from_merges(merges, heights=np.cumsum(durations).tolist())
        log_p = sites_log_likelihood(states[:, None], history, np.array([rate]), [law])
        total += math.prod(w[i] for i in at) * math.exp(log_p)
    return total


@pytest.mark.parametrize("states", [[0, 0, 1, 1], [0, 1, 0, 0]])
def test_the_yule_prior_is_the_coalescent_without_its_times(states):
    """Of one site the evidence of the coalescent is known: Dirichlet-multinomial with α = 2 λ."""
    n, rate, law = len(states), 0.4, np.array([0.7, 0.3])
    model = with_prior(Uniform(n), "yule")
    total = 0.0
    for hierarchy, _ in HierarchyPosterior(Uniform(n)).best(15):
        orders = list(rankings(hierarchy))
        mean = np.mean([one_site(hierarchy, order, np.array(states), rate, law, 6) for order in orders])
        total += math.exp(model.log_prior(hierarchy)) * mean
    alpha, counts = 2 * rate * law, np.bincount(states, minlength=2)
    terms = [math.lgamma(a + c) - math.lgamma(a) for a, c in zip(alpha, counts, strict=True)]
    expected = math.lgamma(2 * rate) - math.lgamma(2 * rate + n) + sum(terms)
    assert math.log(total) == pytest.approx(expected, abs=2e-4)
