"""What can go wrong, by name."""

from __future__ import annotations

__all__ = ["ImpossibleData", "TrellisTooLarge"]


class TrellisTooLarge(ValueError):
    """The full trellis over n leaves needs more memory than is allowed; raised before anything is allocated."""


class ImpossibleData(ValueError):
    """Every hierarchy has probability zero: the model, or the conditions put on it, forbid them all."""
