"""What passes may use: memory, said beforehand and refused before anything is allocated; threads; a progress bar."""

from __future__ import annotations

import math
import os

import numpy as np

from palmette.errors import TrellisTooLarge
from palmette.progress import Progress
from palmette.threads import Workers, check_threads

__all__ = ["Resources", "amount"]


class Resources:
    """At most so many bytes (None: three quarters of the machine's) and threads (None: all processors)."""

    def __init__(self, max_memory: int | None = None, threads: int | None = None, progress: bool | None = None) -> None:
        self._max_memory = _check_memory(max_memory)
        check_threads(threads)
        self._threads = threads
        self._progress = progress

    def require(self, what: str, n_bytes: int, instead: str) -> None:
        """Raise `TrellisTooLarge` unless so many bytes may be used for `what`."""
        if n_bytes > self._limit:
            raise TrellisTooLarge(f"{what} needs {amount(n_bytes)}; {amount(self._limit)} are allowed. {instead}")

    def room_beside(self, n_bytes: int) -> int:
        """How many bytes may be used beside so many."""
        return max(0, self._limit - n_bytes)

    def progress(self, title: str, total: float) -> Progress:
        """A progress bar that counts up to `total`."""
        return Progress(title, total, self._progress)

    def workers(self, title: str, total: float) -> Workers:
        """Threads for one pass, with a progress bar that counts up to `total`."""
        return Workers(check_threads(self._threads), self.progress(title, total))

    @property
    def _limit(self) -> int:
        return self._max_memory if self._max_memory is not None else _default_memory()


def _check_memory(max_memory: int | None) -> int | None:
    if max_memory is None:
        return None
    if isinstance(max_memory, bool) or not isinstance(max_memory, int | float | np.number) or not max_memory > 0:
        raise ValueError(f"max_memory is {max_memory!r}; expected a positive number of bytes, such as 8e9, or None")
    return int(min(max_memory, 2**63))


def _default_memory() -> int:
    try:
        return int(0.75 * os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (AttributeError, OSError, ValueError):  # not a POSIX system
        return 8 * 2**30


def amount(n_bytes: float) -> str:
    """A number of bytes as people write it; it need not fit into a float.

    >>> amount(3_500_000), amount(2**3000)
    ('3.5 MB', '10^903 bytes')
    """
    if isinstance(n_bytes, int) and n_bytes.bit_length() > 1000:
        return f"10^{int((n_bytes.bit_length() - 1) * math.log10(2))} bytes"
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} EB"
