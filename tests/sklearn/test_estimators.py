"""The clusterers of palmette.sklearn: scikit-learn's own checks, and that each gives what palmette gives."""

import pickle
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster, linkage
from scipy.spatial.distance import pdist, squareform
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import palmette as pal
from palmette import coalescent, ultrametric
from palmette.sklearn import (
    CoalescentClustering,
    PartitionTrellisClustering,
    TrellisClustering,
    UltrametricClustering,
)
from palmette.sklearn._heights import mean_across, scatter

ALL = [TrellisClustering, PartitionTrellisClustering, CoalescentClustering, UltrametricClustering]
HIERARCHICAL = [TrellisClustering(3), CoalescentClustering(3), UltrametricClustering(3)]
FEW, FEW_CLASSES = make_blobs(n_samples=12, centers=3, cluster_std=0.5, random_state=0)
MANY, MANY_CLASSES = make_blobs(n_samples=45, centers=3, cluster_std=0.35, random_state=0)
NAMES = [f"row {i}" for i in range(len(FEW))]


def everything(X):
    return np.arange(len(X)), np.arange(len(X))


def similarity(X):
    return np.exp(-squareform(pdist(X)))


def same(one, two):
    return adjusted_rand_score(one, two) == 1.0


@pytest.fixture
def few_sweeps(monkeypatch):
    """Two chains that begin after few sweeps, for what does not ask how good they are."""
    monkeypatch.setattr("palmette.sampling.cooling._PER_DECADE", 3)
    monkeypatch.setattr("palmette.sampling.cooling._QUENCH_SWEEPS", 10)
    monkeypatch.setattr("palmette.sampling.cooling.LOOKS", 5)
    monkeypatch.setattr("palmette.sampling.dispersal._CANDIDATES", 2)
    for sample in (pal.sampling.sample_hierarchies, pal.sampling.sample_partitions):
        name = f"palmette.search.sampled_posteriors.{sample.__name__}"
        monkeypatch.setattr(name, partial(sample, n_chains=2))


@pytest.mark.parametrize(
    "estimator",
    [
        TrellisClustering(sweeps=8),
        PartitionTrellisClustering(sweeps=8),
        CoalescentClustering(),
        UltrametricClustering(),
    ],
    ids=repr,
)
@pytest.mark.usefixtures("few_sweeps")
def test_scikit_learn_finds_nothing_to_complain_about(estimator):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(estimator, on_skip=None)


@pytest.mark.slow
@pytest.mark.parametrize(
    "estimator",
    [
        TrellisClustering(),
        PartitionTrellisClustering(),
        TrellisClustering(model="dasgupta"),
        CoalescentClustering(n_particles=4),
        TrellisClustering(model="correlation"),
        PartitionTrellisClustering(model="correlation"),
        UltrametricClustering(loss="closest"),
        UltrametricClustering(missing="mean"),
    ],
    ids=repr,
)
@pytest.mark.filterwarnings("ignore:of 4 particles")  # they are too few, and say so
def test_nor_about_whole_chains_and_other_models(estimator):
    from sklearn.utils.estimator_checks import check_estimator

    check_estimator(estimator, on_skip=None)


def test_soft_dasgupta_fails_two_checks_that_hold_equal_rows():
    from sklearn.utils.estimator_checks import check_estimator

    expected = {
        "check_positive_only_tag_during_fit": "its rows are repeated, and this loss divides by distances",
        "check_non_transformer_estimators_n_iter": "the iris data hold equal rows",
    }
    results = check_estimator(
        UltrametricClustering(loss="dasgupta"), on_skip=None, on_fail=None, expected_failed_checks=expected
    )
    states = {result["check_name"]: result["status"] for result in results}
    assert {name for name, state in states.items() if state == "failed"} == set()
    assert {name for name, state in states.items() if state == "xfail"} == set(expected)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(("X", "classes"), [(FEW, FEW_CLASSES), (MANY, MANY_CLASSES)])
def test_blobs_are_found(kind, X, classes):
    assert adjusted_rand_score(kind(n_clusters=3).fit_predict(X), classes) > 0.9


# TrellisClustering


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
    ward = linkage(FEW, "ward")
    if fitted.hierarchy_ == pal.Hierarchy.from_linkage(ward):
        np.testing.assert_allclose(fitted.distances_, ward[:, 2])
    assert fitted.distances_[-1] == pytest.approx(ward[-1, 2])


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


