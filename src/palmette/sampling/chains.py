"""Several chains side by side: who runs them, what is kept of them, how a run stops and goes on.

A chain is advanced in *sweeps*, in which about as many things are moved as there are leaves. Its random numbers depend
on the seed, on its number and on how many it has drawn, so it is the same chain on any number of threads, in one piece
or in many. Every so many sweeps its state is kept; when there is no more room, every second one is dropped, and from
then on half as many are kept. So a run can go on for ever, and what is kept depends on its length alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.budget import Budget
from palmette.progress import Progress
from palmette.sampling.tempered_moves import TemperedMoves
from palmette.threads import Workers
from palmette.whole_files import whole_file

__all__ = ["ChainKind", "Chains"]

_ROOM = 16384  # states kept of each chain
_MOST_NUMBERS = 4e7  # in all states kept of all chains
_SAME = 1e-6  # relative or absolute: log potentials that differ by rounding alone
_SLICE = 0.1  # seconds between two looks at the clock and at Ctrl-C


class ChainKind(Protocol):
    """How one chain begins, goes on, and is written down."""

    @property
    def moves(self) -> TemperedMoves[Any]:
        """What its sweeps are made of."""
        ...

    width: int
    """Numbers that a state is written down with."""

    def n_starts(self, n_chains: int) -> int:
        """Starts that are made for so many chains: as many, unless there are more to choose from."""
        return n_chains

    def begin(self, chain: int) -> Any:
        """A start: the state of a chain, or one to choose from."""
        ...

    def choose(self, states: list[Any], count: int) -> list[Any]:
        """So many of the starts, if there are more; the first ones unless there is something to choose by."""
        return states[:count]

    def sweep(self, state: Any) -> float:
        """One sweep; the log potential of the state that it leads to."""
        ...

    def record(self, state: Any, out: npt.NDArray[np.int32]) -> None:
        """Write the state down."""
        ...

    def pack(self, state: Any) -> dict[str, npt.NDArray[Any]]:
        """All that a chain needs to go on."""
        ...

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> Any:
        """The state that `pack` packed."""
        ...


class _Elapsed(Progress):
    """Moves another bar on by the seconds that have passed, whatever was done in them; and does not wipe it."""

    def __init__(self, progress: Progress) -> None:
        super().__init__("", None, False)
        self._bar, self._now = progress, time.monotonic()

    def advance(self, amount: float) -> None:
        self._bar.advance(time.monotonic() - self._now)
        self._now = time.monotonic()


class Chains:
    """The states of some chains, and what was kept of them."""

    def __init__(self, kind: ChainKind, n_chains: int) -> None:
        self._kind = kind
        room = int(min(_ROOM, max(64, _MOST_NUMBERS // (kind.width * n_chains))))
        self._room = room - room % 2
        self.states: list[Any] = [None] * n_chains
        self.sweeps = np.zeros(n_chains, dtype=np.int64)  # of each chain
        self.every = 1  # sweeps between two that are kept
        self._rows = np.zeros((n_chains, self._room, kind.width), dtype=np.int32)
        self._values = np.zeros((n_chains, self._room))

    @property
    def n_kept(self) -> int:
        """States kept of every chain."""
        return int(self.sweeps.min()) // self.every

    @property
    def kept_states(self) -> npt.NDArray[np.int32]:
        """(chains, n_kept, width): the states."""
        return self._rows[:, : self.n_kept]

    @property
    def log_potentials(self) -> Floats:
        """(chains, n_kept)."""
        return self._values[:, : self.n_kept]

    def begin(self, threads: int, progress: Progress | None = None, budget: Budget | None = None) -> None:
        """Make the starts, unless the chains are on their way already; none to choose from once the budget is spent."""
        n_chains = len(self.states)
        if n_chains and self.states[0] is None:
            count, bar = self._kind.n_starts(n_chains), progress or Progress("", None, False)
            made = self._each(self._kind.begin, range(n_chains), threads, bar)
            budget = budget or Budget(None)
            while len(made) < count and not budget.is_spent:
                end = count if budget.seconds is None else min(count, len(made) + threads)
                made += self._each(self._kind.begin, range(len(made), end), threads, bar)
            self.states = self._kind.choose(made, n_chains) if len(made) > n_chains else made

    def advance(
        self, target: int, threads: int, progress: Progress, is_late: Callable[[], bool] = lambda: False
    ) -> bool:
        """Let all chains do sweeps until each has done `target`, or until it is late; whether they have."""
        step = 1
        while self.sweeps.min() < target:
            if is_late():
                return False
            if int(self.sweeps.min()) // self.every == self._room:
                self._make_room()
            first = int(self.sweeps.min())
            end = min(target, first + step, self._room * self.every)
            now = time.monotonic()
            self._each(partial(self._run_one, end=end), range(len(self.states)), threads, progress)
            taken = time.monotonic() - now
            step = max(1, min(2 * step, int(step * _SLICE / max(taken, 1e-6))))
        return True

    def _each(self, call: Callable[[int], Any], which: range, threads: int, progress: Progress) -> list[Any]:
        with Workers(threads, _Elapsed(progress)) as workers:
            return workers.each(lambda number: call(which[number]), len(which), 1e8)

    def _run_one(self, chain: int, end: int) -> None:
        state, kind = self.states[chain], self._kind
        while self.sweeps[chain] < end:
            value = kind.sweep(state)
            done = int(self.sweeps[chain]) + 1
            if done % self.every == 0:
                kind.record(state, self._rows[chain, done // self.every - 1])
                self._values[chain, done // self.every - 1] = value
            self.sweeps[chain] = done

    def _make_room(self) -> None:
        half = self._room // 2
        self._rows[:, :half] = self._rows[:, 1::2]
        self._values[:, :half] = self._values[:, 1::2]
        self.every *= 2

    def arrays(self) -> dict[str, npt.NDArray[Any]]:
        """All that is needed to go on."""
        known = int(self.sweeps.max()) // self.every  # after Ctrl-C some chains are ahead
        found: dict[str, npt.NDArray[Any]] = {"every": np.array(self.every), "sweeps": self.sweeps}
        found |= {"rows": self._rows[:, :known], "values": self._values[:, :known]}
        for chain, state in enumerate(self.states):
            if state is not None:
                found |= {f"{chain}_{name}": array for name, array in self._kind.pack(state).items()}
        return found

    def restore(self, arrays: Mapping[str, npt.NDArray[Any]]) -> None:
        """Go on from what `arrays` gave."""
        self.every, self.sweeps = int(arrays["every"]), arrays["sweeps"].copy()
        known = arrays["rows"].shape[1]
        self._rows[:, :known], self._values[:, :known] = arrays["rows"], arrays["values"]
        for chain in range(len(self.states)):
            own = [name for name in arrays if name.startswith(f"{chain}_")]
            if own:
                self.states[chain] = self._kind.unpack({name.split("_", 1)[1]: arrays[name] for name in own})

    def save(self, path: str | os.PathLike[str], about: str) -> None:
        """Write all of it to a file, beside an older one until it is whole."""
        with whole_file(path) as place, place.open("wb") as file:
            np.savez_compressed(file, about=np.array(about), **self.arrays())  # type: ignore[arg-type]

    def load(self, path: str | os.PathLike[str], about: str) -> None:
        """Go on from what `save` wrote."""
        with np.load(Path(path), allow_pickle=False) as saved:
            is_same = str(saved["about"]) == about
            if is_same:
                self.restore({name: saved[name] for name in saved.files})
        if not (is_same and self._is_of_model()):
            raise ValueError(
                f"{os.fspath(path)} holds chains of another model, seed or number of chains; "
                "give the same ones, or another file"
            )

    def _is_of_model(self) -> bool:
        # Whether the last states that were kept have the log potentials that were: a person may have edited a score.
        moves = self._kind.moves
        states = [moves.start(moves.read(rows[-1]), 0, 0) for rows in self.kept_states if len(rows)]
        found = [-np.inf if impossible else value for value, impossible in map(moves.restate, states)]
        return np.allclose(found, self.log_potentials[:, -1:].reshape(-1), rtol=_SAME, atol=_SAME)
