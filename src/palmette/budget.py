"""Seconds that were promised: how many are left, shares of these, and a clock that stands still during compilations.

Whoever is given `seconds` for several things makes a `Budget`, and gives each of them a share of what is left then. So
what one of them does not need is there for the next, and what one takes too long is not.
"""

from __future__ import annotations

import math
import threading
import time
from typing import Any

from numba.core import event

__all__ = ["Budget", "now"]


class _Compilations(event.Listener):  # type: ignore[misc]
    """The seconds during which something was compiled, on any thread; what is read from disk is not."""

    def __init__(self) -> None:
        self._lock, self._depth, self._begin, self._done = threading.Lock(), 0, 0.0, 0.0

    def on_start(self, event: Any) -> None:
        with self._lock:
            if self._depth == 0:
                self._begin = time.monotonic()
            self._depth += 1

    def on_end(self, event: Any) -> None:
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self._done += time.monotonic() - self._begin

    def clock(self) -> float:
        """The seconds of a clock that stands still meanwhile."""
        with self._lock:
            return (time.monotonic() if self._depth == 0 else self._begin) - self._done


_compilations = _Compilations()
event.register("numba:compile", _compilations)


def now() -> float:
    """Seconds on a clock that stands still while functions are compiled: that takes long, and is done once."""
    return _compilations.clock()


class Budget:
    """So many `seconds` from now on; None: without end, and then the clock is never looked at.

    >>> budget = Budget(60.0)
    >>> 11.9 < budget.share(0.2).left < 12.0
    True
    >>> Budget(None).share(0.2).seconds is None
    True
    """

    def __init__(self, seconds: float | None) -> None:
        self._end = math.inf if seconds is None or seconds == math.inf else now() + seconds

    @property
    def left(self) -> float:
        """Seconds that are left, 0 or more; inf without end."""
        return self._end if self._end == math.inf else max(0.0, self._end - now())

    @property
    def seconds(self) -> float | None:
        """The same as arguments have it: None without end."""
        return None if self._end == math.inf else self.left

    @property
    def is_spent(self) -> bool:
        """Whether nothing is left."""
        return self.left == 0.0

    def share(self, part: float) -> Budget:
        """So much of what is left."""
        return Budget(None if self.seconds is None else part * self.left)
