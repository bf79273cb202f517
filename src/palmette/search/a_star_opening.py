"""Opening a cluster for `a_star`, where its walk stops: its splits, each with log ψ and the values of both parts.

``data`` is (θ, n, additive, pairwise, log ψ of pairs of leaves). ``room`` is scratch space: the members, sums and pair
sums of the cluster last described, three rows of features, for P, L and R, and a table of the latest bounds by hash: a
cluster whose splits are left out is met again and again.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from palmette._jit import kernel, specialise, specialise_inline
from palmette.clusters import lowest_leaf, size_of
from palmette.hashing import mix
from palmette.models.bounds import unbounded
from palmette.models.features import feature_loader
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

__all__ = ["compile_opening", "enter_root", "open_listed"]

_INF = math.inf
_LATEST = 16  # 2^16 bounds are remembered

features: Any = None  # a model's, put in by `specialise`, as are all of these
score: Any = None
load: Any = None
bound: Any = None
describe: Any = None
bounded: Any = None
known: Any = None
list_splits: Any = None


def _describe(theta, n, additive, pairwise, members, sums, pairs, out, mask):
    # The features of a cluster into `out`, and its leaves into `members`; returns their number.
    for c in range(sums.size):
        sums[c] = 0.0
    for c in range(pairs.size):
        pairs[c] = 0.0
    size = 0
    while mask != ZERO:
        leaf = lowest_leaf(mask)
        mask ^= leaf
        i = size_of(leaf - np.uint64(1))
        for c in range(sums.size):
            sums[c] += additive[i, c]
        for c in range(pairs.size):
            total = 0.0
            for x in range(size):
                total += pairwise[c, i, members[x]]
            pairs[c] += total
        members[size] = i
        size += 1
    features(theta, n, size, sums, pairs, out)
    return size


def _bounded(theta, n, members, size, additive, pairwise):
    return bound(theta, n, members[:size], additive, pairwise)


def _known(data, room, hierarchy, mask):
    # What is left of a hierarchy, given by its splits, when only the leaves of one cluster are kept: its log potential,
    # and the left part of its first split. The splits come children first.
    theta, n, additive, pairwise = data[:4]
    members, sums, pairs, table = room[:4]
    rows = table.T
    total, top = 0.0, ZERO
    for i in range(hierarchy.shape[0]):
        left, right = hierarchy[i, 0] & mask, hierarchy[i, 1] & mask
        if left != ZERO and right != ZERO:
            clusters = (left | right, left, right)
            for row in range(3):
                describe(theta, n, additive, pairwise, members[row], sums, pairs, table[row], clusters[row])
            total += score(theta, load(rows, 0), load(rows, 1), load(rows, 2))
            top = left if left & lowest_leaf(mask) else right
    return total, top


def _list_splits(data, room, state, c, least, budget):
    # Splits of a cluster with log ψ + values ≥ least, or with the left part that the known hierarchy has, so that
    # rounding cannot leave none. They are taken up where they were left, in order of the left part. The value of a part
    # is what has been found, or else exact for two leaves and the model's bound for more. One long function: split up,
    # it takes two to three times as long.
    theta, n, additive, pairwise, of_pairs, highest = data
    members, sums, pairs, table, latest_masks, latest_bounds = room
    keys, number_of, uppers, numbers = state.keys, state.number_of, state.upper, state.numbers
    mask, choice = state.mask[c], state.choice[c]
    lowest = lowest_leaf(mask)
    others = mask ^ lowest
    subset = np.uint64(numbers[SUBSET])
    rows = table.T
    sizes, values = np.zeros(3, np.int64), np.zeros(3)
    status = room_for_split(state)
    first = 0
    while subset != others and status == DONE:
        left = lowest | subset
        clusters = (mask, left, mask ^ left)
        for row in range(first, 3):
            sizes[row] = describe(theta, n, additive, pairwise, members[row], sums, pairs, table[row], clusters[row])
        first = 1
        log_psi = score(theta, load(rows, 0), load(rows, 1), load(rows, 2))
        if log_psi > -_INF and (log_psi + highest >= least or left == choice):
            for row in range(1, 3):
                part = clusters[row]
                c_part = number(keys, number_of, part)
                if c_part >= 0:
                    values[row] = uppers[c_part]
                elif sizes[row] == 2:
                    values[row] = of_pairs[members[row, 0], members[row, 1]]
                else:
                    at = mix(ZERO, part) & np.uint64(latest_masks.size - 1)
                    if latest_masks[at] != part:
                        latest_masks[at] = part
                        latest_bounds[at] = bounded(theta, n, members[row], sizes[row], additive, pairwise)
                    values[row] = latest_bounds[at]
            total = joined(log_psi, values[1], values[2])
            if total > -_INF and (total >= least or left == choice):
                add_split(state, c, left, log_psi, values[1], values[2])
        subset = next_subset(subset, others)
        budget -= 1
        status = room_for_split(state) if budget > 0 else MORE
    numbers[SUBSET] = np.int64(subset)
    if subset == others:
        end(state, c)
    return status


def _open(data, room, hierarchy, state, tolerance, budget):
    # The cluster at the end of the path is settled by what is known of it, or its splits are listed.
    c = state.path[state.numbers[DEPTH]]
    if not state.numbers[IS_OPENING]:
        state.lower[c], state.choice[c] = known(data, room, hierarchy, state.mask[c])
        state.settled[c] = state.upper[c] <= state.lower[c] + tolerance
        if state.settled[c]:
            return DONE
        begin(state, c)
    return list_splits(data, room, state, c, state.lower[c] - tolerance, budget)


def compile_opening(model: SplitModel, state: State) -> Callable[..., int]:
    """open(hierarchy, state, tolerance, budget) for a model of compiled functions; enters the root into the state."""
    n, k = model.n_leaves, model.n_features
    scoring = {"score": model.score, "load": feature_loader(k)}
    describe = specialise_inline(_describe, features=model.features)
    bounded = specialise(_bounded, bound=model.bound or unbounded)
    known = specialise(_known, describe=describe, **scoring)
    list_splits = specialise_inline(_list_splits, describe=describe, bounded=bounded, **scoring)
    highest = 0.0 if model.never_gains else _INF
    data = (model.theta, n, model.additive, model.pairwise, np.zeros((n, n)), highest)
    statistics = (np.empty(model.additive.shape[1]), np.empty(len(model.pairwise)))
    latest = 1 << min(n, _LATEST)
    room = (np.empty((3, n), np.int64), *statistics, np.empty((3, k)), np.zeros(latest, np.uint64), np.empty(latest))
    _fill_pairs(known, data, room)
    pair, everything = data[4][0, 1], (np.arange(n), n, model.additive, model.pairwise)
    enter_root(state, float(pair if n == 2 else bounded(model.theta, n, *everything)))
    return partial(specialise(_open, known=known, list_splits=list_splits), data, room)


def _fill_pairs(known: Any, data: Any, room: Any) -> None:
    n, of_pairs = data[1], data[4]
    for i in range(n):
        for j in range(i):
            pair = np.array([[1 << j, 1 << i]], np.uint64)
            of_pairs[i, j] = of_pairs[j, i] = known(data, room, pair, pair[0, 0] | pair[0, 1])[0]


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
