"""A partition that moves: which leaf is where, and what is known of each cluster.

A cluster lives in a *slot*, and there are as many slots as leaves. Its sums are changed by what joins or leaves it, so
they collect roundings; once about as many leaves have left it as it has, they are added up anew. That bounds the error
by what adding up twice as many leaves would give, costs next to nothing, and happens at the same moments of a
chain however it is cut into calls.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import called, inline, kernel
from palmette.array_types import Floats, Ints
from palmette.models.c_functions import ModelData, cluster_scores_of, features_of, fill_features, score_clusters
from palmette.models.cluster_model import ClusterModel
from palmette.partition import Partition

__all__ = [
    "IS_WRONG",
    "N_CLUSTERS",
    "REDRAWN",
    "Groups",
    "free_slot",
    "groups_of",
    "membership",
    "model_data",
    "renew",
    "score_rows",
    "take_slot",
    "totals",
]

# What is counted: clusters; units that were redrawn; scores that are no number. Saved chains have four: one is unused.
N_CLUSTERS, _, REDRAWN, IS_WRONG = range(4)

_SOON = 16  # leaves that may leave even a small cluster before its sums are added up


class Groups(NamedTuple):
    """A partition of n leaves, and what is known of its clusters; saved as it is, a chain goes on from it exactly."""

    cluster: Ints  # (n,): the slot of each leaf
    size: Ints  # (n,)
    sums: Floats  # (n, d)
    pairs: Floats  # (n, p)
    log_psi: Floats  # (n,)
    gone: Ints  # (n,): leaves that left the cluster since its sums were added up
    slots: Ints  # (n,): those in use, then the free ones
    place: Ints  # (n,): where a slot stands among these
    counts: Ints  # see above


def model_data(model: ClusterModel) -> ModelData:
    """The functions and the data of a model."""
    return ModelData(features_of(model), cluster_scores_of(model), model.theta, model.additive, model.pairwise)


def groups_of(model: ClusterModel, partition: Partition) -> Groups:
    """The state that begins at a partition of the leaves of a model, in its order."""
    n, k = model.n_leaves, partition.n_clusters
    size = np.zeros(n, dtype=np.int64)
    size[:k] = partition.sizes
    room = np.zeros((n, model.additive.shape[1])), np.zeros((n, len(model.pairwise))), np.zeros(n)
    cluster = np.array(partition.membership, dtype=np.int64)
    counts = np.array([k, 0, 0, 0])
    groups = Groups(cluster, size, *room, np.zeros(n, dtype=np.int64), np.arange(n), np.arange(n), counts)
    _tally(model.additive, model.pairwise, groups.cluster, groups.sums, groups.pairs)
    _score_first(model_data(model), groups, np.empty((k, model.n_features)))
    return groups


@kernel
def _tally(additive, pairwise, cluster, sums, pairs):
    for i in range(cluster.size):
        s = cluster[i]
        for c in range(additive.shape[1]):
            sums[s, c] += additive[i, c]
        for c in range(pairwise.shape[0]):
            for j in range(i):
                if cluster[j] == s:
                    pairs[s, c] += pairwise[c, i, j]


@inline
def score_rows(data, sizes, sums, pairs, table, count, out):
    """out[i] = log ψ of the first `count` clusters, known by their sums; `table` is room for so many features."""
    fill_features(data.features, data.theta, data.additive.shape[0], sizes, sums, pairs, table, 0, count)
    score_clusters(data.scores, data.theta, table, count, out, 0)


@kernel
def _score_first(data, groups, table):
    # Where a chain begins, its clusters are in the first slots.
    count = groups.counts[N_CLUSTERS]
    score_rows(data, groups.size, groups.sums, groups.pairs, table, count, groups.log_psi)
    for s in range(count):
        if not groups.log_psi[s] < np.inf:
            groups.counts[IS_WRONG] += 1


@called
def renew(data, groups, s, table):
    """The sums of a cluster from its leaves, if enough of them have left; in the order of `_tally`."""
    if groups.gone[s] <= _SOON + groups.size[s]:
        return
    additive, pairwise, cluster = data.additive, data.pairwise, groups.cluster
    sums, pairs = groups.sums[s], groups.pairs[s]
    sums[:] = 0.0
    pairs[:] = 0.0
    for i in range(cluster.size):
        if cluster[i] == s:
            for c in range(sums.size):
                sums[c] += additive[i, c]
            for c in range(pairs.size):
                for j in range(i):
                    if cluster[j] == s:
                        pairs[c] += pairwise[c, i, j]
    groups.gone[s] = 0
    it = slice(s, s + 1)
    score_rows(data, groups.size[it], groups.sums[it], groups.pairs[it], table, 1, groups.log_psi[it])


@called
def take_slot(groups):
    """A free slot, from now on in use."""
    groups.counts[N_CLUSTERS] += 1
    return groups.slots[groups.counts[N_CLUSTERS] - 1]


@called
def free_slot(groups, s):
    """Give a slot back: it changes places with the last one in use."""
    groups.counts[N_CLUSTERS] -= 1
    groups.size[s] = groups.gone[s] = 0
    at, last = groups.place[s], groups.counts[N_CLUSTERS]
    other = groups.slots[last]
    groups.slots[at], groups.slots[last] = other, s
    groups.place[other], groups.place[s] = at, last


@kernel
def totals(groups):
    """(Σ log ψ over the clusters that are possible, how many are not)."""
    total, impossible = 0.0, 0
    for i in range(groups.counts[N_CLUSTERS]):
        value = groups.log_psi[groups.slots[i]]
        if value == -np.inf:
            impossible += 1
        else:
            total += value
    return total, impossible


@kernel
def membership(groups, out):
    """Fill `out`, (n,) of any integers, with the number of each leaf's cluster, numbered by their first leaves."""
    number = np.full(groups.cluster.size, -1, np.int32)
    known = 0
    for i in range(out.size):
        s = groups.cluster[i]
        if number[s] < 0:
            number[s] = known
            known += 1
        out[i] = number[s]
