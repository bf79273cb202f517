"""What posteriors over hierarchies and over partitions have in common: ranking, and the probability of one answer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import numpy.typing as npt

from palmette.errors import ImpossibleData
from palmette.models.base import Model
from palmette.models.cluster_model import PartitionModel
from palmette.models.split_model import HierarchyModel
from palmette.posterior.cache import Cached
from palmette.posterior.estimate import Estimate

__all__ = ["Posterior", "check_positive", "wrong_model"]

Clustering = TypeVar("Clustering")

# Two log potentials nearer than this (relative to their size) are the same number summed in another order.
_SAME = 1e-11


class Posterior(Cached, Generic[Clustering]):
    """p(x) = exp(log potential of x) / Z. Subclasses say what x is, and how to list and to draw them."""

    _thing: ClassVar[str]  # what x is, for messages

    def __init__(self, model: Model) -> None:
        super().__init__()
        self._model = model

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return self._model.n_leaves

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._model.labels

    @property
    @abstractmethod
    def log_partition(self) -> float:
        """log Z."""

    @abstractmethod
    def log_potential(self, x: Clustering, /) -> float:
        """The log potential of one clustering."""

    @abstractmethod
    def _ranked(self, limit: int) -> Iterator[tuple[float, Any]]:
        """Log potentials in falling order, at most `limit`, each with what `_make` needs."""

    @abstractmethod
    def _make(self, clusters: Any) -> Clustering:
        """The clustering of these clusters."""

    @abstractmethod
    def _count(self) -> int:
        """How many clusterings have non-zero potential."""

    @abstractmethod
    def _draw(self, size: int, seed: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        """Exact draws as an array, and their log potentials."""

    @abstractmethod
    def _phrase(self) -> str:
        """The conditions, for messages."""

    def best(self, k: int) -> list[tuple[Clustering, float]]:
        """The k most probable ones with their log-probabilities, best first; fewer if there are fewer."""
        check_positive("k", k)
        self._require_possible()
        return [(self._make(clusters), self._log_prob(value)) for value, clusters in self._ranked(k)]

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
            return Estimate(self._count() + 1, "exact")
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
        check_positive("n_draws", n_draws)
        log_probs = self._draw(n_draws, _seed(0 if rng is None else rng))[1] - self.log_partition
        own = self.log_potential(x) - self.log_partition
        share = float((log_probs > own + self._tolerance(own)).mean())
        # Agresti and Coull: a share of 0 or 1 among few draws is not certain.
        centre = (share * n_draws + 2) / (n_draws + 4)
        return Estimate(share, "estimate", float(np.sqrt(centre * (1 - centre) / (n_draws + 4))))

    def _sampled(
        self, size: int, rng: np.random.Generator | int | None
    ) -> tuple[npt.NDArray[Any], npt.NDArray[np.float64]]:
        # Draws and their log-probabilities.
        _check_size(size)
        self._require_possible()
        rows, log_potentials = self._draw(int(size), _seed(rng))
        return rows, np.minimum(log_potentials - self.log_partition, 0.0)

    def _require_possible(self) -> None:
        if self.log_partition == -np.inf:
            raise self._impossible()

    def _impossible(self) -> ImpossibleData:
        return ImpossibleData(
            f"every {self._thing} over these {self.n_leaves} leaves has probability zero under {self._model!r}"
            f"{self._phrase()}"
        )

    def _log_prob(self, log_potential: float) -> float:
        return min(0.0, log_potential - self.log_partition)

    def _tolerance(self, log_prob: float) -> float:
        return _SAME * max(1.0, abs(log_prob), abs(self.log_partition))

    def _better(self, x: Clustering, limit: int) -> tuple[list[float], bool] | None:
        # The log potentials of the strictly better ones, and whether these are all; None: all possible ones.
        check_positive("limit", limit)
        self._require_possible()
        own = self.log_potential(x)
        if own == -np.inf:
            return None
        threshold = own + self._tolerance(own)
        values: list[float] = []
        for value, _ in self._ranked(limit):
            if value <= threshold:
                return values, True
            values.append(value)
        return values, len(values) < limit


def wrong_model(model: object, example: str) -> TypeError:
    """The error for what is not a model, or one of the other kind."""
    kinds = {HierarchyModel: "HierarchyPosterior", PartitionModel: "PartitionPosterior"}
    hints = [f"; hand that to {posterior}" for kind, posterior in kinds.items() if isinstance(model, kind)]
    return TypeError(f"expected a model, such as {example}, not {model!r}{''.join(hints)}")


def _check_size(size: int) -> None:
    """Refuse what is not a number of draws."""
    if isinstance(size, bool) or not isinstance(size, int | np.integer) or size < 0:
        raise ValueError(f"size is {size!r}; expected the number of draws, a whole number of at least 0")


def _seed(rng: np.random.Generator | int | None) -> int:
    return int(np.random.default_rng(rng).integers(2**63))


def check_positive(name: str, value: int) -> None:
    """Refuse what is not a whole number of at least 1."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise ValueError(f"{name} is {value!r}; expected a whole number of at least 1")
