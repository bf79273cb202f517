"""A run: chains, the clock that they stop by, and the file that they go on from; of hierarchies or of partitions."""

from __future__ import annotations

import hashlib
import os
from abc import abstractmethod
from collections.abc import Iterable
from contextlib import closing, suppress
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from palmette.budget import Budget, now
from palmette.checks import check_integer, check_seconds
from palmette.models.base import FeatureModel
from palmette.progress import Progress
from palmette.sampling.chains import ChainKind, Chains
from palmette.sampling.verdict import Verdict
from palmette.threads import check_threads

__all__ = ["FEWEST_SWEEPS", "Run", "check_end", "fingerprint"]

_FIRST = 200  # sweeps before the first verdict; then always twice as many
_STARTING = 0.25  # of the time, after which no more starts are made to choose from
FEWEST_SWEEPS = 8  # of a chain that something can be said of


class _Sampled(Protocol):
    # What a run has to know of an answer.
    n_kept: int

    @property
    def verdict(self) -> Verdict: ...
    def progress_note(self) -> str: ...


Answer = TypeVar("Answer", bound=_Sampled)


class Run(Generic[Answer]):
    """Chains that can go on. A subclass makes the chains, and the answer that is read off them."""

    def __init__(
        self,
        kind: ChainKind,
        about: str,
        *,
        n_chains: int,
        seed: int,
        threads: int | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: bool | None,
    ) -> None:
        self.moves, self.seed = kind.moves, seed
        self._about, self._title = about, f"sampling, n = {self.moves.model.n_leaves}"
        self.threads, self._checkpoint, self.progress = threads, checkpoint, progress
        self.chains = Chains(kind, n_chains)
        self._judging = 0.0  # seconds that a verdict takes for each state that is kept, as the last one did
        if checkpoint is not None and os.path.exists(checkpoint):
            self.chains.load(checkpoint, about)

    @abstractmethod
    def answer(self) -> Answer:
        """What the chains say now."""

    @property
    @abstractmethod
    def arguments(self) -> dict[str, Any]:
        """What it was made with, for a copy that goes on from the same place."""

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), self.arguments, self.chains.arrays())

    def go_on(self, seconds: float | None, sweeps: int | None, precision: float) -> Answer:
        """Let the chains run until their errors are small enough, they are so long, or the time is up.

        The time is up when what is left of `seconds` is what a verdict will take.
        """
        check_end(seconds, sweeps, precision, least=1)
        threads, budget = check_threads(self.threads), Budget(seconds)

        def is_late() -> bool:
            return budget.left <= self._judging * self.chains.n_kept

        done = int(self.chains.sweeps.min())
        last = np.inf if sweeps is None else done + sweeps
        made = None
        with closing(Progress(self._title, seconds, self.progress)) as bar, suppress(KeyboardInterrupt):
            bar.retitle(f"making starts, {self._title}")
            self.chains.begin(threads, bar, budget.share(_STARTING))
            bar.retitle(self._title)
            self.chains.advance(int(min(FEWEST_SWEEPS, last)), threads, bar)  # whatever the clock says
            target = _FIRST
            while done < last:
                while target <= done:
                    target *= 2
                in_time = self.chains.advance(int(min(target, last)), threads, bar, is_late)
                done = int(self.chains.sweeps.min())
                self._save()
                if not in_time or done >= last:  # a verdict is then for whoever asks
                    break
                made = self._judged()
                bar.retitle(f"{self._title}: {made.progress_note()}")
                if made.verdict.agree and made.verdict.standard_error <= precision:
                    break
        if self.chains.n_kept < FEWEST_SWEEPS:
            raise ValueError(
                f"the chains were stopped after {self.chains.n_kept} sweeps, which is too early to say anything; "
                "allow for more time"
            )
        return self.answer() if made is None or made.n_kept != self.chains.n_kept else made

    def go_through(self, sweeps: int) -> Answer:
        """Let every chain make so many sweeps in all, in silence; Ctrl-C stops it, and is no wish for an answer."""
        threads = check_threads(self.threads)
        self.chains.begin(threads)
        self.chains.advance(sweeps, threads, Progress("", None, False))
        return self.answer()

    def _judged(self) -> Answer:
        begin, made = now(), self.answer()
        made.verdict  # noqa: B018 – it is kept
        self._judging = (now() - begin) / self.chains.n_kept
        return made

    def _save(self) -> None:
        if self._checkpoint is not None:
            self.chains.save(self._checkpoint, self._about)


def _again(kind: type[Run[Any]], arguments: dict[str, Any], arrays: dict[str, Any]) -> Run[Any]:
    made = kind(**arguments)
    made.chains.restore(arrays)
    return made


def check_end(seconds: float | None, sweeps: int | None, precision: float, *, least: int = FEWEST_SWEEPS) -> None:
    """Refuse limits that are none, or that never stop a run, and fewer sweeps than the `least`."""
    check_seconds(seconds)
    if seconds is None and sweeps is None and not precision > 0.0:
        raise ValueError("sampling needs an end: give seconds, sweeps or a precision above 0")
    if sweeps is not None:
        check_integer("sweeps", sweeps, least)


def fingerprint(model: FeatureModel, more: Iterable[bytes], numbers: tuple[int, ...]) -> str:
    """What tells one run from another: a digest of the model, of whatever else matters, and of some numbers.

    Of functions it has the names, in which those of a Dirichlet process tell its likelihood; `Chains.load` sees to it
    that they still give the same numbers.
    """
    functions = [function.py_func.__name__ for function in (model.features, model.score)]
    parts = [name.encode("utf-8", "surrogatepass") for name in (type(model).__name__, *functions, *model.labels)]
    parts += [array.tobytes() for array in (model.theta, model.additive, model.pairwise)]
    parts += [*more, repr(numbers).encode()]
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()
