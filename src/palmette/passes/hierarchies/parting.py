"""What is expected of two leaves at the split that parts them."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats
from palmette.models.split_model import SplitModel
from palmette.passes.hierarchies.full import FullHierarchyPasses
from palmette.passes.hierarchies.protocol import HierarchyPasses
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.passes.hierarchies.tables import tabulate_potentials
from palmette.recursions.hierarchies.parting import gather_values, mean_values
from palmette.recursions.hierarchies.sparse import add_separated
from palmette.trellis.counting import n_splits

__all__ = ["expected_at_parting"]


def expected_at_parting(passes: HierarchyPasses, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
    """(n, n): E[v(L, R)] at the split with i on one side and j on the other, 0 on the diagonal.

    v is given as a model of the same leaves, in the place of log ψ.
    """
    if isinstance(passes, FullHierarchyPasses):
        out = passes.pair_sums(_parted(passes, Z, mu, values))
    else:
        assert isinstance(passes, SparseHierarchyPasses)  # a model that can only be asked says nothing of pairs
        out = _separated(passes, Z, values)
    np.fill_diagonal(out, 0.0)
    return out


def _parted(passes: FullHierarchyPasses, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
    # Two leaves of P are parted there unless they are in one part C of it: Σ f(P) μ(P) − Σ F(C) over all that hold both
    # leaves no other v than that of the split that parts them.
    tables, n = passes.tables, passes.n
    given = tabulate_potentials(values, passes.clusters)
    mean, gather = (make(tables.log_psi, given.log_psi) for make in (mean_values, gather_values))
    occurs = mu > 0.0
    parents = np.flatnonzero(occurs & (passes.sizes >= 2)).astype(np.uint32)
    parts = np.flatnonzero(occurs & (passes.sizes < n)).astype(np.uint32)
    at_parents, at_parts = np.zeros(1 << n), np.zeros(1 << n)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(occurs, np.log(mu) - Z, -np.inf)
    data = (tables.data, given.data, Z)
    sizes = passes.sizes.astype(np.float64)
    with passes.clusters.workers("what is expected of pairs", 6.0 * n_splits(n)) as workers:
        workers.run(lambda a, b: mean(*data, parents[a:b], at_parents), 2.0 ** sizes[parents])
        workers.run(lambda a, b: gather(*data, log_weight, parts[a:b], at_parts), 2.0 ** (n - sizes[parts] + 1))
    return mu * at_parents - at_parts


def _separated(passes: SparseHierarchyPasses, Z: Floats, values: SplitModel) -> Floats:
    t = passes.trellis
    mu, share = passes.probabilities(Z)
    v = values.split_log_potentials(t)
    least = float(v.min(initial=0.0))  # what is added up must not be negative
    out = np.zeros((passes.n, passes.n))
    add_separated(passes.n, t.words, t.left, t.right, mu[t.parent] * share * (v - least), out)
    return out + out.T + least
