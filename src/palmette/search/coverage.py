"""How much of the posterior over all hierarchies a sparse trellis misses.

With Z on the trellis and R the sum over all other hierarchies, the share that is missed is R / (Z + R). Part of R is
summed exactly, on a wider trellis that is grown for it. The rest is estimated by importance sampling: hierarchies are
drawn from the top down from a proposal that can draw all of them,

    q(split | P) = (1 − ε − δ) · T + ε · N + δ · U.

T is how the posterior on the wider trellis splits P. If P is not a cluster there, T are the splits that a draw from
the trellis induces on the leaves of P, weighted by their own ψ and by what is known below them. N are the splits that
come of T by an exchange of neighbours (a part of one side goes over to the other), weighted in the same way. U are all
splits alike. A draw that is not in the wider trellis counts with its weight φ(H) / q(H), one that is with 0. ε differs
from draw to draw, so that hierarchies that differ in one place and in many are all drawn; q is the average over it.
"""

from __future__ import annotations

import itertools
import math

import numpy as np

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.clusters import cluster_members
from palmette.defaults import DEFAULTS
from palmette.passes.hierarchies.sparse import SparseHierarchyPasses
from palmette.posterior.consensus import hierarchy_of_masks
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.search.grow import grow

__all__ = ["uncovered"]

_UNIFORM = 0.01  # δ
_EXCHANGES = np.array([0.5, 1.5, 4.0])  # ε (n − 1): exchanges in one hierarchy, on average
_MOST = 40  # splits of a cluster that is not in the trellis
_NEGLIGIBLE = 1e-4  # shares below this are not exchanged
_LARGEST = 300.0  # log of a weight: beyond, the trellis holds nothing worth mentioning, and squares would overflow


def uncovered(
    posterior: HierarchyPosterior,
    *,
    min_share: float = DEFAULTS.uncovered_share,
    max_clusters: int = DEFAULTS.max_clusters,
    n_draws: int = 1000,
    rng: np.random.Generator | int | None = None,
) -> Estimate:
    """The share of the posterior over *all* hierarchies that a posterior's sparse trellis does not hold.

    0 for a full trellis. Up to 20 leaves (17 of a `SplitFunction`) it is exact, by the full one. Beyond, part of it is
    summed exactly on a trellis grown to `min_share` (see `grow`); the rest is estimated with `n_draws` importance
    samples, with a standard error.
    That estimate is unbiased for the missed sum, but its error is itself estimated from the draws: hierarchies that
    none of them came near are in neither. Read it as "at least about so much".

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares([[0.0], [0.1], [1.0], [1.3], [4.0]])
    >>> trellis = pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy])
    >>> pal.search.uncovered(pal.HierarchyPosterior(model, trellis=trellis)).kind
    'exact'
    """
    if not isinstance(posterior, HierarchyPosterior):
        raise TypeError(f"expected a HierarchyPosterior, not {posterior!r}")
    check_integer("n_draws", n_draws, 1)
    trellis, model = posterior.trellis, posterior.model
    if trellis is None or not model.knows_all:
        return Estimate(0.0, "exact")  # a table on a trellis gives nothing to what is outside
    log_z = posterior.log_partition
    if model.n_leaves <= DEFAULTS.most_leaves(tabled=not model.is_compiled):
        return Estimate(max(0.0, -math.expm1(log_z - posterior.on(None).log_partition)), "exact")
    wider = posterior.on(grow(model, trellis, min_share=min_share, max_clusters=max_clusters))
    passes = wider.passes
    assert isinstance(passes, SparseHierarchyPasses)
    generator = np.random.default_rng(0 if rng is None else rng)
    Z = passes.inside()
    proposal = _Proposal(passes, Z, generator)
    weights = np.array([_weight(wider, proposal, log_z) for _ in range(n_draws)])
    rest = max(0.0, math.expm1(float(Z[passes.root]) - log_z)) + float(weights.mean())
    error = float(weights.std(ddof=1)) / math.sqrt(n_draws) if n_draws > 1 else math.inf
    return Estimate(rest / (1.0 + rest), "estimate", error / (1.0 + rest) ** 2)


def _weight(posterior: HierarchyPosterior, proposal: _Proposal, log_z: float) -> float:
    # φ(H) / (q(H) Z) of a draw, 0 if it is in the wider trellis.
    masks, log_q, covered = proposal.draw()
    if covered:
        return 0.0
    hierarchy = hierarchy_of_masks(masks, posterior.labels)
    if not posterior.admits(hierarchy):
        return 0.0
    return math.exp(min(posterior.model.log_potential(hierarchy) - log_q - log_z, _LARGEST))


