"""Many numbers with their errors, and rows of tables that have them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from palmette.array_types import Floats

__all__ = ["ClusterDiagnosticsRow", "Estimates", "SampledClusterRow", "SampledSplitRow", "values_of"]


class Estimates(NamedTuple):
    """Values, and the standard error of each."""

    values: Floats
    standard_errors: Floats


def values_of(found: npt.ArrayLike | Estimates) -> Floats:
    """The numbers alone, of an exact answer or of one that has errors."""
    return np.asarray(found.values if isinstance(found, Estimates) else found, dtype=np.float64)


class SampledClusterRow(NamedTuple):
    """A cluster, by the labels of its members, how often it occurs, and the standard error of that."""

    members: tuple[str, ...]
    size: int
    probability: float
    standard_error: float


class SampledSplitRow(NamedTuple):
    """One way to split a cluster in two, its probability given that the cluster occurs, and the standard error."""

    left: tuple[str, ...]
    right: tuple[str, ...]
    probability: float
    standard_error: float


class ClusterDiagnosticsRow(NamedTuple):
    """A cluster that is judged: how often it occurs, and what the chains say about that number."""

    members: tuple[str, ...]
    size: int
    probability: float
    standard_error: float
    r_hat: float
    effective_size: float
