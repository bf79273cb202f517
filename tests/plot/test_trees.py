"""Pictures of hierarchies: what is drawn where, and that awkward ones come out readable."""

from __future__ import annotations

import io

import matplotlib
import numpy as np
import pandas
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt
from matplotlib.collections import LineCollection
from matplotlib.colors import to_rgb, to_rgba
from matplotlib.legend import Legend

import palmette as pal
from palmette import plot
from palmette.plot._places import common_order, curves, mean_rows, relative_heights, rows_of, sorted_by

ODD = ["$a_1$", "b_{2}", r"\frac", "100%", "c^d & e#", "$", "_", "é ~"]
NUMERALS = pal.datasets.load_numerals()


@pytest.fixture(scope="module")
def post():
    return pal.HierarchyPosterior(pal.models.Dasgupta(NUMERALS.similarity, 4.0, labels=NUMERALS.labels))


@pytest.fixture(scope="module")
def flat():
    affinity = NUMERALS.similarity - NUMERALS.similarity[np.triu_indices(12, 1)].mean()
    return pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, 10.0, labels=NUMERALS.labels))


def small(labels):
    points = np.random.default_rng(len(labels)).normal(size=(len(labels), 2))
    return pal.HierarchyPosterior(pal.models.SumOfSquares(points, labels=labels))


def random_hierarchy(n, seed=0, **values):
    rng = np.random.default_rng(seed)
    nodes, merges = list(range(n)), []
    for new in range(n, 2 * n - 1):
        merges.append([nodes.pop(rng.integers(len(nodes))) for _ in range(2)])
        nodes.append(new)
    return pal.Hierarchy.from_merges(np.array(merges).reshape(-1, 2), [f"leaf {i}" for i in range(n)], **values)


def words(ax):
    return [text.get_text() for text in ax.texts]


def names(ax, axis="y"):
    return [text.get_text() for text in getattr(ax, f"get_{axis}ticklabels")()]


def lines(ax):
    return [np.array(path) for c in ax.collections if isinstance(c, LineCollection) for path in c.get_segments()]


def png(figure):
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=50)
    return stream.getvalue()


def every_picture(post, classes=None):
    return [
        plot.dendrogram(post, classes=classes).figure,
        plot.dendrogram(post.consensus(), classes=classes, orientation="top").figure,
        plot.cloud(post, size=40, classes=classes).figure,
        plot.cloud(post.sample(20, rng=1), consensus=post.map(), classes=classes).figure,
        plot.heatmap_with_dendrogram(post, classes=classes),
        plot.alternatives(post, 2, classes=classes),
    ]


# One hierarchy.


def test_a_posterior_is_drawn_as_its_map_with_probabilities(post):
    ax = plot.dendrogram(post)
    best = post.map()
    assert names(ax) == [best.labels[leaf] for leaf in best.leaf_order]
    inner = [c for c in best.clusters() if 1 < len(c) < 12]
    assert sorted(words(ax)) == sorted(f"{post.cluster_probability(cluster):.2f}" for cluster in inner)
    assert len(lines(ax)) == best.n_nodes - 1


def test_a_posterior_is_drawn_at_the_heights_of_its_model_or_by_its_shape(post):
    best = post.map()
    heights, steps = post.model.heights(best)[best.n_leaves :], best.heights[best.n_leaves :]
    for picture in (plot.dendrogram, beside):
        assert {round(x, 9) for line in lines(picture(post)) for x in line[1:, 0]} == set(heights.round(9))
        assert {x for line in lines(picture(post, heights=False)) for x in line[1:, 0]} == set(steps)
    assert plot.dendrogram(post).get_xlabel() == "height"
    assert plot.dendrogram(post, heights=False).get_xlabel() == ""
    scaled = pal.Hierarchy.from_newick("((a:1,b:1):2,c:3);")
    assert {x for line in lines(plot.dendrogram(scaled, heights=False)) for x in line[1:, 0]} == {1.0, 2.0}
    graph = pal.HierarchyPosterior(pal.models.HierarchicalRandomGraph(np.eye(6)[::-1]))
    assert plot.dendrogram(graph).get_xlabel() == ""


def beside(posterior, **options):
    return plot.heatmap_with_dendrogram(posterior, annotate=False, **options).axes[0].child_axes[0]


