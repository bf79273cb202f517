"""What passes over hierarchies and over partitions have in common: all that a posterior of either kind asks."""

from __future__ import annotations

from typing import Protocol

from palmette.array_types import Floats, Numbers

__all__ = ["Passes"]


class Passes(Protocol):
    """A model on a trellis: sums, maxima, probabilities and draws over what meets the conditions.

    Clusters go by numbers. Z and M are tables of logarithms, as `inside` and `maximum` return them, μ is one of
    probabilities over clusters. All three are read-only, as answers are and as every kernel is compiled for. Whoever
    asks holds them; what passes keep is log ψ, as far as there is room, and what takes milliseconds to make.
    """

    n: int
    """The number of leaves."""

    @property
    def sizes(self) -> Numbers:
        """The number of leaves of each cluster."""

    @property
    def memory_needed(self) -> int:
        """Bytes for log Z and the MAP; known before they are computed."""

    def inside(self) -> Floats:
        """log Z of every cluster, or of what is left; −inf where nothing is possible."""

    def maximum(self) -> Floats:
        """log M of the same: the largest log potential."""

    def draw(self, Z: Floats, size: int, seed: int) -> tuple[Numbers, Floats]:
        """A row for each of `size` exact draws, and (size,) log potentials."""

    def count(self) -> int:
        """How many there are of non-zero potential, exactly."""

    def entropy(self, Z: Floats, mu: Floats) -> float:
        """−Σ p log p."""
