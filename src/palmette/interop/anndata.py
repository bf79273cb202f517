"""AnnData: a hierarchy of the categories of an observation column, where Scanpy's plots look for one.

Nothing is imported for it: whatever has `obs`, a table with a categorical column, and `uns`, a dictionary, will do.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.sampling.estimates import values_of

__all__ = ["to_anndata"]


def to_anndata(
    adata: Any,
    clustering: Any,
    groupby: str | Sequence[str],
    *,
    key: str | None = None,
    correlation: npt.ArrayLike | None = None,
) -> None:
    """adata.uns["dendrogram_<groupby>"] = the hierarchy, in the form of `scanpy.tl.dendrogram`, with support values.

    `clustering` is a binary `Hierarchy`, or what has a MAP and cluster probabilities: a `HierarchyPosterior`, a
    `SampledPosterior`, `Draws`, or `CoalescentDraws`. Its labels are the categories of ``adata.obs[groupby]``, in any
    order. Of several columns they are the combinations that occur, joined by "_" as Scanpy does: "T_blood". `key` is
    another name to write to, which Scanpy's plots take as ``dendrogram=key``.

    To Scanpy's entries one is added: "support", (n − 1,), the probability of the cluster of each row of the linkage,
    NaN where it is not known. `correlation` is the (n, n) matrix for `scanpy.pl.correlation_matrix`, in the order of
    the labels. Without it the one that you or Scanpy put there is kept; if there is none, it is
    (n − |lca(i, j)|)/(n − 1), or the expectation of that: 1 for a category with itself, 0 for two that part at the
    root.

    >>> from types import SimpleNamespace as Object
    >>> column = Object(cat=Object(categories=["B", "NK", "T"]))
    >>> cells = Object(obs={"cell_type": column}, uns={})
    >>> to_anndata(cells, Hierarchy.from_newick("((T,NK)0.9,B);"), "cell_type")
    >>> found = cells.uns["dendrogram_cell_type"]
    >>> found["categories_ordered"], found["support"]
    (['T', 'NK', 'B'], array([0.9, nan]))
    """
    from scipy.cluster.hierarchy import dendrogram

    columns = [groupby] if isinstance(groupby, str) else list(groupby)
    joint = "_".join(map(str, columns))
    name = f"dendrogram_{joint}" if key is None else key
    hierarchy = _hierarchy_of(clustering)
    categories = _combined(adata, columns)
    aligned = _aligned(hierarchy, categories, joint)
    linkage = aligned.to_linkage()
    drawn = dendrogram(linkage, labels=categories, no_plot=True)
    order = np.array([hierarchy.labels.index(label) for label in aligned.labels])
    method, matrix = _correlation(adata.uns.get(name), clustering, correlation, order)
    adata.uns[name] = {
        "linkage": linkage,
        "categories_ordered": drawn["ivl"],
        "categories_idx_ordered": drawn["leaves"],
        "dendrogram_info": drawn,
        "groupby": columns,
        "use_rep": None,
        "cor_method": method,
        "linkage_method": "palmette",
        "correlation_matrix": matrix,
        "support": _support(aligned, clustering),
    }


def _hierarchy_of(clustering: Any) -> Hierarchy:
    found = clustering if isinstance(clustering, Hierarchy) else getattr(clustering, "map", lambda: None)()
    if not isinstance(found, Hierarchy):
        raise TypeError(
            f"expected a Hierarchy, or a posterior or draws of hierarchies, not {type(clustering).__name__}; "
            "a dendrogram needs a hierarchy"
        )
    return found


def _combined(adata: Any, columns: list[str]) -> list[str]:
    # The categories of one column, or the combinations of several that occur, in the order that Scanpy gives them.
    if not columns or len(set(columns)) < len(columns):
        raise ValueError(f"groupby is {columns!r}; give the name of a column of adata.obs, or several different ones")
    first, *others = [_categories(adata, column) for column in columns]
    if not others:
        return first
    values = [[str(value) for value in adata.obs[column]] for column in columns]
    return sorted({"_".join(row) for row in zip(*values, strict=True)})


def _categories(adata: Any, groupby: Any) -> list[str]:
    if not isinstance(groupby, str):
        raise TypeError(f"groupby must be the name of a column of adata.obs, or a list of names, not {groupby!r}")
    try:
        column = adata.obs[groupby]
    except KeyError:
        columns = ", ".join(map(repr, adata.obs)) or "none"
        raise ValueError(f"adata.obs has no column {groupby!r}; its columns are {columns}") from None
    try:
        return [str(category) for category in column.cat.categories]
    except AttributeError:
        raise ValueError(
            f"the column {groupby!r} is not categorical; make it so: "
            f"adata.obs[{groupby!r}] = adata.obs[{groupby!r}].astype('category')"
        ) from None


def _aligned(hierarchy: Hierarchy, categories: list[str], groupby: str) -> Hierarchy:
    if set(hierarchy.labels) != set(categories):
        leaves, wanted = set(hierarchy.labels), set(categories)
        odd = {"without a leaf:": sorted(wanted - leaves), "unknown:": sorted(leaves - wanted)}
        words = "; ".join(f"{what} {some[:5]}" for what, some in odd.items() if some)
        raise ValueError(f"the leaves must be the categories of {groupby!r}; {words}")
    if len(categories) < 2:
        raise ValueError(f"{groupby!r} has one category, {categories[0]!r}; a dendrogram needs two or more")
    return hierarchy.aligned_to(categories)


def _support(hierarchy: Hierarchy, clustering: Any) -> Floats:
    rows = hierarchy.cut_order[::-1]  # as in the linkage
    if not isinstance(clustering, Hierarchy):
        return np.asarray(clustering.support(hierarchy).support)[rows]
    return np.full(len(rows), np.nan) if hierarchy.support is None else hierarchy.support[rows]


def _correlation(existing: Any, clustering: Any, given: npt.ArrayLike | None, order: Ints) -> tuple[str, Floats]:
    n = len(order)
    if given is not None:
        matrix = np.array(given, dtype=np.float64)
        if matrix.shape != (n, n):
            raise ValueError(f"correlation has shape {matrix.shape}; expected ({n}, {n}), in the order of the labels")
        return "given", matrix[np.ix_(order, order)]
    method = None if existing is None else existing.get("cor_method", "given")
    if method not in (None, "palmette") and np.shape(existing.get("correlation_matrix")) == (n, n):
        return method, existing["correlation_matrix"]
    is_one = isinstance(clustering, Hierarchy)
    sizes = clustering.lca_size() if is_one else values_of(clustering.expected_lca_size())
    return "palmette", ((n - sizes) / (n - 1.0))[np.ix_(order, order)]
