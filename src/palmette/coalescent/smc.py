"""Sequential Monte Carlo over coalescent histories: particles that are merged event by event, weighted, and resampled.

A particle is a set of lineages with their messages and ages. Every event chooses two of them and a duration from a
proposal q, and multiplies the weight by e^(−cδ) Z / q, c = m(m − 1)/2 for m lineages. The mean weight is an unbiased
estimate of the evidence, whichever proposal is used. Where leaves differ in age, m grows on the way, and so does c.

Particles go in several runs, which are resampled each by itself and so know nothing of each other. What resampling
leaves descends from a few *founders*, the particles after the first event; who descends from whom is kept, because the
error of everything is the spread between founders (`palmette.coalescent.founders`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats, Ints
from palmette.checks import check_choice, check_integer, check_points, seed_of
from palmette.coalescent.draws import CoalescentDraws
from palmette.coalescent.joint import log_roots
from palmette.coalescent.leaf_ages import check_leaf_ages
from palmette.coalescent.process import Prepared, Process, check_process
from palmette.coalescent.proposals import PROPOSALS, Pool, Swarm, advance, compiled_for, start, work_of
from palmette.coalescent.twins import refuse_twins
from palmette.coalescent.verdict import REMEDY, collapse, is_collapsed
from palmette.defaults import DEFAULTS
from palmette.errors import InfiniteDensity
from palmette.labels import check_labels, labels_of
from palmette.progress import Progress
from palmette.sampling.diagnostics import effective_number
from palmette.threads import Workers, check_threads

__all__ = ["RESAMPLINGS", "smc"]

RESAMPLINGS = ("stratified", "systematic", "multinomial")


def smc(
    x: npt.ArrayLike,
    process: Process,
    n_particles: int = DEFAULTS.n_particles,
    *,
    proposal: str = DEFAULTS.proposal,
    resampling: str = "stratified",
    resample_below: float = 0.5,
    n_runs: int = DEFAULTS.particle_runs,
    rng: np.random.Generator | int | None = None,
    labels: Iterable[str] | None = None,
    leaf_ages: npt.ArrayLike | None = None,
    threads: int | None = None,
    progress: bool | None = None,
) -> CoalescentDraws:
    """Weighted hierarchies with times from p(π | x), and an unbiased estimate of the evidence p(x).

    ``"prior-prior"``
        duration and pair from the prior; the data enter by the weight only. O(n D) for each particle.
    ``"prior-post"``
        the duration from the prior, the pair by how well it agrees then. O(n³ D).
    ``"post-post"``
        pair and duration from the posterior of the next event, given what has been merged. O(n³) integrals.
    ``"race"``
        every pair draws its own time, as if it were alone, and the earliest one happens; the other draws stay valid.
        O(n²) integrals.

    The `n_particles` are shared out to `n_runs` independent runs. A run is resampled when the effective number of its
    particles falls below `resample_below` of them, never after the last event. Runs count by their evidence, so
    that all together they are an unbiased estimate, too. Every probability has a standard error, from the spread
    between runs and within them, and `verdict` says whether they can be used at all; a warning says so if not.

    `leaf_ages` (n,) says how old leaves are, in the units of the ages of events, where they are not all of one age; the
    heights of leaves are these. A lineage is there from the age of its leaf on, and meets nobody before.

    The result does not depend on `threads`, and the same seed gives the same result.

    Rows that are the same, of one age and with a process whose leaves have no variance, have infinite density: give
    ``leaf_variance``.

    >>> import numpy as np, palmette as pal
    >>> x = np.array([[0.0, 0.0], [0.1, -0.1], [3.0, 3.0]])
    >>> found = pal.coalescent.smc(x, pal.coalescent.Brownian(), 200, rng=0)
    >>> found.cluster_probability([0, 1])
    Estimate(1 ± 0.0062)
    >>> print(found.verdict)
    usable; 200 particles in 4 runs: 197.5 of them independent, errors of 0.0062 or less
    """
    check_choice("proposal", proposal, PROPOSALS)
    check_choice("resampling", resampling, RESAMPLINGS)
    check_integer("n_particles", n_particles, 1)
    check_integer("n_runs", n_runs, 1)
    if not 0.0 <= resample_below <= 1.0:
        raise ValueError(f"resample_below is {resample_below!r}; expected a share of the particles, 0 to 1")
    check_process(process)
    prepared = process.prepare(x)
    names = check_labels(labels_of(x, labels), prepared.n_leaves)
    born = check_leaf_ages(leaf_ages, prepared.n_leaves)
    if process.leaf_variance == 0.0:
        remedy = "give the process a leaf_variance, or merge such rows"
        refuse_twins(check_points(x, "x", missing=True), names, remedy, born)
    generator = np.random.default_rng(rng)
    swarms = _Runs(prepared, born, int(n_particles), int(n_runs), proposal, seed_of(generator, bits=62))
    bar = Progress(f"particles, n = {prepared.n_leaves}", float(prepared.n_leaves), progress)
    with Workers(check_threads(threads), bar) as workers:
        for event in range(prepared.n_leaves - 1):
            swarms.advance(event, workers)
            if event < prepared.n_leaves - 2:
                swarms.resample(resampling, resample_below, generator)
    found = swarms.result(names, process)
    if is_collapsed(found.n_independent) and prepared.n_leaves > 2:
        warnings.warn(f"{collapse(len(found), found.n_independent)}; {REMEDY}", stacklevel=2)
    return found


class _Runs:
    """Particles, their weights, and what has been learned of the evidence; those of one run lie side by side."""

    def __init__(
        self, prepared: Prepared, leaf_ages: Floats, n_particles: int, n_runs: int, proposal: str, seed: int
    ) -> None:
        self._prepared, self._leaf_ages, self._proposal, self._seed = prepared, leaf_ages, proposal, seed
        since_youngest = leaf_ages - leaf_ages.min()
        self._process = compiled_for(prepared, proposal, bool(since_youngest.any()))
        self._pool, self._swarm = start(prepared, since_youngest, n_particles, proposal)
        self._founder = np.arange(n_particles)
        self._run = np.arange(n_particles) * min(n_runs, n_particles) // n_particles
        self._ranges = [slice(*np.searchsorted(self._run, [run, run + 1])) for run in range(self._run[-1] + 1)]
        self._log_weight = np.zeros(n_particles)  # since the last resampling
        self._log_evidence = np.full(n_particles, prepared.log_constant)  # of a run, up to then: in all its places
        self._n_effective: list[list[float]] = []  # of each run, after each event

    def advance(self, event: int, workers: Workers) -> None:
        """One event for every particle."""
        m, gain = self._prepared.n_leaves - event, np.empty_like(self._log_weight)
        state = (self._proposal, self._process, self._pool, self._swarm, m, self._seed, event)
        work = np.full(len(gain), work_of(self._prepared, self._proposal, m))
        workers.run(lambda first, last: advance(*state, first, last, gain), work)
        if np.isposinf(gain).any():
            raise InfiniteDensity(
                "two rows are the same, and a density is infinite; give the process a leaf_variance, or merge such rows"
            )
        self._log_weight += gain
        if self._log_weight.max() == -np.inf:
            raise ValueError("every particle has weight 0: the data are impossible under the process")
        self._n_effective.append([_n_effective(self._log_weight[own]) for own in self._ranges])

    def resample(self, how: str, below: float, generator: np.random.Generator) -> None:
        """Copies of particles by weight, in runs where few carry it all; the random numbers are drawn in any case."""
        size = len(self._log_weight)
        origin, u = np.arange(size), generator.random(size)
        is_due = False
        for own in self._ranges:
            log_weight = self._log_weight[own]
            if 0.0 < _n_effective(log_weight) < below * len(log_weight):
                self._log_evidence[own] += _log_mean(log_weight)
                origin[own] = own.start + _resampled(np.exp(log_weight - log_weight.max()), how, u[own])
                self._log_weight[own] = 0.0
                is_due = True
        if is_due:
            self._swarm = Swarm._make(array[origin] for array in self._swarm)
            self._founder = self._founder[origin]

    def result(self, labels: tuple[str, ...], process: Process) -> CoalescentDraws:
        """Every particle as a hierarchy."""
        n = self._prepared.n_leaves
        children, ages = _unrolled(self._pool, self._swarm.slot[:, :1], n)
        ages += self._leaf_ages.min()
        log_weights = self._log_evidence + self._log_weight
        if n == 1:
            log_weights += log_roots(self._prepared, self._prepared.leaves)
        n_effective = np.array(self._n_effective).reshape(n - 1, len(self._ranges)).T
        known = _log_mean(log_weights), n_effective, labels
        origin = self._run, self._founder, process
        return CoalescentDraws(children, ages, log_weights, *known, *origin, leaf_ages=self._leaf_ages)


def _unrolled(pool: Pool, roots: Ints, n: int) -> tuple[Ints, Floats]:
    # The events below each particle's last lineage, the most recent first. Lineages are numbered event by event, as
    # many to each as there are particles, and a history has one of every event.
    size = len(roots)
    lineage = np.empty((size, n - 1), dtype=np.int64)
    lineage[:, -1:] = roots
    for event in reversed(range(n - 1)):
        parts = pool.parts[lineage[:, event]]
        particle, side = np.nonzero(parts >= n)
        part = parts[particle, side]
        lineage[particle, (part - n) // size] = part
    children = pool.parts[lineage]
    return np.where(children < n, children, n + (children - n) // size), pool.age[lineage]


def _n_effective(log_weight: Floats) -> float:
    # 0 if no particle has any weight.
    top = log_weight.max()
    return 0.0 if top == -np.inf else effective_number(np.exp(log_weight - top))


def _log_mean(log_weight: Floats) -> float:
    top = float(log_weight.max())
    return top + math.log(float(np.exp(log_weight - top).mean()))


def _resampled(weight: Floats, how: str, u: Floats) -> Ints:
    # (size,): increasing numbers of particles, each about size · its share of the weight times.
    size = len(weight)
    offsets = u[0] if how == "systematic" else u
    points = np.sort(u) if how == "multinomial" else (np.arange(size) + offsets) / size
    edges = np.cumsum(weight)
    found = np.searchsorted(edges, points * edges[-1], side="right")
    kept: Ints = np.minimum(found, np.flatnonzero(weight)[-1])
    return kept
