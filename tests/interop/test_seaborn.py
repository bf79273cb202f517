"""seaborn.clustermap takes the linkage of any binary hierarchy, and keeps the order of its leaves."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.cluster import hierarchy as sch

import palmette as pal
from palmette import Hierarchy, HierarchyPosterior

HIERARCHIES = {
    "two leaves": Hierarchy.from_newick("(b,a);"),
    "no heights": Hierarchy.from_newick("((a,(e,b)),(c,d));"),
    "heights": Hierarchy.from_newick("(((a:1,b:1):1,c:2):1,(d:0.5,e:0.5):2.5);"),
    "equal heights": Hierarchy.from_merges([[0, 1], [2, 3], [5, 4], [6, 7]], heights=[1.0, 1.0, 1.0, 1.0]),
    "all at zero": Hierarchy.from_merges([[0, 1], [2, 3], [5, 4], [6, 7]], heights=[0.0, 0.0, 0.0, 0.0]),
    "inversions": Hierarchy.from_merges([[0, 1], [5, 2], [6, 3], [4, 7]], heights=[3.0, 1.0, 2.0, 0.5]),
    "heights below zero": Hierarchy.from_merges([[3, 1], [5, 2], [6, 0], [4, 7]], heights=[-3.0, -1.0, 1.0, 2.0]),
}


@pytest.mark.parametrize("h", HIERARCHIES.values(), ids=list(HIERARCHIES))
def test_the_linkage_is_valid_and_keeps_the_order_of_leaves(h):
    Z = h.to_linkage()
    assert sch.is_valid_linkage(Z, throw=True)
    assert sch.is_monotonic(Z)
    assert sch.dendrogram(Z, no_plot=True)["leaves"] == h.leaf_order.tolist()


@pytest.fixture
def seaborn(monkeypatch):
    monkeypatch.setenv("MPLBACKEND", "agg")
    yield pytest.importorskip("seaborn")
    import matplotlib.pyplot as plt

    plt.close("all")


# Seaborn calls Matplotlib in ways that newer versions of it warn about.
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("h", HIERARCHIES.values(), ids=list(HIERARCHIES))
def test_clustermap_orders_rows_and_columns_by_the_hierarchy(seaborn, h):
    values = np.arange(h.n_leaves**2, dtype=float).reshape(h.n_leaves, h.n_leaves)
    Z = h.to_linkage()
    grid = seaborn.clustermap(values, row_linkage=Z, col_linkage=Z, yticklabels=h.labels, xticklabels=False)
    assert list(grid.dendrogram_row.reordered_ind) == h.leaf_order.tolist()
    assert list(grid.dendrogram_col.reordered_ind) == h.leaf_order.tolist()
    shown = [text.get_text() for text in grid.ax_heatmap.get_yticklabels()]
    assert shown == [h.labels[leaf] for leaf in h.leaf_order]


@pytest.mark.filterwarnings("ignore")
def test_clustermap_shows_the_map_of_a_posterior(seaborn):
    data = pal.datasets.load_numerals()
    best = HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels)).map()
    Z = best.to_linkage()
    grid = seaborn.clustermap(data.similarity, row_linkage=Z, col_linkage=Z)
    np.testing.assert_array_equal(grid.data2d, data.similarity[np.ix_(best.leaf_order, best.leaf_order)])