def test_a_cluster_of_leaves_that_are_alike_is_seen():
    ax = plot.dendrogram(pal.HierarchyPosterior(pal.models.SumOfSquares([[0.0], [0.0], [7.0]])))
    assert min(line[:, 0].max() for line in lines(ax)) == 0.0
    assert ax.get_xlim()[1] < 0.0


def test_branches_are_brackets_at_the_heights_and_the_root_is_on_its_side():
    hierarchy = pal.Hierarchy.from_newick("((a:1,b:1):2,c:3);")
    for orientation, axis, inverted in [
        ("left", "x", True),
        ("right", "x", False),
        ("top", "y", False),
        ("bottom", "y", True),
    ]:
        ax = plot.dendrogram(hierarchy, orientation=orientation)
        found = [line if axis == "x" else line[:, ::-1] for line in lines(ax)]
        expected = [
            [[0, 0], [1, 0], [1, 0.5]],
            [[0, 1], [1, 1], [1, 0.5]],
            [[0, 2], [3, 2], [3, 1.25]],
            [[1, 0.5], [3, 0.5], [3, 1.25]],
        ]
        np.testing.assert_allclose(sorted(line.tolist() for line in found), expected)
        assert getattr(ax, f"{axis}axis_inverted")() == inverted
        assert getattr(ax, f"get_{axis}label")() == "height"
        assert names(ax, "y" if axis == "x" else "x") == ["a", "b", "c"]


def test_leaves_that_end_early_are_led_to_their_names():
    ax = plot.dendrogram(pal.Hierarchy.from_newick("((a:1,b:2):1,c:1.5);"))
    dotted = ax.collections[1].get_segments()
    np.testing.assert_allclose(sorted(np.array(dotted).tolist()), [[[1, 0], [0, 0]], [[1.5, 2], [0, 2]]])


def test_a_polytomy_has_all_its_branches():
    ax = plot.dendrogram(pal.Hierarchy.from_newick("((a,b,c,d)0.7,e,f);"))
    assert len(lines(ax)) == 7
    assert words(ax) == ["0.70"]
    assert sum(line[1, 0] == 2.0 for line in lines(ax)) == 3


def test_support_may_come_from_anywhere_and_darkens_its_branch(post):
    hierarchy = pal.Hierarchy.from_newick("((a,b),(c,d));")
    of_clusters = plot.dendrogram(hierarchy, support={frozenset({0, 1}): 0.25, frozenset({2, 3}): 1.0})
    assert sorted(words(of_clusters)) == ["0.25", "1.00"]
    shades = [to_rgb(tuple(colour[:3]))[0] for colour in of_clusters.collections[0].get_colors()]
    assert shades[0] > 0.6  # the faint one is drawn first
    assert max(shades[1:]) < 0.25
    per_cent = plot.dendrogram(hierarchy, support=[np.nan] * 4 + [25, 100, np.nan])
    assert sorted(words(per_cent)) == ["100", "25"]
    assert words(plot.dendrogram(hierarchy)) == []
    centroid = post.centroid()
    other = plot.dendrogram(pal.Hierarchy.from_parents(centroid.parents, centroid.labels), support=post)
    assert sorted(words(other)) == sorted(words(plot.dendrogram(centroid)))


def test_an_order_of_leaves_is_followed():
    ax = plot.dendrogram(pal.Hierarchy.from_newick("((a,b),c);"), order=[2, "b", 0])
    assert names(ax) == ["c", "b", "a"]
    with pytest.raises(ValueError, match="each of the 3 leaves once"):
        plot.dendrogram(pal.Hierarchy.from_newick("((a,b),c);"), order=[0, 1])


def test_many_leaves_are_thinned_out_and_a_note_says_so():
    ax = plot.dendrogram(random_hierarchy(300), support=np.full(599, 0.5))
    assert len(names(ax)) == 75
    assert ax.get_xlabel() == "one leaf in 4 is named"
    assert words(ax) == []
    assert max(ax.figure.get_size_inches()) < 15
    assert len(names(plot.dendrogram(random_hierarchy(100)))) == 100


def test_numbers_never_hide_each_other():
    hierarchy = random_hierarchy(40, heights=np.cumsum(np.linspace(1e-3, 1, 39)), seed=3)
    ax = plot.dendrogram(hierarchy, support=np.linspace(0, 1, 79))
    ax.figure.draw_without_rendering()
    boxes = [matplotlib.text.Text.get_window_extent(text) for text in ax.texts]
    assert len(boxes) > 25
    assert not any(box.overlaps(other) for at, box in enumerate(boxes) for other in boxes[:at])


