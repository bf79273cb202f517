"""What a hierarchy costs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from scipy.sparse import coo_array, issparse, triu

from palmette.checks import check_finite_total, check_matrix
from palmette.evaluate._inputs import leaf_of_row, require_hierarchy
from palmette.hierarchy import Hierarchy

__all__ = ["dasgupta_cost"]


def dasgupta_cost(hierarchy: Hierarchy, similarity: Any, *, labels: Iterable[str] | None = None) -> float:
    """Σ_{i<j} w_ij · |lca(i, j)|: every similarity, times the number of leaves below the lowest common ancestor.

    `similarity` is a symmetric (n, n) matrix w whose diagonal is not used. Row i is leaf i of the hierarchy, or the
    leaf called `labels[i]`. Lower is better. The hierarchy need not be binary; if it is, this is minus the log
    potential of `palmette.models.Dasgupta` at β = 1. O(n²) time, and O(n) memory beside copies of the matrix.

    A SciPy sparse matrix is taken as it is: pairs that are not stored have similarity 0, and it takes about as long as
    there are others. With 1/w on the edges of a graph, this is what `palmette.ultrametric.Dasgupta` makes smooth.

    Compare only hierarchies that are equally resolved: with w ≥ 0, one more cluster never raises the cost. Where all
    similarities are equal, so is the cost of all binary hierarchies.

    >>> import numpy as np
    >>> w = np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])
    >>> dasgupta_cost(Hierarchy.from_newick("((a,b),c);"), w)  # 3·2 + 1·3 + 1·3
    12.0
    >>> dasgupta_cost(Hierarchy.from_newick("((a,b),c);"), w, labels=["c", "b", "a"])
    14.0
    >>> from scipy.sparse import coo_array
    >>> dasgupta_cost(Hierarchy.from_newick("((a,b),c);"), coo_array(w))
    12.0
    """
    n = require_hierarchy(hierarchy).n_leaves
    weights: Any = _upper(similarity) if issparse(similarity) else check_matrix(similarity, "similarity")
    if weights.shape[0] != n:
        raise ValueError(
            f"similarity has {weights.shape[0]} rows, but the hierarchy has {n} leaves; give one row per leaf"
        )
    check_finite_total(n, float(abs(weights).sum()), "similarity")
    leaves = leaf_of_row(hierarchy, labels)
    if issparse(similarity):
        meet = hierarchy.sizes[hierarchy.lca(leaves[weights.row], leaves[weights.col])]
        return float(weights.data @ meet.astype(np.float64))
    order = hierarchy.leaf_order
    rows = np.argsort(leaves)[order]  # of the leaf at each place
    sizes = hierarchy.sizes[hierarchy.lca(order[:-1], order[1:])].astype(np.float64)
    # Of the leaves at places p < q the ancestor is the largest of those between neighbours on the way from p to q.
    return float(sum(np.maximum.accumulate(sizes[p:]) @ weights[rows[p], rows[p + 1 :]] for p in range(n - 1)))


def _upper(similarity: Any) -> Any:
    # The stored entries above the diagonal of a sparse matrix that is as it should be, with their coordinates.
    if similarity.ndim != 2 or similarity.shape[0] != similarity.shape[1]:
        raise ValueError(f"similarity has shape {similarity.shape}; expected one row and one column per leaf")
    stored = coo_array(similarity, dtype=np.float64)
    if not np.isfinite(stored.data).all():
        raise ValueError("similarity holds entries that are NaN or infinite; leave out what is not known")
    if abs(stored - stored.T).max() > 1e-9 * abs(stored).max():
        raise ValueError("similarity is not symmetric; if each pair is stored once, give w + w.T")
    return triu(stored, 1, format="coo")
