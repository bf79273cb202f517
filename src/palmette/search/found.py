"""What a search comes back with."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from palmette.drawing.cards import card
from palmette.hierarchy import Hierarchy
from palmette.partition import Partition

__all__ = ["Found", "FoundPartition"]


class _Bounded:
    log_potential: float
    bound: float | None

    def _facts(self) -> Iterator[tuple[str, object]]:
        yield "log potential", self.log_potential
        yield "bound", "not proved" if self.bound is None else self.bound
        yield "gap", self.gap

    @property
    def gap(self) -> float | None:
        """How much better another one can be at most: 0 if none is better, None if nothing is proved."""
        if self.bound is None:
            return None
        # Rounding may put the bound a little below, and −inf − (−inf) is no number.
        return self.bound - self.log_potential if self.bound > self.log_potential else 0.0


@dataclass(frozen=True)
class Found(_Bounded):
    """A hierarchy, its log potential, and, if the search can prove one, a bound that no hierarchy exceeds.

    >>> h = Hierarchy.from_nested((0, 1))
    >>> Found(h, -3.0).gap is None, Found(h, -3.0, bound=-2.5).gap
    (True, 0.5)
    """

    hierarchy: Hierarchy
    log_potential: float
    bound: float | None = None

    def _repr_html_(self) -> str:
        return card(type(self).__name__, self._facts(), self.hierarchy)


@dataclass(frozen=True)
class FoundPartition(_Bounded):
    """A partition, its log potential, and, if the search can prove one, a bound that no partition exceeds.

    `hierarchy` is the one that it was cut from, if any.
    """

    partition: Partition
    log_potential: float
    bound: float | None = None
    hierarchy: Hierarchy | None = None

    def _repr_html_(self) -> str:
        clusters = ("clusters", f"{self.partition.n_clusters:,} of {self.partition.n_leaves:,} leaves")
        return card("FoundPartition", [*self._facts(), clusters], self.partition)
