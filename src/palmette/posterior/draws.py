"""What draws of hierarchies and of partitions have in common: a sequence, each made when asked for."""

from __future__ import annotations

import copy
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self, overload

import numpy as np
import numpy.typing as npt

from palmette._immutable import read_only
from palmette.array_types import Floats
from palmette.drawing.cards import card, named
from palmette.posterior.distribution import Clustering

__all__ = ["DrawSequence"]


class DrawSequence(Sequence[Clustering]):
    """Draws as rows of one array, with (size,) log-probabilities; a subclass says what a row stands for."""

    _things: ClassVar[str]  # what is drawn, for messages

    def __init__(self, rows: npt.NDArray[np.integer[Any]], log_probs: Floats, labels: tuple[str, ...]) -> None:
        self._rows = read_only(rows)
        self.log_probs = read_only(log_probs)
        self.labels = labels

    @abstractmethod
    def _make(self, row: npt.NDArray[np.integer[Any]]) -> Clustering:
        """The clustering of one row."""

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return len(self.labels)

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, index: int) -> Clustering: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> Clustering | Self:
        if not isinstance(index, slice):
            return self._make(self._rows[range(len(self))[index]])
        some = copy.copy(self)
        some._rows, some.log_probs = self._rows[index], self.log_probs[index]
        return some

    def counts(self) -> list[tuple[Clustering, int]]:
        """The different ones among the draws, the most frequent first (among equals the more probable)."""
        rows, where, counts = np.unique(self._rows, axis=0, return_index=True, return_counts=True)
        order = np.lexsort((-self.log_probs[where], -counts))
        return [(self._make(rows[i]), int(counts[i])) for i in order]

    def shares(self) -> list[tuple[Clustering, float]]:
        """The different ones among the draws, each with its share of them, in the order of `counts`."""
        return [(found, count / len(self)) for found, count in self.counts()]

    def map(self) -> Clustering:
        """The most probable one among the draws."""
        self._require_some()
        if np.isnan(self.log_probs).all():
            raise ValueError(
                f"these {self._things} come from elsewhere, and their probabilities are not known; ask counts()"
            )
        return self[int(np.argmax(self.log_probs))]

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts(), self._pictured())

    def _facts(self) -> Iterator[tuple[str, object]]:
        # What is known without work: no more than a look at each log-probability.
        yield self._things, len(self)
        yield "leaves", f"{self.n_leaves:,}: {named(self.labels)}"
        if not np.isnan(self.log_probs).all():
            yield "log-probabilities", f"{self.log_probs.min():.4g} to {self.log_probs.max():.4g}; below, the largest"
        elif len(self):
            yield "log-probabilities", "not known; below, the first of them"

    def _pictured(self) -> Any:
        if not len(self):
            return None
        return self[0 if np.isnan(self.log_probs).all() else int(np.argmax(self.log_probs))]

    def _require_some(self) -> None:
        if len(self) == 0:
            raise ValueError("there are no draws; sample at least one")
