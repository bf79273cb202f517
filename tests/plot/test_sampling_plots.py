"""Pictures of chains: what they show is what the chains say, and chains that disagree are seen to."""

from __future__ import annotations

import io
from types import SimpleNamespace

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.collections import PathCollection
from matplotlib.colors import to_rgb
from matplotlib.text import Text

import palmette as pal
from palmette import plot
from palmette.plot._chains import chain_colours
from palmette.plot._places import common_order
from palmette.sampling import sample_hierarchies
from palmette.sampling.verdict import Verdict

POINTS = np.random.default_rng(1).normal(size=(10, 2))
ROW, COLUMN = np.divmod(np.arange(16), 4)


def two_answers(beta=5.0):
    """A grid: leaves are alike in a row, and as much so in a column; chains stay with the answer that they begin at."""
    similarity = 1.0 * (ROW[:, None] == ROW) + 1.0 * (COLUMN[:, None] == COLUMN)
    np.fill_diagonal(similarity, 0.0)
    labels = [f"${row}_{column}$" for row, column in zip(ROW, COLUMN, strict=True)]
    return pal.models.Dasgupta(similarity, beta=beta, labels=labels)


def frozen(parts):
    """A hierarchy of the grid with these four clusters of four."""
    a, b, c, d = (((w, x), (y, z)) for w, x, y, z in parts.tolist())
    return pal.Hierarchy.from_nested(((a, b), (c, d)), two_answers().labels)


@pytest.fixture(scope="module")
def agreeing():
    return sample_hierarchies(pal.models.SumOfSquares(POINTS), seconds=None, precision=0.005)


@pytest.fixture(scope="module")
def disagreeing():
    grid = np.arange(16).reshape(4, 4)
    starts = [frozen(grid), frozen(grid.T), frozen(grid)]
    return sample_hierarchies(two_answers(), seconds=None, sweeps=100, n_chains=3, starts=starts)


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    yield
    plt.close("all")


def words(ax):
    return [text.get_text() for text in ax.texts]


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def dots_of(ax, colour):
    drawn = [found for found in ax.collections if isinstance(found, PathCollection) and len(found.get_offsets())]
    return np.concatenate([c.get_offsets() for c in drawn if np.allclose(c.get_facecolor()[0, :3], to_rgb(colour))])


# What the posterior says of its clusters.


def test_diagnostics_are_those_of_the_verdict(agreeing, disagreeing):
    for post in (agreeing, disagreeing):
        rows = post.cluster_diagnostics()
        assert len(rows) > 5
        r_hat = [row.r_hat for row in rows]
        assert r_hat == sorted(r_hat, reverse=True)
        assert r_hat[0] <= post.verdict.r_hat
        assert min(row.effective_size for row in rows) >= post.verdict.effective_size
        assert (r_hat[0] > Verdict.largest_r_hat) == (not post.verdict.agree)
        for row in rows[:10]:
            estimate = post.cluster_probability(row.members)
            assert (row.probability, row.standard_error) == (estimate.value, estimate.standard_error)
            assert 0.01 < row.probability < 0.99
            assert row.size == len(row.members)


def test_frequencies_and_indicators_go_with_the_diagnostics(agreeing):
    rows, frequencies, occurs = (
        agreeing.cluster_diagnostics(),
        agreeing.cluster_frequencies(),
        agreeing.cluster_indicators(),
    )
    assert occurs.shape == (agreeing.n_chains, agreeing.n_draws, len(rows))
    np.testing.assert_allclose(occurs.mean(axis=1), frequencies)
    smoothed = np.array([[row.probability, row.standard_error] for row in rows])
    assert (np.abs(frequencies.mean(axis=0) - smoothed[:, 0]) < 5 * smoothed[:, 1] + 0.01).all()
    members = {agreeing.labels.index(label) for label in rows[0].members}
    first = [frozenset(members) in agreeing.draws[i].clusters() for i in range(50)]
    assert first == occurs[0, :50, 0].tolist()


def test_an_answer_keeps_its_own_number_of_sweeps(monkeypatch):
    monkeypatch.setattr("palmette.sampling.chains._ROOM", 64)
    post = sample_hierarchies(pal.models.SumOfSquares(POINTS), seconds=None, sweeps=64, precision=1e-9)
    later = post.resume(seconds=None, sweeps=64, precision=1e-9)
    assert (post.sweeps_per_draw, later.sweeps_per_draw) == (1, 2)


# Traces.


def test_every_chain_has_its_draws_and_its_means(agreeing):
    ax = plot.traces(agreeing)
    faint, strong = (sorted_by_width(ax)[i : i + agreeing.n_chains] for i in (0, agreeing.n_chains))
    for line, chain, colour in zip(faint, agreeing.log_potentials, chain_colours(6), strict=True):
        np.testing.assert_array_equal(line.get_ydata(), chain)
        assert line.get_color() == colour
    for line, chain in zip(strong, agreeing.log_potentials, strict=True):
        assert len(line.get_ydata()) == 40
        assert np.mean(line.get_ydata()) == pytest.approx(chain.mean(), abs=0.05)
    assert legend(ax) == [f"chain {i}" for i in range(1, 7)]
    assert ax.get_title(loc="left").startswith("converged: R̂ up to 1.0")


def sorted_by_width(ax):
    return sorted(ax.lines, key=lambda line: line.get_linewidth())


def test_sweeps_are_counted_from_the_beginning_of_the_chains(monkeypatch):
    monkeypatch.setattr("palmette.sampling.chains._ROOM", 32)
    post = sample_hierarchies(pal.models.SumOfSquares(POINTS), seconds=None, sweeps=100, precision=1e-9)
    sweeps = plot.traces(post).lines[0].get_xdata()
    assert (sweeps[0], sweeps[1], sweeps[-1]) == (28, 32, 100)


