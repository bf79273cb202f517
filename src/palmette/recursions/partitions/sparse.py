"""Sums, maxima, probabilities and draws over the paths of a partition trellis, in log space and linear time.

    Z(s) = Σ ψ(C) Z(s∖C)        M(s) = max ψ(C) M(s∖C)        nothing remains: 1

State s offers the choices offsets[s] ≤ i < offsets[s + 1]: take cluster[i], go on at following[i] > s. State 0 is the
start, the last one the end; log_e[c] = log ψ of cluster c. Tables hold logarithms, −inf where nothing is possible.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, kernel
from palmette.array_types import Floats, Ints
from palmette.errors import TrellisTooLarge
from palmette.numeric import exponential, unit_draw

__all__ = [
    "best_path",
    "count_paths",
    "counts_by_number",
    "draw",
    "fill_layers",
    "inside",
    "inside_by_number",
    "is_closed",
    "list_nodes",
    "longest_paths",
    "maximum",
    "number_layers",
    "pack_clusters",
    "visits",
]


_LARGEST_TABLE = 10**8  # numbers: 800 MB
_LOWEST = -1.7e308  # a finite number to subtract where nothing is possible: −inf − (−inf) would be NaN
_FITS_64_BITS = 43.0  # logarithms of counts below this leave room for rounding: log 2^63 = 43.7


@kernel
def inside(offsets, cluster, following, log_e, Z):
    """Z[s] = log Σ exp(log_e[c] + Z[next]) over the choices of s; 0 at the end."""
    end = offsets.size - 2
    Z[end] = 0.0
    for k in range(end):
        s = end - 1 - k
        top = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            top = max(top, log_e[cluster[i]] + Z[following[i]])
        Z[s] = top
        if top > -np.inf:
            total = 0.0
            for i in range(offsets[s], offsets[s + 1]):
                total += exponential(log_e[cluster[i]] + Z[following[i]] - top)
            Z[s] = top + math.log(total)


@kernel
def maximum(offsets, cluster, following, log_e, M):
    """M[s] = max (log_e[c] + M[next]) over the choices of s; 0 at the end."""
    end = offsets.size - 2
    M[end] = 0.0
    for k in range(end):
        s = end - 1 - k
        top = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            top = max(top, log_e[cluster[i]] + M[following[i]])
        M[s] = top


@kernel
def best_path(offsets, cluster, following, log_e, M, path):
    """How many clusters the best path takes; path[:this] holds them in order. The first of equal choices wins.

    M[0] must not be −inf; a path has at most as many clusters as there are leaves.
    """
    s, taken = 0, 0
    while s < offsets.size - 2:
        best, top = offsets[s], -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            x = log_e[cluster[i]] + M[following[i]]
            if x > top:
                best, top = i, x
        path[taken] = cluster[best]
        taken += 1
        s = following[best]
    return taken


@kernel
def visits(offsets, cluster, following, log_e, Z, reach, mu):
    """reach[s], mu[c]: the probabilities that a path comes by state s, and that it takes cluster c. All in [0, 1].

    What is offered at a state is normalised once more, so that rounding in Z does not add up along a path.
    """
    reach[:] = 0.0
    mu[:] = 0.0
    if Z[0] == -np.inf:
        return
    reach[0] = 1.0
    for s in range(offsets.size - 2):
        if reach[s] == 0.0 or Z[s] == -np.inf:
            continue
        total = 0.0
        for i in range(offsets[s], offsets[s + 1]):
            total += exponential(log_e[cluster[i]] + Z[following[i]] - Z[s])
        share = min(reach[s], 1.0) / total
        for i in range(offsets[s], offsets[s + 1]):
            p = share * exponential(log_e[cluster[i]] + Z[following[i]] - Z[s])
            reach[following[i]] += p
            mu[cluster[i]] += p
    for s in range(reach.size):
        reach[s] = min(reach[s], 1.0)
    for c in range(mu.size):
        mu[c] = min(mu[c], 1.0)


@kernel
def draw(offsets, cluster, following, log_e, Z, seed, bounds, members, membership, log_potential, first, last):
    """Draws first ≤ d < last: membership[d, leaf] = the place in the path of its cluster, and log_potential[d].

    The leaves of cluster c are members[bounds[c, 0] : bounds[c, 1]]. At state s draw d uses a number that depends on
    (seed, d, s) only, so a draw is the same whatever else is drawn. Z[0] must not be −inf.
    """
    for d in range(first, last):
        s, taken, total = 0, 0, 0.0
        while s < offsets.size - 2:
            u = unit_draw(seed, d, s)
            chosen = -1  # the last possible choice, if rounding leaves the sum a little below u
            for i in range(offsets[s], offsets[s + 1]):
                p = exponential(log_e[cluster[i]] + Z[following[i]] - Z[s])
                if p > 0.0:
                    chosen = i
                    u -= p
                    if u < 0.0:
                        break
            c = cluster[chosen]
            for x in range(bounds[c, 0], bounds[c, 1]):
                membership[d, members[x]] = taken
            total += log_e[c]
            taken += 1
            s = following[chosen]
        log_potential[d] = total


@kernel
def longest_paths(offsets, following, length):
    """length[s]: the largest number of clusters from s to the end, −1 if the end cannot be reached."""
    end = offsets.size - 2
    length[end] = 0
    for k in range(end):
        s = end - 1 - k
        most = -1
        for i in range(offsets[s], offsets[s + 1]):
            if length[following[i]] >= 0:
                most = max(most, 1 + length[following[i]])
        length[s] = most


@kernel
def inside_by_number(offsets, cluster, following, log_e, rows, table):
    """table[rows[s] + k] = log Z of the paths from s that take exactly k clusters, 0 ≤ k < rows[s + 1] − rows[s]."""
    end = offsets.size - 2
    table[rows[end]] = 0.0
    top = np.empty(rows[1] - rows[0] + 1)
    for j in range(end):
        s = end - 1 - j
        size = rows[s + 1] - rows[s]
        sums = table[rows[s] : rows[s + 1]]
        sums[:] = 0.0
        top[:size] = -np.inf
        for i in range(offsets[s], offsets[s + 1]):
            x, onward = log_e[cluster[i]], table[rows[following[i]] : rows[following[i] + 1]]
            for k in range(onward.size):
                top[k + 1] = max(top[k + 1], x + onward[k])
        for i in range(offsets[s], offsets[s + 1]):
            x, onward = log_e[cluster[i]], table[rows[following[i]] : rows[following[i] + 1]]
            for k in range(onward.size):
                sums[k + 1] += exponential(x + onward[k] - max(top[k + 1], _LOWEST))
        for k in range(size):
            sums[k] = top[k] + math.log(sums[k]) if top[k] > -np.inf else -np.inf


def counts_by_number(offsets: Ints, cluster: Ints, following: Ints, log_e: Floats, n: int) -> Floats:
    """(n + 1,): log Z of the paths that take exactly k clusters, for k = 0 … n; −inf where there are none.

    >>> counts_by_number(np.array([0, 2, 3, 3]), np.array([2, 0, 1]), np.array([2, 1, 2]), np.zeros(3), 2)
    array([-inf,   0.,   0.])
    """
    length = np.empty(len(offsets) - 1, dtype=np.int64)
    longest_paths(offsets, following, length)
    rows = np.concatenate(([0], np.cumsum(length + 1)))
    if rows[-1] > _LARGEST_TABLE:
        raise TrellisTooLarge(
            f"sums by number of clusters need a table of {rows[-1]:,} entries ({len(length):,} remainders × up to "
            f"{length[0]:,} clusters); at most {_LARGEST_TABLE:,} are possible. Give a smaller trellis"
        )
    table = np.empty(rows[-1])
    inside_by_number(offsets, cluster, following, log_e, rows, table)
    out = np.full(n + 1, -np.inf)
    out[: rows[1]] = table[: rows[1]]
    return out


@kernel
def number_layers(offsets, following, number):
    """number[s, j]: of the state "s, and j clusters to take", −1 if it is on no path from (0, k) to (end, 0).

    Returns how many states and choices there are. `number` has shape (n_states, k + 1), and is all zeros at first.
    """
    end, k = offsets.size - 2, number.shape[1] - 1
    number[end, 0] = 1
    for r in range(end):
        s = end - 1 - r
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                number[s, j + 1] |= number[following[i], j]
    number[0, k] *= 2  # 1: can finish; 2: can finish and be reached
    for s in range(end):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                if number[s, j + 1] == 2 and number[following[i], j] == 1:
                    number[following[i], j] = 2
    states, choices = 0, 0
    for s in range(end):
        for i in range(offsets[s], offsets[s + 1]):
            for j in range(k):
                choices += number[s, j + 1] == 2 and number[following[i], j] == 2
    for s in range(end + 1):
        for j in range(k + 1):
            reached = number[s, j] == 2
            number[s, j] = states if reached else -1
            states += reached
    return states, choices


@kernel
def fill_layers(offsets, cluster, following, number, new_offsets, new_cluster, new_next):
    """The choices between the states that `number_layers` found."""
    choices = 0
    for s in range(number.shape[0]):
        for j in range(number.shape[1]):
            if number[s, j] < 0:
                continue
            for i in range(offsets[s], offsets[s + 1]):
                if number[following[i], j - 1] >= 0:
                    new_cluster[choices] = cluster[i]
                    new_next[choices] = number[following[i], j - 1]
                    choices += 1
            new_offsets[number[s, j] + 1] = choices


@kernel
def _count_modulo(offsets, cluster, following, possible, counts):
    end = offsets.size - 2
    counts[end] = 1
    for k in range(end):
        s = end - 1 - k
        counts[s] = 0
        for i in range(offsets[s], offsets[s + 1]):
            if possible[cluster[i]]:
                counts[s] += counts[following[i]]


def count_paths(offsets: Ints, cluster: Ints, following: Ints, possible: npt.NDArray[np.bool_]) -> int:
    """The exact number of paths all of whose clusters are possible.

    >>> count_paths(np.array([0, 2, 3, 3]), np.array([2, 0, 1]), np.array([2, 1, 2]), np.ones(3, dtype=bool))
    2
    """
    Z = np.empty(len(offsets) - 1)
    inside(offsets, cluster, following, np.where(possible, 0.0, -np.inf), Z)
    if Z[0] == -np.inf:
        return 0
    if Z[0] > _FITS_64_BITS:
        return _count_large(offsets, cluster, following, possible)
    counts = np.empty(len(Z), dtype=np.uint64)  # what cannot be reached may wrap around, and is not used
    _count_modulo(offsets, cluster, following, possible, counts)
    return int(counts[0])


def _count_large(offsets: Ints, cluster: Ints, following: Ints, possible: npt.NDArray[np.bool_]) -> int:
    # Integers of any length. A state's number is dropped at the lowest state that leads there: nobody needs it after.
    n_states = len(offsets) - 1
    kept = possible[cluster]
    state = np.repeat(np.arange(n_states), np.diff(offsets))[kept]
    onward = following[kept]
    lowest = np.full(n_states, -1)
    lowest[onward[::-1]] = state[::-1]  # the last one written stays
    starts = np.searchsorted(state, np.arange(n_states + 1)).tolist()
    ahead, needed_until = onward.tolist(), lowest.tolist()
    counts = [0] * n_states
    counts[-1] = 1
    for s in range(n_states - 2, -1, -1):
        choices = ahead[starts[s] : starts[s + 1]]
        if s == 0 or needed_until[s] >= 0:
            counts[s] = sum([counts[x] for x in choices])
        for x in choices:
            if needed_until[x] == s:
                counts[x] = 0
    return counts[0]


@kernel
def pack_clusters(bounds, members, position, rows, first):
    """rows[i]: the positions of cluster i as set bits of 64-bit words; first[i]: the lowest of them."""
    for i in range(bounds.shape[0]):
        for x in range(bounds[i, 0], bounds[i, 1]):
            p = position[members[x]]
            rows[i, p >> 6] |= np.uint64(1) << np.uint64(p & 63)
            first[i] = min(first[i], p)


@kernel
def list_nodes(parents, starts, members, n):
    """members[starts[v]], …: the leaves below node v of a hierarchy, increasing."""
    filled = np.zeros(parents.size, np.int64)
    for leaf in range(n):
        v = leaf
        while v >= 0:
            members[starts[v] + filled[v]] = leaf
            filled[v] += 1
            v = parents[v]


@kernel
def is_closed(bounds, members, groups, grouped, keys, order, stamp):
    """Whether y∖x is in the family for all x ⊂ y in it.

    grouped[groups[i] : groups[i + 1]] are the clusters whose lowest leaf is i. keys[c] is a sum over the leaves of c,
    so that of y∖x is a difference; order sorts them. stamp is scratch of one number per leaf, −1 at first.
    """
    ranked = keys[order]
    for y in range(bounds.shape[0]):
        whole = members[bounds[y, 0] : bounds[y, 1]]
        for leaf in whole:
            stamp[leaf] = y
        for lowest in whole:
            for g in range(groups[lowest], groups[lowest + 1]):
                part = members[bounds[grouped[g], 0] : bounds[grouped[g], 1]]
                if part.size == whole.size or not _all_stamped(part, stamp, y):
                    continue
                at = np.searchsorted(ranked, keys[y] - keys[grouped[g]])
                if at == order.size:
                    return False
                rest = members[bounds[order[at], 0] : bounds[order[at], 1]]
                stamp[part] = -1
                if rest.size != whole.size - part.size or not _all_stamped(rest, stamp, y):
                    return False
                stamp[part] = y
    return True


@inline
def _all_stamped(leaves, stamp, y):
    for leaf in leaves:  # noqa: SIM110 – compiled
        if stamp[leaf] != y:
            return False
    return True
