"""One problem too large for the kernel of a batch: on the threads of a full trellis, by chains, or on a sparse trellis.

Its random numbers depend on (seed, stream) only, so an answer is the same whoever works it out, and in which company.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from palmette import search
from palmette.array_types import Floats, Ints
from palmette.defaults import DEFAULTS
from palmette.errors import ImpossibleData
from palmette.models.split_model import SplitModel
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.posterior.estimate import Estimate
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.sampling.annealed import anneal_hierarchies
from palmette.sampling.hierarchies.sample import HierarchyRun
from palmette.sampling.hierarchies.sampled import SampledPosterior

__all__ = ["Answer", "grow_one", "sample_one", "solve_one"]


class Answer(NamedTuple):
    """log Z with its error, the best hierarchy, draws, how far chains agree; empty arrays if nothing is possible."""

    log_partition: float
    error: float
    map_log_potential: float
    children: Ints  #: (n − 1, 2), or (0, 2)
    drawn: Ints  #: (draws, n − 1, 2), or (0, 0, 2)
    drawn_log_probs: Floats  #: (draws,), or (0,)
    r_hat: float


def _nothing(error: float) -> Answer:
    return Answer(-np.inf, error, -np.inf, np.empty((0, 2), int), np.empty((0, 0, 2), int), np.empty(0), 1.0)


def _stacked(merges: list[Ints]) -> Ints:
    return np.array(merges, dtype=np.int64) if merges else np.empty((0, 0, 2), dtype=np.int64)


def solve_one(model: SplitModel, n_draws: int, seed: int, stream: int, threads: int | None) -> Answer:
    """Exactly, in many short slices: Ctrl-C is heard on the way."""
    posterior = HierarchyPosterior(model, threads=threads, progress=False)
    return _asked(posterior, model, n_draws, np.random.default_rng([seed, stream]), error=0.0)


def grow_one(model: SplitModel, n_draws: int, seed: int, stream: int) -> Answer:
    """On a sparse trellis, grown: log Z is a lower bound, which an error of ∞ says."""
    rng = np.random.default_rng([seed, stream])
    posterior = search.posterior(model, exact_leaves=0, beyond="sparse", rng=rng, progress=False)
    return _asked(posterior, model, n_draws, rng, error=np.inf)


def _asked(
    posterior: HierarchyPosterior, model: SplitModel, n_draws: int, rng: np.random.Generator, error: float
) -> Answer:
    log_z = posterior.log_partition
    if log_z == -np.inf:
        return _nothing(error)
    best = posterior.map()
    draws = posterior.sample(n_draws, rng=rng)
    merges = _stacked([draw.children for draw in draws])
    return Answer(log_z, error, model.log_potential(best), best.children, merges, draws.log_probs, 1.0)


def sample_one(model: SplitModel, n_draws: int, seed: int, stream: int, threads: int | None, sweeps: int) -> Answer:
    """By chains of so many sweeps, and log Z by as many steps of annealed runs; −inf if none finds a hierarchy."""
    rng = np.random.default_rng([seed, stream])
    chain_seed, run_seed = (int(x) for x in rng.integers(2**63, size=2))
    try:
        posterior = _sampled(model, chain_seed, threads, sweeps)
    except ImpossibleData:
        return _nothing(error=np.inf)  # that none was found proves nothing
    best, top = posterior.best(1)[0]
    log_z = _log_partition(model, top, run_seed, threads, sweeps)
    chosen = rng.integers(posterior.n_chains * posterior.n_draws, size=n_draws)
    logs = np.minimum(posterior.log_potentials.reshape(-1)[chosen] - log_z.value, 0.0)
    merges = _stacked([posterior.trees[i].children for i in chosen.tolist()])
    return Answer(log_z.value, log_z.standard_error, top, best.children, merges, logs, posterior.verdict.r_hat)


def _sampled(model: SplitModel, seed: int, threads: int | None, sweeps: int) -> SampledPosterior:
    # Not `sample_hierarchies`, which takes Ctrl-C for a wish to see what is there.
    return HierarchyRun(
        model,
        HierarchyConditions(model.labels),
        n_chains=DEFAULTS.batch_chains,
        n_rungs=1,
        starts=(),
        seed=seed,
        threads=threads,
        checkpoint=None,
        progress=False,
    ).go_through(sweeps)


def _log_partition(model: SplitModel, top: float, seed: int, threads: int | None, steps: int) -> Estimate:
    try:
        runs = anneal_hierarchies(
            model, steps=steps, seconds=None, n_runs=DEFAULTS.batch_runs, rng=seed, threads=threads, progress=False
        )
    except ImpossibleData:
        return Estimate(top, "estimate", np.inf)  # chains found a hierarchy, so this is a lower bound
    return runs.log_partition