# PartitionTrellisClustering


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


GAPPY = MANY.repeat(4, axis=1) + np.random.default_rng(0).normal(size=(45, 8), scale=0.2)
GAPS = np.random.default_rng(1).random(GAPPY.shape) < 0.05
GAPS[:, 2:6] = False  # two columns of either coordinate are whole
GAPPY[GAPS] = np.nan


@pytest.mark.parametrize("missing", ["pairwise", "mean", "drop-columns"])
@pytest.mark.parametrize(
    "estimator",
    [
        TrellisClustering(3, sweeps=10, random_state=0),
        PartitionTrellisClustering(model="correlation", perplexity=5, beyond="sparse"),
        UltrametricClustering(3),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
@pytest.mark.filterwarnings("ignore:the loss had not settled")
@pytest.mark.usefixtures("few_sweeps")
def test_rows_with_gaps_are_clustered_in_the_way_that_is_said(estimator, missing):
    with pytest.raises(ValueError, match="NaN"):
        clone(estimator).fit(GAPPY)
    fitted = clone(estimator).set_params(missing=missing).fit(GAPPY)
    assert fitted.__sklearn_tags__().input_tags.allow_nan
    assert same(fitted.labels_, MANY_CLASSES)
    assert fitted.score(GAPPY) > 0.5
    if missing != "pairwise":
        again = clone(estimator).fit(pal.similarity.completed(GAPPY, missing))
        np.testing.assert_array_equal(again.labels_, fitted.labels_)
        assert again.score(pal.similarity.completed(GAPPY, missing)) == fitted.score(GAPPY)


def test_pairs_with_gaps_are_those_of_similarity():
    X = GAPPY[:12]
    fitted = TrellisClustering(3, missing="pairwise", similarity="correlation").fit(X)
    expected = pal.similarity.of_points(X, "correlation", missing="pairwise")
    np.testing.assert_array_equal(fitted.posterior_.model.pairwise[0], expected - np.eye(12))
    by_rbf = TrellisClustering(3, missing="pairwise").fit(X)
    expected = pal.similarity.of_points(X, missing="pairwise")
    np.testing.assert_array_equal(by_rbf.posterior_.model.pairwise[0], expected - np.eye(12))


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TrellisClustering(missing="pairwise", model="contrasts"), 'give "mean" or "drop-columns"'),
        (TrellisClustering(missing="pairwise", similarity=similarity), 'give "mean" or "drop-columns"'),
        (PartitionTrellisClustering(missing="pairwise", model="dirichlet-process"), "this model needs the rows"),
        (PartitionTrellisClustering(missing="refuse", model="dirichlet-process"), "contains NaN"),
        (UltrametricClustering(missing="median"), "missing is 'median'; give one of 'pairwise'"),
        (TrellisClustering(missing="mean", similarity="precomputed"), "contains NaN"),
    ],
)
def test_gaps_that_cannot_be_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(GAPPY)


def test_what_was_learned_scores_new_rows():
    fitted = PartitionTrellisClustering(model="dirichlet-process").fit(FEW)
    new = FEW[::2] + 0.1
    expected = pal.PartitionPosterior(pal.models.DirichletProcess(new, 1.0, fitted.likelihood_))
    assert fitted.score(new) == pytest.approx(expected.log_evidence / 6)


# CoalescentClustering


def test_a_greedy_history_and_its_flat_clusters():
    fitted = CoalescentClustering().fit(FEW)
    process = coalescent.Brownian(np.full(2, FEW.var(axis=0, ddof=1).mean()), leaf_variance=0.1)
    expected = coalescent.greedy(FEW, process)
    assert fitted.hierarchy_ == expected.hierarchy
    assert fitted.log_joint_ == pytest.approx(expected.log_joint)
    np.testing.assert_allclose(fitted.distances_, np.sort(expected.hierarchy.heights[12:]))
    assert fitted.partition_ == coalescent.flat_clusters(FEW, expected.hierarchy, process)
    assert fitted.score(FEW) == pytest.approx(expected.log_joint / 12)
    assert not hasattr(fitted, "cluster_probabilities_")


