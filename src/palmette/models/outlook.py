"""What a beam search may expect of a forest: estimates of all that is to come, for models whose log ψ is a cost.

An outlook is a compiled function ``(theta, m, sizes, cross, gain, out)``: for all pairs x < y of the m clusters of one
forest it fills ``out[x, y]`` with what the forest is worth if they are joined next. Of a matrix over pairs only the
part above the diagonal is used. ``cross[c, x, y]`` is the sum of pairwise matrix c between two clusters,
``cross[c, x, x]`` that within one, and ``gain[x, y]`` what the merge brings, which is the model's `beam_score`.
"""

from __future__ import annotations

import numpy as np

from palmette._jit import inline, maker, reduction

__all__ = ["by_gain", "minus_cluster_cost", "neighbour_outlook", "triple_outlook"]


@inline
def minus_cluster_cost(theta, parent, left, right):
    """(a + b u)(P): log ψ = a(P) + b (u(L) + u(R)) with a constant b adds up to a(X) + Σ of these over all S but X."""
    return parent[0] + parent[2] * parent[1]


@inline
def by_gain(theta, m, sizes, cross, gain, out):
    """No estimate: a forest is worth what its merges bring."""
    for x in range(m):
        for y in range(x + 1, m):
            out[x, y] = gain[x, y]


@reduction
def _regret(w, size_x, size_y, sizes, w_x, w_y):
    # What x and y, whose cross weight is w, lose by being joined first: in each triple up to the best of its pairs.
    total = 0.0
    for z in range(sizes.size):
        own, one, two = w * sizes[z], w_x[z] * size_y, w_y[z] * size_x
        best = one if one > two else two
        total += best - own if best > own else 0.0
    return total


@maker
def triple_outlook(theta, m, sizes, cross, gain, out):
    """−β (what remains at least + what is lost by joining x and y first), Dasgupta's cost being bounded by triples."""
    s, w = np.empty(m), np.empty((m, m))
    for x in range(m):
        s[x], w[x, x] = sizes[x], -np.inf  # so that x and y are no triple with x or y
        for y in range(x + 1, m):
            w[x, y] = w[y, x] = cross[0, x, y]
    n, pairs, triples, losses = s.sum(), 0.0, 0.0, 0.0
    for x in range(m):
        for y in range(x + 1, m):
            out[x, y] = _regret(w[x, y], s[x], s[y], s, w[x], w[y])
            pairs += w[x, y] * (s[x] + s[y])
            triples += w[x, y] * (n - s[x] - s[y])
            losses += out[x, y]
    remaining = pairs + triples - (triples + losses) / 3.0  # Σ losses = 3 Σ best − Σ triples
    for x in range(m):
        for y in range(x + 1, m):
            out[x, y] = -theta[0] * (remaining + out[x, y])


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


@maker
def neighbour_outlook(theta, m, sizes, cross, gain, out):
    """The gain −β κ(x ∪ y), and half the best gain of every cluster that is then left, but for the two worst."""
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
            out[x, y] = gain[x, y] + 0.5 * rest
