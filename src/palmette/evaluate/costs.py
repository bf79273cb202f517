"""What a hierarchy costs."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.checks import check_finite_total, check_matrix
from palmette.evaluate._inputs import leaf_of_row, require_hierarchy
from palmette.hierarchy import Hierarchy

__all__ = ["dasgupta_cost"]


def dasgupta_cost(hierarchy: Hierarchy, similarity: npt.ArrayLike, *, labels: Iterable[str] | None = None) -> float:
    """Σ_{i<j} w_ij · |lca(i, j)|: every similarity, times the number of leaves below the lowest common ancestor.

    `similarity` is a symmetric (n, n) matrix w whose diagonal is not used. Row i is leaf i of the hierarchy, or the
    leaf called `labels[i]`. Lower is better. The hierarchy need not be binary; if it is, this is minus the log
    potential of `palmette.models.Dasgupta` at β = 1. O(n²) time, and O(n) memory beside copies of the matrix.

    Compare only hierarchies that are equally resolved: with w ≥ 0, one more cluster never raises the cost. Where all
    similarities are equal, so is the cost of all binary hierarchies.

    >>> import numpy as np
    >>> w = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])
    >>> dasgupta_cost(Hierarchy.from_newick("((a,b),c);"), w)  # 3·2 + 1·3 + 1·3
    12.0
    >>> dasgupta_cost(Hierarchy.from_newick("((a,b),c);"), w, labels=["c", "b", "a"])
    14.0
    """
    n = require_hierarchy(hierarchy).n_leaves
    weights = check_matrix(similarity, "similarity")
    if len(weights) != n:
        raise ValueError(f"similarity has {len(weights)} rows, but the hierarchy has {n} leaves; give one row per leaf")
    check_finite_total(n, float(np.abs(weights).sum()), "similarity")
    order = hierarchy.leaf_order
    rows = np.argsort(leaf_of_row(hierarchy, labels))[order]  # of the leaf at each place
    sizes = hierarchy.sizes[hierarchy.lca(order[:-1], order[1:])].astype(np.float64)
    # Of the leaves at places p < q the ancestor is the largest of those between neighbours on the way from p to q.
    return float(sum(np.maximum.accumulate(sizes[p:]) @ weights[rows[p], rows[p + 1 :]] for p in range(n - 1)))
