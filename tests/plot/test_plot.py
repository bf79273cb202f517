"""Pictures are checked by what is in them: data, order, words; and that they come out the same twice."""

from __future__ import annotations

import io
import sys

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.colors import to_rgb

import palmette as pal
from palmette import plot
from palmette.plot._axes import shown_names
from palmette.plot._cells import _is_light, _numbers
from palmette.plot._pairs import pair_log_potentials
from palmette.plot.affinity_against_coclustering import surprises

ODD = ["$a_1$", "b_{2}", r"\frac", "100%", "c^d & e#", "$", "_", "é ~"]


def chain(labels=None, beta=3.0):
    """Leaf 0 and leaf 1 repel each other a little, and both like leaf 2; leaf 3 likes nobody."""
    affinity = np.array([[0, -0.2, 2, -1], [-0.2, 0, 2, -1], [2, 2, 0, -1], [-1, -1, -1, 0.0]])
    model = pal.models.CorrelationClusters(affinity, beta, labels=labels)
    return model, pal.PartitionPosterior(model)


def random_problem(n, labels=None, seed=0):
    noise = np.random.default_rng(seed).normal(size=(n, n))
    model = pal.models.CorrelationClusters(noise + noise.T, labels=labels)
    return model, pal.PartitionPosterior(model)


def tick_words(axis):
    return [text.get_text() for text in axis.get_ticklabels()]


def words(ax):
    return [text.get_text() for text in ax.texts]


def png(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=60)
    return stream.getvalue()


def every_picture(model, post):
    draws = post.sample(50, rng=0)
    return [
        plot.heatmap(post.coclustering(), post.labels).figure,
        plot.affinities_and_coclustering(model, post),
        plot.affinity_against_coclustering(model, post).figure,
        plot.approximate_against_exact(draws, post).figure,
        plot.n_clusters(post).figure,
    ]


def test_without_matplotlib_the_message_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"pip install 'palmette\[plot\]'"):
        plot.n_clusters(chain()[1])


# Heat maps.


def test_a_heat_map_shows_the_matrix_in_the_order_that_is_asked_for():
    matrix = np.arange(9.0).reshape(3, 3)
    ax = plot.heatmap(matrix, ["a", "b", "c"], order=["c", 0, 1], colorbar_label="how much", title="A matrix")
    order = [2, 0, 1]
    np.testing.assert_array_equal(ax.images[0].get_array(), matrix[np.ix_(order, order)])
    assert tick_words(ax.xaxis) == tick_words(ax.yaxis) == ["c", "a", "b"]
    assert ax.get_title() == "A matrix"
    assert len(ax.figure.axes) == 2
    assert ax.figure.axes[1].get_ylabel() == "how much"
    assert words(ax)[:3] == ["8.00", "6.00", "7.00"]


def test_diverging_colours_are_centred():
    image = plot.heatmap([[0.0, -1.0], [-1.0, 5.0]], ["a", "b"], center=1.0).images[0]
    assert image.get_clim() == (-3.0, 5.0)
    assert image.get_cmap().name == "RdBu_r"
    image = plot.heatmap([[0.0, -1.0], [-1.0, 5.0]], ["a", "b"]).images[0]
    assert image.get_clim() == (-1.0, 5.0)
    assert plot.heatmap([[0.0, 0.5], [0.5, 0.0]], ["a", "b"], limits=(0.0, 1.0)).images[0].get_clim() == (0.0, 1.0)


@pytest.mark.parametrize(
    ("n", "annotate", "written", "named"),
    [
        (12, None, 144, 12),
        (13, None, 0, 13),
        (13, True, 169, 13),
        (4, False, 0, 4),
        (30, None, 0, 30),
        (31, None, 0, 0),
    ],
)
def test_numbers_and_names_are_there_while_there_is_room(n, annotate, written, named):
    ax = plot.heatmap(np.eye(n), [f"leaf {i}" for i in range(n)], annotate=annotate)
    assert len(ax.texts) == written
    assert len(tick_words(ax.xaxis)) == len(tick_words(ax.yaxis)) == named


