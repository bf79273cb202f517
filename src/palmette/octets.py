"""Octets for kernels: eight numbers side by side, which one instruction loads, adds, multiplies or compares.

LLVM does not find the pattern of the walks over three low leaves by itself, so it is written down. Where a processor
has shorter registers it takes two or four instructions in place of one; the numbers are the same.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.datamodel import models
from numba.extending import intrinsic, register_model

from palmette._plain import IS_PLAIN, plain_octets

__all__ = [
    "above",
    "add",
    "lane",
    "larger",
    "load",
    "multiply_add",
    "not_below",
    "pick",
    "pick_logs",
    "repeat",
    "store",
    "subtract",
]

_EIGHT = ir.VectorType(ir.DoubleType(), 8)
_INDEX = ir.IntType(32)


class _Octet(types.Type):
    def __init__(self) -> None:
        super().__init__("octet")


_octet = _Octet()


@register_model(_Octet)
class _OctetModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Any) -> None:
        super().__init__(manager, kind, _EIGHT)


def _place(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
    # Where array[first] lies, as that of an octet.
    array = context.make_array(signature.args[0])(context, builder, arguments[0])
    return builder.bitcast(builder.gep(array.data, [arguments[1]]), _EIGHT.as_pointer())


@intrinsic
def load(typing_context: Any, array: Any, first: Any) -> Any:
    """array[first : first + 8] of a contiguous array of float64."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        octet = builder.load(_place(context, builder, signature, arguments))
        octet.align = 8
        return octet

    return _octet(array, first), code


@intrinsic
def store(typing_context: Any, octet: Any, array: Any, first: Any) -> Any:
    """array[first : first + 8] = octet."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        place = _place(context, builder, types.void(*signature.args[1:]), arguments[1:])
        builder.store(arguments[0], place).align = 8
        return context.get_dummy_value()

    return types.void(octet, array, first), code


@intrinsic
def repeat(typing_context: Any, number: Any) -> Any:
    """Eight times the same number."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        nothing = ir.Constant(_EIGHT, ir.Undefined)
        first = builder.insert_element(nothing, arguments[0], _INDEX(0))
        return builder.shuffle_vector(first, nothing, ir.Constant(ir.VectorType(_INDEX, 8), [0] * 8))

    return _octet(types.float64), code


def _picking(typing_context: Any, octet: Any, order: Any, otherwise: float) -> Any:
    places = [8 if place == "-" else int(place) for place in order.literal_value]

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        others = ir.Constant(_EIGHT, [otherwise] * 8)
        return builder.shuffle_vector(arguments[0], others, ir.Constant(ir.VectorType(_INDEX, 8), places))

    return _octet(octet, order), code


@intrinsic(prefer_literal=True)
def pick(typing_context: Any, octet: Any, order: Any) -> Any:
    """The numbers at these eight places, given as a literal such as ``"76543210"``; 0 where it has a dash."""
    return _picking(typing_context, octet, order, 0.0)


@intrinsic(prefer_literal=True)
def pick_logs(typing_context: Any, octet: Any, order: Any) -> Any:
    """The same for logarithms: −inf where `order` has a dash."""
    return _picking(typing_context, octet, order, -math.inf)


@intrinsic(prefer_literal=True)
def lane(typing_context: Any, octet: Any, place: Any) -> Any:
    """The number at one place, a literal."""
    index = place.literal_value

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.extract_element(arguments[0], _INDEX(index))

    return types.float64(octet, place), code


def _arithmetic(name: str, what: str, make: Callable[..., Any]) -> Any:
    # Of two octets a third one.
    def typed(typing_context: Any, x: Any, y: Any) -> Any:
        return _octet(x, y), lambda context, builder, signature, arguments: make(builder, *arguments)

    typed.__name__, typed.__doc__ = name, what
    return intrinsic(typed)


add = _arithmetic("add", "x + y.", lambda builder, x, y: builder.fadd(x, y))
subtract = _arithmetic("subtract", "x − y.", lambda builder, x, y: builder.fsub(x, y))
larger = _arithmetic(
    "larger", "The larger of each two; x where y is NaN.",
    lambda builder, x, y: builder.select(builder.fcmp_ordered(">", y, x), y, x),
)  # fmt: skip


@intrinsic
def multiply_add(typing_context: Any, x: Any, y: Any, z: Any) -> Any:
    """x·y + z, fused where the processor can."""

    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        x, y, z = arguments
        fused = ("contract",)
        return builder.fadd(builder.fmul(x, y, flags=fused), z, flags=fused)

    return _octet(x, y, z), code


def _comparing(make: Callable[[Any, Any, Any], Any], x: Any, y: Any) -> Any:
    def code(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        flags = builder.bitcast(make(builder, *arguments), ir.IntType(8))
        return builder.icmp_unsigned("!=", flags, ir.IntType(8)(0))

    return types.boolean(x, y), code


@intrinsic
def above(typing_context: Any, x: Any, y: Any) -> Any:
    """Whether any number of x is larger than that of y; NaN is not."""
    return _comparing(lambda builder, a, b: builder.fcmp_ordered(">", a, b), x, y)


@intrinsic
def not_below(typing_context: Any, x: Any, y: Any) -> Any:
    """Whether any number of x is larger than that of y, or NaN."""
    return _comparing(lambda builder, a, b: builder.fcmp_unordered(">", a, b), x, y)


if IS_PLAIN:
    globals().update(plain_octets())
