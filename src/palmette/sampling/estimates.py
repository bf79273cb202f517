"""Many numbers with their errors, and rows of tables that have them."""

from __future__ import annotations

from typing import NamedTuple

from palmette.array_types import Floats

__all__ = ["ClusterDiagnosticsRow", "Estimates", "SampledClusterRow", "SampledSplitRow"]


class Estimates(NamedTuple):
    """Values, and the standard error of each."""

    values: Floats
    standard_errors: Floats


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
