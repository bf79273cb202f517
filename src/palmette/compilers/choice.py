"""Dispatchers of our own with the versions of Numba that they were tried with, else Numba's: the same answers.

Our own (`palmette.compilers.lean`, `palmette.compilers.parts`) build on what Numba does not promise to keep, and take
little more than half of the time to compile. A version that is new to them does without, and so does whoever sets
``PALMETTE_NUMBA=stock``.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numba
from numba.core.registry import CPUDispatcher

__all__ = ["SOURCES", "PartDispatcher", "WholeDispatcher", "is_tried"]

_FIRST, _LAST = (0, 63), (0, 68)


def is_tried(version: tuple[int, int]) -> bool:
    """Whether our own dispatchers were tried with this version of Numba.

    >>> is_tried((0, 63)), is_tried((1, 0))
    (True, False)
    """
    return _FIRST <= version <= _LAST


class _StockDispatcher(CPUDispatcher):  # type: ignore[misc]
    """Numba's own, with the arguments of ours."""

    def __init__(
        self, py_func: Callable[..., Any], locals: Any = None, targetoptions: dict[str, Any] | None = None
    ) -> None:
        super().__init__(py_func, locals or {}, {**(targetoptions or {}), "nopython": True})


WholeDispatcher: Any = _StockDispatcher  # of functions that Python calls
PartDispatcher: Any = _StockDispatcher  # of functions that only kernels call
SOURCES: tuple[str, ...] = ("palmette.compilers.choice",)  # a kernel on disk is for whoever has compiled it

if is_tried(numba.version_info.short) and os.environ.get("PALMETTE_NUMBA") != "stock":
    from palmette.compilers.lean import LeanDispatcher as WholeDispatcher
    from palmette.compilers.parts import PartDispatcher

    SOURCES = ("palmette.compilers.lean", "palmette.compilers.parts")
