"""Trees as a distribution: what a sample of hierarchies says about the hierarchies between and beyond them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.tree_set import TreeSet
from palmette.models.split_model import HierarchyModel
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.trellis.hierarchies.observed import Observed, observe
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["ConditionalClusters", "from_trees", "sample_weights"]


class ConditionalClusters(HierarchyModel):
    """log ψ of every split of a sparse trellis, as a table; `from_trees` makes it from a sample."""

    knows_all = False
    is_of_sample = True

    def __init__(self, trellis: SparseTrellis, log_psi: Floats) -> None:
        super().__init__(trellis.n_leaves, trellis.labels)
        self.trellis = trellis
        self._log_psi = log_psi

    def split_log_potentials(self, trellis: SparseTrellis) -> Floats:
        """(n_splits,): log ψ of the splits of a trellis on the same labels in the same order; −inf for foreign ones."""
        if trellis is self.trellis:
            return self._log_psi
        number = self.trellis.find_words(trellis.words)
        at = self.trellis.find_splits(number[trellis.parent], number[trellis.left])
        return np.where(at >= 0, self._log_psi[at], -np.inf)

    def aligned_log_potential(self, hierarchy: Hierarchy) -> float:
        """Σ log ψ over the splits of a binary hierarchy whose leaf i is the model's; −inf if one is foreign."""
        at = self.trellis.find_hierarchy(hierarchy)
        return float(self._log_psi[at].sum()) if (at >= 0).all() else -np.inf


def from_trees(
    trees: Iterable[Hierarchy], *, weights: npt.ArrayLike | None = None, closed: bool = False, **options: Any
) -> HierarchyPosterior:
    """The conditional cluster distribution (CCD) of a sample of binary hierarchies: MCMC draws, bootstrap trees.

    Observed splits (CCD1, the default): p(H) = Π f(P → L, R) / f(P) over the splits of H, where f counts how often the
    trees have this cluster, and this split of it. Closed (CCD0): p(H) ∝ Π f(C) over the clusters of H, over all
    hierarchies made of clusters that were seen. Both give probability to hierarchies that are in no sample but are put
    together from what is, and need far fewer trees than counting whole ones. They are estimates of what was sampled,
    as good as the sample, and exact as distributions: every verb of `HierarchyPosterior` answers for them. Clusters
    that no tree has are impossible here, so `kl` between two samples is nearly always inf: `smoothed` gives them
    probability, and `evaluate.agreement` compares frequencies of clusters.

    Trees without a root, which `read_trees` knows by ``[&U]`` or by three branches at the root, are refused: two ways
    to write one of them would be two hierarchies. `TreeSet.rooted_by` and `midpoint_rooted` give them one.

    `weights` are one per tree; unless given, those of the tree file, or all alike. Further options go to
    `HierarchyPosterior`.

    >>> trees = [Hierarchy.from_newick(text) for text in ["(((a,b),c),d);", "(((a,b),c),d);", "((a,b),(c,d));"]]
    >>> post = from_trees(trees)
    >>> round(post.cluster_probability(["a", "b", "c"]), 6), post.map()
    (0.666667, Hierarchy.from_newick('(((a,b),c),d);'))
    """
    seen = observe(trees, sample_weights(trees, weights))
    trellis = SparseTrellis.from_observed(seen, closed=closed)
    if closed:
        log_f = _log_frequencies(seen)  # every cluster is in some tree, so none is dropped and the numbers stay
        model = ConditionalClusters(trellis, log_f[trellis.left] + log_f[trellis.right])
    else:
        log_psi = np.full(len(seen.weight), -np.inf)
        some = seen.weight > 0.0
        log_psi[some] = np.log(seen.weight[some] / seen.totals[seen.parent[some]])
        model = ConditionalClusters(trellis, log_psi)
    return HierarchyPosterior(model, trellis=trellis, **options)


def sample_weights(trees: Iterable[Hierarchy], weights: npt.ArrayLike | None) -> npt.ArrayLike | None:
    """The weights of a sample, those of its file unless others are given; trees that have no root are refused."""
    _require_roots(trees)
    return getattr(trees, "weights", None) if weights is None else weights


def _require_roots(trees: Iterable[Hierarchy]) -> None:
    if not isinstance(trees, TreeSet):
        return
    unrooted = np.flatnonzero(trees.is_unrooted)
    if len(unrooted) and trees.n_leaves > 2:
        first, how = int(unrooted[0]), "is marked [&U]"
        if trees.rooted[first] < 0:
            how = "has three branches or more at its root"
        raise ValueError(
            f"tree {first + 1} has no root ({how}), so its clusters are not known; "
            "give trees.rooted_by(outgroup) or trees.midpoint_rooted()"
        )


def _log_frequencies(seen: Observed) -> Floats:
    totals = seen.totals
    if len(seen.labels) == 1:
        return np.zeros(1)
    totals[: len(seen.labels)] = totals[-1]  # every tree has every leaf
    with np.errstate(divide="ignore"):
        return np.asarray(np.log(totals) - np.log(totals[-1]))
