"""Jets that a shower is fitted to: which of them, how they were selected, and their log likelihood under a law.

    log L = Σ log Z(jet) − Σ log P(kept | mass² of the jet)

A jet is kept if its number of particles lies within two bounds; without any, P = 1.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.batch.problems import Problems
from palmette.batch.sums import log_partitions
from palmette.checks import check_integer
from palmette.defaults import DEFAULTS
from palmette.jets._sizes import size_probabilities
from palmette.jets.jet import Jets
from palmette.models.ginkgo import Ginkgo
from palmette.models.particles import jet_errors, masses_squared

__all__ = ["Sample", "Usable", "left_out_text", "usable"]

_ANY = 1.0  # what is impossible under one rate is so under all
_ROUNDING = 1e-14  # of E²: what two ways to compute a mass² differ by
_MASSLESS = 1e-6  # of the mass² of a jet


class Usable(NamedTuple):
    """The jets that can be summed over."""

    jets: Jets
    leaves: tuple[int, int | None]
    """The numbers of particles that they were selected by; None: there is no largest one."""
    left_out: dict[str, int]
    """How many there were beside, and why."""


def usable(jets: Jets, min_leaves: int | None, max_leaves: int | None) -> Usable:
    """Jets that are not broken, of `min_leaves` to `max_leaves` particles; unless given, what the jets know of it."""
    fewest, most = jets.leaf_bounds or (1, None)
    fewest = fewest if min_leaves is None else check_integer("min_leaves", min_leaves, 1)
    most = most if max_leaves is None else check_integer("max_leaves", max_leaves, fewest)
    errors = jet_errors(jets.momenta, jets.offsets)
    left_out: dict[str, int] = {}
    for error in filter(None, errors):
        kind = error.partition(":")[0]
        left_out[kind] = left_out.get(kind, 0) + 1
    kept = np.array([error is None for error in errors], dtype=bool)
    few, many = kept & (jets.n_leaves < fewest), kept & (jets.n_leaves > (np.inf if most is None else most))
    for words, beyond in ((f"fewer than {fewest} particles", few), (f"more than {most} particles", many)):
        if beyond.any():
            left_out[words] = int(beyond.sum())
    used = jets[kept & ~few & ~many]
    if not (used.n_leaves > 1).any():
        raise ValueError(f"there is no jet of two particles or more to fit a shower to{left_out_text(left_out)}")
    most_summed = DEFAULTS.refitted_leaves
    large = int((used.n_leaves > most_summed).sum())
    if large:
        raise ValueError(
            f"{large:,} of {len(used):,} jets have more than {most_summed} particles, which takes too long to sum over "
            "again and again; leave them out with max_leaves, say 12: the fit takes account of that"
        )
    return Usable(used, (fewest, most), left_out)


def left_out_text(left_out: Mapping[str, int]) -> str:
    """What was left out, for a message."""
    return "".join(f"; {number:,} × {words}" for words, number in left_out.items())


class Sample:
    """Jets, how they were selected, and a t_cut (unless given, the mass² of the heaviest particle)."""

    def __init__(self, jets: Jets, leaves: tuple[int, int | None], t_cut: float | None, threads: int | None) -> None:
        self.jets, self.leaves = jets, leaves
        self.t_cut = self._heaviest if t_cut is None else t_cut
        self._threads = threads
        self._many = jets[jets.n_leaves > 1]

    @cached_property
    def mass_squared(self) -> Floats:
        """(n_jets,): that of each jet."""
        return masses_squared(np.add.reduceat(self.jets.momenta, self.jets.offsets[:-1], axis=0))

    @cached_property
    def particles(self) -> Floats:
        """(n_particles,): the mass² of each particle."""
        return masses_squared(self.jets.momenta)

    @property
    def _heaviest(self) -> float:
        found = float(self.particles.max()) + _ROUNDING * float(np.square(self.jets.momenta[:, 0]).max())
        if not found > _MASSLESS * float(self.mass_squared.max()):
            raise ValueError(
                "all particles are massless, so nothing is known of t_cut, the mass² at which a shower stops; give one"
            )
        return found

    def log_densities(self, rates: Mapping[str, float], t_cut: float | None = None) -> Floats:
        """(n_jets,): log Z of each jet; of a single particle, whether it may be one."""
        cut = self.t_cut if t_cut is None else t_cut
        rate, root_rate = rates["rate"], rates.get("root_rate")
        law = Ginkgo([[1.0, 0.0, 0.0, 0.0]], rate, cut, root_rate=root_rate, likelihood="density")
        problems = Problems.like(law, self._many.offsets, additive=self._many.momenta)
        out = np.where(self.mass_squared <= cut, 0.0, -np.inf)
        out[self.jets.n_leaves > 1] = log_partitions(problems, threads=self._threads, progress=False)
        return out

    def log_likelihood(self, rates: Mapping[str, float], t_cut: float | None = None) -> float:
        """log L of rate, root_rate if it is another, and t_cut."""
        total = float(self.log_densities(rates, t_cut).sum())
        return total if total == -math.inf else total - float(np.log(self.kept(rates, t_cut)).sum())

    def kept(self, rates: Mapping[str, float], t_cut: float | None = None) -> Floats:
        """(n_jets,): P(kept) of a jet of such a mass²."""
        fewest, most = self.leaves
        if most is not None:
            return np.asarray(self.size_probabilities(most, rates, t_cut)[:, fewest - 1 :].sum(axis=1))
        if fewest == 1:
            return np.ones(len(self.jets))
        return np.asarray(1.0 - self.size_probabilities(fewest - 1, rates, t_cut).sum(axis=1))

    def size_probabilities(self, most: int, rates: Mapping[str, float], t_cut: float | None = None) -> Floats:
        """(n_jets, most): the probability of 1, 2, …, `most` particles."""
        return size_probabilities(self.mass_squared, most, t_cut=self.t_cut if t_cut is None else t_cut, **rates)

    @cached_property
    def is_impossible(self) -> npt.NDArray[np.bool_]:
        """(n_jets,): which jets have no history under any rate."""
        return np.asarray(self.log_densities({"rate": _ANY}) == -np.inf)

    def without_impossible(self) -> Sample:
        """The same without such jets."""
        return Sample(self.jets[~self.is_impossible], self.leaves, self.t_cut, self._threads)

    def why_impossible(self) -> str:
        """How many jets are, and why."""
        bad = self.is_impossible
        heavy = np.add.reduceat(self.particles > self.t_cut, self.jets.offsets[:-1]) > 0
        light = ~heavy & (self.mass_squared <= self.t_cut) & bad
        counted = [
            (heavy & bad, "have a particle heavier than that"),
            (light, "are no heavier than that as a whole"),
            (bad & ~heavy & ~light, "have no history in which all that split are heavier than that"),
        ]
        words = ", ".join(f"{int(which.sum()):,} {reason}" for which, reason in counted if which.any())
        return (
            f"{int(bad.sum()):,} of {len(self.jets):,} jets are impossible with t_cut = {self.t_cut:g}, whatever the "
            f"rate: {words}. The heaviest particle has mass² {self.particles.max():g}"
        )
