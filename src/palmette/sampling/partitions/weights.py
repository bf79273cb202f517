"""What a few units weigh wherever they may go: log ψ of every cluster that a move could make.

The units are taken out of their clusters. Of a cluster of which something is left, its *rest*, the sums are what they
were minus those of the units. Only pairs need more: the rows of a unit are added up once, and summed over all clusters.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import called, inline
from palmette.array_types import Floats, Ints
from palmette.models.cluster_model import ClusterModel
from palmette.sampling.chance import tempered
from palmette.sampling.partitions.state import IS_WRONG, N_CLUSTERS, score_rows
from palmette.sampling.partitions.units import Units

__all__ = ["Redraw", "empty_redraw", "keep_whole", "lowest", "relabel", "take_out", "unite", "weigh"]

_AT_ONCE = 32  # clusters that a model is asked about at a time, at most


class Asked(NamedTuple):
    """Clusters that a model is asked about."""

    rest: Ints  # (m,): the row of `joined`
    units: Ints  # (m,): and the column
    size: Ints  # (m,)
    sums: Floats  # (m, d)
    pairs: Floats  # (m, p)
    table: Floats  # (m, features)
    log_psi: Floats  # (m,)


class Redraw(NamedTuple):
    """Room for one move of at most k units; a set of units is a bit mask A < 2^k. Nothing in it outlives the move."""

    units: Ints  # (k,): nodes
    home: Ints  # (k,): the slot that each comes from
    target: Ints  # (k,): the slot that each goes to
    held: Ints  # (n,): the units that a slot held before; zero between moves
    rests: Ints  # (n,): slots of which something is left
    joins: Ints  # (n,): the units that a rest gets
    size: Ints  # (2^k,): leaves of a union of units
    sums: Floats  # (2^k, d)
    pairs: Floats  # (2^k, p)
    rest_sums: Floats  # (k, d): of the rest of the slot whose lowest unit it is
    rest_pairs: Floats  # (k, p)
    across: Floats  # (p, k, n + k): sums over the pairs of a unit and a slot, or (n + v) another unit
    row: Floats  # (n,)
    joined: Floats  # (n + 1, 2^k): log ψ(r_j ∪ A), and in row K that of the units alone
    gains: Floats  # (n + 1, 2^k): log [ψ(r_j ∪ A) / ψ(r_j)]^t
    log_f: Floats  # (n + 1, 2^k)
    values: Floats  # (2^k,)
    asked: Asked


def empty_redraw(model: ClusterModel, units: Units) -> Redraw:
    """Room for the moves of one chain."""
    n, k, d, p = model.n_leaves, units.most, model.additive.shape[1], len(model.pairwise)
    ints = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731
    sets = 1 << k
    slots = (ints(k), ints(k), ints(k), ints(n), ints(n), ints(n))
    unions = (ints(sets), np.zeros((sets, d)), np.zeros((sets, p)), np.zeros((k, d)), np.zeros((k, p)))
    across = (np.zeros((p, k, n + k)), np.zeros(n if p else 0))
    tables = (np.zeros((n + 1, sets)), np.zeros((n + 1, sets)), np.zeros((n + 1, sets)))
    m, features = _AT_ONCE, np.zeros((_AT_ONCE, model.n_features))
    asked = Asked(ints(m), ints(m), ints(m), np.zeros((m, d)), np.zeros((m, p)), features, np.zeros(m))
    return Redraw(*slots, *unions, *across, *tables, np.zeros(sets), asked)


@inline
def lowest(A):
    """The lowest unit of a set that is not empty."""
    u = 0
    while not (A >> u) & 1:
        u += 1
    return u


@called
def keep_whole(cluster, units, work, count):
    """Of the chosen units, keep those whose leaves are in one cluster; how many there are."""
    k = 0
    for u in range(count):
        v = work.units[u]
        s = cluster[units.order[units.first[v]]]
        is_whole = True
        for x in range(units.first[v] + 1, units.last[v]):
            if cluster[units.order[x]] != s:
                is_whole = False
                break
        if is_whole:
            work.units[k], work.home[k] = v, s
            k += 1
    for u in range(k):
        work.held[work.home[u]] |= 1 << u
    return k


@called
def relabel(cluster, units, v, s):
    """Put the leaves of node v into slot s."""
    for x in range(units.first[v], units.last[v]):
        cluster[units.order[x]] = s


@called
def _add_across(pairwise, groups, units, work, k):
    # The rows of a unit are added up, then summed over the clusters: for a while a unit is a cluster of its own.
    n, row = groups.cluster.size, work.row
    for u in range(k):
        relabel(groups.cluster, units, work.units[u], n + u)
    for c in range(pairwise.shape[0]):
        for u in range(k):
            across, v = work.across[c, u], work.units[u]
            for i in range(groups.counts[N_CLUSTERS]):
                across[groups.slots[i]] = 0.0
            across[n : n + k] = 0.0
            weights = pairwise[c, units.order[units.first[v]]]
            for i in range(n):
                row[i] = weights[i]
            for x in range(units.first[v] + 1, units.last[v]):
                weights = pairwise[c, units.order[x]]
                for i in range(n):
                    row[i] += weights[i]
            for i in range(n):
                across[groups.cluster[i]] += row[i]


@called
def _add_unions(n, units, work, k):
    # One unit joins all unions of those before it.
    size, sums, pairs = work.size, work.sums, work.pairs
    for u in range(k):
        v, bit = work.units[u], 1 << u
        for A in range(bit):
            size[A | bit] = size[A] + (units.last[v] - units.first[v])
            for c in range(sums.shape[1]):
                sums[A | bit, c] = sums[A, c] + units.sums[v, c]
            for c in range(pairs.shape[1]):
                pairs[A | bit, c] = pairs[A, c] + units.pairs[v, c] + _across_to(work.across[c], A, n + u, u)


@inline
def _across_to(across, A, s, k):
    # Σ over the pairs of the units A, all below number k, and slot s.
    total = 0.0
    for u in range(k):
        if (A >> u) & 1:
            total += across[u, s]
    return total


@called
def take_out(pairwise, groups, units, work, k):
    """The number of rests when k units are taken out; sums of their unions, and of the rests that lose something."""
    if pairwise.shape[0]:
        _add_across(pairwise, groups, units, work, k)
    _add_unions(groups.cluster.size, units, work, k)
    count = 0
    for i in range(groups.counts[N_CLUSTERS]):
        s = groups.slots[i]
        A = work.held[s]
        if A == 0 or groups.size[s] > work.size[A]:
            work.rests[count] = s
            count += 1
            if A:
                u = lowest(A)
                for c in range(groups.sums.shape[1]):
                    work.rest_sums[u, c] = groups.sums[s, c] - work.sums[A, c]
                for c in range(groups.pairs.shape[1]):
                    lost = work.pairs[A, c] + _across_to(work.across[c], A, s, k)
                    work.rest_pairs[u, c] = groups.pairs[s, c] - lost
    return count


@inline
def unite(groups, work, s, A, k, sums, pairs):
    """The size of a rest and the units A, or of these alone if s is −1; and what is summed, into `sums` and `pairs`."""
    held = work.held[s] if s >= 0 else 0
    size = work.size[A] + (groups.size[s] - work.size[held] if s >= 0 else 0)
    for c in range(sums.size):
        rest = 0.0
        if s >= 0:
            rest = work.rest_sums[lowest(held), c] if held else groups.sums[s, c]
        sums[c] = rest + work.sums[A, c]
    for c in range(pairs.size):
        rest = 0.0
        if s >= 0:
            rest = work.rest_pairs[lowest(held), c] if held else groups.pairs[s, c]
            rest += _across_to(work.across[c], A, s, k)
        pairs[c] = rest + work.pairs[A, c]
    return size


@called
def _ask(data, groups, work, count):
    # What a score must not be counts as forbidden.
    asked = work.asked
    score_rows(data, asked.size, asked.sums, asked.pairs, asked.table, count, asked.log_psi)
    for i in range(count):
        value = asked.log_psi[i]
        if not value < np.inf:
            groups.counts[IS_WRONG] += 1
            value = -np.inf
        work.joined[asked.rest[i], asked.units[i]] = value


@called
def _join_all(data, groups, work, k, n_rests):
    # log ψ of every rest with every set of units, and of these alone. What is known is not asked again.
    asked, count = work.asked, 0
    for r in range(n_rests + 1):
        s = work.rests[r] if r < n_rests else -1
        held = work.held[s] if s >= 0 else -1
        for A in range(0 if s >= 0 else 1, 1 << k):
            if held == A:
                work.joined[r, A] = groups.log_psi[s]
                continue
            asked.rest[count], asked.units[count] = r, A
            asked.size[count] = unite(groups, work, s, A, k, asked.sums[count], asked.pairs[count])
            count += 1
            if count == asked.size.size:
                _ask(data, groups, work, count)
                count = 0
    _ask(data, groups, work, count)


@called
def weigh(data, groups, work, k, n_rests, temper, penalty):
    """Fill `joined` and `gains` when k units are taken out and so many rests left."""
    _join_all(data, groups, work, k, n_rests)
    for r in range(n_rests + 1):
        joined, gains = work.joined[r], work.gains[r]
        first = 0 if r < n_rests else 1
        for A in range(first, 1 << k):
            gains[A] = tempered(joined[A], temper, penalty)
        if first == 0 and gains[0] > -np.inf:
            reference = gains[0]
            for A in range(1 << k):
                gains[A] -= reference
