"""Numbers, vectors and matrices that a compiled function is called with, end to end in one vector θ.

A number is one entry of θ; an array is its shape and then its entries, row by row. Which of them there are is known
when the function is compiled, and their shapes are not: other data of the same kinds need no other kernel.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from palmette._jit import inline, inline_with
from palmette.array_types import Floats

__all__ = ["pack", "unpack", "unpacking"]

_MOST_DIMENSIONS = 2


def pack(args: Sequence[npt.ArrayLike]) -> tuple[tuple[int, ...], Floats]:
    """How many dimensions each argument has, and θ.

    >>> pack([0.5, [1.0, 2.0]])
    ((0, 1), array([0.5, 2. , 1. , 2. ]))
    """
    arrays = [_as_numbers(i, value) for i, value in enumerate(args)]
    parts = [np.concatenate([array.shape, array.ravel()]) for array in arrays]
    return tuple(array.ndim for array in arrays), np.concatenate(parts) if parts else np.empty(0)


def unpack(kinds: Sequence[int], theta: Floats) -> tuple[Any, ...]:
    """The arguments of these kinds again: numbers, and views of θ.

    >>> unpack((0, 1), np.array([0.5, 2.0, 1.0, 2.0]))
    (0.5, array([1., 2.]))
    """
    args: list[Any] = []
    at = 0
    for ndim in kinds:
        shape = theta[at : at + ndim].astype(np.int64)
        begin, at = at + ndim, at + ndim + int(shape.prod())
        args.append(theta[begin:at].reshape(shape) if ndim else float(theta[begin]))
    return tuple(args)


@functools.cache
def unpacking(kinds: tuple[int, ...]) -> Any:
    """The compiled (θ, at) → the arguments of these kinds as a tuple, the first of which begins at entry `at`."""
    reader = _nothing
    for ndim in reversed(kinds):
        reader = _READERS[ndim](reader)
    return reader


@inline
def _nothing(theta, at):
    return ()


# What reads one argument, and then the rest of them.


def _number(rest: Any) -> Any:
    @inline_with(rest)
    def number(theta, at):
        return (theta[at], *rest(theta, at + 1))

    return number


def _vector(rest: Any) -> Any:
    @inline_with(rest)
    def vector(theta, at):
        begin, end = at + 1, at + 1 + int(theta[at])
        return (theta[begin:end], *rest(theta, end))

    return vector


def _matrix(rest: Any) -> Any:
    @inline_with(rest)
    def matrix(theta, at):
        rows, columns = int(theta[at]), int(theta[at + 1])
        begin, end = at + 2, at + 2 + rows * columns
        return (theta[begin:end].reshape(rows, columns), *rest(theta, end))

    return matrix


_READERS = (_number, _vector, _matrix)


def _as_numbers(i: int, value: npt.ArrayLike) -> Floats:
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        array = None
    if array is None or np.iscomplexobj(value) or array.ndim > _MOST_DIMENSIONS:
        raise TypeError(f"args[{i}] is {value!r:.80}; expected a number, a vector or a matrix of numbers")
    if not np.isfinite(array).all():
        raise ValueError(f"args[{i}] holds NaN or infinite values")
    return array
