"""What benchmarks share besides tables: a clock, and the word on a claim."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any


def best_time(function: Callable[[], Any], repeat: int, clock: Callable[[], float] = time.perf_counter) -> Any:
    """The seconds of the fastest of so many calls, and what the last one returned."""
    times = []
    for _ in range(repeat):
        start = clock()
        result = function()
        times.append(clock() - start)
    return min(times), result


def seconds(function: Callable[[], Any], repeat: int = 1, clock: Callable[[], float] = time.perf_counter) -> float:
    """The seconds alone."""
    return float(best_time(function, repeat, clock)[0])


def verdict(passed: bool | None, words: str) -> None:
    """A line that begins with PASS or FAIL; with neither where nothing was claimed."""
    print({True: "PASS", False: "FAIL", None: "    "}[None if passed is None else bool(passed)], words, flush=True)
