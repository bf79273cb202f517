"""A progress bar on stderr, for work that takes longer than a person likes to wait in the dark."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["CompilationNotice", "Progress", "be_quiet", "phases", "purpose"]

_PATIENCE = 1.0  # seconds before a bar appears at all
_INTERVAL = 0.1

_is_quiet = False
_purpose: ContextVar[str] = ContextVar("purpose", default="")
_waiting_since: ContextVar[float] = ContextVar("waiting_since", default=float("inf"))


@contextmanager
def purpose(what: str) -> Iterator[None]:
    """Bars that are made meanwhile say first what the work is for."""
    before = _purpose.set(f"{what}: ")
    try:
        yield
    finally:
        _purpose.reset(before)


@contextmanager
def phases() -> Iterator[None]:
    """Bars that are made meanwhile are for parts of one piece of work: a person waits since the first of them."""
    before = _waiting_since.set(min(_waiting_since.get(), time.monotonic()))
    try:
        yield
    finally:
        _waiting_since.reset(before)


def be_quiet(quiet: bool) -> None:
    """Say nothing of compilations from now on, or say it again."""
    global _is_quiet
    _is_quiet = quiet


class CompilationNotice:
    """Says once, on a terminal, that something is being compiled, if that takes longer than a person likes to wait."""

    text = "compiling, once: this takes up to a minute now, and nothing the next time"

    def __init__(self) -> None:
        self._begin: float | None = None
        self._said = False

    def look(self) -> None:
        """To be called whenever a compilation begins or ends."""
        if self._said:
            return
        now = time.monotonic()
        self._begin = now if self._begin is None else self._begin
        if now - self._begin > _PATIENCE and sys.stderr.isatty() and not _is_quiet:
            self._said = True
            sys.stderr.write(f"{self.text}\n")
            sys.stderr.flush()


class Progress:
    """``title  42 % ████████░░░░░░░░░░░░  0:12 left``: drawn only on a terminal, only after a second, never on stdout.

    Within `phases` that second is counted once, from where they began, so that short ones are named as well.

    `show` None means: if stderr is a terminal. True draws in any case, False never. With a `unit` it also says how many
    of them are done and how many a second; without a `total` it says nothing else.
    """

    def __init__(self, title: str, total: float | None, show: bool | None = None, *, unit: str = "") -> None:
        self._purpose = _purpose.get()
        self.retitle(title)
        self._total = None if total is None else max(float(total), 1.0)
        self._unit = unit
        self._done = self._skipped = 0.0
        self._begin = time.monotonic()
        self._last = self._begin
        self._since = _waiting_since.get()
        self._show = sys.stderr.isatty() if show is None else show
        self._drawn = False

    def retitle(self, title: str) -> None:
        """Say something else from now on, after what the work is for."""
        self._title = self._purpose + title

    def skip(self, amount: float) -> None:
        """Say that `amount` of the total was there already: it counts as done, but not as work."""
        self._done += amount
        self._skipped += amount

    def advance(self, amount: float) -> None:
        """Say that `amount` of the total has been done."""
        self._done += amount
        now = time.monotonic()
        if self._show and now - min(self._begin, self._since) > _PATIENCE and now - self._last > _INTERVAL:
            self._last = now
            self._draw(now - self._begin)

    def close(self) -> None:
        """Wipe the bar, if there is one."""
        if self._drawn:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
            self._drawn = False

    def _draw(self, seconds: float) -> None:
        rate = (self._done - self._skipped) / seconds
        words = [self._title]
        if self._unit:
            words.append(f"{self._done:,.0f} {self._unit}" + (f", {rate:,.0f} a second" if rate >= 1 else ""))
        if self._total is not None:
            share = min(self._done / self._total, 1.0)
            filled = round(20 * share)
            words.append(f"{100 * share:3.0f} % {'█' * filled}{'░' * (20 - filled)}")
            if rate > 0:
                left = round(max(self._total - self._done, 0.0) / rate)
                words.append(f"{left // 60}:{left % 60:02d} left")
        sys.stderr.write(f"\r\x1b[K{'  '.join(words)}")
        sys.stderr.flush()
        self._drawn = True
