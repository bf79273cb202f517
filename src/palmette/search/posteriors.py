"""A posterior for any number of leaves: over everything if that can be summed, else sampled, or of chosen clusters."""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal, TypedDict, Unpack, cast, get_args, overload

import numpy as np

from palmette.budget import Budget
from palmette.checks import check_choice, check_integer, check_seconds
from palmette.defaults import DEFAULTS
from palmette.errors import TrellisTooLarge
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_model
from palmette.models.cluster_model import PartitionModel
from palmette.models.split_model import HierarchyModel
from palmette.models.tempered import Tempered
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.kinds import SomePosterior, posterior_of
from palmette.posterior.partitions import PartitionPosterior
from palmette.progress import phases
from palmette.sampling import SampledPartitions, SampledPosterior
from palmette.search.greedy import greedy
from palmette.search.grow import grow
from palmette.search.refine import FEW_ROUNDS, refine
from palmette.search.sampled_posteriors import Limits, sampled_hierarchies, sampled_partitions
from palmette.temperature.perplexity import at_perplexity
from palmette.trellis import SomeTrellis
from palmette.trellis.hierarchies.sparse import SparseTrellis
from palmette.trellis.partitions.sparse import PartitionTrellis

__all__ = ["Beyond", "posterior", "way_beyond"]

Beyond = Literal["sampled", "sparse"]
_Model = HierarchyModel | PartitionModel

_REGROWN = 2  # times: which clusters matter depends on β, and β on the clusters
_MOST_REMAINDERS = 100_000


class _Options(TypedDict, total=False):
    exact_leaves: int | None
    max_memory: int | None
    perplexity: float | None
    seconds: float | None
    sweeps: int | None
    hierarchies: Iterable[Hierarchy]
    min_share: float
    max_clusters: int
    rng: np.random.Generator | int | None
    progress: bool | None


@overload
def posterior(
    model: HierarchyModel, *, beyond: Literal["sparse"], n_clusters: None = ..., **options: Unpack[_Options]
) -> HierarchyPosterior: ...
@overload
def posterior(
    model: HierarchyModel, *, beyond: Beyond = ..., n_clusters: None = ..., **options: Unpack[_Options]
) -> HierarchyPosterior | SampledPosterior: ...
@overload
def posterior(
    model: PartitionModel, *, beyond: Literal["sparse"], n_clusters: int | None = ..., **options: Unpack[_Options]
) -> PartitionPosterior: ...
@overload
def posterior(
    model: PartitionModel, *, beyond: Beyond = ..., n_clusters: int | None = ..., **options: Unpack[_Options]
) -> PartitionPosterior | SampledPartitions: ...
def posterior(
    model: HierarchyModel | PartitionModel,
    *,
    exact_leaves: int | None = None,
    max_memory: int | None = None,
    perplexity: float | None = None,
    beyond: Beyond = DEFAULTS.beyond,
    seconds: float | None = DEFAULTS.seconds,
    sweeps: int | None = None,
    hierarchies: Iterable[Hierarchy] = (),
    min_share: float = DEFAULTS.min_share,
    max_clusters: int = DEFAULTS.max_clusters,
    n_clusters: int | None = None,
    rng: np.random.Generator | int | None = 0,
    progress: bool | None = None,
) -> SomePosterior | SampledPosterior | SampledPartitions:
    """The posterior over all hierarchies (or partitions) of the model's leaves: exact if it can be, sampled if not.

    Up to `exact_leaves` leaves everything is summed over and every answer is exact, unless the tables take more than
    `max_memory` bytes. None means 22 for partitions and separable models, 20 for others and 18 for a `SplitFunction`.
    Beyond, ``is_exact`` is False and there are two ways:

    - ``"sampled"``: Markov chains, for so many `sweeps` or until everything that is said here has taken `seconds`,
      with the first look at ``verdict``; every number has an error, and that says whether to believe it
      (`palmette.sampling`). Of hierarchies, chains begin at the best of the
      greedy one and `hierarchies`, refined, and at others that are cooled down, or of more than 500 leaves at all of
      these; should they be slow after a third of the time, or each frozen in a place of its own, the rest goes to
      chains of several temperatures. Of partitions, they move parts of the first of `hierarchies`, or of the
      greedy one.
    - ``"sparse"``: a trellis of chosen clusters. Answers are exact *given that the answer is in the trellis*, and log Z
      is a lower bound. One of hierarchies is grown by `grow`, with `min_share` and `max_clusters`, around the greedy
      hierarchy, the same refined, and `hierarchies`; partitions are made of clusters of the greedy hierarchy and of
      `hierarchies`, or of the best single one of these if what they make together is too much. What is not in it is not
      missed by anybody.

    A `SplitFunction` or `ClusterFunction`, which no chain can move in, and partitions with `perplexity` or `n_clusters`
    are sparse beyond the limit, whatever is asked for.

    `hierarchies` are other good ones, such as ``palmette.similarity.linkages(similarity, labels)``. With `perplexity`,
    β is solved for first: exactly, by annealing, or on the trellis, which is grown again at that β. `n_clusters`
    conditions a posterior over partitions, after β was found. The same `rng` gives the same result, but for how long
    chains are if the clock stops them.

    >>> import numpy as np, palmette as pal
    >>> points = np.random.default_rng(0).normal(size=(30, 2))
    >>> few, many = (pal.search.posterior(pal.models.SumOfSquares(points[:n]), sweeps=50) for n in (8, 30))
    >>> few.is_exact, many.is_exact
    (True, False)
    """
    require_model(model, wanted="a model, such as palmette.models.Dasgupta(similarity)")
    check_choice("beyond", beyond, get_args(Beyond))
    check_seconds(seconds)
    budget = Budget(seconds if sweeps is None else None)
    if n_clusters is not None and model.clusterings != "partitions":
        raise TypeError(f"n_clusters is {n_clusters!r}, but {model!r} is of hierarchies; leave it out, and cut the MAP")
    task = _Task(model, perplexity, n_clusters, {"max_memory": max_memory, "progress": progress})
    if model.n_leaves <= (
        model.exact_leaves if exact_leaves is None else check_integer("exact_leaves", exact_leaves, 0)
    ):
        with suppress(TrellisTooLarge):
            return task.exact()
    if way_beyond(model, beyond, perplexity=perplexity, n_clusters=n_clusters) == "sampled":
        limits = Limits(budget, sweeps, rng, progress)
        with phases():
            if model.clusterings == "hierarchies":
                return sampled_hierarchies(model, perplexity, hierarchies, limits)
            return sampled_partitions(model, hierarchies, limits)
    if model.clusterings == "partitions":
        return task.on(_chosen_partitions(model, hierarchies))
    first = greedy(model).hierarchy
    refined = refine(model, first, seconds=None, rounds=FEW_ROUNDS, rng=rng, progress=progress).hierarchy
    start = SparseTrellis.from_hierarchies([first, refined, *hierarchies])
    return task.grown(start, min_share=min_share, max_clusters=max_clusters)


