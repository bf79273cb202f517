"""How well chains mix: palmette's moves against plain Metropolis, in equal time, from equal starts.

    python benchmarks/mixing.py                        # simulated points and iris, about fifteen minutes
    python benchmarks/mixing.py --data FOLDER          # and every table (.csv, .csv.gz) in a folder of one's own
    python benchmarks/mixing.py --seconds 4 --until 0  # quickly: so long for a chain, and no time to agreement
    python benchmarks/mixing.py --perplexity 10        # sharper posteriors
    python benchmarks/mixing.py --tune                 # other shares of patches and numbers of stops, instead
    python benchmarks/mixing.py --write docs/sampling.md   # also put the tables into the page

Metropolis is what phylogenetics does: half nearest-neighbour exchanges, half prunings of a random part that is
regrafted at a random place, each kept with probability min(1, φ′/φ). These have kernels of their own here, on the same
tree, as fast as we can write them: an exchange looks at the smaller of two parts, a regraft only at the splits that
change, leaves below a node are next to each other in memory, and nothing is written before it is accepted. Both
samplers run four chains on one core in turns of a tenth of a second, and write a state down after equal times. Chain i
of both begins at the same hierarchy, cooled down from a random one and then run by both for half a second each.

β is such that 12 leaves taken at random have a perplexity of 100, so the posterior is neither uniform nor frozen. What
counts are clusters of probability 0.05 to 0.95, in the mean of both samplers; effective samples of their indicators
are over all chains, per second of processor time. A cluster that no chain of a sampler both enters and leaves counts
for as many samples as there are chains, at most. PASS means that the worst cluster has five times as many as with
Metropolis. What palmette reports are smoothed probabilities, beside it: as many effective samples as make p (1 − p) / n
the variance of their mean, the time of smoothing every second state included.

Last, the time until R̂ is below 1.05 for log φ and for every cluster of 0.02 to 0.98, as `sample_hierarchies` says
itself, starts included, for the problems with a hundred leaves or fewer: with single chains, and where these need more
than two minutes with 16 rungs. PASS means: within two minutes. Beside it the effective samples of the worst cluster of
all that, again per second of processor time, for whoever wants to compare where single chains are frozen.

A table has the names of its rows in the first column, a class in the second, then numbers; gaps count as 0. With fewer
rows than leaves are asked for, all are taken; with fewer than 50 it is passed over. Their similarity is Pearson's
correlation, that of simulated points a Gaussian kernel.
"""

from __future__ import annotations

import argparse
import math
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import _tables
import numpy as np
from sklearn.datasets import load_iris

import palmette as pal
from palmette._jit import called, inline, reduction, specialise, specialise_called
from palmette.numeric import scramble
from palmette.regrafts.compiled import CompiledRegrafts
from palmette.sampling.chain import N_STOPS, ChainState, HierarchyMoves
from palmette.sampling.diagnostics import effective_size, rank_effective_size, rank_r_hat, split_r_hat
from palmette.sampling.single import SingleChains
from palmette.sampling.tilings import smooth

N_CHAINS = 4
SIZES = (100, 200)
FEWEST = 50  # leaves of a table
SAMPLE = 12  # leaves whose perplexity is set
OPEN = 0.05  # clusters nearer to 0 or 1 are not looked at
TURN = 0.1  # seconds
SETTLE = 0.5  # seconds of either sampler before the start, for each chain
RATIO, AGREED, IN_TIME = 5.0, 1.05, 120.0
N_RUNGS = 16
SMOOTHED = 2  # one of so many states
PAGE = Path(__file__).parent.parent / "docs" / "sampling.md"

features: Any = None  # a model's, put in by `specialise`
score: Any = None
load: Any = None
exchange: Any = None
prune_regraft: Any = None


# Metropolis. The tree is palmette's; a `Proposal` holds what a move would change.


class Proposal(NamedTuple):
    """Rows of changed clusters: those that lose the moved part, then the new one, then those that gain it."""

    node: Any  # (m,)
    size: Any
    sums: Any  # (m, d)
    pairs: Any  # (m, p)
    table: Any  # (m, k)
    log_psi: Any
    across: Any  # (m, p): pair sums of the moved part and what joins it
    mark: Any  # (m + 1,): the last move that had a node on its old path; last, how many moves there were
    order: Any  # the leaves as they hang on the tree, so that those below a node are next to each other
    start: Any  # (m,): where those of a node begin
    stack: Any
    stream: Any  # (1,)


