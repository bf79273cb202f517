"""Tilings: in place of "the draw has C", the probability that it has C, given what a tiling keeps of it.

A *tiling* T of a hierarchy H is a set of its clusters that stay as they are, the root and all leaves among them. What
lies between one of these and the next below it is a patch, whose arrangement is free: all arrangements of all patches
are the hierarchies that have the clusters of T. The inside and the outside recursion over the unions of the stops of a
patch tell exactly how probable each union is among them. That number is the mean of the indicator over all that is
free, so it has the same expectation and a smaller variance (Rao and Blackwell), provided that T says nothing about the
arrangement. It does not: all clusters are free at first, and as long as a patch has more stops than can be summed over,
each free cluster inside is kept with one and the same probability. A patch of k stops has k − 2 of these however it is
arranged, so every arrangement comes to this tiling with the same probability.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, step
from palmette.array_types import Floats, Indices, Ints, Words
from palmette.hashing import empty_table, fill_table, slot_of
from palmette.models.split_model import SplitModel
from palmette.numeric import exponential
from palmette.progress import Progress
from palmette.regrafts.compiled import CompiledRegrafts
from palmette.regrafts.tree_state import Tree, empty_walk
from palmette.sampling.anywhere import any_hierarchy
from palmette.sampling.chance import chance, new_stream
from palmette.sampling.hierarchies.patches import N_STOPS, Patch, empty_patch, sum_inside, weigh_splits
from palmette.sampling.hierarchies.state import list_nodes, restate
from palmette.threads import Workers

__all__ = ["smooth"]

_NEGLIGIBLE = 1e-12  # probability
_SEED = 20_261  # of the tilings: they depend on nothing but the number of a draw
_PER_SPLIT = 2.0  # nanoseconds, for sharing out the work


class Tiling(NamedTuple):
    """Room for the tiling of a hierarchy of n leaves, m nodes, w words to a cluster."""

    is_kept: npt.NDArray[np.bool_]  # (m,)
    tops: Ints  # (m,): a stack of those whose patches are to be looked at
    free: Ints  # (m,): the nodes between a top and its stops
    words: Words  # (m, w): the cluster of each node
    unions: Words  # (2^k, w): those of a patch
    chances: Floats  # (2^k,): how probable each is


def _empty_tiling(n: int, n_words: int, n_stops: int) -> Tiling:
    m, unions = 2 * n - 1, 1 << n_stops
    tops, free = np.zeros((2, m), dtype=np.int64)
    words, united = (np.zeros((rows, n_words), dtype=np.uint64) for rows in (m, unions))
    return Tiling(np.zeros(m, dtype=bool), tops, free, words, united, np.zeros(unions))


@step
def _link(row, parent, child, words):
    # The links of a row of parents, whose nodes are numbered children first, and the words of its clusters.
    m = row.size
    n = (m + 1) // 2
    for v in range(m):
        child[v, 0] = -1
        for w in range(words.shape[1]):
            words[v, w] = np.uint64(0)
    for v in range(m):
        parent[v] = row[v]
        if v < n:
            words[v, v >> 6] = np.uint64(1) << np.uint64(v & 63)
        if v < m - 1:
            up = row[v]
            child[up, 0 if child[up, 0] < 0 else 1] = v
            for w in range(words.shape[1]):
                words[up, w] |= words[v, w]


@inline
def _look_below(child, top, is_kept, stack, stops, free):
    # The stops of a patch, as far as there is room, and the nodes between; how many there are of both.
    n = (child.shape[0] + 1) // 2
    stack[0], stack[1], height = child[top, 0], child[top, 1], 2
    k, f = 0, 0
    while height > 0:
        height -= 1
        v = stack[height]
        if v < n or is_kept[v]:
            if k < stops.size:
                stops[k] = v
            k += 1
        else:
            free[f] = v
            f += 1
            stack[height], stack[height + 1] = child[v, 0], child[v, 1]
            height += 2
    return k, f


@step
def _choose_patch(child, top, stream, patch, tiling):
    # Keep clusters until there is a patch that can be summed over; how many stops it has.
    most = patch.stops.size
    while True:
        k, f = _look_below(child, top, tiling.is_kept, patch.stack, patch.stops, tiling.free)
        if k <= most:
            return k
        for i in range(f):
            if chance(stream) * most < 1.0:
                tiling.is_kept[tiling.free[i]] = True


@step
def _weigh_unions(k, patch, chances):
    # The probability that each union of stops is a cluster: the outside recursion, supersets first.
    whole, splits = (1 << k) - 1, patch.splits
    for S in range(whole):
        chances[S] = 0.0
    chances[whole] = 1.0
    for i in range(whole):
        S = whole - i
        if S & (S - 1) == 0 or chances[S] < _NEGLIGIBLE:
            continue
        first, count = splits.first[S], weigh_splits(patch, S, 1.0, np.inf)
        for j in range(count):
            p = chances[S] * exponential(patch.values[j] - patch.Z[S])
            chances[splits.lefts[first + j]] += p
            chances[splits.rights[first + j]] += p


@inline
def _unite(k, stops, words, unions):
    for w in range(unions.shape[1]):
        unions[0, w] = np.uint64(0)
        for i in range(k):
            for S in range(1 << i):
                unions[S | (1 << i), w] = unions[S, w] | words[stops[i], w]


@inline
def _add(words, p, wanted, table, out):
    found = table[slot_of(wanted, words, table)]
    if found >= 0:
        out[found] += p


@step
def _smooth(data, tree, walk, patch, tiling, rows, first, wanted, table, stream, out):
    # Adds to `out` how probable each wanted cluster is, given a tiling of each row.
    n, child, stops = (tree.size.size + 1) // 2, tree.child, patch.stops
    for t in range(rows.shape[0]):
        stream[1], stream[2] = first + t, 0
        _link(rows[t], tree.parent, child, tiling.words)
        list_nodes(child, rows.shape[1] - 1, patch.nodes, patch.stack)
        restate(data, tree, walk, patch.nodes, patch.leaves)
        tiling.is_kept[:] = False
        tiling.tops[0], waiting = rows.shape[1] - 1, 1
        while waiting > 0:
            waiting -= 1
            top = tiling.tops[waiting]
            k = _choose_patch(child, top, stream, patch, tiling)
            for i in range(k):
                if stops[i] >= n:
                    _add(tiling.words[stops[i]], 1.0, wanted, table, out)
                    tiling.tops[waiting] = stops[i]
                    waiting += 1
            if k > 2:
                sum_inside(data, tree, k, 1.0, np.inf, patch)
                _weigh_unions(k, patch, tiling.chances)
                _unite(k, stops, tiling.words, tiling.unions)
                for S in range(1, (1 << k) - 1):
                    if S & (S - 1) and tiling.chances[S] >= _NEGLIGIBLE:
                        _add(tiling.unions[S], tiling.chances[S], wanted, table, out)


def smooth(
    model: SplitModel,
    rows: Indices,
    wanted: Words,
    edges: Ints,
    threads: int,
    n_stops: int = N_STOPS,
    progress: bool | None = False,
) -> Floats:
    """(chains, bins, k): the mean probability of k clusters, given as bit sets, over bins of consecutive draws.

    `rows` (chains, draws, 2n − 1) are the parents of the draws; the bins of every chain lie between the `edges`. The
    same draws give the same numbers, on any number of threads.
    """
    n, (n_chains, n_draws, _) = model.n_leaves, rows.shape
    regrafts = CompiledRegrafts(model)
    table, n_bins = empty_table(len(wanted)), len(edges) - 1
    fill_table(wanted, len(wanted), table)
    any_one = any_hierarchy(n, model.labels, np.random.default_rng(0))
    out = np.zeros((n_chains, n_bins, len(wanted)))

    def some(begin: int, end: int) -> None:
        tree: Tree = regrafts.empty_tree(any_one)
        patch: Patch = empty_patch(tree, n_stops)
        walk = empty_walk(tree)
        tiling, stream = _empty_tiling(n, wanted.shape[1], n_stops), new_stream(_SEED, 0)
        for number in range(begin, end):
            chain, b = divmod(number, n_bins)
            here = rows[chain, edges[b] : edges[b + 1]]
            first = chain * n_draws + int(edges[b])
            room = tree, walk, patch, tiling
            _smooth(regrafts.data, *room, here, first, wanted, table, stream, out[chain, b])
            out[chain, b] /= len(here)

    each = _PER_SPLIT * (n / n_stops * 3.0**n_stops + n * n)
    work = np.tile(np.diff(edges) * each, n_chains)
    with Workers(threads, Progress("smoothing", work.sum(), progress)) as workers:
        workers.run(some, work)
    return out
