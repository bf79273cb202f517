"""A patch: everything between a cluster P and k clusters below it, its *stops*, which is drawn anew, exactly.

The stops stay as they are. What lies between P and them is a binary hierarchy over k things, of weight Π ψ(L, R)^t over
its k − 1 splits. The inside recursion over the 2^k unions of stops sums all of these, and one exact draw follows.

P is found from a leaf and a scale drawn at random: the largest cluster around the leaf with at most so many leaves. The
stops are one of the N_k(P) patches with k stops, each alike, where N counts those of a sub-hierarchy,

    N_1(v) = 1,   N_j(v) = Σ_a N_a(left) N_{j−a}(right).

Neither P nor what is below the stops changes, so the way back differs in N_k alone, and the draw is kept with
probability min(1, N_k before / N_k after). That is detailed balance for any model.
"""

from __future__ import annotations

import functools
from typing import NamedTuple

import numpy as np

from palmette._immutable import read_only
from palmette._jit import inline, step
from palmette.array_types import Floats, Ints
from palmette.models.c_functions import fill_features, score_splits
from palmette.numeric import add_exponentials, largest
from palmette.regrafts.tree_state import Tree
from palmette.sampling.chance import chance, choose, tempered
from palmette.sampling.hierarchies.state import list_nodes

__all__ = ["N_STOPS", "Patch", "empty_patch", "redraw", "sum_inside", "weigh_splits"]

N_STOPS = 8  # of a patch, at most: more cost more than they gain


class Splits(NamedTuple):
    """All splits of all sets of stops, those of S from number first[S] on, the lowest stop on the left.

    Those of fewer stops come first, so the same lists serve patches of any size.
    """

    first: Ints  # (2^k + 1,)
    parents: Ints
    lefts: Ints
    rights: Ints


@functools.cache
def _all_splits(k: int) -> Splits:
    first, found = [0], []
    for S in range(1 << k):
        rest, sub = S & (S - 1), 0
        while sub != rest:
            found.append((S, S ^ rest | sub, rest ^ sub))
            sub = (sub - rest) & rest
        first.append(len(found))
    return Splits(*(read_only(np.array(values, dtype=np.int64)) for values in (first, *zip(*found, strict=True))))


class Patch(NamedTuple):
    """Room for one patch of at most k stops; sets of stops are bit masks S < 2^k."""

    counts: Floats  # (m, k + 1): N_j of every node below P
    nodes: Ints  # (m,): those nodes, parents first
    stack: Ints
    wanted: Ints  # on the stack: how many stops a node is to have below it
    opened: Ints  # (k,): the nodes between P and the stops, P first
    stops: Ints  # (k,)
    leaves: Ints  # (n,): those below the stops, one stop after the other
    first: Ints  # (k + 1,): where the leaves of each stop begin
    row: Floats  # (n,)
    across: Floats  # (p, k, k): sums over the pairs between two stops
    size: Ints  # (2^k,)
    sums: Floats  # (2^k, d)
    pairs: Floats  # (2^k, p)
    table: Floats  # (2^k, features)
    splits: Splits
    log_psi: Floats  # of each of them
    Z: Floats  # (2^k,): log of the sum over all hierarchies over these stops
    values: Floats  # (2^(k − 1),)
    drawn: Ints  # (k, 2): a cluster of the draw, as a set of stops, and the number of its split, parents first
    before: Ints  # (k, 2): the children of the opened nodes before the draw


def empty_patch(tree: Tree, n_stops: int) -> Patch:
    """Room for the patches of a tree."""
    m, d, p, k = len(tree.size), tree.sums.shape[1], tree.pairs.shape[1], n_stops
    ints = lambda *shape: np.zeros(shape, dtype=np.int64)  # noqa: E731
    chosen = (np.zeros((m, k + 1)), ints(m), ints(m + 2), ints(m + 2), ints(k), ints(k))
    members = (ints(m), ints(k + 1), np.zeros(m), np.zeros((p, k, k)))
    unions = (ints(1 << k), np.zeros((1 << k, d)), np.zeros((1 << k, p)), np.zeros((1 << k, tree.table.shape[1])))
    splits = _all_splits(k)
    scores = (splits, np.zeros(len(splits.parents)), np.zeros(1 << k), np.zeros(1 << (k - 1)))
    return Patch(*chosen, *members, *unions, *scores, ints(k, 2), ints(k, 2))


