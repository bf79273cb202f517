"""Hierarchies drawn by Markov chains: for any number of leaves, and with errors that are said."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing, suppress
from typing import Any, cast

import numpy as np
import numpy.typing as npt

from palmette.checks import check_integer, check_seconds
from palmette.clusters import Cluster
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_model
from palmette.models.split_model import HierarchyModel, SplitModel, require_binary
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.progress import Progress
from palmette.sampling.chain import ChainState, HierarchyMoves
from palmette.sampling.chains import Chains
from palmette.sampling.conditioned import conditioned
from palmette.sampling.sampled_hierarchies import SampledPosterior
from palmette.sampling.starts import anneal, any_hierarchy, cooling
from palmette.threads import check_threads

__all__ = ["HierarchyRun", "sample_hierarchies"]

_FIRST = 200  # sweeps before the first verdict; then always twice as many


class _HierarchyChains:
    """A `ChainKind`: chains over the hierarchies of a model's leaves, from given starts or from cooled ones."""

    def __init__(self, model: SplitModel, starts: Sequence[Hierarchy], seed: int) -> None:
        self._moves = HierarchyMoves(model)
        self._model, self._starts, self._seed = model, starts, seed
        self.width = 2 * model.n_leaves - 1
        self._tempers = cooling(self._moves, np.random.default_rng([seed, 2**32]))

    def begin(self, chain: int) -> ChainState:
        if chain < len(self._starts):
            start = self._starts[chain]
            state = self._moves.start(start.aligned_to(self._model.labels), self._seed, chain)
            if self._moves.restate(state)[1] == 0:
                return state
        else:
            rng = np.random.default_rng([self._seed, chain])
            start = any_hierarchy(self._model.n_leaves, self._model.labels, rng)
            state = self._moves.start(start, self._seed, chain)
        if anneal(self._moves, state, self._tempers, self._model.n_leaves)[1]:
            raise ImpossibleData(
                f"no possible hierarchy over these {self._model.n_leaves} leaves was found under {self._model!r}; "
                "if there is one, give it in starts"
            )
        return state

    def sweep(self, state: ChainState) -> float:
        return self._moves.run(state, self._model.n_leaves)[0]

    def record(self, state: ChainState, out: npt.NDArray[np.int32]) -> None:
        self._moves.record(state, out)

    def pack(self, state: ChainState) -> dict[str, npt.NDArray[Any]]:
        return {"parent": state.tree.parent, "child": state.tree.child, "stream": state.stream}

    def unpack(self, arrays: Mapping[str, npt.NDArray[Any]]) -> ChainState:
        state = self._moves.start(Hierarchy.from_parents(_any_parents(self._model.n_leaves), self._model.labels), 0, 0)
        state.tree.parent[:], state.tree.child[:] = arrays["parent"], arrays["child"]
        state.stream[:] = arrays["stream"]
        self._moves.restate(state)
        return state


def _any_parents(n: int) -> list[int]:
    # Leaves joined one after the other.
    return [n, *range(n, 2 * n - 1), *range(n + 1, 2 * n - 1), -1] if n > 1 else [-1]


