"""Bootstrap support: shares that can be counted, and AU where its law is known."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.cluster.hierarchy import linkage
from scipy.stats import norm

from palmette import Hierarchy, evaluate
from palmette.evaluate.bootstrap import approximately_unbiased


def average(x):
    return Hierarchy.from_linkage(linkage(x, "average"))


@given(v=st.floats(-1.5, 1.5), c=st.floats(-0.8, 0.8))
def test_au_is_that_of_the_law_of_scales(v, c):
    r = np.linspace(0.5, 1.4, 10)
    value, error = approximately_unbiased(norm.sf(v * np.sqrt(r) + c / np.sqrt(r)), r, 1000)
    assert value == pytest.approx(norm.cdf(c - v), abs=1e-9)
    assert 0.0 < error < 0.2


def test_its_error_is_how_much_it_varies():
    rng, r = np.random.default_rng(0), np.linspace(0.5, 1.4, 10)
    bp = norm.sf(-0.8 * np.sqrt(r) + 0.3 / np.sqrt(r))
    found = np.array([approximately_unbiased(rng.binomial(500, bp) / 500, r, 500) for _ in range(400)])
    assert found[:, 0].std() == pytest.approx(found[:, 1].mean(), rel=0.15)


@pytest.mark.parametrize(("share", "au"), [(1.0, 1.0), (0.0, 0.0)])
def test_what_is_always_or_never_there_has_no_slope(share, au):
    assert approximately_unbiased(np.full(10, share), np.linspace(0.5, 1.4, 10), 100) == (au, 0.0)


def test_one_scale_says_nothing_of_the_curvature():
    value, error = approximately_unbiased([0.0, 0.3, 0.5, 1.0], [0.5, 1.0, 1.0, 2.0], 100)
    assert value == pytest.approx(0.4)
    assert error == pytest.approx(np.sqrt(0.4 * 0.6 / 200))


@given(counts=st.lists(st.integers(0, 20), min_size=10, max_size=10), d=st.integers(2, 5))
def test_few_columns_and_few_draws_give_a_share_and_an_error(counts, d):
    scales = np.array([max(1, round(r * d)) for r in np.linspace(0.5, 1.4, 10)]) / d
    value, error = approximately_unbiased(np.array(counts) / 20, scales, 20)
    assert 0.0 <= value <= 1.0
    assert 0.0 <= error < np.inf


def test_bp_is_the_share_of_draws():
    x = np.random.default_rng(1).normal(size=(5, 4))
    rows = evaluate.bootstrap(x, average, n_draws=200, scales=[1.0], rng=3)
    generator, first = np.random.default_rng(3), average(x)
    counts = dict.fromkeys((c for c in first.clusters() if 1 < len(c) < 5), 0)
    for _ in range(200):
        again = set(average(x[:, generator.integers(4, size=4)]).clusters())
        for c in counts:
            counts[c] += c in again
    assert {frozenset(map(int, row.members)): row.bp for row in rows} == {c: k / 200 for c, k in counts.items()}
    assert [row.size for row in rows] == [len(row.members) for row in rows]


def test_groups_are_found_and_noise_is_not():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(8, 60))
    x[:4, :30] += 2.0
    rows = {row.members: row for row in evaluate.bootstrap(x, average, n_draws=60)}
    assert rows[("0", "1", "2", "3")].au > 0.95
    assert min(row.au for row in rows.values()) < 0.9
    again = {row.members: row for row in evaluate.bootstrap(x, average, n_draws=60)}
    assert rows == again


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"points": [[0.0], [1.0]]}, "two or more columns"),
        ({"scales": [0.5, 2.0]}, "1 has to be among them"),
        ({"scales": [1.0, -1.0]}, "a scale is -1.0"),
        ({"n_draws": 1}, "n_draws is 1"),
    ],
)
def test_bad_input_is_refused(options, message):
    given = {"points": np.eye(4), "cluster": average, **options}
    with pytest.raises(ValueError, match=message):
        evaluate.bootstrap(given.pop("points"), given.pop("cluster"), **given)


def test_what_makes_no_hierarchy_is_told():
    with pytest.raises(TypeError, match=r"expected a palmette\.Hierarchy with a leaf for each"):
        evaluate.bootstrap(np.eye(4), lambda x: x)


def test_threads_change_nothing():
    x = np.random.default_rng(4).normal(size=(6, 12))
    one, several = (list(evaluate.bootstrap(x, average, n_draws=30, threads=k)) for k in (1, 3))
    assert one == several


def test_other_clusters_can_be_asked_about():
    x = np.random.default_rng(1).normal(size=(5, 4))
    own = {row.members: row for row in evaluate.bootstrap(x, average, n_draws=50)}
    asked = [["0", "1"], [1, 0], *own, ["0", "1", "2", "3"]]
    rows = {row.members: row for row in evaluate.bootstrap(x, average, n_draws=50, clusters=asked)}
    assert set(rows) == {*own, ("0", "1"), ("0", "1", "2", "3")}
    assert all(rows[members] == row for members, row in own.items())
    generator, seen = np.random.default_rng(0), 0
    for scale in (2, 2, 3, 3, 4):
        draws = generator.integers(4, size=(50, scale))
    again = evaluate.bootstrap(x, average, n_draws=50, scales=[0.5, 0.6, 0.7, 0.8, 1.0], clusters=[["0", "1"]])
    seen = sum(frozenset({0, 1}) in average(x[:, columns]).clusters() for columns in draws)
    assert again[0].bp == seen / 50


def test_a_mistake_in_a_thread_is_told():
    def fails(points):
        if points.shape[1] > 4:
            raise ZeroDivisionError("no hierarchy today")
        return average(points)

    with pytest.raises(ZeroDivisionError, match="no hierarchy today"):
        evaluate.bootstrap(np.random.default_rng(0).normal(size=(5, 4)), fails, n_draws=20, threads=2)
