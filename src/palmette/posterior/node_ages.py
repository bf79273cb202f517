"""Ages of clusters in a sample of dated trees: mean, median, and the shortest interval that holds 95 % of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Numbers
from palmette.checks import check_number
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import heights_from_lengths
from palmette.hierarchy.masks import masks_of_hierarchy
from palmette.hierarchy.tree_set import TreeSet
from palmette.posterior.conditional_clusters import sample_weights
from palmette.trellis.hierarchies.observed import check_weights, observe

__all__ = ["NodeAges", "largest_product", "most_credible", "node_ages"]


class NodeAges(NamedTuple):
    """Ages of the clusters of one hierarchy, (n_nodes,) each; NaN where no tree has the cluster."""

    hierarchy: Hierarchy
    """With the medians as heights: none below those of its parts, or of a cluster that no tree has."""
    mean: Floats
    median: Floats
    low: Floats
    """The lower end of the shortest interval that holds the share of the trees: the HPD."""
    high: Floats
    share: Floats
    """Of the trees, by weight: those that have the cluster, which all of these numbers are of."""

    @property
    def intervals(self) -> Floats:
        """(n_nodes, 2): low and high, for `plot.dendrogram(…, intervals=…)`."""
        return np.column_stack([self.low, self.high])


def node_ages(
    trees: Iterable[Hierarchy], hierarchy: Hierarchy, *, level: float = 0.95, weights: npt.ArrayLike | None = None
) -> NodeAges:
    """How old each cluster of a hierarchy is in the trees that have it; for a consensus, a MAP, any tree.

    The age of a cluster is how far its node lies before the leaf that is farthest from the root, so leaves may have
    ages, too. `level` is the share that the interval holds. Trees need lengths on all branches but the root's.

    >>> from palmette.hierarchy.tree_files import read_trees
    >>> trees = read_trees("((a:1,b:1):2,c:3); ((a:2,b:2):2,c:4); ((a:4,b:4):2,c:6); (a:2,(b:1,c:1):1);")
    >>> found = node_ages(trees, trees[0], level=0.6)
    >>> found.mean[3:].round(6), found.median[3:], found.low[3:], found.high[3:], found.share[3:]
    (array([2.333333, 3.75    ]), array([2. , 3.5]), array([1., 2.]), array([2., 4.]), array([0.75, 1.  ]))
    """
    if not 0.0 < check_number("level", level) <= 1.0:
        raise ValueError(f"level is {level!r}; expected a share, above 0 and at most 1")
    given = sample_weights(trees, weights)
    found = list(trees)
    weight = check_weights(given, len(found))
    at = {mask: node for node, mask in enumerate(masks_of_hierarchy(hierarchy, hierarchy.labels))}
    ages = np.full((hierarchy.n_nodes, len(found)), np.nan)
    for t, tree in enumerate(found):
        for mask, age in zip(masks_of_hierarchy(tree, hierarchy.labels), _ages(tree, t).tolist(), strict=True):
            if mask in at:
                ages[at[mask], t] = age
    figures = np.array([_figures(row, weight, level) for row in ages])
    mean, median, low, high = figures.T
    share = (~np.isnan(ages) * weight).sum(axis=1) / weight.sum()
    return NodeAges(_dated(hierarchy, median), mean, median, low, high, share)


def most_credible(trees: Iterable[Hierarchy], *, weights: npt.ArrayLike | None = None) -> Hierarchy:
    """The tree of the sample whose clusters have the largest product of frequencies, the first of equals.

    Phylogenetics calls it the tree of maximum clade credibility.
    """
    given = sample_weights(trees, weights)
    found = trees if isinstance(trees, TreeSet) else list(trees)
    seen = observe(found, given)
    return found[largest_product(seen.totals, seen.parent[seen.splits])]


def largest_product(shares: npt.NDArray[Any], clusters: Numbers) -> int:
    """The first row of `clusters` (S, k) whose `shares` have the largest product; a share may be 0."""
    with np.errstate(divide="ignore"):
        return int(np.log(shares[clusters]).sum(axis=1).argmax())


def _ages(tree: Hierarchy, number: int) -> Floats:
    # How far each node lies above the leaf that is farthest from the root.
    lengths = tree.branch_lengths
    if lengths is None or np.isnan(lengths[:-1]).any():
        raise ValueError(f"tree {number + 1} has a branch without length; ages need all of them")
    return heights_from_lengths(tree.parents, lengths, tree.n_leaves)


def _figures(values: Floats, weights: Floats, level: float) -> tuple[float, float, float, float]:
    # Mean, median and the shortest interval of the values that are there.
    there = np.flatnonzero(~np.isnan(values) & (weights > 0.0))
    if not len(there):
        return np.nan, np.nan, np.nan, np.nan
    order = there[np.argsort(values[there], kind="stable")]
    x, w = values[order], weights[order] / weights[order].sum()
    above = np.concatenate([[0.0], np.cumsum(w)])
    middle = np.searchsorted(above[1:], 0.5 - 1e-12)
    tie = abs(above[middle + 1] - 0.5) < 1e-12 and middle + 1 < len(x)
    median = 0.5 * (x[middle] + x[middle + 1]) if tie else x[middle]
    # From each point, the first at which the share is reached.
    ends = np.searchsorted(above[1:], above[:-1] + level - 1e-12)
    starts = np.flatnonzero(ends < len(x))
    best = starts[np.argmin(x[ends[starts]] - x[starts])]
    return float(w @ x), float(median), float(x[best]), float(x[ends[best]])


def _dated(hierarchy: Hierarchy, ages: Floats) -> Hierarchy:
    known = np.nan_to_num(ages, nan=-np.inf)
    for node, parent in enumerate(hierarchy.parents[:-1].tolist()):
        known[parent] = max(known[parent], known[node])
    lengths = np.append(known[hierarchy.parents[:-1]] - known[:-1], np.nan)
    return Hierarchy.from_parents(
        hierarchy.parents, hierarchy.labels, branch_lengths=lengths, support=hierarchy.support
    )
