"""Heights of nodes: scatter by its definition, cluster by cluster, and what must not change it."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from random_hierarchies import caterpillar, hierarchies, random_merges

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior
from palmette.models import (
    BetaSplitting,
    Contrasts,
    Correlation,
    Dasgupta,
    HierarchicalRandomGraph,
    SplitFunction,
    SplitModel,
    SumOfSquares,
    Uniform,
    VarianceShares,
    with_prior,
)
from palmette.models.heights import scatters, self_similarity
from palmette.posterior import HierarchyMixture

SEEDS = st.integers(0, 2**16)


def points(n, seed, d=3):
    return np.random.default_rng(seed).normal(size=(n, d))


def similarities(n, seed):
    w = np.random.default_rng(seed).random((n, n))
    return w + w.T


def sum_of_squares(x, cluster):
    rows = x[sorted(cluster)]
    return float(np.square(rows - rows.mean(axis=0)).sum())


def random_hierarchy(n, seed, labels=None):
    return Hierarchy.from_merges(random_merges(n, np.random.default_rng(seed)), labels)


@given(h=hierarchies(), seed=SEEDS, made=st.sampled_from([Contrasts, SumOfSquares, VarianceShares]))
def test_the_height_of_a_cluster_of_points_is_the_root_of_its_share_of_the_sum_of_squares(h, seed, made):
    x = points(h.n_leaves, seed)
    found = made(x).heights(h)
    if h.n_leaves == 1:
        assert found is None
    else:
        total = sum_of_squares(x, range(h.n_leaves))
        expected = [np.sqrt(sum_of_squares(x, cluster) / total) for cluster in h.clusters()]
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(h=hierarchies(), seed=SEEDS)
def test_the_scatter_adds_up_every_pair_of_a_cluster_once(h, seed):
    apart = similarities(h.n_leaves, seed)
    expected = [sum(apart[i, j] for i in c for j in c if i < j) / len(c) for c in h.clusters()]
    np.testing.assert_allclose(scatters(h, apart), expected, rtol=1e-12)


@given(h=hierarchies(), seed=SEEDS, made=st.sampled_from([SumOfSquares, Dasgupta, Correlation]))
def test_heights_begin_at_the_leaves_and_never_fall_towards_the_root(h, seed, made):
    n = h.n_leaves
    found = made(points(n, seed) if made is SumOfSquares else similarities(n, seed)).heights(h)
    if found is not None:
        assert (found[:n] == 0.0).all()
        assert found[-1] == 1.0
        assert (found[:-1] <= found[h.parents[:-1]]).all()


@given(h=hierarchies(), seed=SEEDS)
def test_the_order_of_leaves_and_of_children_does_not_matter(h, seed):
    x, order = points(h.n_leaves, seed), np.random.default_rng(seed).permutation(h.n_leaves)
    names = [h.labels[leaf] for leaf in order]
    turned = Hierarchy.from_clusters(h.named_clusters(), names)
    one, other = SumOfSquares(x, labels=h.labels), SumOfSquares(x[order], labels=names)
    heights, shuffled = one.heights(h), other.heights(turned)
    if heights is not None:
        expected = dict(zip(map(frozenset, h.named_clusters()), heights, strict=True))
        for cluster, height in zip(turned.named_clusters(), shuffled, strict=True):
            assert height == pytest.approx(expected[frozenset(cluster)], abs=1e-12)


def test_similarities_of_points_give_the_heights_of_the_points():
    """Of a kernel with ones on its diagonal d = 1 − w is half a squared distance, and the model finds the 1 itself."""
    x = points(9, 1)
    x /= np.linalg.norm(x, axis=1)[:, None]
    h = random_hierarchy(9, 2)
    expected = SumOfSquares(x).heights(h)
    for similarity in (x @ x.T, x @ x.T - np.eye(9), 5.0 * (x @ x.T) - 0.3):
        np.testing.assert_allclose(Dasgupta(similarity).heights(h), expected, atol=1e-7)
        np.testing.assert_allclose(Correlation(similarity, 0.2).heights(h), expected, atol=1e-7)


@given(n=st.integers(3, 9), seed=SEEDS)
def test_a_leaf_is_as_similar_to_itself_as_it_must_be_for_there_to_be_points(n, seed):
    w, centre = similarities(n, seed), np.eye(n) - 1.0 / n
    np.fill_diagonal(w, self_similarity(w))
    smallest = np.linalg.eigvalsh(centre @ w @ centre + np.ones((n, n)))[0]  # but for that of the mean, which is n
    assert smallest == pytest.approx(0.0, abs=1e-10)


def test_the_more_similar_pair_is_the_lower_one():
    data = pal.datasets.load_numerals()
    model = Dasgupta(data.similarity, labels=data.labels)
    h = Hierarchy.from_newick(
        "(((English,(Dutch,German)),(Danish,Swedish)),(((French,((Italian,Spanish),Romanian)),Welsh),(Polish,Czech)));"
    )
    pairs = [("Danish", "Swedish"), ("Italian", "Spanish"), ("Polish", "Czech"), ("Dutch", "German")]
    alike = [data.similarity[data.labels.index(one), data.labels.index(two)] for one, two in pairs]
    heights = model.heights(h)[[h.find(pair) for pair in pairs]]
    assert (np.diff(alike) < 0).all()
    assert (np.diff(heights) > 0).all()


def test_a_tight_cluster_far_from_all_else_keeps_its_digits():
    x = np.array([[0.0], [1e-6], [3e-6], [1e3], [2e3]])
    h = Hierarchy.from_nested((((0, 1), 2), (3, 4)))
    expected = [np.sqrt(sum_of_squares(x, c) / sum_of_squares(x, range(5))) for c in h.clusters()]
    np.testing.assert_allclose(Contrasts(x).heights(h), expected, rtol=1e-9)
    assert Contrasts([[0.0], [0.0], [1e3]], b=1.0).heights(Hierarchy.from_nested(((0, 1), 2)))[3] == 0.0


def test_where_there_is_no_height_there_is_none():
    h = Hierarchy.from_nested(((0, 1), 2))
    graph = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
    for model in (
        Uniform(3),
        HierarchicalRandomGraph(graph),
        SplitFunction(3, lambda left, right: -1.0 * left),
        Contrasts(np.ones((3, 2))),
        Dasgupta(np.full((3, 3), 0.3)),
    ):
        assert model.heights(h) is None
        assert model.with_heights(h).branch_lengths is None
    one = Hierarchy.from_nested(0)
    assert Contrasts([[1.0]]).heights(one) is None
    assert Dasgupta([[1.0]]).heights(one) is None


def test_a_prior_leaves_heights_alone():
    x, h = points(6, 4), caterpillar(6)
    for model in (Contrasts(x), SumOfSquares(x, 0.5), Dasgupta(similarities(6, 1), 0.5)):
        for prior in ("yule", BetaSplitting(3.0)):
            np.testing.assert_array_equal(with_prior(model, prior).heights(h), model.heights(h))
    asked = SplitFunction(6, lambda left, right: -1.0 * left)
    assert with_prior(asked, "yule").heights(h) is None


class Walk(SplitModel):
    """A model of a person's own, with heights of its own: half of the steps from the lowest to the highest leaf."""

    n_features = 1

    @staticmethod
    def features(theta, n, size, sums, pairs, out):
        out[0] = size

    @staticmethod
    def score(theta, parent, left, right):
        return 0.0

    def heights(self, hierarchy):
        return np.array([(max(cluster) - min(cluster)) / 2 for cluster in hierarchy.clusters()])


