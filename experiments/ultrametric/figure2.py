"""Figure 2: what four losses make of points in three groups, beside average linkage.

    python experiments/ultrametric/figure2.py [--out DIR]

Above, the highest merges of each hierarchy: everything below them is contracted to leaves, whose dots are as large as
they have points. Below, the points in three clusters. The data are ours, and made to be difficult: a bridge joins two
groups, and a few points lie apart. All choices are in settings.toml.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import common
import numpy as np
from clusterings import accuracy, matched
from common import COLOURS, GREY, INK, Floats, Ints, frame

from palmette.ultrametric import Graph, average_linkage

PANELS = ("Closest", "Closest + size", "Closest + triplet", "Dasgupta")


class Sample(NamedTuple):
    points: Floats
    classes: Ints
    known: Ints
    """The class where it is told, −1 elsewhere."""


class Tree(NamedTuple):
    children: Ints
    """In SciPy's numbering: merge i makes node N + i."""
    heights: Floats


def draw_sample(chosen: dict[str, Any]) -> Sample:
    """Three groups, a bridge between the first two, and outliers."""
    rng, centres = np.random.default_rng(chosen["seed"]), np.array(chosen["centres"])
    groups = [centre + chosen["spread"] * rng.normal(size=(chosen["points"], 2)) for centre in centres]
    along = (np.arange(chosen["bridge"]) + 1) / (chosen["bridge"] + 1)
    bridge = centres[0] + along[:, None] * (centres[1] - centres[0]) + 0.08 * rng.normal(size=(chosen["bridge"], 2))
    middle, reach = centres.mean(axis=0), np.linalg.norm(centres - centres.mean(axis=0), axis=1).max()
    angles = 2 * np.pi * rng.random(chosen["outliers"])
    ring = middle + (reach + 4.5 * chosen["spread"]) * np.column_stack([np.cos(angles), np.sin(angles)])
    points = np.concatenate([*groups, bridge, ring])
    nearest = np.linalg.norm(points[:, None] - centres, axis=2).argmin(axis=1)
    classes = np.concatenate([np.repeat(np.arange(3), chosen["points"]), nearest[3 * chosen["points"] :]])
    told = rng.random(len(points)) < chosen["labelled"]
    return Sample(points, classes, np.where(told, classes, -1))


def contracted(tree: Tree, count: int) -> tuple[Tree, list[Ints]]:
    """The highest `count` merges as a tree of its own, and the leaves below each of its count + 1 leaves."""
    n, first = len(tree.heights) + 1, max(len(tree.heights) - count, 0)
    below: list[list[int]] = [[leaf] for leaf in range(n)]
    for left, right in tree.children.tolist():
        below.append(below[left] + below[right])
    tips = [node for node in tree.children[first:].ravel().tolist() if node < n + first]
    number = {node: leaf for leaf, node in enumerate(tips)}
    number |= {n + first + merge: len(tips) + merge for merge in range(n - 1 - first)}
    children = np.array([[number[node] for node in pair] for pair in tree.children[first:].tolist()])
    return Tree(children, tree.heights[first:]), [np.array(below[node]) for node in tips]


def columns_of(tree: Tree) -> Floats:
    """(nodes,): where each node is drawn; leaves side by side, parents in the middle of their children."""
    n = len(tree.heights) + 1
    column, stack, free = np.zeros(2 * n - 1), [2 * n - 2], 0
    while stack:
        node = stack.pop()
        if node < n:
            column[node], free = free, free + 1
        else:
            stack += tree.children[node - n].tolist()
    for merge, pair in enumerate(tree.children):
        column[n + merge] = column[pair].mean()
    return column


def draw_tree(ax: Any, tree: Tree, clusters: Ints, shown: int) -> None:
    """The highest merges; a branch has the colour of the cluster that all its points belong to."""
    from matplotlib.collections import LineCollection

    small, tips = contracted(tree, shown)
    n, column = len(tips), columns_of(small)
    height = np.concatenate([np.zeros(n), small.heights])
    kinds = [set(clusters[tip].tolist()) for tip in tips]
    lines, shades = [], []
    for merge, (left, right) in enumerate(small.children.tolist(), start=n):
        kinds.append(kinds[left] | kinds[right])
        lines += [[(column[node], height[node]), (column[node], height[merge])] for node in (left, right)]
        lines.append([(column[left], height[merge]), (column[right], height[merge])])
        shades += inks_of([kinds[left], kinds[right], kinds[merge]])
    ax.add_collection(LineCollection(lines, colors=shades, linewidths=1.1, capstyle="projecting"))
    sizes = [len(tip) for tip in tips]
    ax.scatter(column[:n], np.zeros(n), s=0.5 * np.array(sizes) + 2, c=inks_of(kinds[:n]), clip_on=False, zorder=3)
    ax.set_xlim(-1, n)
    ax.set_ylim(0, 1.05 * height.max())
    ax.set_xticks([])
    frame(ax, sides=("left",))