@pytest.mark.filterwarnings("ignore:of 30 particles")
def test_particles_make_a_posterior():
    fitted = CoalescentClustering(n_particles=30, random_state=3).fit(FEW)
    again = CoalescentClustering(n_particles=30, random_state=3).fit(FEW)
    assert fitted.log_evidence_ == again.log_evidence_
    best = fitted.cluster_probabilities_[0]
    assert best.probability == float(fitted.posterior_.cluster_probability(best.members)) > 0.5
    ages = clone(fitted).fit_transform(FEW)
    np.testing.assert_allclose(ages, fitted.posterior_.expectation([h.cophenetic() for h in fitted.posterior_]))
    fitted.set_params(n_particles=None).fit(FEW)
    assert not hasattr(fitted, "posterior_")


def test_missing_entries_and_categories():
    X = FEW.copy()
    X[0, 0] = X[5, 1] = np.nan
    assert same(CoalescentClustering(3).fit_predict(X), FEW_CLASSES)
    codes = np.repeat([[0, 0, 1, 1], [1, 1, 0, 0]], 4, axis=0)
    assert CoalescentClustering(2, process="sites").fit_predict(codes).tolist() == [0] * 4 + [1] * 4
    process = coalescent.Brownian(rate=2.0, leaf_variance=0.1)
    assert CoalescentClustering(process=process).fit(FEW).process_ is process


# UltrametricClustering


def test_the_fit_is_that_of_the_same_graph_and_loss():
    fitted = UltrametricClustering(3, loss="closest", n_neighbors=4).fit(FEW)
    found = ultrametric.fit(ultrametric.Graph.from_points(FEW, 4), ultrametric.Closest())
    assert fitted.hierarchy_ == found.hierarchy
    assert (fitted.loss_, fitted.n_iter_) == (found.best_loss, len(found.history))
    np.testing.assert_array_equal(fitted.distances_, found.subdominant.altitudes)
    own = UltrametricClustering(3, loss=ultrametric.Closest(), n_neighbors=4).fit(FEW)
    assert own.loss_ == fitted.loss_


@pytest.mark.parametrize("loss", ["closest+size", "dasgupta"])
def test_other_losses(loss):
    assert same(UltrametricClustering(3, loss=loss).fit_predict(MANY), MANY_CLASSES)


def test_a_few_known_classes_help():
    rng = np.random.default_rng(0)
    line = np.concatenate([np.linspace(0, 6, 20), np.linspace(6.4, 8, 20)])
    X = (line + rng.normal(0, 0.01, 40))[:, None]
    known = np.full(40, -1)
    known[[0, 5, 12, 19]], known[[20, 25, 32, 39]] = 0, 1
    classes = np.repeat([0, 1], 20)
    estimator = UltrametricClustering(2, loss="closest+triplet")
    helped = estimator.fit_predict(X, known)
    assert adjusted_rand_score(classes, helped) >= adjusted_rand_score(classes, UltrametricClustering(2).fit_predict(X))
    assert same(helped[known >= 0], known[known >= 0])
    assert estimator.score(X, classes) == UltrametricClustering(2, loss="closest").fit(X).score(X, classes)
    with pytest.raises(ValueError, match="needs y"):
        estimator.fit(X)


# What all of them share


@pytest.mark.parametrize("estimator", HIERARCHICAL, ids=repr)
def test_children_and_distances_are_a_linkage(estimator):
    fitted = estimator.fit(FEW)
    sizes = np.array([len(cluster) for cluster in fitted.hierarchy_.clusters()[12:]])
    Z = np.column_stack([fitted.children_, fitted.distances_, sizes]).astype(float)
    assert len(dendrogram(Z, no_plot=True)["leaves"]) == fitted.n_leaves_ == 12
    assert same(fcluster(Z, 3, "maxclust"), fitted.labels_)
    np.testing.assert_array_equal(fitted.hierarchy_.children, fitted.children_)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("n", [1, 2])
def test_one_row_and_two(kind, n):
    for k in range(1, n + 1):
        fitted = kind(n_clusters=k).fit(FEW[:n])
        assert fitted.labels_.tolist() == list(range(n))[:k] + [0] * (n - k)
        assert np.isfinite(fitted.score(FEW[:n]))
        assert clone(fitted).fit_transform(FEW[:n]).shape == (n, n)
    with pytest.raises(ValueError, match=f"n_clusters is {n + 1}, but n_samples={n}"):
        kind(n_clusters=n + 1).fit(FEW[:n])


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.usefixtures("few_sweeps")
def test_the_same_state_gives_the_same_result_and_pickles_keep_it(kind):
    options = {"random_state": 5} if "random_state" in kind().get_params() else {}
    one, two = (kind(n_clusters=3, **options).fit(MANY) for _ in range(2))
    np.testing.assert_array_equal(one.labels_, two.labels_)
    copy = pickle.loads(pickle.dumps(one))
    np.testing.assert_array_equal(copy.labels_, one.labels_)
    posteriors = [fitted.posterior_ for fitted in (one, two, copy) if hasattr(fitted, "posterior_")]
    what = "log_potentials" if kind is TrellisClustering else "log_partition"
    assert len({np.asarray(getattr(post, what)).tobytes() for post in posteriors}) <= 1


