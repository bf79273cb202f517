"""How `beam` ranks merges: what all pairs of clusters x < y of one forest bring, and the outlook of the model.

Of a matrix over pairs only the part above the diagonal is used; see `palmette.models.outlook`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from palmette._jit import inline, specialise_inline
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
def _by_gain(theta, m, sizes, cross, gain, rank):
    for x in range(m):
        for y in range(x + 1, m):
            rank[x, y] = gain[x, y]


def ranking(model: SplitModel) -> Ranking:
    """What merges bring under a model of compiled functions, and what they are worth by its outlook."""
    gain_of = model.score if model.beam_score is None else model.beam_score
    functions = {"features": model.features, "gain_of": gain_of, "load": feature_loader(model.n_features)}
    fill_gains = specialise_inline(_fill_gains, **functions)
    return Ranking(fill_gains, _by_gain if model.beam_outlook is None else model.beam_outlook)
