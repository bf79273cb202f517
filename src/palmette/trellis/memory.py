"""How much memory a full trellis may take: said beforehand, and refused before anything is allocated."""

from __future__ import annotations

import os

import numpy as np

from palmette.errors import TrellisTooLarge

__all__ = ["check_memory", "require_memory"]

MOST_LEAVES = 30  # masks of one size are listed as 32-bit integers


def require_memory(n: int, n_bytes: int, max_memory: int | None) -> None:
    """Raise `TrellisTooLarge` unless `n_bytes` for n leaves are within `max_memory`, or a share of the machine's."""
    limit = max_memory if max_memory is not None else _default_memory()
    if n <= MOST_LEAVES and n_bytes <= limit:
        return
    reason = f"at most {MOST_LEAVES} leaves are possible" if n_bytes <= limit else f"{_amount(limit)} are allowed"
    raise TrellisTooLarge(
        f"the full trellis over n = {n} leaves needs {_amount(n_bytes)}; {reason}. Raise max_memory or take "
        f"fewer leaves; beyond, a sparse trellis of chosen clusters is needed, which this version does not have yet"
    )


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


def _amount(n_bytes: float) -> str:
    for unit in ("bytes", "KB", "MB", "GB", "TB", "PB"):
        if n_bytes < 1000:
            return f"{n_bytes:.3g} {unit}"
        n_bytes /= 1000
    return f"{n_bytes:.3g} EB"
