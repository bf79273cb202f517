"""Where chunks of work are done: in this process, in a pool of processes, or on a Dask cluster.

Everything is a `concurrent.futures.Executor`: this process is one that works while it is asked, and a Dask client lends
one. `unordered` keeps a few chunks in flight and hands results back as they come. If a pool loses a worker, its chunks
are done again; a Dask scheduler sees to that itself.
"""

from __future__ import annotations

import multiprocessing
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, wait
from contextlib import ExitStack
from typing import Any, TypeAlias, TypeVar, cast

from palmette._extras import require
from palmette.checks import is_whole

__all__ = ["Engine", "unordered"]

Engine: TypeAlias = "int | str | Executor | Any | None"
Item = TypeVar("Item")

_AHEAD = 2  # chunks in flight for each worker: one to work on, one to begin with at once
_UNKNOWN_WORKERS = 4
_NEW_POOLS = 3  # a pool that breaks more often than that has a reason


class _Here(Executor):
    """Does the work in this process, when it is submitted."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        done: Future[Any] = Future()
        try:
            done.set_result(fn(*args, **kwargs))
        except Exception as error:
            done.set_exception(error)
        return done


def _own_pool(workers: int) -> ProcessPoolExecutor:
    # A forked child of a process with threads may hang.
    return ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn"))


def _dask_client(engine: Any, stack: ExitStack) -> Any:
    distributed = require("distributed", "dask")
    if isinstance(engine, str):
        return stack.enter_context(distributed.Client(engine))
    return engine if isinstance(engine, distributed.Client) else None


class _Pool:
    """An executor that can be replaced when it breaks, and how many chunks it should have at a time."""

    def __init__(self, engine: Engine, stack: ExitStack) -> None:
        self._engine, self._stack, self._broken = engine, stack, 0
        self.executor, self.n_in_flight = self._open()

    def _open(self) -> tuple[Executor, int]:
        engine = self._engine
        if engine is None:
            return _Here(), 1
        if is_whole(engine) and (workers := int(cast(int, engine))) >= 1:
            return self._stack.enter_context(_own_pool(workers)), _AHEAD * workers
        if isinstance(engine, Executor):
            return engine, _AHEAD * getattr(engine, "_max_workers", _UNKNOWN_WORKERS)
        client = _dask_client(engine, self._stack) if isinstance(engine, str) or hasattr(engine, "scheduler") else None
        if client is None:
            raise TypeError(
                f"engine is {engine!r}; expected None (this process), a number of processes of at least 1, a "
                "concurrent.futures.Executor, a dask.distributed.Client, or the address of a Dask scheduler"
            )
        threads = sum(client.nthreads().values())
        return client.get_executor(pure=False), _AHEAD * max(threads, _UNKNOWN_WORKERS)

    def replace(self) -> None:
        """After a worker died: a new pool if the old one was ours, and this process if it was not."""
        self._broken += 1
        if is_whole(self._engine) and self._broken <= _NEW_POOLS:
            self.executor, self.n_in_flight = self._open()
            return
        warnings.warn(
            "the pool of workers broke: one of them died. What is left is done in this process",
            RuntimeWarning,
            stacklevel=5,
        )
        self.executor, self.n_in_flight = _Here(), 1


def unordered(
    work: Callable[[Item], Any], items: Iterable[tuple[int, Item]], engine: Engine
) -> Iterator[tuple[int, Any]]:
    """(number, work(item)) of every numbered item, as they are done; only a few items are held at a time."""
    waiting = iter(items)
    with ExitStack() as stack:
        pool = _Pool(engine, stack)
        running: dict[Future[Any], tuple[int, Item]] = {}
        again: list[tuple[int, Item]] = []
        try:
            while True:
                while len(running) < pool.n_in_flight and (following := again.pop() if again else next(waiting, None)):
                    _submit(pool, work, following, running, again)
                if not running and not again:
                    return
                for future in wait(running, return_when=FIRST_COMPLETED).done:
                    number, item = running.pop(future)
                    try:
                        result = future.result()
                    except BrokenExecutor:
                        again += [(number, item), *running.values()]
                        running.clear()
                        pool.replace()
                        break
                    yield number, result
        finally:
            for future in running:
                future.cancel()


def _submit(
    pool: _Pool,
    work: Callable[[Item], Any],
    numbered: tuple[int, Item],
    running: dict[Future[Any], tuple[int, Item]],
    again: list[tuple[int, Item]],
) -> None:
    try:
        running[pool.executor.submit(work, numbered[1])] = numbered
    except BrokenExecutor:
        again += [numbered, *running.values()]
        running.clear()
        pool.replace()