@inline
def _count_one(child, counts, v, k):
    left, right = child[v, 0], child[v, 1]
    counts[v, 1] = 1.0
    for j in range(2, k + 1):
        found = 0.0
        for a in range(1, j):
            found += counts[left, a] * counts[right, j - a]
        counts[v, j] = found


@step
def _count_below(child, top, k, patch):
    # N_1 … N_k of all nodes below `top`.
    n, m = (child.shape[0] + 1) // 2, list_nodes(child, top, patch.nodes, patch.stack)
    for i in range(m):
        v = patch.nodes[m - 1 - i]
        if v >= n:
            _count_one(child, patch.counts, v, k)
        else:
            patch.counts[v, 1] = 1.0
            for j in range(2, k + 1):
                patch.counts[v, j] = 0.0


@step
def _choose_stops(child, top, k, stream, patch):
    # One of the N_k(top) patches, each alike.
    counts, stack, wanted = patch.counts, patch.stack, patch.wanted
    stack[0], wanted[0], height = top, k, 1
    opened, stops = 0, 0
    while height > 0:
        height -= 1
        v, j = stack[height], wanted[height]
        if j == 1:
            patch.stops[stops] = v
            stops += 1
            continue
        patch.opened[opened] = v
        opened += 1
        left, right = child[v, 0], child[v, 1]
        rest = chance(stream) * counts[v, j]
        a, last = 1, 1
        while a < j:
            found = counts[left, a] * counts[right, j - a]
            if found > 0.0:
                last = a
                rest -= found
                if rest < 0.0:
                    break
            a += 1
        stack[height], wanted[height] = left, last
        stack[height + 1], wanted[height + 1] = right, j - last
        height += 2


@step
def _add_across(pairwise, child, k, patch):
    # The sums over pairs between any two stops, from the leaves below them.
    n = (child.shape[0] + 1) // 2
    leaves, first, row, across = patch.leaves, patch.first, patch.row, patch.across
    m = 0
    for i in range(k):
        first[i] = m
        patch.stack[0], height = patch.stops[i], 1
        while height > 0:
            height -= 1
            v = patch.stack[height]
            if v < n:
                leaves[m] = v
                m += 1
            else:
                patch.stack[height], patch.stack[height + 1] = child[v, 0], child[v, 1]
                height += 2
    first[k] = m
    for c in range(pairwise.shape[0]):
        for i in range(k - 1):
            begin = first[i + 1]
            for y in range(begin, m):
                row[y] = 0.0
            for x in range(first[i], begin):
                weights = pairwise[c, leaves[x]]
                for y in range(begin, m):
                    row[y] += weights[leaves[y]]
            for j in range(i + 1, k):
                found = 0.0
                for y in range(first[j], first[j + 1]):
                    found += row[y]
                across[c, i, j] = across[c, j, i] = found


@step
def _add_unions(tree, k, patch):
    # Sizes, sums and pair sums of all unions of stops: one stop joins those made of the stops before it.
    size, sums, pairs, across = patch.size, patch.sums, patch.pairs, patch.across
    size[0] = 0  # and the sums of nothing are never written to
    for i in range(k):
        v, bit = patch.stops[i], 1 << i
        for S in range(bit):
            size[S | bit] = size[S] + tree.size[v]
            for c in range(sums.shape[1]):
                sums[S | bit, c] = sums[S, c] + tree.sums[v, c]
            for c in range(pairs.shape[1]):
                found = pairs[S, c] + tree.pairs[v, c]
                for j in range(i):
                    if (S >> j) & 1:
                        found += across[c, i, j]
                pairs[S | bit, c] = found


@inline
def weigh_splits(patch, S, temper, penalty):
    """Fills patch.values with log ψ^t Z(L) Z(R) of all splits of S, after `sum_inside`; how many there are."""
    splits, Z = patch.splits, patch.Z
    first = splits.first[S]
    count = splits.first[S + 1] - first
    for j in range(count):
        left = splits.lefts[first + j]
        patch.values[j] = tempered(patch.log_psi[first + j], temper, penalty) + (Z[left] + Z[S ^ left])
    return count


