"""What posteriors over hierarchies and over partitions have in common: a model, passes, and the tables they return."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats
from palmette.checks import check_integer
from palmette.drawing.cards import card, named
from palmette.errors import ImpossibleData
from palmette.models.base import Model, evidence_offset, evidence_without_structure
from palmette.models.evaluate import require_log_potentials
from palmette.passes.conditions import Conditions
from palmette.passes.protocol import Passes
from palmette.passes.resources import Resources
from palmette.posterior.cache import cached
from palmette.posterior.distribution import Clustering, Distribution

__all__ = ["Posterior"]


AnyModel = TypeVar("AnyModel", bound=Model)
AnyTrellis = TypeVar("AnyTrellis")
AnyConditions = TypeVar("AnyConditions", bound=Conditions)
AnyPasses = TypeVar("AnyPasses", bound=Passes)


class Posterior(Distribution[Clustering], Generic[Clustering, AnyModel, AnyTrellis, AnyConditions, AnyPasses]):
    """p(x) = exp(log potential of x) / Z. Subclasses say what x is, and make the passes of a model on a trellis.

    Of the passes a posterior knows the protocol only, and it holds the tables that they return.
    """

    kind = "sums"

    def __init__(
        self, model: AnyModel, trellis: AnyTrellis | None, conditions: AnyConditions, resources: Resources
    ) -> None:
        super().__init__()
        self._model = model
        self._trellis = trellis
        self._conditions = conditions
        self._resources = resources
        self._values["passes"] = self._make_passes()  # says at once if they are too large, or if labels do not match

    @property
    def model(self) -> AnyModel:
        """What gives log ψ."""
        return self._model

    @property
    def trellis(self) -> AnyTrellis | None:
        """The chosen clusters that the sums are over, None if they are over all."""
        return self._trellis

    @property
    def is_exact(self) -> bool:
        """Whether the sums are over everything: on the full trellis they are."""
        return self._trellis is None

    @property
    def memory_needed(self) -> int:
        """Bytes that log Z and the MAP take; known before they are computed."""
        return self.passes.memory_needed

    @property
    def conditions(self) -> AnyConditions:
        """What is required, and what is forbidden."""
        return self._conditions

    @cached
    def passes(self) -> AnyPasses:
        """The model on the trellis under the conditions, for recursions of one's own."""
        return self._make_passes()

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the leaves."""
        return self._model.labels

    @property
    def log_evidence(self) -> float:
        """log p(data): log Z and what the model says is to be added. On a sparse trellis, and under conditions, less.

        It is then that of the data and of a clustering which is in the trellis and meets the conditions.
        """
        return evidence_offset(self._model) + self.log_partition  # says first if there is none

    @property
    def log_evidence_without_structure(self) -> float:
        """log p(data) if there were nothing to find, with the same parameters; see `palmette.evidence.compare`."""
        return evidence_without_structure(self._model)

    @abstractmethod
    def _make_passes(self) -> AnyPasses:
        """The model on the trellis, under the conditions."""

    @property
    @abstractmethod
    def _outside(self) -> Floats:
        """The probability that each cluster occurs."""

    @abstractmethod
    def _ranked(self, limit: int) -> Iterator[tuple[float, Any]]:
        """Log potentials in falling order, at most `limit`, each with what `_make` needs."""

    @abstractmethod
    def _make(self, clusters: Any) -> Clustering:
        """The clustering of these clusters."""

    @cached
    def count(self) -> int:
        """How many there are of non-zero potential, as an exact integer."""
        return self.passes.count()

    @cached
    def entropy(self) -> float:
        """−Σ p(x) log p(x), in nats; exp of it is the effective number of hierarchies or partitions."""
        return max(0.0, self.passes.entropy(self._possible, self._outside))

    def best(self, k: int) -> list[tuple[Clustering, float]]:
        """The k most probable ones with their log-probabilities, best first; fewer if there are fewer."""
        check_integer("k", k, 1)
        self._require_possible()
        return [(self._shown(self._make(clusters)), self._log_prob(value)) for value, clusters in self._ranked(k)]

    def _draw(self, size: int, seed: int) -> tuple[npt.NDArray[Any], Floats]:
        return self.passes.draw(self._possible, size, seed)

    # Tables, computed once.

    @cached
    def _inside(self) -> Floats:
        Z = self.passes.inside()
        require_log_potentials(self._model, Z)
        return Z

    @cached
    def _maximum(self) -> Floats:
        return self.passes.maximum()

    @property
    def _possible(self) -> Floats:
        self._require_possible()
        return self._inside

    def _impossible(self) -> ImpossibleData:
        return ImpossibleData(
            f"every {self._thing} over these {self.n_leaves} leaves has probability zero under {self._model!r}"
            f"{self._conditions.phrase()}"
        )

    def _above(self, threshold: float, limit: int) -> tuple[list[float], bool]:
        values: list[float] = []
        for value, _ in self._ranked(limit):
            if value <= threshold:
                return values, True
            values.append(value)
        return values, len(values) < limit

    # Other posteriors.

    def _with(self, model: AnyModel, trellis: AnyTrellis | None, conditions: AnyConditions) -> Self:
        other = object.__new__(type(self))
        Posterior.__init__(other, model, trellis, conditions, self._resources)
        return other

    def __getstate__(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("_model", "_trellis", "_conditions", "_resources")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        Posterior.__init__(self, *state.values())

    @property
    @abstractmethod
    def _best(self) -> Clustering:
        """The most probable one."""

    def _facts(self) -> Iterator[tuple[str, object]]:
        # What is known without work.
        yield "leaves", f"{self.n_leaves:,}: {named(self.labels)}"
        yield "model", repr(self._model)
        yield "over", f"all {self._model.clusterings}" if self._trellis is None else repr(self._trellis)
        yield "conditions", self._conditions.phrase().strip() or None
        yield "log Z", self.log_partition if self._known("log_partition") else "not computed yet"
        if self._known("entropy"):
            yield f"effective number of {self._model.clusterings}", float(np.exp(self.entropy))

    def _repr_html_(self) -> str:
        best: Any = self._pictured(self._best) if self._known("_best") else None
        return card(type(self).__name__, self._facts(), best)

    def __repr__(self) -> str:
        on = "" if self._trellis is None else f", trellis={self._trellis!r}"
        return f"{type(self).__name__}({self._model!r}{on}{self._conditions.phrase()})"
