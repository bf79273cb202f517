"""Many short compiled calls on a few threads.

Kernels release the GIL and take a slice of the work, so threads share it; each slice is short, so Ctrl-C is served
between two of them. Every number is computed by one slice in one order: results do not depend on the number of threads.
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait
from types import TracebackType
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from palmette.checks import is_whole
from palmette.progress import Progress

__all__ = ["Workers", "check_threads", "default_threads"]

Result = TypeVar("Result")

_LONGEST = 4e7  # nanoseconds of one slice: far below a second
_SHORTEST = 1e5  # below this a slice is not worth handing to another thread
_HAND_OVER = 3  # so many of the shortest slices, and less is not worth sharing out at all
_TELLING = 1e4  # units of work; a call with fewer says little about how long one takes
_SLOWEST = 20.0  # nanoseconds of a unit that are believed: a call may include a compilation
_PATIENCE = 0.2  # seconds


def default_threads() -> int:
    """The number of processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def check_threads(threads: int | None) -> int:
    """A number of threads, at least 1; None means `default_threads`."""
    if threads is None:
        return default_threads()
    if not is_whole(threads) or threads < 1:
        raise ValueError(f"threads is {threads!r}; expected a whole number of at least 1, or None for all processors")
    return int(threads)


class Workers:
    """A pool of threads for the length of one pass: made anew each time, so that none is left to a forked child.

    Work is counted in units of about a nanosecond. What they really take is measured along the way, and says what is
    worth sharing out; that decides who computes a number, never how.
    """

    def __init__(self, threads: int, progress: Progress) -> None:
        self.threads = threads
        self._progress = progress
        self._pool: ThreadPoolExecutor | None = None
        self._pace = 1.0  # nanoseconds of a unit

    def __enter__(self) -> Workers:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        self._progress.close()

    def run(self, call: Callable[[int, int], Result], work: npt.NDArray[np.float64]) -> list[Result]:
        """call(first, last) over consecutive slices of range(len(work)), each of about the same share of the work."""
        if len(work) == 0:
            return []
        total = float(work.sum())
        if total * self._pace <= _HAND_OVER * _SHORTEST:
            return [self._alone(call, 0, len(work), total)]
        edges = self._edges(work, total)
        done = np.concatenate([[0.0], np.cumsum(work)])
        slices = list(itertools.pairwise(edges))
        if self.threads == 1 or len(slices) == 1:
            return [self._alone(call, a, b, done[b] - done[a]) for a, b in slices]
        return self._share(call, slices, [done[b] - done[a] for a, b in slices])

    def each(self, call: Callable[[int], Result], count: int, work: float) -> list[Result]:
        """[call(0), …, call(count − 1)], so much work each."""
        found = self.run(lambda first, last: list(map(call, range(first, last))), np.full(count, work))
        return list(itertools.chain.from_iterable(found))

    def _share(
        self, call: Callable[[int, int], Result], slices: list[tuple[int, int]], amounts: list[float]
    ) -> list[Result]:
        # Every thread takes the next slice, this one too: one hand-over for each thread, and not for each slice.
        results: dict[int, Result] = {}
        numbers, left = itertools.count(), list(amounts)
        stopped = False

        def take(report: bool) -> None:
            nonlocal stopped
            try:
                while not stopped and (number := next(numbers)) < len(slices):
                    results[number] = call(*slices[number])
                    if report:
                        self._report(results, left)
            except BaseException:
                stopped = True
                raise

        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads - 1, thread_name_prefix="palmette")
        futures = [self._pool.submit(take, False) for _ in range(min(self.threads, len(slices)) - 1)]
        take(True)
        while wait(futures, timeout=_PATIENCE).not_done:  # so that the main thread wakes up for Ctrl-C and for the bar
            self._report(results, left)
        for future in futures:
            future.result()
        self._report(results, left)
        return [results[number] for number in range(len(slices))]

    def _report(self, results: dict[int, Any], left: list[float]) -> None:
        # Tell the bar what is new; the amounts that it knows of become 0.
        new = [number for number in tuple(results) if left[number] > 0.0]
        self._progress.advance(sum(left[number] for number in new))
        for number in new:
            left[number] = 0.0

    def _edges(self, work: npt.NDArray[np.float64], total: float) -> list[int]:
        grain = min(max(total / (8 * self.threads), _SHORTEST / self._pace), _LONGEST / self._pace)
        pieces = max(1, int(np.ceil(total / grain)))
        inner = np.searchsorted(np.cumsum(work), total * np.arange(1, pieces) / pieces)
        return [0, *np.unique(inner[(inner > 0) & (inner < len(work))]).tolist(), len(work)]

    def _alone(self, call: Callable[[int, int], Result], first: int, last: int, amount: float) -> Result:
        begin = time.perf_counter_ns()
        result = call(first, last)
        if amount >= _TELLING:
            self._pace = min((time.perf_counter_ns() - begin) / amount, _SLOWEST)
        self._progress.advance(amount)
        return result