@pytest.mark.parametrize("kind", ALL)
def test_pipelines(kind):
    pipeline = make_pipeline(StandardScaler(), kind(n_clusters=3))
    assert same(pipeline.fit_predict(FEW), FEW_CLASSES)
    distances = pipeline.fit_transform(FEW)
    assert distances.shape == (12, 12)
    np.testing.assert_allclose(np.diag(distances), 0.0, atol=1e-9)
    together = FEW_CLASSES[:, None] == FEW_CLASSES
    assert distances[together].mean() < distances[~together].mean()


@pytest.mark.parametrize("estimator", [TrellisClustering(), PartitionTrellisClustering()], ids=repr)
def test_data_frames_in_and_out(estimator):
    import polars as pl

    frame = pd.DataFrame(FEW, columns=["x", "y"], index=NAMES)
    fitted = clone(estimator).set_output(transform="pandas")
    distances = fitted.fit_transform(frame)
    assert fitted.feature_names_in_.tolist() == ["x", "y"]
    assert distances.index.tolist() == distances.columns.tolist() == fitted.get_feature_names_out().tolist() == NAMES
    table = fitted.cluster_probabilities_
    assert table.columns.tolist() == ["members", "size", "probability"]
    assert set(table.members[0]) <= set(NAMES)

    fitted = clone(estimator).set_output(transform="polars")
    there = fitted.fit_transform(pl.DataFrame(FEW, schema=["x", "y"]))
    assert fitted.feature_names_in_.tolist() == ["x", "y"]
    assert isinstance(there, pl.DataFrame)
    assert there.columns == [str(i) for i in range(12)]
    np.testing.assert_array_equal(there.to_numpy(), distances.to_numpy())
    rows = fitted.cluster_probabilities_
    assert isinstance(rows, pl.DataFrame)
    np.testing.assert_array_equal(rows["probability"].to_numpy(), table.probability.to_numpy())
    assert [NAMES[int(i)] for i in rows["members"][0]] == list(table.members[0])


def test_rows_of_one_name_are_numbered():
    frame = pd.DataFrame(FEW, columns=["x", "y"], index=["same"] * 12)
    assert TrellisClustering().fit(frame).hierarchy_.labels == tuple(map(str, range(12)))


@pytest.mark.usefixtures("few_sweeps")
def test_grid_searches_with_and_without_classes():
    from sklearn.model_selection import GridSearchCV

    grid, X, known = {"n_clusters": [2, 3, 4]}, MANY[:24], MANY_CLASSES[:24]
    for estimator in (TrellisClustering(model="sum-of-squares", sweeps=10, random_state=0), UltrametricClustering()):
        for classes in (None, known):
            search = GridSearchCV(estimator, grid, cv=2).fit(X, classes)
            assert search.best_params_ == {"n_clusters": 3}
            assert same(search.best_estimator_.labels_, known)
    process = GridSearchCV(PartitionTrellisClustering(model="dirichlet-process"), {"concentration": [1e-6, 1.0]}, cv=3)
    assert process.fit(FEW).best_params_ == {"concentration": 1.0}


def test_a_grid_of_temperatures_is_scored_by_what_the_posterior_says():
    from sklearn.model_selection import GridSearchCV

    def log_probability_of_classes(estimator, X, y):
        clusters = [np.flatnonzero(y == c) for c in np.unique(y)]
        return sum(np.log(estimator.posterior_.cluster_probability(c)) for c in clusters)

    for grid in ({"beta": [0.01, 1.0]}, {"perplexity": [1e9, 100]}):
        search = GridSearchCV(
            TrellisClustering(), grid, cv=[everything(FEW)], scoring=log_probability_of_classes, refit=False
        )
        assert search.fit(FEW, FEW_CLASSES).best_index_ == 1


