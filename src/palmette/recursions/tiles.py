"""Tiles on the stack: 256 numbers that nothing else can lie over, as the compiler knows.

A loop that reads a table in any order and writes an array is not made of vectors as long as the array might overlap the
table. A tile of its own function cannot, so such a loop that fills it is.
"""

from __future__ import annotations

from typing import Any

import numba
from llvmlite import ir
from numba.core import cgutils
from numba.extending import intrinsic

from palmette._jit import inline
from palmette.recursions.subsets import TILE

__all__ = ["stack_tile"]


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
