"""What descents and exact searches come back with: an ultrametric on a graph, and its merges."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from palmette.array_types import Floats, Ints
from palmette.drawing.cards import card
from palmette.hierarchy import Hierarchy
from palmette.ultrametric.subdominant import Subdominant

__all__ = ["FoundUltrametric"]

_DRAWN = 2000  # vertices up to which a notebook has a picture


@dataclass(frozen=True, eq=False)
class FoundUltrametric(ABC):
    """An ultrametric that was fitted to a graph, with its merges."""

    subdominant: Subdominant
    """The ultrametric, as the subdominant one of itself."""

    @property
    def ultrametric(self) -> Floats:
        """The fitted distance of the two ends of each edge, shape (M,)."""
        return self.subdominant.values

    @property
    def hierarchy(self) -> Hierarchy:
        """The hierarchy over the vertices, with the fitted distances as heights."""
        return self.subdominant.hierarchy

    @property
    def hierarchies(self) -> tuple[Hierarchy, ...]:
        """One hierarchy for each component of the graph."""
        return self.subdominant.hierarchies

    def membership(self, k: int) -> Ints:
        """The cluster of each vertex when the highest merges are undone until k clusters are left, shape (N,)."""
        return self.subdominant.membership(k)

    @abstractmethod
    def _facts(self) -> list[tuple[str, object]]:
        """What a notebook shows of it."""

    def _repr_html_(self) -> str:
        graph = self.subdominant.graph
        whole = graph.n_components == 1 and graph.n_vertices <= _DRAWN
        facts = [("graph", repr(graph)), *self._facts()]
        return card(type(self).__name__, facts, self.hierarchy if whole else None)
