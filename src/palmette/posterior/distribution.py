"""What every distribution over clusterings answers, however its probabilities come about: ranks, levels, draws."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, Generic, Literal, TypeVar

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer, seed_of
from palmette.errors import ImpossibleData
from palmette.models.base import Clusterings
from palmette.posterior.cache import Cached
from palmette.posterior.estimate import Estimate

__all__ = ["SAME", "Clustering", "Distribution", "Kind"]

# Two log potentials nearer than this (relative to their size) are the same number summed in another order.
SAME = 1e-11

Clustering = TypeVar("Clustering")
Kind = Literal["sums", "averages", "chains", "particles"]


class Distribution(Cached, Generic[Clustering]):
    """p(x) = exp(log potential of x) / Z. Subclasses say what x is, and find better ones and draws."""

    #: What it is a distribution of: "hierarchies" or "partitions".
    clusterings: ClassVar[Clusterings]
    #: Where its numbers come from: sums over a trellis, averages of such, chains, or particles.
    kind: ClassVar[Kind]

    _thing: ClassVar[str]  # what x is, for messages
    log_evidence_error: ClassVar[float | None] = None  #: the standard error of log p(data); None if it is computed

    @property
    @abstractmethod
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    @property
    @abstractmethod
    def log_partition(self) -> float:
        """log Z."""

    @property
    @abstractmethod
    def count(self) -> int:
        """How many there are of non-zero potential, as an exact integer."""

    @property
    def _counts_all(self) -> bool:
        """Whether `count` is that of all possible ones, and not only a lower bound of it."""
        return True

    @abstractmethod
    def log_potential(self, x: Clustering, /) -> float:
        """The log potential of one clustering."""

    @abstractmethod
    def _draw(self, size: int, seed: int) -> tuple[npt.NDArray[Any], Floats]:
        """Rows of exact draws, and their log potentials."""

    @abstractmethod
    def _above(self, threshold: float, limit: int) -> tuple[list[float], bool]:
        """The log potentials that are larger, and whether these are all; no more than `limit` are listed."""

    @abstractmethod
    def _impossible(self) -> ImpossibleData:
        """What is raised if nothing is possible."""

    def log_prob(self, x: Clustering, /) -> float:
        """log p(x) ≤ 0."""
        self._require_possible()
        return self._log_prob(self.log_potential(x))

    def rank(self, x: Clustering, /, limit: int = 10_000) -> Estimate:
        """1 + the number of strictly more probable ones.

        Exact if it is at most `limit`, the number that are listed; else a lower bound.
        """
        better = self._better(x, limit)
        if better is None:
            return Estimate(self.count + 1, "exact" if self._counts_all else "bound")
        values, complete = better
        return Estimate(len(values) + 1, "exact" if complete else "bound")

    def credible_level(
        self,
        x: Clustering,
        /,
        limit: int = 10_000,
        n_draws: int = 10_000,
        rng: np.random.Generator | int | None = None,
    ) -> Estimate:
        """The probability of all strictly more probable ones: x lies in every credible set of a larger level.

        Exact if there are fewer than `limit` of them; else the share among `n_draws` exact draws, with its standard
        error.
        """
        better = self._better(x, limit)
        if better is None:
            return Estimate(1.0, "exact")
        values, complete = better
        if complete:
            return Estimate(min(1.0, float(np.exp(np.array(values) - self.log_partition).sum())), "exact")
        check_integer("n_draws", n_draws, 1)
        log_probs = self._draw(n_draws, seed_of(0 if rng is None else rng))[1] - self.log_partition
        own = self.log_potential(x) - self.log_partition
        share = float((log_probs > own + self._tolerance(own)).mean())
        # Agresti and Coull: a share of 0 or 1 among few draws is not certain.
        centre = (share * n_draws + 2) / (n_draws + 4)
        return Estimate(share, "estimate", float(np.sqrt(centre * (1 - centre) / (n_draws + 4))))

    def _sampled(self, size: int, rng: np.random.Generator | int | None) -> tuple[npt.NDArray[Any], Floats]:
        # Draws and their log-probabilities.
        rows, log_potentials = self._draw(check_integer("size", size, 0), seed_of(rng))
        return rows, np.minimum(log_potentials - self.log_partition, 0.0)

    def _shown(self, x: Clustering) -> Clustering:
        """The same clustering as it is handed out, with what is known of it."""
        return x

    def _pictured(self, x: Clustering) -> Clustering:
        """The same clustering as a card shows it."""
        return self._shown(x)

    def _require_possible(self) -> None:
        if self.log_partition == -np.inf:
            raise self._impossible()

    def _log_prob(self, log_potential: float) -> float:
        return min(0.0, log_potential - self.log_partition)

    def _tolerance(self, log_prob: float) -> float:
        return SAME * max(1.0, abs(log_prob), abs(self.log_partition))

    def _better(self, x: Clustering, limit: int) -> tuple[list[float], bool] | None:
        # The log potentials of the strictly better ones, and whether these are all; None: all possible ones.
        check_integer("limit", limit, 1)
        self._require_possible()
        own = self.log_potential(x)
        return None if own == -np.inf else self._above(own + self._tolerance(own), limit)
