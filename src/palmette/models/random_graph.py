"""Hierarchical random graphs: each split has a probability of edges across it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import betaln, gammaln

from palmette._jit import inline
from palmette.array_types import Floats
from palmette.checks import check_positive
from palmette.models.pair_data import Pairs, most_across, pair_counts, read_pairs, require_entries
from palmette.models.split_model import SplitModel

__all__ = ["HierarchicalRandomGraph"]

_TABLES = 4  # where the tables in θ begin


@inline
def _score(theta, parent, left, right):
    # θ: a, a + b, where the second and third table begin; log Γ(a + i), log Γ(b + i), log Γ(a + b + i) + log B(a, b).
    edges, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    return theta[_TABLES + int(edges)] + theta[int(theta[2] + known - edges)] - theta[int(theta[3] + known)]


@inline
def _prediction(theta, parent, left, right):
    edges, known = parent[0] - left[0] - right[0], parent[1] - left[1] - right[1]
    return (edges + theta[0]) / (known + theta[1])


class HierarchicalRandomGraph(SplitModel):
    """log ψ(L, R) = log B(E + a, N − E + b) − log B(a, b), E edges among the N known pairs across: a likelihood.

    Every pair of vertices is explained at their smallest common cluster: its split has a probability of edges of its
    own, p ~ Beta(a, b), which is integrated out (Clauset, Moore and Newman 2008 maximise it). So exp(log potential) is
    the probability of the graph given the hierarchy, `log_evidence` of the posterior is log p(graph), and there is no
    temperature. `link_probabilities()` of the posterior predicts missing pairs. Edges may be dense within clusters or,
    as between the two sides of a bipartite graph, across.

    `adjacency` is an (n, n) array of 0 and 1, a SciPy sparse matrix or a `networkx.Graph`; a pair that is NaN, or True
    in the (n, n) array `missing`, is not known, and simply not there. Greedy agglomeration joins where edges are dense.

    >>> import palmette as pal
    >>> path = [[0, 1, 0], [1, 0, 1], [0, 1, 0]]
    >>> post = pal.HierarchyPosterior(pal.models.HierarchicalRandomGraph(path))
    >>> round(post.log_evidence, 4), post.map()
    (-2.1972, Hierarchy.from_newick('((0,2),1);'))
    """

    n_features = 2
    features = staticmethod(pair_counts)
    score = staticmethod(_score)
    merge_score = staticmethod(_prediction)
    prediction = staticmethod(_prediction)
    may_forbid = False
    never_gains = True
    log_density_offset = 0.0

    def __init__(
        self,
        adjacency: Pairs,
        a: float = 1.0,
        b: float = 1.0,
        *,
        missing: npt.ArrayLike | None = None,
        labels: Sequence[str] | None = None,
    ) -> None:
        data = read_pairs(adjacency, "adjacency", missing, labels, loops=False)
        weighted = (data.values != 0.0) & (data.values != 1.0)
        require_entries(
            data, "adjacency", weighted, "an edge is 0 or 1. Counts go to PoissonPairs, weights to NormalPairs"
        )
        self._a, self._b = check_positive("a", a), check_positive("b", b)
        self._listed = data.known_values
        pairwise = [data.values, *data.n_known]
        super().__init__(len(data.values), theta=self._law(len(data.values)), pairwise=pairwise, labels=data.labels)

    def _law(self, n: int) -> Floats:
        a, b = self._a, self._b
        i = np.arange(most_across(n) + 1)
        begins = [_TABLES + len(i), _TABLES + 2 * len(i)]
        return np.concatenate([[a, a + b], begins, gammaln(a + i), gammaln(b + i), gammaln(a + b + i) + betaln(a, b)])

    @property
    def free_parameters(self) -> dict[str, float]:
        """a and b, as they are."""
        return {"a": self._a, "b": self._b}

    @property
    def log_evidence_without_structure(self) -> float:  # type: ignore[override]
        """log p(graph) with one p ~ Beta(a, b) for all pairs."""
        edges, known = float(self._listed.sum()), len(self._listed)
        return float(betaln(self._a + edges, self._b + known - edges) - betaln(self._a, self._b))

    @property
    def a(self) -> float:
        """Edges that each split is taken to have had before the data."""
        return self._a

    @property
    def b(self) -> float:
        """Pairs without an edge that each split is taken to have had before the data."""
        return self._b