def inks_of(kinds: Sequence[set[int]]) -> list[str]:
    """One colour each; grey where there are several clusters."""
    return [COLOURS[next(iter(kind))] if len(kind) == 1 else GREY for kind in kinds]


def draw_points(ax: Any, points: Floats, kinds: Ints) -> None:
    """Dots in the colours of clusters or classes."""
    ax.scatter(*points.T, s=8, c=[COLOURS[kind] for kind in kinds], linewidths=0)
    ax.set_aspect("equal", "datalim")
    ax.set_xticks([])
    ax.set_yticks([])
    frame(ax, sides=())


def draw_graph(above: Any, below: Any, graph: Graph, sample: Sample) -> None:
    """The edges, the darker the shorter; the classes, and which of them triplets know."""
    from matplotlib.collections import LineCollection

    shade = 0.85 * graph.weights / graph.weights.max()
    ends = sample.points[graph.edges]
    above.add_collection(LineCollection(ends, colors=[str(grey) for grey in shade], linewidths=0.6))
    draw_points(above, sample.points, np.full(len(sample.points), len(COLOURS) - 1))
    draw_points(below, sample.points, sample.classes)
    told = sample.known >= 0
    below.scatter(*sample.points[told].T, s=34, facecolors="none", edgecolors=INK, linewidths=0.8)
    above.set_title("graph, and classes", fontsize=11, color=INK)


def trees(graph: Graph, sample: Sample, chosen: dict[str, Any]) -> dict[str, Tree]:
    """All hierarchies by name."""
    joined = average_linkage(graph)
    found = {"average linkage": Tree(joined.children.astype(np.int64), joined.heights)}
    for name in PANELS:
        fitted = common.fit_named(name, graph, chosen, sample.known).subdominant
        found[name] = Tree(fitted.children.astype(np.int64), fitted.altitudes)
    return found


def draw(graph: Graph, sample: Sample, found: dict[str, Tree], shown: int, path: Path) -> None:
    """One column for each hierarchy, the graph first."""
    figure, axes = common.new_figure(3 * (len(found) + 1), 5.6, len(found) + 1, 2)
    draw_graph(*axes[:, 0], graph, sample)
    for (above, below), (name, tree) in zip(axes.T[1:], found.items(), strict=True):
        clusters = matched(common.cut(tree.children, 3), sample.classes)
        draw_tree(above, tree, clusters, shown)
        draw_points(below, sample.points, clusters)
        above.set_title(name, fontsize=11, color=INK)
    axes[0, 1].set_ylabel("altitude", color=INK)
    common.save(figure, path)


def report(sample: Sample, found: dict[str, Tree]) -> str:
    """Sizes of the three clusters, and their accuracy."""
    rows = [["three clusters", "sizes", "accuracy"]]
    for name, tree in found.items():
        clusters = common.cut(tree.children, 3)
        sizes = " ".join(map(str, sorted(np.bincount(clusters).tolist(), reverse=True)))
        rows.append([name, sizes, common.plain(accuracy(clusters, sample.classes))])
    return common.columns(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Read the command line, fit, draw, print."""
    given = common.parser("Figure 2: losses on points in three groups.").parse_args(arguments)
    chosen = common.settings(given.settings)
    sample = draw_sample(chosen["figure2"])
    graph = common.scaled(Graph.from_points(sample.points, chosen["graph"]["neighbours"]))
    found = trees(graph, sample, chosen)
    common.tell(report(sample, found), given.out / "figure2.txt")
    draw(graph, sample, found, chosen["figure2"]["shown_merges"], given.out / "figure2.png")


if __name__ == "__main__":
    os.environ.setdefault("MPLBACKEND", "agg")
    main()
