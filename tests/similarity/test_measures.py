"""Similarities: each is its formula, whatever the scale of the data, and the same one everywhere in the package."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

import palmette as pal
from palmette.similarity import (
    KINDS,
    centred,
    distances,
    likeness,
    linkages,
    mean_similarity,
    median_distance,
    of_distances,
    of_points,
    standardised,
    to_distances,
)

SEVERAL = np.random.default_rng(1).normal(size=(6, 4))
PAIRS = np.triu_indices(6, 1)


def plain_distances(x):
    return np.array([[np.sqrt(((a - b) ** 2).sum()) for b in x] for a in x])


def test_similarities_are_their_formulas():
    x, d = SEVERAL, plain_distances(SEVERAL)
    h = np.median(d[PAIRS])
    np.testing.assert_allclose(distances(x), d)
    np.testing.assert_allclose(of_points(x), np.exp(-(d**2) / (2 * h**2)))
    np.testing.assert_allclose(of_points(x, "rbf", 2.0), np.exp(-(d**2) / 8))
    np.testing.assert_allclose(of_points(x, "linear"), 1 - d / d.max(), atol=1e-15)
    np.testing.assert_allclose(of_points(x, "correlation"), np.corrcoef(x))
    np.testing.assert_allclose(
        of_points(x, "cosine"), [[a @ b / np.linalg.norm(a) / np.linalg.norm(b) for b in x] for a in x]
    )


def test_the_bandwidth_is_the_median_over_rows_that_differ():
    x = np.array([[0.0], [0.0], [0.0], [0.0], [3.0]])
    assert median_distance(distances(x)) == 3.0
    assert median_distance(np.zeros((3, 3))) == 1.0


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-200, 1e-20, 1e20, 1e200])
def test_the_unit_does_not_matter(kind, scale):
    np.testing.assert_allclose(of_points(SEVERAL * scale, kind), of_points(SEVERAL, kind), rtol=1e-12, atol=1e-12)


@given(st.integers(1, 7), st.integers(1, 4), st.integers(0, 1000), st.sampled_from(["rbf", "linear"]))
def test_similarities_lie_between_0_and_1(n, d, seed, kind):
    x = np.random.default_rng(seed).integers(-2, 3, size=(n, d)).astype(float)
    w = of_points(x, kind)
    assert ((w >= 0) & (w <= 1)).all()
    np.testing.assert_array_equal(w, w.T)
    np.testing.assert_array_equal(np.diag(w), 1.0)


def test_rows_that_are_the_same_have_similarity_one():
    for kind in ("rbf", "linear"):
        np.testing.assert_array_equal(of_distances(np.zeros((3, 3)), kind), 1.0)
    for kind in KINDS:
        np.testing.assert_array_equal(of_points(np.ones((1, 2)), kind), [[1.0]])


def test_a_tiny_bandwidth_tells_everything_apart():
    np.testing.assert_array_equal(of_points(SEVERAL, "rbf", 1e-300), np.eye(6))


def test_standardising_leaves_gaps_and_takes_any_size():
    x = np.array([[1e300, 1.0, 4.0], [-1e300, np.nan, 4.0], [0.0, 3.0, np.nan]])
    z = standardised(x)
    np.testing.assert_array_equal(np.isnan(z), np.isnan(x))
    np.testing.assert_allclose(np.nanmean(z, axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(np.nanstd(z, axis=0), [1.0, 1.0, 0.0])


def test_centring_takes_off_the_mean_over_pairs():
    d = plain_distances(SEVERAL)
    assert mean_similarity(d) == pytest.approx(d[PAIRS].mean())
    assert centred(d)[PAIRS].mean() == pytest.approx(0)
    np.testing.assert_array_equal(centred(d, 0.5), d - 0.5)
    assert centred([[3.0]]).tolist() == [[3.0]]


def test_linkages_are_those_of_scipy():
    w = of_points(SEVERAL)
    apart = to_distances(w)
    np.testing.assert_allclose(apart[PAIRS], (w[PAIRS].max() - w[PAIRS]))
    for hierarchy, method in zip(linkages(w, list("abcdef")), ("average", "complete"), strict=True):
        assert hierarchy.labels == tuple("abcdef")
        np.testing.assert_allclose(hierarchy.cophenetic()[PAIRS], cophenet(linkage(squareform(apart), method)))
    of_negative = linkages(-distances(SEVERAL))
    np.testing.assert_array_equal(likeness(SEVERAL), -distances(SEVERAL))
    gaps = np.array([[1.0, 2.0], [3.0, np.nan], [5.0, 4.0]])
    filled = np.array([[1.0, 2.0], [3.0, 3.0], [5.0, 4.0]])
    np.testing.assert_allclose(
        likeness(gaps, filled=True), -distances((filled - filled.mean(axis=0)) / [np.sqrt(8 / 3), 1.0])
    )
    assert of_negative[0] == pal.Hierarchy.from_linkage(linkage(SEVERAL, "average"))
    assert [h.n_leaves for h in linkages([[0.0]])] == [1]


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: of_points([[1.0, 2.0], [0.0, 0.0]], "cosine"), ValueError, "row 1 .* is zero in every column"),
        (lambda: of_points([[2.0, 2.0], [0.0, 1.0]], "correlation"), ValueError, "row 0 .* has the same value"),
        (lambda: of_points(SEVERAL, "euclidean"), ValueError, "similarity is 'euclidean'; give one of 'rbf'"),
        (lambda: of_points([[np.nan], [1.0]]), ValueError, "entries must be finite"),
        (lambda: of_distances(np.zeros((2, 2)), "cosine"), ValueError, "of distances it is rbf or linear"),
        (lambda: of_distances([[0, -1], [-1, 0]]), ValueError, "distances hold -1 at row 0, column 1"),
        (lambda: of_points(SEVERAL, bandwidth=0.0), ValueError, "bandwidth is 0.0; give a positive number"),
        (lambda: of_points(SEVERAL, bandwidth="wide"), TypeError, "bandwidth must be a number"),
    ],
)
def test_messages(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize("model", ["dasgupta", "correlation"])
def test_the_command_line_and_scikit_learn_see_the_same_matrix(model, tmp_path, monkeypatch):
    sklearn = pytest.importorskip("palmette.sklearn")
    from palmette.cli import palmette
    from palmette.cli.asking.posteriors import infer_hierarchies
    from palmette.cli.commands import hierarchies as command

    seen = []

    def watched(made, *rest, **options):
        seen.append(made)
        return infer_hierarchies(made, *rest, **options)

    monkeypatch.setattr(command, "infer_hierarchies", watched)
    x = SEVERAL[[0, 1, 2, 3, 4, 5, 5]]  # two rows are the same
    file = tmp_path / "x.csv"
    file.write_text("\n".join(["a,b,c,d", *(",".join(map(repr, row)) for row in x.tolist())]), encoding="utf-8")
    words = ["hierarchies", str(file), "--model", model, "--no-standardise", "--quiet"]
    assert CliRunner().invoke(palmette, words, catch_exceptions=False).exit_code == 0
    fitted = sklearn.TrellisClustering(model=model).fit(x)
    np.testing.assert_array_equal(seen[0].pairwise, fitted.posterior_.model.pairwise)
    given_gamma = sklearn.TrellisClustering(model=model, gamma=fitted.gamma_).fit(x)
    np.testing.assert_allclose(given_gamma.posterior_.model.pairwise, seen[0].pairwise, rtol=1e-12, atol=1e-14)
