"""Pairs of leaves in many partitions, given as rows of memberships: together or not, and how two partitions differ."""

from __future__ import annotations

import itertools

import numpy as np

from palmette._immutable import read_only
from palmette._jit import kernel, reduction
from palmette.array_types import Floats, Ints
from palmette.posterior.partition_draws import Memberships
from palmette.sampling.diagnostics import MORE_SEEN, batch_edges
from palmette.sampling.estimates import Estimates

__all__ = ["coclustering", "gains", "pair_distances"]

_ROWS = 64  # partitions weighed at once


@kernel
def _count_differences(rows, order, ends, tally, out):
    # Pairs together here, there, and twice those in both; a cell of the table of overlaps grows one leaf at a time.
    for t in range(rows.shape[0]):
        tally[:] = 0
        total = 0
        for i in range(rows.shape[1]):
            total += tally[rows[t, i]]
            tally[rows[t, i]] += 1
        tally[:] = 0
        first = 0
        for end in ends:
            size = end - first
            total += size * (size - 1) // 2
            for x in range(first, end):
                total -= 2 * tally[rows[t, order[x]]]
                tally[rows[t, order[x]]] += 1
            for x in range(first, end):
                tally[rows[t, order[x]]] = 0
            first = end
        out[t] = total


def pair_distances(rows: Memberships, one: Memberships) -> Ints:
    """(rows,): the number of pairs that are together in a row and not in `one`, or the other way round."""
    order, ends = np.argsort(one, kind="stable"), np.cumsum(np.bincount(one))
    out = np.empty(len(rows), dtype=np.int64)
    _count_differences(rows, order, ends, np.zeros(rows.shape[1], dtype=np.int64), out)
    return out


@kernel
def _count_pairs(rows, counts):
    # A leaf at a time, so that its counts stay near; the inner loop has no branch.
    for i in range(rows.shape[1]):
        for t in range(rows.shape[0]):
            c = rows[t, i]
            for j in range(i):
                counts[i, j] += rows[t, j] == c


@kernel
def _add_batch(counts, size, sums, squares):
    for i in range(len(counts)):
        for j in range(i):
            share = counts[i, j] / size
            sums[i, j] += share
            squares[i, j] += share * share
            counts[i, j] = 0


@kernel
def _finish(means, errors, n_batches, n_draws, least_size):
    # From sums over batches to means and errors, on both sides of the diagonal.
    for i in range(len(means)):
        means[i, i], errors[i, i] = 1.0, 0.0
        for j in range(i):
            p = means[i, j] / n_batches
            variance = max(errors[i, j] / n_batches - p * p, 0.0) / max(1, n_batches - 1)
            size = min(n_draws, least_size)
            if variance * size > p * (1.0 - p):
                size = p * (1.0 - p) / variance
            means[i, j] = means[j, i] = p
            errors[i, j] = errors[j, i] = np.sqrt(variance + (MORE_SEEN * ((1.0 - 2.0 * p) / size) ** 2))


def coclustering(rows: Memberships, least_size: float) -> Estimates:
    """(n, n): the share of (chains, draws, n) memberships with i and j in one cluster; 1 on the diagonal.

    Errors are told by the spread of batches, with 3/2 sightings more as in `standard_error`; `least_size` is the
    effective number of draws to assume of pairs that seldom change.
    """
    n_chains, n_draws, n = rows.shape
    edges = batch_edges(n_draws)
    means, errors, counts = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n), dtype=rows.dtype)
    for chain in rows:
        for first, last in itertools.pairwise(edges.tolist()):
            _count_pairs(chain[first:last], counts)
            _add_batch(counts, last - first, means, errors)
    _finish(means, errors, n_chains * (len(edges) - 1), n_chains * n_draws, float(least_size))
    return Estimates(read_only(means), read_only(errors))


@reduction
def _weigh(row, leaves):
    total = 0.0
    for x in range(leaves.size):
        total += row[leaves[x]]
    return total


@kernel
def _add_gains(rows, weights, ends, order, first, place, out):
    # The leaves of each row in the order of their clusters; each is weighed with those before it in its own. That goes
    # leaf by leaf through all rows, so that its weights stay near.
    n = rows.shape[1]
    for t in range(rows.shape[0]):
        ends[:] = 0
        for i in range(n):
            ends[rows[t, i] + 1] += 1
        for c in range(n):
            ends[c + 1] += ends[c]
        for i in range(n):
            first[t, i] = ends[rows[t, i]]
        for i in range(n):
            place[t, i] = ends[rows[t, i]]
            order[t, place[t, i]] = i
            ends[rows[t, i]] += 1
    for i in range(n):
        for t in range(rows.shape[0]):
            out[t] += _weigh(weights[i], order[t, first[t, i] : place[t, i]])


def gains(rows: Memberships, weights: Floats) -> Floats:
    """(rows,): Σ w_ij over the pairs i > j that a row puts together."""
    n, out = rows.shape[1], np.zeros(len(rows))
    ends, room = np.empty(n + 1, dtype=np.int64), np.empty((3, _ROWS, n), dtype=np.int32)
    for begin in range(0, len(rows), _ROWS):
        here = slice(begin, begin + _ROWS)
        _add_gains(rows[here], weights, ends, *room, out[here])
    return out