def test_cells_that_are_not_finite_stay_blank():
    ax = plot.heatmap([[np.nan, 1.0], [-np.inf, np.inf]], ["a", "b"])
    np.testing.assert_array_equal(np.ma.getmaskarray(ax.images[0].get_array()), [[True, False], [True, True]])
    assert words(ax) == ["1.00"]
    png(plot.heatmap(np.full((2, 2), np.nan), ["a", "b"], center=0.0).figure)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, -0.001, 1.0], ["0.00", "0.00", "1.00"]),
        ([-9.999, 0.05, 2.0], ["−10.00", "0.05", "2.00"]),
        ([12.34, -1.0, 0.0], ["12.3", "−1.0", "0.0"]),
        ([-1234.5, 1.0, 0.2], ["−1234", "1", "0"]),
        ([0.0123, -0.02, 0.0], ["0.012", "−0.020", "0.000"]),
        ([2e-5, 0.0, -1e-5], ["2e−05", "0e+00", "−1e−05"]),
        ([2e7, 1.0, 0.0], ["2e+07", "1e+00", "0e+00"]),
        ([0.0, 0.0, 0.0], ["0.00", "0.00", "0.00"]),
    ],
)
def test_numbers_in_cells_are_short(values, expected):
    assert list(_numbers(np.array([values])).values()) == expected


def test_numbers_can_be_read_on_every_colour():
    for name in ("viridis", "RdBu_r"):
        for share in np.linspace(0, 1, 50):
            colour = matplotlib.colormaps[name](share)
            assert contrast(colour[:3], to_rgb("black" if _is_light(colour) else "white")) > 4.4


def contrast(one, two):
    def luminance(colour):
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour]
        return np.dot([0.2126, 0.7152, 0.0722], linear)

    dark, light = sorted([luminance(one), luminance(two)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 1], [0, 1, 2, 2], ["a", "b", "b"]])
def test_an_order_lists_every_leaf_once(order):
    with pytest.raises(ValueError, match="each of the 3 leaves once"):
        plot.heatmap(np.eye(3), ["a", "b", "c"], order=order)


def test_a_matrix_and_labels_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"shape \(3, 3\), and there are 2 labels"):
        plot.heatmap(np.eye(3), ["a", "b"])
    with pytest.raises(ValueError, match="for 4 leaves, the posterior for 3"):
        plot.affinities_and_coclustering(np.eye(4), pal.PartitionPosterior(pal.models.UniformPartitions(3)))


def test_affinities_and_coclustering_are_grouped_by_the_map_large_clusters_first():
    best = pal.Partition([0, 1, 2, 1, 1, 0], labels=list("uvwxyz"))
    same = best.membership[:, None] == best.membership
    model = pal.models.CorrelationClusters(np.where(same, 1.0, -1.0), beta=4, labels=best.labels)
    post = pal.PartitionPosterior(model)
    assert post.map() == best
    figure = plot.affinities_and_coclustering(model, post)
    left, right = figure.axes[:2]
    order = [1, 3, 4, 0, 5, 2]
    assert len(figure.axes) == 4
    assert tick_words(left.yaxis) == tick_words(right.xaxis) == list("vxyuzw")
    shown = np.ma.filled(left.images[0].get_array(), np.nan)
    np.testing.assert_allclose(shown, np.where(np.eye(6, dtype=bool), np.nan, 4 * model.affinity)[np.ix_(order, order)])
    np.testing.assert_array_equal(right.images[0].get_array(), post.coclustering()[np.ix_(order, order)])
    assert right.images[0].get_clim() == (0.0, 1.0)
    boxes = {(*patch.get_xy(), patch.get_width()) for patch in right.patches}
    assert boxes == {(-0.5, -0.5, 3), (2.5, 2.5, 2), (4.5, 4.5, 1)}


def test_affinities_may_be_a_matrix_and_the_order_may_be_given():
    model, post = chain()
    figure = plot.affinities_and_coclustering(model.affinity, post, order=[3, 2, 1, 0])
    left = figure.axes[0]
    assert left.images[0].get_array()[0, 1] == -1.0
    assert figure.axes[2].get_ylabel() == "affinity"
    assert len(left.patches) == 4  # {3} and {0, 1, 2}, each in white and in black


# Scatter plots.


def test_every_pair_is_a_point_and_the_most_surprising_ones_are_named():
    model, post = chain(list("abcd"))
    ax = plot.affinity_against_coclustering(model, post, annotate=1)
    found = np.vstack([np.asarray(points.get_offsets()) for points in ax.collections])
    i, j = np.triu_indices(4, 1)
    expected = np.column_stack([3 * model.affinity[i, j], post.coclustering()[i, j]])
    np.testing.assert_allclose(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])
    assert words(ax) == ["a – b"]
    assert words(plot.affinity_against_coclustering(model, post, annotate=0)) == []
    together, apart = (np.asarray(points.get_offsets()) for points in ax.collections)
    assert len(together) == 3
    assert (together[:, 1] > 0.5).all()
    assert (apart[:, 1] < 0.5).all()


