"""Hierarchies drawn by Markov chains: for any number of leaves, and with errors that are said."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from palmette.budget import Budget
from palmette.checks import check_integer, seed_of
from palmette.clusters import Cluster
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_compiled
from palmette.models.split_model import HierarchyModel, SplitModel, require_binary
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.sampling.hierarchies.chain import HierarchyChains
from palmette.sampling.hierarchies.conditioned import conditioned
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.sampling.hierarchies.sampled import SampledPosterior
from palmette.sampling.hierarchies.tempering import TemperedChains
from palmette.sampling.run import Run, check_end, fingerprint

__all__ = ["HierarchyRun", "sample_hierarchies"]


class HierarchyRun(Run[SampledPosterior]):
    """Chains that can go on: what `sample_hierarchies` starts, and `SampledPosterior.resume` continues."""

    moves: HierarchyMoves

    def __init__(
        self,
        model: SplitModel,
        conditions: HierarchyConditions,
        *,
        n_chains: int,
        n_rungs: int,
        starts: Sequence[Hierarchy],
        seed: int,
        threads: int | None,
        checkpoint: str | os.PathLike[str] | None,
        progress: bool | None,
    ) -> None:
        self.model, self.conditions = model, conditions
        target = conditioned(model, conditions)
        single = n_rungs == 1 or model.n_leaves < 3
        more = [repr(sorted(map(sorted, groups))).encode() for groups in (conditions.required, conditions.forbidden)]
        more += [start.with_support({}).to_newick().encode() for start in starts]  # where one begins, not who says so
        kind = HierarchyChains(target, starts, seed) if single else TemperedChains(target, starts, seed, n_rungs)
        self._starts, self.n_rungs = starts, n_rungs
        super().__init__(
            kind,
            fingerprint(model, more, (n_chains, n_rungs, seed)),
            n_chains=n_chains,
            seed=seed,
            threads=threads,
            checkpoint=checkpoint,
            progress=progress,
        )

    def answer(self) -> SampledPosterior:
        """What the chains say now."""
        return SampledPosterior(self, self.model, self.conditions, self.n_rungs)

    @property
    def arguments(self) -> dict[str, Any]:
        """What it was made with; a copy is no longer tied to a file."""
        chains = {"n_chains": len(self.chains.states), "n_rungs": self.n_rungs, "starts": self._starts}
        how = {"seed": self.seed, "threads": self.threads, "checkpoint": None, "progress": self.progress}
        return {"model": self.model, "conditions": self.conditions, **chains, **how}


def sample_hierarchies(
    model: HierarchyModel,
    *,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    precision: float = DEFAULTS.precision,
    n_chains: int = DEFAULTS.n_chains,
    n_rungs: int = 1,
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
    from all and cooled down, of sixteen those that are farthest apart (fewer to choose from beyond 176 leaves). They
    stop when they agree and every cluster's probability has a standard error of at most `precision`, when `verdict` can
    just be told by the time `seconds` are up, or after `sweeps` (of as many moves as there are leaves), whatever comes
    first; Ctrl-C stops them as well. A start for each and a few sweeps are made in any case. The answer says whether
    they agree (`verdict`), and its `resume` lets them go on. Where they do not agree because each is frozen in a place
    of its own, `n_rungs` of 10 to 30 makes each chain of so many, at temperatures from the model's up, that exchange
    their states; a sweep then takes so many times longer.

    The same `rng` gives the same chains on any number of threads; how long they are depends on the machine unless
    ``seconds=None``. With a `checkpoint` they are saved in that file on the way, and a run that finds the file goes on
    from there, with the same result as one that was never stopped.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.random.default_rng(0).normal(size=(30, 2)), beta=4.0)
    >>> post = pal.sampling.sample_hierarchies(model, seconds=None, sweeps=200)
    >>> post.n_chains, post.is_exact
    (6, False)
    """
    compiled = require_compiled(model, SplitModel, "sampled")
    check_end(seconds, sweeps, precision)
    budget, given = Budget(seconds), list(starts)  # rungs are found before the chains begin
    for start in given:
        require_binary(start)
    run = HierarchyRun(
        compiled,
        HierarchyConditions(model.labels).and_also(require, forbid),
        n_chains=check_integer("n_chains", n_chains, 1),
        n_rungs=check_integer("n_rungs", n_rungs, 1),
        starts=given[:n_chains],
        seed=seed_of(rng),
        threads=threads,
        checkpoint=checkpoint,
        progress=progress,
    )
    return run.go_on(budget.seconds, sweeps, precision)
