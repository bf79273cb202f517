"""How much memory a trellis may take: said beforehand, and refused before anything is allocated."""

from __future__ import annotations

import os

import numpy as np

from palmette.errors import TrellisTooLarge

__all__ = ["amount", "check_memory", "require_memory"]


def require_memory(what: str, n_bytes: int, max_memory: int | None, instead: str) -> None:
    """Raise `TrellisTooLarge` unless `n_bytes` for `what` are within `max_memory`, or a share of the machine's."""
    limit = max_memory if max_memory is not None else _default_memory()
    if n_bytes > limit:
        raise TrellisTooLarge(f"{what} needs {amount(n_bytes)}; {amount(limit)} are allowed. {instead}")


def check_memory(max_memory: int | None) -> int | None:
    """A positive number of bytes, or None."""
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
    """A number of bytes as people write it."""
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} EB"