@step
def sum_inside(data, tree, k, temper, penalty, patch):
    """Z of all unions of the stops that were chosen."""
    n, splits, Z = (tree.parent.size + 1) // 2, patch.splits, patch.Z
    _add_across(data.pairwise, tree.child, k, patch)
    _add_unions(tree, k, patch)
    unions = patch.size, patch.sums, patch.pairs, patch.table
    fill_features(data.features, data.theta, n, *unions, 1, (1 << k) - 1)
    lists = splits.parents, splits.lefts, splits.rights
    score_splits(data.scores, data.theta, patch.table, *lists, splits.first[1 << k], patch.log_psi)
    for S in range(1, 1 << k):
        if S & (S - 1) == 0:
            Z[S] = 0.0
            continue
        count = weigh_splits(patch, S, temper, penalty)
        top = largest(patch.values, count)
        Z[S] = top
        if top > -np.inf:
            Z[S] += np.log(add_exponentials(patch.values, count, top))
        else:
            for j in range(count):  # NaN is not larger than anything, and must not get lost
                Z[S] += patch.values[j]


@step
def _draw_between(k, temper, penalty, stream, patch):
    # Clusters of the draw and their splits, parents first.
    splits, drawn = patch.splits, patch.drawn
    drawn[0, 0], known = (1 << k) - 1, 1
    for q in range(k - 1):
        S = drawn[q, 0]
        count = weigh_splits(patch, S, temper, penalty)
        number = splits.first[S] + choose(patch.values, count, chance(stream))
        drawn[q, 1] = number
        for part in (splits.lefts[number], splits.rights[number]):
            if part & (part - 1):
                drawn[known, 0] = part
                known += 1


@inline
def _stop_or_next(part, stops, opened, known):
    # The node of a part of the draw, and how many of the opened nodes are in use then.
    if part & (part - 1):
        return opened[known], known + 1
    i = 0
    while part >> i != 1:
        i += 1
    return stops[i], known


@step
def _link(child, k, patch):
    # The children of the opened nodes in the draw, and their N_j.
    known, splits = 1, patch.splits
    for q in range(k - 1):
        v, number = patch.opened[q], patch.drawn[q, 1]
        child[v, 0], known = _stop_or_next(splits.lefts[number], patch.stops, patch.opened, known)
        child[v, 1], known = _stop_or_next(splits.rights[number], patch.stops, patch.opened, known)
    for q in range(k - 1):
        _count_one(child, patch.counts, patch.opened[k - 2 - q], k)


@step
def _settle(tree, k, patch):
    # What is known of the opened nodes, from the tables of their clusters.
    for q in range(k - 1):
        v, S = patch.opened[q], patch.drawn[q, 0]
        tree.parent[tree.child[v, 0]] = tree.parent[tree.child[v, 1]] = v
        tree.size[v], tree.log_psi[v] = patch.size[S], patch.log_psi[patch.drawn[q, 1]]
        for c in range(tree.sums.shape[1]):
            tree.sums[v, c] = patch.sums[S, c]
        for c in range(tree.pairs.shape[1]):
            tree.pairs[v, c] = patch.pairs[S, c]
        for c in range(tree.table.shape[1]):
            tree.table[v, c] = patch.table[S, c]


@step
def redraw(data, tree, patch, top, temper, penalty, stream):
    """Draw one patch below `top` anew; 1 if that was kept, 0 if not, −1 if a score is no number."""
    k = min(patch.stops.size, tree.size[top])
    if k < 3:
        return 0
    child = tree.child
    _count_below(child, top, k, patch)
    before = patch.counts[top, k]
    _choose_stops(child, top, k, stream, patch)
    sum_inside(data, tree, k, temper, penalty, patch)
    whole = patch.Z[(1 << k) - 1]
    if not whole < np.inf:
        return -1
    if whole == -np.inf:
        return 0
    _draw_between(k, temper, penalty, stream, patch)
    for q in range(k - 1):
        patch.before[q, 0], patch.before[q, 1] = child[patch.opened[q], 0], child[patch.opened[q], 1]
    _link(child, k, patch)
    if chance(stream) * patch.counts[top, k] > before:
        for q in range(k - 1):
            child[patch.opened[q], 0], child[patch.opened[q], 1] = patch.before[q, 0], patch.before[q, 1]
        return 0
    _settle(tree, k, patch)
    return 1
