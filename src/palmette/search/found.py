"""What a search comes back with."""

from __future__ import annotations

from dataclasses import dataclass

from palmette.hierarchy import Hierarchy
from palmette.partition import Partition

__all__ = ["Found", "FoundPartition"]


@dataclass(frozen=True)
class Found:
    """A hierarchy, its log potential, and, if the search can prove one, a bound that no hierarchy exceeds.

    >>> h = Hierarchy.from_nested((0, 1))
    >>> Found(h, -3.0).gap is None, Found(h, -3.0, bound=-2.5).gap
    (True, 0.5)
    """

    hierarchy: Hierarchy
    log_potential: float
    bound: float | None = None

    @property
    def gap(self) -> float | None:
        """How much better another hierarchy can be at most: 0 if none is better, None if nothing is proved."""
        return _gap(self.log_potential, self.bound)


@dataclass(frozen=True)
class FoundPartition:
    """A partition, its log potential, and, if the search can prove one, a bound that no partition exceeds.

    `hierarchy` is the one that it was cut from, if any.
    """

    partition: Partition
    log_potential: float
    bound: float | None = None
    hierarchy: Hierarchy | None = None

    @property
    def gap(self) -> float | None:
        """How much better another partition can be at most: 0 if none is better, None if nothing is proved."""
        return _gap(self.log_potential, self.bound)


def _gap(log_potential: float, bound: float | None) -> float | None:
    if bound is None:
        return None
    # Rounding may put the bound a little below, and −inf − (−inf) is no number.
    return bound - log_potential if bound > log_potential else 0.0