def test_traces_of_anything_that_has_log_potentials():
    verdict = Verdict(14, 9, np.inf, 14.0, 0.1, 0.1, ())
    values = np.random.default_rng(0).normal(size=(14, 9))
    _, given = plt.subplots()
    ax = plot.traces(SimpleNamespace(log_potentials=values, verdict=verdict, sweeps_per_draw=3), ax=given)
    assert ax is given
    assert ax.lines[0].get_xdata().tolist() == list(range(3, 28, 3))
    assert ax.get_legend() is None  # of so many
    assert ax.get_title(loc="left") == "not converged: R̂ up to ∞, 14 effective draws or more"


# Pictures of any posterior.


def test_chains_have_the_best_that_were_found_as_alternatives_and_how_far_each_is_below(agreeing):
    best = agreeing.best(3)
    figure = plot.alternatives(agreeing, 3)
    gaps = [f"log φ −{best[0][1] - value:.3g}" for _, value in best]
    assert [ax.get_title() for ax in figure.axes] == ["1.  best found", f"2.  {gaps[1]}", f"3.  {gaps[2]}"]
    order = common_order(best[0][0], agreeing.expected_lca_size().values)
    assert [label.get_text() for label in figure.axes[-1].get_yticklabels()] == [agreeing.labels[i] for i in order]


def test_the_matrix_beside_a_dendrogram_is_the_expectation_of_the_chains(agreeing):
    ax = plot.heatmap_with_dendrogram(agreeing).axes[0]
    order = [agreeing.labels.index(label.get_text()) for label in ax.get_yticklabels()]
    expected = agreeing.expected_lca_size().values[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), np.nan), expected)


# Convergence.


def test_where_chains_agree_all_dots_are_grey_and_near_the_diagonal(agreeing):
    ax = plot.convergence(agreeing)
    dots = dots_of(ax, "#999999")
    assert sorted(dots[:, 1]) == sorted(agreeing.cluster_frequencies().ravel())
    assert np.abs(dots[:, 0] - dots[:, 1]).max() < 0.1
    assert words(ax) == []
    assert legend(ax) == ["R̂ up to 1.02"]
    first, second = ax.get_title(loc="left").splitlines()
    assert first.startswith("converged")
    assert second == f"chains disagree on none of {len(agreeing.cluster_diagnostics())} clusters"


def test_where_chains_disagree_each_is_seen_and_the_worst_clusters_are_named(disagreeing):
    ax = plot.convergence(disagreeing)
    rows, frequencies = disagreeing.cluster_diagnostics(), disagreeing.cluster_frequencies()
    apart = np.array([row.r_hat > 1.02 for row in rows])
    for chain, colour in enumerate(chain_colours(3)):
        dots = dots_of(ax, colour)
        np.testing.assert_array_equal(dots[:, 1], frequencies[chain, apart])
        assert np.abs(dots[:, 0] - frequencies.mean(axis=0)[apart]).max() < 0.02
    named = {row.members for row in rows if np.isinf(row.r_hat)}
    assert len(words(ax)) == 3
    assert {" ".join(members[:3]) + " +1" for members in named} >= set(words(ax))
    assert ax.get_title(loc="left").startswith("not converged: R̂ up to ∞")
    assert f"chains disagree on {apart.sum()} of {len(rows)} clusters" in ax.get_title(loc="left")
    assert words(plot.convergence(disagreeing, annotate=0)) == []


def test_names_and_words_stay_apart_and_inside(disagreeing):
    ax = plot.convergence(disagreeing)
    ax.figure.draw_without_rendering()
    boxes = [Text.get_window_extent(text) for text in ax.texts] + [ax.get_legend().get_window_extent()]
    boxes.append(ax._left_title.get_window_extent())
    assert not any(box.overlaps(other) for at, box in enumerate(boxes) for other in boxes[:at])
    frame = ax.figure.bbox
    assert all(frame.x0 <= box.x0 and box.x1 <= frame.x1 and box.y1 <= frame.y1 for box in boxes)
    assert ax.get_window_extent().width > 0.7 * frame.width


@pytest.mark.parametrize("n", [1, 3])
def test_few_leaves_have_few_clusters(n):
    post = sample_hierarchies(pal.models.SumOfSquares(np.arange(float(n))[:, None]), seconds=None, sweeps=40)
    assert len(post.cluster_diagnostics()) == (3 if n == 3 else 0)
    plot.traces(post).figure.savefig(io.BytesIO())
    plot.convergence(post).figure.savefig(io.BytesIO())


def test_one_chain_can_be_drawn():
    post = sample_hierarchies(pal.models.SumOfSquares(POINTS), seconds=None, sweeps=40, n_chains=1)
    ax = plot.convergence(post)
    assert legend(plot.traces(post)) == ["chain 1"]
    assert ax.get_title(loc="left").startswith("not converged")


def test_the_same_picture_twice_is_the_same_bytes(disagreeing):
    for picture in (plot.traces, plot.convergence):
        first, second = io.BytesIO(), io.BytesIO()
        for stream in (first, second):
            picture(disagreeing).figure.savefig(stream, format="png", dpi=50)
        assert first.getvalue() == second.getvalue()


@pytest.mark.parametrize("picture", [plot.traces, plot.convergence])
def test_an_exact_posterior_has_no_chains(picture):
    with pytest.raises(TypeError, match="an answer of chains, as sample_hierarchies gives it, not HierarchyPosterior"):
        picture(pal.HierarchyPosterior(pal.models.SumOfSquares(POINTS[:4]), progress=False))
