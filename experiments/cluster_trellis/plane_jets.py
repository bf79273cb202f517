"""Jets in a plane, the first Ginkgo: the log likelihood of a split depends on how its parts split in turn.

    log ψ = g(Δ, Δ_L) + g(Δ, Δ_R) − log 2π,   Δ = |p_L − p_R|/2;   −inf if Δ < Δ_min
    g(Δ, δ) = log λ − log Δ − λδ/Δ   for a part that splits with δ;   log(1 − e^(−λ Δ_min/Δ))   for a particle

So log ψ is not a function of two clusters, and no model of a trellis. Three ways to go on are here:

- *By the best parts*, as the paper does: Δ_L is that of the best history of L, found on the way up. That is a function
  of two clusters, so everything a posterior can be asked has an answer, of another law than the simulator's.
- *Exactly*: given Δ the two parts factorise, so it suffices to know each sum for every split of every cluster, and to
  add up the splits of both parts anew for every Δ. That takes 4^n/2 steps in place of 3^n/2.
- Greedy and beam search, in which every lineage knows its own Δ.

Parameters are those of the paper: λ = 2.2, Δ_min = 0.006, and a first Δ of M_W/2 with M_W = 0.1; the jet is at rest.
The law is that of exp2DShowerTree.py and likelihood.py in the history of SebastianMacaluso/ginkgo.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

import palmette as pal
from palmette._jit import inline, kernel

Floats = npt.NDArray[np.float64]
Nested = Any  # a leaf number, or a pair of Nested


@dataclass(frozen=True)
class Law:
    """λ, the smallest Δ of a split, and the Δ of the first one."""

    rate: float = 2.2
    least: float = 0.006
    first: float = 0.05


class PlaneJet(NamedTuple):
    """Momenta (n, 2) of the particles, and the true history."""

    momenta: Floats
    truth: pal.Hierarchy


class Answer(NamedTuple):
    """log Z, the largest log likelihood and its history."""

    log_partition: float
    best: float
    hierarchy: pal.Hierarchy | None


# The simulator.


def simulate(count: int, law: Law, least: int, most: int, rng: np.random.Generator) -> list[PlaneJet]:
    """So many jets of `least` to `most` particles: δ/Δ of a part is exponential with rate λ, and not bounded by 1."""
    jets: list[PlaneJet] = []
    while len(jets) < count:
        leaves: list[Floats] = []
        nested = _shower(np.zeros(2), law.first, law, most, leaves, rng)
        if least <= len(leaves) <= most:
            jets.append(PlaneJet(np.array(leaves), pal.Hierarchy.from_nested(nested)))
    return jets


def _shower(p: Floats, delta: float, law: Law, most: int, leaves: list[Floats], rng: np.random.Generator) -> Nested:
    if delta <= law.least or len(leaves) > most:
        leaves.append(p)
        return len(leaves) - 1
    phi, *ratios = rng.uniform(0, 2 * np.pi), rng.exponential(1 / law.rate), rng.exponential(1 / law.rate)
    step = delta * np.array([math.sin(phi), math.cos(phi)])
    parts = zip((p / 2 - step, p / 2 + step), ratios, strict=True)
    return tuple(_shower(part, delta * ratio, law, most, leaves, rng) for part, ratio in parts)


def log_likelihood(momenta: Floats, hierarchy: pal.Hierarchy, law: Law) -> float:
    """Of one history."""
    n = hierarchy.n_leaves
    p, delta = np.zeros((hierarchy.n_nodes, 2)), np.zeros(hierarchy.n_nodes)
    p[:n] = momenta
    total = 0.0
    for node, (left, right) in enumerate(hierarchy.children.tolist(), start=n):
        p[node] = p[left] + p[right]
        delta[node] = math.hypot(*(p[left] - p[right])) / 2
        total += split(law, delta[node], delta[left], delta[right])
    return total


def split(law: Law, delta: float, left: float, right: float) -> float:
    """log ψ."""
    return float(_log_psi(law.rate, law.least, delta, left, right))


@inline
def _part(rate, least, delta, own):
    # g.
    if own > 0.0:
        return math.log(rate / delta) - rate * own / delta
    return math.log(-math.expm1(-rate * least / delta))


@kernel
def _log_psi(rate, least, delta, left, right):
    if delta < least:
        return -np.inf
    return _part(rate, least, delta, left) + _part(rate, least, delta, right) - math.log(2.0 * math.pi)


@kernel
def _half_distance(p, left, right):
    return 0.5 * math.hypot(p[left, 0] - p[right, 0], p[left, 1] - p[right, 1])


def cluster_momenta(momenta: Floats) -> Floats:
    """(2^n, 2): of all clusters, by bit mask."""
    sums = np.zeros((1, 2))
    for p in momenta:
        sums = np.concatenate([sums, sums + p])
    return sums


# By the best parts.


def by_best_parts(momenta: Floats, law: Law) -> tuple[Answer, pal.models.SplitFunction]:
    """What the paper computes, and its law as a model: Δ of a cluster is that of its best history."""
    p = cluster_momenta(momenta)
    log_z, best, delta, choice = np.zeros(len(p)), np.zeros(len(p)), np.zeros(len(p)), np.zeros(len(p), dtype=np.int64)
    _climb(p, law.rate, law.least, log_z, best, delta, choice)

    def log_psi(left: Any, right: Any) -> Floats:
        gap = p[left] - p[right]
        own = np.hypot(gap[:, 0], gap[:, 1]) / 2
        possible = (own >= law.least) & (best[left] > -np.inf) & (best[right] > -np.inf)
        own = np.where(possible, own, 1.0)
        value = sum(
            np.where(
                delta[part] > 0,
                np.log(law.rate / own) - law.rate * delta[part] / own,
                np.log(-np.expm1(-law.rate * law.least / own)),
            )
            for part in (left, right)
        )
        return np.where(possible, value - math.log(2 * math.pi), -np.inf)

    full = len(p) - 1
    found = _nested_by_choice(full, choice) if best[full] > -np.inf else None
    hierarchy = None if found is None else pal.Hierarchy.from_nested(found)
    return Answer(log_z[full], best[full], hierarchy), pal.models.SplitFunction(len(momenta), log_psi)


def _nested_by_choice(mask: int, choice: Any) -> Nested:
    if mask & (mask - 1) == 0:
        return mask.bit_length() - 1
    left = int(choice[mask])
    return _nested_by_choice(left, choice), _nested_by_choice(mask ^ left, choice)


@inline
def _add(total, value):
    # log(e^total + e^value).
    if value == -np.inf:
        return total
    return max(total, value) + math.log1p(math.exp(-abs(total - value)))


@kernel
def _climb(p, rate, least, log_z, best, delta, choice):
    for mask in range(1, len(p)):
        low = mask & -mask
        if low == mask:
            continue
        log_z[mask], best[mask] = -np.inf, -np.inf
        rest = mask ^ low
        part = (rest - 1) & rest
        while True:
            left, right = low | part, rest ^ part
            own = _half_distance(p, left, right)
            if best[left] > -np.inf and best[right] > -np.inf:
                value = _log_psi(rate, least, own, delta[left], delta[right])
                log_z[mask] = _add(log_z[mask], value + log_z[left] + log_z[right])
                if value + best[left] + best[right] > best[mask]:
                    best[mask], delta[mask], choice[mask] = value + best[left] + best[right], own, left
            if part == 0:
                break
            part = (part - 1) & rest


# Exactly.


def exact(momenta: Floats, law: Law) -> Answer:
    """log Z and the best history of the law itself."""
    p = cluster_momenta(momenta)
    n, full = len(momenta), len(p) - 1
    sizes = np.array([mask.bit_count() for mask in range(len(p))])
    counts = np.where(sizes > 1, 2 ** np.maximum(sizes - 1, 0) - 1, 0)
    starts = np.concatenate([[0], np.cumsum(counts)])
    lefts, numbers = np.zeros((starts[-1], 3), dtype=np.int64), np.zeros((starts[-1], 3))
    if n == 1:
        return Answer(0.0, 0.0, pal.Hierarchy.from_nested(0))
    _climb_splits(p, law.rate, law.least, starts, lefts, numbers)
    own = slice(starts[full], starts[full + 1])
    log_z, best = float(np.logaddexp.reduce(numbers[own, 1])), float(numbers[own, 2].max())
    if best == -np.inf:
        return Answer(log_z, best, None)
    at = starts[full] + int(numbers[own, 2].argmax())
    return Answer(log_z, best, pal.Hierarchy.from_nested(_nested_by_splits(full, at, lefts)))


def _nested_by_splits(mask: int, at: int, lefts: Any) -> Nested:
    if mask & (mask - 1) == 0:
        return mask.bit_length() - 1
    left, of_left, of_right = lefts[at].tolist()
    return _nested_by_splits(left, of_left, lefts), _nested_by_splits(mask ^ left, of_right, lefts)


@inline
def _of_part(mask, rate, least, delta, starts, numbers):
    # log of the sum over the splits of a part, given the Δ above; the largest term, and whose it is.
    if mask & (mask - 1) == 0:
        value = _part(rate, least, delta, 0.0)
        return value, value, -1
    total, best, at = -np.inf, -np.inf, -1
    for s in range(starts[mask], starts[mask + 1]):
        if numbers[s, 1] > -np.inf:
            value = _part(rate, least, delta, numbers[s, 0])
            total = _add(total, value + numbers[s, 1])
            if value + numbers[s, 2] > best:
                best, at = value + numbers[s, 2], s
    return total, best, at


@kernel
def _climb_splits(p, rate, least, starts, lefts, numbers):
    # Of every split of every cluster: the left part and the best splits of both parts; Δ, log of the sum, maximum.
    for mask in range(1, len(p)):
        low = mask & -mask
        if low == mask:
            continue
        rest = mask ^ low
        part = rest
        for s in range(starts[mask], starts[mask + 1]):
            part = (part - 1) & rest
            left, right = low | part, rest ^ part
            delta = _half_distance(p, left, right)
            lefts[s, 0], numbers[s, 0], numbers[s, 1], numbers[s, 2] = left, delta, -np.inf, -np.inf
            if delta >= least:
                sum_left, best_left, lefts[s, 1] = _of_part(left, rate, least, delta, starts, numbers)
                sum_right, best_right, lefts[s, 2] = _of_part(right, rate, least, delta, starts, numbers)
                numbers[s, 1] = sum_left + sum_right - math.log(2.0 * math.pi)
                numbers[s, 2] = best_left + best_right - math.log(2.0 * math.pi)


# Searches.


def beam(momenta: Floats, law: Law, width: int) -> float:
    """The largest log likelihood that n − 1 merges reach, `width` forests being kept at each; −inf if none is possible.

    Forests are told apart by their clusters. A width of 1 is greedy.
    """
    n = len(momenta)
    p, delta, score = momenta[None], np.zeros((1, n)), np.zeros(1)
    masks, names = 2 ** np.arange(n)[None], np.zeros(1, dtype=np.uint64)
    salt = np.random.default_rng(0).integers(0, 2**63, size=2**n, dtype=np.uint64)  # names of sets of clusters add up
    for m in range(n, 1, -1):
        i, j = np.triu_indices(m, 1)
        gap = p[:, i] - p[:, j]
        own = np.hypot(gap[..., 0], gap[..., 1]) / 2
        value = score[:, None] + _log_psis(law, own, delta[:, i], delta[:, j])
        called = names[:, None] + salt[masks[:, i] | masks[:, j]]
        order = np.argsort(-value, axis=None, kind="stable")
        order = order[value.reshape(-1)[order] > -np.inf]
        _, first = np.unique(called.reshape(-1)[order], return_index=True)
        kept = order[np.sort(first)[:width]]
        if not len(kept):
            return -np.inf
        forest, pair = np.divmod(kept, len(i))
        score, names = value[forest, pair], called[forest, pair]
        left, right, rows = i[pair], j[pair], np.arange(len(kept))
        p, delta, masks = p[forest], delta[forest], masks[forest]
        p[rows, left] += p[rows, right]
        delta[rows, left] = own[forest, pair]
        masks[rows, left] |= masks[rows, right]
        stays = np.ones((len(kept), m), dtype=bool)
        stays[rows, right] = False
        p, delta, masks = (
            p[stays].reshape(-1, m - 1, 2),
            delta[stays].reshape(-1, m - 1),
            masks[stays].reshape(-1, m - 1),
        )
    return float(score.max())


def _log_psis(law: Law, own: Floats, left: Floats, right: Floats) -> Floats:
    possible = own >= law.least
    delta = np.where(possible, own, 1.0)
    leaf, inner = np.log(-np.expm1(-law.rate * law.least / delta)), np.log(law.rate / delta)
    parts = [np.where(part > 0, inner - law.rate * part / delta, leaf) for part in (left, right)]
    return np.where(possible, parts[0] + parts[1] - math.log(2 * math.pi), -np.inf)
