"""What is expected of two leaves at the split that parts them, on the full trellis."""

from __future__ import annotations

import numpy as np

from palmette.array_types import Floats
from palmette.models.split_model import SplitModel
from palmette.passes.hierarchies.tables import SplitTables, tabulate_potentials
from palmette.recursions.hierarchies.outside import gather_values, value_clusters
from palmette.trellis.counting import n_splits

__all__ = ["parted"]


def parted(tables: SplitTables, Z: Floats, mu: Floats, values: SplitModel) -> Floats:
    """(2^n,): numbers whose sum over the clusters that hold both i and j is E[v(L, R)] at the split that parts them.

    v is given as a model of the same leaves, in the place of log ψ. Two leaves of P are parted there unless they are in
    one part C of it: Σ f(P) μ(P) − Σ F(C) over all that hold both leaves no other v than that of this split.
    """
    clusters = tables.clusters
    n, sizes = clusters.n, clusters.sizes
    data, given = tables.data, tabulate_potentials(values, clusters).data
    occurs = mu > 0.0
    parents = np.flatnonzero(occurs & (sizes >= 2)).astype(np.uint32)
    parts = np.flatnonzero(occurs & (sizes < n)).astype(np.uint32)
    found, at_parents, at_parts = np.empty(len(parents)), np.zeros(1 << n), np.zeros(1 << n)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_weight = np.where(occurs, np.log(mu) - Z, -np.inf)
    work = sizes.astype(np.float64)
    with clusters.workers("what is expected of pairs", 6.0 * n_splits(n)) as workers:
        mean = lambda a, b: value_clusters(data, Z, given, parents[a:b], found[a:b])  # noqa: E731
        workers.run(mean, 2.0 ** work[parents])
        at_parents[parents] = found
        gather = lambda a, b: gather_values(data, given, Z, log_weight, parts[a:b], at_parts)  # noqa: E731
        workers.run(gather, 2.0 ** (n - work[parts] + 1))
    return mu * at_parents - at_parts