@pytest.mark.parametrize("orientation", ["left", "right", "top", "bottom"])
def test_nothing_leaves_the_picture(orientation):
    labels = [f"a rather long name, number {i}" for i in range(9)]
    kinds = [f"kind {i}" for i in range(9)]
    figure = plot.dendrogram(small(labels), classes=kinds, orientation=orientation).figure
    figure.draw_without_rendering()
    box = figure.axes[0].get_tightbbox().padded(-1)
    assert figure.bbox.x0 <= box.x0 < box.x1 <= figure.bbox.x1
    assert figure.bbox.y0 <= box.y0 < box.y1 <= figure.bbox.y1


def test_what_cannot_be_drawn_is_refused(flat):
    with pytest.raises(TypeError, match="expected a Hierarchy, or a posterior"):
        plot.dendrogram(np.eye(3))
    with pytest.raises(TypeError, match="over partitions"):
        plot.dendrogram(flat)
    with pytest.raises(ValueError, match="side of the root"):
        plot.dendrogram(random_hierarchy(3), orientation="up")


# Classes.


def test_classes_have_marks_and_a_legend(post):
    ax = plot.dendrogram(post, classes=NUMERALS.classes)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["Germanic", "Romance", "Slavic", "Celtic"]
    best = post.map()
    kinds = ("Germanic", "Romance", "Slavic", "Celtic")
    rows = [[row for row, leaf in enumerate(best.leaf_order) if NUMERALS.classes[leaf] == kind] for kind in kinds]
    scattered = [c for c in ax.collections if not isinstance(c, LineCollection) and len(c.get_offsets())]
    marks = {tuple(c.get_facecolor()[0]): c.get_offsets()[:, 1].tolist() for c in scattered}
    assert sorted(marks.values()) == sorted(rows)
    assert len(marks) == 4


def test_twelve_classes_are_told_apart_and_missing_ones_have_no_mark():
    classes = {f"leaf {i}": f"$kind_{i}$" for i in range(12)}
    ax = plot.dendrogram(random_hierarchy(14), classes=classes)
    handles = ax.get_legend().legend_handles
    looks = {(tuple(h.get_facecolor()[0]), h.get_paths()[0].vertices.tobytes()) for h in handles}
    assert len(looks) == 12
    assert not any(text.get_parse_math() for text in ax.get_legend().get_texts())
    with pytest.raises(ValueError, match="3 classes were given for 14 leaves"):
        plot.dendrogram(random_hierarchy(14), classes=list("abc"))
    with pytest.raises(ValueError, match="50 classes, and marks for 42"):
        plot.dendrogram(random_hierarchy(50), classes=range(50))


# Many hierarchies.


def test_a_cloud_shows_every_branch_of_every_draw_once(post):
    draws = post.sample(30, rng=0)
    ax = plot.cloud(draws, consensus=False)
    branches = {(child, parent) for h in draws for child, parent in _branches(h)}
    assert len(branches) - 3 <= len(lines(ax)) <= len(branches)  # two may be at one place by chance
    alphas = ax.collections[0].get_colors()[:, 3]
    assert (np.diff(alphas) >= 0).all()
    assert alphas[-1] == pytest.approx(0.75, abs=0.05)
    assert sorted(names(ax)) == sorted(NUMERALS.labels)
    assert words(ax) == []


def _branches(hierarchy):
    masks = hierarchy.cluster_masks()
    return zip(masks[:-1].tolist(), masks[hierarchy.parents[:-1]].tolist(), strict=True)


def test_the_consensus_is_on_top_with_its_support(post):
    consensus = post.consensus()
    ax = plot.cloud(post, size=20)
    assert len(ax.collections[1].get_segments()) == consensus.n_nodes - 1
    expected = [f"{p:.2f}" for p in consensus.support[12:-1]]
    assert sorted(words(ax)) == sorted(expected)
    best = plot.cloud(post.sample(20, rng=0), consensus=post.map())
    assert len(best.collections[1].get_segments()) == 22


def test_a_cloud_of_hierarchies_from_elsewhere_counts_its_own_clusters():
    trees = [pal.Hierarchy.from_newick(text) for text in ("((a,b),(c,d));", "((b,a),(d,c));", "(((a,c),b),d);")]
    ax = plot.cloud(trees)
    assert sorted(words(ax)) == ["0.67", "0.67"]
    assert set(names(ax)[:2]) in ({"a", "b"}, {"c", "d"})
    with pytest.raises(ValueError, match="at least one hierarchy"):
        plot.cloud([])
    with pytest.raises(TypeError, match="made of hierarchies"):
        plot.cloud([pal.Partition([0, 1])])


