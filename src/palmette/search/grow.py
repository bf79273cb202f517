"""Growing a sparse trellis: new clusters where the posterior on it says that they matter.

Take a cluster P = A ∪ B that splits into A = A₁ ∪ A₂ and B. The two exchanges of neighbours put B and one part of A
together, which makes the cluster C = A₁ ∪ B with what is left, A₂:

    share = μ(P) · ψ(C, A₂) ψ(A₁, B) Z(A₁) Z(A₂) Z(B) / Z(P)

is what the exchange would weigh beside everything that is known of P. Clusters whose share is large enough are added,
all splits that the new ones allow with them, and again.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette._jit import kernel
from palmette.array_types import Floats, Ints
from palmette.clusters import lowest_first, member_list
from palmette.defaults import DEFAULTS
from palmette.links import ragged
from palmette.models.base import is_compiled, require_model
from palmette.models.c_functions import TILE, features_of, fill_features, score_splits, scores_of
from palmette.models.evaluate import across, trellis_sums
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.progress import Progress
from palmette.trellis.bit_sets import from_words
from palmette.trellis.hierarchies.sparse import SparseTrellis

__all__ = ["grow"]


def grow(
    model: HierarchyModel,
    trellis: SparseTrellis,
    *,
    min_share: float = DEFAULTS.min_share,
    tolerance: float = 1e-4,
    patience: int = 3,
    rounds: int = 100,
    max_clusters: int = DEFAULTS.grown_clusters,
    progress: bool | None = None,
) -> SparseTrellis:
    """A closed trellis that holds this one, grown until the MAP and log Z have not moved for `patience` rounds.

    A round adds the clusters of all exchanges of neighbours that would have at least a share of `min_share` of the
    posterior, around everything that has such a probability itself, the best hierarchy included. It ends when there
    are none, when neither the MAP nor log Z has moved by `tolerance` for `patience` rounds on end, after `rounds`
    rounds, or at `max_clusters` clusters. Deterministic. A smaller share gives a larger trellis.

    What is found is a lower bound of log Z and of the MAP's log potential: barriers of more than the share are not
    crossed. Start from several good hierarchies.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares([[0.0], [0.1], [1.0], [1.3], [4.0]])
    >>> start = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy])
    >>> grown = pal.search.grow(model, start)
    >>> full = pal.HierarchyPosterior(model)
    >>> abs(pal.HierarchyPosterior(model, trellis=grown).log_partition - full.log_partition) < 0.01
    True
    """
    require_model(model, "hierarchies", all_known=True)
    if not isinstance(trellis, SparseTrellis):
        raise TypeError(f"expected a SparseTrellis to start from, not {trellis!r}; see SparseTrellis.from_hierarchies")
    if not 0.0 < min_share < 1.0:
        raise ValueError(f"min_share is {min_share!r}; expected a share between 0 and 1")
    current = trellis.aligned_to(model.labels).closed()
    state = _solve(model, current)
    bar = Progress(f"growing, n = {model.n_leaves}", float(rounds), progress)
    still = 0
    for _ in range(rounds):
        bar.advance(1.0)
        new = _worth_adding(state, min_share, max_clusters - current.n_clusters)
        if not new:
            break
        current = current.extended(new)
        before, state = state, _solve(model, current)
        moved = any(now[-1] > past[-1] + tolerance for now, past in ((state.M, before.M), (state.Z, before.Z)))
        still = 0 if moved else still + 1
        if still >= patience:
            break
    bar.close()
    return current


class _Solved(NamedTuple):
    passes: SparseHierarchyPasses
    Z: Floats
    M: Floats
    mu: Floats
    share: Floats


def _solve(model: HierarchyModel, trellis: SparseTrellis) -> _Solved:
    passes = SparseHierarchyPasses(model, trellis, HierarchyConditions(model.labels))
    Z = passes.inside()
    return _Solved(passes, Z, passes.maximum(), *passes.probabilities(Z))


def _worth_adding(state: _Solved, min_share: float, room: int) -> list[int]:
    # The masks of new clusters, those of the largest shares first if there is not room for all.
    trellis = state.passes.trellis
    outer, inner, part = _exchanges(state, min_share)
    if len(outer) == 0:
        return []
    kept, moved = (np.where(part == side, trellis.left[inner], trellis.right[inner]) for side in (0, 1))
    parent = trellis.parent[outer]
    other = trellis.left[outer] + trellis.right[outer] - trellis.parent[inner]
    words = trellis.words[moved] | trellis.words[other]
    new = trellis.find_words(words) < 0
    parent, kept, moved, other, words = parent[new], kept[new], moved[new], other[new], words[new]
    if len(parent) == 0:
        return []
    with np.errstate(divide="ignore", invalid="ignore"):
        log_share = _log_psi(state.passes, parent, kept, moved, other)
        log_share += np.log(state.mu[parent]) + state.Z[kept] + state.Z[moved] + state.Z[other] - state.Z[parent]
    worth = np.flatnonzero(log_share >= np.log(min_share))
    worth = worth[np.argsort(-log_share[worth], kind="stable")]
    return list(dict.fromkeys(from_words(words[worth])))[: max(room, 0)]


def _exchanges(state: _Solved, min_share: float) -> tuple[Ints, Ints, Ints]:
    # (split of P, split of one of its parts, which part of that stays alone): all that are probable enough, or best.
    trellis = state.passes.trellis
    weight = state.mu[trellis.parent] * state.share
    weight[state.passes.best_rows(state.M)] = np.inf
    outer = np.flatnonzero(weight >= min_share)
    rows = []
    for side in (trellis.left, trellis.right):
        child = side[outer]
        counts = trellis.offsets[child + 1] - trellis.offsets[child]
        inner = ragged(trellis.offsets[child], counts)
        outer_of = np.repeat(outer, counts)
        joint = np.minimum(weight[outer_of], 1.0) * np.where(np.isinf(weight[inner]), 1.0, state.share[inner])
        keep = joint >= min_share
        rows.append((outer_of[keep], inner[keep]))
    both = np.concatenate([np.stack(row) for row in rows], axis=1)
    part = np.repeat([0, 1], both.shape[1])
    return np.tile(both[0], 2), np.tile(both[1], 2), part


def _log_psi(passes: SparseHierarchyPasses, parent: Ints, kept: Ints, moved: Ints, other: Ints) -> Floats:
    # log ψ(C, kept) + log ψ(moved, other), C = moved ∪ other; on its own C may not be in the trellis.
    model, trellis = passes.model, passes.trellis
    if is_compiled(model, SplitModel):
        return _compiled_log_psi(model, trellis, parent, kept, moved, other)
    masks = trellis.words[:, 0].astype(np.int64)
    pairs = ((masks[moved] | masks[other], masks[kept]), (masks[moved], masks[other]))
    upper, lower = (model.log_potentials(*lowest_first(one, two)) for one, two in pairs)
    return upper + lower


def _compiled_log_psi(
    model: SplitModel, trellis: SparseTrellis, parent: Ints, kept: Ints, moved: Ints, other: Ints
) -> Floats:
    functions = features_of(model), scores_of(model)
    out, table = np.empty(len(parent)), np.empty((trellis.n_clusters + TILE, model.n_features))
    clusters = (trellis.words, trellis.sizes, *trellis_sums(model, trellis))
    exchanges = (parent, kept, moved, other)
    _exchange_scores(functions, model.theta, model.n_leaves, *clusters, model.pairwise, *exchanges, table, out)
    return out


@kernel
def _exchange_scores(functions, theta, n, words, sizes, sums, pairs, pairwise, parent, kept, moved, other, table, out):
    # The last rows of the table are for unions of moved and other clusters, a tile at a time.
    features, scores = functions
    m, d, p = sizes.size, sums.shape[1], pairs.shape[1]
    union_sizes, union_sums, union_pairs = np.empty(TILE, np.int64), np.empty((TILE, d)), np.empty((TILE, p))
    unions, lower = m + np.arange(TILE), np.empty(TILE)
    here, there = np.empty(n, np.int64), np.empty(n, np.int64)
    fill_features(features, theta, n, sizes, sums, pairs, table, 0, m)
    for begin in range(0, out.size, TILE):
        end = min(begin + TILE, out.size)
        count = end - begin
        for i in range(count):
            a, b = moved[begin + i], other[begin + i]
            union_sizes[i] = sizes[a] + sizes[b]
            for c in range(d):
                union_sums[i, c] = sums[a, c] + sums[b, c]
            if p > 0:
                x, y = member_list(words[a], here), member_list(words[b], there)
                for c in range(p):
                    union_pairs[i, c] = pairs[a, c] + pairs[b, c] + across(pairwise[c], here[:x], there[:y])
        fill_features(features, theta, n, union_sizes, union_sums, union_pairs, table[m:], 0, count)
        score_splits(scores, theta, table, parent[begin:end], unions, kept[begin:end], count, out[begin:end])
        score_splits(scores, theta, table, unions, moved[begin:end], other[begin:end], count, lower)
        for i in range(count):
            out[begin + i] += lower[i]
