"""What can go wrong, by name."""

from __future__ import annotations

__all__ = ["ImpossibleData", "InfiniteDensity", "TrellisTooLarge"]


class TrellisTooLarge(ValueError):
    """A trellis, or a table over it, is larger than is allowed; raised before the memory is taken."""


class ImpossibleData(ValueError):
    """Every hierarchy, or partition, has probability zero: the model, or the conditions put on it, forbid them all."""


class InfiniteDensity(ValueError):
    """Two rows are the same, and nothing lies between them: their density is infinite."""
