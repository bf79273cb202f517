"""`TrellisClustering`: the posterior of a model of hierarchies, heights, flat clusters, more leaves than it takes."""

import math
import pickle

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn_cases import FEW, FEW_CLASSES, MANY, same, similarity

import palmette as pal
from palmette.sklearn import PartitionTrellisClustering, TrellisClustering
from palmette.sklearn._heights import mean_across, scatter


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("dasgupta", lambda g: pal.models.Dasgupta(g, beta=2.0)),
        ("correlation", lambda g: pal.models.Correlation(g - g[np.triu_indices(12, 1)].mean(), beta=2.0)),
    ],
)
def test_the_posterior_is_that_of_the_same_model(name, make):
    fitted = TrellisClustering(3, model=name, beta=2.0, gamma=0.5).fit(FEW)
    expected = pal.HierarchyPosterior(make(np.exp(-0.5 * squareform(pdist(FEW)) ** 2)))
    assert fitted.posterior_.is_exact
    assert fitted.posterior_.log_partition == pytest.approx(expected.log_partition, rel=1e-12)
    best = expected.log_potential(expected.map())
    assert expected.log_potential(fitted.hierarchy_) == pytest.approx(best, rel=1e-12)  # of equals, any
    theirs = [(row.members, pytest.approx(row.probability, abs=1e-9)) for row in expected.cluster_probabilities()]
    assert sorted((row.members, row.probability) for row in fitted.cluster_probabilities_) == sorted(
        theirs, key=lambda row: row[0]
    )


def test_sums_of_squares_have_the_heights_of_ward():
    fitted = TrellisClustering(3, model="sum-of-squares").fit(FEW)
    assert fitted.posterior_.log_partition == pal.HierarchyPosterior(pal.models.SumOfSquares(FEW)).log_partition
    heights, clusters = [0.0] * len(FEW), fitted.hierarchy_.clusters()
    for left, right in fitted.children_:
        one, two = (FEW[list(clusters[part])] for part in (left, right))
        weight = 2 * len(one) * len(two) / (len(one) + len(two))
        own = math.sqrt(weight * ((one.mean(axis=0) - two.mean(axis=0)) ** 2).sum())
        heights.append(max(own, heights[left], heights[right]))
    np.testing.assert_allclose(fitted.distances_, heights[len(FEW) :], rtol=1e-12)
    assert fitted.distances_[-1] == pytest.approx(linkage(FEW, "ward")[-1, 2])


def test_similarities_have_the_heights_of_average_linkage():
    w = similarity(FEW)
    fitted = TrellisClustering(3, similarity="precomputed").fit(w)
    d = w[np.triu_indices(12, 1)].max() - w
    for (left, right), height in zip(fitted.children_, fitted.distances_, strict=True):
        clusters = fitted.hierarchy_.clusters()
        mean = np.mean([d[i, j] for i in clusters[left] for j in clusters[right]])
        assert height >= mean - 1e-12  # heights never fall towards the root
    assert fitted.distances_[0] == pytest.approx(d[~np.eye(12, dtype=bool)].min(), abs=1e-12)


@pytest.mark.parametrize("kind", ["rbf", "linear", "cosine", "correlation", similarity])
def test_every_similarity_works(kind):
    X = np.random.default_rng(0).normal(size=(8, 4))
    fitted = TrellisClustering(2, similarity=kind).fit(X)
    assert fitted.n_clusters_ == 2
    if kind == "correlation":
        expected = pal.HierarchyPosterior(pal.models.Dasgupta(np.corrcoef(X)))
        assert fitted.posterior_.log_partition == pytest.approx(expected.log_partition)


def test_a_precomputed_similarity_is_taken_as_it_is():
    w = similarity(FEW)
    for estimator in (TrellisClustering(3), PartitionTrellisClustering(model="correlation")):
        fitted = estimator.set_params(similarity="precomputed").fit(w - 0.2)
        function = clone(estimator).set_params(similarity=lambda X: similarity(X) - 0.2).fit(FEW)
        np.testing.assert_array_equal(fitted.labels_, function.labels_)
        assert fitted.posterior_.log_partition == pytest.approx(function.posterior_.log_partition)
        assert fitted.__sklearn_tags__().input_tags.pairwise


def test_perplexity_sets_the_temperature():
    fitted = TrellisClustering(3, perplexity=50).fit(FEW)
    assert np.exp(fitted.posterior_.entropy) == pytest.approx(50, rel=1e-5)
    sparse = TrellisClustering(3, perplexity=50, random_state=0).fit(MANY)
    assert not sparse.posterior_.is_exact
    assert np.exp(sparse.posterior_.entropy) == pytest.approx(50, rel=1e-5)
    flat = PartitionTrellisClustering(model="correlation", perplexity=20).fit(FEW)
    assert np.exp(flat.posterior_.entropy) == pytest.approx(20, rel=1e-3)


