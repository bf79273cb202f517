"""Compiled functions by their addresses, so that a kernel can call a function that it does not know.

A kernel takes an address as an ordinary integer and calls what lies there by the rules of C. So it is compiled once,
whichever model or process it is run with. Numba compiles the C functions (`c_function`).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from palmette._jit import OPTIONS, all_ours, stored, with_functions
from palmette._plain import IS_PLAIN, Plain

__all__ = ["INTEGERS", "MASKS", "NUMBERS", "CFunction", "c_function", "caller", "offset", "pointer", "room", "vector"]

NUMBERS = types.CPointer(types.float64)
INTEGERS = types.CPointer(types.int64)
MASKS = types.CPointer(types.uint64)

_OPTIONS = {name: OPTIONS[name] for name in ("error_model", "fastmath")}  # those that a C function has


class CFunction:
    """A compiled function with an `address`, which is good for as long as this object lives."""

    def __init__(self, address: int, function: Any) -> None:
        self.address = address
        self._function = function  # whose code lies there

    def __repr__(self) -> str:
        return f"CFunction({self._function.__name__})"


@functools.cache
def c_function(template: Callable[..., Any], signature: Any, **functions: Any) -> CFunction:
    """The C function of this signature that `template` becomes when the names in `functions` stand for these.

    It is cached on disk if all of them belong to this package; a person's function is compiled anew in each process.
    """
    function = with_functions(template, functions)
    if IS_PLAIN:
        _plain.append(Plain(function))
        return CFunction(len(_plain) - 1, function)
    compiled_by = functools.partial(numba.cfunc, signature, **_OPTIONS)
    made = (
        stored(function, functools.partial(compiled_by, _nrt=False)) if all_ours(function) else compiled_by()(function)
    )
    return CFunction(made.address, made)


def caller(signature: Any) -> Any:
    """The function (address, arguments) for kernels: calls a C function of this signature with a tuple."""
    if IS_PLAIN:
        return lambda address, arguments: _plain[address](*arguments)

    @intrinsic
    def call(typing_context: Any, address: Any, arguments: Any) -> Any:
        given = types.BaseTuple.from_types(signature.args)

        def codegen(context: Any, builder: Any, call_signature: Any, values: Any) -> Any:
            parts = [builder.extract_value(values[1], i) for i in range(len(signature.args))]
            returned = context.get_value_type(signature.return_type)
            if signature.return_type is types.void:
                returned = ir.VoidType()
            kind = ir.FunctionType(returned, [part.type for part in parts])
            value = builder.call(builder.inttoptr(values[0], kind.as_pointer()), parts)
            return context.get_dummy_value() if signature.return_type is types.void else value

        return signature.return_type(types.int64, given), codegen

    return call


@intrinsic
def _pointer(typing_context: Any, array: Any, first: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, values[0]).data
        return builder.gep(data, [values[1]])

    return types.CPointer(array.dtype)(array, types.int64), codegen


@intrinsic
def _offset(typing_context: Any, where: Any, first: Any) -> Any:
    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        return builder.gep(values[0], [values[1]])

    return where(where, types.int64), codegen


@intrinsic
def _vector(typing_context: Any, where: Any, first: Any, length: Any) -> Any:
    kind = types.Array(where.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
        start, first, length = values
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, context.get_abi_sizeof(context.get_data_type(kind.dtype)))
        data = builder.gep(start, [first])
        populate_array(array, data=data, shape=[length], strides=[size], itemsize=size, meminfo=None)
        return array._getvalue()

    return kind(where, types.int64, types.int64), codegen


# A pointer is what is left of an array where nothing is compiled.

#: (array, first): where the number `first` of an array lies, row by row; the array has no gaps.
pointer: Any = (lambda array, first: np.asarray(array).reshape(-1)[first:]) if IS_PLAIN else _pointer
#: (where, first): where the number lies that is `first` numbers after the one at `where`.
offset: Any = (lambda where, first: where[first:]) if IS_PLAIN else _offset
#: (where, first, length): so many numbers as an array, the first of them `first` numbers after the one at `where`.
vector: Any = (lambda where, first, length: where[first : first + length]) if IS_PLAIN else _vector


def room(size: int) -> Any:
    """The function () → where there is room for so many numbers, for as long as the C function is running.

    The compiler knows that it is apart from all tables.
    """
    if IS_PLAIN:
        return lambda: np.empty(size)

    @intrinsic
    def make(typing_context: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, values: Any) -> Any:
            place = cgutils.alloca_once(builder, ir.ArrayType(ir.DoubleType(), size))
            return builder.bitcast(place, ir.DoubleType().as_pointer())

        return NUMBERS(), codegen

    return make


_plain: list[Callable[..., Any]] = []  # an address is a place in this list
