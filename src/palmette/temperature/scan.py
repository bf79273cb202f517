"""One model at one β after the other: posteriors, what they come to, and the β of a perplexity."""

from __future__ import annotations

import math
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from palmette.checks import check_number
from palmette.hierarchy import Hierarchy
from palmette.hierarchy.masks import hierarchy_of_masks
from palmette.models.base import require_model
from palmette.models.tempered import Tempered, require_tempered
from palmette.partition import Partition
from palmette.posterior.kinds import SomePosterior, posterior_of
from palmette.progress import purpose
from palmette.temperature.solving import Landscape, State, solve
from palmette.trellis import SomeTrellis

__all__ = ["TOLERANCE", "Scan", "TemperatureRow"]

TOLERANCE = 1e-3  # of a perplexity: a thousandth more or less effective hierarchies is the same number to a person

_STEP = 4.0  # from one β to the next while the ends of a curve are looked for
_POINTS = 33
_DRAWS = 1000
_TRIALS = 8  # clusterings that show in which unit the data are
_USUAL = 6  # posteriors that a perplexity usually takes


class TemperatureRow(NamedTuple):
    """The posterior at one inverse temperature, in four numbers; perplexity = exp(entropy)."""

    beta: float
    perplexity: float
    entropy: float
    log_partition: float


