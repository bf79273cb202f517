"""Properties that are computed once, also when several threads ask at once."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["Cached", "cached"]

Value = TypeVar("Value")


class Cached:
    """An object with `cached` properties: one lock for all of them, `clear` to forget them."""

    def __init__(self) -> None:
        self._values: dict[str, Any] = {}
        self._locked: tuple[int, threading.RLock] = (os.getpid(), threading.RLock())

    def clear(self) -> None:
        """Free all tables; they are computed anew when needed."""
        with self._lock():
            self._values.clear()

    def _known(self, name: str) -> bool:
        """Whether this was computed before: what a notebook shows must not take time."""
        return name in self._values

    def _lock(self) -> threading.RLock:
        # A child process forked while another thread held the lock would wait for it for ever: it gets a new one.
        pid, lock = self._locked
        if pid != os.getpid():
            self._locked = (os.getpid(), lock := threading.RLock())
        return lock


class cached(Generic[Value]):  # noqa: N801 – used as a decorator, like functools.cached_property
    """A property of a `Cached` object that is computed on first use and kept."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self.__doc__ = compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> cached[Value]: ...
    @overload
    def __get__(self, instance: Cached, owner: type) -> Value: ...
    def __get__(self, instance: Cached | None, owner: type) -> cached[Value] | Value:
        if instance is None:
            return self
        try:
            return instance._values[self._name]  # type: ignore[no-any-return]
        except KeyError:
            with instance._lock():
                if self._name not in instance._values:
                    instance._values[self._name] = self._compute(instance)
                return instance._values[self._name]  # type: ignore[no-any-return]
