"""Heights of the merges of a hierarchy that comes without any, to draw it by; and what a flat cluster of it costs.

All are made of the means between the two sides of every split, which take O(n²) steps and are computed once.
"""

import numpy as np

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy

__all__ = ["mean_across", "scatter", "ward_heights"]


def mean_across(hierarchy: Hierarchy, dissimilarity: Floats) -> Floats:
    """(n − 1,): the mean of d_ij over i ∈ L and j ∈ R of each split, the heights of average linkage.

    >>> d = np.array([[0, 1, 3], [1, 0, 5], [3, 5, 0.0]])
    >>> mean_across(Hierarchy.from_nested(((0, 1), 2)), d)
    array([1., 4.])
    """
    below = [hierarchy.leaves_below(node) for node in range(hierarchy.n_nodes)]
    return np.array([dissimilarity[np.ix_(below[left], below[right])].mean() for left, right in hierarchy.children])


def ward_heights(hierarchy: Hierarchy, across: Floats) -> Floats:
    """(n − 1,): √(2·[SSE(L ∪ R) − SSE(L) − SSE(R)]), as in Ward's linkage, from the means of squared distances.

    >>> ward_heights(Hierarchy.from_nested((0, 1)), np.array([9.0]))
    array([3.])
    """
    # 2·increment = |L||R|/|P| · (twice the mean across − the means over all ordered pairs inside L and inside R), which
    # keeps more digits than a difference of scatters.
    sizes = hierarchy.sizes.astype(np.float64)
    inside = 2.0 * scatter(hierarchy, across) / sizes
    left, right = hierarchy.children.T
    gaps = np.maximum(2.0 * across - inside[left] - inside[right], 0.0)
    return np.asarray(np.sqrt(sizes[left] * sizes[right] / sizes[hierarchy.n_leaves :] * gaps))


def scatter(hierarchy: Hierarchy, across: Floats) -> Floats:
    """(n_nodes,): Σ d_ij / |C| over the pairs of each cluster C: of squared distances, what k-means adds up.

    Of similarities (a constant minus each of them) it is what kernel k-means does, but for a constant.

    >>> scatter(Hierarchy.from_nested(((0, 1), 2)), np.array([1.0, 4.0]))
    array([0. , 0. , 0. , 0.5, 3. ])
    """
    sizes = hierarchy.sizes
    sums = np.zeros(hierarchy.n_nodes)
    for node, (pair, mean) in enumerate(zip(hierarchy.children, across, strict=True), start=hierarchy.n_leaves):
        left, right = pair
        sums[node] = sums[left] + sums[right] + sizes[left] * sizes[right] * mean
    return np.asarray(sums / sizes)
