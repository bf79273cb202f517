"""Opening a cluster for `a_star`, where its walk stops: its splits, each with log ψ and the values of both parts.

Splits are scored a tile at a time: the clusters they are made of are described as rows, in order, and then there is one
call for all features and one for all log ψ. A table of the latest bounds, by hash, is kept: a cluster whose splits are
left out is met again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints, Words
from palmette.clusters import add_members, lowest_leaf, size_of
from palmette.hashing import mix
from palmette.models.c_functions import (
    bound_of,
    bounds_of,
    features_of,
    fill_features,
    score_splits,
    scores_of,
)
from palmette.models.split_model import SplitModel
from palmette.recursions.subsets import ZERO, next_subset
from palmette.search.a_star_walk import (
    DEPTH,
    DONE,
    IS_OPENING,
    MORE,
    SUBSET,
    State,
    add_split,
    begin,
    end,
    enter,
    joined,
    number,
    room_for_split,
)

__all__ = ["enter_root", "open_listed", "opening_of", "upper_bound"]

_INF = math.inf
_LATEST = 16  # 2^16 bounds are remembered
_TILE = 64  # splits at a time; a hierarchy that a search can know has fewer


class _Given(NamedTuple):
    """A model, as kernels take it."""

    features: int
    scores: int
    bounds: int
    theta: Floats
    additive: Floats
    pairwise: Floats
    of_pairs: Floats  #: log ψ of pairs of leaves
    highest: float  #: what log ψ is at most


class _Room(NamedTuple):
    """Scratch space: clusters and their features, splits by the rows of their clusters, and the latest bounds."""

    sizes: Ints
    sums: Floats
    pairs: Floats
    table: Floats
    parents: Ints
    lefts: Ints
    rights: Ints
    log_psi: Floats
    members: Ints
    masks: Words
    bounds: Floats


def _room(model: SplitModel) -> _Room:
    rows, latest = 3 * _TILE, 1 << min(model.n_leaves, _LATEST)
    return _Room(
        sizes=np.empty(rows, np.int64),
        sums=np.empty((rows, model.additive.shape[1])),
        pairs=np.empty((rows, len(model.pairwise))),
        table=np.empty((rows, model.n_features)),
        parents=np.empty(_TILE, np.int64),
        lefts=np.empty(_TILE, np.int64),
        rights=np.empty(_TILE, np.int64),
        log_psi=np.empty(_TILE),
        members=np.empty(model.n_leaves, np.int64),
        masks=np.zeros(latest, np.uint64),
        bounds=np.empty(latest),
    )


@inline
def _describe(given, room, row, mask):
    # The size, the sums and the pair sums of a cluster.
    sums, pairs, members = room.sums, room.pairs, room.members
    for c in range(sums.shape[1]):
        sums[row, c] = 0.0
    for c in range(pairs.shape[1]):
        pairs[row, c] = 0.0
    size = 0
    while mask != ZERO:
        leaf = lowest_leaf(mask)
        mask ^= leaf
        i = size_of(leaf - np.uint64(1))
        for c in range(sums.shape[1]):
            sums[row, c] += given.additive[i, c]
        for c in range(pairs.shape[1]):
            total = 0.0
            for x in range(size):
                total += given.pairwise[c, i, members[x]]
            pairs[row, c] += total
        members[size] = i
        size += 1
    room.sizes[row] = size


@inline
def _fill(given, room, first, count):
    n = given.additive.shape[0]
    fill_features(given.features, given.theta, n, room.sizes, room.sums, room.pairs, room.table, first, count)


@inline
def _score(given, room, count):
    splits = room.parents, room.lefts, room.rights
    score_splits(given.scores, given.theta, room.table, *splits, count, room.log_psi)


@inline
def _put(given, room, j, left, right):
    # Split j of a list takes rows 3j to 3j + 2.
    clusters = (left | right, left, right)
    for part in range(3):
        _describe(given, room, 3 * j + part, clusters[part])
    room.parents[j], room.lefts[j], room.rights[j] = 3 * j, 3 * j + 1, 3 * j + 2


@inline
def _known(given, room, hierarchy, mask):
    # What is left of a hierarchy, given by its splits, when only the leaves of one cluster are kept: its log potential,
    # and the left part of its first split. The splits come children first.
    count, top = 0, ZERO
    for i in range(hierarchy.shape[0]):
        left, right = hierarchy[i, 0] & mask, hierarchy[i, 1] & mask
        if left != ZERO and right != ZERO:
            _put(given, room, count, left, right)
            count += 1
            top = left if left & lowest_leaf(mask) else right
    _fill(given, room, 0, 3 * count)
    _score(given, room, count)
    total = 0.0
    for j in range(count):
        total += room.log_psi[j]
    return total, top


@kernel
def _fill_pairs(given, room):
    for i in range(1, given.additive.shape[0]):
        for j in range(i):
            _put(given, room, j, np.uint64(1) << np.uint64(j), np.uint64(1) << np.uint64(i))
        _fill(given, room, 0, 3 * i)
        _score(given, room, i)
        for j in range(i):
            given.of_pairs[i, j] = given.of_pairs[j, i] = room.log_psi[j]


@inline
def _value(given, room, state, part, size):
    # What has been found of a part, or else exact for two leaves and the model's bound for more.
    c = number(state.keys, state.number_of, part)
    if c >= 0:
        return state.upper[c]
    if size == 2:
        add_members(part, 0, room.members, 0)
        return given.of_pairs[room.members[0], room.members[1]]
    at = mix(ZERO, part) & np.uint64(room.masks.size - 1)
    if room.masks[at] != part:
        add_members(part, 0, room.members, 0)
        room.masks[at] = part
        room.bounds[at] = bound_of(given.bounds, given.theta, room.members, size, given.additive, given.pairwise)
    return room.bounds[at]


@inline
def _list_splits(given, room, state, c, least, budget):
    # Splits of a cluster with log ψ + values ≥ least, or with the left part that the known hierarchy has, so that
    # rounding cannot leave none. They are taken up where they were left, in order of the left part.
    mask, choice = state.mask[c], state.choice[c]
    lowest = lowest_leaf(mask)
    others = mask ^ lowest
    subset = np.uint64(state.numbers[SUBSET])
    status = room_for_split(state)
    _describe(given, room, 0, mask)
    _fill(given, room, 0, 1)
    while subset != others and status == DONE:
        ahead, count = subset, 0
        while ahead != others and count < min(_TILE, budget):
            left = lowest | ahead
            _describe(given, room, 2 * count + 1, left)
            _describe(given, room, 2 * count + 2, mask ^ left)
            room.parents[count], room.lefts[count], room.rights[count] = 0, 2 * count + 1, 2 * count + 2
            ahead = next_subset(ahead, others)
            count += 1
        _fill(given, room, 1, 2 * count)
        _score(given, room, count)
        budget -= count
        for j in range(count):
            left, log_psi = lowest | subset, room.log_psi[j]
            if log_psi > -_INF and (log_psi + given.highest >= least or left == choice):
                one = _value(given, room, state, left, room.sizes[2 * j + 1])
                two = _value(given, room, state, mask ^ left, room.sizes[2 * j + 2])
                total = joined(log_psi, one, two)
                if total > -_INF and (total >= least or left == choice):
                    add_split(state, c, left, log_psi, one, two)
            subset = next_subset(subset, others)
            status = room_for_split(state)
            if status != DONE:
                break
        if status == DONE and budget == 0:
            status = MORE
    state.numbers[SUBSET] = np.int64(subset)
    if subset == others:
        end(state, c)
    return status


@kernel
def _open(given, room, hierarchy, state, tolerance, budget):
    # The cluster at the end of the path is settled by what is known of it, or its splits are listed.
    c = state.path[state.numbers[DEPTH]]
    if not state.numbers[IS_OPENING]:
        state.lower[c], state.choice[c] = _known(given, room, hierarchy, state.mask[c])
        state.settled[c] = state.upper[c] <= state.lower[c] + tolerance
        if state.settled[c]:
            return DONE
        begin(state, c)
    return _list_splits(given, room, state, c, state.lower[c] - tolerance, budget)


@kernel
def upper_bound(bounds, theta, members, additive, pairwise):
    """U of one cluster of three leaves or more."""
    return bound_of(bounds, theta, members, members.size, additive, pairwise)


def opening_of(model: SplitModel, state: State) -> Callable[..., int]:
    """open(hierarchy, state, tolerance, budget) for a model of compiled functions; enters the root into the state."""
    n, data = model.n_leaves, (model.theta, model.additive, model.pairwise)
    addresses = features_of(model), scores_of(model), bounds_of(model.bound)
    given = _Given(*addresses, *data, np.zeros((n, n)), 0.0 if model.never_gains else _INF)
    room = _room(model)
    _fill_pairs(given, room)
    root = given.of_pairs[0, 1] if n == 2 else upper_bound(given.bounds, model.theta, np.arange(n), *data[1:])
    enter_root(state, float(root))
    return partial(_open, given, room)


@kernel
def enter_root(state, upper):
    """The cluster of all leaves gets number 1."""
    enter(state, (np.uint64(1) << np.uint64(state.path.size)) - np.uint64(1), upper)


@kernel
def open_listed(state, left, log_psi):
    """The cluster at the end of the path has these splits, for which there is room; of their parts nothing is known."""
    c = state.path[state.numbers[DEPTH]]
    begin(state, c)
    for i in range(left.size):
        if log_psi[i] > -_INF:
            add_split(state, c, left[i], log_psi[i], _INF, _INF)
    end(state, c)
