"""Heights of the merges of a hierarchy that comes without any, so that it can be cut and drawn."""

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy

__all__ = ["with_average_heights", "with_ward_heights"]


def with_average_heights(hierarchy: Hierarchy, dissimilarity: Floats) -> Hierarchy:
    """height(L ∪ R) = mean of d_ij over i ∈ L and j ∈ R, as in average linkage; `dissimilarity` is (n, n).

    >>> d = np.array([[0, 1, 3], [1, 0, 5], [3, 5, 0.0]])
    >>> with_average_heights(Hierarchy.from_nested(((0, 1), 2)), d).heights
    array([0., 0., 0., 1., 4.])
    """
    below = [hierarchy.leaf_order[start:stop] for start, stop in hierarchy.intervals]
    pairs = hierarchy.children.tolist()
    heights = [dissimilarity[np.ix_(below[left], below[right])].mean() for left, right in pairs]
    return Hierarchy.from_merges(hierarchy.children, hierarchy.labels, heights=heights)


def with_ward_heights(hierarchy: Hierarchy, squared: Floats) -> Hierarchy:
    """height(L ∪ R) = √(2·[SSE(L ∪ R) − SSE(L) − SSE(R)]), as in Ward's linkage; `squared` is (n, n): ‖x_i − x_j‖².

    >>> with_ward_heights(Hierarchy.from_nested((0, 1)), np.array([[0.0, 9.0], [9.0, 0.0]])).heights
    array([0., 0., 3.])
    """
    # 2·increment = |L||R|/|P| · (twice the mean across − the means over all ordered pairs inside L and inside R).
    across = with_average_heights(hierarchy, squared).heights
    inside = np.zeros(hierarchy.n_nodes)
    heights = []
    for node, (left, right) in enumerate(hierarchy.children.tolist(), start=hierarchy.n_leaves):
        a, b = float(hierarchy.sizes[left]), float(hierarchy.sizes[right])
        inside[node] = (a * a * inside[left] + b * b * inside[right] + 2 * a * b * across[node]) / (a + b) ** 2
        gap = max(2 * across[node] - inside[left] - inside[right], 0.0)
        heights.append(np.sqrt(a * b / (a + b) * gap))
    return Hierarchy.from_merges(hierarchy.children, hierarchy.labels, heights=heights)
