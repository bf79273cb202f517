"""Moves over partitions that are exact draws from conditionals: p(x) ∝ Π ψ(C)^t over the clusters C of x.

A few units (see `units`) are taken out. What is left of the clusters, if anything, are the *rests* r_1, …,
r_K. Any grouping of the units may follow, and each group joins a rest of its own or becomes a new cluster. With S a set
of units, all of these together weigh

    f_0(∅) = 1,  f_0(S) = Σ ψ(A)^t f_0(S ∖ A)      over A ⊆ S that hold the lowest unit of S
    f_j(S) = Σ [ψ(r_j ∪ A) / ψ(r_j)]^t f_{j−1}(S ∖ A)      over all A ⊆ S

and one of them is drawn from f_K(all units), backwards. A unit whose leaves are in several clusters is left alone; it
stays one for as long as only others move, so which units take part is the same on the way back. Nothing is ever
rejected: the move is detailed balance by itself, for any model.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette._jit import called, inline, kernel
from palmette.array_types import Ints
from palmette.hierarchy import Hierarchy
from palmette.models.cluster_model import ClusterModel
from palmette.models.evaluate import no_log_potential
from palmette.numeric import add_exponentials, largest, logarithm
from palmette.partition import Partition
from palmette.recursions.subsets import next_subset
from palmette.sampling.anywhere import any_partition, log_bell_number
from palmette.sampling.chance import chance, choose, new_stream
from palmette.sampling.partitions.state import (
    IS_WRONG,
    REDRAWN,
    Groups,
    free_slot,
    groups_of,
    membership,
    model_data,
    renew,
    take_slot,
    totals,
)
from palmette.sampling.partitions.units import choose_units, units_of
from palmette.sampling.partitions.weights import (
    Redraw,
    empty_redraw,
    keep_whole,
    lowest,
    relabel,
    take_out,
    unite,
    weigh,
)

__all__ = ["PartitionMoves", "PartitionState", "advance"]


@inline
def _terms(gains, before, S, must, values):
    # log of [gain of A] f(S ∖ A) for all A ⊆ S that hold `must`; how many there are.
    rest, sub, count = S ^ must, 0, 0
    while True:
        values[count] = gains[must | sub] + before[rest ^ sub]
        count += 1
        sub = next_subset(sub, rest)
        if sub == 0:
            return count


@inline
def _log_sum(values, count):
    top = largest(values, count)
    return top + logarithm(add_exponentials(values, count, top)) if top > -np.inf else -np.inf


@called
def _sum_up(work, k, n_rests):
    # log f of all rests and all sets of units.
    log_f, gains = work.log_f, work.gains
    log_f[0, 0] = 0.0
    for S in range(1, 1 << k):
        log_f[0, S] = _log_sum(work.values, _terms(gains[n_rests], log_f[0], S, S & -S, work.values))
    for r in range(n_rests):
        for S in range(1 << k):
            log_f[r + 1, S] = _log_sum(work.values, _terms(gains[r], log_f[r], S, 0, work.values))


@inline
def _draw_subset(gains, before, S, must, values, stream):
    chosen = choose(values, _terms(gains, before, S, must, values), chance(stream))
    rest, sub = S ^ must, 0
    for _ in range(chosen):
        sub = next_subset(sub, rest)
    return must | sub


@called
def _draw_places(groups, work, k, n_rests, stream):
    # What every rest gets, and where every unit goes: −1 − A for the new cluster A, unless it was there before.
    S = (1 << k) - 1
    for r in range(n_rests - 1, -1, -1):
        A = _draw_subset(work.gains[r], work.log_f[r], S, 0, work.values, stream) if S else 0
        work.joins[r] = A
        S ^= A
        for u in range(k):
            if (A >> u) & 1:
                work.target[u] = work.rests[r]
    while S:
        A = _draw_subset(work.gains[n_rests], work.log_f[0], S, S & -S, work.values, stream)
        S ^= A
        s = work.home[lowest(A)]
        stood = work.held[s] == A and groups.size[s] == work.size[A]
        for u in range(k):
            if (A >> u) & 1:
                work.target[u] = s if stood else -1 - A


@called
def _settle_new(groups, work, k, n_rests):
    # Slots that nothing is left in are freed before others are taken, so that there is always one.
    for u in range(k):
        s = work.home[u]
        if lowest(work.held[s]) == u and groups.size[s] == work.size[work.held[s]] and work.target[u] != s:
            free_slot(groups, s)
    for u in range(k):
        if work.target[u] < 0:
            A = -1 - work.target[u]
            s = take_slot(groups)
            groups.size[s] = unite(groups, work, -1, A, k, groups.sums[s], groups.pairs[s])
            groups.log_psi[s] = work.joined[n_rests, A]
            for v in range(u, k):
                if (A >> v) & 1:
                    work.target[v] = s


@called
def _settle_rests(groups, work, k, n_rests):
    for r in range(n_rests):
        s, A = work.rests[r], work.joins[r]
        held = work.held[s]
        if held != A:
            groups.size[s] = unite(groups, work, s, A, k, groups.sums[s], groups.pairs[s])
            groups.gone[s] += work.size[held]
            groups.log_psi[s] = work.joined[r, A]


@called
def _redraw(data, groups, units, work, k, stream, temper, penalty):
    # Draw anew where the first k units of `work.units` go, all of which are whole.
    n_rests = take_out(data.pairwise, groups, units, work, k)
    weigh(data, groups, work, k, n_rests, temper, penalty)
    _sum_up(work, k, n_rests)
    if work.log_f[n_rests, (1 << k) - 1] > -np.inf:
        _draw_places(groups, work, k, n_rests, stream)
        _settle_new(groups, work, k, n_rests)
        _settle_rests(groups, work, k, n_rests)
    else:  # a cluster elsewhere is forbidden, or rounding made what was possible impossible
        for u in range(k):
            work.target[u] = work.home[u]
    for u in range(k):
        if data.pairwise.shape[0] or work.target[u] != work.home[u]:
            relabel(groups.cluster, units, work.units[u], work.target[u])
    for u in range(k):
        work.held[work.home[u]] = 0
        renew(data, groups, work.home[u], work.asked.table)


@kernel
def advance(data, groups, units, work, stream, temper, penalty, n_moves):
    """Do so many moves.

    `data` is `model_data(model)`, `groups` the state, `units` from where units are chosen, `work` an `empty_redraw`,
    `stream` a `new_stream`, `temper` t ≥ 0. A forbidden cluster weighs exp(−penalty), whatever t is: nothing if the
    penalty is inf. How the moves of a chain are shared out to calls does not matter. If `groups.counts[IS_WRONG]` is
    not 0 afterwards, a score was NaN or +inf; it was taken as forbidden.
    """
    for _ in range(n_moves):
        k = keep_whole(groups.cluster, units, work, choose_units(units, stream, work.units))
        groups.counts[REDRAWN] += k
        if k:
            _redraw(data, groups, units, work, k, stream, temper, penalty)


class PartitionState(NamedTuple):
    """A partition on its way, and room for its moves; `groups` and `stream` say all."""

    groups: Groups
    work: Redraw
    stream: Ints


class PartitionMoves:
    """The compiled moves of a model, by units of a reference hierarchy."""

    def __init__(self, model: ClusterModel, reference: Hierarchy) -> None:
        self.model = model
        self._units = units_of(model, reference)
        self._leaves = self._units._replace(leaf_share=1.0)
        self._data = model_data(model)

    @property
    def n_moves(self) -> int:
        """Moves of a sweep, by which about as many units are chosen as there are leaves."""
        return math.ceil(2 * self.model.n_leaves / (1 + self._units.most))

    @property
    def log_count(self) -> float:
        """log B(n)."""
        return log_bell_number(self.model.n_leaves)

    def anywhere(self, rng: np.random.Generator, seed: int, chain: int) -> PartitionState:
        """A chain at a partition drawn alike from all."""
        return self.start(any_partition(self.model.n_leaves, self.model.labels, rng), seed, chain)

    def start(self, partition: Partition, seed: int, chain: int) -> PartitionState:
        """A chain at a partition of the model's leaves in the model's order."""
        return self._checked(self.state(groups_of(self.model, partition), new_stream(seed, chain)))

    def state(self, groups: Groups, stream: Ints) -> PartitionState:
        """A chain with room for its moves."""
        return PartitionState(groups, empty_redraw(self.model, self._units), stream)

    def run(
        self, state: PartitionState, n_moves: int, temper: float = 1.0, penalty: float = np.inf, *, alone: bool = False
    ) -> tuple[float, int]:
        """So many moves under Π ψ^t, a forbidden cluster costing exp(−penalty), of single leaves only if `alone`.

        Σ log ψ then over the possible clusters, and the number of forbidden ones.
        """
        what = (state.groups, self._leaves if alone else self._units, state.work, state.stream)
        advance(self._data, *what, temper, penalty, n_moves)
        return self.restate(self._checked(state))

    def restate(self, state: PartitionState) -> tuple[float, int]:
        """Σ log ψ over the possible clusters, and the number of forbidden ones."""
        total, impossible = totals(state.groups)
        return float(total), int(impossible)

    def record(self, state: PartitionState, out: npt.NDArray[np.int32]) -> None:
        """(n,): the membership, clusters numbered by their first leaves."""
        membership(state.groups, out)

    def read(self, row: npt.NDArray[Any]) -> Partition:
        """The partition that `record` wrote down."""
        return Partition(row.astype(np.int64), self.model.labels)

    def _checked(self, state: PartitionState) -> PartitionState:
        if state.groups.counts[IS_WRONG]:
            raise no_log_potential(self.model)
        return state
