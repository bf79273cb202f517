"""Plain Metropolis over hierarchies, the peer of palmette's moves in `mixing.py`, as fast as we can write it.

Half nearest-neighbour exchanges, half prunings of a random part that is regrafted at a random place, each kept with
probability min(1, φ′/φ). The tree is palmette's; a `Proposal` holds what a move would change. An exchange looks at the
smaller of two parts, a regraft only at the splits that change, leaves below a node are next to each other in memory,
and nothing is written before it is accepted.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from palmette._jit import called, inline, kernel, reduction
from palmette.models.c_functions import fill_features, score_splits
from palmette.numeric import scramble

__all__ = ["Proposal", "empty_proposal", "walk"]


class Proposal(NamedTuple):
    """Rows of changed clusters: those that lose the moved part, then the new one, then those that gain it."""

    node: Any  # (m,)
    size: Any
    sums: Any  # (m, d)
    pairs: Any  # (m, p)
    table: Any  # (2m, k): the rows behind those of the tree
    log_psi: Any  # of the listed splits, whose clusters are rows of the tree's table
    parents: Any
    lefts: Any
    rights: Any
    across: Any  # (m, p): pair sums of the moved part and what joins it
    mark: Any  # (m + 1,): the last move that had a node on its old path; last, how many moves there were
    order: Any  # the leaves as they hang on the tree, so that those below a node are next to each other
    start: Any  # (m,): where those of a node begin
    stack: Any
    stream: Any  # (1,)


def empty_proposal(tree: Any, seed: int) -> Proposal:
    m = len(tree.size)
    root = int(np.argmin(tree.parent))
    ints = [np.zeros(m + 1, dtype=np.int64) for _ in range(9)]
    sums, pairs, across = (np.zeros_like(a) for a in (tree.sums, tree.pairs, tree.pairs))
    stream = np.random.default_rng(seed).integers(2**63, size=1, dtype=np.uint64)
    made = Proposal(*ints[:2], sums, pairs, tree.table[m:], np.zeros(m), *ints[2:5], across, *ints[5:], stream)
    lay_out(tree.child, tree.size, root, made)
    return made


@inline
def draw(stream):
    # Uniform in [0, 1): splitmix64, a third of the work of the random numbers that palmette's own chains use.
    stream[0] += np.uint64(0x9E3779B97F4A7C15)
    return np.float64(scramble(stream[0]) >> np.uint64(11)) * 1.1102230246251565e-16


@called
def lay_out(child, size, v, new):
    # The order of the leaves below v, which begins where it began.
    n = (size.size + 1) // 2
    new.stack[0], height = v, 1
    while height > 0:
        height -= 1
        v = new.stack[height]
        at = new.start[v]
        while v >= n:
            one, two = child[v, 0], child[v, 1]
            new.start[one], new.start[two] = at, at + size[one]
            new.stack[height] = two
            height += 1
            v = one
        new.order[at] = v


@reduction
def add_entries(row, order, first, last):
    total = 0.0
    for j in range(first, last):
        total += row[order[j]]
    return total


@called
def sum_across(weights, order, first, last, begin, end):
    # Σ w over order[first : last] × order[begin : end], the longer one in the inner loop.
    if last - first > end - begin:
        first, last, begin, end = begin, end, first, last
    total = 0.0
    for i in range(first, last):
        total += add_entries(weights[order[i]], order, begin, end)
    return total


@inline
def sum_between(weights, tree, new, one, two):
    # Σ w over the leaves below two nodes.
    a, b = new.start[one], new.start[two]
    return sum_across(weights, new.order, a, a + tree.size[one], b, b + tree.size[two])


@inline
def write_down(tree, v, new, r):
    # Row r of a proposal becomes true of node v.
    tree.size[v], tree.log_psi[v] = new.size[r], new.log_psi[r]
    for c in range(tree.sums.shape[1]):
        tree.sums[v, c] = new.sums[r, c]
    for c in range(tree.pairs.shape[1]):
        tree.pairs[v, c] = new.pairs[r, c]
    for c in range(tree.table.shape[1]):
        tree.table[v, c] = new.table[r, c]


@inline
def describe(data, tree, new, count):
    # The features of so many rows.
    n = (tree.size.size + 1) // 2
    fill_features(data.features, data.theta, n, new.size, new.sums, new.pairs, new.table, 0, count)


@inline
def list_split(new, j, parent, left, right):
    new.parents[j], new.lefts[j], new.rights[j] = parent, left, right


@inline
def score_listed(data, tree, new, count):
    splits = new.parents, new.lefts, new.rights
    score_splits(data.scores, data.theta, tree.table, *splits, count, new.log_psi)


@called
def exchange(data, tree, new):
    # A child of a random inner node u changes places with the sibling of u. 1 if it was kept.
    pairwise, m = data.pairwise, tree.size.size
    parent, child, size, pairs = tree.parent, tree.child, tree.size, tree.pairs
    n = (m + 1) // 2
    u = n + int(draw(new.stream) * (n - 1))
    p = parent[u]
    if p < 0:
        return 0
    side = 0 if child[p, 0] == u else 1
    k = int(draw(new.stream) * 2)
    stays, goes, comes = child[u, k], child[u, 1 - k], child[p, 1 - side]
    new.size[0] = size[stays] + size[comes]
    for c in range(tree.sums.shape[1]):
        new.sums[0, c] = tree.sums[stays, c] + tree.sums[comes, c]
    for c in range(pairwise.shape[0]):
        if size[stays] <= size[goes]:
            found = sum_between(pairwise[c], tree, new, stays, comes)
        else:  # what comes has a known sum with both of them together
            known = pairs[p, c] - pairs[u, c] - pairs[comes, c]
            found = known - sum_between(pairwise[c], tree, new, goes, comes)
        new.pairs[0, c] = pairs[stays, c] + pairs[comes, c] + found
    describe(data, tree, new, 1)
    list_split(new, 0, m, stays, comes)
    list_split(new, 1, p, m, goes)
    score_listed(data, tree, new, 2)
    above = new.log_psi[1]
    gain = new.log_psi[0] + above - tree.log_psi[u] - tree.log_psi[p]
    if gain < 0.0 and draw(new.stream) >= math.exp(gain):
        return 0
    child[u, 1 - k], child[p, 1 - side] = comes, goes
    parent[comes], parent[goes] = u, p
    write_down(tree, u, new, 0)
    tree.log_psi[p] = above
    lay_out(child, size, p, new)
    return 1


@inline
def choose_regraft(parent, size, new):
    # A part x, each alike; a node y that it is not beside now, each alike; and the lowest node above y that is on the
    # way from x to the root. x is −1 if there is no such y.
    m = size.size
    x = int(draw(new.stream) * m)
    p = parent[x]
    if p < 0 or size[x] == (m + 1) // 2 - 1:
        return -1, -1, -1
    new.mark[m] += 1
    stamp, q = new.mark[m], p
    while q >= 0:
        new.mark[q] = stamp
        q = parent[q]
    while True:
        y = int(draw(new.stream) * m)
        if y == p or parent[y] == p:
            continue
        q = y
        while q != x and new.mark[q] != stamp:
            q = parent[q]
        if q != x:
            return x, y, q


@inline
def sum_with_losers(pairwise, tree, new, x, sibling, end):
    # The clusters from the parent of x up to `end` lose x: those above it as rows, and their pair sums with x.
    child, size, parent, pairs, start = tree.child, tree.size, tree.parent, tree.pairs, new.start
    below = parent[x]
    for c in range(pairwise.shape[0]):
        new.across[0, c] = pairs[below, c] - pairs[x, c] - pairs[sibling, c]
    r, q = 0, parent[below]
    while q != end:
        new.node[r] = q
        other = child[q, 0] + child[q, 1] - below
        for c in range(pairwise.shape[0]):
            if size[below] - size[x] < size[x]:  # `other` has a known sum with all of `below`
                a, b = start[other], start[other] + size[other]
                found = pairs[q, c] - pairs[below, c] - pairs[other, c]
                found -= sum_across(pairwise[c], new.order, a, b, start[below], start[x])
                found -= sum_across(pairwise[c], new.order, a, b, start[x] + size[x], start[below] + size[below])
            else:
                found = sum_between(pairwise[c], tree, new, x, other)
            new.across[r + 1, c] = new.across[r, c] + found
        r += 1
        below, q = q, parent[q]
    return r


@inline
def sum_with_gainers(pairwise, tree, new, x, y, end, first):
    # The clusters from y up to `end` gain x: rows from `first` on, y first, and their pair sums with x. If they are all
    # beside x now, their sum with it is known, and the largest of the parts that they are made of is not added up.
    child, size, parent = tree.child, tree.size, tree.parent
    beside = parent[x] == end
    r, below, q = first, y, parent[y]
    new.node[r] = y
    skipped, most = -1, 0
    if beside:
        skipped, most = r, size[y]
    while q != end:
        r += 1
        new.node[r] = q
        joins = size[q] - size[below]
        if beside and joins > most:
            skipped, most = r, joins
        below, q = q, parent[q]
    for c in range(pairwise.shape[0]):
        total = 0.0
        for i in range(first, r + 1):
            part = y
            if i > first:
                v = new.node[i]
                part = child[v, 0] + child[v, 1] - new.node[i - 1]
            found = 0.0
            if i != skipped:
                found = sum_between(pairwise[c], tree, new, x, part)
            total += found
            new.across[i, c] = found
        if beside:
            whole = tree.pairs[end, c] - tree.pairs[x, c] - tree.pairs[below, c]
            new.across[skipped, c] = whole - total
        for i in range(first + 1, r + 1):
            new.across[i, c] += new.across[i - 1, c]
    return r + 1 - first


@inline
def relink(tree, x, y, sibling):
    # x leaves its sibling, and goes beside y.
    parent, child = tree.parent, tree.child
    p = parent[x]
    for old, new in ((p, sibling), (y, p)):
        above = parent[old]
        parent[new] = above
        if above >= 0:
            child[above, 0 if child[above, 0] == old else 1] = new
    child[p, 0], child[p, 1] = y, x
    parent[y] = p


@called
def prune_regraft(data, tree, new):
    # A random part is put at a random place. 1 if it was kept.
    pairwise = data.pairwise
    parent, child, size, sums, pairs = tree.parent, tree.child, tree.size, tree.sums, tree.pairs
    m, d, matrices = size.size, sums.shape[1], pairwise.shape[0]
    x, y, meeting = choose_regraft(parent, size, new)
    if x < 0:
        return 0
    p = parent[x]
    sibling = child[p, 0] + child[p, 1] - x
    up, down = meeting == y, meeting == p
    # Those that lose x. Row r of `across` belongs to the cluster below the r-th.
    end = parent[y] if up else (parent[p] if down else meeting)
    losers = sum_with_losers(pairwise, tree, new, x, sibling, end)
    left, last = sibling, p
    for r in range(losers):
        v = new.node[r]
        other = child[v, 0] + child[v, 1] - last
        new.size[r] = size[v] - size[x]
        for c in range(d):
            new.sums[r, c] = (sums[sibling, c] if r == 0 else new.sums[r - 1, c]) + sums[other, c]
        for c in range(matrices):
            new.pairs[r, c] = pairs[v, c] - pairs[x, c] - new.across[r + 1, c]
        list_split(new, r, m + r, left, other)
        left, last = m + r, v
    # Those that gain it, the new one first.
    if up:  # the new one is what y was
        gainers, r = 1, losers
        new.size[r] = size[y]
        for c in range(d):
            new.sums[r, c] = sums[y, c]
        for c in range(matrices):
            new.pairs[r, c] = pairs[y, c]
        list_split(new, r, m + r, left, x)
    else:
        gainers = sum_with_gainers(pairwise, tree, new, x, y, meeting, losers)
        right, last = x, y
        for r in range(losers, losers + gainers):
            v = new.node[r]
            other = y if r == losers else child[v, 0] + child[v, 1] - last
            new.size[r] = size[v] + size[x]
            for c in range(d):
                new.sums[r, c] = sums[v, c] + sums[x, c]
            for c in range(matrices):
                new.pairs[r, c] = pairs[v, c] + pairs[x, c] + new.across[r, c]
            list_split(new, r, m + r, right, other)
            right, last = m + r, v
    rows = count = losers + gainers
    if not up and not down:
        list_split(new, rows, meeting, left, right)
        count += 1
    describe(data, tree, new, rows)
    score_listed(data, tree, new, count)
    change = -tree.log_psi[p]
    for r in range(count):
        change += new.log_psi[r]
        if r < losers or losers < r < rows:
            change -= tree.log_psi[new.node[r]]
    if count > rows:
        change -= tree.log_psi[meeting]
    if not change >= 0.0 and not draw(new.stream) < math.exp(change):
        return 0
    for r in range(losers):
        write_down(tree, new.node[r], new, r)
    write_down(tree, p, new, losers)
    for r in range(losers + 1, losers + gainers):
        write_down(tree, new.node[r], new, r)
    if not up and not down:
        tree.log_psi[meeting] = new.log_psi[rows]
    relink(tree, x, y, sibling)
    top = p if up else (sibling if down else meeting)  # what has the same leaves as before
    new.start[top] = new.start[meeting]
    lay_out(child, size, top, new)
    return 1


@kernel
def walk(data, tree, new, n_moves):
    """So many moves, half of each kind, of a `palmette.models.c_functions.ModelData`; how many were kept."""
    kept = 0
    for _ in range(n_moves):
        if draw(new.stream) < 0.5:
            kept += exchange(data, tree, new)
        else:
            kept += prune_regraft(data, tree, new)
    return kept
