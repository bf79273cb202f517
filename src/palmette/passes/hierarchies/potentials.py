"""A model on the full trellis: its tables, once they are known to treat the two parts of a split alike."""

from __future__ import annotations

import numpy as np

from palmette._jit import is_ours, specialise
from palmette.clusters import cluster_members
from palmette.labels import describe_cluster
from palmette.models.full_tables import Potentials, Separable, separable_potentials
from palmette.models.split_model import HierarchyModel
from palmette.recursions.hierarchies.inside import listed_log_psi
from palmette.threads import Workers

__all__ = ["Potentials", "Separable", "separable_potentials", "tabulate_potentials"]


def tabulate_potentials(model: HierarchyModel, workers: Workers) -> Potentials:
    """The tables of `model` for all 2^n clusters; ValueError if a score of a person's own is not symmetric."""
    potentials = model.tabulate_splits(workers)
    if not is_ours(potentials.log_psi):
        _check_symmetric(model, potentials)
    return potentials


def _check_symmetric(model: HierarchyModel, potentials: Potentials) -> None:
    # The passes hand the two parts of a split to the score in either order.
    n = model.n_leaves
    rng = np.random.default_rng(0)
    parent, choice = rng.integers(1, 1 << n, (2, 64), dtype=np.uint64)
    left = parent & choice
    proper = (left != 0) & (left != parent)
    parent, left = parent[proper], left[proper]
    one, two = np.empty(len(left)), np.empty(len(left))
    evaluate = specialise(listed_log_psi, log_psi=potentials.log_psi)
    evaluate(potentials.data, parent, left, parent ^ left, one)
    evaluate(potentials.data, parent, parent ^ left, left, two)
    bad = np.flatnonzero(~np.isclose(one, two, rtol=1e-9, atol=1e-9, equal_nan=True))
    if len(bad):
        i = bad[0]
        sides = " and ".join(describe_cluster(cluster_members(int(m[i])), model.labels) for m in (left, parent ^ left))
        raise ValueError(
            f"{type(model).__name__}.score is not symmetric: the split into {sides} has log potential {one[i]:g} "
            f"one way round and {two[i]:g} the other; a split is an unordered pair"
        )
