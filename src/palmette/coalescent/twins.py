"""Rows that are the same: with leaves that have no variance, their density is infinite."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from palmette.array_types import Floats
from palmette.errors import InfiniteDensity

__all__ = ["find_twins", "refuse_twins"]


def find_twins(points: Floats) -> tuple[int, int] | None:
    """The first two rows that agree on two columns or more, and differ in none that both have; None if there are none.

    ∫ t^(−D/2) dt diverges at 0 from D = 2 on: of one column the density is finite.

    >>> find_twins(np.array([[1.0, 2.0, np.nan], [0.0, 2.0, 5.0], [1.0, 2.0, 5.0]]))
    (0, 2)
    """
    known = ~np.isnan(points)
    for i in range(len(points)):
        both = known[i] & known[i + 1 :]
        differ = (both & (points[i] != points[i + 1 :])).any(axis=1)
        same = np.flatnonzero(~differ & (both.sum(axis=1) > 1))
        if len(same):
            return i, i + 1 + int(same[0])
    return None


def refuse_twins(points: Floats, labels: Sequence[str], remedy: str, ages: Floats | None = None) -> None:
    """Raise with the names of two rows that are the same, if there are any, and the `remedy`.

    With `ages`, of one age: what lies between rows of two ages is as long as the time between them, at least.
    """
    groups = [np.arange(len(points))] if ages is None else [np.flatnonzero(ages == age) for age in np.unique(ages)]
    for own in groups:
        twins = find_twins(points[own])
        if twins is None:
            continue
        one, other = (labels[own[row]] for row in twins)
        raise InfiniteDensity(f"the rows {one!r} and {other!r} are the same, and a density is infinite; {remedy}")