def test_draws_with_heights_are_drawn_to_scale():
    trees = [pal.Hierarchy.from_newick(f"((a:{x},b:{x}):{3 - x},c:3);") for x in (1.0, 1.5)]
    ax = plot.cloud(trees)
    assert ax.get_xlabel() == "height"
    np.testing.assert_allclose(max(line[:, 0].max() for line in lines(ax)), 3.0)
    top = ax.collections[1].get_segments()
    assert sorted({round(float(x), 6) for line in top for x in line[[0, -1], 0]}) == [0.0, 1.25, 3.0]


def test_the_common_order_has_no_crossing_and_is_as_near_as_turning_allows(post):
    best = post.map()
    order = common_order(best, post.expected_lca_size())
    assert sorted(order.tolist()) == list(range(12))
    rows = rows_of(order)
    for cluster in best.clusters():
        places = sorted(rows[list(cluster)])
        assert places[-1] - places[0] == len(cluster) - 1
    assert sorted_by(pal.Hierarchy.from_newick("(a,b,c,d);"), np.array([3.0, 1, 0, 2])).tolist() == [2, 1, 3, 0]


def test_equal_clusters_are_at_equal_places():
    one, two = pal.Hierarchy.from_newick("(((a,b),c),d);"), pal.Hierarchy.from_newick("((a,b),(c,d));")
    rows = np.arange(4.0)
    for values in (relative_heights, lambda h: mean_rows(h, rows)):
        assert values(one)[one.find({"a", "b"})] == values(two)[two.find({"a", "b"})]
    ends = curves(one, relative_heights(one), mean_rows(one, rows))[:, [0, -1]]
    np.testing.assert_allclose(ends[:, 0], np.column_stack([relative_heights(one), mean_rows(one, rows)])[:-1])
    np.testing.assert_allclose(
        ends[:, 1], np.column_stack([relative_heights(one), mean_rows(one, rows)])[one.parents[:-1]]
    )


# A matrix beside a hierarchy.


def test_rows_of_the_matrix_are_the_rows_of_the_hierarchy(post):
    figure = plot.heatmap_with_dendrogram(post, classes=NUMERALS.classes)
    ax = figure.axes[0]
    order = [NUMERALS.labels.index(name) for name in names(ax)]
    values = np.ma.filled(ax.images[0].get_array(), np.nan)
    expected = post.expected_lca_size()[np.ix_(order, order)]
    np.fill_diagonal(expected, np.nan)
    np.testing.assert_array_equal(values, expected)
    tree = ax.child_axes[0]
    figure.draw_without_rendering()
    assert tree.get_window_extent().y0 == pytest.approx(ax.get_window_extent().y0)
    assert tree.get_window_extent().y1 == pytest.approx(ax.get_window_extent().y1)
    assert tree.get_ylim() == ax.get_ylim()
    assert len(words(tree)) == 10
    assert len(words(ax)) == 132


def test_partitions_have_coclustering_beside_its_average_linkage(flat):
    figure = plot.heatmap_with_dendrogram(flat, annotate=False)
    ax = figure.axes[0]
    order = [NUMERALS.labels.index(name) for name in names(ax)]
    shown = np.ma.filled(ax.images[0].get_array(), 1.0)
    np.testing.assert_array_equal(shown, flat.coclustering()[np.ix_(order, order)])
    assert ax.images[0].get_clim() == (0.0, 1.0)
    best = max(line[:, 0].max() for line in lines(ax.child_axes[0]))
    assert 0.9 < best < 1.0
    draws = flat.sample(50, rng=0)
    assert plot.heatmap_with_dendrogram(draws, annotate=False).axes[0].images[0].get_array().max() <= 1.0


def test_another_hierarchy_can_stand_beside_the_matrix(post):
    consensus = post.consensus()
    figure = plot.heatmap_with_dendrogram(post.sample(30, rng=0), hierarchy=consensus, annotate=False)
    assert len(lines(figure.axes[0].child_axes[0])) == consensus.n_nodes - 1


# The best few.


