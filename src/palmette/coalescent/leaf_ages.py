"""Ages of leaves: a lineage is there from the age of its leaf on, and meets nobody before.

Only differences of ages matter. Whoever computes with them counts from the youngest leaf, so that leaves that are all
equally old are no other case than leaves at 0.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats

__all__ = ["check_leaf_ages"]


def check_leaf_ages(leaf_ages: npt.ArrayLike | None, n: int) -> Floats:
    """(n,): how old each leaf is, in the units of the ages of events, at least 0; zeros if None.

    >>> check_leaf_ages([0, 0.5], 2)
    array([0. , 0.5])
    """
    if leaf_ages is None:
        return np.zeros(n)
    try:
        ages = np.array(leaf_ages, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"leaf_ages must be one number for each leaf, not {leaf_ages!r}") from None
    if ages.shape != (n,):
        raise ValueError(f"leaf_ages has shape {ages.shape}; give one age for each of the {n} leaves, in their order")
    wrong = np.flatnonzero(~(ages >= 0.0) | np.isinf(ages))
    if len(wrong):
        leaf = int(wrong[0])
        hint = "give 0 to leaves of today" if not np.isfinite(ages[leaf]) else "take dates off the latest one"
        raise ValueError(
            f"leaf_ages has {ages[leaf]:g} for leaf {leaf}; ages are finite, at least 0, and rise into the past: {hint}"
        )
    return ages
