"""Sampled posteriors as a search hands them out: from good starts, and at several temperatures if chains need them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np

from palmette.budget import Budget
from palmette.checks import seed_of
from palmette.defaults import DEFAULTS
from palmette.hierarchy import Hierarchy
from palmette.models.cluster_model import PartitionModel
from palmette.models.split_model import HierarchyModel
from palmette.models.tempered import Tempered
from palmette.progress import Progress
from palmette.sampling import SampledPartitions, SampledPosterior, at_perplexity, sample_hierarchies, sample_partitions
from palmette.search.greedy import greedy
from palmette.search.refine import FEW_ROUNDS, refine
from palmette.threads import Workers, default_threads

__all__ = ["Limits", "sampled_hierarchies", "sampled_partitions"]

_STEPS = 500  # of annealing, at least, if no clock says when to stop
_FINDING = 1 / 3  # of the time, to find β
_IMPROVING = 1 / 10  # of what is left then, for the start
_LOOKING = 1 / 3  # of what is left then, after which chains are looked at
_REFINING = 1 / 4  # of what is left then, if they are frozen
_COOLED = 500  # leaves; to cool more of them down from anywhere takes minutes, as their square
_TELLING = 40  # draws of each chain; fewer tell nothing of whether they are frozen
_FROZEN = 1.5  # R̂ of chains that each stay in a place of their own
_SLOW = 300.0  # sweeps for an effective draw of what moves least: a few rungs need fewer, their own number counted in
_FEW_RUNGS, _RUNGS = 4, 16  # where chains are slow, and where they are frozen
_LONG = 1e9  # nanoseconds of refining a chain's last hierarchy, or so: worth a thread of its own


class Limits(NamedTuple):
    """How long all of it may take, or how far chains run, and what their random numbers depend on."""

    budget: Budget  #: without end if sweeps say when to stop
    sweeps: int | None
    rng: np.random.Generator | int | None
    progress: bool | None


def sampled_hierarchies(
    model: HierarchyModel, perplexity: float | None, hierarchies: Iterable[Hierarchy], limits: Limits
) -> SampledPosterior:
    """Chains over hierarchies: one from the best of the greedy hierarchy and the given ones, refined.

    The others are cooled down from anywhere; of many leaves they begin at the greedy hierarchy and the given ones.

    A third of the time goes to single chains. If these are precise enough then, they are the answer. If they are slow,
    the rest goes to chains of a few rungs that begin where they are; if they are frozen, to chains of many, and each
    one's last hierarchy is refined before, by itself. Of the two answers the one whose chains agree better is returned.
    """
    seed, budget = seed_of(limits.rng, bits=62), limits.budget
    if perplexity is not None:
        some = budget.share(_FINDING).seconds
        steps = None if limits.sweeps is None else max(_STEPS, limits.sweeps)
        tempered = cast(Tempered, model)
        at_beta = at_perplexity(tempered, perplexity, steps=steps, seconds=some, rng=seed, progress=limits.progress)
        model = cast(HierarchyModel, at_beta)
    given = list(dict.fromkeys([greedy(model).hierarchy, *hierarchies]))
    start = max(given, key=model.log_potential)
    some = budget.share(_IMPROVING).seconds
    start = refine(model, start, seconds=some, rounds=FEW_ROUNDS, rng=seed, progress=limits.progress).hierarchy
    options: dict[str, Any] = {"starts": [start], "rng": seed, "progress": limits.progress}
    if model.n_leaves > _COOLED:
        options["starts"] = list(dict.fromkeys([start, *given]))
        options["n_chains"] = max(2, len(options["starts"]))
    if budget.seconds is None:
        return sample_hierarchies(model, seconds=None, sweeps=limits.sweeps, **options)
    first = sample_hierarchies(model, seconds=budget.share(_LOOKING).seconds, **options)
    n_rungs = _rungs_for(first) if first.n_draws >= _TELLING else 1
    if n_rungs == 1:
        return first if _is_precise(first) else first.resume(seconds=budget.seconds)
    ends = _ends(first)
    if n_rungs == _RUNGS:
        ends = _refined(model, ends, seed, budget.share(_REFINING).left, limits.progress)
    options |= {"starts": ends, "n_chains": first.n_chains, "n_rungs": n_rungs}
    rest = sample_hierarchies(model, seconds=budget.seconds, **options)
    return min(rest, first, key=lambda post: post.verdict.r_hat)


def _is_precise(post: SampledPosterior) -> bool:
    enough = post.n_draws >= _TELLING
    return enough and post.verdict.agree and post.verdict.standard_error <= DEFAULTS.precision


def _rungs_for(post: SampledPosterior) -> int:
    # Which chains to go on with: as they are, or of a few rungs if they are slow, of many if they are frozen.
    if post.verdict.r_hat >= _FROZEN:
        return _RUNGS
    sweeps = post.n_chains * post.n_draws * post.sweeps_per_draw
    return _FEW_RUNGS if sweeps > _SLOW * post.verdict.effective_size else 1


def _ends(post: SampledPosterior) -> list[Hierarchy]:
    # The last hierarchy of every chain.
    return [post.trees[(chain + 1) * post.n_draws - 1] for chain in range(post.n_chains)]


def _refined(
    model: HierarchyModel, ends: list[Hierarchy], seed: int, seconds: float, progress: bool | None
) -> list[Hierarchy]:
    # Each hierarchy refined for its share of so many seconds, knowing nothing of the others: if all come to the same
    # top, that says something. Cooling alone seldom finds the best top under a cost.
    threads, count = default_threads(), len(ends)
    share = seconds * min(threads, count) / count

    def refined(chain: int) -> Hierarchy:
        rng = np.random.default_rng([seed, chain])
        return refine(model, ends[chain], seconds=share, rng=rng, progress=False).hierarchy

    with Workers(threads, Progress("refining where chains are", _LONG * count, progress)) as workers:
        return workers.each(refined, count, _LONG)


def sampled_partitions(model: PartitionModel, hierarchies: Iterable[Hierarchy], limits: Limits) -> SampledPartitions:
    """Chains over partitions whose units are parts of the greedy hierarchy, or of the first of `hierarchies`."""
    reference = next(iter(hierarchies), None) or greedy(model).hierarchy
    options: dict[str, Any] = {"reference": reference, "rng": limits.rng, "progress": limits.progress}
    return sample_partitions(model, seconds=limits.budget.seconds, sweeps=limits.sweeps, **options)