def test_alternatives_have_their_probabilities_and_what_differs_is_orange(post):
    figure = plot.alternatives(post, 3)
    best = post.best(3)
    assert [ax.get_title() for ax in figure.axes] == [
        f"{i}.  p = {np.exp(log_prob):.3f}" for i, (_, log_prob) in enumerate(best, 1)
    ]
    for ax, (hierarchy, _) in zip(figure.axes, best, strict=True):
        different = len(set(hierarchy.clusters()) - set(best[0][0].clusters()))
        orange = [c for c in ax.collections[0].get_colors() if tuple(c[:3]) == to_rgb("#d55e00")]
        assert len(orange) == different
    assert names(figure.axes[0]) == []
    assert sorted(names(figure.axes[-1])) == sorted(NUMERALS.labels)


def test_partitions_keep_the_numbers_of_the_clusters_that_they_share_leaves_with(flat):
    figure = plot.alternatives(flat, 3)
    ax = figure.axes[0]
    found = [partition for partition, _ in flat.best(3)]
    texts = [(round(t.get_position()[0]), round(t.get_position()[1]), t.get_text()) for t in ax.texts]
    cells = {(column, row): text for column, row, text in texts if "\n" not in text}
    assert len(cells) == 36
    order = [NUMERALS.labels.index(name) for name in names(ax)]
    for column, partition in enumerate(found):
        for one in range(12):
            for two in range(12):
                same = partition.membership[order[one]] == partition.membership[order[two]]
                assert (cells[column, one].split()[0] == cells[column, two].split()[0]) == same
        marked = {order[row] for row in range(12) if cells[column, row].endswith("•")}
        known = set(found[0].clusters())
        assert marked == {leaf for cluster in partition.clusters() if cluster not in known for leaf in cluster}


def test_draws_have_their_most_frequent_ones_as_alternatives(post, flat):
    draws = post.sample(200, rng=0)
    share = draws.counts()[0][1] / 200
    assert plot.alternatives(draws, 2).axes[0].get_title() == f"1.  p = {share:.3f}"
    np.testing.assert_allclose(draws.expected_lca_size(), np.mean([tree.lca_size() for tree in draws], axis=0))
    assert len(plot.alternatives(flat.sample(20, rng=0), 2).axes) == 1
    with pytest.raises(ValueError, match="k is 0"):
        plot.alternatives(draws, 0)
    with pytest.raises(ValueError, match="no draws"):
        plot.alternatives(post.sample(0), 2)


def test_particles_count_by_their_weights():
    merges = np.array([[[0, 1], [3, 2]], [[1, 2], [0, 3]], [[1, 2], [0, 3]]])
    ages, log_weights = np.tile([1.0, 2.0], (3, 1)), np.log([0.6, 0.3, 0.1])
    draws = pal.coalescent.CoalescentDraws(merges, ages, log_weights, 0.0, np.ones(2), ("a", "b", "c"))
    one, two = (pal.Hierarchy.from_newick(text) for text in ("((a,b),c);", "(a,(b,c));"))
    assert [(found, round(share, 12)) for found, share in draws.shares()] == [(one, 0.6), (two, 0.4)]
    assert [ax.get_title() for ax in plot.alternatives(draws).axes] == ["1.  p = 0.60", "2.  p = 0.40"]
    np.testing.assert_allclose(draws.expected_lca_size(), 0.6 * one.lca_size() + 0.4 * two.lca_size())
    shown = plot.heatmap_with_dendrogram(draws).axes[0].images[0].get_array()
    np.testing.assert_allclose(shown[np.triu_indices(3, 1)], [2.4, 3.0, 2.6])
    with pytest.raises(ValueError, match="no draws"):
        draws[:0].expected_lca_size()


# All of them.


def test_labels_are_shown_letter_by_letter():
    ax = plot.dendrogram(small(ODD), classes=ODD)
    assert set(names(ax)) == set(ODD)
    assert not any(text.get_parse_math() for text in ax.get_yticklabels())


@pytest.mark.parametrize("n", [1, 2])
def test_few_leaves_are_ordinary(n):
    for figure in every_picture(small([f"leaf {i}" for i in range(n)])):
        assert png(figure)
    model = pal.models.CorrelationClusters(np.eye(n))
    assert png(plot.alternatives(pal.PartitionPosterior(model)))
    assert png(plot.heatmap_with_dendrogram(pal.PartitionPosterior(model)))


def test_long_names_do_not_make_long_pictures():
    for figure in every_picture(small([f"{i}{'x' * 200}{i}" for i in range(3)])):
        assert png(figure)
        assert max(figure.get_size_inches()) < 12


