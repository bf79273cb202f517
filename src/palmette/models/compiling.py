"""Whether a person's function compiles, said before it is needed."""

from __future__ import annotations

import inspect
import itertools
import re
from collections.abc import Sequence
from typing import Any

import numba
from numba.core import types
from numba.core.dispatcher import Dispatcher

from palmette._jit import as_compiled
from palmette._plain import IS_PLAIN

__all__ = ["check_compiles"]

_COLOURS = re.compile(r"\x1b\[\d*m")
_LONGEST = 300  # of what Numba says
_BEYOND = ("File ", "During", "There are", "def ", "<source elided>", "^")


def check_compiles(function: Any, clusters: Sequence[Any], args: Sequence[Any]) -> None:
    """TypeError unless ``function(*clusters, *args)`` compiles to a number; values stand for their types.

    >>> check_compiles(lambda left, right: str(left), (1, 2), ())
    Traceback (most recent call last):
    TypeError: the split function <lambda> returns unicode_type; expected a number, its log potential
    """
    if not inspect.isfunction(function) and not isinstance(function, Dispatcher):
        raise TypeError(f"expected a function of two clusters, plain or with @njit, not {function!r}")
    plain: Any = getattr(function, "py_func", function)
    name = f"the split function {plain.__name__}"
    _check_parameters(name, plain, len(args))
    if IS_PLAIN:
        return
    part, given = as_compiled(function), tuple(numba.typeof(value) for value in (*clusters, *args))
    try:
        part.compile(given)
    except Exception as error:  # whatever is wrong with a function shows here, as errors of many kinds
        raise TypeError(
            f"{name} does not compile for ({', '.join(map(str, given))}): {_in_short(error)}. Write it with numbers, "
            "loops and what Numba knows of NumPy, or hand a function of whole arrays to SplitFunction"
        ) from error
    returned = part.overloads[given].signature.return_type
    if not isinstance(returned, types.Number | types.Boolean) or isinstance(returned, types.Complex):
        raise TypeError(f"{name} returns {returned}; expected a number, its log potential")


def _check_parameters(name: str, function: Any, n_args: int) -> None:
    signature = inspect.signature(function)
    try:
        signature.bind(*range(2 + n_args))
    except TypeError:
        more = {0: "", 1: " and one of args"}.get(n_args, f" and {n_args} of args")
        raise TypeError(f"{name} takes {signature}, but is called with two clusters{more}") from None


def _in_short(error: Exception) -> str:
    # The first lines that say something: Numba begins with its own pipeline, and goes on with code and candidates.
    lines = (line.strip() for line in _COLOURS.sub("", str(error)).splitlines())
    telling = (line for line in lines if line and not line.startswith("Failed in"))
    text = " ".join(itertools.takewhile(lambda line: not line.startswith(_BEYOND), telling)).rstrip(":.")
    return text if len(text) <= _LONGEST else text[:_LONGEST] + " …"
