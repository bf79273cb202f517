"""What operators make of numbers and arrays, looked up once.

Numba tries everything that it knows of ``+`` (arrays, strings, dates, whatever a library has added) at every sum, while
it finds out the types of a function and again while it lowers it.
"""

from __future__ import annotations

import operator
from typing import Any

from numba.core import types as numba_types

__all__ = ["TypingContext", "is_plain", "signature_of"]

types: Any = numba_types  # its stubs know half of them

_OPERATORS = frozenset({bool, len, range, *(value for value in vars(operator).values() if callable(value))})

_found: dict[tuple[Any, tuple[Any, ...]], Any] = {}


def is_plain(kind: Any) -> bool:
    """Whether something is a number, an array, a tuple of such, or a way through one."""
    if isinstance(kind, types.BaseTuple):
        return all(map(is_plain, kind.types))
    if isinstance(kind, types.Pair):
        return is_plain(kind.first_type)
    return isinstance(kind, (types.Array, types.ArrayIterator, types.Number, types.Boolean, types.NoneType))


def signature_of(context: Any, function: Any, kinds: tuple[Any, ...]) -> Any:
    """The types that Numba's typing context has a function take and return if it is given some of these kinds."""
    key = function.typing_key if isinstance(function, types.Function) else function
    if key not in _OPERATORS or not all(map(is_plain, kinds)):
        return context.resolve_function_type(function, kinds, {})
    if (function, kinds) not in _found:
        _found[function, kinds] = context.resolve_function_type(function, kinds, {})
    return _found[function, kinds]


class TypingContext:
    """Numba's own, with such a memory."""

    def __init__(self, context: Any) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Any:
        return getattr(self._context, name)

    def resolve_function_type(self, func: Any, args: Any, kws: Any) -> Any:
        """The types of a call."""
        if kws:
            return self._context.resolve_function_type(func, args, kws)
        return signature_of(self._context, func, tuple(args))

    def resolve_setitem(self, target: Any, index: Any, value: Any) -> Any:
        """The types of an assignment to an item."""
        function = self._context.resolve_value_type(operator.setitem)
        return signature_of(self._context, function, (target, index, value))
