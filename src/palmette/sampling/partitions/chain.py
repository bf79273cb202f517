"""One chain over partitions as the runner sees it: how it begins, goes on, and is written down.

A sweep is a fixed number of moves, by which about as many units are chosen as there are leaves. Chains begin far apart:
of some starts, at those that lead farthest apart (see `dispersal`). Every fourth is a cut of the reference, the first
of them with all leaves in one cluster; the others are partitions drawn at random, from which single leaves move for a
while. So most chains owe nothing to the reference, and where it favours one of two answers they disagree. All
begin with few clusters, for clusters are made faster than they are undone.

A start with a forbidden cluster is cooled down, as in `cooling`. Others are not: where ψ^t is flat most partitions have
a great many clusters, and a chain that has been there takes longer to come back than one that has not.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.models.cluster_model import ClusterModel
from palmette.partition import Partition
from palmette.sampling.chance import COOLING
from palmette.sampling.cooling import LOOKS, cool, rising
from palmette.sampling.dispersal import far_apart, n_starts
from palmette.sampling.partitions.moves import PartitionMoves, PartitionState
from palmette.sampling.partitions.pairs import pair_distances
from palmette.sampling.partitions.state import N_CLUSTERS, Groups

__all__ = ["PartitionChains"]

_PER_DECADE = 10  # sweeps for every factor of ten in t
_BY_CUT = 4  # one of so many chains begins at a cut of the reference
_ALONE = 20  # sweeps of single leaves from a partition drawn at random
_SETTLED = 20  # sweeps of a start that is one of several to choose from


class PartitionChains:
    """A `ChainKind`: chains over the partitions of a model's leaves, from given starts or from some far apart."""

    def __init__(
        self, model: ClusterModel, reference: Hierarchy, starts: Sequence[Partition], seed: int, n_chains: int
    ) -> None:
        self._reference, self._starts, self._seed = reference, starts, seed
        self.moves = PartitionMoves(model, reference)
        self.width, self._n_chains, self._n_starts = model.n_leaves, n_chains, self.n_starts(n_chains)

    def n_starts(self, n_chains: int) -> int:
        """As many as there are chains if all are given; else more, to choose from."""
        return n_starts(self.moves.model.n_leaves, n_chains, len(self._starts))

    def begin(self, chain: int) -> PartitionState:
        """At the start that is given for this chain, else at one of its own; cooled down if it is not possible."""
        is_given = chain < len(self._starts)
        state = self.moves.start(self._starts[chain] if is_given else self._dispersed(chain), self._seed, chain)
        if self.moves.restate(state)[1]:
            if cool(self.moves, state, *self._cooling())[1]:
                model = self.moves.model
                raise ImpossibleData(
                    f"no possible partition of these {model.n_leaves} leaves was found under {model!r}; "
                    "if there is one, give it in starts"
                )
        elif not is_given and chain % _BY_CUT:
            for _ in range(_ALONE):
                self.moves.run(state, self.moves.n_moves, alone=True)
        if not is_given and self._n_starts > self._n_chains:  # what is chosen from is where starts lead to
            for _ in range(_SETTLED):
                self.sweep(state)
        return state

    def choose(self, states: list[PartitionState], count: int) -> list[PartitionState]:
        """Those that were given, and others that treat most pairs of leaves otherwise."""
        rows = np.empty((len(states), self.width), dtype=np.int32)
        for state, row in zip(states, rows, strict=True):
            self.record(state, row)
        gaps = np.array([pair_distances(rows, row) for row in rows])
        return [states[i] for i in far_apart(gaps, count, len(self._starts))]

    def sweep(self, state: PartitionState) -> float:
        """A sweep at t = 1; log φ then."""
        value, impossible = self.moves.run(state, self.moves.n_moves)
        return -np.inf if impossible else value

    def record(self, state: PartitionState, out: npt.NDArray[np.int32]) -> None:
        """Write the membership down."""
        self.moves.record(state, out)

    def pack(self, state: PartitionState) -> dict[str, npt.NDArray[Any]]:
        """The partition with its sums, whose rounding depends on where they came from, and the random numbers."""
        return {**state.groups._asdict(), "stream": state.stream}

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> PartitionState:
        """The state that `pack` packed."""
        groups = Groups(*(np.array(arrays[name]) for name in Groups._fields))
        return self.moves.state(groups, np.array(arrays["stream"]))

    def _dispersed(self, chain: int) -> Partition:
        n, reference = self.moves.model.n_leaves, self._reference
        k = n ** (0.5 * chain / self._n_starts)
        if chain % _BY_CUT:
            drawn = np.random.default_rng([self._seed, chain]).integers(math.ceil(k), size=n)
            return Partition(drawn, self.moves.model.labels)
        reachable = reference.cut_counts  # a reference that is not binary skips some k
        return reference.cut(int(reachable[np.argmin(np.abs(reachable - k))]))

    def _cooling(self) -> tuple[Floats, float]:
        # Rising t, the last one 1, and the most that a possible cluster costs. Partitions drawn alike from all would
        # not do: they have a great many clusters.
        rng, n = np.random.default_rng([self._seed, COOLING]), self.moves.model.n_leaves
        totals, worst = [], 0.0
        for _ in range(LOOKS):
            k = math.ceil(n ** rng.random())
            groups = self.moves.start(Partition(rng.integers(k, size=n), self.moves.model.labels), self._seed, 0).groups
            known = groups.log_psi[groups.slots[: groups.counts[N_CLUSTERS]]]
            possible = known[known > -np.inf]
            totals.append(possible.sum())
            worst = max(worst, float(-possible.min(initial=0.0)))
        return rising(totals, _PER_DECADE), worst
