from collections.abc import Mapping
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from palmette.array_types import Floats
from palmette.checks import optional_node_values
from palmette.hierarchy.rooted_tree import RootedTree

Support: TypeAlias = Mapping[frozenset[int], float] | ArrayLike


def support_by_node(hierarchy: RootedTree, support: Support | None) -> Floats | None:
    """One number per node, NaN where there is none; or None when there are none at all.

    A mapping gives the support of clusters; those that the hierarchy does not have are passed over. When
    nothing is given, the hierarchy's own support is taken.

    >>> from palmette.hierarchy import Hierarchy
    >>> support_by_node(Hierarchy.from_newick("((a,b),c);"), {frozenset({0, 1}): 0.9})
    array([nan, nan, nan, 0.9, nan])
    """
    if support is None:
        return hierarchy.support
    if not isinstance(support, Mapping):
        return optional_node_values(support, hierarchy.n_nodes, "support")
    values = np.full(hierarchy.n_nodes, np.nan)
    for cluster, value in support.items():
        node = hierarchy.find(cluster)
        if node is not None:
            values[node] = value
    return optional_node_values(values, hierarchy.n_nodes, "support")
