"""Posteriors along β, and the β at which one has a perplexity."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from contextlib import closing
from functools import cache, cached_property
from typing import Any, NamedTuple, TypeVar

import numpy as np
from scipy.optimize import brentq

from palmette.checks import check_number
from palmette.models.base import require_model
from palmette.models.tempered import Tempered
from palmette.posterior.hierarchies import HierarchyPosterior
from palmette.posterior.partitions import PartitionPosterior
from palmette.posterior.tables import Table
from palmette.progress import Progress
from palmette.trellis import SomeTrellis

__all__ = ["Scan", "SomePosterior", "TemperatureRow", "at_perplexity", "curve"]

_CLOSE = 5e-7  # of the logarithm of the perplexity
_STEP = 4.0  # from one β to the next while a bracket is looked for
_POINTS = 33
_LARGE = 18  # leaves from which on one posterior takes so long that a bar is welcome


AnyTempered = TypeVar("AnyTempered", bound=Tempered)
SomePosterior = HierarchyPosterior | PartitionPosterior


class TemperatureRow(NamedTuple):
    """The posterior at one inverse temperature, in four numbers; perplexity = exp(entropy)."""

    beta: float
    perplexity: float
    entropy: float
    log_partition: float


def at_perplexity(
    model: AnyTempered, perplexity: float, *, trellis: SomeTrellis | None = None, progress: bool | None = None
) -> AnyTempered:
    """The same model at the β where exp(entropy of the posterior) = `perplexity`, to one part in a million.

    `perplexity` is the effective number of hierarchies (or partitions): 1 is certainty, the number of all of them is
    β = 0. `trellis` is passed on to the posterior; on a sparse one the entropy is that over its hierarchies. It takes a
    dozen exact posteriors. ValueError says what is reachable if `perplexity` is not.

    >>> import palmette as pal
    >>> data = pal.datasets.load_numerals()
    >>> model = pal.temperature.at_perplexity(pal.models.Dasgupta(data.similarity, labels=data.labels), 100)
    >>> round(model.beta, 3), round(math.exp(pal.HierarchyPosterior(model).entropy), 2)
    (7.195, 100.0)
    """
    scan = Scan(model, trellis, progress)
    return model.with_beta(scan.beta_at(scan.check(perplexity)))


def curve(
    model: Tempered,
    betas: Iterable[float] | None = None,
    *,
    perplexities: Iterable[float] | None = None,
    trellis: SomeTrellis | None = None,
    progress: bool | None = None,
) -> Table[TemperatureRow]:
    """β, perplexity, entropy and log Z, one row for each of `betas`, or for the β of each of `perplexities`.

    With neither: 33 inverse temperatures from where nearly all hierarchies count to where nearly only the best do.

    >>> import palmette as pal
    >>> pal.temperature.curve(pal.models.SumOfSquares([[0.0], [1.0], [5.0]]), betas=[0.0, 1.0])
    beta    perplexity  entropy  log_partition
    0.0000  3.0000      1.0986   1.0986
    1.0000  1.0048      0.0048   -0.4994
    """
    if betas is not None and perplexities is not None:
        raise ValueError("both betas and perplexities were given; give one of them, or neither")
    scan = Scan(model, trellis, progress)
    if perplexities is not None:
        chosen = [scan.beta_at(target) for target in [scan.check(perplexity) for perplexity in perplexities]]
    else:
        chosen = scan.betas() if betas is None else [float(beta) for beta in betas]
    rows = [scan.row(beta) for beta in chosen]
    return Table(TemperatureRow, rows.__getitem__, len(rows))


class Scan:
    """Posteriors of one model at one β after the other; none is kept."""

    def __init__(self, model: Tempered, trellis: SomeTrellis | None, progress: bool | None) -> None:
        require_model(model, wanted="a model, such as palmette.models.Dasgupta(similarity)")
        if not hasattr(model, "with_beta"):
            raise TypeError(
                f"{type(model).__name__} has no temperature to set. Those that have one are Dasgupta, SumOfSquares, "
                "Correlation, CorrelationClusters, and models of your own that derive from models.Tempered"
            )
        self.things = model.clusterings
        self._model, self._trellis = model, trellis
        self._own_bar = model.n_leaves >= _LARGE
        self._progress = progress

    def posterior(self, beta: float) -> SomePosterior:
        """The posterior at one inverse temperature."""
        return self._on_trellis(self._model.with_beta(beta))

    def _on_trellis(self, model: Tempered) -> SomePosterior:
        progress = False if self._own_bar else self._progress
        make: Callable[..., SomePosterior] = HierarchyPosterior if self.things == "hierarchies" else PartitionPosterior
        return make(model, trellis=self._trellis, progress=progress)

    def row(self, beta: float) -> TemperatureRow:
        """The posterior at one inverse temperature, in numbers."""
        posterior = self.posterior(beta)
        return TemperatureRow(beta, math.exp(posterior.entropy), posterior.entropy, posterior.log_partition)

    @cached_property
    def count(self) -> int:
        """How many clusterings there are."""
        posterior = self.posterior(0.0)
        posterior.entropy  # noqa: B018 – raises if nothing is possible
        return int(posterior.count)

    @cached_property
    def _reference(self) -> Any:
        # The given model, or one with a temperature if it has none: best clusterings are the same at every β > 0.
        return self._model if self._model.beta > 0 else self._model.with_beta(1.0)

    @cached_property
    def best(self) -> Any:
        """The most probable clustering."""
        return self._on_trellis(self._reference).map()

    @cached_property
    def _best_potential(self) -> float:
        return float(self._reference.log_potential(self.best) / self._reference.beta)

    def check(self, perplexity: float) -> float:
        """log of the perplexity, if it is a number from 1 to the number of hierarchies."""
        check_number("perplexity", perplexity, f", the effective number of {self.things}")
        if not 1 <= perplexity < math.inf or math.log(perplexity) > math.log(self.count) + 1e-9:
            raise ValueError(
                f"perplexity is {perplexity:g}; expected the effective number of {self.things}, "
                f"from 1 to {self.count:,}, which is how many there are"
            )
        return math.log(perplexity)

    def beta_at(self, target: float) -> float:
        """The β at which the entropy is `target`."""
        if target >= math.log(self.count) - _CLOSE:
            return 0.0
        with closing(Progress("finding the temperature", 12, self._progress if self._own_bar else False)) as bar:

            @cache
            def above(log_beta: float) -> float:
                excess = self._above(self.posterior(math.exp(log_beta)), math.exp(log_beta), target)
                bar.advance(1)
                return excess

            low = high = math.log(self._scale)
            while above(low) < 0.0:
                low -= math.log(_STEP)
            while above(high) > 0.0:
                high += math.log(_STEP)
            return math.exp(low if low == high else brentq(above, low, high, xtol=1e-13, rtol=1e-15))

    def _above(self, posterior: SomePosterior, beta: float, target: float) -> float:
        # How far the entropy is above the target, 0 if it is near enough; refuses where it will not fall any more.
        excess = posterior.entropy - target
        if excess > _CLOSE and self._is_settled(posterior, beta):
            raise self._out_of_reach(posterior.entropy, beta, target)
        return 0.0 if abs(excess) <= _CLOSE else float(excess)

    def _is_settled(self, posterior: SomePosterior, beta: float, close: float = 1e-9) -> bool:
        # The entropy is at least −log p(best), and equal to it when all that can occur is equally probable. Potentials
        # that differ by less than their rounding are the same.
        best = beta * self._best_potential
        beyond = posterior.entropy + (best - posterior.log_partition)
        return bool(beyond <= close + 1e-13 * abs(best) or abs(best) > 1e13)

    def _out_of_reach(self, entropy: float, beta: float, target: float) -> ValueError:
        wanted, left = f"no β gives a perplexity of {math.exp(target):.6g}", _number(entropy)
        if entropy >= math.log(self.count) - _CLOSE:
            return ValueError(
                f"{wanted}: all {self.count:,} {self.things} are equally good under {self._model!r}, so that β changes "
                f"nothing. Look at the data: equal similarities, or an affinity without negative entries "
                "that was not centred, say nothing"
            )
        return ValueError(
            f"{wanted}: {left} {self.things} are equally good and best, and the perplexity stays there from "
            f"β = {beta:.3g} on; reachable are {left} to {self.count:,}"
        )

    @cached_property
    def _scale(self) -> float:
        # The β at which a typical clustering is less probable than the best one by a factor of e.
        posterior, reference = self.posterior(0.0), self._reference
        values = np.array([reference.log_potential(x) for x in posterior.sample(64, rng=0)]) / reference.beta
        values = values[np.isfinite(values)]
        size = float(np.abs(values).max(initial=abs(self._best_potential)))
        spread = self._best_potential - float(values.mean()) if len(values) else 0.0
        if spread > 1e-11 * size:
            return min(1.0 / spread, 1e300)
        return min(1e3 / size, 1e300) if size > 0.0 else 1.0

    def betas(self) -> list[float]:
        """From where nearly all clusterings count to where nearly only the best do, in equal ratios."""
        low = high = self._scale
        while math.log(self.count) - self.posterior(low).entropy > 0.03 * math.log(self.count) + 0.01:
            low /= _STEP
        while not self._is_settled(self.posterior(high), high, close=0.05):
            high *= 2.0
        if low == high:
            low, high = low / 10, high * 10
        return [float(beta) for beta in np.geomspace(low, high, _POINTS)]


def _number(entropy: float) -> str:
    value = math.exp(entropy)
    return f"{round(value):,}" if abs(value - round(value)) < 1e-4 * value and value < 1e9 else f"{value:.6g}"
