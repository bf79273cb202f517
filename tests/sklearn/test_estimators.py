"""What all clusterers share: the checks of scikit-learn, pipelines, frames, grids, and what they refuse."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import dendrogram, fcluster
from sklearn.base import clone
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn_cases import FEW, FEW_CLASSES, MANY, MANY_CLASSES, same, similarity

import palmette as pal
from palmette.sklearn import (
    CoalescentClustering,
    PartitionTrellisClustering,
    TrellisClustering,
    UltrametricClustering,
)

ALL = [TrellisClustering, PartitionTrellisClustering, CoalescentClustering, UltrametricClustering]
HIERARCHICAL = [TrellisClustering(3), CoalescentClustering(3), UltrametricClustering(3)]


NAMES = [f"row {i}" for i in range(len(FEW))]


def everything(X):
    return np.arange(len(X)), np.arange(len(X))


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


@pytest.mark.slow(sampled=False)  # a quarter of a minute each
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
        (TrellisClustering(model="ward"), "model is 'ward'; give one of 'shares', 'contrasts', 'dasgupta'"),
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
