"""Flags of kernels that Numba does not have to tell apart.

Numba keeps what it compiles of its own functions (`min`, `np.empty`, operators of tuples) once for each set of flags of
the function that calls them, and compares some forty flags at every look. Whether a caller is inlined, or can be called
from Python, is none of their business. So all of our functions show them the same flags, in one object, which is equal
only to itself: a fifteenth of all the time of a compilation.
"""

from __future__ import annotations

from typing import Any

from numba.core import compiler

__all__ = ["show_shared_flags"]

_OF_THE_CALLER = ("forceinline", "no_cpython_wrapper", "no_cfunc_wrapper")

_shown: dict[frozenset[tuple[str, str]], _ShownFlags] = {}


class _ShownFlags(compiler.Flags):  # type: ignore[misc]
    """What a function that is called sees; never changed, and one object for each set."""

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class _OwnFlags(compiler.Flags):  # type: ignore[misc]
    def copy(self) -> _ShownFlags:
        """What Numba puts up for others to see while it compiles a function with these flags."""
        shown = _ShownFlags(self)
        for name in _OF_THE_CALLER:
            shown.discard(name)
        values = frozenset((name, str(value)) for name, value in shown._values.items())
        return _shown.setdefault(values, shown)


def show_shared_flags(dispatcher: Any) -> None:
    """Have a dispatcher compile its function like that."""
    dispatcher._compiler._customize_flags = _OwnFlags