def empty_proposal(tree: Any, seed: int) -> Proposal:
    m = len(tree.size)
    root = int(np.argmin(tree.parent))
    ints = [np.zeros(m + 1, dtype=np.int64) for _ in range(6)]
    sums, pairs, across, table = (np.zeros_like(a) for a in (tree.sums, tree.pairs, tree.pairs, tree.table))
    stream = np.random.default_rng(seed).integers(2**63, size=1, dtype=np.uint64)
    made = Proposal(*ints[:2], sums, pairs, table, np.zeros(m), across, *ints[2:], stream)
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


def _exchange(data, tree, new):
    # A child of a random inner node u changes places with the sibling of u. 1 if it was kept.
    theta, pairwise = data
    parent, child, size, pairs = tree.parent, tree.child, tree.size, tree.pairs
    n = (size.size + 1) // 2
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
    features(theta, n, new.size[0], new.sums[0], new.pairs[0], new.table[0])
    table, union = tree.table.T, load(new.table.T, 0)
    new.log_psi[0] = score(theta, union, load(table, stays), load(table, comes))
    above = score(theta, load(table, p), union, load(table, goes))
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


def _prune_regraft(data, tree, new):
    # A random part is put at a random place. 1 if it was kept.
    theta, pairwise = data
    parent, child, size, sums, pairs = tree.parent, tree.child, tree.size, tree.sums, tree.pairs
    n, d, matrices = (size.size + 1) // 2, sums.shape[1], pairwise.shape[0]
    x, y, meeting = choose_regraft(parent, size, new)
    if x < 0:
        return 0
    p = parent[x]
    sibling = child[p, 0] + child[p, 1] - x
    up, down = meeting == y, meeting == p
    table, rows = tree.table.T, new.table.T
    moved = load(table, x)
    # Those that lose x. Row r of `across` belongs to the cluster below the r-th.
    end = parent[y] if up else (parent[p] if down else meeting)
    losers = sum_with_losers(pairwise, tree, new, x, sibling, end)
    change, left, one, last = -tree.log_psi[p], load(table, sibling), sibling, p
    for r in range(losers):
        v = new.node[r]
        other = child[v, 0] + child[v, 1] - last
        new.size[r] = size[v] - size[x]
        for c in range(d):
            new.sums[r, c] = (sums[one, c] if r == 0 else new.sums[r - 1, c]) + sums[other, c]
        for c in range(matrices):
            new.pairs[r, c] = pairs[v, c] - pairs[x, c] - new.across[r + 1, c]
        features(theta, n, new.size[r], new.sums[r], new.pairs[r], new.table[r])
        whole = load(rows, r)
        new.log_psi[r] = score(theta, whole, left, load(table, other))
        change += new.log_psi[r] - tree.log_psi[v]
        left, last = whole, v
    # Those that gain it, the new one first.
    if up:  # the new one is what y was
        gainers, r = 1, losers
        new.size[r] = size[y]
        for c in range(d):
            new.sums[r, c] = sums[y, c]
        for c in range(matrices):
            new.pairs[r, c] = pairs[y, c]
        for c in range(tree.table.shape[1]):
            new.table[r, c] = tree.table[y, c]
        new.log_psi[r] = score(theta, load(table, y), left, moved)
        change += new.log_psi[r]
    else:
        gainers = sum_with_gainers(pairwise, tree, new, x, y, meeting, losers)
        right, last = moved, y
        for r in range(losers, losers + gainers):
            v = new.node[r]
            other = y if r == losers else child[v, 0] + child[v, 1] - last
            new.size[r] = size[v] + size[x]
            for c in range(d):
                new.sums[r, c] = sums[v, c] + sums[x, c]
            for c in range(matrices):
                new.pairs[r, c] = pairs[v, c] + pairs[x, c] + new.across[r, c]
            features(theta, n, new.size[r], new.sums[r], new.pairs[r], new.table[r])
            whole = load(rows, r)
            new.log_psi[r] = score(theta, whole, right, load(table, other))
            change += new.log_psi[r]
            if r > losers:
                change -= tree.log_psi[v]
            right, last = whole, v
        if not down:
            here = score(theta, load(table, meeting), left, right)
            change += here - tree.log_psi[meeting]
    if not change >= 0.0 and not draw(new.stream) < math.exp(change):
        return 0
    for r in range(losers):
        write_down(tree, new.node[r], new, r)
    write_down(tree, p, new, losers)
    for r in range(losers + 1, losers + gainers):
        write_down(tree, new.node[r], new, r)
    if not up and not down:
        tree.log_psi[meeting] = here
    relink(tree, x, y, sibling)
    top = p if up else (sibling if down else meeting)  # what has the same leaves as before
    new.start[top] = new.start[meeting]
    lay_out(child, size, top, new)
    return 1