class HierarchyRun:
    """Chains that can go on: what `sample_hierarchies` starts, and `SampledPosterior.resume` continues."""

    def __init__(
        self,
        model: SplitModel,
        conditions: HierarchyConditions,
        *,
        n_chains: int,
        starts: Sequence[Hierarchy],
        seed: int,
        threads: int | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: bool | None,
    ) -> None:
        self.model, self.conditions = model, conditions
        self._threads, self._checkpoint, self._progress = threads, checkpoint, progress
        self._about = _fingerprint(model, conditions, n_chains, starts, seed)
        self.chains = Chains(_HierarchyChains(conditioned(model, conditions), starts, seed), n_chains)
        if checkpoint is not None and os.path.exists(checkpoint):
            self.chains.load(checkpoint, self._about)

    def go_on(self, seconds: float | None, sweeps: int | None, precision: float) -> SampledPosterior:
        """Let the chains run until their errors are small enough, they are so long, or the time is up."""
        threads = check_threads(self._threads)
        until = np.inf if seconds is None else time.monotonic() + seconds
        done = int(self.chains.sweeps.min())
        last = np.inf if sweeps is None else done + sweeps
        made = None
        title = f"sampling, n = {self.model.n_leaves}"
        with closing(Progress(title, seconds or 1.0, self._progress)) as bar, suppress(KeyboardInterrupt):
            self.chains.begin(threads)
            target = _FIRST
            while done < last:
                while target <= done:
                    target *= 2
                in_time = self.chains.advance(int(min(target, last)), threads, bar, until)
                done = int(self.chains.sweeps.min())
                self._save()
                if not in_time:
                    break
                made = SampledPosterior(self)
                bar.retitle(f"{title}: {made.progress_note()}")
                if made.verdict.converged and made.verdict.standard_error <= precision:
                    break
        if self.chains.n_kept < 8:
            raise ValueError(
                f"the chains were stopped after {self.chains.n_kept} sweeps, which is too early to say anything; "
                "allow for more time"
            )
        return SampledPosterior(self) if made is None or made.n_kept != self.chains.n_kept else made

    def _save(self) -> None:
        if self._checkpoint is not None:
            self.chains.save(self._checkpoint, self._about)


def sample_hierarchies(
    model: HierarchyModel,
    *,
    seconds: float | None = 60.0,
    sweeps: int | None = None,
    precision: float = 0.005,
    n_chains: int = 4,
    starts: Iterable[Hierarchy] = (),
    require: Iterable[Cluster] = (),
    forbid: Iterable[Cluster] = (),
    checkpoint: str | os.PathLike[str] | None = None,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> SampledPosterior:
    """The posterior over all hierarchies of the model's leaves, by Markov chains: every answer has an error.

    Several chains run side by side, each from a hierarchy of its own: those in `starts`, then hierarchies drawn alike
    from all and cooled down. They stop when they agree and every cluster's probability has a standard error of at most
    `precision`, after `seconds`, or after `sweeps` (of as many moves as there are leaves), whatever comes first; Ctrl-C
    stops them as well. The answer says whether they agree (`verdict`), and its `resume` lets them go on.

    The same `rng` gives the same chains on any number of threads; how long they are depends on the machine unless
    ``seconds=None``. With a `checkpoint` they are saved in that file on the way, and a run that finds the file goes on
    from there, with the same result as one that was never stopped.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.random.default_rng(0).normal(size=(30, 2)), beta=4.0)
    >>> post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=200)
    >>> post.n_chains, post.is_exact
    (4, False)
    """
    require_model(model, "hierarchies", all_known=True)
    if not model.is_compiled:
        raise TypeError(f"{model!r} cannot be sampled: its moves need a model of compiled functions, a SplitModel")
    check_seconds(seconds)
    if seconds is None and sweeps is None and not precision > 0.0:
        raise ValueError("sampling needs an end: give seconds, sweeps or a precision above 0")
    if sweeps is not None:
        check_integer("sweeps", sweeps, 8)
    given = list(starts)
    for start in given:
        require_binary(start)
    run = HierarchyRun(
        cast(SplitModel, model),
        HierarchyConditions(model.labels).and_also(require, forbid),
        n_chains=check_integer("n_chains", n_chains, 1),
        starts=given[:n_chains],
        seed=int(np.random.default_rng(rng).integers(2**63)),
        threads=threads,
        checkpoint=checkpoint,
        progress=progress,
    )
    return run.go_on(seconds, sweeps, precision)


def _fingerprint(
    model: SplitModel, conditions: HierarchyConditions, n_chains: int, starts: Sequence[Hierarchy], seed: int
) -> str:
    parts: list[bytes] = [type(model).__name__.encode(), *(label.encode() for label in model.labels)]
    parts += [array.tobytes() for array in (model.theta, model.additive, model.pairwise)]
    parts += [repr(sorted(map(sorted, groups))).encode() for groups in (conditions.required, conditions.forbidden)]
    parts += [start.to_newick().encode() for start in starts]
    parts.append(f"{n_chains} {seed}".encode())
    return hashlib.blake2b(b"\0".join(parts), digest_size=16).hexdigest()
