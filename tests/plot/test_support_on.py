"""Support on dendrograms of other libraries: every number at the node of its cluster."""

from __future__ import annotations

import matplotlib
import numpy as np
import pytest

matplotlib.use("agg")
import matplotlib.pyplot as plt
from scipy.cluster.hierarchy import dendrogram

import palmette as pal
from palmette import plot

NUMERALS = pal.datasets.load_numerals()


@pytest.fixture(scope="module")
def post():
    return pal.HierarchyPosterior(pal.models.Dasgupta(NUMERALS.similarity, 4.0, labels=NUMERALS.labels))


@pytest.fixture(autouse=True)
def _nothing_is_left_behind():
    yield
    plt.close("all")


def corners(drawn):
    """(middle of the bar, its height) of every node that SciPy drew."""
    return [((x[1] + x[2]) / 2, y[1]) for x, y in zip(drawn["icoord"], drawn["dcoord"], strict=True)]


def below(drawn, place):
    """The leaves under a node: those between the outermost ones that its bars lead to."""
    bars = list(zip(drawn["icoord"], drawn["dcoord"], strict=True))
    leaves, waiting = [], [place]
    while waiting:
        at = waiting.pop()
        x, y = next((x, y) for x, y in bars if ((x[1] + x[2]) / 2, y[1]) == at)
        for end, low in ((x[0], y[0]), (x[3], y[3])):
            if low == 0.0 and (end - 5) % 10 == 0:
                leaves.append(drawn["ivl"][int(end - 5) // 10])
            else:
                waiting.append((end, low))
    return leaves


@pytest.mark.parametrize("orientation", ["top", "bottom", "left", "right"])
def test_every_number_stands_at_its_node(post, orientation):
    best, ax = post.map(), plt.subplots(figsize=(14, 14))[1]
    drawn = dendrogram(best.to_linkage(), labels=list(best.labels), orientation=orientation, ax=ax)
    plot.support_on(ax, post, orientation=orientation, fontsize=4)
    found = {}
    for text in ax.texts:
        x, y = text.xy if orientation in ("top", "bottom") else text.xy[::-1]
        found[frozenset(below(drawn, (x, y)))] = text.get_text()
    expected = {
        frozenset(best.labels[leaf] for leaf in cluster): f"{post.cluster_probability(cluster):.2f}"
        for cluster in best.clusters()
        if 1 < len(cluster) < 12
    }
    assert found == expected


def test_only_what_has_support_enough_is_written(post):
    best, ax = post.map(), plt.subplots(figsize=(14, 14))[1]
    dendrogram(best.to_linkage(), ax=ax)
    texts = [text.get_text() for text in plot.support_on(ax, best, least=0.7, fontsize=4).texts]
    assert sorted(texts) == sorted(f"{p:.2f}" for p in best.support[12:-1] if p >= 0.7)
    percent = best.with_support(100 * best.support)
    ax = plt.subplots(figsize=(14, 14))[1]
    dendrogram(best.to_linkage(), ax=ax)
    assert "97.3" in [text.get_text() for text in plot.support_on(ax, percent, fontsize=4).texts]


def test_seaborn_has_it_too(post):
    seaborn, pandas = pytest.importorskip("seaborn"), pytest.importorskip("pandas")
    table = pandas.DataFrame(NUMERALS.similarity, index=NUMERALS.labels, columns=NUMERALS.labels)
    rows = post.map().to_linkage()
    grid = seaborn.clustermap(table, row_linkage=rows, col_linkage=rows)
    plot.support_on(grid.ax_row_dendrogram, post, orientation="left")
    drawn = grid.dendrogram_row.dendrogram
    nodes = set(corners(drawn))
    assert len(grid.ax_row_dendrogram.texts) >= 8
    assert {text.xy[::-1] for text in grid.ax_row_dendrogram.texts} <= nodes


def test_what_cannot_be_written_is_refused(post):
    ax = plt.subplots()[1]
    with pytest.raises(ValueError, match="no support to write"):
        plot.support_on(ax, pal.Hierarchy.from_newick("((a,b),c);"))
    with pytest.raises(ValueError, match="orientation is 'up'"):
        plot.support_on(ax, post, orientation="up")
    with pytest.raises(ValueError, match="binary"):
        plot.support_on(ax, pal.Hierarchy.from_newick("((a,b)0.9,c,d);"))
    assert len(plot.support_on(ax, pal.Hierarchy.from_newick("(a,b)1;")).texts) == 0
    assert np.isfinite(ax.get_xlim()).all()