@pytest.mark.parametrize("beyond", ["sampled", "sparse"])
def test_beyond_max_leaves_it_is_not_worse_than_greedy(beyond):
    fitted = TrellisClustering(3, model="sum-of-squares", beyond=beyond, random_state=1).fit(MANY)
    assert not fitted.posterior_.is_exact
    model = pal.models.SumOfSquares(MANY)
    assert model.log_potential(fitted.hierarchy_) >= pal.search.greedy(model).log_potential
    assert len(fitted.cluster_probabilities_) > 3


def test_chains_of_a_clusterer_can_go_on():
    fitted = TrellisClustering(3, max_leaves=5, random_state=1, sweeps=200).fit(FEW)
    full = TrellisClustering(3).fit(FEW)
    assert fitted.hierarchy_ == full.hierarchy_
    longer = pickle.loads(pickle.dumps(fitted)).posterior_.resume(seconds=None, sweeps=6000, precision=0.01)
    for row in longer.cluster_probabilities(0.2):
        assert abs(row.probability - full.posterior_.cluster_probability(row.members)) < 5 * row.standard_error
    with pytest.raises(ValueError, match="beyond is 'exact'"):
        TrellisClustering(3, max_leaves=5, beyond="exact").fit(FEW)


def test_beyond_max_leaves_a_trellis_can_be_sparse():
    small = TrellisClustering(3, max_leaves=5, beyond="sparse", min_share=1e-6, random_state=1).fit(FEW)
    full = TrellisClustering(3).fit(FEW)
    assert not small.posterior_.is_exact
    assert small.hierarchy_ == full.hierarchy_
    assert full.posterior_.log_partition - 0.1 < small.posterior_.log_partition <= full.posterior_.log_partition + 1e-9


def test_a_function_makes_the_model():
    own = TrellisClustering(3, model=lambda X: pal.models.SumOfSquares(X, beta=0.3)).fit(FEW)
    named = TrellisClustering(3, model="sum-of-squares", beta=0.3).fit(FEW)
    assert own.posterior_.log_partition == named.posterior_.log_partition
    of_class = TrellisClustering(3, model=pal.models.SumOfSquares, beta=0.3).fit(FEW)
    assert of_class.posterior_.log_partition == named.posterior_.log_partition
    uniform = TrellisClustering(3, model=lambda X: pal.models.Uniform(len(X))).fit(FEW)
    assert uniform.posterior_.count == 13749310575
    matrix = TrellisClustering(3, model=lambda w: pal.models.Dasgupta(w), similarity="rbf").fit(FEW)
    named = TrellisClustering(3, model="dasgupta").fit(FEW)
    assert matrix.posterior_.log_partition == named.posterior_.log_partition


@pytest.mark.parametrize("said", [{"similarity": "rbf"}, {"gamma": 0.5}, {"missing": "pairwise"}])
def test_whoever_speaks_of_similarities_has_a_model_of_them(said):
    assert isinstance(TrellisClustering(3).fit(FEW).posterior_.model, pal.models.SumOfSquares)
    assert isinstance(TrellisClustering(3, **said).fit(FEW).posterior_.model, pal.models.Dasgupta)


def test_flat_clusters_are_the_cheapest_cut_and_not_a_few_rows_far_away():
    X = np.concatenate([FEW, [[40.0, 40.0]]])
    fitted = TrellisClustering(4).fit(X)
    assert same(fitted.labels_, [*FEW_CLASSES, 3])
    assert sorted(np.bincount(TrellisClustering(2, model="sum-of-squares").fit(X).labels_)) == [1, 12]
    apart = np.random.default_rng(0).random((6, 6))
    h = pal.Hierarchy.from_nested((((0, 1), 2), (3, (4, 5))))
    costs = scatter(h, mean_across(h, apart + apart.T))
    for cluster, cost in zip(h.clusters(), costs, strict=True):
        inside = (apart + apart.T)[np.ix_(sorted(cluster), sorted(cluster))]
        assert cost == pytest.approx((inside.sum() - inside.trace()) / 2 / len(cluster))


def test_more_rows_have_fewer_sweeps():
    X = np.random.default_rng(0).normal(size=(310, 2))
    assert TrellisClustering(2, random_state=0)._sweeps(len(X)) == 96
    assert TrellisClustering(2, random_state=0)._sweeps(5000) == 8
    assert TrellisClustering(2, sweeps=50)._sweeps(5000) == 50