def test_surprise_is_the_distance_from_what_the_pair_has_alone():
    _, alone = random_problem(2)
    log_odds = pair_log_potentials(alone.model, alone.labels)[0, 1]
    assert alone.coclustering()[0, 1] == pytest.approx(1 / (1 + np.exp(-log_odds)))
    assert surprises(np.array([40.0, -4.7, -40.0]), np.array([0.9, 0.99, 1.0])) == [2, 1, 0]


def test_pair_log_potentials_of_any_model_follow_the_labels():
    points = np.array([[0.0], [0.1], [3.0]])
    model = pal.models.DirichletProcess(points, 1.5, pal.likelihoods.NormalGamma(), labels=["a", "b", "c"])
    found = pair_log_potentials(model, ["c", "a", "b"])
    for i, one in enumerate("cab"):
        for j, two in enumerate("cab"):
            if i != j:
                joined = pal.Partition.from_clusters([{one, two}, set("abc") - {one, two}])
                apart = pal.Partition([0, 1, 2], labels=["a", "b", "c"])
                difference = model.log_potential(joined) - model.log_potential(apart)
                assert found[i, j] == pytest.approx(difference)


def test_impossible_pairs_are_left_out():
    model = pal.models.ClusterFunction(4, lambda masks: np.where(masks == 0b0011, -np.inf, 0.0))
    post = pal.PartitionPosterior(model)
    ax = plot.affinity_against_coclustering(model, post)
    assert sum(len(points.get_offsets()) for points in ax.collections) == 5
    image = plot.affinities_and_coclustering(model, post).axes[0].images[0]
    assert np.ma.getmaskarray(image.get_array()).sum() == 4 + 2


def test_names_of_points_neither_overlap_nor_leave_the_picture():
    model, post = random_problem(9, [f"sample {i}" for i in range(9)])
    ax = plot.affinity_against_coclustering(model, post, annotate=6)
    ax.figure.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in ax.texts]
    frame = ax.get_window_extent()
    for k, box in enumerate(boxes):
        assert not any(box.overlaps(other) for other in boxes[:k])
        assert frame.x0 <= box.x0 < box.x1 <= frame.x1
        assert frame.y0 <= box.y0 < box.y1 <= frame.y1


def test_deviations_from_the_exact_values_are_written_in_the_picture():
    exact = np.array([[1, 0.5, 0.2], [0.5, 1, 0.9], [0.2, 0.9, 1]])
    approximate = np.array([[1, 0.6, 0.5], [0.6, 1, 0.7], [0.5, 0.7, 1]])
    ax = plot.approximate_against_exact(approximate, exact)
    np.testing.assert_allclose(ax.collections[0].get_offsets(), [[0.5, 0.6], [0.2, 0.5], [0.9, 0.7]])
    assert words(ax) == ["largest deviation 0.300\nmean deviation 0.200"]
    assert ax.texts[0].get_ha() == "right"  # above the diagonal are the points
    assert plot.approximate_against_exact(exact, approximate).texts[0].get_ha() == "left"


def test_labels_of_the_approximation_are_matched():
    model, post = chain(list("abcd"))
    other = pal.models.CorrelationClusters(model.affinity[::-1, ::-1], 3, labels=list("dcba"))
    ax = plot.approximate_against_exact(pal.PartitionPosterior(other), post)
    assert words(ax)[0].startswith("largest deviation 0.000")


def test_matrices_of_different_sizes_are_refused():
    with pytest.raises(ValueError, match="1 and 3 pairs"):
        plot.approximate_against_exact(np.eye(2), np.eye(3))
    with pytest.raises(ValueError, match=r"not shape \(2, 3\)"):
        plot.approximate_against_exact(np.ones((2, 3)), np.eye(3))


# The number of clusters.


def test_bars_are_the_probabilities_without_their_empty_ends():
    post = pal.PartitionPosterior(pal.models.UniformPartitions(12))
    ax = plot.n_clusters(post)
    numbers = [round(bar.get_x() + bar.get_width() / 2) for bar in ax.patches]
    expected = post.n_clusters_probabilities()
    assert numbers == list(range(3, 10))
    np.testing.assert_array_equal([bar.get_height() for bar in ax.patches], expected[3:10])
    assert (expected[[1, 2, 10, 11, 12]] < 5e-4).all()