def test_the_same_picture_twice_is_the_same_bytes_and_nothing_is_shown(monkeypatch, tmp_path):
    monkeypatch.setattr(plt, "show", lambda *args, **kwargs: pytest.fail("a picture was shown"))
    labels = ["$x_$", r"\frac", "$", "_", "é ~"]  # mathematics that is none would raise
    post, classes = small(labels), labels[:2] * 2 + labels[:1]
    for one, two in zip(every_picture(post, classes), every_picture(post, classes), strict=True):
        first = png(one)
        assert first == png(one)
        assert first == png(two)
        two.savefig(tmp_path / "picture.svg")


def test_given_axes_are_drawn_on(post):
    part = plt.figure(figsize=(16, 8), layout="constrained").subfigures(1, 2)[1]
    axes = part.subplots(1, 2)
    assert plot.dendrogram(post, ax=axes[0], classes=NUMERALS.classes) is axes[0]
    assert plot.cloud(post, ax=axes[1], classes=NUMERALS.classes, size=10) is axes[1]
    assert len(plt.get_fignums()) == 1


def test_beyond_sixty_clusters_a_note_and_a_legend_stand_for_the_numbers():
    n = 70
    support = np.append(np.full(n, np.nan), np.linspace(0.0, 1.0, n - 1))
    many = random_hierarchy(n).with_support(support)
    ax = plot.dendrogram(many)
    assert words(ax) == []
    (legend,) = ax.figure.legends
    assert legend.get_title().get_text() == "support; 68 clusters are too many for numbers"
    assert [text.get_text() for text in legend.get_texts()] == ["0", "0.25", "0.5", "0.75", "1"]
    drawn = {colour for c in ax.collections if isinstance(c, LineCollection) for colour in map(tuple, c.get_colors())}
    ends = [to_rgba(legend.get_lines()[i].get_color()) for i in (0, -1)]
    assert (max(drawn), min(drawn)) == tuple(ends)
    mine = plt.subplots()[1]
    classes = ["x", "y"] * 35
    plot.dendrogram(many, ax=mine, classes=classes)
    titles = [child.get_title().get_text() for child in mine.get_children() if isinstance(child, Legend)]
    assert sorted(titles) == ["", "support; 68 clusters are too many for numbers"]


def test_a_table_of_the_leaves_stands_beside_the_hierarchy(post):
    rng = np.random.default_rng(0)
    table = pandas.DataFrame(rng.normal(size=(12, 5)), index=NUMERALS.labels[::-1], columns=list("abcde"))
    table.iloc[0, 0] = np.nan
    ax = plot.heatmap_with_dendrogram(post, table, classes=NUMERALS.classes).axes[0]
    shown = np.ma.filled(ax.images[0].get_array(), np.nan)
    columns = names(ax, "x")
    np.testing.assert_array_equal(shown, table.loc[names(ax), columns].to_numpy())
    assert sorted(columns) == list("abcde")
    assert len(words(ax.child_axes[0])) == 10
    assert ax.child_axes[0].get_ylim() == ax.get_ylim()
    low, high = ax.images[0].get_clim()
    assert low == -high
    as_given = plot.heatmap_with_dendrogram(post.map(), table, sort_columns=False, annotate=False).axes[0]
    assert names(as_given, "x") == list("abcde")


def test_a_table_of_many_columns_or_of_positive_numbers(post, flat):
    wide = np.random.default_rng(0).random((12, 90))
    ax = plot.heatmap_with_dendrogram(post, wide, columns=[f"gene {i}" for i in range(90)]).axes[0]
    assert names(ax, "x") == []
    assert ax.images[0].get_clim()[0] >= 0.0
    few = plot.heatmap_with_dendrogram(flat, wide[:, :3], annotate=False).axes[0].images[0]
    assert few.get_array().shape == (12, 3)


@pytest.mark.parametrize(
    ("table", "columns", "message"),
    [
        (np.zeros((5, 12)), None, "is it to be transposed"),
        (np.zeros((12, 0)), None, "one column or more"),
        (np.full((12, 2), np.nan), None, "no number that is finite"),
        (np.zeros((12, 2)), ["a"], "1 names for 2 columns"),
    ],
)
def test_a_table_that_does_not_fit_is_refused(post, table, columns, message):
    with pytest.raises(ValueError, match=message):
        plot.heatmap_with_dendrogram(post, table, columns=columns)
