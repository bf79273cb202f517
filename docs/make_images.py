"""Makes the pictures of the documentation: ``python docs/make_images.py``. Needs matplotlib.

numerals.png: on the left, the most probable hierarchy over a cloud of exact draws, with the probability of each of its
clusters; on the right, the expected size of the smallest cluster that holds both of two leaves.

coclustering.png: on the left, how much each pair of leaves attracts; on the right, the probability that it shares a
cluster, over all partitions.

trellis.png, recursion.png, sparse_trellis.png and patch.png are the diagrams of how_it_works.md and sampling.md, drawn
by diagrams.py. tumours.png is that of which_tree.md, and the others are those of the page pictures.md, one for each
kind of plot.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("agg")
import matplotlib.pyplot as plt
import numpy as np
from diagrams import draw_patch, draw_recursion, draw_sparse, draw_trellis
from matplotlib.collections import PathCollection
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.path import Path as MatplotlibPath

import palmette as pal
from palmette import datasets, plot, temperature

IMAGES = Path(__file__).parent / "images"
DRAWS = 600
CURVE = [MatplotlibPath.MOVETO, *3 * [MatplotlibPath.CURVE4]]
INK, CLOUD, NOTE = "#23303d", "#2f7f86", "#a04a12"
FAMILIES = {"Germanic": "#1f5f8b", "Romance": "#a8431f", "Slavic": "#3f7d3a", "Celtic": "#7b3f98"}
SHADES = LinearSegmentedColormap.from_list("palmette", ["#123c46", "#2f7f86", "#9cc9bf", "#f4efe2"])


def places(hierarchy: pal.Hierarchy, row: np.ndarray) -> np.ndarray:
    """(n_nodes, 2): across, minus the logarithm of the size of a cluster; down, the mean row of its leaves."""
    means = [np.mean(row[list(cluster)]) for cluster in hierarchy.clusters()]
    return np.column_stack([-np.log(hierarchy.sizes), means])


def branches(hierarchy: pal.Hierarchy, row: np.ndarray) -> list[MatplotlibPath]:
    """A curve from every node to its parent that leaves and arrives level."""
    at = places(hierarchy, row)
    paths = []
    for (x, y), (to_x, to_y) in zip(at[:-1], at[hierarchy.parents[:-1]], strict=True):
        middle = (x + to_x) / 2
        paths.append(MatplotlibPath([(x, y), (middle, y), (middle, to_y), (to_x, to_y)], CURVE))
    return paths


def draw_cloud(axes: Any, post: pal.HierarchyPosterior, row: np.ndarray) -> None:
    """Many draws, each so faint that only what they share is seen."""
    style = {"facecolors": "none", "edgecolors": CLOUD, "linewidths": 0.9, "alpha": 0.022}
    for hierarchy in post.sample(DRAWS, rng=1):
        axes.add_collection(PathCollection(branches(hierarchy, row), **style))


def draw_best(axes: Any, post: pal.HierarchyPosterior, best: pal.Hierarchy, row: np.ndarray) -> None:
    """The most probable hierarchy, a number on each of its clusters."""
    axes.add_collection(
        PathCollection(branches(best, row), facecolors="none", edgecolors=INK, linewidths=1.7, capstyle="round")
    )
    box = {"boxstyle": "round,pad=0.18", "facecolor": "white", "edgecolor": NOTE, "linewidth": 0.6}
    for cluster, (x, y) in list(zip(best.clusters(), places(best, row), strict=True))[best.n_leaves : -1]:
        text = f"{post.cluster_probability(cluster):.2f}"
        axes.text(x, y, text, color=NOTE, fontsize=8.5, ha="center", va="center", bbox=box)


def name_leaves(axes: Any, data: datasets.SimilarityData, row: np.ndarray) -> None:
    """Labels in the colours of their families."""
    for leaf, label in enumerate(data.labels):
        axes.text(0.06, row[leaf], label, color=FAMILIES[data.classes[leaf]], fontsize=10.5, va="center")


def draw_matrix(axes: Any, post: pal.HierarchyPosterior, order: np.ndarray) -> Any:
    """The matrix, in the order of the leaves on the left."""
    sizes = post.expected_lca_size()[np.ix_(order, order)]
    np.fill_diagonal(sizes, np.nan)
    image = axes.imshow(sizes, cmap=SHADES, vmin=2, vmax=post.n_leaves)
    for i, j in np.argwhere(~np.isnan(sizes)):
        axes.text(
            j,
            i,
            f"{sizes[i, j]:.0f}",
            ha="center",
            va="center",
            fontsize=8,
            color="white" if sizes[i, j] < 7.5 else "#5d6a6a",
        )
    return image


def draw_hierarchies(data: datasets.SimilarityData) -> Any:
    """The posterior over hierarchies: a cloud, and a matrix."""
    post = pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))
    best = post.map()
    order = best.leaf_order
    row = np.argsort(order).astype(float)
    figure, (left, right) = plt.subplots(1, 2, figsize=(11.4, 4.9), width_ratios=[1.32, 1], layout="constrained")
    draw_cloud(left, post, row)
    draw_best(left, post, best, row)
    name_leaves(left, data, row)
    left.set(xlim=(-np.log(12) - 0.12, 0.72), ylim=(11.6, -0.6))
    left.axis("off")
    left.set_title("the most probable hierarchy, over 600 exact draws", fontsize=11, color=INK, loc="left")
    draw_matrix(right, post, order)
    names = [data.labels[leaf] for leaf in order]
    right.set_xticks(range(12), names, rotation=55, ha="right", rotation_mode="anchor", fontsize=9)
    right.set_yticks(range(12), names, fontsize=9)
    for ticks in (right.get_xticklabels(), right.get_yticklabels()):
        for tick, leaf in zip(ticks, order, strict=True):
            tick.set_color(FAMILIES[data.classes[leaf]])
    right.tick_params(length=0)
    right.spines[:].set_visible(False)
    right.set_title("expected size of the smallest common cluster", fontsize=11, color=INK, loc="left")
    return figure


def draw_partitions(data: datasets.SimilarityData) -> Any:
    """The posterior over partitions, as on the page partitions.md: affinities, and what follows from them."""
    affinity = data.similarity - data.similarity[np.triu_indices(len(data.labels), 1)].mean()
    model = pal.models.CorrelationClusters(affinity, beta=10.0, labels=data.labels)
    return plot.affinities_and_coclustering(model, pal.PartitionPosterior(model))


def draw_plots(data: datasets.SimilarityData) -> dict[str, Any]:
    """One picture of each kind, as on the page pictures.md."""
    model = temperature.at_perplexity(pal.models.Dasgupta(data.similarity, labels=data.labels), 1000)
    post = pal.HierarchyPosterior(model)
    affinity = data.similarity - data.similarity[np.triu_indices(len(data.labels), 1)].mean()
    flat = pal.PartitionPosterior(pal.models.CorrelationClusters(affinity, beta=10.0, labels=data.labels))
    return {
        "dendrogram": plot.dendrogram(post, classes=data.classes).figure,
        "cloud": plot.cloud(post, classes=data.classes).figure,
        "heatmap_with_dendrogram": plot.heatmap_with_dendrogram(post, classes=data.classes),
        "alternatives": plot.alternatives(post, classes=data.classes),
        "partition_alternatives": plot.alternatives(flat, 5, classes=data.classes),
        "n_clusters": plot.n_clusters(flat).figure,
        "support_against_temperature": plot.support_against_temperature(model).figure,
    }


def draw_chains() -> dict[str, Any]:
    """Chains that look well and do not agree, as on the page pictures.md."""
    row, column = np.divmod(np.arange(16), 4)
    alike = 1.0 * (row[:, None] == row) + (column[:, None] == column)
    names = ["abcd"[r] + "1234"[c] for r, c in zip(row, column, strict=True)]
    model = pal.models.Dasgupta(alike, beta=0.4, labels=names)
    chains = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=800)
    return {"traces": plot.traces(chains).figure, "convergence": plot.convergence(chains).figure}


def draw_tumours(data: datasets.PointData) -> Any:
    """The dendrogram of the page which_tree.md."""
    x = (data.points - data.points.mean(axis=0)) / data.points.std(axis=0)
    return plot.dendrogram(pal.evidence.posterior(x, labels=data.labels), classes=data.classes).figure


def draw_table(data: datasets.PointData) -> Any:
    """A table beside the hierarchy of its rows, as on the page pictures.md."""
    x = pal.similarity.standardised(data.points)
    post = pal.HierarchyPosterior(pal.models.SumOfSquares(x, beta=4.0, labels=data.labels))
    return plot.heatmap_with_dendrogram(post, x, columns=data.variables, classes=data.classes)


def draw_bootstrap() -> Any:
    """Probabilities, AU and BP in one picture, as on the page bootstrap.md."""
    x = np.random.default_rng(1).normal(size=(8, 60))
    x[0:2, :30] += 1.5
    x[2:4, 59] += 9.0
    labels = list("abcdefgh")
    post = pal.HierarchyPosterior(temperature.at_perplexity(pal.models.SumOfSquares(x, labels=labels), 20))
    best = post.map()
    rows = pal.evaluate.bootstrap(
        x,
        lambda points: pal.search.greedy(pal.models.SumOfSquares(points, labels=labels)).hierarchy,
        clusters=best.clusters()[8:-1],
        n_draws=400,
    )
    return plot.dendrogram(best, bootstrap=rows).figure


def draw_clustermap(data: datasets.SimilarityData) -> Any:
    """seaborn's picture with support, as on the page interop.md."""
    import pandas
    import seaborn

    post = pal.HierarchyPosterior(pal.models.Dasgupta(data.similarity, beta=4.0, labels=data.labels))
    linkage = post.map().to_linkage()
    table = pandas.DataFrame(data.similarity, index=data.labels, columns=data.labels)
    grid = seaborn.clustermap(table, row_linkage=linkage, col_linkage=linkage, figsize=(7, 7))
    plot.support_on(grid.ax_row_dendrogram, post, orientation="left")
    plot.support_on(grid.ax_col_dendrogram, post, orientation="top", least=0.5)
    return grid.figure


def main() -> None:
    """Write the pictures."""
    data = datasets.load_numerals()
    IMAGES.mkdir(exist_ok=True)
    for name, figure in (("numerals", draw_hierarchies(data)), ("coclustering", draw_partitions(data))):
        figure.savefig(IMAGES / f"{name}.png", dpi=150, metadata={"Software": None})
    diagrams = {"trellis": draw_trellis(), "recursion": draw_recursion(), "sparse_trellis": draw_sparse()}
    diagrams["patch"] = draw_patch()
    points = datasets.load_worlds()
    worlds = {
        "tumours": draw_tumours(datasets.load_tumours()),
        "table_with_dendrogram": draw_table(points),
        "bootstrap": draw_bootstrap(),
    }
    worlds["clustermap"] = draw_clustermap(data)
    for name, figure in (draw_plots(data) | draw_chains() | diagrams | worlds).items():
        figure.savefig(IMAGES / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
