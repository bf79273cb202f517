"""Moves under p_t ∝ φ^t, of hierarchies or of partitions, as whoever changes t sees them."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from palmette.models.base import FeatureModel

__all__ = ["HARSHEST", "MILDEST", "State", "TemperedMoves"]

MILDEST, HARSHEST = 1.0, 50.0  # what something impossible costs at the beginning and at the end of cooling, in nats

State = TypeVar("State")


class TemperedMoves(Protocol[State]):
    """Moves that leave p_t as it is, and where they can begin. At t = 0 all clusterings are alike."""

    @property
    def model(self) -> FeatureModel:
        """What gives log ψ."""
        ...

    @property
    def n_moves(self) -> int:
        """Moves of a sweep."""
        ...

    @property
    def log_count(self) -> float:
        """The logarithm of how many clusterings there are, which is log Z at t = 0."""
        ...

    def anywhere(self, rng: np.random.Generator, seed: int, chain: int) -> State:
        """A chain at a clustering drawn alike from all."""
        ...

    def start(self, clustering: Any, seed: int, chain: int) -> State:
        """A chain at a given clustering."""
        ...

    def run(self, state: State, n_moves: int, temper: float = ..., penalty: float = ...) -> tuple[float, int]:
        """So many moves under Π ψ^t, what is impossible costing exp(−penalty); what `restate` gives then."""
        ...

    def restate(self, state: State) -> tuple[float, int]:
        """Σ log ψ over all that is possible, and how much is impossible."""
        ...

    def record(self, state: State, out: npt.NDArray[np.int32]) -> None:
        """Write the clustering down, after `run`."""
        ...

    def read(self, row: npt.NDArray[Any]) -> Any:
        """The clustering that `record` wrote down."""
        ...
