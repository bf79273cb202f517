"""Tiles on the stack: 256 numbers that nothing else can lie over, as the compiler knows.

A loop that reads a table in any order and writes an array is not made of vectors as long as the array might overlap the
table. A tile of its own function cannot, so such a loop that fills it is.

That pays for a score that is long and calls no library. A short one is loaded for longer than it is computed, and eight
numbers from eight places are loaded faster one by one than by one instruction; of calls no vectors can be made at all.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterator
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from palmette._jit import inline
from palmette.compilers.plain import IS_PLAIN
from palmette.numeric import exponential, logarithm, one_minus_exponential
from palmette.recursions.subsets import TILE

__all__ = ["scores_by_vectors", "stack_tile", "tile_for"]

_LONG = {exponential, logarithm, one_minus_exponential}
_INSTRUCTIONS = {"sqrt", "fabs", "floor", "ceil", "isnan", "isinf", "isfinite"}  # of math: no calls when compiled


@intrinsic
def _room(typing_context: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        room = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), TILE))
        return builder.bitcast(room, ir.DoubleType().as_pointer())

    return numba.types.CPointer(numba.types.float64)(), codegen


@inline
def stack_tile():
    """An array of `TILE` numbers, not yet filled, for as long as the kernel that it is asked for in is running."""
    return numba.carray(_room(), (TILE,))


if IS_PLAIN:  # there is no stack to ask
    stack_tile = inline(lambda: np.empty(TILE))


@inline
def _heap_tile():
    return np.empty(TILE)


def _used(function: Any) -> Iterator[Any]:
    # What a plain function finds outside under the names in its code, and all that these use in turn.
    for name in function.__code__.co_names:
        found = function.__globals__.get(name)
        if found is math or found is np:
            yield from (getattr(found, each) for each in function.__code__.co_names if hasattr(found, each))
        elif found is not None:
            yield found
            if hasattr(found, "py_func"):
                yield from _used(found.py_func)


@functools.cache
def scores_by_vectors(log_psi: Any) -> bool:
    """Whether it pays to score a whole tile first: log ψ has an `exponential` or a `logarithm` of ours, and no other.

    Read off its code, so that a model has one answer everywhere and always, and its sums have one order.
    """
    used = set(filter(callable, _used(log_psi.py_func)))
    library = {f for f in used if getattr(f, "__module__", None) == "math" or isinstance(f, np.ufunc)}
    return bool(used & _LONG) and all(f.__name__ in _INSTRUCTIONS for f in library)


def tile_for(log_psi: Any) -> Any:
    """The compiled function that makes a tile for values of this log ψ: `stack_tile` if they are made by vectors."""
    return stack_tile if scores_by_vectors(log_psi) else _heap_tile
