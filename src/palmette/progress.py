"""A progress bar on stderr, for work that takes longer than a person likes to wait in the dark."""

from __future__ import annotations

import sys
import time

__all__ = ["Progress"]

_PATIENCE = 1.0  # seconds before a bar appears at all
_INTERVAL = 0.1


class Progress:
    """``title  42 % ████████░░░░░░░░░░░░  0:12 left``: drawn only on a terminal, only after a second, never on stdout.

    `show` None means: if stderr is a terminal. True draws in any case, False never.
    """

    def __init__(self, title: str, total: float, show: bool | None = None) -> None:
        self._title = title
        self._total = max(float(total), 1.0)
        self._done = 0.0
        self._begin = time.monotonic()
        self._last = self._begin
        self._show = sys.stderr.isatty() if show is None else show
        self._drawn = False

    def advance(self, amount: float) -> None:
        """Say that `amount` of the total has been done."""
        self._done += amount
        now = time.monotonic()
        if self._show and now - self._begin > _PATIENCE and now - self._last > _INTERVAL:
            self._last = now
            self._draw(now)

    def close(self) -> None:
        """Wipe the bar, if there is one."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

    def _draw(self, now: float) -> None:
        share = min(self._done / self._total, 1.0)
        filled = round(20 * share)
        text = f"{self._title}  {100 * share:3.0f} % {'█' * filled}{'░' * (20 - filled)}"
        if share > 0:
            left = round((now - self._begin) * (1 - share) / share)
            text += f"  {left // 60}:{left % 60:02d} left"
        sys.stderr.write(f"\r\x1b[K{text}")
        sys.stderr.flush()
        self._drawn = True
