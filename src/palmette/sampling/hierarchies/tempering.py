"""Chains at several temperatures that exchange their states: what is frozen at t = 1 moves at a smaller t.

A *rung* is a chain under p_t ∝ φ^t. After every sweep two neighbours exchange their states with probability
min(1, exp((t − t′)(log φ′ − log φ))), which leaves the law of all rungs together as it is. The last rung has t = 1, and
it alone is kept. Rungs are of equal length ∫ σ dt apart (see `ladder`), about 1 if there are enough of them.

What is frozen at the smallest t of the rungs as well they cannot mend, so each chain begins at the best of several
hierarchies that were cooled down by itself, some of them slowly. It knows nothing of the other chains.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.hierarchy import Hierarchy
from palmette.models.split_model import SplitModel
from palmette.sampling.chains import ChainKind
from palmette.sampling.chance import CHAINS, EXCHANGES, TRIES, chance
from palmette.sampling.dispersal import n_candidates
from palmette.sampling.hierarchies.chain import HierarchyChains
from palmette.sampling.hierarchies.moves import HierarchyMoves, HierarchyState
from palmette.sampling.ladder import Pilot, pilot

__all__ = ["TemperedChains"]

_APART = 1.0  # length between two rungs: more than half of the exchanges happen
_PATIENCE = (1, 4, 16, 16)  # how many times as slowly each of several hierarchies is cooled down, the best to be taken
_PILOT = 4  # rungs are few, so one of so many temperatures tells enough about how they are to be spaced


def _rung_tempers(found: Pilot, n_rungs: int) -> Floats:
    # (n_rungs,): rising t, the last one 1: down to t = 0 if they can be so near, else as far as they reach.
    lowest = found.temper_at(_APART * (n_rungs - 1))
    return found.steps(n_rungs - 1, first=lowest)


class _Rungs(NamedTuple):
    """The chains of all rungs; rung r has the state ``states[order[r]]``."""

    states: list[HierarchyState]
    order: Ints
    stream: Ints  # seed, number, how many random numbers have been drawn, how many sweeps were made


class TemperedChains(ChainKind):
    """Each chain is made of `n_rungs` at different temperatures, which find their way from any start."""

    def __init__(self, model: SplitModel, starts: Sequence[Hierarchy], seed: int, n_rungs: int) -> None:
        self._single = HierarchyChains(model, starts, seed)
        self._seed = seed
        self.tempers = _rung_tempers(pilot(self.moves, seed, every=_PILOT), n_rungs)
        self.width = self._single.width
        self._n_tries = max(1, min(len(_PATIENCE), n_candidates(model.n_leaves) // 3))

    @property
    def moves(self) -> HierarchyMoves:
        """What the sweeps of every rung are made of."""
        return self._single.moves

    def begin(self, chain: int) -> _Rungs:
        """All rungs from a given start, warmed up; else from the best, at t = 1, of several that are cooled down."""
        given = self._single.given(chain)
        if given is None:
            made = [self._cooled(chain, number) for number in range(self._n_tries)]
            states = max(made, key=lambda states: self.moves.restate(states[-1])[0])  # of several as good, the first
        else:
            states = self._warmed(chain, given)
        stream = np.array([self._seed, EXCHANGES + chain, 0, 0], dtype=np.int64)
        return _Rungs(states, np.arange(len(states)), stream)

    def _cooled(self, chain: int, number: int) -> list[HierarchyState]:
        # A state at every t on the way down; random numbers go by the chain, by which try it is, and by the rung.
        tempers, first, slower = self.tempers.tolist(), CHAINS * (chain + 1) + TRIES * number, _PATIENCE[number]
        states = [self._single.cooled(first, tempers[0], slower=slower)]
        for rung, temper in enumerate(tempers[1:], 1):
            states.append(self._single.cooled(first + rung, temper, states[-1], tempers[rung - 1], slower))
        return states

    def _warmed(self, chain: int, given: HierarchyState) -> list[HierarchyState]:
        # A state at every t on the way up from t = 1: where the top is frozen at all of them, it is the given one's.
        states, first = [given], CHAINS * (chain + 1)
        for rung in reversed(range(len(self.tempers) - 1)):
            states.append(self._single.warmed(first + rung, float(self.tempers[rung]), states[-1]))
        return states[::-1]

    def sweep(self, rungs: _Rungs) -> float:
        """A sweep of every rung, then exchanges of every second pair of neighbours; log φ at t = 1."""
        order, stream, tempers = rungs.order, rungs.stream, self.tempers.tolist()
        values = [
            self.moves.run(rungs.states[i], self.moves.n_moves, t)[0]
            for i, t in zip(order.tolist(), tempers, strict=True)
        ]
        for low in range(int(stream[3] % 2), len(values) - 1, 2):
            gain = (tempers[low + 1] - tempers[low]) * (values[low] - values[low + 1])
            u = chance(stream)
            if gain >= 0.0 or u < math.exp(gain):
                order[low], order[low + 1] = order[low + 1], order[low]
                values[low], values[low + 1] = values[low + 1], values[low]
        stream[3] += 1
        return values[-1]

    def record(self, rungs: _Rungs, out: npt.NDArray[np.int32]) -> None:
        """Write the state at t = 1 down."""
        self._single.record(rungs.states[int(rungs.order[-1])], out)

    def pack(self, rungs: _Rungs) -> dict[str, npt.NDArray[Any]]:
        """All that the rungs need to go on."""
        packed = {"order": rungs.order, "exchanges": rungs.stream}
        for i, state in enumerate(rungs.states):
            packed |= {f"{i}_{name}": array for name, array in self._single.pack(state).items()}
        return packed

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> _Rungs:
        """The rungs that `pack` packed."""
        names = ("parent", "child", "stream")
        states = [
            self._single.unpack({name: arrays[f"{i}_{name}"] for name in names}) for i in range(len(self.tempers))
        ]
        return _Rungs(states, arrays["order"].copy(), arrays["exchanges"].copy())