class _Proposal:
    """Draws of hierarchies, and their probabilities. A split is named by the mask of the part with the lowest leaf."""

    def __init__(self, passes: SparseHierarchyPasses, Z: Floats, rng: np.random.Generator) -> None:
        self._passes = passes
        self._Z = Z
        self._share = passes.probabilities(Z)[1]
        self._rng = rng
        self._known: dict[int, tuple[dict[int, float], float]] = {}
        self._exchanged: dict[int, dict[int, float]] = {}
        self._epsilon = np.minimum(_EXCHANGES / max(passes.n - 1, 1), 0.5)

    def draw(self) -> tuple[list[int], float, bool]:
        """The clusters of two leaves or more, log q, and whether the hierarchy is in the trellis."""
        epsilon = float(self._rng.choice(self._epsilon))
        masks, log_q, covered = [], np.zeros(len(self._epsilon)), True
        stack = [(1 << self._passes.n) - 1]
        while stack:
            P = stack.pop()
            if P & (P - 1) == 0:
                continue
            masks.append(P)
            left = self._choose(P, epsilon)
            log_q += np.log(self._probability(P, left))
            covered = covered and self._passes.number(P) >= 0 and left in self._splits(P)
            stack += [left, P ^ left]
        top = float(log_q.max())
        return masks, top + float(np.log(np.exp(log_q - top).mean())), covered

    def _choose(self, P: int, epsilon: float) -> int:
        u = self._rng.random()
        if u < _UNIFORM or not self._splits(P):
            return self._any_split(P)
        known = self._exchanges(P) if u < _UNIFORM + epsilon else self._splits(P)
        names = list(known)
        return names[int(self._rng.choice(len(names), p=list(known.values())))]

    def _probability(self, P: int, left: int) -> Floats:
        # For every ε.
        uniform = 1.0 / (2.0 ** (P.bit_count() - 1) - 1.0)
        splits = self._splits(P)
        if not splits:
            return np.full(len(self._epsilon), uniform)
        usual, exchanged = splits.get(left, 0.0), self._exchanges(P).get(left, 0.0)
        return np.asarray(_UNIFORM * uniform + (1.0 - _UNIFORM - self._epsilon) * usual + self._epsilon * exchanged)

    def _any_split(self, P: int) -> int:
        lowest = P & -P
        leaves = [1 << leaf for leaf in cluster_members(P ^ lowest)]
        while True:
            bits = self._rng.integers(0, 2, len(leaves))
            if not bits.all():
                return lowest | sum(leaf for leaf, bit in zip(leaves, bits, strict=True) if bit)

    def _solved(self, P: int) -> tuple[dict[int, float], float]:
        # T, which is left part → probability, and log Z of P as far as it is known.
        if P not in self._known:
            number = self._passes.number(P)
            if number >= 0 and self._Z[number] > -np.inf:
                self._known[P] = self._own_splits(number), float(self._Z[number])
            else:
                self._known[P] = self._weighted(P, self._induced_splits(P))
        return self._known[P]

    def _splits(self, P: int) -> dict[int, float]:
        return self._solved(P)[0]

    def _own_splits(self, number: int) -> dict[int, float]:
        trellis = self._passes.trellis
        here = range(trellis.offsets[number], trellis.offsets[number + 1])
        found = {trellis.masks[trellis.left[s]]: float(self._share[s]) for s in here if self._share[s] > 0.0}
        return _normalised(found)

    def _value(self, P: int) -> float:
        return self._solved(P)[1] if P & (P - 1) else 0.0

    def _weighted(self, P: int, found: dict[int, float]) -> tuple[dict[int, float], float]:
        # Splits by ψ(L, R) Z(L) Z(R), half and half with the probabilities that they come with; log Σ of the former.
        names = sorted(found, key=lambda left: -found[left])[:_MOST]
        if not names:
            return {}, -np.inf
        log_psi = self._passes.model.log_potentials(names, [P ^ left for left in names])
        values = log_psi + np.array([self._value(left) + self._value(P ^ left) for left in names])
        top = float(values.max())
        given = _normalised({left: found[left] for left in names})
        if top == -np.inf:
            return given, top
        weights = np.exp(values - top)
        shares = weights / weights.sum()
        mixed = {left: 0.5 * given[left] + 0.5 * float(share) for left, share in zip(names, shares, strict=True)}
        return _normalised(mixed), top + float(np.log(weights.sum()))

    def _induced_splits(self, P: int) -> dict[int, float]:
        # A draw from the trellis splits the leaves of P somewhere: on the way down, at the first cluster that does.
        trellis = self._passes.trellis
        reach = {trellis.n_clusters - 1: 1.0}
        found: dict[int, float] = {}
        holds = (self._passes.shared_mask(P) == P.bit_count()).nonzero()[0]
        for cluster in holds[::-1].tolist():  # by falling size
            weight = reach.get(cluster, 0.0)
            if weight < 1e-2 * _NEGLIGIBLE:
                continue
            for s in range(trellis.offsets[cluster], trellis.offsets[cluster + 1]):
                one, two = int(trellis.left[s]), int(trellis.right[s])
                part = trellis.masks[one] & P
                p = weight * float(self._share[s])
                if part == P:
                    reach[one] = reach.get(one, 0.0) + p
                elif part == 0:
                    reach[two] = reach.get(two, 0.0) + p
                elif p > 0.0:
                    left = part if part & (P & -P) else P ^ part
                    found[left] = found.get(left, 0.0) + p
        return found

    def _exchanges(self, P: int) -> dict[int, float]:
        # N: left part → probability; T itself where there is nothing to exchange.
        if P not in self._exchanged:
            found: dict[int, float] = {}
            for left, p in self._splits(P).items():
                for side in (left, P ^ left):
                    inner = self._splits(side) if p >= _NEGLIGIBLE and side & (side - 1) else {}
                    for part, stays in itertools.product(inner, (0, 1)):
                        kept = side ^ part if stays else part
                        new = kept if kept & (P & -P) else P ^ kept
                        found[new] = found.get(new, 0.0) + p * inner[part]
            self._exchanged[P] = self._weighted(P, found)[0] if found else self._splits(P)
        return self._exchanged[P]


def _normalised(found: dict[int, float]) -> dict[int, float]:
    total = sum(found.values())
    return {name: value / total for name, value in found.items()}
