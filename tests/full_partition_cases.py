"""Passes of all partitions, and conditions on them."""

from __future__ import annotations

import numpy as np

from palmette.passes.partitions.conditions import PartitionConditions
from palmette.passes.partitions.counted import CountedPartitionPasses
from palmette.passes.partitions.full import FullPartitionPasses


def conditions_on(model, require=(), forbid=(), together=(), apart=()):
    return PartitionConditions(model.labels).and_also(require, forbid, together, apart)


def passes_of(model, n_clusters=None, given=None):
    conditions = conditions_on(model, **(given or {}))
    if n_clusters is None:
        return FullPartitionPasses(model, conditions)
    return CountedPartitionPasses(model, conditions.and_also(n_clusters=n_clusters))


def random_table(n, seed=0, scale=1.0, forbidden=0.0):
    rng = np.random.default_rng(seed)
    table = scale * rng.normal(size=1 << n)
    table[rng.random(1 << n) < forbidden] = -np.inf
    table[0] = -np.inf
    return table


def pairs_only(clusters):
    return np.where(np.bitwise_count(clusters) == 2, 0.0, -np.inf)
