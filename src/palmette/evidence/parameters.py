"""Positive parameters that are looked for by their logarithms: by name, at an edge of their box, and with errors."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence

import numpy as np

from palmette.array_types import Floats

__all__ = ["edges_at", "log_errors", "values_at"]

_EDGE = 1e-6


def values_at(names: Sequence[str], x: Floats) -> dict[str, float]:
    """The parameters whose logarithms are x, by name."""
    return dict(zip(names, np.exp(x).tolist(), strict=True))


def edges_at(names: Sequence[str], x: Floats, low: Floats, high: Floats) -> tuple[str, ...]:
    """The parameters that cannot go further."""
    is_edge = (x < low + _EDGE) | (x > high - _EDGE)
    return tuple(name for name, edge in zip(names, is_edge.tolist(), strict=True) if edge)


def log_errors(curvature: Floats, names: Sequence[str], edges: Collection[str]) -> Floats:
    """(k,): the standard deviations of the logarithms, by the curvature at a maximum; inf at an edge and if flat.

    >>> log_errors(np.diag([4.0, 1.0]), ["a", "b"], ["b"])
    array([0.5, inf])
    """
    inner = [i for i, name in enumerate(names) if name not in edges]
    block, out = curvature[np.ix_(inner, inner)], np.full(len(names), math.inf)
    if inner and np.linalg.eigvalsh(block).min() > 0.0:
        out[inner] = np.sqrt(np.diag(np.linalg.inv(block)))
    return out
