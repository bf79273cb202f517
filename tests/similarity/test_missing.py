"""Points with gaps: two rows are compared over the columns that both have, as a loop over pairs does it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from palmette.similarity import KINDS, completed, distances, of_distances, of_points, overlaps

GAPPY = np.random.default_rng(3).normal(size=(9, 14))
GAPPY[np.random.default_rng(4).random(GAPPY.shape) < 0.2] = np.nan


def slow(x, kind):
    """The same by a loop over pairs, and None where a pair has no answer."""
    n, d = x.shape
    least = {"distance": 1, "cosine": 2, "correlation": 3}[kind]
    found = np.full((n, n), 0.0 if kind == "distance" else 1.0)
    for i in range(n):
        for j in range(i):
            both = ~np.isnan(x[i]) & ~np.isnan(x[j])
            a, b = x[i, both], x[j, both]
            if both.sum() < least:
                return None
            if kind == "distance":
                found[i, j] = found[j, i] = np.sqrt(((a - b) ** 2).sum() * d / both.sum())
                continue
            if kind == "correlation":
                a, b = a - a.mean(), b - b.mean()
            lengths = np.linalg.norm(a), np.linalg.norm(b)
            if min(lengths) <= 1e-9:
                return None
            found[i, j] = found[j, i] = a @ b / lengths[0] / lengths[1]
    return found


@given(
    st.integers(1, 7),
    st.integers(1, 8),
    st.floats(0, 0.6),
    st.integers(0, 10_000),
    st.sampled_from(["distance", "cosine", "correlation"]),
    st.booleans(),
)
def test_pairs_are_compared_over_the_columns_that_both_have(n, d, share, seed, kind, whole):
    rng = np.random.default_rng(seed)
    x = rng.integers(-2, 3, size=(n, d)).astype(float) if whole else rng.normal(size=(n, d))
    x[rng.random(x.shape) < share] = np.nan
    x[rng.integers(n), rng.integers(d)] = np.nan
    expected = slow(x, kind)
    ask = (
        (lambda: distances(x, missing="pairwise"))
        if kind == "distance"
        else (lambda: of_points(x, kind, missing="pairwise"))
    )
    if expected is None:
        with pytest.raises(ValueError, match="share"):
            ask()
    else:
        found = ask()
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-9)
        np.testing.assert_array_equal(found, found.T)


def test_other_libraries_agree():
    metrics = pytest.importorskip("sklearn.metrics.pairwise")
    np.testing.assert_allclose(
        of_points(GAPPY, "correlation", missing="pairwise"), pd.DataFrame(GAPPY.T).corr().to_numpy(), atol=1e-12
    )
    np.testing.assert_allclose(distances(GAPPY, missing="pairwise"), metrics.nan_euclidean_distances(GAPPY), atol=1e-12)
    between = metrics.nan_euclidean_distances(GAPPY)
    for kind in ("rbf", "linear"):
        np.testing.assert_allclose(of_points(GAPPY, kind, missing="pairwise"), of_distances(between, kind), atol=1e-12)


@pytest.mark.parametrize("offset", [1e3, 1e7])
def test_digits_are_not_lost(offset):
    """Rows that are nearly the same, far from 0; and rows with one entry, which others miss, far from all others."""
    rng = np.random.default_rng(1)
    x = offset + np.repeat(rng.normal(size=(4, 12)), 2, axis=0) + 1e-3 * rng.normal(size=(8, 12))
    x[rng.random(x.shape) < 0.1] = np.nan
    x[0, :2] = np.nan
    np.testing.assert_allclose(distances(x, missing="pairwise"), slow(x, "distance"), rtol=1e-6)
    far = rng.normal(size=(6, 12))
    far[::2, 0], far[1::2, 0] = offset * np.array([1.0, -3.0, 5.0]), np.nan
    np.testing.assert_allclose(
        of_points(far, "correlation", missing="pairwise"), slow(far, "correlation"), rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_the_unit_does_not_matter(kind, scale):
    expected = of_points(GAPPY, kind, missing="pairwise")
    np.testing.assert_allclose(of_points(GAPPY * scale, kind, missing="pairwise"), expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("missing", ["pairwise", "mean", "drop-columns", "refuse"])
def test_without_gaps_nothing_changes(kind, missing):
    x = np.nan_to_num(GAPPY)
    np.testing.assert_array_equal(of_points(x, kind, missing=missing), of_points(x, kind))


@pytest.mark.parametrize("kind", KINDS)
def test_means_and_fewer_columns(kind):
    means = np.nanmean(GAPPY, axis=0)
    filled = np.where(np.isnan(GAPPY), means, GAPPY)
    np.testing.assert_allclose(of_points(GAPPY, kind, missing="mean"), of_points(filled, kind), atol=1e-13)
    few = GAPPY.copy()
    few[:, :4] = np.nan_to_num(few[:, :4])
    kept = few[:, ~np.isnan(few).any(axis=0)]
    assert 4 <= kept.shape[1] < 14
    np.testing.assert_array_equal(of_points(few, kind, missing="drop-columns"), of_points(kept, kind))
    np.testing.assert_array_equal(completed(few, "drop-columns"), kept)


def test_masked_arrays_have_gaps():
    masked = np.ma.masked_invalid(GAPPY)
    np.testing.assert_array_equal(distances(masked, missing="pairwise"), distances(GAPPY, missing="pairwise"))


def test_columns_that_are_shared_are_counted():
    known = ~np.isnan(GAPPY)
    assert overlaps(GAPPY).tolist() == [[int((a & b).sum()) for b in known] for a in known]


NAN = np.nan


@pytest.mark.parametrize(
    ("points", "options", "message"),
    [
        ([[1, NAN], [NAN, 2], [1, 2]], {}, "rows 0 and 1 share no columns .* a distance needs 1"),
        ([[1, NAN], [NAN, 2], [3, NAN]], {"labels": ["a", "b", "c"]}, r"rows 'a' and 'b' .* \(and 1 more pairs do\)"),
        ([[1, 2, NAN], [1, 3, 3]], {"kind": "correlation"}, "rows 0 and 1 share 2 columns .* a correlation needs 3"),
        ([[1, NAN], [2, 3]], {"kind": "cosine"}, "share 1 column in which .* a cosine needs 2"),
        (
            [[1, 2, 3, 4], [5, 5, 5, NAN]],
            {"kind": "correlation", "labels": ["a", "b"]},
            "rows 'a' and 'b' share 3 columns, and row 'b' has the same value in all of these",
        ),
        ([[0, 0, 1], [1, 2, NAN]], {"kind": "cosine"}, "row 0 has nothing but 0 in all of these"),
        ([[1, NAN], [2, NAN]], {"missing": "mean"}, "column 1 has no entry at all"),
        ([[NAN, NAN], [2, 1]], {"missing": "mean"}, "row 0 has no entry at all"),
        ([[NAN, 1], [2, NAN]], {"missing": "drop-columns"}, "every column has missing entries"),
        ([[NAN, 1], [2, NAN]], {"missing": "refuse"}, r"nan at row 0, column 0 \(and 1 more\).*'pairwise', 'mean'"),
        ([[NAN, 1], [2, NAN]], {"missing": "median"}, "missing is 'median'; give one of 'pairwise'"),
        ([[np.inf, 1], [2, NAN]], {}, "entries must be finite, or NaN"),
    ],
)
def test_messages(points, options, message):
    with pytest.raises(ValueError, match=message):
        of_points(points, **{"missing": "pairwise", **options})