def test_draws_have_their_shares_as_bars():
    draws = pal.PartitionPosterior(pal.models.UniformPartitions(5)).sample(200, rng=0)
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in plot.n_clusters(draws).patches}
    assert heights[3] == (draws.n_clusters == 3).mean()
    assert sum(heights.values()) == pytest.approx(1.0)


# All pictures.


def test_labels_are_shown_letter_by_letter():
    model, post = random_problem(len(ODD), ODD)
    figure = plot.affinities_and_coclustering(model, post, order=range(len(ODD)))
    assert tick_words(figure.axes[0].yaxis) == ODD
    shown = figure.axes[0].yaxis.get_ticklabels()
    assert not any(text.get_parse_math() or text.get_usetex() for text in shown)
    notes = plot.affinity_against_coclustering(model, post).texts
    assert len(notes) == 3
    assert not any(text.get_parse_math() for text in notes)


def test_long_names_lose_their_middle_and_stay_apart():
    long = "x" * 200
    assert shown_names(["short", "two\nlines"]) == ["short", "two lines"]
    assert len(shown_names([long])[0]) == 28
    assert len(set(shown_names([f"{long}{i}{long}" for i in range(5)]))) == 5
    model, post = random_problem(3, [f"{i}{long}" for i in range(3)])
    for figure in every_picture(model, post):
        assert png(figure)
        assert max(figure.get_size_inches()) < 20


@pytest.mark.parametrize("n", [1, 2])
def test_few_leaves_are_ordinary(n):
    for figure in every_picture(*random_problem(n)):
        assert png(figure)


def test_the_same_picture_twice_is_the_same_bytes_and_nothing_is_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("a picture was shown"))
    model, post = chain(["$x_$", r"\frac", "$", "_"])  # mathematics that is none would raise
    for one, two in zip(every_picture(model, post), every_picture(model, post), strict=True):
        first = png(one)
        assert first == png(one)
        assert first == png(two)
        two.savefig(tmp_path / "picture.svg")


def test_given_axes_are_drawn_on_also_those_of_a_part_of_a_figure():
    model, post = chain()
    part = plt.figure(figsize=(16, 8), layout="constrained").subfigures(1, 2)[1]
    axes = part.subplots(2, 2).ravel()
    assert plot.heatmap(post.coclustering(), post.labels, ax=axes[0]) is axes[0]
    assert plot.affinity_against_coclustering(model, post, ax=axes[1]) is axes[1]
    assert plot.approximate_against_exact(post, post, ax=axes[2]) is axes[2]
    assert plot.n_clusters(post, ax=axes[3]) is axes[3]
    assert len(plt.get_fignums()) == 1


def test_draws_stand_in_for_a_posterior():
    model, post = chain()
    draws = post.sample(100, rng=1)
    figure = plot.affinities_and_coclustering(model, draws, order=range(4))
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), draws.coclustering())
    assert len(words(plot.affinity_against_coclustering(model, draws))) == 3


def test_chains_stand_in_for_a_posterior_and_have_errors():
    model, post = chain()
    sampled = pal.sampling.sample_partitions(model, seconds=None, sweeps=200)
    together = sampled.coclustering().values
    figure = plot.affinities_and_coclustering(model, sampled, order=range(4))
    np.testing.assert_array_equal(figure.axes[1].images[0].get_array(), together)
    assert len(words(plot.affinity_against_coclustering(model, sampled))) == 3
    points = plot.approximate_against_exact(sampled, post).collections[0].get_offsets()
    np.testing.assert_allclose(points[:, 1], together[np.triu_indices(4, 1)])
    shares, errors = sampled.n_clusters_probabilities()
    ax = plot.n_clusters(sampled)
    heights = {round(bar.get_x() + bar.get_width() / 2): bar.get_height() for bar in ax.patches}
    assert heights == {k: shares[k] for k in heights}
    (lines,) = ax.collections
    lengths = [segment[1, 1] - segment[0, 1] for segment in lines.get_segments()]
    np.testing.assert_allclose(lengths, [2 * errors[k] for k in heights])
    best = sampled.best(2)
    heads = [text for text in words(plot.alternatives(sampled, 2).axes[0]) if "\n" in text]
    assert heads == ["1.\nbest\nfound", f"2.\nlog φ\n−{best[0][1] - best[1][1]:.3g}"]
    ax = plot.heatmap_with_dendrogram(sampled).axes[0]
    order = [post.labels.index(label.get_text()) for label in ax.get_yticklabels()]
    np.testing.assert_array_equal(np.ma.filled(ax.images[0].get_array(), 1.0), together[np.ix_(order, order)])
    assert not plot.n_clusters(post).collections
