"""Kernels that are not compiled, with ``NUMBA_DISABLE_JIT=1``: run by Python, for a debugger or for coverage.

They are some hundred times slower, and give the same numbers to rounding. Numbers follow NumPy's rules in kernels: 1/0
is inf and log 0 is −inf, and unsigned integers wrap. So functions of `math` are NumPy's here, and nothing warns.
"""

from __future__ import annotations

import functools
import math
import types
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

__all__ = ["IS_PLAIN", "Plain", "plain_octets"]

IS_PLAIN = bool(numba.config.DISABLE_JIT)

_NAMES = {"inf": math.inf, "pi": math.pi, "e": math.e, "nan": math.nan, "lgamma": math.lgamma, "erf": math.erf}
_SAME = ("sqrt", "floor", "ceil", "exp", "expm1", "log", "log1p", "log2", "isnan", "isinf", "isfinite", "fabs", "cos")


def _of_math() -> types.SimpleNamespace:
    found = {name: getattr(math, name) for name in dir(math) if not name.startswith("_")}
    # As floats and whole numbers of Python: of NumPy's, `floor` would be a float.
    for name in (*_SAME, "sin", "tan", "tanh"):
        found[name] = _quiet(getattr(np, name), int if name in ("floor", "ceil") else None)
    return types.SimpleNamespace(**{**found, **_NAMES})


def _quiet(function: Any, kind: Any) -> Callable[..., Any]:
    def run(x: Any) -> Any:
        value = function(np.float64(x))
        return value if kind is None or not np.isfinite(value) else kind(value)

    return run


class _Globals(dict[str, Any]):
    """The names of a module as they are when they are asked for, with another `math`."""

    def __init__(self, names: dict[str, Any]) -> None:
        super().__init__(math=_MATH) if names.get("math") is math else super().__init__()
        self["__builtins__"] = names.get("__builtins__", __builtins__)
        self._names = names

    def __missing__(self, name: str) -> Any:
        return self._names[name]


_MATH = _of_math()


class Plain:
    """A function in place of a compiled one; `py_func` is the function itself."""

    def __init__(self, function: Callable[..., Any]) -> None:
        functools.update_wrapper(self, function)
        self.py_func: Any = function
        self.targetoptions: dict[str, Any] = {}
        given = (function.__name__, function.__defaults__, function.__closure__)
        self._run = types.FunctionType(function.__code__, _Globals(function.__globals__), *given)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """What the function returns, by NumPy's rules."""
        with np.errstate(all="ignore"):
            return self._run(*args, **named)

    def compile(self, signature: Any) -> None:
        """There is nothing to do."""


def _place(order: str, octet: Any, otherwise: float) -> Any:
    return np.array([otherwise if place == "-" else octet[int(place)] for place in order])


def _store(octet: Any, array: Any, first: int) -> None:
    array[first : first + 8] = octet


def plain_octets() -> dict[str, Callable[..., Any]]:
    """The functions of `palmette.octets` by name, for arrays of eight numbers."""
    return {
        "load": lambda array, first: array[first : first + 8].copy(),
        "store": _store,
        "repeat": lambda number: np.full(8, number, dtype=np.float64),
        "pick": lambda octet, order: _place(order, octet, 0.0),
        "pick_logs": lambda octet, order: _place(order, octet, -math.inf),
        "lane": lambda octet, place: octet[place],
        "add": lambda x, y: x + y,
        "subtract": lambda x, y: x - y,
        "larger": lambda x, y: np.where(y > x, y, x),
        "multiply_add": lambda x, y, z: x * y + z,
        "above": lambda x, y: bool((x > y).any()),
        "not_below": lambda x, y: bool((~(x <= y)).any()),
    }