def _walk(data, tree, new, n_moves):
    # So many moves, half of each kind; how many were kept.
    kept = 0
    for _ in range(n_moves):
        if draw(new.stream) < 0.5:
            kept += exchange(data, tree, new)
        else:
            kept += prune_regraft(data, tree, new)
    return kept


# Samplers: both have states of the same kind, and write them down in the same way.


class Palmette:
    """Patches and regrafts, as `sample_hierarchies` mixes them."""

    name = "palmette"

    def __init__(self, moves: HierarchyMoves, starts: list[ChainState], n_moves: int, seed: int) -> None:
        self.moves, self.n_moves = moves, n_moves
        self.states = [copy_of(moves, start, seed + i) for i, start in enumerate(starts)]

    def step(self, chain: int) -> float:
        return self.moves.run(self.states[chain], self.n_moves)[0]


class Metropolis(Palmette):
    """Exchanges and random regrafts."""

    name = "Metropolis"

    def __init__(self, moves: HierarchyMoves, starts: list[ChainState], n_moves: int, seed: int) -> None:
        super().__init__(moves, starts, n_moves, seed)
        model = moves.model
        self.data = (model.theta, model.pairwise)
        parts = {"features": model.features, **CompiledRegrafts(model).scorer}
        made = {"exchange": specialise_called(_exchange, **parts)}
        made["prune_regraft"] = specialise_called(_prune_regraft, **parts)
        self.kernel = specialise(_walk, **made)
        self.room = [empty_proposal(state.tree, seed + i) for i, state in enumerate(self.states)]

    def step(self, chain: int) -> float:
        state = self.states[chain]
        self.kernel(self.data, state.tree, self.room[chain], self.n_moves)
        return self.moves.restate(state)[0]  # what rounding has piled up goes


def copy_of(moves: HierarchyMoves, state: ChainState, seed: int) -> ChainState:
    out = np.empty(len(state.tree.size), dtype=np.int32)
    moves.restate(state)
    moves.record(state, out)
    copied = moves.start(pal.Hierarchy.from_parents(out.tolist(), moves.model.labels), seed, 0)
    moves.restate(copied)
    return copied


def settled(moves: HierarchyMoves, seconds: float, seed: int) -> list[ChainState]:
    """Where chains begin: cooled down from random hierarchies, then run by either sampler for so long."""
    kind = SingleChains(moves.model, [], seed)
    states = [kind.begin(i) for i in range(N_CHAINS)]
    for sampler in (Palmette, Metropolis):
        running = sampler(moves, states, moves.model.n_leaves, seed)
        for chain in [0, *range(N_CHAINS)]:  # the first one compiles
            begin = time.process_time()
            while time.process_time() - begin < seconds:
                running.step(chain)
        states = running.states
    return states


class Records(NamedTuple):
    """What some chains wrote down: of their clusters, and log φ."""

    parents: np.ndarray  # (chains, draws, 2n − 1)
    keys: np.ndarray  # (chains, draws, n − 2): a number for each cluster but the root and single leaves
    log_potentials: np.ndarray  # (chains, draws)
    seconds: float  # of all chains together
    moves: int