def way_beyond(
    model: HierarchyModel | PartitionModel,
    beyond: Beyond,
    *,
    perplexity: float | None = None,
    n_clusters: int | None = None,
) -> Beyond:
    """How `posterior` goes on beyond the limit: as it is asked to, or "sparse" where chains cannot."""
    conditioned = model.clusterings == "partitions" and not (perplexity is None and n_clusters is None)
    return "sparse" if conditioned or not model.is_compiled else beyond


@dataclass(frozen=True, eq=False)
class _Task:
    """A model whose temperature may have to be found, and what its posterior is made with."""

    model: _Model
    perplexity: float | None
    n_clusters: int | None
    options: dict[str, Any]

    def exact(self) -> SomePosterior:
        # With the tables that every answer needs, so that it is known now whether there is memory for them.
        self.make(self.model)  # says at once if there is none for the first
        return _with_tables(self.on(None))

    def on(self, trellis: SomeTrellis | None) -> SomePosterior:
        return self.make(self.tempered(trellis), trellis)

    def grown(self, trellis: SparseTrellis, **limits: Any) -> SomePosterior:
        limits["progress"] = self.options["progress"]
        trellis = grow(cast(HierarchyModel, self.model), trellis, **limits)
        for _ in range(0 if self.perplexity is None else _REGROWN):
            trellis = grow(cast(HierarchyModel, self.tempered(trellis)), trellis, **limits)
        return self.on(trellis)

    def tempered(self, trellis: SomeTrellis | None) -> _Model:
        if self.perplexity is None:
            return self.model
        tempered, bar = cast(Tempered, self.model), self.options["progress"]
        return cast(_Model, at_perplexity(tempered, self.perplexity, trellis=trellis, progress=bar))

    def make(self, model: _Model, trellis: SomeTrellis | None = None) -> SomePosterior:
        made = posterior_of(model, trellis=trellis, **self.options)
        if self.n_clusters is None:
            return made
        return cast(PartitionPosterior, made).condition(n_clusters=self.n_clusters)


def _with_tables(made: SomePosterior) -> SomePosterior:
    if made.log_partition > -math.inf:
        made.map()
        made.cluster_probabilities(1.0)
    return made


def _chosen_partitions(model: PartitionModel, hierarchies: Iterable[Hierarchy]) -> PartitionTrellis:
    first = greedy(model).hierarchy
    assert first is not None
    several = [first, *hierarchies]
    try:
        return PartitionTrellis.from_hierarchies(several, max_remainders=_MOST_REMAINDERS)
    except TrellisTooLarge:  # log Z is a lower bound, so the largest is the best
        each = [PartitionTrellis.from_hierarchy(hierarchy) for hierarchy in several]
        return max(each, key=lambda trellis: PartitionPosterior(model, trellis=trellis, progress=False).log_partition)
