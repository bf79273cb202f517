"""log Z with an error, by annealed importance sampling: from all hierarchies, or partitions, alike to the posterior.

A run begins at one drawn alike from all N there are, (2n − 3)!! hierarchies or B(n) partitions, and is led through
p_t ∝ φ^t from t = 0 to 1 in small steps, a sweep at each. With w = exp(Σ (t_{k+1} − t_k) log φ(H_k)), the mean of w
over runs is Z / N, without bias however short the sweeps are; shorter ones only make w vary more. The same runs tell Z,
the mean of log φ and so the entropy log Z(t) − t E_t[log φ] at every t on the way. What is impossible costs a penalty
that grows to infinity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from palmette.array_types import Floats, Ints
from palmette.budget import Budget, now
from palmette.checks import check_integer, check_seconds, seed_of
from palmette.clusters import Cluster
from palmette.defaults import DEFAULTS
from palmette.drawing.cards import card
from palmette.errors import ImpossibleData
from palmette.hierarchy import Hierarchy
from palmette.models.base import require_compiled
from palmette.models.cluster_model import ClusterModel, PartitionModel
from palmette.models.split_model import HierarchyModel, SplitModel
from palmette.passes.hierarchies.conditions import HierarchyConditions
from palmette.posterior.estimate import Estimate
from palmette.progress import Progress
from palmette.sampling.chance import ANNEALED
from palmette.sampling.diagnostics import effective_number
from palmette.sampling.hierarchies.conditioned import conditioned
from palmette.sampling.hierarchies.moves import HierarchyMoves
from palmette.sampling.ladder import Pilot, fewest_sweeps, pilot
from palmette.sampling.partitions.moves import PartitionMoves
from palmette.sampling.partitions.reference import reference_of
from palmette.sampling.tempered_moves import HARSHEST, TemperedMoves
from palmette.threads import Workers, check_threads

__all__ = ["Annealed", "anneal", "anneal_hierarchies", "anneal_partitions", "anneal_within"]

_VARIANCE = 0.02  # of log w that steps are made for, if a sweep forgot everything; it comes out ten times as large
_FEWEST, _MOST = 50, 1_000_000  # steps
_FEWEST_RUNS = 8  # by fewer the error is not known
_LOOKING, _SURE = 0.25, 0.9  # of the time, for a look at how log φ changes; of what is left then, for steps
_LARGEST = 700.0  # of a variance: its exponential is still a number
_NEAR = 0.05  # relative: t that tell about each other's E[log φ]


@dataclass(frozen=True)
class Annealed:
    """What runs of annealed importance sampling tell about p_t ∝ φ^t at rising t, the last one being 1.

    All arrays have an entry for each t; errors are standard errors, from the spread between runs.
    """

    tempers: Floats
    log_weights: Floats
    """(runs, t): log w of each run, up to each t."""
    log_potentials: Floats
    """(runs, t): log φ of what each run had come to; −inf if that is impossible."""
    log_count: float
    """log of how many hierarchies, (2n − 3)!!, or partitions, B(n), there are, which is log Z at t = 0."""

    def _repr_html_(self) -> str:
        facts = [("log Z", f"{self.log_partition:.6g}"), ("entropy", f"{self.entropy:.6g}")]
        runs, steps = self.log_weights.shape
        return card("Annealed", [*facts, ("runs", f"{runs}, effectively {self.effective_runs:.1f}"), ("steps", steps)])

    def __repr__(self) -> str:
        return f"Annealed(log_partition={self.log_partition:.6g}, {len(self.log_weights)} runs)"

    @property
    def log_partition(self) -> Estimate:
        """log Z at t = 1."""
        return self.log_partition_at(len(self.tempers) - 1)

    @property
    def entropy(self) -> Estimate:
        """−Σ p(H) log p(H) at t = 1, in nats."""
        return self.entropy_at(len(self.tempers) - 1)

    @property
    def effective_runs(self) -> float:
        """(Σ w)² / Σ w² at t = 1: if it is far below the number of runs, more steps are needed."""
        return effective_number(_relative(self.log_weights[:, -1]))

    def log_partition_at(self, k: int) -> Estimate:
        """log Z at tempers[k]."""
        return Estimate(self._log_partition(self.log_weights[:, k]), "estimate", self._error(k))

    def entropy_at(self, k: int) -> Estimate:
        """The entropy at tempers[k]."""
        # E[log φ] is averaged over neighbouring t as well, as many above as below: it is nearly straight there.
        reach = min(k, len(self.tempers) - 1 - k)
        near = np.abs(self.tempers - self.tempers[k]) <= _NEAR * self.tempers[k]
        reach = min(reach, int(near[: k + 1].sum()) - 1, int(near[k:].sum()) - 1)
        window = slice(k - reach, k + reach + 1)

        def value(runs: Ints) -> float:
            weights = _relative(self.log_weights[runs, window])
            log_phi = np.where(weights > 0.0, self.log_potentials[runs, window], 0.0)
            mean = float(((weights * log_phi).sum(axis=0) / weights.sum(axis=0)).mean())
            return self._log_partition(self.log_weights[runs, k]) - float(self.tempers[k]) * mean

        everything, error = np.arange(len(self.log_weights)), math.inf
        if (self.log_weights[:, k] > -np.inf).sum() > 1:  # else nothing is left without the one that ends possible
            leaving_out = np.array([value(np.delete(everything, i)) for i in everything])
            error = math.sqrt((len(everything) - 1) * float(leaving_out.var()))
        return Estimate(max(0.0, value(everything)), "estimate", error)

    def _log_partition(self, logs: Floats) -> float:
        # log(N · mean of w).
        return self.log_count + float(logs.max()) + math.log(float(_relative(logs).mean()))

    def _error(self, k: int) -> float:
        # Of log(mean of w): from the weights themselves, and as if they were log-normal above their median, which sees
        # a tail that few runs have come upon.
        logs = self.log_weights[:, k]
        weights = _relative(logs)
        seen = float(weights.std(ddof=1) / weights.mean())
        gaps = logs[logs > -np.inf] - np.median(logs[logs > -np.inf])
        tail = math.sqrt(math.expm1(min(float((gaps[gaps >= 0.0] ** 2).mean()), _LARGEST)))
        return max(seen, tail) / math.sqrt(len(logs))


def _relative(logs: Floats) -> Floats:
    # Weights up to a factor for each column.
    return np.asarray(np.exp(logs - logs.max(axis=0)))


def anneal_hierarchies(
    model: HierarchyModel,
    *,
    steps: int | None = None,
    seconds: float | None = DEFAULTS.annealing_seconds,
    n_runs: int = DEFAULTS.annealing_runs,
    last: float = 1.0,
    require: Iterable[Cluster] = (),
    forbid: Iterable[Cluster] = (),
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Annealed:
    """log Z, entropy and log Z at smaller t of a model of any number of leaves, each with an error.

    `n_runs` independent runs of as many `steps` as make the weights vary little, or as there is time for in `seconds`.
    There are 50 at least, and once the time is up no further run begins if there are eight.
    The same `rng` and `steps` give the same result on any number of threads. Should ``effective_runs`` be small, the
    error is large and says so: take more steps.

    >>> import numpy as np, palmette as pal
    >>> model = pal.models.SumOfSquares(np.random.default_rng(0).normal(size=(8, 2)))
    >>> found = pal.sampling.anneal_hierarchies(model, steps=100).log_partition
    >>> abs(float(found) - pal.HierarchyPosterior(model).log_partition) < 4 * found.standard_error
    True
    """
    compiled = require_compiled(model, SplitModel, "annealed")
    conditions = HierarchyConditions(model.labels).and_also(require, forbid)
    moves = HierarchyMoves(conditioned(compiled, conditions))
    return anneal(
        moves, steps=steps, seconds=seconds, n_runs=n_runs, last=last, rng=rng, threads=threads, progress=progress
    )


def anneal_partitions(
    model: PartitionModel,
    *,
    steps: int | None = None,
    seconds: float | None = DEFAULTS.annealing_seconds,
    n_runs: int = DEFAULTS.annealing_runs,
    last: float = 1.0,
    reference: Hierarchy | None = None,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Annealed:
    """log Z, entropy and log Z at smaller t of a model of partitions, each with an error; as `anneal_hierarchies`.

    Runs begin at partitions drawn alike from all, which have a great many clusters: of thousands of leaves it takes
    more steps than anybody waits for to get from there to a few clusters, and then the error says so. `reference` is
    that of `sample_partitions`.

    >>> import numpy as np, palmette as pal
    >>> w = np.random.default_rng(0).normal(size=(8, 8))
    >>> model = pal.models.CorrelationClusters(w + w.T)
    >>> found = pal.sampling.anneal_partitions(model, steps=100).log_partition
    >>> abs(float(found) - pal.PartitionPosterior(model).log_partition) < 4 * found.standard_error
    True
    """
    compiled = require_compiled(model, ClusterModel, "annealed")
    moves = PartitionMoves(compiled, reference_of(compiled, reference))
    return anneal(
        moves, steps=steps, seconds=seconds, n_runs=n_runs, last=last, rng=rng, threads=threads, progress=progress
    )


def anneal(
    moves: TemperedMoves[Any],
    *,
    steps: int | None = None,
    most: int = _MOST,
    seconds: float | None = DEFAULTS.annealing_seconds,
    n_runs: int = DEFAULTS.annealing_runs,
    last: float = 1.0,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Annealed:
    """What `anneal_hierarchies` and `anneal_partitions` give, by given moves; by the clock, `most` steps."""
    check_seconds(seconds)
    check_integer("n_runs", n_runs, 2)
    budget = Budget(seconds if steps is None else None)
    runs = _Runs(moves, budget, n_runs, last, seed_of(rng, bits=62), check_threads(threads), progress)
    if steps is None:
        found, affordable = runs.look()
        steps = int(max(_FEWEST, min(found.length(last=last) ** 2 / _VARIANCE, affordable, most)))
    else:
        found = pilot(moves, runs.seed, last=last)
    return runs.through(found.steps(check_integer("steps", steps, 1), last=last))


def anneal_within(
    moves: TemperedMoves[Any],
    budget: Budget,
    *,
    n_runs: int = DEFAULTS.annealing_runs,
    rng: np.random.Generator | int | None = 0,
    threads: int | None = None,
    progress: bool | None = None,
) -> Annealed | None:
    """What `anneal` gives, or None if fewer than 50 steps can be afforded."""
    runs = _Runs(moves, budget, n_runs, 1.0, seed_of(rng, bits=62), check_threads(threads), progress)
    if budget.is_spent or budget.left < runs.least_time():
        return None
    found, affordable = runs.look()
    if affordable < _FEWEST:
        return None
    steps = int(max(_FEWEST, min(found.length() ** 2 / _VARIANCE, affordable, _MOST)))
    return runs.through(found.steps(steps))


@dataclass(frozen=True, eq=False)
class _Runs:
    """Runs of annealing, which stop when a budget is spent."""

    moves: TemperedMoves[Any]
    budget: Budget
    n_runs: int
    last: float
    seed: int
    threads: int
    progress: bool | None

    def least_time(self) -> float:
        """Seconds that the shortest look and the fewest steps take, by a sweep at t = 1."""
        state = self.moves.anywhere(np.random.default_rng(0), self.seed, 0)
        self.moves.run(state, self.moves.n_moves)  # the first one may have to be read from disk
        begin = now()
        self.moves.run(state, self.moves.n_moves)
        return (now() - begin) * (fewest_sweeps() + _FEWEST * self.n_runs / self.threads)

    def look(self) -> tuple[Pilot, float]:
        """How log φ changes with t, and how many steps there is time for by how long that took."""
        begin = now()
        found = pilot(self.moves, self.seed, last=self.last, budget=self.budget.share(_LOOKING))
        pace = max((now() - begin) / found.sweeps, 1e-9)
        return found, _SURE * self.budget.left * self.threads / (self.n_runs * pace)

    def through(self, tempers: Floats) -> Annealed:
        """Runs through these t."""
        n, begun = self.moves.model.n_leaves, min(self.n_runs, _FEWEST_RUNS)

        def one(run: int) -> tuple[Floats, Floats] | None:
            is_late = run >= begun and self.budget.is_spent
            return None if is_late else _one(self.moves, tempers, self.seed, run)

        bar = Progress(f"annealing, n = {n}", self.n_runs * 4e7, self.progress)
        with closing(bar), Workers(self.threads, bar) as workers:
            made = workers.each(one, self.n_runs, 4e7)
        both = np.array([run for run in made if run is not None])
        if not (both[:, 0, -1] > -np.inf).any():
            thing = {"hierarchies": "hierarchy", "partitions": "partition"}[self.moves.model.clusterings]
            raise ImpossibleData(
                f"none of {len(both)} runs found a {thing} of these {n} leaves that {self.moves.model!r} allows"
            )
        return Annealed(tempers, both[:, 0], both[:, 1], self.moves.log_count)


def _one(moves: TemperedMoves[Any], tempers: Floats, seed: int, number: int) -> tuple[Floats, Floats]:
    # log w and log φ at every t of one run.
    state = moves.anywhere(np.random.default_rng([seed, number]), seed, ANNEALED + number)
    penalties = HARSHEST * np.linspace(0.0, 1.0, len(tempers)) ** 2
    log_w, log_ws, log_phis = 0.0, np.empty(len(tempers)), np.empty(len(tempers))
    value, impossible = moves.restate(state)
    for k, (temper, penalty) in enumerate(zip(tempers.tolist(), penalties.tolist(), strict=True)):
        if k > 0:
            log_w += (temper - tempers[k - 1]) * value - (penalty - penalties[k - 1]) * impossible
            value, impossible = moves.run(state, moves.n_moves, temper, penalty)
        log_ws[k] = log_w
        log_phis[k] = -np.inf if impossible else value
    log_ws[-1] = -np.inf if impossible else log_w
    return log_ws, log_phis
