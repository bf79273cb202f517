"""Sampled posteriors as a search hands them out: from good starts, and at several temperatures if chains are frozen."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np

from palmette.hierarchy import Hierarchy
from palmette.models.tempered import Tempered
from palmette.progress import Progress
from palmette.sampling import SampledPartitions, SampledPosterior, at_perplexity, sample_hierarchies, sample_partitions
from palmette.search.greedy import greedy
from palmette.search.refine import refine
from palmette.threads import Workers, default_threads

__all__ = ["Limits", "sampled_hierarchies", "sampled_partitions"]

_ROUNDS = 2  # of refinement of the hierarchy that the first chain begins at
_SHARE = 1 / 3  # of the time, after which chains are looked at
_COOLED = 500  # leaves; to cool more of them down from anywhere takes minutes, as their square
_FROZEN = 1.5  # R̂ of chains that each stay in a place of their own
_RUNGS = 16
_REFINING = 1 / 6  # of the time
_LONG = 1e9  # nanoseconds of refining a chain's last hierarchy, or so: worth a thread of its own


class Limits(NamedTuple):
    """How long chains run, and what their random numbers depend on."""

    seconds: float | None
    sweeps: int | None
    rng: np.random.Generator | int | None
    progress: bool | None


def sampled_hierarchies(
    model: Any, perplexity: float | None, hierarchies: Iterable[Hierarchy], limits: Limits
) -> SampledPosterior:
    """Chains over hierarchies: one from the greedy hierarchy, refined, the others cooled down from anywhere.

    Of many leaves they begin at the greedy hierarchy, refined and as it is, and at the given ones.

    A third of the time goes to single chains. If these are frozen then, each chain's last hierarchy is refined by
    itself, and the rest of the time goes to chains of several rungs that begin there; of the two answers the one whose
    chains agree better is returned.
    """
    seed = int(np.random.default_rng(limits.rng).integers(2**62))
    seconds = limits.seconds if limits.sweeps is None else None
    if perplexity is not None:
        some = None if limits.seconds is None else _SHARE * limits.seconds
        tempered = cast(Tempered, model)
        model = at_perplexity(tempered, perplexity, seconds=some, rng=seed, progress=limits.progress)
    given = list(dict.fromkeys([greedy(model).hierarchy, *hierarchies]))
    start = max(given, key=model.log_potential)
    start = refine(model, start, seconds=None, rounds=_ROUNDS, rng=seed, progress=limits.progress).hierarchy
    options: dict[str, Any] = {"starts": [start], "rng": seed, "progress": limits.progress}
    if model.n_leaves > _COOLED:
        options["starts"] = list(dict.fromkeys([start, *given]))
        options["n_chains"] = max(2, len(options["starts"]))
    if seconds is None:
        return sample_hierarchies(model, seconds=None, sweeps=limits.sweeps, **options)
    first = sample_hierarchies(model, seconds=_SHARE * seconds, **options)
    if first.verdict.r_hat < _FROZEN:
        return first.resume(seconds=(1 - _SHARE) * seconds)
    begin = time.monotonic()
    options |= {"starts": _refined_ends(first, seed, _REFINING * seconds, limits.progress), "n_chains": first.n_chains}
    rest = max(0.0, (1 - _SHARE) * seconds - (time.monotonic() - begin))
    second = sample_hierarchies(model, seconds=rest, n_rungs=_RUNGS, **options)
    return min(second, first, key=lambda post: post.verdict.r_hat)


def _refined_ends(post: SampledPosterior, seed: int, seconds: float, progress: bool | None) -> list[Hierarchy]:
    # The last hierarchy of every chain, refined for its share of so many seconds, knowing nothing of the others: if all
    # come to the same top, that says something. Cooling alone seldom finds the best top under a cost.
    threads = default_threads()
    share = seconds * min(threads, post.n_chains) / post.n_chains

    def refined(chain: int) -> Hierarchy:
        end = post.trees[(chain + 1) * post.n_draws - 1]
        rng = np.random.default_rng([seed, chain])
        return refine(post.model, end, seconds=share, rng=rng, progress=False).hierarchy

    total = _LONG * post.n_chains
    with Workers(threads, Progress("refining where chains are", total, progress)) as workers:
        found = workers.run(lambda first, last: list(map(refined, range(first, last))), np.full(post.n_chains, _LONG))
    return list(itertools.chain.from_iterable(found))


def sampled_partitions(model: Any, hierarchies: Iterable[Hierarchy], limits: Limits) -> SampledPartitions:
    """Chains over partitions whose units are parts of the greedy hierarchy, or of the first of `hierarchies`."""
    reference = next(iter(hierarchies), None) or greedy(model).hierarchy
    seconds = limits.seconds if limits.sweeps is None else None
    options: dict[str, Any] = {"reference": reference, "rng": limits.rng, "progress": limits.progress}
    return sample_partitions(model, seconds=seconds, sweeps=limits.sweeps, **options)