class Scan:
    """Posteriors of one model at one β after the other; none is kept, but what they came to is."""

    def __init__(self, model: Tempered, trellis: SomeTrellis | None, progress: bool | None) -> None:
        require_model(model, wanted="a model, such as palmette.models.Dasgupta(similarity)")
        require_tempered(model)
        self.clusterings = model.clusterings
        self._model, self._trellis, self._progress = model, trellis, progress
        self._rows: dict[float, TemperatureRow] = {}

    def posterior(self, beta: float) -> SomePosterior:
        """The posterior at one inverse temperature."""
        return posterior_of(self._model.with_beta(beta), trellis=self._trellis, progress=self._progress)

    @property
    def n_posteriors(self) -> int:
        """How many inverse temperatures have a row by now."""
        return len(self._rows)

    def row(self, beta: float, posterior: SomePosterior | None = None) -> TemperatureRow:
        """The posterior at one inverse temperature, in numbers; computed once, from `posterior` if it is at hand."""
        if beta not in self._rows:
            posterior = posterior or self.posterior(beta)
            found = posterior.entropy, posterior.log_partition
            self._rows[beta] = TemperatureRow(beta, math.exp(found[0]), *found)
        return self._rows[beta]

    @cached_property
    def _nearly_uniform(self) -> tuple[SomePosterior, float]:
        # A posterior at a very small β, and that: it has the best clustering, as every β > 0, draws from nearly
        # all of them, and the unit of the data, whatever that is.
        model, rng = self._model.with_beta(1.0), np.random.default_rng(0)
        values = [abs(_log_potential(model, self._some_clustering(rng))) for _ in range(_TRIALS)]
        value = max(filter(math.isfinite, values), default=0.0)
        beta = min(1e-4 / value, 1e300) if value > 0.0 else 1.0
        return self.posterior(beta), beta

    def _some_clustering(self, rng: np.random.Generator) -> Hierarchy | Partition:
        # Quickly made: leaves in a row, or in any clusters.
        n, labels = self._model.n_leaves, self._model.labels
        if self.clusterings == "partitions":
            return Partition(rng.integers(0, max(1, n // 3), n), labels)
        masks = np.add.accumulate([1 << int(leaf) for leaf in rng.permutation(n)], dtype=object)
        return hierarchy_of_masks(masks[1:], labels)

    @cached_property
    def best(self) -> Hierarchy | Partition:
        """The most probable clustering, at every β > 0."""
        with purpose("the best one"):
            return self._nearly_uniform[0].map()

    @cached_property
    def count(self) -> int:
        """How many clusterings there are."""
        self.best  # noqa: B018 – raises if nothing is possible
        return int(self._nearly_uniform[0].count)

    @cached_property
    def _best_potential(self) -> float:
        posterior, beta = self._nearly_uniform
        return _log_potential(posterior, self.best) / beta

    @cached_property
    def _landscape(self) -> Landscape:
        posterior, beta = self._nearly_uniform
        best = beta * self._best_potential
        below = best - (posterior.sample(_DRAWS, rng=0).log_probs + posterior.log_partition)
        mean, variance = float(below.mean()), float(below.var())
        if not mean > 1e-9 * abs(best):  # nothing but rounding: any β will show it
            mean, variance = 1e-3 * abs(best) or 1.0, 0.0
        shape = mean**2 / variance if variance > 1e-6 * mean**2 else 1.0
        return Landscape(math.log(self.count), shape, math.log(mean / shape) - math.log(beta))

    def check(self, perplexity: float) -> float:
        """log of the perplexity, if it is a number from 1 to the number of hierarchies."""
        check_number("perplexity", perplexity, f", the effective number of {self.clusterings}")
        if not 1 <= perplexity < math.inf or math.log(perplexity) > math.log(self.count) + 1e-9:
            raise ValueError(
                f"perplexity is {perplexity:g}; expected the effective number of {self.clusterings}, "
                f"from 1 to {self.count:,}, which is how many there are"
            )
        return math.log(perplexity)

    def beta_at(self, target: float, tolerance: float = TOLERANCE) -> float:
        """The β at which the entropy is `target`, to within `tolerance`."""
        if target >= math.log(self.count) - min(tolerance, 1e-6):
            return 0.0
        n_asked = 0

        def evaluate(log_beta: float) -> State:
            nonlocal n_asked
            n_asked += 1
            beta = math.exp(log_beta)
            with purpose(f"looking for β, posterior {n_asked} of about {max(_USUAL, n_asked)}"):
                row = self.row(beta)
            if row.entropy - target > tolerance and self._is_settled(row):
                raise self._out_of_reach(row, target)
            return self._state(row)

        known = [self._state(row) for beta, row in self._rows.items() if beta > 0.0]
        return math.exp(solve(evaluate, known, self._landscape, target, tolerance))

    def _state(self, row: TemperatureRow) -> State:
        return State(math.log(row.beta), row.log_partition - row.beta * self._best_potential, row.entropy)

    def _is_settled(self, row: TemperatureRow, close: float = 1e-9) -> bool:
        # The entropy is at least −log p(best), and equal to it when all that can occur is equally probable. Potentials
        # that differ by less than their rounding are the same.
        best = row.beta * self._best_potential
        beyond = row.entropy + (best - row.log_partition)
        return bool(beyond <= close + 1e-13 * abs(best) or abs(best) > 1e13)

    def _out_of_reach(self, row: TemperatureRow, target: float) -> ValueError:
        wanted, left = f"no β gives a perplexity of {math.exp(target):.6g}", _number(row.perplexity)
        if row.entropy >= math.log(self.count) - 1e-6:
            return ValueError(
                f"{wanted}: all {self.count:,} {self.clusterings} are equally good under {self._model!r}, so that β "
                "changes nothing. Look at the data: equal similarities, or an affinity without negative entries "
                "that was not centred, say nothing"
            )
        return ValueError(
            f"{wanted}: {left} {self.clusterings} are equally good and best, and the perplexity stays there from "
            f"β = {row.beta:.3g} on; reachable are {left} to {self.count:,}"
        )

    def betas(self) -> list[float]:
        """From where nearly all clusterings count to where nearly only the best do, in equal ratios, with β if near."""
        # There a typical clustering is less probable than the best one by a factor of e.
        low = high = math.exp(-self._landscape.log_scale) / self._landscape.shape
        while math.log(self.count) - self.row(low).entropy > 0.03 * math.log(self.count) + 0.01:
            low /= _STEP
        while not self._is_settled(self.row(high), close=0.05):
            high *= 2.0
        if low == high:
            low, high = low / 10, high * 10
        own = self._model.beta
        if low / _STEP <= own <= high * _STEP:  # people look for where they stand
            low, high = min(low, own / 1.5), max(high, own * 1.5)
        return [float(beta) for beta in np.geomspace(low, high, _POINTS)]


def _log_potential(asked: Any, clustering: Hierarchy | Partition) -> float:
    # A model or a posterior, of hierarchies or of partitions, is asked about one of what it is of.
    return float(asked.log_potential(clustering))


def _number(value: float) -> str:
    return f"{round(value):,}" if abs(value - round(value)) < 1e-4 * value and value < 1e9 else f"{value:.6g}"