def compared(samplers: list[Palmette], seconds: float) -> list[Records]:
    """Run samplers in turns, so long for each chain, and see what they write down."""
    rows: list[list[list[np.ndarray]]] = [[[] for _ in range(N_CHAINS)] for _ in samplers]
    values: list[list[list[float]]] = [[[] for _ in range(N_CHAINS)] for _ in samplers]
    spent = np.zeros((len(samplers), N_CHAINS))
    while (spent < seconds).any():
        for i, sampler in enumerate(samplers):
            for chain in np.flatnonzero(spent[i] < seconds).tolist():
                begin = time.process_time()
                while (took := time.process_time() - begin) < TURN:
                    values[i][chain].append(sampler.step(chain))
                    rows[i][chain].append(np.empty(2 * sampler.moves.model.n_leaves - 1, dtype=np.int32))
                    sampler.moves.record(sampler.states[chain], rows[i][chain][-1])
                spent[i, chain] += took
    found = []
    for i, sampler in enumerate(samplers):
        draws = min(map(len, values[i]))
        parents = np.stack([np.stack(chain[:draws]) for chain in rows[i]])
        share = N_CHAINS * draws / sum(map(len, values[i]))  # chains have equal times, and not quite equal numbers
        numbers = np.array([chain[:draws] for chain in values[i]])
        n_moves = sampler.n_moves * numbers.size
        found.append(Records(parents, cluster_keys(parents), numbers, float(spent[i].sum()) * share, n_moves))
    return found


def cluster_keys(parents: np.ndarray) -> np.ndarray:
    """Sums of random 64-bit numbers of the leaves, for every cluster but the root and single leaves."""
    m = parents.shape[-1]
    n, flat = (m + 1) // 2, parents.reshape(-1, m)
    keys = np.zeros(flat.shape, dtype=np.uint64)
    keys[:, :n] = np.random.default_rng(0).integers(2**64, size=n, dtype=np.uint64)
    draws = np.arange(len(flat))
    for v in range(m - 1):  # children come first
        keys[draws, flat[:, v]] += keys[:, v]
    return keys[:, n:-1].reshape(*parents.shape[:-1], n - 2)


def open_clusters(*samplers: Records) -> np.ndarray:
    """Rising numbers of the clusters that are neither rare nor certain, in the mean of some samplers."""
    keys = np.concatenate([records.keys.reshape(-1) for records in samplers])
    weights = [np.full(records.keys.size, 1.0 / records.log_potentials.size) for records in samplers]
    found, which = np.unique(keys, return_inverse=True)
    shares = np.bincount(which, np.concatenate(weights)) / len(samplers)
    return found[(shares > OPEN) & (shares < 1.0 - OPEN)]