def test_heights_of_ones_own_are_drawn_and_written():
    h = Hierarchy.from_nested(((0, 1), (2, 4), 3))
    assert Walk(5).with_heights(h).to_newick() == "((0:0.5,1:0.5):1.5,(2:1,4:1):1,3:2);"


def test_every_posterior_has_the_heights_of_its_model():
    x = points(7, 3)
    post = HierarchyPosterior(Contrasts(x))
    best = post.map()
    mixture = HierarchyMixture([post, HierarchyPosterior(Contrasts(x, 2.0))], [0.0, -1.0])
    chains = pal.sampling.sample_hierarchies(Contrasts(x), seconds=None, sweeps=16, n_chains=2)
    for other in (mixture, chains, post.condition(require=[best.leaves_below(best.n_nodes - 2).tolist()])):
        np.testing.assert_array_equal(other.model.heights(best), post.model.heights(best))
    consensus = post.model.with_heights(post.consensus(0.3))
    np.testing.assert_array_equal(consensus.support, post.consensus(0.3).support)
    assert consensus.branch_lengths is not None
    assert best.branch_lengths is None


def test_heights_survive_a_pickle_and_need_the_same_labels():
    model = Dasgupta(similarities(5, 0), labels=list("abcde"))
    h = caterpillar(5, list("edcba"))
    expected = model.heights(h)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).heights(h), expected)
    np.testing.assert_array_equal(model.with_beta(0.1).heights(h), expected)
    with pytest.raises(ValueError, match="label"):
        model.heights(caterpillar(5))