def test_scores():
    fitted = TrellisClustering(3).fit(FEW)
    assert fitted.score(FEW, FEW_CLASSES) == 1.0
    assert fitted.score(FEW) == pytest.approx(silhouette_score(FEW, fitted.labels_))
    w = similarity(FEW)
    precomputed = TrellisClustering(3, similarity="precomputed").fit(w)
    d = w[np.triu_indices(12, 1)].max() - w
    np.fill_diagonal(d, 0.0)
    assert precomputed.score(w) == pytest.approx(silhouette_score(d, precomputed.labels_, metric="precomputed"))
    assert clone(precomputed).set_params(n_clusters=1).fit(w).score(w) == 0.0
    with pytest.raises(ValueError, match="3 features"):
        fitted.score(np.zeros((4, 3)))
    with pytest.raises(ValueError, match=r"shape \(4, 12\); expected a square matrix"):
        precomputed.score(w[:4])


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (TrellisClustering(0), "n_clusters is 0; it must be at least 1"),
        (TrellisClustering("two"), "n_clusters must be an integer, not 'two'"),
        (TrellisClustering(model="ward"), "model is 'ward'; give one of 'contrasts', 'dasgupta', 'correlation'"),
        (TrellisClustering(model=3), "model is 3; give one of"),
        (TrellisClustering(model=lambda X: X), "expected a palmette.models.HierarchyModel"),
        (TrellisClustering(model=lambda X: pal.models.Uniform(3)), "expected one leaf for each"),
        (TrellisClustering(model=lambda X: pal.models.Uniform(12), beta=2.0), "has no temperature"),
        (TrellisClustering(beta=1.0, perplexity=3.0), "give one"),
        (TrellisClustering(beta=-1.0), "beta is -1.0"),
        (TrellisClustering(perplexity=0.5), "perplexity is 0.5; expected"),
        (TrellisClustering(similarity="euclidean"), "similarity is 'euclidean'; give one of 'rbf'"),
        (TrellisClustering(similarity=lambda X: X), "expected a square matrix"),
        (TrellisClustering(model="sum-of-squares", similarity="rbf"), "reads the rows as they are"),
        (TrellisClustering(similarity="precomputed"), "expected a square matrix"),
        (TrellisClustering(gamma=-1.0), "gamma is -1.0"),
        (TrellisClustering(gamma="auto"), "gamma must be a number"),
        (TrellisClustering(max_leaves=0), "max_leaves is 0"),
        (PartitionTrellisClustering(model="dasgupta"), "give one of 'correlation', 'dirichlet-process'"),
        (PartitionTrellisClustering(model="dirichlet-process", beta=2.0), "has no temperature"),
        (PartitionTrellisClustering(model="dirichlet-process", concentration=0.0), "concentration is 0"),
        (PartitionTrellisClustering(model="dirichlet-process", likelihood="normal"), "likelihood must be"),
        (CoalescentClustering(process="poisson"), "process is 'poisson'; give \"brownian\""),
        (CoalescentClustering(rule="fast"), "rule is 'fast'"),
        (CoalescentClustering(n_particles=0), "n_particles"),
        (CoalescentClustering(leaf_variance=-1.0), "leaf_variance"),
        (UltrametricClustering(loss="hinge"), "loss is 'hinge'; give one of 'closest'"),
        (UltrametricClustering(n_neighbors=0), "k is 0"),
        (UltrametricClustering(max_iter=0), "iterations is 0"),
    ],
    ids=lambda case: case if isinstance(case, str) else type(case).__name__,  # functions have no name that stays
)
def test_what_is_wrong_is_said(estimator, message):
    with pytest.raises((ValueError, TypeError)) as caught:
        estimator.fit(FEW)
    assert message in str(caught.value)


def test_before_the_fit_there_is_nothing():
    for kind in ALL:
        assert not hasattr(kind(), "cluster_probabilities_")
        with pytest.raises(ValueError, match="not fitted"):
            kind().score(FEW)
        with pytest.raises(ValueError, match="not fitted"):
            kind().get_feature_names_out()


def test_palmette_alone_needs_no_scikit_learn():
    code = "import sys; sys.modules['sklearn'] = None; import palmette; import palmette.sklearn"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert ended.stderr.splitlines()[-1] == (
        "ImportError: sklearn is needed for this, and missing: pip install 'palmette[sklearn]'"
    )