def leaf_sets(records: Records, clusters: np.ndarray) -> np.ndarray:
    """(clusters, words): their leaves as bits; none for a cluster that these chains have never had."""
    n = (records.parents.shape[-1] + 1) // 2
    keys, rows = records.keys.reshape(-1, n - 2), records.parents.reshape(-1, 2 * n - 1)
    known, at = np.unique(keys, return_index=True)
    words = np.zeros((len(clusters), (n + 63) // 64), dtype=np.uint64)
    for i, place in enumerate(np.searchsorted(known, clusters).tolist()):
        if place < len(known) and known[place] == clusters[i]:
            row, node = rows[at[place] // (n - 2)], n + at[place] % (n - 2)
            for leaf in range(n):
                v = leaf
                while v < node:
                    v = row[v]
                if v == node:
                    words[i, leaf >> 6] |= np.uint64(1) << np.uint64(leaf & 63)
    return words


def smoothed_rates(model: Any, records: Records, clusters: np.ndarray) -> np.ndarray:
    """Effective samples of the smoothed probability of each cluster, per second: p (1 − p) over its variance."""
    rows, words = records.parents[:, ::SMOOTHED], leaf_sets(records, clusters)
    smooth(model, rows[:, :2], words, np.array([0, 2]), 1)  # compiles
    begin = time.process_time()
    values = smooth(model, np.ascontiguousarray(rows), words, np.arange(rows.shape[1] + 1), 1)
    seconds = records.seconds + time.process_time() - begin
    p, spread = values.mean(axis=(0, 1)), values.var(axis=(0, 1))
    variance = spread / np.asarray(effective_size(values))
    events = occurrences(records, clusters)
    sizes = np.where(variance > 0.0, p * (1.0 - p) / np.where(variance > 0.0, variance, 1.0), N_CHAINS)
    frozen = (events == events[:, :1]).all(axis=(0, 1))
    return np.where(frozen, np.minimum(sizes, N_CHAINS), sizes) / seconds


class Figures(NamedTuple):
    """Per second of processor time, but R̂."""

    moves: float
    worst: float
    median: float
    log_potential: float
    r_hat: float
    n_frozen: int
    """Clusters that no chain both entered and left."""


def occurrences(records: Records, clusters: np.ndarray) -> np.ndarray:
    """(chains, draws, clusters): which states have which."""
    chains, draws, _ = records.keys.shape
    column = np.minimum(np.searchsorted(clusters, records.keys), len(clusters) - 1)
    column = np.where(clusters[column] == records.keys, column, len(clusters))
    events = np.zeros((chains, draws, len(clusters) + 1), dtype=bool)
    np.put_along_axis(events, column, True, axis=2)
    return events[:, :, :-1]


def figures(records: Records, clusters: np.ndarray) -> Figures:
    chains, events = len(records.keys), occurrences(records, clusters)
    sizes, r_hat = np.asarray(effective_size(events)), np.asarray(split_r_hat(events))
    frozen = (events == events[:, :1]).all(axis=(0, 1))
    sizes[frozen] = np.minimum(sizes[frozen], chains)
    own = float(rank_effective_size(records.log_potentials))
    largest = max(float(r_hat.max()), float(rank_r_hat(records.log_potentials)))
    rates = [x / records.seconds for x in (records.moves, sizes.min(), np.median(sizes), own)]
    return Figures(*map(float, rates), largest, int(frozen.sum()))


# Problems.


class Problem(NamedTuple):
    name: str
    model: Any

    @property
    def title(self) -> str:
        return f"{self.name}, n = {self.model.n_leaves}, {type(self.model).__name__}, β = {self.model.beta:.3g}"

    @property
    def cells(self) -> list[str]:
        names = {"SumOfSquares": "sums of squares", "Dasgupta": "Dasgupta"}
        data = re.sub(r"_\d+x\d+$", "", self.name).replace("_", " ")
        return [data, str(self.model.n_leaves), names[type(self.model).__name__]]


def simulated(n: int, rng: np.random.Generator) -> np.ndarray:
    """Eight groups of points of unit spread in four columns, their centres in two larger ones."""
    apart = np.repeat(rng.normal(size=(2, 4)) * 4.0, 4, axis=0) + rng.normal(size=(8, 4)) * 2.0
    return apart[np.arange(n) % 8] + rng.normal(size=(n, 4))


def read(path: Path) -> np.ndarray:
    """The numbers of a table, gaps as 0."""
    with np.errstate(invalid="ignore"):
        cells = np.genfromtxt(path, delimiter=",", skip_header=1, dtype=float, comments=None)
    return np.nan_to_num(cells[:, 2:])


def warmed(base: Any, part: Any, perplexity: float) -> Any:
    """The model at the β at which a part of it has this perplexity."""
    return base.with_beta(pal.temperature.at_perplexity(part, perplexity, progress=False).beta)


def models(name: str, x: np.ndarray, kind: str, perplexity: float, rng: np.random.Generator) -> Iterator[Problem]:
    some = rng.choice(len(x), size=SAMPLE, replace=False)
    w = pal.similarity.of_points(x, kind)
    yield Problem(name, warmed(pal.models.SumOfSquares(x), pal.models.SumOfSquares(x[some]), perplexity))
    yield Problem(name, warmed(pal.models.Dasgupta(w), pal.models.Dasgupta(w[np.ix_(some, some)]), perplexity))


def problems(folder: Path | None, perplexity: float, seed: int) -> Iterator[Problem]:
    for n in SIZES:
        rng = np.random.default_rng([seed, n])
        yield from models("simulated", simulated(n, rng), "rbf", perplexity, rng)
    rng = np.random.default_rng([seed, min(SIZES)])
    flowers = load_iris().data
    yield from models("iris", flowers[rng.permutation(len(flowers))[: min(SIZES)]], "rbf", perplexity, rng)
    for path in sorted([*folder.glob("*.csv"), *folder.glob("*.csv.gz")]) if folder else []:
        x = read(path)
        for n in sorted({min(n, len(x)) for n in SIZES} if len(x) >= FEWEST else set()):
            rng = np.random.default_rng([seed, n])
            rows = rng.choice(len(x), size=n, replace=False)
            yield from models(path.name.split(".")[0], x[rows], "correlation", perplexity, rng)


# What is measured.


def measure(problem: Problem, seconds: float, seed: int) -> list[str]:
    """Both samplers on one problem, as a row of the table."""
    model = problem.model
    moves = HierarchyMoves(model)
    starts = settled(moves, SETTLE, seed)
    ours = Palmette(moves, starts, model.n_leaves, seed)
    theirs = Metropolis(moves, starts, model.n_leaves, seed)
    theirs.n_moves = equal_times(ours, theirs)
    records = compared([ours, theirs], seconds)
    clusters = open_clusters(*records)
    found = [figures(record, clusters) for record in records]
    rates = smoothed_rates(model, records[0], clusters)
    print(f"\n{problem.title}: {len(clusters)} clusters of probability {OPEN} to {1 - OPEN}\n")
    header = ["", "moves/s", "worst cluster", "median cluster", "log φ", "largest R̂", "clusters never left"]
    rows = [cells(s.name, f) for s, f in zip((ours, theirs), found, strict=True)]
    rows.insert(1, ["smoothed", "", f"{rates.min():.3g}", f"{np.median(rates):.3g}", "", "", ""])
    print("\n".join(_tables.lines_of(header, rows)))
    ratio = found[0].worst / found[1].worst
    verdict(ratio >= RATIO, f"{problem.title}: {ratio:.1f} times the effective samples of the worst cluster")
    ends = [f"{found[0].worst:.3g}", f"{rates.min():.3g}", f"{found[1].worst:.3g}", f"{ratio:.1f}"]
    middle = found[0].median / found[1].median
    return [*problem.cells, *ends, f"{middle:.1f}", f"{found[0].r_hat:.2f}", f"{found[1].r_hat:.2f}"]


def cells(name: str, found: Figures) -> list[str]:
    rates = [f"{x:.3g}" for x in (found.worst, found.median, found.log_potential)]
    return [name, f"{found.moves:,.0f}", *rates, f"{found.r_hat:.3f}", str(found.n_frozen)]


def equal_times(ours: Palmette, theirs: Palmette) -> int:
    """How many of their moves take as long as a step of ours."""
    took = []
    for sampler, steps in ((ours, 40), (theirs, 400)):
        sampler.step(0)
        begin = time.process_time()
        for _ in range(steps):
            sampler.step(0)
        took.append((time.process_time() - begin) / steps)
    return max(1, round(theirs.n_moves * took[0] / took[1]))


def agreement(problem: Problem, seconds: float, threads: int) -> list[str]:
    """How long `sample_hierarchies` takes until its chains agree, as a row of the table."""
    found = []
    for n_rungs in (1, N_RUNGS):
        took, r_hat, rate = until_agreed(problem.model, n_rungs, seconds, threads)
        how = "single chains" if n_rungs == 1 else f"{n_rungs} rungs"
        said = f"{problem.title}: R̂ {r_hat:.3f} after {took:.0f} s, {how}, {rate:.3g} of the worst cluster a second"
        found.append(f"{took:.0f} s" if r_hat < AGREED else f"R̂ {r_hat:.2f} after {took:.0f} s")
        if r_hat < AGREED:
            verdict(took <= IN_TIME, said)
            break
        if n_rungs == 1:
            print(f"      {said}", flush=True)
        else:
            verdict(False, said)
    return [*problem.cells, *found, *[""] * (2 - len(found)), f"{rate:.3g}" if r_hat < AGREED else ""]


def until_agreed(model: Any, n_rungs: int, seconds: float, threads: int) -> tuple[float, float, float]:
    """Seconds and R̂ when it is small enough, or when there is no more time; looked at ever more seldom.

    Seconds are those of the processor over the number of threads, so that whoever else uses the machine does not count.
    Last, effective samples of the worst cluster, per second of one processor, starts included.
    """
    begin = time.process_time()
    settings = {"n_rungs": n_rungs, "threads": threads, "progress": False, "precision": 1e-9}
    post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=50, **settings)
    while (r_hat := post.verdict.r_hat) >= AGREED and (took := (time.process_time() - begin) / threads) < seconds:
        post = post.resume(seconds=min(seconds - took, 0.3 * took), precision=1e-9)
    used = time.process_time() - begin
    sizes = [row.effective_size for row in post.cluster_diagnostics() if OPEN < row.probability < 1.0 - OPEN]
    return used / threads, r_hat, min(sizes, default=np.inf) / used


def verdict(good: bool, words: str) -> bool:
    print(f"{'PASS' if good else 'FAIL'}  {words}", flush=True)
    return good


def check_metropolis() -> None:
    """Metropolis against the exact posterior of seven leaves: a peer that is wrong is not worth comparing with."""
    x = simulated(7, np.random.default_rng(0)) / 4.0
    for model in (pal.models.SumOfSquares(x), pal.models.Dasgupta(pal.similarity.of_points(x))):
        moves, exact = HierarchyMoves(model), pal.HierarchyPosterior(model, progress=False)
        sampler = Metropolis(moves, settled(moves, 0.0, 0), 20, 0)
        out, counts = np.empty(13, dtype=np.int32), np.zeros(128)
        for _ in range(20_000):
            for chain in range(N_CHAINS):
                sampler.step(chain)
                moves.record(sampler.states[chain], out)
                masks = [1 << i for i in range(7)] + [0] * 6
                for v in range(12):
                    masks[out[v]] |= masks[v]
                counts[masks[7:-1]] += 1
        rows = exact.cluster_probabilities(0.001)
        names = {sum(1 << model.labels.index(label) for label in row.members): row.probability for row in rows}
        gap = max(abs(counts[mask] / (20_000 * N_CHAINS) - p) for mask, p in names.items() if 1 < mask.bit_count() < 7)
        words = f"Metropolis, 7 leaves, {type(model).__name__}: largest error of a probability {gap:.4f}"
        verdict(gap < 0.01, words)


def tune(problem: Problem, seconds: float, seed: int) -> None:
    """Other shares of patches, and other numbers of stops."""
    model = problem.model
    starts = settled(HierarchyMoves(model), SETTLE, seed)
    rules = [(patches, N_STOPS) for patches in (0.0, 0.04, 0.1, 0.25, 0.5)]
    rules += [(patches, k) for k in (6, 10) for patches in (0.1, 0.25)]
    made = [HierarchyMoves(model, patches=patches, n_stops=k) for patches, k in rules]
    samplers = [Palmette(moves, starts, model.n_leaves, seed) for moves in made]
    for sampler in samplers:
        sampler.step(0)
    records = compared(samplers, seconds)
    clusters = open_clusters(*records)
    print(f"\n{problem.title}: {len(clusters)} clusters of probability {OPEN} to {1 - OPEN}\n")
    header = ["patches, stops", "moves/s", "worst cluster", "median cluster", "log φ", "largest R̂", "never left"]
    rows = [cells(f"{p:g}, {k}", figures(record, clusters)) for (p, k), record in zip(rules, records, strict=True)]
    print("\n".join(_tables.lines_of(header, rows)), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder of tables")
    parser.add_argument("--only", nargs="+", default=[""], help="problems whose title has one of these in it")
    parser.add_argument("--seconds", type=float, default=10.0, help="for each chain; 0 to compare nothing")
    parser.add_argument("--until", type=float, default=IN_TIME, help="seconds that chains have to agree")
    parser.add_argument("--threads", type=int, default=2, help="of sample_hierarchies")
    parser.add_argument("--perplexity", type=float, default=100.0, help=f"of {SAMPLE} leaves")
    parser.add_argument("--tune", action="store_true")
    parser.add_argument("--write", nargs="?", type=Path, const=PAGE, metavar="PAGE", help="put tables into a page")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    every = problems(options.data, options.perplexity, options.seed)
    chosen = [problem for problem in every if any(part in problem.title for part in options.only)]
    if options.tune:
        for problem in chosen:
            tune(problem, options.seconds, options.seed)
        return
    if options.seconds > 0:
        check_metropolis()
        rows = [measure(problem, options.seconds, options.seed) for problem in chosen]
        header = [
            "data",
            "leaves",
            "model",
            "share of draws",
            "smoothed",
            "Metropolis",
            "worst",
            "median",
            "R̂",
            "Metropolis's",
        ]
        lines = _tables.lines_of(header, rows)
        print("\n" + "\n".join(lines) + "\n")
        _tables.write(options.write, "mixing", lines)
    small = [problem for problem in chosen if problem.model.n_leaves <= min(SIZES)]
    if options.until > 0:
        rows = [agreement(problem, options.until, options.threads) for problem in small]
        lines = _tables.lines_of(
            ["data", "leaves", "model", "single chains", f"{N_RUNGS} rungs", "worst cluster"], rows
        )
        print("\n" + "\n".join(lines))
        _tables.write(options.write, "agreement", lines)


if __name__ == "__main__":
    main()
