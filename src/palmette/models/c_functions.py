"""The C functions of a compiled model, and how kernels call them.

    features(θ, |θ|, n, count, sizes, sums, d, pairs, p, out, k)
    splits(θ, |θ|, table, row, column, count, parents, lefts, rights, out)
    subsets(θ, |θ|, table, stride, base, role, first, others, count, out)
    clusters(θ, |θ|, table, row, column, count, out)
    bound(θ, |θ|, n, members, count, additive, d, pairwise, p) → U
    outlook(θ, |θ|, n, m, sizes, cross, p, gain, out)

`features` fills rows of k numbers for clusters that are known by their sizes, sums (count, d) and pair sums (count, p).
`splits` writes log ψ of listed splits; feature c of cluster i is table[i · row + c · column]. `subsets` does so for
splits whose clusters are bit masks, and feature c of a mask is table[c · stride + mask]: one of the three clusters is
`base`, the next first | others[j], and the third what one of them has and the other has not. The base is their
`PARENT`, or a `PART` of one. `clusters` is for partitions: log ψ of `count` clusters of a table. `bound` and `outlook`
are those of `palmette.models.bounds` and `palmette.models.outlook`, of all n leaves and of matrices of n rows.

Each is compiled for a model the first time that it is asked for, and kernels take its address: they are compiled once,
whatever the model. What keeps an address good is kept by this module, for as long as the process lives.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numba import types
from numba.extending import intrinsic

from palmette._addresses import INTEGERS, MASKS, NUMBERS, c_function, caller, pointer, room, vector
from palmette._jit import inline
from palmette._plain import IS_PLAIN
from palmette.array_types import Floats
from palmette.models.base import FeatureModel
from palmette.models.bounds import unbounded
from palmette.models.outlook import by_gain

__all__ = [
    "BLOCK",
    "PARENT",
    "PART",
    "TILE",
    "ModelData",
    "SplitTable",
    "block_scores_of",
    "bound_of",
    "bounds_of",
    "cluster_scores_of",
    "feature_loader",
    "features_of",
    "fill_features",
    "fill_outlook",
    "outlook_of",
    "score_block",
    "score_clusters",
    "score_columns",
    "score_splits",
    "score_subsets",
    "scores_of",
    "subset_scores_of",
]

PARENT, PART = 0, 1
TILE = 256  # splits that are scored at a time, at most
BLOCK = TILE // 4  # and where nine follow from one: log ψ of {A, B}, and with leaves 0 and 1 on either side

_ONE, _TWO, _THREE = np.uint64(1), np.uint64(2), np.uint64(3)

_N, _MASK = types.int64, types.uint64
_FEATURES = types.void(NUMBERS, _N, _N, _N, INTEGERS, NUMBERS, _N, NUMBERS, _N, NUMBERS, _N)
_SPLITS = types.void(NUMBERS, _N, NUMBERS, _N, _N, _N, INTEGERS, INTEGERS, INTEGERS, NUMBERS)
_SUBSETS = types.void(NUMBERS, _N, NUMBERS, _N, _MASK, _N, _MASK, MASKS, _N, NUMBERS)
_CLUSTERS = types.void(NUMBERS, _N, NUMBERS, _N, _N, _N, NUMBERS)
_BOUND = types.float64(NUMBERS, _N, _N, INTEGERS, _N, NUMBERS, _N, NUMBERS, _N)
_OUTLOOK = types.void(NUMBERS, _N, _N, _N, INTEGERS, NUMBERS, _N, NUMBERS, NUMBERS)

_call_features = caller(_FEATURES)
_call_splits = caller(_SPLITS)
_call_subsets = caller(_SUBSETS)
_call_clusters = caller(_CLUSTERS)
_call_bound = caller(_BOUND)
_call_outlook = caller(_OUTLOOK)

_tile = room(TILE)
_nine_tiles = room(9 * BLOCK)

features: Any = None  # a model's, put in by `c_function`, as are these
score: Any = None
load: Any = None
bound: Any = None
outlook: Any = None


# How kernels call them.


@inline
def fill_features(address, theta, n, sizes, sums, pairs, out, first, count):
    """Rows first to first + count of `out` (m, k) from those of sizes (m,), sums (m, d) and pair sums (m, p)."""
    d, p, k = sums.shape[1], pairs.shape[1], out.shape[1]
    known = pointer(sizes, first), pointer(sums, first * d), d, pointer(pairs, first * p), p
    _call_features(address, (pointer(theta, 0), theta.size, n, count, *known, pointer(out, first * k), k))


@inline
def score_splits(address, theta, table, parents, lefts, rights, count, out):
    """out[j] = log ψ of the first `count` splits, whose clusters are rows of a table (m, k)."""
    splits = pointer(parents, 0), pointer(lefts, 0), pointer(rights, 0)
    where = pointer(table, 0), table.shape[1], 1, count
    _call_splits(address, (pointer(theta, 0), theta.size, *where, *splits, pointer(out, 0)))


@inline
def score_columns(address, split_table, parents, lefts, rights, count, out):
    """The same of splits whose clusters are columns of a table (k, m)."""
    theta, table = split_table.theta, split_table.table
    splits = pointer(parents, 0), pointer(lefts, 0), pointer(rights, 0)
    where = pointer(table, 0), 1, table.shape[1], count
    _call_splits(address, (pointer(theta, 0), theta.size, *where, *splits, pointer(out, 0)))


@inline
def score_clusters(address, theta, table, count, out, first):
    """out[first + j] = log ψ of the first `count` clusters, rows of a table (m, k)."""
    where = pointer(table, 0), table.shape[1], 1, count
    _call_clusters(address, (pointer(theta, 0), theta.size, *where, pointer(out, first)))


@inline
def bound_of(address, theta, members, count, additive, pairwise):
    """U of the cluster that has the first `count` members, three or more."""
    n, d = additive.shape
    data = pointer(additive, 0), d, pointer(pairwise, 0), pairwise.shape[0]
    return _call_bound(address, (pointer(theta, 0), theta.size, n, pointer(members, 0), count, *data))


@inline
def fill_outlook(address, theta, m, sizes, cross, gain, out):
    """out[x, y] = what a forest of m clusters is worth if x < y are joined; n clusters would have room."""
    p, n = cross.shape[0], cross.shape[1]
    matrices = pointer(cross, 0), p, pointer(gain, 0), pointer(out, 0)
    _call_outlook(address, (pointer(theta, 0), theta.size, n, m, pointer(sizes, 0), *matrices))


class ModelData(NamedTuple):
    """What chains see of a model: the addresses of `features` and of `splits` or `clusters`, and its data."""

    features: int
    scores: int
    theta: Floats
    additive: Floats
    pairwise: Floats


class SplitTable(NamedTuple):
    """log ψ of all splits of all subsets of a few leaves, as kernels take it: an address of `subsets`, and its data."""

    subsets: int
    theta: Floats
    table: Floats  # (k, 2^n)


@inline
def score_subsets(split_table, base, role, first, others, count, out):
    """out[j] = log ψ of the split that has the clusters `base`, its parent or a part, and first | others[j]."""
    theta, table = split_table.theta, split_table.table
    given = pointer(theta, 0), theta.size, pointer(table, 0), table.shape[1]
    _call_subsets(split_table.subsets, (*given, base, role, first, pointer(others, 0), count, pointer(out, 0)))


@inline
def score_block(block, split_table, P, first, others, count, out):
    """log ψ of nine splits for each {A, P ^ A}, A = first | others[j], by the address of a block.

    Leaves 0 and 1 are in none of the clusters given. out[i · count + j] is log ψ where they join in the i-th way: none;
    0 on the left, 0 on the right; 1 left, 1 right; both left, both right, 0 left and 1 right, 1 left and 0 right.
    """
    theta, table = split_table.theta, split_table.table
    given = pointer(theta, 0), theta.size, pointer(table, 0), table.shape[1]
    _call_subsets(block, (*given, P, PARENT, first, pointer(others, 0), count, pointer(out, 0)))


# What they call. Scores go to room of their own first, which the compiler knows to be apart from all tables: so it can
# make them of vectors. An exception does not leave a C function, but is printed: numbers that were not come to are NaN,
# and refused as such.


@inline
def _not_known(out, count):
    for j in range(count):
        out[j] = np.nan


def _features(theta, m, n, count, sizes, sums, d, pairs, p, out, k):
    parameters = vector(theta, 0, m)
    _not_known(out, count * k)
    for i in range(count):
        features(parameters, n, sizes[i], vector(sums, i * d, d), vector(pairs, i * p, p), vector(out, i * k, k))


def _splits(theta, m, table, row, column, count, parents, lefts, rights, out):
    parameters, tile = vector(theta, 0, m), _tile()
    _not_known(out, count)
    for first in range(0, count, TILE):
        here = min(TILE, count - first)
        for j in range(here):
            i = first + j
            parent, left = load(table, parents[i] * row, column), load(table, lefts[i] * row, column)
            tile[j] = score(parameters, parent, left, load(table, rights[i] * row, column))
        for j in range(here):
            out[first + j] = tile[j]


def _clusters(theta, m, table, row, column, count, out):
    parameters = vector(theta, 0, m)
    _not_known(out, count)
    for j in range(count):
        out[j] = score(parameters, load(table, j * row, column))


def _bound(theta, m, n, members, count, additive, d, pairwise, p):
    data = vector(additive, 0, n * d).reshape(n, d), vector(pairwise, 0, p * n * n).reshape(p, n, n)
    return bound(vector(theta, 0, m), n, vector(members, 0, count), *data)


def _outlook(theta, k, n, m, sizes, cross, p, gain, out):
    gains, found = vector(gain, 0, n * n).reshape(n, n), vector(out, 0, n * n).reshape(n, n)
    between = vector(cross, 0, p * n * n).reshape(p, n, n)
    outlook(vector(theta, 0, k), m, vector(sizes, 0, n), between, gains, found)


def _subsets(theta, m, table, stride, base, role, first, others, count, out):
    parameters, tile, given = vector(theta, 0, m), _tile(), load(table, base, stride)
    _not_known(out, count)
    if role == PARENT:
        for j in range(count):
            one = first | others[j]
            tile[j] = score(parameters, given, load(table, one, stride), load(table, base ^ one, stride))
    else:
        for j in range(count):
            one = first | others[j]
            tile[j] = score(parameters, load(table, base ^ one, stride), given, load(table, one, stride))
    for j in range(count):
        out[j] = tile[j]


def _block(theta, m, table, stride, base, role, first, others, count, out):
    parameters, tile = vector(theta, 0, m), _nine_tiles()
    _not_known(out, 9 * count)
    p = load(table, base, stride)
    p1, p2, p3 = load(table, base | _ONE, stride), load(table, base | _TWO, stride), load(table, base | _THREE, stride)
    for j in range(count):
        A = first | others[j]
        B = base ^ A
        a, a1 = load(table, A, stride), load(table, A | _ONE, stride)
        a2, a3 = load(table, A | _TWO, stride), load(table, A | _THREE, stride)
        b, b1 = load(table, B, stride), load(table, B | _ONE, stride)
        b2, b3 = load(table, B | _TWO, stride), load(table, B | _THREE, stride)
        tile[j] = score(parameters, p, a, b)
        tile[count + j], tile[2 * count + j] = score(parameters, p1, a1, b), score(parameters, p1, a, b1)
        tile[3 * count + j], tile[4 * count + j] = score(parameters, p2, a2, b), score(parameters, p2, a, b2)
        tile[5 * count + j], tile[6 * count + j] = score(parameters, p3, a3, b), score(parameters, p3, a, b3)
        tile[7 * count + j], tile[8 * count + j] = score(parameters, p3, a1, b2), score(parameters, p3, a2, b1)
    for j in range(9 * count):
        out[j] = tile[j]


# Which are a model's.


def features_of(model: FeatureModel) -> int:
    """The address of `features` of a model."""
    return c_function(_features, _FEATURES, features=model.features).address


def scores_of(model: FeatureModel, score: Any = None) -> int:
    """The address of `splits` with the score of a model, or with another function of three columns of its features."""
    functions = {"score": model.score if score is None else score, "load": feature_loader(model.n_features)}
    return c_function(_splits, _SPLITS, **functions).address


def cluster_scores_of(model: FeatureModel) -> int:
    """The address of `clusters` of a model of partitions."""
    return c_function(_clusters, _CLUSTERS, score=model.score, load=feature_loader(model.n_features)).address


def bounds_of(bound: Any) -> int:
    """The address of `bound` with this one, a model's; it is +∞ if that is None."""
    return c_function(_bound, _BOUND, bound=bound or unbounded).address


