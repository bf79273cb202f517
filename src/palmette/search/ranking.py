"""How a beam search ranks merges: what all pairs of clusters x < y of one forest bring, and what may come after.

Of a matrix over pairs only the part above the diagonal is used. `cross[c, x, y]` is the sum of pairwise matrix c
between two clusters, and `cross[c, x, x]` that within one.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._jit import inline, reduction, specialise_inline
from palmette.models.bounds import correlation_bound, dasgupta_bound, sum_of_squares_bound
from palmette.models.features import feature_loader
from palmette.models.split_model import SplitModel

__all__ = ["Ranking", "ranking"]

features: Any = None  # a model's, put in by `specialise`, as are all of these
gain_of: Any = None
load: Any = None


class Ranking(NamedTuple):
    """fill_gains(θ, n, m, sizes, sums, cross, table, gain), then fill_ranks(θ, m, sizes, cross, gain, rank)."""

    fill_gains: Any
    fill_ranks: Any
    is_cubic: bool  #: whether ranks take m³ steps, not m²


def _fill_gains(theta, n, m, sizes, sums, cross, table, gain):
    # The pair sums of cluster x are cross[c, x, x], those between x < y cross[c, x, y]. `table` has n + 1 rows.
    d, p = sums.shape[1], cross.shape[0]
    union, union_pairs = np.empty(d), np.empty(p)
    columns = table.T
    for x in range(m):
        for c in range(p):
            union_pairs[c] = cross[c, x, x]
        features(theta, n, sizes[x], sums[x], union_pairs, table[x])
    for x in range(m):
        for y in range(x + 1, m):
            for c in range(d):
                union[c] = sums[x, c] + sums[y, c]
            for c in range(p):
                union_pairs[c] = cross[c, x, x] + cross[c, y, y] + cross[c, x, y]
            features(theta, n, sizes[x] + sizes[y], union, union_pairs, table[n])
            gain[x, y] = gain_of(theta, load(columns, n), load(columns, x), load(columns, y))


@inline
def _minus_cluster_cost(theta, parent, left, right):
    # log ψ = a(P) + b (u(L) + u(R)) with a constant b adds up to a(X) + Σ (a + b u)(S) over all clusters S but X.
    return parent[0] + parent[2] * parent[1]


@inline
def _by_gain(theta, m, sizes, cross, gain, rank):
    for x in range(m):
        for y in range(x + 1, m):
            rank[x, y] = gain[x, y]


@reduction
def _regret(w, size_x, size_y, sizes, w_x, w_y):
    # What x and y, whose cross weight is w, lose by being joined first: in each triple up to the best of its pairs.
    total = 0.0
    for z in range(sizes.size):
        own, one, two = w * sizes[z], w_x[z] * size_y, w_y[z] * size_x
        best = one if one > two else two
        total += best - own if best > own else 0.0
    return total


@inline
def _by_triples(theta, m, sizes, cross, gain, rank):
    # −β (what remains at least + what is lost by joining x and y first).
    s, w = np.empty(m), np.empty((m, m))
    for x in range(m):
        s[x], w[x, x] = sizes[x], -np.inf  # so that x and y are no triple with x or y
        for y in range(x + 1, m):
            w[x, y] = w[y, x] = cross[0, x, y]
    n, pairs, triples, losses = s.sum(), 0.0, 0.0, 0.0
    for x in range(m):
        for y in range(x + 1, m):
            rank[x, y] = _regret(w[x, y], s[x], s[y], s, w[x], w[y])
            pairs += w[x, y] * (s[x] + s[y])
            triples += w[x, y] * (n - s[x] - s[y])
            losses += rank[x, y]
    remaining = pairs + triples - (triples + losses) / 3.0  # Σ losses = 3 Σ best − Σ triples
    for x in range(m):
        for y in range(x + 1, m):
            rank[x, y] = -theta[0] * (remaining + rank[x, y])


@inline
def _find_worst(values, m, worst):
    # Where the four smallest values are, smallest first; −1 if there are fewer.
    for r in range(4):
        worst[r] = -1
        for x in range(m):
            is_new = (
                r == 0 or values[x] > values[worst[r - 1]] or (values[x] == values[worst[r - 1]] and x > worst[r - 1])
            )
            if is_new and (worst[r] < 0 or values[x] < values[worst[r]]):
                worst[r] = x
        if worst[r] < 0:
            worst[r + 1 :] = -1
            return


@inline
def _by_neighbours(theta, m, sizes, cross, gain, rank):
    # Gains are −β κ(x ∪ y). To come is half the best gain of every cluster that is left, but for the two worst.
    best, worst = np.full(m, -np.inf), np.empty(4, np.int64)
    total = 0.0
    for x in range(m):
        for y in range(x + 1, m):
            best[x], best[y] = max(best[x], gain[x, y]), max(best[y], gain[x, y])
        total += best[x]
    _find_worst(best, m, worst)
    for x in range(m):
        for y in range(x + 1, m):
            one, two, found = 0.0, 0.0, 0
            for r in range(4):
                if found < 2 and worst[r] >= 0 and worst[r] != x and worst[r] != y:
                    one, two = best[worst[r]], one
                    found += 1
            left_out = one + two + gain[x, y] - max(one, two, gain[x, y])
            rest = total - best[x] - best[y] + gain[x, y] - left_out
            rank[x, y] = gain[x, y] + 0.5 * rest


def ranking(model: SplitModel) -> Ranking:
    """The ranks of a model of compiled functions; estimates go with the bound, which holds for the same log ψ."""
    gain_of, fill_ranks = model.score, _by_gain
    if model.bound is dasgupta_bound:
        fill_ranks = _by_triples
    elif model.bound in (correlation_bound, sum_of_squares_bound):
        gain_of, fill_ranks = _minus_cluster_cost, _by_neighbours
    functions = {"features": model.features, "gain_of": gain_of, "load": feature_loader(model.n_features)}
    return Ranking(specialise_inline(_fill_gains, **functions), fill_ranks, fill_ranks is _by_triples)
