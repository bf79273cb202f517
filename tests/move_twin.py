"""Slow twins of the moves: whole transition matrices over all hierarchies of a few leaves, straight from the rules."""

import math
from itertools import product

import numpy as np


def children(tree, parent):
    below = [c for c in tree if c != parent and c & parent == c]
    return [c for c in below if not any(c != other and c & other == c for other in below)]


def tops(tree, n):
    """P → probability, for the largest cluster around a random leaf within a random scale."""
    found = {}
    for leaf in range(n):
        path = sorted((c for c in tree if c >> leaf & 1), key=int.bit_count)
        for low, high in zip(path, [*path[1:], None], strict=True):
            share = reached(low.bit_count(), n) - (reached(high.bit_count(), n) if high else 0.0)
            found[low] = found.get(low, 0.0) + share / n
    return found


def reached(size, n):
    """The probability that the scale, log-uniform from 3 to 5 n, is at least this size."""
    return 1.0 if size <= 3 else math.log(5 * n / size) / math.log(5 * n / 3)


def without(tree, part):
    """The clusters that are left when the leaves of `part` are taken out."""
    return frozenset(c & ~part for c in tree) - {0}


def regraft_classes(tree, n):
    """(probability, key) of the sets of hierarchies that a regraft draws from: all that agree on the key."""
    for top, p in tops(tree, n).items():
        if top.bit_count() >= 3:
            parts = [c for c in tree if c != top and c & top == c]
            outside = frozenset(c for c in tree if c & top != c)
            for part in parts:
                inside = frozenset(c for c in tree if c & part == c)
                rest = without([c for c in tree if c & top == c], part)
                share = 0.2 / len(parts) + (0.8 / top.bit_count() if part.bit_count() == 1 else 0.0)
                yield p * share, ("regraft", top, part, outside, inside, rest)


def patches(tree, node, k):
    """All sets of k stops below a node."""
    if k == 1:
        yield frozenset([node])
    elif node & (node - 1):
        left, right = children(tree, node)
        for a in range(1, k):
            for one, other in product(patches(tree, left, a), patches(tree, right, k - a)):
                yield one | other


def patch_classes(tree, n, n_stops):
    """(probability of the choice, key, number of patches): a draw given the key, then min(1, N / N′)."""
    for top, p in tops(tree, n).items():
        if top.bit_count() >= 3:
            found = list(patches(tree, top, min(n_stops, top.bit_count())))
            outside = frozenset(c for c in tree if c & top != c)
            for stops in found:
                below = frozenset(c for c in tree if any(c & stop == c for stop in stops))
                yield p / len(found), ("patch", top, stops, outside, below), len(found)


def transition_matrix(trees, weights, n, *, patch_share, n_stops):
    """The matrix of one move between these hierarchies, given as sets of masks, in proportion to these weights."""
    members: dict = {}
    for t, tree in enumerate(trees):
        for q, key in regraft_classes(tree, n):
            members.setdefault(key, []).append((t, q * (1 - patch_share), 1))
        for q, key, count in patch_classes(tree, n, n_stops):
            members.setdefault(key, []).append((t, q * patch_share, count))
    K = np.zeros((len(trees), len(trees)))
    for (kind, *_), rows in members.items():
        at = np.array([t for t, _, _ in rows])
        q, count = np.array([q for _, q, _ in rows]), np.array([c for _, _, c in rows], dtype=float)
        assert len(set(np.round(q * count, 14))) == 1  # what was chosen does not depend on the arrangement
        w = weights[at]
        if not w.any():
            continue
        if kind == "regraft":  # to another by its weight, unless that would be left less often than this
            others = np.array([np.delete(w, i).sum() for i in range(len(w))])
            most = np.maximum.outer(others, others)
            moved = np.where(most > 0.0, w / np.where(most > 0.0, most, 1.0), 0.0) * (1.0 - np.eye(len(w)))
        else:
            moved = w / w.sum() * np.minimum(1.0, count[:, None] / count)
        K[np.ix_(at, at)] += q[:, None] * moved
    K[np.diag_indices(len(trees))] += 1.0 - K.sum(axis=1)
    return K


def tilings(tree, n, most, tops=None):
    """Kept clusters → probability: patches of more than `most` stops keep each free cluster with probability 1/most."""
    tops, kept = (((1 << n) - 1,), frozenset()) if tops is None else tops
    if not tops:
        return {kept: 1.0}
    top, *rest = tops
    inside = [c for c in tree if c != top and c & top == c and c & (c - 1)]
    free = [c for c in inside if not any(c & k == c for k in kept if k != top and k & top == k)]
    stops = [k for k in kept if k != top and k & top == k and not any(k != j and k & j == k and j != top for j in kept)]
    if len(free) + 2 <= most:
        return tilings(tree, n, most, ((*rest, *stops), kept))
    found: dict = {}
    nothing = (1 - 1 / most) ** len(free)  # then they are tried again
    for chosen in product([False, True], repeat=len(free)):
        if any(chosen):
            p = (1 / most) ** sum(chosen) * (1 - 1 / most) ** (len(free) - sum(chosen)) / (1 - nothing)
            more = kept | {c for c, is_kept in zip(free, chosen, strict=True) if is_kept}
            for key, q in tilings(tree, n, most, (tuple(tops), more)).items():
                found[key] = found.get(key, 0.0) + p * q
    return found