def outlook_of(outlook: Any) -> int:
    """The address of `outlook` with this one, a model's; it is what a merge brings if that is None."""
    return c_function(_outlook, _OUTLOOK, outlook=outlook or by_gain).address


def subset_scores_of(score: Any, load: Any) -> int:
    """The address of `subsets` with a score (θ, P, L, R) of what load(table, mask, stride) finds of each."""
    return c_function(_subsets, _SUBSETS, score=score, load=load).address


def block_scores_of(score: Any, load: Any) -> int:
    """The address of a block, which scores nine splits for each of its others: see `score_block`."""
    return c_function(_block, _SUBSETS, score=score, load=load).address


@functools.cache
def feature_loader(k: int) -> Any:
    """A part of C functions, (table, first, step): k numbers, `step` apart, as a tuple that stays in registers."""
    if IS_PLAIN:
        return inline(lambda table, first, step: tuple(table[int(first) + c * step] for c in range(k)))

    def load(typing_context: Any, table: Any, first: Any, step: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            found = []
            for c in range(k):
                row = builder.gep(values[0], [builder.mul(values[2], values[2].type(c))])
                found.append(builder.load(builder.gep(row, [values[1]])))
            return context.make_tuple(builder, signature.return_type, found)

        return types.UniTuple(types.float64, k)(NUMBERS, first, types.int64), codegen

    load.__qualname__ += f"_{k}"  # by which the disk tells C functions apart
    return intrinsic(load)
