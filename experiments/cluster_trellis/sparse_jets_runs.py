"""Jets in three orders of their leaves, trellises of other jets' hierarchies, and what these find and miss."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import common
import numpy as np
import numpy.typing as npt
from common import Floats

import palmette as pal

Ints = npt.NDArray[np.int64]
ORDERS = ("momentum", "random", "traversal")
SOURCES = ("simulator", "beam search")
TARGET = 0.02  # the sparsity at which the paper sees sparse trellises overtake beam search


# Jets and orders of their leaves.


@dataclass(frozen=True)
class Event:
    """A jet whose leaves are numbered by rising |p|, and a hierarchy of it from each source."""

    momenta: Floats
    hierarchies: dict[str, pal.Hierarchy]
    orders: dict[tuple[str, str], Ints]  # by source and order: the leaf at each rank


@dataclass(frozen=True)
class Jets:
    """Jets to test on, others to build trellises from, and the parameters of the model."""

    test: list[Event]
    train: list[Event]
    law: dict[str, float]

    def models(self, source: str, order: str) -> list[pal.models.Ginkgo]:
        """A model for each test jet, its leaves in this order."""
        return [pal.models.Ginkgo(e.momenta[e.orders[source, order]], **self.law) for e in self.test]

    def trellis(self, source: str, order: str, count: int) -> pal.SparseTrellis:
        """The observed splits of the hierarchies of the first `count` training jets, leaves named by rank."""
        chosen = self.train[:count]
        given = [e.hierarchies[source] for e in chosen]
        return pal.SparseTrellis.from_hierarchies(given, orders=[e.orders[source, order] for e in chosen])


def event(jet: pal.simulate.Jet, law: dict[str, float], rng: np.random.Generator) -> Event:
    """The beam search sees leaves by rising |p|, so that no number tells it anything about the shower."""
    by_momentum = np.argsort(np.linalg.norm(jet.momenta[:, 1:], axis=1), kind="stable")
    momenta = jet.momenta[by_momentum]
    truth, found = jet.hierarchy.ranked(by_momentum), pal.search.beam(pal.models.Ginkgo(momenta, **law)).hierarchy
    hierarchies = dict(zip(SOURCES, (truth, found), strict=True))
    orders: dict[tuple[str, str], Ints] = {}
    for source, hierarchy in hierarchies.items():
        orders[source, "momentum"] = np.arange(len(momenta))
        orders[source, "random"] = rng.permutation(len(momenta))
        orders[source, "traversal"] = hierarchy.leaf_order
    return Event(momenta, hierarchies, orders)


def simulate(n_test: int, n_train: int, leaves: int, preset: str = "qcd", seed: int = 0) -> Jets:
    """All of one simulation, so that no jet is in both."""
    jets = pal.simulate.ginkgo(n_test + n_train, preset=preset, min_leaves=leaves, max_leaves=leaves, rng=seed)
    law = jets.law
    rng = np.random.default_rng(seed)
    events = [event(jet, law, rng) for jet in jets]
    return Jets(events[:n_test], events[n_test:], law)


# Without a sparse trellis.


@dataclass(frozen=True)
class Reference:
    """log Z and MAP of each test jet on the full trellis, and what searches and the truth have; (jets,) each."""

    log_partition: Floats
    best: Floats
    others: dict[str, Floats]  # log likelihoods minus the exact ones, by name
    seconds: dict[str, float]  # for one jet

    @property
    def goal(self) -> float:
        """What beam search misses on average: the level to beat."""
        return float(self.others["beam search"].mean())


def reference(jets: Jets) -> Reference:
    """Exact answers, greedy, beam search and the hierarchy that made the jet."""
    given = jets.models("beam search", "momentum")
    searches: dict[str, Callable[[Any], float]] = {
        "exact": lambda model: best_on(model, None),
        "greedy": lambda model: pal.search.greedy(model).log_potential,
        "beam search": lambda model: pal.search.beam(model).log_potential,
    }
    values, seconds = {}, {}
    for name, search in searches.items():
        values[name], seconds[name] = timed(search, given)
    truths = [model.log_potential(e.hierarchies["simulator"]) for model, e in zip(given, jets.test, strict=True)]
    values["true hierarchy"] = np.array(truths)
    best = values.pop("exact")
    others = {name: value - best for name, value in values.items()}
    return Reference(pal.batch.infer(given).log_partition, best, others, seconds)


def timed(search: Callable[[Any], float], given: Sequence[Any]) -> tuple[Floats, float]:
    """What a search finds for each model, and the median of its seconds, each the least of three after compiling."""
    search(given[0])
    values, seconds = np.empty(len(given)), np.full(len(given), np.inf)
    for k, model in enumerate(given):
        for _ in range(3):
            started = time.perf_counter()
            values[k] = search(model)
            seconds[k] = min(seconds[k], time.perf_counter() - started)
    return values, float(np.median(seconds))


def best_on(model: Any, trellis: pal.SparseTrellis | None) -> float:
    """The log likelihood of the MAP; −inf if the trellis has nothing possible."""
    try:
        return float(model.log_potential(pal.HierarchyPosterior(model, trellis=trellis, threads=1).map()))
    except pal.ImpossibleData:
        return -np.inf


@dataclass(frozen=True)
class Gaps:
    """Table 1: differences of log likelihoods of jets of 5 to 10 leaves, (jets,) each, by name."""

    trellis_beam: Floats
    trellis_greedy: Floats
    beam_greedy: Floats


def table1(n_jets: int, preset: str, seed: int) -> Gaps:
    """Exact MAP, beam search and greedy on jets of all sizes that the paper takes."""
    jets = pal.simulate.ginkgo(n_jets, preset=preset, min_leaves=5, max_leaves=10, rng=seed)
    given = [pal.models.Ginkgo(jet.momenta, **jets.law) for jet in jets]
    exact = np.array([best_on(model, None) for model in given])
    beam = np.array([pal.search.beam(model).log_potential for model in given])
    greedy = np.array([pal.search.greedy(model).log_potential for model in given])
    return Gaps(exact - beam, exact - greedy, beam - greedy)


# With one.


@dataclass(frozen=True)
class Point:
    """A trellis of so many training hierarchies, and what it misses on each test jet: (jets,), at most 0."""

    source: str
    order: str
    count: int
    trellis: pal.SparseTrellis
    best: Floats  # MAP log likelihood minus the exact one
    log_partition: Floats
    seconds: float  # for one MAP

    @cached_property
    def sparsity(self) -> float:
        return float(self.trellis.sparsity)

    @property
    def n_impossible(self) -> int:
        """The test jets none of whose hierarchies in the trellis is possible."""
        return int(np.isneginf(self.best).sum())


def run_point(jets: Jets, exact: Reference, source: str, order: str, count: int) -> Point:
    """Build once, run on all test jets."""
    trellis, given = jets.trellis(source, order, count), jets.models(source, order)
    best, seconds = timed(lambda model: best_on(model, trellis), given)
    log_z = np.array([pal.HierarchyPosterior(model, trellis=trellis).log_partition for model in given])
    return Point(source, order, count, trellis, best - exact.best, log_z - exact.log_partition, seconds)


def fewest(most: int, is_enough: Callable[[int], bool]) -> int:
    """The least of 1 … most that is enough, if all above it are as well; `most` if none is.

    >>> fewest(100, lambda count: count * count > 50)
    8
    """
    low, high = 1, most
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle + 1, high)
    return low


def at_sparsity(jets: Jets, exact: Reference, source: str, order: str, sparsity: float) -> Point:
    """The trellis of the fewest first hierarchies that has this sparsity; of all of them if none has."""
    count = fewest(len(jets.train), lambda count: jets.trellis(source, order, count).sparsity >= sparsity)
    return run_point(jets, exact, source, order, count)


def crossing(jets: Jets, exact: Reference, source: str, order: str) -> Point:
    """The trellis of the fewest first hierarchies that beats beam search on average; of all of them if none does.

    A trellis of more hierarchies holds that of fewer, so its MAP is never worse.
    """
    given = jets.models(source, order)

    def is_enough(count: int) -> bool:
        trellis = jets.trellis(source, order, count)
        return float(np.mean([best_on(model, trellis) for model in given] - exact.best)) > exact.goal

    return run_point(jets, exact, source, order, fewest(len(jets.train), is_enough))


@dataclass(frozen=True)
class Curves:
    """Both sources, all orders: trellises of given numbers of hierarchies, of 2 %, and the first above beam search."""

    points: list[Point]
    targets: list[Point]
    crossings: list[Point]


def curves(jets: Jets, exact: Reference, counts: Sequence[int]) -> Curves:
    """Everything that is drawn."""
    kinds = [(source, order) for source in SOURCES for order in ORDERS]
    points = [run_point(jets, exact, *kind, count) for kind in kinds for count in counts]
    targets = [at_sparsity(jets, exact, *kind, TARGET) for kind in kinds]
    return Curves(points, targets, [crossing(jets, exact, *kind) for kind in kinds])


# Grown.


@dataclass(frozen=True)
class Grown:
    """A trellis grown for each test jet from its greedy hierarchy; (jets,) each."""

    best: Floats  # minus the exact one
    log_partition: Floats
    n_splits: Ints
    sparsity: Floats

    @property
    def n_found(self) -> int:
        """The jets whose exact MAP was found."""
        return int((self.best > -common.TIED).sum())


def grow(jets: Jets, exact: Reference, min_share: float) -> Grown:
    """`pal.search.grow` on every test jet."""
    given = jets.models("beam search", "momentum")
    starts = [pal.SparseTrellis.from_hierarchies([pal.search.greedy(model).hierarchy]) for model in given]
    trellises = [pal.search.grow(model, t, min_share=min_share) for model, t in zip(given, starts, strict=True)]
    posteriors = [pal.HierarchyPosterior(model, trellis=t) for model, t in zip(given, trellises, strict=True)]
    best = np.array([posterior.model.log_potential(posterior.map()) for posterior in posteriors])
    log_z = np.array([posterior.log_partition for posterior in posteriors])
    splits = np.array([trellis.n_splits for trellis in trellises])
    sparsity = np.array([float(trellis.sparsity) for trellis in trellises])
    return Grown(best - exact.best, log_z - exact.log_partition, splits, sparsity)


def all_splits(leaves: int) -> int:
    """(3^n − 2^(n+1) + 1) / 2, those of the full trellis."""
    return int((3**leaves - 2 ** (leaves + 1) + 1) // 2)
