"""Sampled posteriors as a search hands them out: from good starts, and at several temperatures if chains are frozen."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import numpy as np

from palmette.hierarchy import Hierarchy
from palmette.models.tempered import Tempered
from palmette.sampling import SampledPartitions, SampledPosterior, at_perplexity, sample_hierarchies, sample_partitions
from palmette.search.greedy import greedy
from palmette.search.refine import refine

__all__ = ["Limits", "sampled_hierarchies", "sampled_partitions"]

_ROUNDS = 2  # of refinement of the hierarchy that the first chain begins at
_SHARE = 1 / 3  # of the time, after which chains are looked at
_COOLED = 500  # leaves; to cool more of them down from anywhere takes minutes, as their square
_FROZEN = 1.5  # R̂ of chains that each stay in a place of their own
_RUNGS = 16


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

    A third of the time goes to single chains. If these are frozen then, the rest goes to chains of several rungs; of
    the two answers the one whose chains agree better is returned.
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
    second = sample_hierarchies(model, seconds=(1 - _SHARE) * seconds, n_rungs=_RUNGS, **options)
    return min(first, second, key=lambda post: post.verdict.r_hat)


def sampled_partitions(model: Any, hierarchies: Iterable[Hierarchy], limits: Limits) -> SampledPartitions:
    """Chains over partitions whose units are parts of the greedy hierarchy, or of the first of `hierarchies`."""
    reference = next(iter(hierarchies), None) or greedy(model).hierarchy
    seconds = limits.seconds if limits.sweeps is None else None
    options: dict[str, Any] = {"reference": reference, "rng": limits.rng, "progress": limits.progress}
    return sample_partitions(model, seconds=seconds, sweeps=limits.sweeps, **options)
