"""Heights of the merges of a hierarchy that comes without any, to draw it by; and what a flat cluster of it costs."""

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy

__all__ = ["scatter", "with_average_heights", "with_ward_heights"]


def with_average_heights(hierarchy: Hierarchy, dissimilarity: Floats) -> Hierarchy:
    """height(L ∪ R) = mean of d_ij over i ∈ L and j ∈ R, as in average linkage; `dissimilarity` is (n, n).

    >>> d = np.array([[0, 1, 3], [1, 0, 5], [3, 5, 0.0]])
    >>> with_average_heights(Hierarchy.from_nested(((0, 1), 2)), d).heights
    array([0., 0., 0., 1., 4.])
    """
    heights = _across(hierarchy, dissimilarity)
    return Hierarchy.from_merges(hierarchy.children, hierarchy.labels, heights=heights)


def with_ward_heights(hierarchy: Hierarchy, squared: Floats) -> Hierarchy:
    """height(L ∪ R) = √(2·[SSE(L ∪ R) − SSE(L) − SSE(R)]), as in Ward's linkage; `squared` is (n, n): ‖x_i − x_j‖².

    >>> with_ward_heights(Hierarchy.from_nested((0, 1)), np.array([[0.0, 9.0], [9.0, 0.0]])).heights
    array([0., 0., 3.])
    """
    # 2·increment = |L||R|/|P| · (twice the mean across − the means over all ordered pairs inside L and inside R), which
    # keeps more digits than a difference of scatters.
    across, sizes = _across(hierarchy, squared), hierarchy.sizes.astype(np.float64)
    inside = 2.0 * scatter(hierarchy, squared) / sizes
    left, right = hierarchy.children.T
    gaps = np.maximum(2.0 * across - inside[left] - inside[right], 0.0)
    heights = np.sqrt(sizes[left] * sizes[right] / sizes[hierarchy.n_leaves :] * gaps)
    return Hierarchy.from_merges(hierarchy.children, hierarchy.labels, heights=heights)


def scatter(hierarchy: Hierarchy, dissimilarity: Floats) -> Floats:
    """(n_nodes,): Σ d_ij / |C| over the pairs of each cluster C: of squared distances, what k-means adds up.

    Of similarities (a constant minus each of them) it is what kernel k-means does, but for a constant.

    >>> d = np.array([[0, 1, 3], [1, 0, 5], [3, 5, 0.0]])
    >>> scatter(Hierarchy.from_nested(((0, 1), 2)), d)
    array([0. , 0. , 0. , 0.5, 3. ])
    """
    n, sizes = hierarchy.n_leaves, hierarchy.sizes
    sums = np.zeros(hierarchy.n_nodes)
    for node, mean in enumerate(_across(hierarchy, dissimilarity).tolist(), start=n):
        left, right = hierarchy.children[node - n]
        sums[node] = sums[left] + sums[right] + sizes[left] * sizes[right] * mean
    return np.asarray(sums / sizes)


def _across(hierarchy: Hierarchy, dissimilarity: Floats) -> Floats:
    # (n − 1,): the mean between the two sides of each split.
    below = [hierarchy.leaf_order[start:stop] for start, stop in hierarchy.intervals]
    return np.array([dissimilarity[np.ix_(below[left], below[right])].mean() for left, right in hierarchy.children])
