"""One chain over hierarchies as the runner sees it: how it begins, goes on, and is written down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.arrays import cluster_bits
from palmette.models.split_model import SplitModel
from palmette.sampling.anywhere import any_hierarchy
from palmette.sampling.chance import COOLING, new_stream
from palmette.sampling.cooling import cool, cooling
from palmette.sampling.dispersal import far_apart, n_starts
from palmette.sampling.hierarchies.moves import HierarchyMoves, HierarchyState

__all__ = ["HierarchyChains"]

_WARMING = 8  # sweeps at each t on the way up
_SLOW = 0.01  # from this t on a hierarchy can be cooled down more slowly; before, haste does no harm


class HierarchyChains:
    """A `ChainKind`: chains over the hierarchies of a model's leaves, from given starts or from cooled ones."""

    def __init__(self, model: SplitModel, starts: Sequence[Hierarchy], seed: int) -> None:
        self.moves = HierarchyMoves(model)
        self._starts, self._seed = starts, seed
        self.width = 2 * model.n_leaves - 1
        self._cooling = cooling(self.moves, np.random.default_rng([seed, COOLING]))

    def n_starts(self, n_chains: int) -> int:
        """As many as there are chains if all are given; else more, to choose from."""
        return n_starts(self.moves.model.n_leaves, n_chains, len(self._starts))

    def begin(self, chain: int) -> HierarchyState:
        """At the start that is given for this chain, if it is possible, else at one that is cooled down."""
        return self.given(chain) or self.cooled(chain, 1.0)

    def given(self, chain: int) -> HierarchyState | None:
        """The start that is given for this chain, if there is one and it is possible."""
        if chain < len(self._starts):
            state = self.moves.start(self._starts[chain].aligned_to(self.moves.model.labels), self._seed, chain)
            if self.moves.restate(state)[1] == 0:
                return state
        return None

    def choose(self, states: list[HierarchyState], count: int) -> list[HierarchyState]:
        """Those that were given, and others that have few clusters in common."""
        rows = np.empty((len(states), self.width), dtype=np.int32)
        for state, row in zip(states, rows, strict=True):
            self.moves.record(state, row)
        clusters = [frozenset(cluster_bits(row, range(self.moves.model.n_leaves))) for row in rows.astype(np.int64)]
        gaps = np.array([[len(one - other) for other in clusters] for one in clusters])
        return [states[i] for i in far_apart(gaps, count, len(self._starts))]

    def cooled(
        self, number: int, temper: float, source: HierarchyState | None = None, first: float = 0.0, slower: int = 1
    ) -> HierarchyState:
        """A hierarchy drawn from all, or a copy of a state at t = `first`, cooled down to t.

        Its random numbers go by `number`. It stays `slower` times as long at every t of the last two decades.
        """
        n, labels = self.moves.model.n_leaves, self.moves.model.labels
        if source is None:
            start = any_hierarchy(n, labels, np.random.default_rng([self._seed, number]))
            state = self.moves.start(start, self._seed, number)
        else:
            state = self._copied(source, number)
        between = self._cooling[(self._cooling > first) & (self._cooling < temper)]
        between = np.repeat(between, np.where(between > _SLOW, slower, 1))
        if cool(self.moves, state, np.append(between, temper))[1]:
            raise ImpossibleData(
                f"no possible hierarchy over these {n} leaves was found under {self.moves.model!r}; "
                "if there is one, give it in starts"
            )
        return state

    def warmed(self, number: int, temper: float, source: HierarchyState) -> HierarchyState:
        """A copy of a state after a few sweeps at t, its random numbers by `number`."""
        state = self._copied(source, number)
        self.moves.run(state, _WARMING * self.moves.n_moves, temper)
        return state

    def _copied(self, source: HierarchyState, number: int) -> HierarchyState:
        return self.unpack({**self.pack(source), "stream": new_stream(self._seed, number)})

    def sweep(self, state: HierarchyState) -> float:
        """As many moves as there are leaves; log φ then."""
        return self.moves.run(state, self.moves.n_moves)[0]

    def record(self, state: HierarchyState, out: npt.NDArray[np.int32]) -> None:
        """Write the parents down."""
        self.moves.record(state, out)

    def pack(self, state: HierarchyState) -> dict[str, npt.NDArray[Any]]:
        """Links and random numbers: the rest follows from these."""
        return {"parent": state.tree.parent, "child": state.tree.child, "stream": state.stream}

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> HierarchyState:
        """The state that `pack` packed."""
        n, labels = self.moves.model.n_leaves, self.moves.model.labels
        state = self.moves.start(any_hierarchy(n, labels, np.random.default_rng(0)), 0, 0)
        state.tree.parent[:], state.tree.child[:] = arrays["parent"], arrays["child"]
        state.stream[:] = arrays["stream"]
        self.moves.restate(state)
        return state
