"""Beam search: agglomeration that keeps many partial forests, not one.

Every step takes each forest of the beam, computes from their sums what all merges of two of its clusters bring, ranks
them by the outlook of the model (`palmette.models.outlook`), and offers them to a pool. The best of the pool, which
`forests` holds, are the next beam.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel, maker
from palmette.array_types import Indices
from palmette.checks import is_whole
from palmette.hierarchy import Hierarchy
from palmette.models.base import is_compiled, require_model
from palmette.models.c_functions import (
    TILE,
    features_of,
    fill_features,
    fill_outlook,
    outlook_of,
    score_splits,
    scores_of,
)
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.progress import Progress
from palmette.search.forests import (
    Forests,
    Pool,
    empty,
    empty_pool,
    has_room,
    keep_best,
    merged,
    number_clusters,
    offer,
    single_leaves,
)
from palmette.search.found import Found

__all__ = ["beam"]

_CHUNK = 2e7  # pairs to rank, or triples to compare, in one compiled call: Ctrl-C is heard in between

# extend(forests, first, m, is_forced, pool) offers the merges of forests of m clusters, from the first of these on, and
# returns the one to go on with.
_Extend = Callable[[Forests, int, int, bool, Pool], int]


def beam(model: HierarchyModel, width: int | None = None, *, progress: bool | None = None) -> Found:
    """The best of the hierarchies that n − 1 steps of agglomeration reach, `width` forests being kept at each step.

    `width` is n(n − 1)/2 unless given. Forests are ranked by what their merges have brought, Σ log ψ. Where log ψ is a
    cost, early merges are cheap and that says little, so an optimistic estimate of all that is to come is added:

    Dasgupta
        with cross weights W and sizes s of the clusters, what remains costs at least Σ_{A,B} W_AB (s_A + s_B) + Σ over
        triples of (x + y + z − max(x, y, z)), x = W_AB s_C and so on: of three clusters two are joined first, and do
        not pay for the third. To merge A and B decides the triples that hold both.
    Correlation, SumOfSquares
        over a hierarchy the cost is a constant plus Σ κ(S) over all clusters but the root, κ(S) = the repulsion within
        S, or SSE(S). The parent of C has κ ≥ min_D κ(C ∪ D), and is shared by at most two clusters: what remains is at
        least half the sum of these, without the two largest, whose parent may be the root.

    Of two forests with the same clusters the one that has brought more is kept. Merges that the model forbids are made
    when no forest has another one, so a hierarchy always comes out. Without an estimate, width 1 is greedy
    agglomeration by log ψ. A wider beam is usually better, but need not be. Time is width · n³, for Dasgupta
    width · n⁴ / 24; memory is width · n.

    >>> import numpy as np
    >>> from palmette.models import Dasgupta
    >>> found = beam(Dasgupta(np.array([[0, 3, 1], [3, 0, 1], [1, 1, 0.0]])))
    >>> found.hierarchy, found.log_potential
    (Hierarchy.from_newick('((0,1),2);'), -12.0)
    """
    require_model(model, "hierarchies", all_known=True)
    n = model.n_leaves
    width = _check_width(width, n)
    extend = _compiled(model) if is_compiled(model, SplitModel) else _asking(model)
    steps = _search(n, width, extend, progress)
    hierarchy = Hierarchy.from_merges(_merges(n, steps), model.labels)
    return Found(hierarchy, model.log_potential(hierarchy))


def _check_width(width: int | None, n: int) -> int:
    if width is None:
        return max(1, n * (n - 1) // 2)
    if not is_whole(width) or width < 1:
        raise ValueError(
            f"width is {width!r}; expected how many forests to keep, a whole number of at least 1, or None"
        )
    return int(width)


@inline
def _add_up(place, m, additive, pairwise, sums, cross):
    n, d = additive.shape
    for x in range(m):
        for c in range(d):
            sums[x, c] = 0.0
        for c in range(pairwise.shape[0]):
            for y in range(x, m):
                cross[c, x, y] = 0.0
    for i in range(n):
        x = place[i]
        for c in range(d):
            sums[x, c] += additive[i, c]
        for c in range(pairwise.shape[0]):
            for j in range(i):
                y = place[j]
                cross[c, min(x, y), max(x, y)] += pairwise[c, i, j]


@maker
def _pairs_of(m):
    lefts, rights = np.empty(m * (m - 1) // 2, np.int64), np.empty(m * (m - 1) // 2, np.int64)
    j = 0
    for x in range(m):
        for y in range(x + 1, m):
            lefts[j], rights[j] = x, y
            j += 1
    return lefts, rights


@inline
def _fill_gains(functions, theta, n, m, lefts, rights, clusters, cross, table, tile, gain):
    # The pair sums of cluster x are cross[c, x, x], those between x < y cross[c, x, y]. From row n on the clusters and
    # the table hold unions of the listed pairs, a tile at a time.
    sizes, sums, pairs = clusters
    parents, brings = tile
    for x in range(m):
        for c in range(pairs.shape[1]):
            pairs[x, c] = cross[c, x, x]
    fill_features(functions[0], theta, n, sizes, sums, pairs, table, 0, m)
    for begin in range(0, lefts.size, TILE):
        here = slice(begin, min(begin + TILE, lefts.size))
        xs, ys = lefts[here], rights[here]
        for j in range(xs.size):
            sizes[n + j] = sizes[xs[j]] + sizes[ys[j]]
        for c in range(sums.shape[1]):
            for j in range(xs.size):
                sums[n + j, c] = sums[xs[j], c] + sums[ys[j], c]
        for c in range(pairs.shape[1]):
            for j in range(xs.size):
                pairs[n + j, c] = pairs[xs[j], c] + pairs[ys[j], c] + cross[c, xs[j], ys[j]]
        fill_features(functions[0], theta, n, sizes, sums, pairs, table, n, xs.size)
        score_splits(functions[1], theta, table, parents, xs, ys, xs.size, brings)
        for j in range(xs.size):
            gain[xs[j], ys[j]] = brings[j]


@kernel
def _extend(functions, theta, additive, pairwise, k, forests, m, first_forest, last_forest, is_forced, pool):
    # Comes back early if the pool gets full.
    (n, d), p = additive.shape, pairwise.shape[0]
    rows = n + TILE
    place, first, sizes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(rows, np.int64)
    hashes = np.empty(n, np.uint64)
    sums, pairs, cross, table = np.empty((rows, d)), np.empty((rows, p)), np.empty((p, n, n)), np.empty((rows, k))
    tile = np.arange(n, rows), np.empty(TILE)
    lefts, rights = _pairs_of(m)
    gain, rank = np.empty((n, n)), np.empty((n, n))
    for f in range(first_forest, last_forest):
        number_clusters(forests.slots[f], place, first, sizes, hashes)
        if not has_room(pool, m):
            return f
        if not is_forced:
            _add_up(place, m, additive, pairwise, sums, cross)
            _fill_gains(functions, theta, n, m, lefts, rights, (sizes, sums, pairs), cross, table, tile, gain)
            fill_outlook(functions[2], theta, m, sizes, cross, gain, rank)
        offer(forests, f, m, first, hashes, gain, rank, is_forced, pool)
    return last_forest


def _compiled(model: SplitModel) -> _Extend:
    gain = model.score if model.beam_score is None else model.beam_score
    functions = features_of(model), scores_of(model, gain), outlook_of(model.beam_outlook)
    fixed = (functions, model.theta, model.additive, model.pairwise, model.n_features)
    is_slow = model.beam_outlook is not None  # it may compare triples

    def extend(forests: Forests, first: int, m: int, is_forced: bool, pool: Pool) -> int:
        at_once = 1 + int(_CHUNK / (model.n_leaves**2 + (m**3 / 6 if is_slow else 5 * m**2)))
        last = min(first + at_once, len(forests.gained))
        return int(_extend(*fixed, forests, m, first, last, is_forced, pool))

    return extend


@kernel
def _extend_by(gain, forests, f, is_forced, pool):
    # One forest, whose gains are given as a matrix over its clusters.
    n = forests.slots.shape[1]
    place, first, sizes = np.empty(n, np.int64), np.empty(n, np.int64), np.empty(n, np.int64)
    hashes = np.empty(n, np.uint64)
    m = number_clusters(forests.slots[f], place, first, sizes, hashes)
    offer(forests, f, m, first, hashes, gain, gain, is_forced, pool)


def _asking(model: HierarchyModel) -> _Extend:
    n = model.n_leaves

    def extend(forests: Forests, first: int, m: int, is_forced: bool, pool: Pool) -> int:
        lowest, place = np.unique(forests.slots[first], return_inverse=True)
        masks = np.zeros(len(lowest), np.int64)
        np.add.at(masks, place, 1 << np.arange(n, dtype=np.int64))
        rows, columns = np.triu_indices(len(masks), 1)
        gain = np.empty((len(masks), len(masks)))
        gain[rows, columns] = model.log_potentials(masks[rows], masks[columns])
        _extend_by(gain, forests, first, is_forced, pool)
        return first + 1

    return extend


def _fill(pool: Pool, forests: Forests, width: int, m: int, is_forced: bool, extend: _Extend) -> None:
    # The best merges of these forests, of m clusters each.
    empty(pool)
    forest = 0
    while forest < len(forests.gained):
        forest = extend(forests, forest, m, is_forced, pool)
        if not has_room(pool, m):
            keep_best(pool, forests, width)
    keep_best(pool, forests, width)


def _search(n: int, width: int, extend: _Extend, progress: bool | None) -> list[tuple[Indices, Indices, Indices]]:
    # For each step the parent of every forest, and the slots of the two clusters that were joined.
    forests, pool = single_leaves(n), empty_pool(n, width)
    bar = Progress(f"searching, n = {n}", float(n - 1), progress)
    steps = []
    for m in range(n, 1, -1):
        _fill(pool, forests, width, m, False, extend)
        if pool.size[0] == 0:
            _fill(pool, forests, width, m, True, extend)
        size = pool.size[0]
        steps.append((pool.parent[:size].copy(), pool.low[:size].copy(), pool.high[:size].copy()))
        forests = merged(pool, forests)
        bar.advance(1.0)
    bar.close()
    return steps


def _merges(n: int, steps: list[tuple[Indices, Indices, Indices]]) -> npt.NDArray[np.int64]:
    # Back from the one forest of the last step; slots become numbers of clusters, as `Hierarchy.from_merges` has them.
    joined = np.empty((n - 1, 2), np.int64)
    forest = 0
    for step in range(n - 2, -1, -1):
        parent, low, high = steps[step]
        joined[step] = low[forest], high[forest]
        forest = parent[forest]
    number = np.arange(n)
    for step, (one, two) in enumerate(joined.copy()):
        joined[step] = number[one], number[two]
        number[one] = n + step
    return joined
